"""Whatever happens to a ledger file, what was whole stays readable and what was changed is noticed."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from surefoot.codec import encode
from surefoot.errors import LedgerError
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import LedgerRepaired
from surefoot.ledger import FileLedger, Projection, read_events, verify_chain
from surefoot.ledger.wire import Tip, seal, unseal
from surefoot.testing.clock import FakeClock
from surefoot.values import EventId, RunId, TurnId

RUN = RunId("run-1")


def is_json(event: Event) -> bool:
    """NaN and infinity are refused, which the contract tests show."""
    try:
        encode(event)
    except ValueError:
        return False
    return True


ANY_EVENT: st.SearchStrategy[Event] = st.one_of(
    *(st.from_type(kind) for kind in get_args(Event))
).filter(is_json)
QUICK = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)
SLOW = settings(QUICK, max_examples=20)


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def opened(root: Path, run: RunId = RUN) -> FileLedger:
    return FileLedger.open(
        root / "runs" / run / "events.jsonl",
        blobs=root / "blobs",
        trace_id=run,
        clock=FakeClock(step_s=1.0),
        redact=str,
    )


def written(root: Path, events: list[Event]) -> tuple[Path, tuple[Recorded, ...]]:
    ledger = opened(root)
    records = ledger.append_all(events)
    ledger.close()
    return root / "runs" / RUN / "events.jsonl", records


@QUICK
@given(
    event=ANY_EVENT,
    count=st.integers(0, 10**6),
    turn=st.none() | st.text(st.characters(codec="utf-8")).map(TurnId),
    now=st.datetimes(timezones=st.just(UTC)),
)
def test_a_line_and_back(event: Event, count: int, turn: TurnId | None, now: datetime) -> None:
    """Every event survives its line, whatever its values."""
    tip = Tip(trace_id=RunId('r"un'), count=count, head="ab" * 32)
    record, line = seal(tip, event, encode(event), cause=None, turn=turn, now=now)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert unseal(line[:-1]) == record


@QUICK
@given(events=st.lists(ANY_EVENT, min_size=1, max_size=5), cut=st.floats(0, 1))
def test_any_prefix_recovers_to_its_whole_lines(events: list[Event], cut: float) -> None:
    """Nothing whole is lost, nothing torn is kept, and the next event goes on from there."""
    with scratch() as root:
        path, records = written(root, events)
        data = path.read_bytes()
        prefix = data[: round(cut * len(data))]
        path.write_bytes(prefix)
        whole, torn = prefix.count(b"\n"), prefix.rpartition(b"\n")[2]

        assert list(read_events(path)) == list(records[:whole])
        ledger = opened(root)
        kept = list(ledger.events())
        assert kept[:whole] == list(records[:whole])
        if torn:
            (repaired,) = (record.event for record in kept[whole:])
            assert isinstance(repaired, LedgerRepaired)
            assert repaired.dropped_bytes == len(torn)
            assert ledger.get(repaired.dropped) == torn
        else:
            assert len(kept) == whole
        added = ledger.append(events[0])
        ledger.close()
        assert list(read_events(path)) == [*kept, added]
        assert verify_chain(path) is None


@QUICK
@given(
    events=st.lists(ANY_EVENT, min_size=2, max_size=4),
    place=st.floats(0, 1, exclude_max=True),
    change=st.integers(1, 255),
)
def test_any_changed_byte_is_noticed_where_it_is(
    events: list[Event], place: float, change: int
) -> None:
    """The first line that differs is named; a changed line that is not the last is never repaired."""
    with scratch() as root:
        path, _ = written(root, events)
        data = bytearray(path.read_bytes())
        at = int(place * len(data))
        line = data[:at].count(b"\n") + 1
        # A changed line end makes two lines one; where they are the last two, that one looks torn.
        assume(data[at] != ord("\n") or line == len(events))
        data[at] ^= change
        path.write_bytes(data)
        fault = verify_chain(path)
        assert fault is not None
        assert fault.line == line
        assert fault.torn == (line == len(events) and bytes(data).count(b"\n") <= len(events))
        if not fault.torn:
            with pytest.raises(LedgerError, match=f"line {line}"):
                opened(root)
            assert path.read_bytes() == data


# --- the projection -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Act:
    """Events that are appended to one of the ledgers, and whether the projection is refreshed then."""

    run: RunId
    events: list[Event]
    turn: TurnId | None
    refresh: bool


ACTS = st.lists(
    st.builds(
        Act,
        run=st.sampled_from([RunId("run-1"), RunId("run-2"), RunId("run-10")]),
        events=st.lists(ANY_EVENT, min_size=1, max_size=3),
        turn=st.sampled_from([None, TurnId("t1"), TurnId("t2")]),
        refresh=st.booleans(),
    ),
    min_size=1,
    max_size=6,
)


@SLOW
@given(acts=ACTS, number=st.integers(0, 30))
def test_a_rebuilt_projection_is_the_live_one_and_answers_like_the_files(
    acts: list[Act], number: int
) -> None:
    """Deleting `ledger.db` loses nothing, and every filter gives what reading everything would give."""
    with scratch() as root:
        runs, live = root / "runs", Projection(root / "live.db")
        runs.mkdir()
        for act in acts:
            ledger = opened(root, act.run)
            ledger.append_all(act.events, turn=act.turn)
            ledger.close()
            if act.refresh:
                assert live.refresh(runs) == ()
        live.refresh(runs)
        rebuilt = Projection(root / "rebuilt.db")
        rebuilt.refresh(runs)
        everything = sorted(
            (record for path in runs.glob("*/events.jsonl") for record in read_events(path)),
            key=lambda record: (record.trace_id, int(record.event_id.rpartition(":")[2])),
        )
        one = everything[number % len(everything)]
        for projection in (live, rebuilt):
            answers_like(projection, everything, one)
            projection.close()


def answers_like(projection: Projection, everything: list[Recorded], one: Recorded) -> None:
    def of(holds: Callable[[Recorded], bool]) -> list[Recorded]:
        return [record for record in everything if holds(record)]

    ask, event = projection.query, one.event
    cause = one.caused_by or EventId("none:1")
    position = everything.index(one)
    assert list(ask()) == everything
    assert list(ask(trace=one.trace_id)) == of(lambda r: r.trace_id == one.trace_id)
    assert list(ask(kind=event.kind)) == of(lambda r: r.event.kind == event.kind)
    assert list(ask(event_class=event.event_class)) == of(
        lambda r: r.event.event_class == event.event_class
    )
    assert list(ask(cause=cause)) == of(lambda r: r.caused_by == cause)
    if one.turn_id is not None:
        assert list(ask(turn=one.turn_id)) == of(lambda r: r.turn_id == one.turn_id)
        assert list(ask(turn=one.turn_id, trace=one.trace_id, kind=event.kind)) == of(
            lambda r: (
                (r.turn_id, r.trace_id, r.event.kind) == (one.turn_id, one.trace_id, event.kind)
            )
        )
    assert list(ask(after=one.event_id)) == everything[position + 1 :]
    assert list(ask(after=one.event_id, limit=2)) == everything[position + 1 : position + 3]
    assert list(ask(limit=0)) == []
    for trace in {record.trace_id for record in everything}:
        assert list(ask(trace=trace, after=one.event_id)) == [
            record for record in everything[position + 1 :] if record.trace_id == trace
        ]
