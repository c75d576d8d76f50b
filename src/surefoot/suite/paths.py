"""Which paths are tests, and which steer the runner, the gates or the interpreter."""

import re
from pathlib import PurePosixPath
from typing import Final

TEST_DIRS: Final = frozenset(
    {
        "__fixtures__",
        "__mocks__",
        "__snapshots__",
        "__tests__",
        "fixtures",
        "test",
        "testdata",
        "testing",
        "tests",
    }
)
TEST_NAMES: Final = re.compile(
    r"conftest\.py|tests?\.py|test_.*\.(py|txt|rst|md|rb)|.*_test\.(py|go|rb|exs|c|cc|cpp)|.*_spec\.rb"
    r"|.*\.(test|spec)\..*|test\.[cm]?[jt]sx?|test-.*\.[cm]?[jt]sx?|.*[-_]test\.[cm]?[jt]sx?"
    r"|setup-?tests?\.[cm]?[jt]sx?|test_helper\.rb|spec_helper\.rb|.*\.(bats|phpt|t)",
    re.IGNORECASE,
)
TEST_CLASSES: Final = re.compile(
    r"(\w*[a-z0-9_])?(Tests?|IT|Spec)\.(java|kt|scala|groovy|cs|php|swift)"
)
"""Files named after a test class; only their capital tells `AddTest.java` from `latest.java`."""
CONTROL_NAMES: Final = frozenset(
    {
        ".babelrc",
        ".bandit",
        ".c8rc.json",
        ".coveragerc",
        ".flake8",
        ".gitlab-ci.yml",
        ".golangci.yaml",
        ".golangci.yml",
        ".mypy.ini",
        ".node-version",
        ".npmrc",
        ".nvmrc",
        ".nycrc",
        ".pre-commit-config.yaml",
        ".proverc",
        ".pylintrc",
        ".pytest.ini",
        ".pytest.toml",
        ".rspec",
        ".ruff.toml",
        ".secrets.baseline",
        ".swcrc",
        ".taprc",
        ".travis.yml",
        ".yarnrc",
        ".yarnrc.yml",
        "azure-pipelines.yml",
        "biome.json",
        "build.rs",
        "build.sbt",
        "bun.lock",
        "bun.lockb",
        "bunfig.toml",
        "cargo.lock",
        "cargo.toml",
        "clippy.toml",
        "cmakelists.txt",
        "composer.json",
        "composer.lock",
        "conftest.py",
        "deno.json",
        "deno.jsonc",
        "deno.lock",
        "deps.edn",
        "directory.build.props",
        "directory.build.targets",
        "directory.packages.props",
        "entry_points.txt",
        "gemfile",
        "gemfile.lock",
        "global.json",
        "go.mod",
        "go.sum",
        "go.work",
        "go.work.sum",
        "gradle.properties",
        "hatch.toml",
        "jenkinsfile",
        "justfile",
        "makefile",
        "mix.exs",
        "mix.lock",
        "mypy.ini",
        "nextest.toml",
        "noxfile.py",
        "npm-shrinkwrap.json",
        "nuget.config",
        "package-lock.json",
        "package.json",
        "package.resolved",
        "package.swift",
        "phpunit.dist.xml",
        "phpunit.xml",
        "phpunit.xml.dist",
        "pnpm-lock.yaml",
        "pnpm-workspace.yaml",
        "pom.xml",
        "project.clj",
        "pubspec.lock",
        "pubspec.yaml",
        "pyproject.toml",
        "pyrightconfig.json",
        "pytest.ini",
        "pytest.toml",
        "rakefile",
        "ruff.toml",
        "rust-toolchain",
        "rust-toolchain.toml",
        "rustfmt.toml",
        "setup.cfg",
        "setup.py",
        "sitecustomize.py",
        "surefoot.toml",
        "testng.xml",
        "tox.ini",
        "tox.toml",
        "tsconfig.json",
        "usercustomize.py",
        "yarn.lock",
    }
)
CONTROL_PATTERNS: Final = re.compile(
    r"(jest|vitest|vite|babel|eslint|ava|playwright|cypress|wdio|rollup|webpack)[-.\w]*\.(config|setup|workspace)\..*"
    r"|karma\.conf\..*|\.(mocharc|eslintrc|babelrc|nycrc|c8rc|prettierrc)\..*|tsconfig\..*json|(build|settings)\.gradle.*"
    r"|.*\.(csproj|fsproj|vbproj|sln|runsettings|cabal|gemspec)"
)
CONTROL_DIRS: Final = frozenset(
    {".cargo", ".ci", ".circleci", ".github", ".gitlab", ".husky", ".surefoot", "node_modules"}
)
CONTROL_SUFFIXES: Final = (
    ".dist-info", ".egg-info", ".egg-link", ".node", ".pth", ".pyc", ".pyd", ".so", ".wasm"
)  # fmt: skip


def is_test_path(path: str) -> bool:
    """Whether a path is a test or belongs to tests: fixtures, snapshots, conftest."""
    parts = PurePosixPath(path.lower()).parts
    if not parts:
        return False
    return (
        not TEST_DIRS.isdisjoint(parts[:-1])
        or (len(parts) > 1 and parts[0] == "spec")
        or TEST_NAMES.fullmatch(parts[-1]) is not None
        or TEST_CLASSES.fullmatch(PurePosixPath(path).name) is not None
    )


def is_control_path(path: str) -> bool:
    """Whether a path steers the runner, the gates or how Python starts; compiled code, which no gate can read, too."""
    parts = PurePosixPath(path.lower()).parts
    if not parts:
        return False
    name = parts[-1]
    return (
        name in CONTROL_NAMES
        or CONTROL_PATTERNS.fullmatch(name) is not None
        or not CONTROL_DIRS.isdisjoint(parts[:-1])
        or any(part.endswith(CONTROL_SUFFIXES) for part in parts)
        or (name.startswith("requirements") and name.endswith((".txt", ".in")))
        or name in {"poetry.lock", "uv.lock", "pdm.lock", "pipfile", "pipfile.lock"}
        or (len(parts) == 1 and name in {"pytest.py", "_pytest.py", "pluggy.py", "unittest.py"})
        or bool({"_pytest", "pytest", "pluggy", "unittest"} & set(parts[:-1]))
    )


def is_inside(path: str) -> bool:
    """Whether a path can be written for a candidate: relative, inside the tree, not the repository's records."""
    pure = PurePosixPath(path)
    return bool(pure.parts) and not pure.is_absolute() and not {"..", ".git"} & set(pure.parts)
