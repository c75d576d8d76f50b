"""The ledgers as a SQLite table that answers questions fast; it can be deleted at any time and is made again.

It holds the lines themselves, so an answer needs no other file. A trace is read on from the byte where it was left, as
long as the line that ends there is still the one that was read last; otherwise the trace is read again from its start.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from surefoot.errors import LedgerError, UsageError
from surefoot.events.classes import EventClass
from surefoot.events.envelope import Recorded
from surefoot.ledger.chain import ChainBrokenError, ChainFault, Link, links
from surefoot.ledger.disk import make_directory, told
from surefoot.ledger.wire import Tip, unseal
from surefoot.tables import make_tables
from surefoot.values import EventId, RunId, TurnId

_VERSION: Final = 1
_BATCH: Final = 10_000
_NUMBER_DIGITS: Final = 18
"""What always fits into an integer of SQLite."""
# The primary key is the order of every answer, and the end of every index: a filter never needs a sort.
_SCHEMA: Final = """
CREATE TABLE sources (
    path TEXT PRIMARY KEY, trace TEXT NOT NULL, count INTEGER NOT NULL, size INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE events (
    trace TEXT NOT NULL, number INTEGER NOT NULL, turn TEXT, class TEXT NOT NULL, kind TEXT NOT NULL,
    cause TEXT, line BLOB NOT NULL, PRIMARY KEY (trace, number)
) WITHOUT ROWID;
CREATE INDEX by_cause ON events (cause, trace, number) WHERE cause IS NOT NULL;
CREATE INDEX by_turn ON events (turn, trace, number) WHERE turn IS NOT NULL;
CREATE INDEX by_kind ON events (kind, trace, number);
CREATE INDEX by_class ON events (class, trace, number);
"""
# Which index serves a question, the narrowest first; the planner has no statistics to know this by.
_INDEXES: Final = (
    ("cause", "by_cause"),
    ("turn", "by_turn"),
    ("kind", "by_kind"),
    ("class", "by_class"),
)
_NOT_OURS: Final = frozenset({"SQLITE_CORRUPT", "SQLITE_NOTADB"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFault:
    """A ledger file that could be projected only in part."""

    path: Path
    fault: ChainFault


class Projection:
    """Queries over all ledgers of a repository. For one thread; several processes may use the same file."""

    def __init__(self, db_path: Path) -> None:
        self._path = db_path
        with told("create the directory", db_path.parent):
            make_directory(db_path.parent)
        try:
            self._db = self._connect()
        except LedgerError as error:
            if getattr(error.__cause__, "sqlite_errorname", "") not in _NOT_OURS:
                raise
            # It holds nothing that the ledgers do not hold.
            for name in (db_path.name, f"{db_path.name}-wal", f"{db_path.name}-shm"):
                db_path.with_name(name).unlink(missing_ok=True)
            self._db = self._connect()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def refresh(self, runs_dir: Path, extra: Sequence[Path] = ()) -> tuple[SourceFault, ...]:
        """Hold exactly the events of `runs_dir/*/events.jsonl` and of the `extra` ledgers.

        A torn last line is left out until it is repaired. A ledger that is damaged elsewhere is held up to its fault,
        and the fault is returned.
        """
        found = (*sorted(runs_dir.glob("*/events.jsonl")), *extra)
        paths = [path.absolute() for path in found if path.is_file()]
        faults: list[SourceFault] = []
        with self._told():
            self._forget_missing(paths)
            for path in paths:
                fault = self._read(path)
                if fault and not fault.torn:
                    faults.append(SourceFault(path=path, fault=fault))
        return tuple(faults)

    def query(
        self,
        *,
        trace: RunId | None = None,
        turn: TurnId | None = None,
        event_class: EventClass | None = None,
        kind: str | None = None,
        cause: EventId | None = None,
        limit: int | None = None,
        after: EventId | None = None,
    ) -> tuple[Recorded, ...]:
        """Events for which all that is given holds, ordered by trace and by place in it.

        `after` is the last event of the page before. Raises `UsageError` when `after` or `cause` can be the id of no event,
        `LedgerError` when the file cannot be read.
        """
        if cause is not None:
            _split(cause)
        wanted = {
            "trace": trace,
            "cause": cause,
            "turn": turn,
            "kind": kind,
            "class": event_class,
        }
        given = {column: value for column, value in wanted.items() if value is not None}
        terms = [f"{column} = ?" for column in given]
        values: list[str | int] = list(given.values())
        if after is not None:
            before, number = _split(after)
            # With the trace known, the pair is compared by hand: the planner would sort again.
            if trace is None:
                terms.append("(trace, number) > (?, ?)")
                values += [before, number]
            elif before == trace:
                terms.append("number > ?")
                values.append(number)
            elif before > trace:
                return ()
        index = next((f"INDEXED BY {name}" for column, name in _INDEXES if column in given), "")
        where = f"WHERE {' AND '.join(terms)}" if terms else ""
        # Only column and index names from this file go into the text; every value is bound.
        sql = f"SELECT line FROM events {index} {where} ORDER BY trace, number LIMIT ?"  # noqa: S608
        values.append(-1 if limit is None else limit)
        with self._told():
            lines = [line for (line,) in self._db.execute(sql, values)]
        return tuple(unseal(line) for line in lines)

    def _connect(self) -> sqlite3.Connection:
        with self._told():
            db = sqlite3.connect(self._path, isolation_level=None, timeout=30.0)
            try:
                # NORMAL may lose the last commits in a power cut, which the next refresh reads again.
                db.execute("PRAGMA journal_mode = WAL")
                db.execute("PRAGMA synchronous = NORMAL")
                make_tables(db, _VERSION, ("events", "sources"), _SCHEMA)
            except sqlite3.Error:
                db.close()
                raise
        return db

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise LedgerError(
                f"cannot use the projection {self._path}: {error}; free some space, make it writable, "
                "or delete it: it is made again from the ledgers"
            ) from error

    def _forget_missing(self, paths: Sequence[Path]) -> None:
        present = {str(path) for path in paths}
        known = self._db.execute("SELECT path, trace FROM sources").fetchall()
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            for path, trace in known:
                if path not in present:
                    self._forget(path, trace)

    def _forget(self, path: str, trace: str) -> None:
        self._db.execute("DELETE FROM events WHERE trace = ?", (trace,))
        self._db.execute("DELETE FROM sources WHERE path = ?", (path,))

    def _read(self, path: Path) -> ChainFault | None:
        """Read on where the file was left, to its end or to the fault that is returned."""
        with self._db:
            self._db.execute("BEGIN IMMEDIATE")
            start = self._left_off(path)
            reader = links(path, start=start)
            while True:
                chunk, fault = _chunk(reader)
                if chunk:
                    if start is None and (twin := self._twin(path, chunk[0])):
                        return twin
                    self._store(path, chunk)
                if fault or not chunk:
                    return fault
                start = chunk[-1]

    def _left_off(self, path: Path) -> Link | None:
        """The last link that was read of a file; None, and nothing of it is held, when the file has changed there."""
        row = self._db.execute(
            "SELECT trace, count, size, line FROM sources JOIN events USING (trace)"
            " WHERE path = ? AND number = count",
            (str(path),),
        ).fetchone()
        if row is None:
            return None
        trace, count, size, line = row
        with told("read the ledger", path), path.open("rb") as file:
            file.seek(max(0, size - len(line) - 1))
            unchanged = file.read(len(line) + 1) == line + b"\n"
        if not unchanged:
            self._forget(str(path), trace)
            return None
        recorded = unseal(line)
        tip = Tip(trace_id=RunId(trace), count=count, head=recorded.hash)
        return Link(recorded=recorded, line=line, end=size, tip=tip)

    def _twin(self, path: Path, first: Link) -> ChainFault | None:
        trace = first.tip.trace_id
        row = self._db.execute("SELECT path FROM sources WHERE trace = ?", (trace,)).fetchone()
        if row is None:
            return None
        return ChainFault(
            line=1,
            offset=0,
            reason=f"its trace {trace!r} is also that of {row[0]}",
            mend=f"remove the copy, {path} or the other",
            torn=False,
        )

    def _store(self, path: Path, chunk: Sequence[Link]) -> None:
        self._db.executemany(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    link.tip.trace_id,
                    link.tip.count,
                    link.recorded.turn_id,
                    link.recorded.event.event_class,
                    link.recorded.event.kind,
                    link.recorded.caused_by,
                    link.line,
                )
                for link in chunk
            ),
        )
        last = chunk[-1]
        self._db.execute(
            "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)",
            (str(path), last.tip.trace_id, last.tip.count, last.end),
        )


def _chunk(reader: Iterator[Link]) -> tuple[list[Link], ChainFault | None]:
    chunk: list[Link] = []
    try:
        for link in islice(reader, _BATCH):
            chunk.append(link)  # noqa: PERF402  # what came before a fault is kept
    except ChainBrokenError as error:
        return chunk, error.fault
    return chunk, None


def _split(event_id: str) -> tuple[str, int]:
    trace, _, number = event_id.rpartition(":")
    if not (trace and number.isascii() and number.isdecimal() and len(number) <= _NUMBER_DIGITS):
        raise UsageError(f"{event_id!r} is not an event id; one looks like 20260101-120000-ab12:7")
    return trace, int(number)
