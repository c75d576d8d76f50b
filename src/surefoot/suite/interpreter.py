"""What an interpreter has, found out by looking at its files: nothing of the project's environment is run for it."""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.plain_files import read_plain
from surefoot.syntax import parse

SYSTEM: Final = (Path("/usr"), Path("/lib"), Path("/lib64"), Path("/bin"))
"""Directories that every sandboxed command can read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """One Python installation or virtual environment."""

    python: Path
    """As it must be called."""
    roots: tuple[Path, ...]
    """The environment's directory and what it says that it builds on; what of it is shown is decided with `Bounds`."""
    sites: tuple[Path, ...]
    """Directories of installed packages, in order of import."""

    def has(self, module: str) -> bool:
        """Whether a top-level module is in the standard library or installed, editable installs included."""
        if module in sys.stdlib_module_names:
            return True
        places = (*self.sites, *self.linked())
        return any(_holds(place, module) for place in places) or module in self._mapped()

    def linked(self) -> tuple[Path, ...]:
        """Directories outside the environment that its `.pth` files put on the import path."""
        # Other lines are comments, code, or places inside the environment.
        found = [_plain(line) for line in self._pth_lines() if line.startswith("/")]
        return tuple(dict.fromkeys(p for p in found if p.is_dir()))

    def mapped(self) -> tuple[Path, ...]:
        """Packages and modules outside the environment that editable finders import."""
        return tuple(dict.fromkeys(p for p in self._mapped().values() if p.exists()))

    def _pth_lines(self) -> Iterator[str]:
        for site in self.sites:
            for file in sorted(site.glob("*.pth")):
                yield from (line.strip() for line in _text(file).splitlines())

    def _mapped(self) -> dict[str, Path]:
        """Module to place, from the finders that setuptools writes for editable installs."""
        found: dict[str, Path] = {}
        for site in self.sites:
            for file in sorted(site.glob("__editable__*_finder.py")):
                match = re.search(
                    r"^MAPPING(?:\s*:[^=]+)?\s*=\s*(\{.*\})", _text(file), re.MULTILINE
                )
                if match is not None:
                    mapping: object = ast.literal_eval(parse(match[1], "eval"))
                    if isinstance(mapping, dict):
                        found |= {str(k): _plain(str(v)) for k, v in mapping.items()}
        return found


def look_at(python: Path) -> Interpreter | None:
    """The interpreter at a path; None when it is none (a dangling link or a loop, a shell script in its place)."""
    try:
        real = python.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # a loop is a RuntimeError before Python 3.13
        return None
    if not real.is_file() or not _is_program(real):
        return None
    base = real.parent.parent
    env = python.parent.parent
    settings = env / "pyvenv.cfg"
    if not settings.is_file():
        return Interpreter(python=python, roots=_shown(base), sites=_sites(base))
    sites = _sites(env)
    if re.search(
        r"^include-system-site-packages\s*=\s*true", _text(settings), re.MULTILINE | re.IGNORECASE
    ):
        sites = (*sites, *_sites(base))
    # `home` may be a third place: a venv made by the interpreter of another venv.
    home = re.search(r"^home\s*=\s*(.+)$", _text(settings), re.MULTILINE)
    roots = (env, *_shown(base), *(_shown(Path(home[1].strip()).parent) if home else ()))
    return Interpreter(python=python, roots=tuple(dict.fromkeys(roots)), sites=sites)


def on_path(path: str) -> Iterator[Interpreter]:
    """Each `python3` of a PATH that is a program itself, not a script that looks for one."""
    for directory in path.split(":"):
        if directory and (found := look_at(Path(directory) / "python3")) is not None:
            yield found


def _plain(line: str) -> Path:
    """A path by which it can be told what it lies in."""
    path = Path(line)
    return path.resolve() if ".." in path.parts else path


def _shown(prefix: Path) -> tuple[Path, ...]:
    return () if any(prefix.is_relative_to(s) for s in SYSTEM) else (prefix,)


def _sites(prefix: Path) -> tuple[Path, ...]:
    patterns = ["lib/python3*/site-packages", "lib64/python3*/site-packages"]
    if prefix == Path("/usr"):
        patterns += ["local/lib/python3*/dist-packages", "lib/python3/dist-packages"]
    found = (p.resolve() for pattern in patterns for p in sorted(prefix.glob(pattern)))
    return tuple(dict.fromkeys(found))


def _holds(place: Path, module: str) -> bool:
    if (place / f"{module}.py").is_file() or (place / module).is_dir():
        return True
    return any(place.glob(f"{module}.*.so"))


def _is_program(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def _text(path: Path) -> str:
    try:
        return read_plain(path).decode(errors="replace")
    except OSError:
        return ""
