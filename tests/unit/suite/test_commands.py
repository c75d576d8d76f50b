"""How the tests of other languages are run is found out from files and settings."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from surefoot.errors import SettingsError
from surefoot.suite import CommandPlan, SuitePlan, detect, nothing_tracked

Write = Callable[[Mapping[str, str]], Path]
PROGRAMS = ("cargo", "go", "node", "prove")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_files(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "project"

    return write_files


@pytest.fixture
def environ(tmp_path: Path) -> Mapping[str, str]:
    """A PATH on which the programs are."""
    for name in PROGRAMS:
        program = tmp_path / "tools" / "bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    return {"PATH": str(tmp_path / "tools" / "bin"), "HOME": str(tmp_path / "home")}


def package(script: str, **more: str) -> str:
    return json.dumps({"scripts": {"test": script, **more}})


def found(root: Path, environ: Mapping[str, str], **settings: object) -> CommandPlan:
    given = {
        "python": None,
        "command": None,
        "environ": environ,
        "is_tracked": nothing_tracked,
    } | settings
    plan = detect(root, **given)  # type: ignore[arg-type]
    assert isinstance(plan, CommandPlan)
    return plan


def test_a_package_with_nodes_runner_is_run_with_our_reporter(
    write: Write, environ: Mapping[str, str], tmp_path: Path
) -> None:
    """Other steps of the script, wrappers and its own reporter are left out; its files and options stay."""
    script = (
        "tsc -p . && NODE_ENV=test c8 node --import tsx --test --test-reporter=spec 'test/*.js'"
    )
    plan = found(write({"package.json": package(script), "a.js": ""}), environ)
    assert (plan.format, plan.targets, plan.narrow) == ("node", ("test/*.js",), ())
    assert plan.argv[0] == str(tmp_path / "tools" / "bin" / "node")
    assert plan.argv[-2:] == ("--import", "tsx")
    assert "--test-reporter=spec" not in plan.argv
    assert plan.env["NODE_ENV"] == "test"
    assert tmp_path / "tools" in plan.reads
    assert plan.languages == ("javascript",)


@pytest.mark.parametrize(
    "option", ["--test-isolation=none", "--test-isolation none", "--test-force-exit"]
)
def test_options_that_take_the_report_from_outside_are_dropped(
    option: str, write: Write, environ: Mapping[str, str]
) -> None:
    """Tests never run in the process that reports on them."""
    plan = found(write({"package.json": package(f"node --test {option}"), "a.js": ""}), environ)
    assert not {*option.split(), option} & {*plan.argv, *plan.targets}


@pytest.mark.parametrize(
    ("runner", "form", "report"),
    [
        ("jest", "jest", "--outputFile={report}"),
        ("vitest", "jest", "--outputFile={report}"),
        ("mocha", "junit", "output={report}"),
    ],
)
def test_runners_of_packages_are_run_only_where_they_are_installed(
    runner: str, form: str, report: str, write: Write, environ: Mapping[str, str]
) -> None:
    """Through node, with a report to a file outside the tree; node_modules is carried."""
    files = {
        "package.json": package("npm run unit", unit=f"npx {runner} --coverage --reporter x -b"),
        "a.ts": "",
    }
    root = write(files)
    for command in (None, ("npx", runner)):
        with pytest.raises(SettingsError, match="run `npm install` first"):
            found(root, environ, command=command)
    plan = found(write({f"node_modules/.bin/{runner}": ""}), environ)
    assert (plan.format, plan.carry) == (form, ("node_modules",))
    assert {report, "-b"} <= set(plan.argv)
    assert not {"--coverage", "x"} & set(plan.argv)


@pytest.mark.parametrize(
    ("script", "kept"),
    [
        ("jest -w 2 --watchAll", ["-w", "2"]),
        ("jest -w=1 --silent run", ["-w=1", "run"]),
        ("mocha -w --grep run test/", ["--grep", "run", "test/"]),
        ("mocha watch dev", ["watch", "dev"]),
        ("vitest -w 2", ["2"]),
        ("vitest run src --silent passed-only", ["src", "--silent", "passed-only"]),
        ("vitest --coverage --globals run -t run", ["--globals", "-t", "run"]),
        ("vitest -t run watch", ["-t", "run"]),
        ("nyc --reporter lcov -x 'test/**' mocha -b", ["-b"]),
        ("npx -p mocha c8 -r text --all mocha -b", ["-b"]),
    ],
)
def test_a_runners_words_keep_what_they_mean_to_it(
    script: str, kept: list[str], write: Write, environ: Mapping[str, str]
) -> None:
    """What is dropped is dropped with its value, and a value never becomes a pattern for files or the other way round."""
    runner = next(r for r in ("jest", "mocha", "vitest") if r in script)
    start = f"node_modules/.bin/{runner}"
    plan = found(write({"package.json": package(script), "a.js": "", start: ""}), environ)
    ours = {"jest": 2, "mocha": 4, "vitest": 2}[runner]
    words = plan.argv[plan.argv.index(start) + 1 : -ours]
    assert [*words] == (["run", *kept] if runner == "vitest" else kept)


@pytest.mark.parametrize(
    ("files", "form", "targets"),
    [
        ({"go.mod": "module x", "a.go": ""}, "go", ("./...",)),
        ({"Cargo.toml": "", "src/lib.rs": ""}, "cargo", ()),
    ],
)
def test_go_and_rust_are_known_by_their_manifests(
    files: dict[str, str],
    form: str,
    targets: tuple[str, ...],
    write: Write,
    environ: Mapping[str, str],
) -> None:
    """Neither looks for anything on the network."""
    plan = found(write(files), environ)
    assert (plan.format, plan.targets) == (form, targets)
    assert {"GOPROXY", "CARGO_NET_OFFLINE"} & set(plan.env)


def test_what_goes_tests_are_given_comes_behind_the_packages(
    write: Write, environ: Mapping[str, str]
) -> None:
    """Before them it would hide them from go, which would run the root's package alone."""
    words = ("go", "test", "-v", "-tags=slow", "./calc", "-update", "-args", "-v", "./data")
    plan = found(write({"go.mod": "module x", "a.go": ""}), environ, command=words)
    assert (plan.targets, plan.argv[-1]) == (("./calc",), "-count=1")
    assert plan.after == ("-tags=slow", "-update", "-args", "-v", "./data")


