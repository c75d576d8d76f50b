"""The patients that ship with the package: small repositories with one real bug, its issue and a failing test."""

import shutil
import subprocess
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path, PurePosixPath
from typing import Final

from surefoot.errors import EnvironmentBrokenError, UsageError

NAMES: Final = ("daybook",)
"""Names of all bundled patients."""

_WHO = b"Daybook Maintainer <maintainer@daybook.invalid> 1735689600 +0000"
_RENAMED = {"dot-gitignore": ".gitignore"}
_NOT_SHIPPED = ("__pycache__", ".pytest_cache")


def materialise(name: str, dest: Path) -> Path:
    """Write the patient as a git repository with one commit on `main` to `dest`, and return `dest`.

    Content, identity and date are fixed, so the commit id is the same everywhere; neither the user's git
    configuration nor hooks play a part.

    Raises:
        UsageError: There is no patient of that name, or `dest` exists and is not empty.
        EnvironmentBrokenError: `dest` cannot be made, or git is missing or does not work.
    """
    if name not in NAMES:
        raise UsageError(f"there is no bundled patient {name!r}; there are {', '.join(NAMES)}")
    try:
        if dest.exists() and (not dest.is_dir() or any(dest.iterdir())):
            raise UsageError(f"{str(dest)!r} exists already; name a folder that is new or empty")
        dest.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentBrokenError(
            f"{str(dest)!r} cannot be made: {error.strerror}; name a folder that can be written"
        ) from None
    _git(dest, "init", "--quiet", "--template=", "--initial-branch=main")
    _git(dest, "config", "user.name", "Daybook Maintainer")
    _git(dest, "config", "user.email", "maintainer@daybook.invalid")
    _git(dest, "fast-import", "--quiet", "--done", stdin=_stream(name))
    _git(dest, "reset", "--quiet", "--hard", "main")
    return dest


def _files(place: Traversable, prefix: PurePosixPath) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(place.iterdir(), key=lambda e: e.name):
        if entry.is_dir():
            if entry.name not in _NOT_SHIPPED:
                yield from _files(entry, prefix / entry.name)
        else:
            yield str(prefix / _RENAMED.get(entry.name, entry.name)), entry.read_bytes()


def _stream(name: str) -> bytes:
    message = b"daybook 0.4.1"
    lines = [b"commit refs/heads/main", b"committer " + _WHO, b"data %d" % len(message), message]
    for path, content in _files(resources.files(__package__) / name, PurePosixPath()):
        lines += [b"M 100644 inline " + path.encode(), b"data %d" % len(content), content]
    return b"\n".join([*lines, b"done", b""])


def _git(cwd: Path, *argv: str, stdin: bytes = b"") -> None:
    program = shutil.which("git")
    if program is None:
        raise EnvironmentBrokenError("`git` is not on the PATH; install git")
    nowhere = {"HOME": str(cwd), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
    done = subprocess.run(
        [program, *argv], cwd=cwd, env=nowhere, input=stdin, capture_output=True, check=False
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise EnvironmentBrokenError(
            f"`git {' '.join(argv)}` in {str(cwd)!r} ended with {done.returncode}: {said!r}; "
            "check the installation of git (2.28 or later) and the folder's permissions"
        )
