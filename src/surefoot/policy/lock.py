"""The execution lock (SPEC B2): a file in `.surefoot/` that says why nothing may run."""

from pathlib import Path


class Lock:
    """A person's hold on a repository."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "lock"

    def reason(self) -> str | None:
        """Why the repository is locked, or None. A lock that cannot be read is a lock; bytes that are not UTF-8 are replaced."""
        try:
            return self._file.read_text("utf-8", "replace").strip() or "no reason given"
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"the lock cannot be read: {error.strerror}"

    def set(self, why: str) -> None:
        """Lock."""
        self._file.write_text(why + "\n", "utf-8")

    def clear(self) -> bool:
        """Unlock; False when it was not locked."""
        try:
            self._file.unlink()
        except FileNotFoundError:
            return False
        return True
