"""Durable steps on a Linux file system, with failures in words a user can act on."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.errors import LedgerError

_MENDS = {
    errno.ENOSPC: "free some space on that disk, then try again",
    errno.EDQUOT: "free some space under your disk quota, then try again",
    errno.EROFS: "the disk is mounted read-only; make it writable, then try again",
    errno.EACCES: "give yourself write permission there, then try again",
    errno.EPERM: "give yourself write permission there, then try again",
    errno.ENOENT: "nothing is there under this name; check it",
    errno.EEXIST: "a file stands where a directory has to be; move it away",
    errno.ENOTDIR: "a file stands where a directory has to be; move it away",
}


@contextmanager
def told(doing: str, path: Path) -> Iterator[None]:
    """Turn an `OSError` inside into a `LedgerError` that says what could not be done, where, and the mend."""
    try:
        yield
    except OSError as error:
        mend = _MENDS.get(error.errno or 0, "see to the disk, then try again")
        reason = error.strerror or str(error)
        raise LedgerError(f"cannot {doing} {path}: {reason}; {mend}") from error


def write_all(fd: int, data: bytes, offset: int) -> None:
    """Write every byte at `offset`; the system may take several calls."""
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def make_directory(path: Path) -> None:
    """Create a directory and its parents, each name durable."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)
