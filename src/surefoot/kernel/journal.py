"""Ledger and state as one: whatever is recorded is at once part of the folded state."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from surefoot.codec import decode, encode
from surefoot.events.classes import TestPurpose
from surefoot.events.envelope import Event, Recorded
from surefoot.events.work import ran
from surefoot.interrupts import in_one_piece
from surefoot.kernel.ports import Clock, Ledger
from surefoot.kernel.state import RunState, TestRunKey, apply, fold
from surefoot.values import Digest, EventId, RunId, Spend, TestReport, TreeId, TurnId

Follow: TypeAlias = Callable[[Recorded], Iterable[Event]]
"""What else has to be recorded because of an event."""


class Journal:
    """The kernel's hand on the ledger; safe to use from several threads."""

    def __init__(self, ledger: Ledger, clock: Clock, follow: Follow = lambda _: ()) -> None:
        self._ledger = ledger
        self._clock = clock
        self._follow = follow
        self._lock = threading.RLock()
        self.state: RunState = fold(ledger.events())

    @property
    def head(self) -> str:
        """Hash of the ledger's last line."""
        return self._ledger.head

    @property
    def turn_id(self) -> TurnId | None:
        """The turn that is open."""
        return self.state.turn.turn_id if self.state.turn else None

    def record(
        self, event: Event, *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> EventId:
        """Append one event and fold it in; within a turn it belongs to that turn."""
        return self.record_all((event,), cause=cause, turn=turn)[0].event_id

    def record_all(
        self,
        events: Sequence[Event],
        *,
        cause: EventId | None = None,
        turn: TurnId | None = None,
        aside: bool = False,
    ) -> tuple[Recorded, ...]:
        """Append several events under one fsync and fold them in; `aside`, they are no part of the turn that is open.

        An interruption waits: what the ledger has and the state has not would be done again, or undone.
        """
        with in_one_piece(), self._lock:
            belongs = None if aside else turn or self.turn_id
            recorded = self._ledger.append_all(events, cause=cause, turn=belongs)
            for one in recorded:
                self.state = apply(self.state, one)
            for one in recorded:
                for event in self._follow(one):
                    self.record(event, cause=one.event_id, turn=one.turn_id)
            return recorded

    @property
    def trace_id(self) -> RunId:
        """The run."""
        return self._ledger.trace_id

    def events(self) -> Iterator[Recorded]:
        """All events so far, in order."""
        return self._ledger.events()

    def put(self, data: bytes) -> Digest:
        """Store a blob."""
        return self._ledger.put(data)

    def get(self, digest: Digest) -> bytes:
        """Read a blob."""
        return self._ledger.get(digest)

    def spend(self) -> Spend:
        """What the run has used up to now, time included."""
        state, elapsed = self.state, self.state.elapsed_s(self._clock.now())
        return Spend(
            iterations=state.spend.iterations,
            time_s=elapsed,
            model_calls=state.spend.model_calls,
            usage=state.spend.usage,
            reserved_tokens=state.spend.reserved_tokens,
            reserved_usd=state.spend.reserved_usd,
        )

    def tests(self, tree: TreeId, purpose: TestPurpose) -> tuple[TestReport, EventId] | None:
        """The recorded report of a test run on this tree for this purpose, and its event."""
        key = TestRunKey(tree=tree, purpose=purpose)
        digest = self.state.tests.get(key)
        if digest is None:
            return None
        return decode(TestReport, self.get(digest)), self.state.test_events[key]

    def record_tests(self, tree: TreeId, purpose: TestPurpose, report: TestReport) -> EventId:
        """Record a test run with its whole report as a blob."""
        return self.record(ran(tree, purpose, report, self.put(encode(report))))
