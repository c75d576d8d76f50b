"""What every `Ledger` does, the real one and the one in memory alike."""

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from surefoot import codec
from surefoot.errors import LedgerError
from surefoot.events.calls import BudgetPressure
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import QuestionAnswered, TurnStarted
from surefoot.events.work import FactLearned
from surefoot.kernel.ports import Ledger
from surefoot.ledger import FileLedger
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Digest, EventId, Message, ModelRequest, RunId, TreeId, TurnId, UnitId

RUN = RunId("20260101-000000-0001")
HIDDEN = "opensesame-4711"


class Seen:
    """A progress that remembers, and looks at the ledger while it is told."""

    def __init__(self) -> None:
        self.records: list[Recorded] = []

    def seen(self, recorded: Recorded) -> None:
        self.records.append(recorded)


def hide(text: str) -> str:
    return text.replace(HIDDEN, "[redacted:test]")


Open = Callable[[Seen | None], Ledger]


@pytest.fixture(params=["file", "memory"])
def open_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    opened: list[Ledger] = []

    def opening(progress: Seen | None = None) -> Ledger:
        clock = FakeClock(step_s=1.0)
        ledger: Ledger
        if request.param == "memory":
            ledger = MemoryLedger(RUN, clock=clock, redact=hide, progress=progress)
        else:
            ledger = FileLedger.open(
                tmp_path / "runs" / RUN / "events.jsonl",
                blobs=tmp_path / "blobs",
                trace_id=RUN,
                clock=clock,
                redact=hide,
                progress=progress,
            )
        opened.append(ledger)
        return ledger

    yield opening
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Open) -> Ledger:
    return open_ledger(None)


def fact(text: str) -> FactLearned:
    return FactLearned(topic="t", text=text)


def test_an_empty_ledger_has_no_events_and_a_head_of_zeros(ledger: Ledger) -> None:
    """Nothing is recorded until something is appended."""
    assert ledger.trace_id == RUN
    assert ledger.head == "0" * 64
    assert list(ledger.events()) == []


def test_appended_events_are_read_back_equal_and_in_order(ledger: Ledger) -> None:
    """What append returns is what events() yields, envelope included."""
    records = [ledger.append(fact(str(number))) for number in range(5)]
    assert list(ledger.events()) == records
    assert [record.event for record in records] == [fact(str(number)) for number in range(5)]


def test_the_envelope_numbers_dates_and_chains(ledger: Ledger) -> None:
    """Ids count from 1, times are the clock's, each line names the hash of the one before."""
    first = ledger.append(fact("a"), turn=TurnId("t1"))
    second = ledger.append(fact("b"))
    assert (first.event_id, second.event_id) == (f"{RUN}:1", f"{RUN}:2")
    assert (first.turn_id, second.turn_id) == ("t1", None)
    assert first.time == datetime(2026, 1, 1, tzinfo=UTC)
    assert second.time > first.time
    assert (first.previous_hash, second.previous_hash) == ("0" * 64, first.hash)
    assert ledger.head == second.hash


def test_the_hash_can_be_computed_from_the_envelope_alone(ledger: Ledger) -> None:
    """SHA-256 over the canonical JSON of everything but the hash; no code of the ledger is needed."""
    ledger.append(fact("a"))
    record = ledger.append(fact('quote " backslash \\ é'), turn=TurnId('"odd" turn'))
    plain = {
        "caused_by": f"{RUN}:1",
        "class": "tool",
        "event_id": f"{RUN}:2",
        "payload": json.loads(codec.encode(record.event)),
        "previous_hash": record.previous_hash,
        "schema": 1,
        "time": "2026-01-01T00:00:01.000000Z",
        "trace_id": RUN,
        "turn_id": '"odd" turn',
        "type": "fact.learned",
    }
    assert record.hash == codec.digest(codec.canonical(plain))


def test_without_a_cause_the_event_before_is_the_cause(ledger: Ledger) -> None:
    """Only the first event has none."""
    records = ledger.append_all([fact("a"), fact("b"), fact("c")])
    assert [record.caused_by for record in records] == [None, f"{RUN}:1", f"{RUN}:2"]


