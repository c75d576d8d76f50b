"""The form of a tool call follows from the record alone."""

import pytest

from surefoot.events.calls import CallRead
from surefoot.events.orchestration import PlanMade, RunResumed, TurnClosed, TurnStarted
from surefoot.kernel.calls import by_model, choose, counted, joined
from surefoot.kernel.state import fold
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    CallCount,
    CallForm,
    CallRecord,
    Complexity,
    Issue,
    PlanIR,
    TreeId,
    TurnId,
    Unit,
    UnitId,
    UnitType,
)


def record(
    native: tuple[int, int] = (0, 0), text: tuple[int, int] = (0, 0), turned_down: int = 0
) -> CallRecord:
    """(valid, invalid) of each form."""
    return {
        "native": CallCount(valid=native[0], invalid=native[1], turned_down=turned_down),
        "text": CallCount(valid=text[0], invalid=text[1]),
    }


@pytest.mark.parametrize(
    ("known", "form"),
    [
        ({}, "native"),
        (record(native=(0, 3)), "native"),
        (record(native=(3, 1)), "native"),
        (record(native=(2, 2)), "text"),
        (record(native=(2, 2), text=(3, 0)), "text"),
        (record(native=(2, 2), text=(3, 1)), "text"),
        (record(native=(2, 2), text=(2, 2)), "native"),
        (record(native=(2, 2), text=(1, 3)), "native"),
        (record(native=(9, 0), turned_down=1), "text"),
    ],
)
def test_the_better_form_is_taken_once_both_are_measured(known: CallRecord, form: CallForm) -> None:
    """Native first, for as long as most of it can be used; a server that takes no tools ends that at once."""
    assert choose(native_tools=True, record=known)[0] == form
    assert choose(native_tools=False, record=known)[0] == "text"


def test_replies_are_counted_by_model_and_form() -> None:
    """One after the other, or two records put together."""
    events = [
        CallRead(model=model, form=form, why="", came=came)
        for model, form, came in (
            ("a", "native", "valid"),
            ("a", "native", "invalid"),
            ("a", "text", "valid"),
            ("b", "native", "turned-down"),
        )
    ]
    found = by_model(events)  # type: ignore[arg-type]
    assert found["a"]["native"] == CallCount(valid=1, invalid=1)
    assert found["b"]["native"] == CallCount(turned_down=1)
    again = joined(found["a"], counted({}, events[2]))
    assert again["text"] == CallCount(valid=2)
    assert again["native"].share == 0.5


def test_only_closed_turns_count_for_the_next_one() -> None:
    """A turn that was cut off is done again, and what its replies were like is counted once."""
    ledger = MemoryLedger(clock=FakeClock())
    unit = Unit(
        unit_id=UnitId("fix-1"),
        unit_type=UnitType.FIX,
        strategy="agent",
        issue=Issue(source="text"),
        plan=PlanIR(
            analysis="", steps=(), verification=(), complexity=Complexity.LOW, confidence=1.0
        ),
    )
    tree, turn = TreeId("7e" * 20), TurnId("fix-1.t1")
    started = TurnStarted(unit_id=unit.unit_id, number=1, tree=tree, model="m", locked=None)
    read = CallRead(model="m", form="native", why="", came="invalid")
    ledger.append(PlanMade(units=(unit,)))
    ledger.append(started, turn=turn)
    ledger.append(read, turn=turn)
    ledger.append(RunResumed(interrupted_turn=turn))
    assert fold(ledger.events()).calls == {}
    ledger.append(started, turn=turn)
    ledger.append(read, turn=turn)
    ledger.append(
        TurnClosed(
            unit_id=unit.unit_id,
            number=1,
            ended_as="rollback",
            tree=tree,
            commit=None,
            classification=None,
            outcome="retryable-fail",
            reason="",
            model="m",
        ),
        turn=turn,
    )
    assert fold(ledger.events()).calls == {"m": {"native": CallCount(invalid=1)}}
