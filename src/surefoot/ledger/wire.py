"""One line of a ledger and back.

A line is the canonical JSON of the envelope (SPEC C7), so its keys are in this order: caused_by, class, event_id, hash,
payload, previous_hash, schema, time, trace_id, turn_id, type. `hash` is the SHA-256 of the same bytes without the
`hash` entry. Inside a JSON string a quote is always escaped, so the first `,"hash":"` of a line can only be that entry:
sealing and checking cut and hash bytes, they never encode again.
"""

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from surefoot import codec
from surefoot.errors import LedgerError
from surefoot.events.classes import EventClass
from surefoot.events.envelope import SCHEMA_VERSION, Event, Recorded
from surefoot.values import EventId, RunId, TurnId

GENESIS: Final = "0" * 64
"""What stands for the hash before the first line."""


class LineError(LedgerError):
    """A line cannot be read."""

    mend: ClassVar[str] = "restore the file from a backup, or keep it as evidence and start anew"


class BrokenLineError(LineError):
    """These bytes are not a line as it was sealed."""


class MisplacedLineError(LineError):
    """The line is whole, but it does not belong where it stands."""


class NewerLineError(LineError):
    """The line is whole, but it says something that this version does not know."""

    mend: ClassVar[str] = "it was written by a newer Surefoot, so upgrade this one"


class _Line(BaseModel):
    """The envelope with its typed payload; validates, never writes."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    caused_by: EventId | None
    event_class: EventClass = Field(alias="class")
    event_id: EventId
    hash: str
    payload: Event = Field(discriminator="kind")
    previous_hash: str
    schema_version: int = Field(alias="schema", ge=1, le=SCHEMA_VERSION)
    time: datetime
    trace_id: RunId
    turn_id: TurnId | None
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    """Where a ledger stands: what the next line must continue."""

    trace_id: RunId
    count: int = 0
    head: str = GENESIS

    def event_id(self, number: int) -> EventId:
        """Id of the event with this 1-based number."""
        return EventId(f"{self.trace_id}:{number}")

    def after(self, recorded: Recorded) -> "Tip":
        """The tip once `recorded` is the last line."""
        return Tip(trace_id=self.trace_id, count=self.count + 1, head=recorded.hash)


def is_cause(tip: Tip, cause: str | None) -> bool:
    """Whether `cause` can cause the event after `tip`.

    It is an earlier event of the trace, or one of another trace; only a first event may do without.
    """
    if cause is None:
        return tip.count == 0
    trace, _, number = cause.rpartition(":")
    if not (trace and number.isascii() and number.isdecimal() and number[0] != "0"):
        return False
    return trace != tip.trace_id or int(number) <= tip.count


def seal(
    tip: Tip,
    event: Event,
    payload: bytes,
    *,
    cause: EventId | None,
    turn: TurnId | None,
    now: datetime,
) -> tuple[Recorded, bytes]:
    """The record that follows `tip`, and its line with the newline.

    `payload` is the canonical JSON of `event`, `now` is UTC. Without a cause, the line before is the cause.
    """
    event_id = tip.event_id(tip.count + 1)
    if cause is None and tip.count:
        cause = tip.event_id(tip.count)
    trace = _json(tip.trace_id)
    before = (
        f'{{"caused_by":{_json(cause)},"class":"{event.event_class}",'
        f'"event_id":{trace[:-1]}:{tip.count + 1}"'
    ).encode()
    after = b"".join(
        (
            b',"payload":',
            payload,
            (
                f',"previous_hash":"{tip.head}","schema":{SCHEMA_VERSION},"time":"{_stamp(now)}",'
                f'"trace_id":{trace},"turn_id":{_json(turn)},"type":"{event.kind}"}}'
            ).encode(),
        )
    )
    digest = hashlib.sha256(before + after).hexdigest()
    recorded = Recorded(
        event_id=event_id,
        trace_id=tip.trace_id,
        turn_id=turn,
        caused_by=cause,
        time=now,
        event=event,
        previous_hash=tip.head,
        hash=digest,
    )
    return recorded, b'%b,"hash":"%b"%b\n' % (before, digest.encode(), after)


def unseal(line: bytes) -> Recorded:
    """The record that a line, without its newline, holds. Its place in a chain is not looked at.

    Raises:
        BrokenLineError: The bytes do not have the hash that they name.
        NewerLineError: The hash is right, and this version cannot read what it covers.
    """
    before, _, rest = line.partition(b',"hash":"')
    digest, after = rest[:64].decode("ascii", "replace"), rest[65:]
    if hashlib.sha256(before + after).hexdigest() != digest or rest[64:65] != b'"':
        _refuse_newer(line)
        raise BrokenLineError("the line does not have the hash that it names")
    try:
        parsed = _Line.model_validate_json(line)
    except ValidationError as error:
        _refuse_newer(line)
        raise NewerLineError(_first_complaint(error)) from error
    event = parsed.payload
    if (event.kind, event.event_class) != (parsed.type, parsed.event_class):
        raise MisplacedLineError(
            f"its envelope says {parsed.event_class}/{parsed.type}, its payload is {event.kind!r}"
        )
    return Recorded(
        event_id=parsed.event_id,
        trace_id=parsed.trace_id,
        turn_id=parsed.turn_id,
        caused_by=parsed.caused_by,
        time=parsed.time,
        event=event,
        previous_hash=parsed.previous_hash,
        hash=digest,
    )


@lru_cache(maxsize=256)
def _json(text: str | None) -> str:
    return codec.canonical(text).decode()


@lru_cache(maxsize=4)
def _stamp(now: datetime) -> str:
    return now.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _refuse_newer(line: bytes) -> None:
    """A newer schema may hash differently, so its lines are told apart before they count as damage."""
    try:
        plain = json.loads(line)
    except (ValueError, RecursionError):
        return
    schema = plain.get("schema") if isinstance(plain, dict) else None
    if isinstance(schema, int) and schema > SCHEMA_VERSION:
        raise NewerLineError(
            f"its ledger schema is {schema}, known here are up to {SCHEMA_VERSION}"
        )


def _first_complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    if first["type"] == "union_tag_invalid":
        tag = first["ctx"]["tag"]
        return f"its event type {tag!r} is not known here"
    place = ".".join(str(part) for part in first["loc"])
    return f"its {place!r} is not as expected here: {first['msg']}"
