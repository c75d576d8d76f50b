"""The tape's clock, and how it tells what differs."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from surefoot.codec import encode
from surefoot.errors import DivergenceError
from surefoot.events.calls import ModelReplied
from surefoot.events.orchestration import RunResumed
from surefoot.events.policy import LockMet
from surefoot.events.work import FactLearned, TestsWatched, ran
from surefoot.kernel.ports import Suite
from surefoot.tape import Tape
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    Message,
    ModelReply,
    ModelRequest,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
    TreeId,
    Usage,
)

START = datetime(2026, 1, 1, tzinfo=UTC)


def fact(text: str) -> FactLearned:
    """An event that a replay compares."""
    return FactLearned(topic="t", text=text)


def test_the_time_in_which_a_run_lay_still_does_not_count() -> None:
    """Eight hours between a kill and `resume` are no active time, so they use up no limit of the replay."""
    clock = FakeClock(START)
    ledger = MemoryLedger(clock=clock)
    ledger.append(fact("one"))
    clock.advance(8 * 3600)
    ledger.append(RunResumed(interrupted_turn=None))
    clock.advance(5)
    ledger.append(fact("two"))
    tape = Tape(tuple(ledger.events()), ledger.get)
    began = tape.now()
    again = MemoryLedger(progress=tape)
    again.append(fact("one"))
    again.append(fact("two"))
    assert tape.compared == 2
    assert tape.unmet() is None
    assert tape.now() - began <= timedelta(seconds=10)


def test_a_lock_is_met_where_the_run_met_it() -> None:
    """After the same events and the same number of answers, and opened likewise."""
    ledger = MemoryLedger(clock=FakeClock(START))
    request = ModelRequest(purpose="p", messages=(Message(role="user", content="?"),), max_tokens=1)
    reply = ModelReply(text="yes", model="m", finish="stop", usage=Usage(), wall_s=0.1)
    replied = ModelReplied(
        request=ledger.put(encode(request)),
        reply=ledger.put(encode(reply)),
        model="m",
        finish="stop",
        usage=reply.usage,
        wall_s=0.1,
    )
    record = (
        fact("one"),
        replied,
        LockMet(why="release"),
        fact("two"),
        LockMet(why=None),
        fact("three"),
    )
    ledger.append_all(record)
    tape = Tape(tuple(ledger.events()), ledger.get)
    again = MemoryLedger(progress=tape)
    met = [tape.reason()]
    for event in record:
        again.append(event)
        met.append(tape.reason())
    assert met == [None, None, *["release"] * 2, None, None, None]


def test_what_watched_tests_ran_is_taken_from_the_record() -> None:
    """It may vary from run to run, and only guesses rest on it."""
    ledger = MemoryLedger(clock=FakeClock(START))
    reach = ledger.put(b'{"t.py::test":["a.py"]}')
    ledger.append(TestsWatched(tree=TreeId("7e" * 20), count=1, reach=reach))
    tape = Tape(tuple(ledger.events()), ledger.get)
    assert tape.reach() == {"t.py::test": frozenset({"a.py"})}
    assert Tape((), ledger.get).reach() is None


def report(*ids: str, failing: Sequence[str] = ()) -> TestReport:
    """A complete run of these tests."""
    results = tuple(
        TestResult(test_id=i, outcome=TestOutcome.FAILED if i in failing else TestOutcome.PASSED)
        for i in ids
    )
    return TestReport(command=("pytest",), state=ReportState.COMPLETE, exit_code=0, results=results)


class Dealing:
    """A project's tests whose runs say one thing after the other, the last for ever."""

    def __init__(self, *reports: TestReport) -> None:
        self._reports = list(reports)

    def run(self, _root: Path, _tests: object = None, *, room: int = 1) -> TestReport:
        """The next."""
        del room
        return self._reports.pop(0) if len(self._reports) > 1 else self._reports[0]


THEN = report("t.py::a[x1]", "t.py::b")


@pytest.mark.parametrize(
    ("runs", "as_recorded"),
    [
        ([report("t.py::b", "t.py::a[x1]")], True),
        ([report("t.py::a[x2]", "t.py::b"), report("t.py::a[x3]", "t.py::b")], True),
        ([report("t.py::a[x2]", "t.py::b")], False),
        ([report("t.py::a[x2]", "t.py::b", failing=["t.py::a[x2]"]), report("t.py::a[x3]")], False),
        ([report("t.py::a[x2]", "t.py::c"), report("t.py::a[x3]", "t.py::c")], False),
    ],
    ids=["same", "ids-vary-here-too", "other-id-that-stays", "other-outcome", "other-test"],
)
def test_a_test_run_is_quoted_where_only_ids_that_vary_differ(
    runs: list[TestReport], *, as_recorded: bool
) -> None:
    """Whether they vary is seen by running the tests again; an id that merely differs is another test."""
    ledger = MemoryLedger(clock=FakeClock(START))
    ledger.append(ran(TreeId("7e" * 20), "turn", THEN, ledger.put(encode(THEN))))
    tape = Tape(tuple(ledger.events()), ledger.get)
    first = runs[0]
    told = tape.suite(cast("Suite", Dealing(*runs))).run(Path())
    assert told == (THEN if as_recorded else first)


def test_the_first_difference_is_named_by_its_place() -> None:
    """With the field, what it was, and what it is."""
    ledger = MemoryLedger(clock=FakeClock(START))
    ledger.append(fact("one"))
    ledger.append(fact("two"))
    tape = Tape(tuple(ledger.events()), ledger.get)
    again = MemoryLedger(progress=tape)
    again.append(fact("one"))
    with pytest.raises(DivergenceError, match=r"#2 fact.learned: text was 'two', is 'other'"):
        again.append(fact("other"))


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (
            "asked again from 2026-01-01 00:00:59 UTC on",
            "asked again from 2026-01-01 00:01:00 UTC on",
        ),
        (f"base is commit {'1' * 40}", f"base is commit {'2' * 40}"),
    ],
    ids=["second", "commit"],
)
def test_a_sentence_may_differ_in_what_passes(then: str, now: str) -> None:
    """A second, or the id of a commit; any other word of it makes a difference."""
    ledger = MemoryLedger(clock=FakeClock(START))
    ledger.append_all([fact(then), fact(then)])
    tape = Tape(tuple(ledger.events()), ledger.get)
    again = MemoryLedger(progress=tape)
    again.append(fact(now))
    assert tape.compared == 1
    with pytest.raises(DivergenceError, match=r"#2 fact\.learned"):
        again.append(fact(f"{now} Monday"))


def test_what_goes_on_after_the_record_is_a_difference() -> None:
    """And so is what ends before it."""
    ledger = MemoryLedger(clock=FakeClock(START))
    ledger.append(fact("one"))
    tape = Tape(tuple(ledger.events()), ledger.get)
    assert tape.unmet() == "#1 fact.learned: the replay ended before it"
    again = MemoryLedger(progress=tape)
    again.append(fact("one"))
    with pytest.raises(DivergenceError, match="the run ends here"):
        again.append(fact("two"))
