"""The graph of a plan: what is merged in which order, and from what each unit starts."""

from dataclasses import replace

import pytest
from bench.shelf import fixes, plan_of
from hypothesis import given
from hypothesis import strategies as st

from surefoot.errors import UsageError
from surefoot.kernel.schedule import Schedule
from surefoot.nodes import NodeKind, NodeOutcome
from surefoot.planrun.course import changes, course_of, shares
from surefoot.plans import Plan, PlannedUnit
from surefoot.values import Ceilings, UnitId, UnitType

CEILINGS = Ceilings(max_iterations=100, time_s=3600, max_files=40, tokens=10_000, cost_usd=2.0)


def start_of(plan: Plan) -> dict[str, str | None]:
    return {str(k): v for k, v in course_of(plan).starts.items()}


def test_independent_units_start_from_the_base() -> None:
    """Also when the plan lists them one after the other."""
    starts = start_of(plan_of(fixes("a"), fixes("b"), fixes("c")))
    assert starts == {"U-a": None, "U-b": None, "U-c": None}


def test_a_unit_starts_after_the_last_merge_that_it_depends_on() -> None:
    """By need, by path, or by the milestone before."""
    reader = replace(fixes("d"), reads=("shelf/a.py",))
    plan = plan_of(
        fixes("a"),
        fixes("b", needs=("a",)),
        reader,
        fixes("e", slice_id="S2"),
        milestones=("M1", "M2"),
    )
    assert start_of(plan) == {"U-a": None, "U-b": "U-a", "U-d": "U-a", "U-e": "U-d"}


def test_needs_come_first_however_the_plan_lists_them() -> None:
    """Within a milestone the order of merges is one in which every need is met."""
    plan = plan_of(fixes("b", needs=("a",)), fixes("a"))
    assert course_of(plan).order == ("U-a", "U-b")


def test_a_unit_that_only_looks_is_a_subagent_without_a_merge() -> None:
    """What needs it waits for it, and starts from where it looked."""
    look = replace(fixes("look"), unit_type=UnitType.AUDIT, writes=())
    plan = plan_of(look, fixes("a", needs=("look",)))
    course = course_of(plan)
    assert course.order == ("U-a",)
    assert course.starts[UnitId("U-a")] is None
    kinds = {n.node_id: n.kind for n in course.nodes(CEILINGS)}
    assert kinds["unit:U-look:1"] is NodeKind.SUBAGENT  # type: ignore[index]
    assert not changes(look)


def test_units_in_a_circle_and_needs_in_the_future_are_refused() -> None:
    """Such a plan has no order."""
    with pytest.raises(UsageError, match="wait for each other"):
        course_of(plan_of(fixes("a", needs=("b",)), fixes("b", needs=("a",))))
    with pytest.raises(UsageError, match="does not have"):
        course_of(plan_of(fixes("a", needs=("nobody",))))


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Up to twelve units in up to three milestones, with needs among those before."""
    units: list[PlannedUnit] = []
    for number in range(draw(st.integers(1, 12))):
        names = [u.unit_id.removeprefix("U-") for u in units]
        needs = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if names else []
        part = draw(st.integers(1, 3))
        earlier = {u.unit_id: u.slice_id for u in units}
        part = max([part, *(int(earlier[UnitId(f"U-{n}")][1:]) for n in needs)])
        unit = fixes(f"n{number}", needs=needs, slice_id=f"S{part}")
        path = f"shelf/{draw(st.sampled_from('pqrs'))}.py"
        looks = draw(st.booleans()) and draw(st.booleans())
        kind = UnitType.AUDIT if looks else UnitType.FIX
        units.append(replace(unit, unit_type=kind, writes=() if looks else (path,), reads=(path,)))
    return plan_of(*units, milestones=("M1", "M2", "M3"))


@given(
    plans(),
    st.integers(1, 4),
    st.integers(0, 3),
    st.frozensets(st.sampled_from(("pre_dispatch", "post_unit"))),
)
def test_any_course_can_be_driven_to_its_end(
    plan: Plan, jobs: int, seed: int, hooks: frozenset[str]
) -> None:
    """No deadlock; merges in the course's order; no unit starts before what it starts from; the budget holds."""
    course = course_of(plan)
    nodes = course.nodes(CEILINGS, hooks)
    schedule = Schedule(nodes, jobs=jobs, seed=seed, ceilings=CEILINGS)
    merged: list[str] = []
    while schedule.unsettled:
        schedule.dispatch()
        assert schedule.running, "nothing runs, and something is left"
        for node_id in schedule.running:
            role, subject = node_id.split(":")[:2]
            if role == "unit":
                start = course.starts[UnitId(subject)]
                assert start is None or start in merged
        done = schedule.running[0]
        if done.startswith("merge:"):
            merged.append(done.split(":")[1])
        schedule.settle(done, NodeOutcome.SUCCEEDED)
    assert tuple(merged) == course.order
    assert sum(n.reserve.tokens for n in nodes) <= 10_000


def test_a_ceiling_smaller_than_the_number_of_units_still_holds_each() -> None:
    """A share of nothing would let its unit spend without any; no ceiling is a share of nothing."""
    course = course_of(plan_of(fixes("a"), fixes("b"), fixes("c")))
    few = Ceilings(max_iterations=9, time_s=60, max_files=9, tokens=2)
    assert {c.tokens for c in shares(course.units, few).values()} == {1}
    assert {c.tokens for c in shares(course.units, replace(few, tokens=None)).values()} == {0}
