"""The ledger of a run as a file: one line an event, on the disk before `append` returns."""

import fcntl
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from surefoot.errors import LedgerError
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import LedgerRepaired
from surefoot.interrupts import in_one_piece
from surefoot.kernel.ports import Clock, Progress
from surefoot.ledger.blobs import BlobStore
from surefoot.ledger.chain import ChainBrokenError, Link, links
from surefoot.ledger.compose import compose
from surefoot.ledger.disk import make_directory, sync_directory, told, write_all
from surefoot.ledger.scrub import Redact, scrub_blob
from surefoot.ledger.wire import Tip
from surefoot.values import Digest, EventId, RunId, TurnId

_ASKED_AGAIN_S: Final = 0.02


class FileLedger:
    """The `Ledger` of one trace; open it with `FileLedger.open`. Thread-safe, one process at a time."""

    def __init__(
        self,
        path: Path,
        fd: int,
        *,
        blobs: Path,
        clock: Clock,
        redact: Redact,
        progress: Progress | None,
        tip: Tip,
        size: int,
    ) -> None:
        self._path, self._fd = path, fd
        self._blobs, self._redact = BlobStore(blobs), redact
        self._clock, self._progress = clock, progress
        self._tip, self._size = tip, size
        self._refusal: str | None = None
        """Why nothing more can be appended."""
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        blobs: Path,
        trace_id: RunId,
        clock: Clock,
        redact: Redact,
        progress: Progress | None = None,
        wait_s: float = 0.0,
    ) -> "FileLedger":
        """Take the ledger for this process alone; create it when it is not there.

        A last line that was cut short goes into a blob, and a `LedgerRepaired` takes its place.
        `redact` has to find in lines joined what it finds in each (see `ledger.scrub`). `progress` is told of every
        event in the order of the file; what it raises reaches the caller, with the event already recorded.
        `wait_s` is how long another process is waited for that has it.

        Raises:
            LedgerError: Another process has it; it belongs to another trace; a line in its middle is not as it was
                written; the disk refuses.
        """
        with ExitStack() as undo:
            fd = _take(path, trace_id, wait_s)
            undo.callback(os.close, fd)
            last, is_torn = _survey(path)
            if last and last.tip.trace_id != trace_id:
                raise LedgerError(
                    f"the ledger {path} belongs to {last.tip.trace_id!r}, not to {trace_id!r}; "
                    "put the right file in its place"
                )
            ledger = cls(
                path,
                fd,
                blobs=blobs,
                clock=clock,
                redact=redact,
                progress=progress,
                tip=last.tip if last else Tip(trace_id=trace_id),
                size=last.end if last else 0,
            )
            if is_torn:
                ledger._repair()
            undo.pop_all()
        return ledger

    @property
    def trace_id(self) -> RunId:
        """The run, or `repo` for the repository's own ledger."""
        return self._tip.trace_id

    @property
    def head(self) -> str:
        """Hash of the last line; 64 zeros when empty."""
        return self._tip.head

    def append(
        self, event: Event, *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> Recorded:
        """Add one event; without a cause, the event before it is the cause."""
        return self.append_all((event,), cause=cause, turn=turn)[0]

    def append_all(
        self, events: Sequence[Event], *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> tuple[Recorded, ...]:
        """Add several under one fsync, in order; `cause` is the cause of each, else each causes the next.

        After a failure of the disk nothing more is appended until the ledger is opened again. An interruption waits until
        all of it is there: the next line is written where the last one that is known of ends.
        """
        with in_one_piece(), self._lock:
            if self._refusal:
                raise LedgerError(self._refusal)
            batch = compose(
                self._tip,
                events,
                redact=self._redact,
                cause=cause,
                turn=turn,
                now=self._clock.now(),
            )
            if events:
                self._write(batch.lines)
            self._tip = batch.tip
            if self._progress:
                for recorded in batch.records:
                    self._progress.seen(recorded)
            return batch.records

    def put(self, data: bytes) -> Digest:
        """Store a blob, redacted; the digest is that of the stored bytes."""
        return self._blobs.put(scrub_blob(data, self._redact))

    def get(self, digest: Digest) -> bytes:
        """The blob; `LedgerError` when it is missing or does not match its digest."""
        return self._blobs.get(digest)

    def events(self) -> Iterator[Recorded]:
        """All events that were recorded when the iteration began, in order."""
        with self._lock:
            end = self._size
        for link in links(self._path, end=end):
            yield link.recorded

    def close(self) -> None:
        """Let go of the file and of its lock; reading goes on to work, appending does not."""
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1
            self._refusal = f"the ledger {self._path} is closed; open it again"

    def _repair(self) -> None:
        with told("read the ledger", self._path), self._path.open("rb") as file:
            file.seek(self._size)
            torn = file.read()
        self.append(LedgerRepaired(dropped_bytes=len(torn), dropped=self.put(torn)))
        # The record overwrites the torn bytes first, so that a kill in between cannot lose both.
        with told("repair the ledger", self._path):
            os.ftruncate(self._fd, self._size)
            os.fsync(self._fd)

    def _write(self, data: bytes) -> None:
        try:
            with told("write the ledger", self._path):
                write_all(self._fd, data, self._size)
                os.fsync(self._fd)
        except LedgerError as error:
            # After a failed fsync nobody knows what the disk holds: only a new open, which looks, may go on.
            self._refusal = str(error)
            with suppress(OSError):
                os.ftruncate(self._fd, self._size)
            raise
        self._size += len(data)


@contextmanager
def taken(path: Path, trace_id: RunId) -> Iterator[None]:
    """Keep every other process from a ledger; for who writes nothing into it.

    Raises:
        LedgerError: Another process has it.
    """
    fd = _take(path, trace_id, 0.0)
    try:
        yield
    finally:
        os.close(fd)


def _take(path: Path, trace_id: RunId, wait_s: float) -> int:
    """Open and lock the file that lies at `path` now; its name is durable."""
    with told("open the ledger", path):
        while True:
            make_directory(path.parent)
            with ExitStack() as undo:
                fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                undo.callback(os.close, fd)
                _lock(fd, path, trace_id, wait_s)
                if _lies_at(path, fd):
                    if not os.fstat(fd).st_size:
                        sync_directory(path.parent)
                    undo.pop_all()
                    return fd
            # Somebody removed the file between open and lock, as gc does with that of a run that never began.


def _lock(fd: int, path: Path, trace_id: RunId, wait_s: float) -> None:
    end = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() < end:
                time.sleep(_ASKED_AGAIN_S)  # flock itself knows no time limit
                continue
            raise LedgerError(
                f"run {trace_id!r} is in use by another process, which has locked {path}; "
                "wait until it ends, or end it, then try again"
            ) from error
        return


def _lies_at(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


def _survey(path: Path) -> tuple[Link | None, bool]:
    """The last whole line, and whether a torn one follows it."""
    last: Link | None = None
    try:
        for link in links(path):
            last = link
    except ChainBrokenError as error:
        if not error.fault.torn:
            raise
        return last, True
    return last, False
