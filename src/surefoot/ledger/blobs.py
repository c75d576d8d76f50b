"""Bulk text by content: every blob once, under the SHA-256 of its stored bytes."""

import os
import re
import threading
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from surefoot import codec
from surefoot.errors import LedgerError
from surefoot.ledger.disk import make_directory, sync_directory, told, write_all
from surefoot.values import Digest

_DIGEST = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = re.compile(r"[0-9a-f]{64}\.(?P<pid>\d+)\.\d+\.tmp")


class BlobStore:
    """A directory of blobs that several runs and processes may write at once."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, data: bytes) -> Digest:
        """Store the bytes durably, unless they are there; the digest is theirs."""
        digest = codec.digest(data)
        path = self._path(digest)
        with told("store a blob in", self._root):
            # One that was damaged is stored anew; its size says nothing of that.
            if _size(path) == len(data) and path.read_bytes() == data:
                with suppress(FileNotFoundError):
                    os.utime(path)  # in use again, so that nobody drops it
                    return digest
            make_directory(path.parent)
            self._write(path, data)
        return digest

    def get(self, digest: Digest) -> bytes:
        """The bytes; `LedgerError` when they are missing or are not those of the digest."""
        path = self._path(digest)
        try:
            with told("read the blob", path):
                data = path.read_bytes()
        except LedgerError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise LedgerError(
                    f"the blob {digest} is not in {self._root}; restore it from a backup"
                ) from error
            raise
        if codec.digest(data) != digest:
            raise LedgerError(
                f"the blob {path} was changed: its bytes do not have the digest that it is named by; "
                "restore it from a backup"
            )
        return data

    def drop(self, digest: Digest, *, before: datetime) -> None:
        """Remove a blob that no ledger names, unless it was stored, or stored again, after `before`."""
        path = self._path(digest)
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < before.timestamp():
                path.unlink()

    def drop_unfinished(self, *, before: datetime) -> tuple[Path, ...]:
        """Remove what writers that were killed have left; a file that was changed after `before` may be in use."""
        left = sorted(p for p in self._root.glob("??/*.tmp") if _is_left(p, before))
        for path in left:
            path.unlink(missing_ok=True)
        return tuple(left)

    def _path(self, digest: Digest) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise LedgerError(f"{digest!r} is not a blob's digest: 64 lower-case hex digits")
        return self._root / digest[:2] / digest

    def _write(self, path: Path, data: bytes) -> None:
        # Named after its writer, so that two never share one; a kill leaves it behind for `surefoot gc`.
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
        fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            write_all(fd, data, 0)
            os.fsync(fd)
        except OSError:
            unfinished.unlink()
            raise
        finally:
            os.close(fd)
        unfinished.rename(path)
        sync_directory(path.parent)


def _is_left(path: Path, before: datetime) -> bool:
    """Whether an unfinished blob has no writer. A process that cannot be seen from here may be one, so its age counts, too."""
    name = _UNFINISHED.fullmatch(path.name)
    if name is None or Path("/proc", name["pid"]).exists():
        return False
    try:
        return path.stat().st_mtime < before.timestamp()
    except FileNotFoundError:
        return False


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return None
