"""Finds out how a project's tests are run: interpreter, runner, import path, what to carry."""

import ast
import configparser
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Literal

from surefoot.errors import SettingsError
from surefoot.suite import layout
from surefoot.suite.interpreter import Interpreter, look_at, on_path
from surefoot.suite.layout import languages
from surefoot.suite.plan import SuitePlan

LAUNCHERS: Final = frozenset({"uv", "poetry", "pdm", "pipenv", "rye", "hatch"})
"""Programs whose `run` puts the project's interpreter first; the plan calls that interpreter itself."""

Runner = Literal["pytest", "unittest"]


def detect(
    root: Path,
    *,
    python: str | None,
    command: tuple[str, ...] | None,
    environ: Mapping[str, str],
) -> SuitePlan:
    """How the tests of the checkout at `root` are run; `python` and `command` are the user's settings.

    Raises:
        SettingsError: No tests, no usable interpreter, or a command that runs neither pytest nor unittest.
    """
    root = root.resolve()
    asked, named, args = _read_command(command) if command else (None, None, ())
    style = asked or _style(root)
    roots = layout.source_roots(root, ())
    chosen = _choose(root, python or named, environ, layout.needs(root, roots) - {"pytest"})
    inside = [p for p in (*chosen.linked(), *chosen.mapped()) if p.is_relative_to(root)]
    tops = [p if p in chosen.linked() else p.parent for p in inside]
    return SuitePlan(
        python=chosen.python,
        runner=_runner(chosen, style),
        command=_as_typed(root, chosen.python, style, args),
        args=args,
        source_roots=layout.source_roots(root, tops),
        carry=layout.carried(root),
        reads=(*chosen.roots, *(p for p in chosen.linked() if not p.is_relative_to(root))),
        editable=_shown(root, inside),
        languages=languages(root),
    )


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


def _read_command(command: tuple[str, ...]) -> tuple[Runner, str | None, tuple[str, ...]]:
    """Runner, interpreter when one is named by path, and the runner's own arguments."""
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
            return "unittest", named, _unittest_dirs(words[3:])
    raise SettingsError(
        f"`[test] command` is {' '.join(command)!r}, which runs neither pytest nor unittest; "
        'write e.g. command = ["pytest", "tests"]'
    )


def _unittest_dirs(words: Sequence[str]) -> tuple[str, ...]:
    for option in ("-s", "--start-directory"):
        if option in words[:-1]:
            return (words[words.index(option) + 1],)
    return tuple(w for w in words if w != "discover" and not w.startswith("-"))


def _style(root: Path) -> Runner:
    """Which runner the project is written for."""
    if _has_pytest_settings(root):
        return "pytest"
    files = layout.test_files(root)
    if not files:
        raise SettingsError(
            f"no tests were found in {root}: no pytest settings and no file named test_*.py; "
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
    content = layout.read_toml(root / "pyproject.toml")
    if "pytest" in layout.table(content, "tool"):
        return True
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(root / name, encoding="utf-8")
        except (configparser.Error, UnicodeDecodeError):
            continue
        if parser.has_section(section):
            return True
    return False


def _choose(
    root: Path, python: str | None, environ: Mapping[str, str], needed: frozenset[str]
) -> Interpreter:
    """The first that there is: the setting, the checkout's environment, the active one, ours, one on PATH."""
    if python is not None:
        # `root / python` is `python` itself when that is absolute.
        found = look_at(root / python)
        if found is None:
            raise SettingsError(
                f"`[test] python` is {python!r}, and there is no interpreter at {root / python}; "
                "write the path of one, e.g. .venv/bin/python"
            )
        return found
    places = [root / ".venv", root / "venv"]
    if active := environ.get("VIRTUAL_ENV"):
        places.append(Path(active))
    for place in places:
        if (place / "pyvenv.cfg").is_file() and (found := look_at(place / "bin" / "python")):
            return found
    ours = look_at(Path(sys.executable))
    others = [i for i in (ours, *on_path(environ.get("PATH", ""))) if i is not None]
    if not others:
        raise SettingsError(
            "no Python interpreter was found for the tests: make one with `python3 -m venv .venv` in the "
            "project and install its dependencies, or name one in `[test] python`"
        )
    # An import that cannot be resolved may be optional: the nearest one is taken, and its run will tell.
    return min(others, key=lambda i: sum(not i.has(module) for module in needed))


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
