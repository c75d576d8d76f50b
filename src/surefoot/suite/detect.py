"""Finds out how a project's tests are run: interpreter, runner, import path, what to carry; or by which command."""

import ast
import fnmatch
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, TypeAlias

from surefoot.errors import SettingsError
from surefoot.suite import layout
from surefoot.suite.bounds import Bounds, Tracked, Way
from surefoot.suite.commands import from_package, not_installed, plan_command
from surefoot.suite.interpreter import SYSTEM, Interpreter, look_at, on_path
from surefoot.suite.layout import languages
from surefoot.suite.plan import CommandPlan, SuitePlan
from surefoot.toml_files import read_toml, table
from surefoot.values import TestFormat

LAUNCHERS: Final = frozenset({"uv", "poetry", "pdm", "pipenv", "rye", "hatch"})
"""Programs whose `run` puts the project's interpreter first; the plan calls that interpreter itself."""

_UNITTEST_OPTIONS: Final[Mapping[str, str]] = {
    "-s": "start",
    "--start-directory": "start",
    "-p": "pattern",
    "--pattern": "pattern",
    "-t": "top",
    "--top-level-directory": "top",
    "-k": "name",
}
"""Those that take a value, and what it is."""

Runner: TypeAlias = Literal["pytest", "unittest"]


def detect(
    root: Path,
    *,
    python: str | None,
    command: tuple[str, ...] | None,
    environ: Mapping[str, str],
    is_tracked: Tracked,
    report: TestFormat | None = None,
    env_names: Sequence[str] = (),
) -> SuitePlan | CommandPlan:
    """How the tests of the checkout at `root` are run; `python`, `command`, its `report` and `env_names` are the user's settings.

    pytest and unittest get a `SuitePlan`, every other command a `CommandPlan`. Without settings, the language with the
    most files decides among those whose tests are found. What `is_tracked` is the repository's, and not believed where
    it says what to show.

    Raises:
        SettingsError: No tests, no usable interpreter, a missing program, a command whose report cannot be read, or a
            variable that is to be passed on and is not set.
    """
    root = root.resolve()
    choice = _Choice(environ=environ, bounds=Bounds.of(root, environ, is_tracked))
    plan = _planned(root, python, command, choice, report)
    return replace(
        plan,
        carry=tuple(p for p in plan.carry if _is_carried(root, p, choice.bounds)),
        env={**plan.env, **_passed_on(env_names, environ)},
    )


