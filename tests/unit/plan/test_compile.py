"""From a draft to a plan: needs that follow from paths, and the register of risks."""

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integration.plan.almanac import draft
from tests.unit.plan.plans import FILES, good_plans

from surefoot.codec import canonical, decode
from surefoot.decisions.plan_draft import (
    DraftedMilestone,
    DraftedRequirement,
    DraftedSlice,
    DraftedUnit,
    PlanDraftAnswer,
)
from surefoot.decisions.plan_ir import PlannedStep
from surefoot.plan import Origin, compile_plan, judge
from surefoot.plans import Plan, overlap
from surefoot.values import CommitId, Complexity, Issue

ORIGIN = Origin(
    plan_id="plan-1",
    issue=Issue(source="text", text="it"),
    base=CommitId("c0" * 20),
    complexity=Complexity.HIGH,
)

STEP = PlannedStep(
    id="change",
    description="change it",
    intent="modify",
    target_files=[],
    depends_on=[],
    max_iterations=3,
    acceptance=[],
)


def compiled(**changes: dict[str, object]) -> Plan:
    """The plan of the almanac's draft, with fields of its units changed."""
    data = draft()
    for unit in data["units"]:  # type: ignore[attr-defined]  # plain data
        unit.update(changes.get(unit["id"], {}))
    return compile_plan(decode(PlanDraftAnswer, canonical(data)), ORIGIN)


def needs(plan: Plan) -> dict[str, tuple[str, ...]]:
    return {u.unit_id: u.needs for u in plan.units if u.needs}


def test_a_unit_needs_who_makes_what_it_reads() -> None:
    """Within a milestone; an earlier milestone is done anyway."""
    assert needs(compiled()) == {"U7": ("U5", "U6"), "U8": ("U7",)}


def test_two_writers_of_a_path_come_one_after_the_other() -> None:
    """In the order of the draft, unless it says another one."""
    both = {"writes": ["almanac/text.py"]}
    assert needs(compiled(U1=both, U2=both))["U2"] == ("U1",)
    turned = compiled(U1={**both, "needs": ["U2"]}, U2=both)
    assert (needs(turned)["U1"], needs(turned).get("U2")) == (("U2",), None)


def test_what_is_produced_may_be_written() -> None:
    """A draft that names a new path once has said enough."""
    plan = compiled(U1={"writes": []})
    assert plan.units[0].writes == plan.units[0].produces
    assert judge(plan, ["almanac/text.py"]) == ()


def test_risks_come_from_the_units_own_plans() -> None:
    """One entry a risk, with all that bear it, and what is done about it; a flag is a risk."""
    risky = {"risk_factors": ["it is slow"], "rollback": "undo"}
    plan = compiled(U1=risky, U2={**risky, "risk_flags": ["allow_network"]})
    assert [(r.risk_id, r.text, r.units, r.mitigation) for r in plan.risks] == [
        ("K1", "it is slow", ("U1", "U2"), "undo"),
        ("K2", "needs the risk flag allow_network", ("U2",), "undo"),
        ("K3", "the shell's arguments are not checked", ("U8",), "take the two new files away"),
    ]


def test_claims_overlap_when_a_path_may_lie_in_both() -> None:
    """Exact for paths; of two patterns, true unless their beginnings or ends tell them apart."""
    assert overlap("a.py", "a.py")
    assert overlap("src/*.py", "src/x/a.py")
    assert overlap("*", "a.py")
    assert overlap("src/*", "src/a*.py")
    assert not overlap("a.py", "b.py")
    assert not overlap("src/*.py", "lib/*.py")
    assert not overlap("src/*.py", "src/*.md")
    assert not overlap("tests/test_a*", "tests/test_b*")


@settings(max_examples=40)
@given(good_plans(), st.randoms(use_true_random=False))
def test_the_compiler_finds_the_order_that_paths_imply(plan: Plan, chance: Random) -> None:
    """Random units that read what earlier ones make, and write what others write, pass the gate without a need of their own."""
    units = [
        DraftedUnit(
            id=u.unit_id,
            slice=u.slice_id,
            title=u.title,
            type="fix",
            requirements=list(u.requirements),
            needs=[],
            reads=list(u.reads),
            writes=[*u.writes, *chance.sample(FILES, 2)],
            produces=list(u.produces),
            acceptance=list(u.acceptance),
            verification=list(u.verification),
            risk_flags=[],
            risk_factors=[],
            rollback="",
            steps=[STEP],
        )
        for u in plan.units
    ]
    answer = PlanDraftAnswer(
        analysis="",
        requirements=[
            DraftedRequirement(id=r.requirement_id, text=r.text, must=True, quote="")
            for r in plan.requirements
        ],
        milestones=[DraftedMilestone(id=m.milestone_id, title=m.title) for m in plan.milestones],
        slices=[
            DraftedSlice(id=s.slice_id, milestone=s.milestone_id, title=s.title)
            for s in plan.slices
        ],
        units=units,
        confidence=0.5,
    )
    assert judge(compile_plan(answer, ORIGIN), FILES) == ()
