"""The file of the projection; it can be deleted at any time and is made again from the ledgers."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.artifacts import CallFacts, Interface, VersionId
from surefoot.errors import LedgerError
from surefoot.registry import schema
from surefoot.tables import make_tables

_NOT_OURS: Final = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB"})


@dataclass(frozen=True, slots=True)
class Window:
    """The last calls of a version, oldest first, up to the row `last`."""

    last: int = 0
    calls: tuple[CallFacts, ...] = ()


class Database:
    """One file, opened when it is first needed. Thread-safe; several processes may use the same file.

    As long as there is none, an empty one in memory answers: asking makes no file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._rows: dict[Interface | VersionId, int] = {}
        """Row ids; a row keeps its id as long as it is there."""
        self._windows: dict[int, Window] = {}
        """The last calls of versions, by row id, as far as they were read."""
        self._in_memory = False
        self._founded = False

    @property
    def is_there(self) -> bool:
        """The file exists."""
        return (self._db is not None and not self._in_memory) or self._path.exists()

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._db is not None:
                self._db.close()
            self._db = None
            self._forget()

    def found(self) -> None:
        """From now on there is something to keep."""
        self._founded = True

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """The database; what is done inside is done whole. May be nested.

        Raises:
            LedgerError: The file cannot be used.
        """
        with self._lock:
            try:
                if self._in_memory and (self._founded or self.is_there):
                    self.close()
                db = self._db = self._db or self._open()
                if db.in_transaction:
                    yield db
                    return
                whole = False
                try:
                    with db:
                        db.execute("BEGIN IMMEDIATE")
                        yield db
                    whole = True
                finally:
                    if not whole:
                        self._forget()
            except sqlite3.Error as error:
                raise LedgerError(
                    f"cannot use {self._path}: {error}; free some space, make it writable, or delete it: "
                    "it is made again from the ledgers"
                ) from error

    def _forget(self) -> None:
        """What was read may not be there any more."""
        self._rows.clear()
        self._windows.clear()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "") not in _NOT_OURS:
                raise
        # It holds nothing that the ledgers do not hold.
        for name in (self._path.name, f"{self._path.name}-wal", f"{self._path.name}-shm"):
            self._path.with_name(name).unlink(missing_ok=True)
        return self._connect()

    def _connect(self) -> sqlite3.Connection:
        self._in_memory = not (self._founded or self.is_there)
        if not self._in_memory:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(
            ":memory:" if self._in_memory else self._path,
            isolation_level=None,
            timeout=30.0,
            check_same_thread=False,
        )
        db.row_factory = sqlite3.Row
        try:
            db.execute("PRAGMA journal_mode = WAL")
            # May lose the last folds in a power cut; the next process folds them again.
            db.execute("PRAGMA synchronous = NORMAL")
            make_tables(db, schema.VERSION, schema.TABLES, schema.SCHEMA)
        except sqlite3.Error:
            db.close()
            raise
        return db
