"""The execution lock (SPEC B2): a file that says why nothing may run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from surefoot.errors import EnvironmentBrokenError
from surefoot.plain_files import write_whole


class Lock:
    """A person's hold on a repository.

    It is set in `shared`, a folder that all checkouts of the repository see (None: there is one checkout). One that lies
    in `folder`, the checkout's own, holds there, too.
    """

    def __init__(self, folder: Path, shared: Path | None = None) -> None:
        own = folder / "lock"
        self._files = (own,) if shared is None else (shared / "surefoot-lock", own)

    def reason(self) -> str | None:
        """Why the repository is locked, or None. A lock that cannot be read is a lock; bytes that are not UTF-8 are replaced."""
        return next((why for file in self._files if (why := _reason(file)) is not None), None)

    def set(self, why: str) -> None:
        """Lock; `EnvironmentBrokenError` where that cannot be written."""
        with _changing(self._files[0], "set"):
            write_whole(self._files[0], f"{why}\n".encode())

    def clear(self) -> bool:
        """Unlock; False when it was not locked, `EnvironmentBrokenError` where the lock cannot be removed."""
        found = [file for file in self._files if os.path.lexists(file)]
        for file in found:
            with _changing(file, "removed"):
                file.unlink(missing_ok=True)
        return bool(found)


def _reason(file: Path) -> str | None:
    try:
        return file.read_text("utf-8", "replace").strip() or "no reason given"
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"the lock cannot be read: {error.strerror}"


@contextmanager
def _changing(file: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EnvironmentBrokenError(
            f"the lock {str(file)!r} cannot be {what}: {error.strerror}; free space or make the place writable"
        ) from error
