"""How far a plan run is, part by part, from its state alone."""

from dataclasses import replace

import pytest
from bench.letters import unit
from bench.shelf import plan_of

from surefoot.events.plans import ChildEnded, ChildStarted, PartVerified
from surefoot.kernel.plan_state import ChildState, PlanState
from surefoot.kernel.state import RunState, UnitState
from surefoot.planrun.course import course_of
from surefoot.planrun.status import standing, trace
from surefoot.plans import PlannedUnit
from surefoot.values import (
    CommitId,
    EventId,
    RunId,
    RunStatus,
    TreeId,
    Unit,
    UnitId,
    UnitType,
    Usage,
)

COMMIT, TREE = CommitId("c" * 40), TreeId("t" * 40)
LOOK = replace(unit("look"), unit_type=UnitType.AUDIT, writes=())


def looked() -> ChildState:
    """The run of a unit that only looks, at its end."""
    begun = ChildStarted(
        node="subagent",
        unit_id=UnitId("look"),
        run=RunId("P.look.1"),
        attempt=1,
        base=COMMIT,
        base_tree=TREE,
        tokens=0,
        cost_usd=0.0,
        reason="",
    )
    ended = ChildEnded(
        unit_id=begun.unit_id,
        run=begun.run,
        status=RunStatus.REPORTED,
        reason="",
        ledger_head="",
        base_tree=TREE,
        tree=None,
        commit=None,
        usage=Usage(),
        model_calls=0,
    )
    return ChildState(begun=begun, started=EventId("P:1"), ended=ended)


def merged(planned: PlannedUnit) -> RunState:
    """One unit's work is merged, and nothing else has begun."""
    done = Unit(
        unit_id=planned.unit_id,
        unit_type=planned.unit_type,
        strategy="merge",
        issue=plan_of(planned).issue,
        plan=planned.plan,
    )
    return RunState(
        units={planned.unit_id: UnitState(unit=done, ended="done")},
        plan=PlanState(tips={planned.unit_id: (COMMIT, TREE)}),
    )


def verified(part: str, *, passed: bool) -> PartVerified:
    """The end of a slice or milestone."""
    return PartVerified(
        part=part,
        level="milestone" if "/" in part else "slice",
        tree=TREE,
        commit=COMMIT,
        passed=passed,
        reason="",
        tests=(),
        report=EventId("P:1"),
    )


@pytest.mark.parametrize(
    ("kind", "milestone", "shown"),
    [
        (UnitType.DOCS, None, False),
        (UnitType.DOCS, False, False),
        (UnitType.DOCS, True, True),
        (UnitType.FIX, None, True),
    ],
)
def test_an_audit_is_shown_where_one_was_asked_for(
    kind: UnitType, *, milestone: bool | None, shown: bool
) -> None:
    """A slice of words asks for none: there it is its milestone's."""
    one = unit("a")
    one = replace(one, unit_type=kind, verification=("surefoot audit",), requirements=("R-1",))
    plan = plan_of(one)
    parts = [verified("S1", passed=True)]
    if milestone is not None:
        parts.append(verified(f"{plan.plan_id}/M1", passed=milestone))
    state = RunState(plan=PlanState(parts={p.part: p for p in parts}))
    row = trace(plan, state).splitlines()[-1]
    assert row.endswith("| `surefoot audit` | - |" if shown else "|  | `surefoot audit` |")


@pytest.mark.parametrize(("alive", "word"), [(True, "running"), (False, "stopped")])
def test_a_part_that_is_begun_goes_on_only_while_somebody_works_on_it(
    *, alive: bool, word: str
) -> None:
    """One of its units is merged and the other one waits."""
    course = course_of(plan_of(unit("a"), unit("b")))
    [milestone] = standing(course, merged(unit("a")), {}, alive=alive)
    [piece] = milestone.parts
    assert [u.state for u in piece.parts] == ["done", "waiting"]
    assert (milestone.state, piece.state) == (word, word)


def test_a_part_of_which_nothing_is_merged_is_done_when_its_units_are() -> None:
    """Nothing of it has to be verified, so no verification is waited for."""
    state = RunState(plan=PlanState(children={RunId("P.look.1"): looked()}))
    [milestone] = standing(course_of(plan_of(LOOK)), state, {}, alive=False)
    assert (milestone.state, milestone.parts[0].state) == ("done", "done")
