"""What a command may see and change, worked out from the `Command` alone, whatever then enforces it."""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.errors import SandboxError
from surefoot.sandbox.warden import Request
from surefoot.values import Command

SYSTEM: Final = tuple(
    Path(name)
    for name in (
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"
    )
)  # fmt: skip
ETC: Final = (
    "alternatives", "bash.bashrc", "crypto-policies", "debian_version", "fonts", "gai.conf", "group", "host.conf",
    "hosts", "inputrc", "java*", "ld.so.cache", "localtime", "lsb-release", "magic", "mime.types", "networks",
    "nsswitch.conf", "os-release", "passwd", "pki/ca-trust/extracted", "pki/tls/certs", "pki/tls/openssl.cnf",
    "profile", "protocols", "python3.*", "redhat-release", "resolv.conf", "services", "shells", "ssl/certs",
    "ssl/openssl.cnf", "timezone",
)  # fmt: skip
"""What programs need of /etc, as patterns; no keys, no password hashes, no settings that may hold a token."""

PROTECTED: Final = (".git", ".surefoot")
"""Names that no command may write, or create, directly inside a writable path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One path that the command sees."""

    source: Path
    """Where it really is, without symbolic links."""
    where: Path
    writable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a command sees beside the system's directories. Of nested mounts the deepest holds."""

    cwd: Path
    mounts: tuple[Mount, ...]
    """Outermost first."""
    missing: tuple[Path, ...]
    """Protected names that do not exist and may not come to be."""
    nested: tuple[Path, ...]
    """Repositories' records further below, which are read-only too."""

    def on_host(self, path: Path) -> Path | None:
        """Where the directory entry `path` really is; None when it is in no mount."""
        for mount in reversed(self.mounts):
            if path != mount.where and path.is_relative_to(mount.where):
                return mount.source / path.relative_to(mount.where)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosed:
    """A command behind a fence, as the warden gets it."""

    request: Request
    grants: Iterable[tuple[Path, int]] | None = None
    """Landlock's rule set, where there is one: paths without symbolic links, with access rights."""


def interpreter() -> tuple[Path, ...]:
    """The directories of the Python that runs Surefoot, which may lie in the user's home."""
    found = {Path(os.path.realpath(name)) for name in (sys.prefix, sys.base_prefix)}
    return tuple(sorted(path for path in found if not path.is_relative_to("/usr")))


def etc_files() -> Iterator[Path]:
    """What of /etc is shown; a file that not everybody may read is a secret."""
    for pattern in ETC:
        for path in sorted(Path("/etc").glob(pattern)):
            if path.exists() and path.stat().st_mode & 0o004:
                yield path


class Surveyor:
    """Makes views. Remembers which nested repositories each writable path had when it was first seen.

    Only code outside the fence puts a repository there before the first command; what commands make later is theirs.
    Thread-safe, because a lost update only costs a second walk.
    """

    def __init__(self) -> None:
        self._nested: dict[Path, tuple[Path, ...]] = {}

    def look(self, command: Command) -> View:
        """The view of a command.

        Raises:
            SandboxError: A path is relative, missing, or not one that may be written; or `cwd` is not in the view.
        """
        mounts: dict[Path, Mount] = {}
        for path in command.reads:
            for where in _names(path):
                mounts[where] = Mount(source=_real(path), where=where, writable=False)
        for source, where in command.binds:
            _absolute(where)
            mounts[where] = Mount(source=_real(source), where=where, writable=False)
        missing: list[Path] = []
        nested: list[Path] = []
        for path in command.writes:
            root = _writable(path)
            below = self._nested_in(root)
            nested += below
            kept = [*below, *(root / name for name in PROTECTED if _is_there(root / name))]
            for where in _names(path):
                mounts[where] = Mount(source=root, where=where, writable=True)
                for source in kept:
                    inside = where / source.relative_to(root)
                    mounts.setdefault(inside, Mount(source=source, where=inside, writable=False))
                missing += [where / name for name in PROTECTED if root / name not in kept]
        ordered = tuple(sorted(mounts.values(), key=lambda mount: len(mount.where.parts)))
        return View(
            cwd=_cwd(command, ordered),
            mounts=ordered,
            missing=tuple(missing),
            nested=tuple(nested),
        )

    def _nested_in(self, root: Path) -> list[Path]:
        if root not in self._nested:
            self._nested[root] = tuple(_nested_repositories(root))
        return [path for path in self._nested[root] if path.exists()]


def _is_there(path: Path) -> bool:
    """Whether a protected name is taken.

    Raises:
        SandboxError: It is a symbolic link.
    """
    if path.is_symlink():
        raise SandboxError(
            f"{path} is a symbolic link, which cannot be protected; replace it by what it points to"
        )
    # An empty directory is treated as missing: it may be the placeholder of another command, and go when that ends.
    return path.is_file() or (path.is_dir() and any(path.iterdir()))


def _nested_repositories(root: Path) -> Iterator[Path]:
    for directory, names, files in os.walk(root):
        if ".git" in names or ".git" in files:
            path = Path(directory, ".git")
            if path.parent != root and not path.is_symlink():
                yield path
            if ".git" in names:
                names.remove(".git")


def _names(path: Path) -> tuple[Path, ...]:
    """Where a path appears: as it was given, and without symbolic links."""
    return tuple(dict.fromkeys((Path(os.path.normpath(path)), _real(path))))


def _absolute(path: Path) -> None:
    if not path.is_absolute():
        raise SandboxError(f"{str(path)!r} is not an absolute path, so the sandbox cannot show it")


def _real(path: Path) -> Path:
    _absolute(path)
    try:
        return path.resolve(strict=True)
    except (
        OSError,
        RuntimeError,
    ) as error:  # a loop of symbolic links is a RuntimeError before Python 3.13
        raise SandboxError(
            f"{str(path)!r} cannot be shown to the command, because it does not exist"
        ) from error


def _writable(path: Path) -> Path:
    real = _real(path)
    held = [
        system for system in (*SYSTEM, Path("/etc"), Path("/proc")) if system.is_relative_to(real)
    ]
    if held:
        raise SandboxError(f"{real} may not be writable for a command: it is or holds {held[0]}")
    if ".git" in real.parts or real.name in PROTECTED:
        raise SandboxError(
            f"{real} may not be writable for a command: it belongs to a repository's records"
        )
    return real


def _cwd(command: Command, mounts: tuple[Mount, ...]) -> Path:
    _absolute(command.cwd)
    cwd = Path(os.path.normpath(command.cwd))
    if any(cwd.is_relative_to(where) for _, where in command.binds):
        return cwd
    if not any(_real(cwd).is_relative_to(mount.where) for mount in mounts):
        raise SandboxError(
            f"{str(command.cwd)!r} is not inside what the command may see; add it to `reads` or `writes`"
        )
    return cwd
