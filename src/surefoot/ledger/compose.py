"""From events to the lines that continue a ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from surefoot.errors import LedgerError
from surefoot.events.envelope import Event, Recorded
from surefoot.ledger.scrub import Redact, scrub_event
from surefoot.ledger.wire import Tip, is_cause, seal
from surefoot.values import EventId, TurnId


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Events that are ready to be written together."""

    records: tuple[Recorded, ...]
    lines: bytes
    tip: Tip
    """Where the ledger stands once the lines are written."""


def compose(
    tip: Tip,
    events: Sequence[Event],
    *,
    redact: Redact,
    cause: EventId | None,
    turn: TurnId | None,
    now: datetime,
) -> Batch:
    """Redact, chain and seal `events` after `tip`; `cause` is the cause of each, else each causes the next.

    Raises:
        LedgerError: The cause is not known, or an event cannot be written; see `scrub_event`.
    """
    if cause is not None and not is_cause(tip, cause):
        raise LedgerError(f"the cause {cause!r} is not an event of {tip.trace_id!r} so far")
    records: list[Recorded] = []
    lines: list[bytes] = []
    for event in events:
        clean, payload = scrub_event(event, redact)
        recorded, line = seal(tip, clean, payload, cause=cause, turn=turn, now=now)
        records.append(recorded)
        lines.append(line)
        tip = tip.after(recorded)
    return Batch(records=tuple(records), lines=b"".join(lines), tip=tip)
