"""Landlock by its three system calls: which ABI the kernel has, and a rule set as a file descriptor."""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from surefoot.errors import SandboxError

_CREATE, _ADD_RULE = 444, 445
_VERSION_FLAG: Final = 1
_PATH_BENEATH: Final = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_DEVICES: Final = (1 << 6) | (1 << 11)  # making character and block devices: never granted
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15
_ALL: Final = (1 << 16) - 1
_ON_FILES: Final = EXECUTE | WRITE_FILE | READ_FILE | _TRUNCATE | _IOCTL_DEV
READ: Final = EXECUTE | READ_FILE | READ_DIR
WRITE: Final = _ALL & ~_DEVICES & ~_IOCTL_DEV
USE_DEVICE: Final = READ_FILE | WRITE_FILE | _TRUNCATE

_BIND_AND_CONNECT_TCP: Final = 3
_ABSTRACT_SOCKETS_AND_SIGNALS: Final = 3

NEEDED_ABI: Final = 6
"""Linux 6.12. The first that keeps a process from signalling those outside; no filter on calls can do that."""


def abi() -> int:
    """The ABI of the running kernel's Landlock, 0 when it has none or it is switched off."""
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(_CREATE, None, 0, _VERSION_FLAG)))


@contextmanager
def ruleset(grants: Iterable[tuple[Path, int]]) -> Iterator[int]:
    """A rule set that allows `grants` (a path and its access rights) and nothing else, closed afterwards.

    No TCP port, no abstract socket and no signal leaves the domain. Paths are given resolved; one that is missing, or
    a symbolic link, is passed over. A right that a plain file cannot have is left out for it.

    Raises:
        SandboxError: The kernel refuses the rule set.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    wanted = struct.pack("=QQQ", _ALL, _BIND_AND_CONNECT_TCP, _ABSTRACT_SOCKETS_AND_SIGNALS)
    fd = int(libc.syscall(_CREATE, wanted, len(wanted), 0))
    if fd < 0:
        raise SandboxError(f"Landlock refused a rule set: {os.strerror(ctypes.get_errno())}")
    try:
        for path, rights in grants:
            _add(libc, fd, path, rights)
        yield fd
    finally:
        os.close(fd)


def _add(libc: ctypes.CDLL, ruleset_fd: int, path: Path, rights: int) -> None:
    try:
        parent = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP):
            return
        raise SandboxError(f"{path} cannot be opened for the sandbox: {error.strerror}") from error
    try:
        mode = os.fstat(parent).st_mode
        if stat.S_ISLNK(mode):
            return
        if not stat.S_ISDIR(mode):
            rights &= _ON_FILES
        rule = struct.pack("=Qi", rights, parent)
        if libc.syscall(_ADD_RULE, ruleset_fd, _PATH_BENEATH, rule, 0) < 0:
            reason = os.strerror(ctypes.get_errno())
            raise SandboxError(f"Landlock refused a rule for {path}: {reason}")
    finally:
        os.close(parent)