def test_a_given_cause_is_the_cause_of_each(ledger: Ledger) -> None:
    """Of an event of this trace, or of another."""
    first = ledger.append(fact("a"))
    ledger.append(fact("b"))
    both = ledger.append_all([fact("c"), fact("d")], cause=first.event_id)
    other = ledger.append(fact("e"), cause=EventId("another-run:9"))
    assert [record.caused_by for record in both] == [first.event_id, first.event_id]
    assert other.caused_by == "another-run:9"


@pytest.mark.parametrize("cause", [f"{RUN}:3", f"{RUN}:0", f"{RUN}:", "nonsense", ":1", ""])
def test_a_cause_that_is_not_recorded_is_refused(ledger: Ledger, cause: str) -> None:
    """An event may not point forward or nowhere, and the refused one leaves no trace."""
    ledger.append_all([fact("a"), fact("b")])
    with pytest.raises(LedgerError, match="cause"):
        ledger.append(fact("c"), cause=EventId(cause))
    assert len(list(ledger.events())) == 2


def test_no_events_are_no_lines(ledger: Ledger) -> None:
    """An empty batch changes nothing."""
    assert ledger.append_all([]) == ()
    assert ledger.head == "0" * 64


def test_an_event_that_json_cannot_say_is_refused_whole(ledger: Ledger) -> None:
    """Infinity would make the ledger unreadable; nothing of its batch is recorded."""
    with pytest.raises(LedgerError, match=r"budget\.pressure"):
        ledger.append_all([fact("a"), BudgetPressure(what="tokens", share=float("inf"))])
    assert list(ledger.events()) == []
    assert ledger.append(fact("b")).event_id == f"{RUN}:1"


def test_an_undecodable_file_name_is_recorded_as_its_escape(ledger: Ledger) -> None:
    """Half a surrogate pair cannot be UTF-8, and must not stop a run."""
    record = ledger.append(fact("name-\udcff.py"))
    assert record.event == fact("name-\\udcff.py")
    assert list(ledger.events()) == [record]


def test_secrets_are_gone_from_every_string_of_an_event(ledger: Ledger) -> None:
    """What is returned is what is stored: redacted."""
    answer = QuestionAnswered(approved=True, text=f"use {HIDDEN}", who=f"{HIDDEN}@host")
    record = ledger.append(answer)
    assert record.event == QuestionAnswered(
        approved=True, text="use [redacted:test]", who="[redacted:test]@host"
    )
    assert list(ledger.events()) == [record]


def test_a_secret_that_is_a_word_of_ours_does_not_break_the_record(open_ledger: Open) -> None:
    """An enumeration's word is public; hiding it would make the event unreadable."""
    ledger = open_ledger(None)
    ledger.append(fact(f"{HIDDEN} first"))
    hidden_words = MemoryLedger(RUN, redact=lambda text: text.replace("baseline", "[redacted:x]"))
    record = hidden_words.append(fact("the baseline"))
    assert record.event == fact("the [redacted:x]")
    report = codec.canonical({"purpose": "baseline", "text": "the baseline"})
    assert hidden_words.get(hidden_words.put(report)) == (
        b'{"purpose":"baseline","text":"the [redacted:x]"}'
    )


def test_a_blob_is_named_by_its_stored_bytes(ledger: Ledger) -> None:
    """Redacted first, then digested; the same bytes have the same name."""
    clean, dirty = ledger.put(b"plain"), ledger.put(f"a {HIDDEN} b".encode())
    assert clean == codec.digest(b"plain")
    assert ledger.get(clean) == b"plain"
    assert ledger.get(dirty) == b"a [redacted:test] b"
    assert dirty == codec.digest(b"a [redacted:test] b")
    assert ledger.put(b"plain") == clean


@pytest.mark.parametrize(
    "data",
    [
        b"",
        bytes(range(256)),
        "smörgåsbord".encode(),
        "日本".encode("utf-16"),
        b"\xff\xfe{",
        b"[" * 200_000,
    ],
    ids=["empty", "every byte", "utf-8", "utf-16", "broken", "deep"],
)
def test_a_blob_without_secrets_keeps_its_bytes(ledger: Ledger, data: bytes) -> None:
    """Text or not."""
    assert ledger.get(ledger.put(data)) == data


def test_a_secret_inside_binary_data_is_hidden_and_nothing_else_changes(ledger: Ledger) -> None:
    """A token in a core dump or an archive's header is ASCII text all the same."""
    noise = bytes(range(128, 256)) + b"\x00\x01"
    assert ledger.get(ledger.put(noise + HIDDEN.encode() + noise)) == (
        noise + b"[redacted:test]" + noise
    )


