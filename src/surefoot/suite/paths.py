"""Which paths are tests, and which steer the runner, the gates or the interpreter."""

from pathlib import PurePosixPath
from typing import Final

TEST_DIRS: Final = frozenset({"test", "tests", "testing", "__tests__", "__snapshots__", "fixtures"})
CONTROL_NAMES: Final = frozenset(
    {
        ".bandit",
        ".coveragerc",
        ".flake8",
        ".gitlab-ci.yml",
        ".mypy.ini",
        ".pre-commit-config.yaml",
        ".pylintrc",
        ".pytest.ini",
        ".pytest.toml",
        ".ruff.toml",
        ".secrets.baseline",
        ".travis.yml",
        "azure-pipelines.yml",
        "conftest.py",
        "entry_points.txt",
        "jenkinsfile",
        "justfile",
        "makefile",
        "mypy.ini",
        "noxfile.py",
        "package.json",
        "pyproject.toml",
        "pyrightconfig.json",
        "pytest.ini",
        "pytest.toml",
        "ruff.toml",
        "setup.cfg",
        "setup.py",
        "sitecustomize.py",
        "surefoot.toml",
        "tox.ini",
        "tsconfig.json",
        "usercustomize.py",
    }
)
CONTROL_DIRS: Final = frozenset({".github", ".gitlab", ".circleci", ".ci", ".husky", ".surefoot"})
CONTROL_SUFFIXES: Final = (".pth", ".egg-link", ".dist-info", ".egg-info", ".pyc", ".so", ".pyd")


def is_test_path(path: str) -> bool:
    """Whether a path is a test or belongs to tests: fixtures, snapshots, conftest."""
    parts = PurePosixPath(path.lower()).parts
    if not parts:
        return False
    name = parts[-1]
    stem = name.partition(".")[0]
    return (
        not TEST_DIRS.isdisjoint(parts[:-1])
        or name == "conftest.py"
        or (name.endswith(".py") and (stem.startswith("test_") or stem.endswith("_test")))
        or (name.endswith(".py") and stem in {"test", "tests"})
        or (stem.startswith("test_") and name.endswith((".txt", ".rst", ".md")))
        or ".test." in name
        or ".spec." in name
    )


def is_control_path(path: str) -> bool:
    """Whether a path steers the runner, the gates or how Python starts; compiled code, which no gate can read, too."""
    parts = PurePosixPath(path.lower()).parts
    if not parts:
        return False
    name = parts[-1]
    return (
        name in CONTROL_NAMES
        or not CONTROL_DIRS.isdisjoint(parts[:-1])
        or any(part.endswith(CONTROL_SUFFIXES) for part in parts)
        or (name.startswith("requirements") and name.endswith((".txt", ".in")))
        or name in {"poetry.lock", "uv.lock", "pdm.lock", "pipfile", "pipfile.lock"}
        or (len(parts) == 1 and name in {"pytest.py", "_pytest.py", "pluggy.py", "unittest.py"})
        or bool({"_pytest", "pytest", "pluggy", "unittest"} & set(parts[:-1]))
    )
