"""What of the user's machine a test process may be shown: never what only the repository asks for.

A virtual environment says of itself what it builds on (`home` of `pyvenv.cfg`, `.pth` files), and what it says is
mounted. So it is believed only where it is the user's and not the repository's content, and even then nothing is shown
but an interpreter's installation or a source tree, and no folder where secrets are kept.
"""

import os
import pwd
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, TypeAlias

Tracked: TypeAlias = Callable[[str], bool]
"""Whether git tracks a path of the checkout, or anything below it."""

_MANY: Final = frozenset(
    map(Path, ("/", "/boot", "/home", "/media", "/mnt", "/root", "/run", "/srv", "/tmp", "/var"))  # noqa: S108
)
"""Folders of many things that are never shown as a whole, though what lies in them may be."""
_STATE: Final = (Path("/dev"), Path("/etc"), Path("/proc"), Path("/sys"))
_SHARED: Final = (".cache", ".local", ".local/share", ".local/state")
"""Of a home: folders of many programs, not of one."""
_PRIVATE: Final = (
    ".aws", ".azure", ".config", ".docker", ".gnupg", ".kube", ".local/share/keyrings", ".mozilla", ".password-store",
    ".ssh",
)  # fmt: skip
"""Of a home: folders that hold secrets, however deep."""
_TELLING: Final = (
    ".aws", ".azure", ".bash_history", ".config/gcloud", ".config/gh", ".config/git", ".git-credentials", ".gnupg",
    ".kube", ".local/share/keyrings", ".mozilla", ".netrc", ".password-store", ".pypirc", ".ssh", ".zsh_history",
)  # fmt: skip
"""What a folder with secrets in it has, whoever's it is; no `.config`, which projects have too."""
_MOST_LINKS: Final = 40
"""As many as the kernel follows."""


def nothing_tracked(_path: str) -> bool:
    """`Tracked` of a folder that is no repository."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a path is reached."""

    links: tuple[Path, ...]
    """The symbolic links on the way, each without links before it."""
    end: Path
    """Where it ends, without links; nothing need be there."""

    @classmethod
    def to(cls, path: Path) -> Self:
        """The way to an absolute path, as the kernel goes it."""
        links: list[Path] = []
        here, ahead = Path("/"), list(reversed(path.parts[1:]))
        while ahead:
            name = ahead.pop()
            there = here.parent if name == ".." else here / name
            if len(links) < _MOST_LINKS and there.is_symlink():
                links.append(there)
                target = there.readlink()
                here = Path("/") if target.is_absolute() else here
                ahead += reversed([p for p in target.parts if p != "/"])
            else:
                here = there
        return cls(links=tuple(links), end=here)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What may be shown of one user's machine for one checkout."""

    root: Path
    """The checkout, without links."""
    homes: tuple[Path, ...]
    is_tracked: Tracked

    @classmethod
    def of(cls, root: Path, environ: Mapping[str, str], is_tracked: Tracked) -> Self:
        """The bounds for the user whose environment is given; the account's own home is one, too."""
        homes = [environ["HOME"]] if environ.get("HOME") else []
        with suppress(KeyError):  # an account without an entry, as in some containers
            homes.append(pwd.getpwuid(os.getuid()).pw_dir)
        real = dict.fromkeys(Path(os.path.realpath(home)) for home in homes)
        return cls(root=root, homes=tuple(real), is_tracked=is_tracked)

    def is_own(self, place: Path) -> bool:
        """Whether a folder is the repository's content, or is reached through a link that is."""
        way = Way.to(place)
        return self._is_linked(way) or self._is_content(way.end)

    def is_led_out(self, place: Path) -> bool:
        """Whether a link of the repository leads out of the checkout to a place."""
        way = Way.to(place)
        return self._is_linked(way) and not way.end.is_relative_to(self.root)

    def against_installation(self, place: Path) -> str:
        """Why a folder is not shown as an interpreter's installation or environment; empty when it may be."""
        if not _is_installation(place):
            return "it is no installation of Python (it lacks bin/python or lib/python3)"
        return self._against(place)

    def against_sources(self, place: Path) -> str:
        """Why a folder outside of the checkout is not shown as a source tree; empty when it may be."""
        if self.is_led_out(place):
            return "a link of the repository leads there"
        if self.root.is_relative_to(place.resolve()):
            return "it holds the checkout itself"
        return self._against(place) or (
            "" if _is_sources(place) else "nothing in it can be imported"
        )

    def _against(self, place: Path) -> str:
        real = place.resolve()
        if real in _MANY or any(real.is_relative_to(state) for state in _STATE):
            return "it is a folder of the system's"
        for home in self.homes:
            if home.is_relative_to(real):
                return "it is, or holds, a home directory"
            if real in {home / name for name in _SHARED}:
                return "it is a folder of many programs"
            if any(real.is_relative_to(home / name) for name in _PRIVATE):
                return "secrets are kept there"
        found = next((name for name in _TELLING if os.path.lexists(real / name)), None)
        return f"it holds {found}, so secrets are kept there" if found else ""

    def _is_linked(self, way: Way) -> bool:
        return any(self._is_content(link) for link in way.links)

    def _is_content(self, real: Path) -> bool:
        if not real.is_relative_to(self.root):
            return False
        above = [p for p in (real, *real.parents) if p.is_relative_to(self.root) and p != self.root]
        if any(os.path.lexists(p / ".git") for p in above):  # a submodule, or another repository
            return True
        return self.is_tracked(real.relative_to(self.root).as_posix())


def _is_installation(prefix: Path) -> bool:
    program = any(prefix.glob("bin/python*")) or any(prefix.glob("bin/pypy*"))
    return program and any(p.is_dir() for p in prefix.glob("lib*/py*3*"))


def _is_sources(place: Path) -> bool:
    patterns = ("*.py", "*.so", "*/__init__.py", "*/*.so", "*/*/__init__.py")
    return any(any(place.glob(pattern)) for pattern in patterns)