def _passed_on(names: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    if missing := [name for name in names if name not in environ]:
        raise SettingsError(
            f"`[test] env_names` has {missing[0]}, which is not set where Surefoot was started; set it there, or take it out"
        )
    return {name: environ[name] for name in names}


def _is_carried(root: Path, path: str, bounds: Bounds) -> bool:
    """Whether a path may be carried; what git tracks is in every tree as it is there, also where that is empty or gone."""
    return not bounds.is_tracked(path) and not bounds.is_led_out(root / path)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """What an interpreter is chosen by, and what was refused meanwhile."""

    environ: Mapping[str, str]
    bounds: Bounds
    refused: list[str] = field(default_factory=list)


def _planned(
    root: Path,
    python: str | None,
    command: tuple[str, ...] | None,
    choice: _Choice,
    report: TestFormat | None,
) -> SuitePlan | CommandPlan:
    if command:
        asked = _read_command(root, command)
        if report is not None or asked is None:
            return plan_command(root, command, report, choice.environ)
        return _python_plan(root, python or asked[1], asked, choice)
    own = _own_command(root) if python is None else None
    if own is not None:
        return plan_command(root, own, None, choice.environ)
    return _python_plan(root, python, None, choice)


def _own_command(root: Path) -> tuple[str, ...] | None:
    """The command of the language with the most files whose tests are found; None when that is Python."""
    for language in languages(root):
        if language == "python" and (_has_pytest_settings(root) or layout.test_files(root)):
            return None
        if language in {"javascript", "typescript"} and (found := from_package(root)):
            return found
        if language == "go" and (root / "go.mod").is_file():
            return ("go", "test", "./...")
        if language == "rust" and (root / "Cargo.toml").is_file():
            return ("cargo", "test")
    return None


_Asked: TypeAlias = tuple[Runner, str | None, tuple[str, ...]]
"""Runner, interpreter when one is named by path, and the runner's own arguments."""


def _python_plan(
    root: Path, python: str | None, command: _Asked | None, choice: _Choice
) -> SuitePlan:
    asked, _, args = command or (None, None, ())
    style = asked or _style(root)
    roots = layout.source_roots(root, ())
    chosen = _choose(root, python, choice, layout.needs(root, roots) - {"pytest"})
    linked = chosen.linked()
    inside = [_inside(root, p) for p in (*linked, *chosen.mapped()) if _is_inside(root, p)]
    named = {_inside(root, p) for p in linked}
    tops = [p if p in named else p.parent for p in inside]
    beyond = [p for p in linked if not _is_inside(root, p)]
    return SuitePlan(
        python=chosen.python,
        runner=_runner(chosen, style),
        command=_as_typed(root, chosen.python, style, args),
        args=args,
        source_roots=layout.source_roots(root, tops),
        carry=layout.carried(root),
        reads=(*_installed(chosen, choice), *_sources(chosen, beyond, choice)),
        editable=_shown(root, inside),
        refused=tuple(dict.fromkeys(choice.refused)),
        languages=languages(root),
    )


def _is_inside(root: Path, place: Path) -> bool:
    return place.resolve().is_relative_to(root)


def _inside(root: Path, place: Path) -> Path:
    """A place of the checkout by a name that begins with the checkout's."""
    return place if place.is_relative_to(root) else place.resolve()


def _installed(chosen: Interpreter, choice: _Choice) -> tuple[Path, ...]:
    """What of an interpreter's roots may be shown, and the links by which it is called that lie elsewhere."""
    shown = []
    for place in chosen.roots:
        if why := choice.bounds.against_installation(place):
            choice.refused.append(
                f"{place}, which {chosen.python} builds on, is not shown to the tests: {why}; make the environment "
                "anew with a Python that has a folder of its own"
            )
        else:
            shown.append(place)
    # `~/.local/bin/python3`, say: only the name itself is shown, not the folder that it is in.
    names = [
        link
        for link in Way.to(chosen.python).links
        if link.is_file() and not any(link.is_relative_to(s) for s in (*SYSTEM, *shown))
    ]
    return (*shown, *names)


def _sources(chosen: Interpreter, beyond: Sequence[Path], choice: _Choice) -> tuple[Path, ...]:
    """What of the source trees that an environment imports from elsewhere may be shown."""
    shown = []
    for place in beyond:
        if why := choice.bounds.against_sources(place):
            choice.refused.append(
                f"{place}, which a .pth file of {chosen.python} names, is not shown to the tests: {why}; install what "
                "is there without `-e`, or keep its sources in a folder of their own"
            )
        else:
            shown.append(place)
    return tuple(shown)


def _shown(root: Path, inside: Sequence[Path]) -> tuple[Path, ...]:
    """What of the checkout a test process may see, so that an import from there is noticed and named.

    Never the checkout's root itself: it may hold files that nobody meant to show.
    """
    found: list[Path] = []
    for place in inside:
        if place != root:
            found.append(place)
            continue
        found += [p.parent for p in sorted(place.glob("*/__init__.py"))]
    return tuple(dict.fromkeys(found))


def _read_command(root: Path, command: tuple[str, ...]) -> _Asked | None:
    """What a command of pytest or unittest asks for; None when it is neither."""
    words = list(command)
    if words[0] in LAUNCHERS and words[1:2] == ["run"]:
        words = words[2:]
    if words and Path(words[0]).name in {"pytest", "py.test"}:
        return "pytest", None, tuple(words[1:])
    if len(words) > 2 and Path(words[0]).name.startswith("python") and words[1] == "-m":  # noqa: PLR2004
        named = words[0] if "/" in words[0] else None
        if words[2] == "pytest":
            return "pytest", named, tuple(words[3:])
        if words[2] == "unittest":
            return "unittest", named, _unittest_places(root, words[3:])
    return None


def _unittest_places(root: Path, words: Sequence[str]) -> tuple[str, ...]:
    """The files and folders that a command of unittest names; those of a pattern one by one.

    Raises:
        SettingsError: No file fits the pattern.
    """
    given, names = _unittest_words(words)
    start, pattern = given.get("start"), given.get("pattern")
    if pattern is None:
        return tuple(_place(root, name) for name in ([start] if start is not None else names))
    fits = [p for p in layout.walk(root) if fnmatch.fnmatchcase(p.name, pattern)]
    files = tuple(p.as_posix() for p in fits if p.is_relative_to(start or "."))
    if not files:
        raise SettingsError(
            f"`[test] command` looks for files {pattern!r} in {root / (start or '.')}, and there is none; "
            "write the pattern of files that hold tests, or their folder behind `-s`"
        )
    return files


def _unittest_words(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """What the options that take a value say, and the names; `discover` takes those values in order, too."""
    given: dict[str, str] = {}
    names: list[str] = []
    rest = iter(words)
    for word in rest:
        option, sign, value = word.partition("=")
        if option in _UNITTEST_OPTIONS:
            given[_UNITTEST_OPTIONS[option]] = value if sign else next(rest, "")
        elif not word.startswith("-"):
            names.append(word)
    if names[:1] == ["discover"]:
        return {**dict(zip(("start", "pattern", "top"), names[1:], strict=False)), **given}, []
    return given, names


def _place(root: Path, name: str) -> str:
    """A path as it is; the file or folder of a dotted name, of a class or test in a file that file."""
    parts = [] if "/" in name or (root / name).exists() else name.split(".")
    for count in range(len(parts), 0, -1):
        path = "/".join(parts[:count])
        if (root / f"{path}.py").is_file():
            return f"{path}.py"
        if (root / path).is_dir():
            return path
    return name


def _style(root: Path) -> Runner:
    """Which runner the project is written for."""
    if _has_pytest_settings(root):
        return "pytest"
    files = layout.test_files(root)
    if not files:
        raise SettingsError(
            f"no tests were found in {root}: no pytest settings, no file named test_*.py, and no package.json, go.mod or "
            f"Cargo.toml whose tests are known how to run; {not_installed(root)}"
            'name them in surefoot.toml, e.g. [test] command = ["pytest", "checks"]'
        )
    return "unittest" if all(_is_unittest(root / f) for f in files) else "pytest"


def _is_unittest(path: Path) -> bool:
    """Whether a test file is written for unittest and could do without pytest."""
    tree = layout.parse(path)
    imports: set[str] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Import):
            imports |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports.add(node.module.partition(".")[0])
    body = tree.body if tree is not None else []
    plain = any(isinstance(n, ast.FunctionDef) and n.name.startswith("test") for n in body)
    return "unittest" in imports and "pytest" not in imports and not plain


def _has_pytest_settings(root: Path) -> bool:
    if any((root / name).is_file() for name in ("pytest.ini", ".pytest.ini", "pytest.toml")):
        return True
    content = read_toml(root / "pyproject.toml")
    if "pytest" in table(content, "tool"):
        return True
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if layout.read_ini(root / name).has_section(section):
            return True
    return False


def _choose(root: Path, python: str | None, choice: _Choice, needed: frozenset[str]) -> Interpreter:
    """The first that there is: the setting, the checkout's environment, the active one, ours, one on PATH."""
    if python is not None:
        return _named(root, python, choice)
    places = [root / ".venv", root / "venv"]
    if active := choice.environ.get("VIRTUAL_ENV"):
        places.append(Path(active))
    for place in places:
        if not (place / "pyvenv.cfg").is_file():
            continue
        found = look_at(place / "bin" / "python")
        if found is not None and not choice.bounds.is_own(place):
            return found
        choice.refused.append(_broken(place) if found is None else _distrusted(place))
    ours = look_at(Path(sys.executable))
    on_it = on_path(choice.environ.get("PATH", ""))
    others = [i for i in (ours, *on_it) if i is not None and not _is_own(i, choice.bounds)]
    if not others:
        raise SettingsError(
            "no Python interpreter was found for the tests: make one with `python3 -m venv .venv` in the "
            "project and install its dependencies, or name one in `[test] python`"
        )
    # An import that cannot be resolved may be optional: the nearest one is taken, and its run will tell.
    return min(others, key=lambda i: sum(not i.has(module) for module in needed))


def _named(root: Path, python: str, choice: _Choice) -> Interpreter:
    """The interpreter that the setting names."""
    # `root / python` is `python` itself when that is absolute.
    found = look_at(root / python)
    if found is None:
        raise SettingsError(
            f"`[test] python` is {python!r}, and there is no interpreter at {root / python}; "
            "write the path of one, e.g. .venv/bin/python"
        )
    if _is_own(found, choice.bounds):
        raise SettingsError(f"`[test] python`: {_distrusted(found.python.parent.parent)}")
    return found


def _is_own(found: Interpreter, bounds: Bounds) -> bool:
    return bounds.is_own(found.python.parent.parent)


def _broken(env: Path) -> str:
    return (
        f"the environment {env} is not used, because {env / 'bin' / 'python'} is no working interpreter; make it anew "
        f"(`python3 -m venv --clear {env}`) and install what the tests need"
    )


def _distrusted(env: Path) -> str:
    return (
        f"the environment {env} is not used, because git tracks it or files in it, and a repository may not say what the "
        "tests are shown; make one that git does not track (`git rm -r .venv` where that is tracked, then `python3 -m venv "
        ".venv`)"
    )


def _runner(chosen: Interpreter, style: Runner) -> Runner:
    if chosen.has("pytest"):
        return "pytest"
    if style == "unittest":
        return "unittest"
    raise SettingsError(
        f"the tests need pytest, and {chosen.python} has none: install it there "
        f"(`{chosen.python} -m pip install pytest`) or name another interpreter in `[test] python`"
    )


def _as_typed(root: Path, python: Path, style: Runner, args: tuple[str, ...]) -> tuple[str, ...]:
    name = python.relative_to(root).as_posix() if python.is_relative_to(root) else "python3"
    return (name, "-m", style, *args)
