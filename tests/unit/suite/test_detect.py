"""How tests are run is found out from files alone; what cannot be found is named with its mend."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from surefoot.errors import SettingsError
from surefoot.suite import SuitePlan, detect, languages, nothing_tracked
from surefoot.suite.interpreter import look_at

Write = Callable[[Mapping[str, str]], Path]
PLAIN = "def test_x(): pass\n"
UNITTEST = "import unittest\nclass T(unittest.TestCase):\n    def test_x(self): pass\n"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_files(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "project"

    return write_files


def make_env(place: Path, *modules: str) -> Path:
    """An environment with some empty packages; its interpreter is a link to ours."""
    site = place / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "pyvenv.cfg").write_text(
        f"home = {Path(sys.base_prefix) / 'bin'}\ninclude-system-site-packages = false\n"
    )
    (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    for module in modules:
        (site / module).mkdir()
    return site


def found(root: Path, **settings: object) -> SuitePlan:
    plain = {"python": None, "command": None, "environ": {}}
    given = plain | {"is_tracked": nothing_tracked} | settings
    return detect(root, **given)  # type: ignore[arg-type]


def test_the_environment_of_the_checkout_comes_before_the_active_one(
    write: Write, tmp_path: Path
) -> None:
    """Setting, .venv, venv, VIRTUAL_ENV, the interpreter of Surefoot: the first that is there."""
    root = write({"tests/test_x.py": PLAIN})
    assert found(root).python == Path(sys.executable)
    make_env(tmp_path / "active", "pytest")
    active = {"VIRTUAL_ENV": str(tmp_path / "active")}
    assert found(root, environ=active).python == tmp_path / "active" / "bin" / "python"
    make_env(root / "venv", "pytest")
    assert found(root, environ=active).python == root / "venv" / "bin" / "python"
    make_env(root / ".venv", "pytest")
    plan = found(root, environ=active)
    assert plan.python == root / ".venv" / "bin" / "python"
    assert plan.command == (".venv/bin/python", "-m", "pytest")
    assert set(plan.reads) >= {root / ".venv"}
    chosen = found(root, environ=active, python="venv/bin/python")
    assert chosen.python == root / "venv" / "bin" / "python"


def test_an_interpreter_that_has_what_is_imported_is_preferred(
    write: Write, tmp_path: Path
) -> None:
    """One on the PATH wins over ours when only it has a dependency; a script of that name is passed over."""
    root = write({"tests/test_x.py": "import rare_thing\nimport helper\n" + PLAIN, "helper.py": ""})
    make_env(tmp_path / "other", "pytest", "rare_thing")
    (tmp_path / "other" / "bin" / "python3").symlink_to("python")
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / "python3").write_text("#!/bin/sh\nexec python3.11\n")
    path = f"{tmp_path / 'shims'}:{tmp_path / 'other' / 'bin'}"
    assert found(root, environ={"PATH": path}).python == tmp_path / "other" / "bin" / "python3"
    assert found(root, environ={"PATH": str(tmp_path / "shims")}).python == Path(sys.executable)


@pytest.mark.parametrize(
    ("files", "settings", "words"),
    [
        ({"a.py": ""}, {}, "no tests were found"),
        ({"test_a.py": PLAIN}, {"python": "no/python"}, "`[test] python` is 'no/python'"),
        ({"test_a.py": PLAIN}, {"command": ("make", "test")}, "whose report cannot be read"),
        ({"test_a.py": PLAIN}, {"command": ("uv", "run")}, "whose report cannot be read"),
    ],
)
def test_what_cannot_be_used_is_an_error_with_the_mend(
    files: dict[str, str], settings: dict[str, object], words: str, write: Write
) -> None:
    """One sentence, with the value and a line to write."""
    with pytest.raises(SettingsError) as raised:
        found(write(files), **settings)
    assert words in str(raised.value)
    assert "[test]" in str(raised.value) or "write e.g." in str(raised.value)


def test_an_environment_without_pytest_is_an_error_unless_unittest_will_do(write: Write) -> None:
    """Pytest is not smuggled in; tests that only need unittest go on without it."""
    root = write({"tests/test_x.py": PLAIN})
    make_env(root / ".venv")
    with pytest.raises(SettingsError, match="-m pip install pytest"):
        found(root)
    (root / "tests" / "test_x.py").write_text(UNITTEST)
    plan = found(root)
    assert (plan.runner, plan.command) == ("unittest", (".venv/bin/python", "-m", "unittest"))


def test_unittest_tests_run_through_pytest_where_it_is(write: Write) -> None:
    """The command that a person would type stays unittest's."""
    plan = found(write({"tests/test_x.py": UNITTEST}))
    assert (plan.runner, plan.command[1:]) == ("pytest", ("-m", "unittest"))