def test_a_blob_of_canonical_json_stays_readable_when_redacted(ledger: Ledger) -> None:
    """Resume decodes our own blobs, whatever was hidden in their strings."""
    request = ModelRequest(
        purpose="candidate_edit",
        messages=(Message(role="user", content=f'say "{HIDDEN}"\n{HIDDEN}\\'),),
        max_tokens=5,
    )
    stored = ledger.get(ledger.put(codec.encode(request)))
    assert codec.decode(ModelRequest, stored).messages[0].content == (
        'say "[redacted:test]"\n[redacted:test]\\'
    )


def test_a_value_that_only_its_key_gives_away_is_hidden() -> None:
    """`{"token": "x"}` says more than `x`, also deep inside a blob."""
    ledger = MemoryLedger(redact=lambda text: text.replace('token: "x"', 'token: "[redacted:k]"'))
    data = codec.canonical({"settings": [{"token": "x", "name": "x"}]})
    assert json.loads(ledger.get(ledger.put(data))) == {
        "settings": [{"token": "[redacted:k]", "name": "x"}]
    }


@pytest.mark.parametrize("value", [1, None, [], {}, {"a": 2}, "0" * 40, ["x"], "x"])
def test_a_secret_that_is_a_key_is_hidden_whatever_stands_under_it(
    ledger: Ledger, value: object
) -> None:
    """A table of counts by header, say, whose values are no texts."""
    data = codec.canonical({"counts": {HIDDEN: value}})
    assert json.loads(ledger.get(ledger.put(data))) == {"counts": {"[redacted:test]": value}}


@pytest.mark.parametrize("digest", ["0" * 64, "../../etc/passwd", "", "A" * 64])
def test_a_blob_that_is_not_there_is_an_error(ledger: Ledger, digest: str) -> None:
    """Also for names that are no digests."""
    with pytest.raises(LedgerError, match=r"digest|is not in"):
        ledger.get(Digest(digest))


def test_events_gives_what_was_there_when_it_began(ledger: Ledger) -> None:
    """A fold that appends while it reads does not chase its own tail."""
    ledger.append_all([fact("a"), fact("b")])
    for _ in ledger.events():
        ledger.append(fact("more"))
    assert len(list(ledger.events())) == 4


def test_threads_append_without_loss_and_in_one_chain(ledger: Ledger) -> None:
    """Every append of every thread is there once, and the chain holds."""

    def work(name: str) -> None:
        for number in range(20):
            ledger.append(fact(f"{name}{number}"))
            ledger.put(f"{number}".encode())

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    records = list(ledger.events())
    texts = {record.event.text for record in records if isinstance(record.event, FactLearned)}
    assert texts == {f"{name}{number}" for name in "abcd" for number in range(20)}
    heads = ["0" * 64, *(record.hash for record in records)]
    assert [record.previous_hash for record in records] == heads[:-1]
    assert ledger.head == heads[-1]


def test_progress_sees_every_event_in_order(open_ledger: Open) -> None:
    """As it is recorded, redacted and all."""
    seen = Seen()
    ledger = open_ledger(seen)
    ledger.append(fact(HIDDEN))
    started = TurnStarted(unit_id=UnitId("u"), number=1, tree=TreeId("0" * 40))
    ledger.append_all([started, fact("x")])
    assert seen.records == list(ledger.events())


def test_an_event_is_recorded_even_if_progress_fails(open_ledger: Open) -> None:
    """A view that breaks cannot unmake a fact, nor stop the next."""

    class Broken(Seen):
        def seen(self, recorded: Recorded) -> None:
            raise BrokenPipeError(recorded.event_id)

    ledger = open_ledger(Broken())
    for _ in range(2):
        with pytest.raises(BrokenPipeError):
            ledger.append(fact("a"))
    assert [record.event_id for record in ledger.events()] == [f"{RUN}:1", f"{RUN}:2"]


def test_a_closed_ledger_takes_nothing_and_still_reads(ledger: Ledger) -> None:
    """Closing twice is fine."""
    record = ledger.append(fact("a"))
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.append(fact("b"))
    assert list(ledger.events()) == [record]
    assert ledger.head == record.hash
