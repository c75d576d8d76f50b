"""A ledger in memory, with the real lines, hashes and redaction."""

import threading
from collections.abc import Iterator, Sequence

from surefoot import codec
from surefoot.errors import LedgerError
from surefoot.events.envelope import Event, Recorded
from surefoot.kernel.ports import Clock, Progress
from surefoot.ledger.compose import compose
from surefoot.ledger.scrub import Redact, scrub_blob
from surefoot.ledger.wire import Tip
from surefoot.testing.clock import FakeClock
from surefoot.values import Digest, EventId, RunId, TurnId

_RUN = RunId("run")


class MemoryLedger:
    """The `Ledger` port without a disk; obeys the same contract tests as `FileLedger`."""

    def __init__(
        self,
        trace_id: RunId = _RUN,
        *,
        clock: Clock | None = None,
        redact: Redact = str,
        progress: Progress | None = None,
    ) -> None:
        self._tip = Tip(trace_id=trace_id)
        self._clock = clock or FakeClock()
        self._redact = redact
        self._progress = progress
        self._records: list[Recorded] = []
        self._blobs: dict[Digest, bytes] = {}
        self._closed = False
        self._lock = threading.Lock()

    @property
    def trace_id(self) -> RunId:
        """The run that this ledger belongs to."""
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
        """Add several, in order; `cause` is the cause of each, else each causes the next."""
        with self._lock:
            if self._closed:
                raise LedgerError("the ledger in memory is closed; make a new one")
            batch = compose(
                self._tip,
                events,
                redact=self._redact,
                cause=cause,
                turn=turn,
                now=self._clock.now(),
            )
            self._records += batch.records
            self._tip = batch.tip
            if self._progress:
                for recorded in batch.records:
                    self._progress.seen(recorded)
            return batch.records

    def put(self, data: bytes) -> Digest:
        """Store a blob, redacted; the digest is that of the stored bytes."""
        stored = scrub_blob(data, self._redact)
        digest = codec.digest(stored)
        with self._lock:
            self._blobs[digest] = stored
        return digest

    def get(self, digest: Digest) -> bytes:
        """The blob; `LedgerError` when it is missing."""
        try:
            return self._blobs[digest]
        except KeyError:
            raise LedgerError(f"the blob {digest} is not in the ledger in memory") from None

    def events(self) -> Iterator[Recorded]:
        """All events that were recorded when the iteration began, in order."""
        yield from tuple(self._records)

    def close(self) -> None:
        """Take no more events; reading goes on to work."""
        self._closed = True