@pytest.mark.parametrize(
    ("command", "runner", "args"),
    [
        (("pytest", "tests/unit", "-q"), "pytest", ("tests/unit", "-q")),
        (("python", "-m", "pytest"), "pytest", ()),
        (("uv", "run", "pytest", "checks"), "pytest", ("checks",)),
        (("poetry", "run", "python", "-m", "pytest", "x"), "pytest", ("x",)),
        (("python3", "-m", "unittest", "discover", "-s", "checks"), "pytest", ("checks",)),
        (("py.test",), "pytest", ()),
    ],
)
def test_a_command_is_read_for_its_runner_and_arguments(
    command: tuple[str, ...], runner: str, args: tuple[str, ...], write: Write
) -> None:
    """Launchers and the name of the interpreter are not the runner's business."""
    plan = found(write({"x.py": ""}), command=command)
    assert (plan.runner, plan.args) == (runner, args)


@pytest.mark.parametrize(
    ("words", "args"),
    [
        ("tests", ("tests",)),
        ("tests.test_core", ("tests/test_core.py",)),
        ("tests.test_core.T.test_x", ("tests/test_core.py",)),
        ("tests/test_core.py", ("tests/test_core.py",)),
        ("-v -k core tests.test_core", ("tests/test_core.py",)),
        ("tests.unit other.test_y", ("tests/unit", "other/test_y.py")),
        ("no.such", ("no.such",)),
        ("discover", ()),
        ("discover tests", ("tests",)),
        ("discover -s tests -t .", ("tests",)),
        ("discover -p check_*.py", ("other/check_z.py", "tests/unit/check_a.py")),
        ("discover -s tests -t . -p check_*.py", ("tests/unit/check_a.py",)),
        ("discover --start-directory=./tests --pattern=check_*.py", ("tests/unit/check_a.py",)),
        ("discover tests check_*.py", ("tests/unit/check_a.py",)),
    ],
)
def test_a_command_of_unittest_is_read_for_files_and_folders(
    words: str, args: tuple[str, ...], write: Write
) -> None:
    """Dotted names stand for what is imported by them, and a pattern for the files that fit it."""
    names = ("tests/test_core.py", "tests/unit/check_a.py", "other/test_y.py", "other/check_z.py")
    root = write(dict.fromkeys(names, UNITTEST))
    plan = found(root, command=("python", "-m", "unittest", *words.split()))
    assert tuple(sorted(plan.args)) == tuple(sorted(args))


def test_a_pattern_that_no_file_fits_is_told(write: Write) -> None:
    """All tests instead would be others than those that were asked for."""
    root = write({"tests/test_core.py": UNITTEST})
    with pytest.raises(SettingsError, match=r"'check_\*\.py' in .*/tests, and there is none"):
        found(root, command=("python", "-m", "unittest", "discover", "tests", "-p", "check_*.py"))


@pytest.mark.parametrize(
    ("files", "roots"),
    [
        ({"pkg/__init__.py": ""}, (".",)),
        ({"src/pkg/__init__.py": ""}, ("src",)),
        ({"src/__init__.py": ""}, (".",)),
        ({"pyproject.toml": '[tool.setuptools.packages.find]\nwhere = ["lib"]', "lib/p/__init__.py": ""}, ("lib",)),
        ({"pyproject.toml": '[tool.setuptools.package-dir]\n"" = "lib"', "lib/p.py": ""}, ("lib",)),
        ({"pyproject.toml": '[tool.setuptools.package-dir]\np = "lib/p"', "lib/p/x.py": ""}, ("lib",)),
        ({"pyproject.toml": '[tool.hatch.build.targets.wheel]\npackages = ["python/p"]', "python/p/x.py": ""}, ("python",)),
        ({"pyproject.toml": '[[tool.poetry.packages]]\ninclude = "p"\nfrom = "lib"', "lib/p/x.py": ""}, ("lib",)),
        ({"pyproject.toml": '[tool.maturin]\npython-source = "py"', "py/p/x.py": ""}, ("py",)),
        ({"pyproject.toml": '[tool.pytest.ini_options]\npythonpath = [".", "lib"]', "lib/p.py": ""}, ("lib", ".")),
        ({"pyproject.toml": '[tool.setuptools.package-dir]\n"" = "../out"'}, (".",)),
        ({"pyproject.toml": "not toml ["}, (".",)),
        ({"pyproject.toml": "a = " + "[" * 2_000 + "]" * 2_000}, (".",)),
        ({"pyproject.toml": '[tool.setuptools.package-dir]\n"a.p" = "p"', "p/__init__.py": ""}, (".",)),
        ({"pyproject.toml": '[tool.setuptools.package-dir]\n"a.p" = "lib/a/p"', "lib/a/p/x.py": ""}, ("lib",)),
        ({"pyproject.toml": '[tool.setuptools.package-dir]\n"a.p" = "lib/b/p"', "lib/b/p/x.py": ""}, (".",)),
        ({"setup.py": "setup(package_dir={'a.p': 'p'})", "p/__init__.py": ""}, (".",)),
        ({"setup.py": "setup(package_dir={[]: 'p'})"}, (".",)),
        ({"setup.cfg": "[options]\npackage_dir =\n  = lib\n", "lib/p.py": ""}, ("lib",)),
        ({"setup.py": "from setuptools import setup\nsetup(package_dir={'': 'lib'})", "lib/p.py": ""}, ("lib",)),
    ],
)  # fmt: skip
def test_source_roots_come_from_layout_and_build_settings(
    files: dict[str, str], roots: tuple[str, ...], write: Write
) -> None:
    """Every common way of saying where packages are."""
    plan = found(write({"tests/test_x.py": PLAIN, **files}))
    assert plan.source_roots == roots


