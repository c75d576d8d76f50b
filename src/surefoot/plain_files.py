"""Files of a repository, read and written by this process, before which no fence stands.

A name may lead to anything: a device is read without end, and opening a pipe waits for somebody to write into it.
"""

import errno
import os
import secrets
import stat
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 8 * 1024**2
"""A larger file is none that people write."""


def read_plain(path: Path, most: int = MOST_BYTES) -> bytes:
    """The bytes of a plain file, which a link may lead to.

    Raises:
        OSError: It is missing, no plain file, or has more than `most` bytes.
    """
    data = read_head(path, most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most} bytes", str(path))
    return data


def read_head(path: Path, size: int, *, links: bool = True) -> bytes:
    """The first `size` bytes of a plain file; without `links`, the name itself has to be one.

    Raises:
        OSError: It is missing, or no plain file.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    number = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "it is no plain file", str(path))
        with open(number, "rb", closefd=False) as file:  # of a number, not a path
            return file.read(size)
    finally:
        os.close(number)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all, with the mode that it had; a link, a pipe or a device is written through, and never replaced.

    Raises:
        OSError: It cannot be written; what was there is as it was.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        path.write_bytes(data)
        return
    # A name that no repository can have taken, with a link in its place, and no second writer at the same time.
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    number = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(number, "wb") as file:
            if mode is not None:
                os.fchmod(number, mode)
            file.write(data)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