def test_credentials_of_cargo_are_not_shown(
    write: Write, environ: Mapping[str, str], tmp_path: Path
) -> None:
    """What was downloaded is, and the programs are."""
    root = write({"Cargo.toml": "", "src/lib.rs": ""})
    cargo = tmp_path / "home" / ".cargo"
    (cargo / "registry").mkdir(parents=True)
    (cargo / "bin").mkdir()
    (cargo / "bin" / "cargo").write_text("#!/bin/sh\n")
    (cargo / "bin" / "cargo").chmod(0o755)
    plan = found(root, {**environ, "PATH": str(cargo / "bin")})
    assert cargo / "registry" in plan.reads
    assert not any((cargo / "credentials.toml").is_relative_to(p) for p in plan.reads)


def test_the_language_with_most_files_decides(write: Write, environ: Mapping[str, str]) -> None:
    """Of those whose tests are found; a Python interpreter in the settings decides for Python."""
    root = write({"package.json": package("node --test"), "a.js": "", "b.js": "", "test_x.py": ""})
    assert found(root, environ).format == "node"
    plan = detect(
        root, python=sys.executable, command=None, environ=environ, is_tracked=nothing_tracked
    )
    assert isinstance(plan, SuitePlan)
    write({"x.py": "", "y.py": ""})
    assert isinstance(
        detect(root, python=None, command=None, environ=environ, is_tracked=nothing_tracked),
        SuitePlan,
    )


def test_a_command_of_ones_own_needs_the_format_of_its_report(
    write: Write, environ: Mapping[str, str]
) -> None:
    """A known program's format is known; `{report}` stays for the run to fill."""
    root = write({"a.pl": ""})
    command = ("prove", "--output", "{report}")
    with pytest.raises(SettingsError, match="name its format"):
        found(root, environ, command=command)
    with pytest.raises(SettingsError, match="name its format"):
        found(root, environ, command=command, report="node")
    plan = found(root, environ, command=command, report="tap")
    assert (plan.format, plan.argv[1:], plan.narrow) == ("tap", command[1:], None)
    assert found(root, environ, command=("go", "test", "./calc")).targets == ("./calc",)


def test_a_missing_program_is_named(write: Write) -> None:
    """With what to do about it."""
    root = write({"package.json": package("node --test"), "a.js": ""})
    with pytest.raises(SettingsError, match="'node', which is not on PATH: install it"):
        found(root, {"PATH": str(root)})
    with pytest.raises(SettingsError, match=r"'\./run', and there is no such file"):
        found(root, {"PATH": str(root)}, command=("./run",), report="tap")