def test_editable_installs_of_the_checkout_are_seen_and_shown(write: Write) -> None:
    """Their directories become source roots, and what a test process may see of the checkout."""
    root = write({"tests/test_x.py": PLAIN, "a/one/__init__.py": "", "two/__init__.py": ""})
    site = make_env(root / ".venv", "pytest")
    (site / "__editable__.one.pth").write_text(f"{root / 'a'}\n")
    (site / "__editable___two_finder.py").write_text(
        f"import sys\nMAPPING: dict[str, str] = {{'two': {str(root / 'two')!r}}}\nNAMESPACES = {{}}\n"
    )
    plan = found(root)
    assert plan.source_roots == ("a", ".")
    assert plan.editable == (root / "a", root / "two")


def test_a_checkout_that_is_itself_on_the_path_is_shown_in_parts(write: Write) -> None:
    """Its packages, not files beside them such as a secret."""
    root = write({"test_x.py": PLAIN, "pkg/__init__.py": "", ".env": "KEY=1"})
    site = make_env(root / ".venv", "pytest")
    (site / "easy.pth").write_text(f"{root}\n")
    assert found(root).editable == (root / "pkg",)


@pytest.mark.parametrize("broken", ["dangling", "script", "missing"])
def test_an_environment_without_a_working_interpreter_is_told(
    write: Write, tmp_path: Path, broken: str
) -> None:
    """With its mend, whatever is taken instead; a folder that is no environment is nothing to tell."""
    root = write({"tests/test_x.py": PLAIN})
    for env in (root / ".venv", tmp_path / "active"):
        make_env(env, "pytest")
        python = env / "bin" / "python"
        python.unlink()
        if broken == "dangling":
            python.symlink_to("/nonexistent/python3")
        elif broken == "script":
            python.write_text("#!/bin/sh\n")
    (root / "venv").mkdir()
    plan = found(root, environ={"VIRTUAL_ENV": str(tmp_path / "active")})
    assert plan.python == Path(sys.executable)
    assert all(env in why for env, why in zip((".venv", "active"), plan.refused, strict=True))
    assert all("no working interpreter" in why for why in plan.refused)
    assert f"python3 -m venv --clear {root / '.venv'}" in plan.refused[0]


def test_ignored_files_that_tests_need_are_carried(write: Write) -> None:
    """Built extensions, generated version files, node_modules; nothing of environments or builds."""
    root = write(
        {
            "tests/test_x.py": PLAIN,
            "pkg/_fast.cpython-311-x86_64-linux-gnu.so": "",
            "pkg/_version.py": "# file generated by setuptools-scm\n__version__ = '1'\n",
            "pkg/versions.py": "KNOWN = []\n",
            "build/lib/x.so": "",
            "web/node_modules/a/index.js": "",
        }
    )
    make_env(root / ".venv", "pytest")
    (root / ".venv" / "x.so").write_text("")
    assert found(root).carry == (
        "pkg/_fast.cpython-311-x86_64-linux-gnu.so",
        "pkg/_version.py",
        "web/node_modules",
    )


def test_what_git_tracks_of_them_is_not_carried(write: Write) -> None:
    """Every tree has its own, or none: what a change empties or deletes is not put back for its tests."""
    files = ("node_modules/a.js", "web/node_modules/a.js", "pkg/fast.so", "pkg/slow.so")
    table = {"pkg/conversion.py": '"""Units; the table is generated from units.csv."""\n'}
    root = write({"tests/test_x.py": PLAIN, **dict.fromkeys(files, ""), **table})
    tracked = {"node_modules", "pkg/conversion.py", "pkg/fast.so"}
    plan = found(root, is_tracked=lambda path: path in tracked)
    assert plan.carry == ("pkg/slow.so", "web/node_modules")


def test_languages_are_counted_by_files(write: Write) -> None:
    """Most files first; hidden, installed and built files do not count."""
    root = write(
        {"a.py": "", "b.py": "", "c.ts": "", "node_modules/x.js": "", ".x/d.go": "", "e": ""}
    )
    assert languages(root) == ("python", "typescript")


def test_an_interpreter_is_looked_at_not_run(tmp_path: Path) -> None:
    """A script in its place is none, whatever it would do."""
    script = tmp_path / "bin" / "python"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\ntouch ran\n")
    script.chmod(0o755)
    assert look_at(script) is None
    assert look_at(tmp_path / "nothing") is None
    (tmp_path / "python").symlink_to("python3")
    (tmp_path / "python3").symlink_to("python")
    assert look_at(tmp_path / "python") is None
    assert look_at(tmp_path / ("n" * 300)) is None
    assert look_at(tmp_path / "a\0b") is None
    own = look_at(Path(sys.executable))
    assert own is not None
    assert own.has("pytest")
    assert own.has("json")
    assert not own.has("no_such_module_here")
