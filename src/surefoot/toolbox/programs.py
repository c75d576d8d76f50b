"""Programs that the user has installed and that serve a run: where they are, and what of them the fence has to show."""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SCRIPT: Final = re.compile(rb"#!\s*(\S+)(?:[ \t]+(?:-S[ \t]+)?(\S+))?")
_SYSTEM: Final = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64")))
_DEPTH: Final = 4
"""A script's interpreter may be a script itself, but not without end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One program, ready to be a `Command`."""

    argv: tuple[str, ...]
    env: dict[str, str]
    reads: tuple[Path, ...]
    """What it needs to read beside the system's directories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """The user's programs."""

    path: str
    """The user's `PATH`."""
    home: Path
    """The user's home, no part of which is shown but for what belongs to a program."""

    def find(self, argv: tuple[str, ...], root: Path) -> Program | None:
        """The program that `argv` names, by the user's `PATH` or relative to `root`; None when there is none.

        Absolute paths among the arguments are shown too: a server that is a script stands there.
        """
        file = self._locate(argv[0], root)
        if file is None:
            return None
        named = [Path(part) for part in argv[1:] if part.startswith("/")]
        reads = (*self._shown(file, _DEPTH), *(path for path in named if path.exists()))
        return Program(
            argv=(str(file), *argv[1:]),
            env={"PATH": self.path, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"},
            reads=_once(reads),
        )

    def with_help(
        self, program: Program, companions: tuple[str, ...], folders: Mapping[str, str]
    ) -> Program:
        """The same with other programs that it calls, and with folders of the user's home by the variable that names each."""
        helpers = [found for name in companions if (found := self._locate(name, self.home))]
        places = {name: self.home / folder for name, folder in folders.items()}
        there = {name: path for name, path in places.items() if path.is_dir()}
        reads = (*program.reads, *(p for h in helpers for p in self._shown(h, _DEPTH)))
        return Program(
            argv=program.argv,
            env={**program.env, **{name: str(path) for name, path in there.items()}},
            reads=_once((*reads, *there.values())),
        )

    def _locate(self, name: str, root: Path) -> Path | None:
        found = shutil.which(str(root / name) if "/" in name else name, path=self.path)
        # Relative: an entry of the PATH that means the present folder, in which anything may lie.
        return Path(found) if found is not None and found.startswith("/") else None

    def _shown(self, file: Path, depth: int) -> Iterator[Path]:
        """The file, the installation that it is part of, and the same of what interprets it."""
        real = file.resolve()
        for path in (file, real):
            yield path
            prefix = path.parent.parent
            if path.parent.name == "bin" and self._is_installation(prefix):
                yield prefix
        yield from (p for p in real.parents if p.name == "node_modules")
        for name in _interpreters(real) if depth else ():
            found = self._locate(name, file.parent)
            if found is not None:
                yield from self._shown(found, depth - 1)

    def _is_installation(self, prefix: Path) -> bool:
        """Whether all of a folder may be shown: a virtual environment, say, but not `~` or `~/.local`."""
        is_own = self.home.is_relative_to(prefix) or prefix == self.home / ".local"
        return (prefix / "lib").is_dir() and not is_own


def _once(paths: Iterable[Path]) -> tuple[Path, ...]:
    """Each once, without what is shown anyway or lies in a folder that is: nothing can be put in the place of a link there."""
    prefixes = (Path(os.path.realpath(prefix)) for prefix in (sys.prefix, sys.base_prefix))
    always = (*_SYSTEM, *prefixes)
    found = [p for p in dict.fromkeys(paths) if not any(p.is_relative_to(a) for a in always)]
    return tuple(p for p in found if not any(p != f and p.is_relative_to(f) for f in found))


def _interpreters(file: Path) -> tuple[str, ...]:
    """What the first line of a script names."""
    with file.open("rb") as opened:
        match = _SCRIPT.match(opened.readline(4096))
    return () if match is None else tuple(part.decode() for part in match.groups() if part)
