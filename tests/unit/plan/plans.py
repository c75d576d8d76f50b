"""Plans that lack nothing, at random, and one way to spoil them for each refusal of the gate.

Run it to write `tests/data/plans/*.json`: the smallest good plan, spoiled in each way.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from hypothesis import strategies as st

from surefoot.codec import plain
from surefoot.plan import judge
from surefoot.plans import Milestone, Plan, PlannedUnit, Requirement, Slice
from surefoot.values import Complexity, Issue, PlanIR, PlanStep, StepIntent, UnitId, UnitType

FIXTURES: Final = Path(__file__).parents[2] / "data" / "plans"
FILES: Final = ("README.md", *(f"src/m{n}.py" for n in range(12)), "tests/test_all.py")


def unit(number: int, slice_id: str, **more: object) -> PlannedUnit:
    """A unit that lacks nothing and changes a file of its own."""
    plan = PlanIR(
        analysis="it is wrong",
        steps=(PlanStep(step_id="change", description="mend it", intent=StepIntent.MODIFY),),
        verification=("tests/test_all.py::test_it",),
        complexity=Complexity.LOW,
        confidence=0.5,
    )
    whole = PlannedUnit(
        unit_id=UnitId(f"U{number}"),
        slice_id=slice_id,
        title=f"mend {number}",
        unit_type=UnitType.FIX,
        plan=plan,
        requirements=(f"R{number}",),
        acceptance=("it works",),
        verification=("tests/test_all.py::test_it", "make check"),
        reads=("README.md",),
        writes=(f"src/m{number}.py",),
    )
    return replace(whole, **more)  # type: ignore[arg-type]  # fields by name


def plan_of(units: tuple[PlannedUnit, ...], slices: Mapping[str, str]) -> Plan:
    """A plan of the units; `slices` are milestones by slice."""
    return Plan(
        schema=1,
        plan_id="plan-1",
        issue=Issue(source="text", text="mend all"),
        requirements=tuple(
            Requirement(requirement_id=r, text=r) for u in units for r in u.requirements
        ),
        milestones=tuple(
            Milestone(milestone_id=m, title=m) for m in dict.fromkeys(slices.values())
        ),
        slices=tuple(Slice(slice_id=s, milestone_id=m, title=s) for s, m in slices.items()),
        units=units,
    )


SMALL: Final = plan_of(
    (
        unit(0, "S1", produces=("src/new.py",), writes=("src/m0.py", "src/new.py")),
        unit(1, "S1", needs=(UnitId("U0"),), reads=("src/new.py",)),
        unit(2, "S2"),
        unit(3, "S1"),
    ),
    {"S1": "M1", "S2": "M2"},
)


@st.composite
def good_plans(draw: st.DrawFn) -> Plan:
    """Up to eight units in up to three milestones; each owns its paths, and needs whose new path it reads."""
    count = draw(st.integers(2, 8))
    milestones = draw(st.integers(1, min(3, count)))
    slices = {
        f"S{n}": f"M{min(n, milestones - 1)}" for n in range(draw(st.integers(milestones, count)))
    }
    # The first units fill the slices, so that none is empty; a later unit never belongs to an earlier milestone.
    places = sorted(
        list(slices)
        + draw(
            st.lists(
                st.sampled_from(sorted(slices)),
                min_size=count - len(slices),
                max_size=count - len(slices),
            )
        )
    )
    units: list[PlannedUnit] = []
    for number, place in enumerate(places):
        before = (
            draw(st.lists(st.sampled_from(units), unique_by=lambda u: u.unit_id)) if units else []
        )
        produces = draw(st.sampled_from(((), (f"src/new{number}.py",))))
        risky = draw(st.booleans())
        units.append(
            unit(
                number,
                place,
                needs=tuple(u.unit_id for u in before),
                reads=("README.md", *(p for u in before for p in u.produces)),
                produces=produces,
                writes=(f"src/m{number}.py", *produces),
                risk_flags=("allow_network",) if risky else (),
                rollback="take it back" if risky else "",
            )
        )
    return plan_of(tuple(units), slices)


def _with(whole: Plan, index: int, **more: object) -> Plan:
    units = list(whole.units)
    units[index] = replace(units[index], **more)  # type: ignore[arg-type]  # fields by name
    return replace(whole, units=tuple(units))


def _more(whole: Plan, index: int, path: str) -> Plan:
    """One more path that a unit produces."""
    one = whole.units[index]
    return _with(whole, index, produces=(*one.produces, path), writes=(*one.writes, path))


def _without_steps(plan: Plan) -> Plan:
    return _with(plan, -1, plan=replace(plan.units[-1].plan, steps=()))


def _renamed(plan: Plan) -> Plan:
    """A requirement whose id is no plain word; the unit that serves it says the same."""
    first, *rest = plan.requirements
    named = replace(first, requirement_id="../R")
    spoiled = replace(plan, requirements=(named, *rest))
    return _with(spoiled, 0, requirements=("../R",))


SPOILED: Final[Mapping[str, Callable[[Plan], Plan]]] = {
    "acceptance": lambda p: _with(p, 0, acceptance=(" ",)),
    "verification": lambda p: _with(p, -1, verification=()),
    "verification-empty": lambda p: _with(p, -1, verification=("make check", " ")),
    "cycle": lambda p: _with(
        _with(p, 0, needs=(p.units[-1].unit_id,)), -1, needs=(p.units[0].unit_id,)
    ),
    "unowned": lambda p: _with(p, 0, reads=("src/nobody.py",)),
    "unowned-write": lambda p: _with(p, 0, writes=(*p.units[0].writes, "src/nobody.py")),
    "unowned-nothing": lambda p: _with(p, -1, writes=(), produces=()),
    "unowned-promise": lambda p: _with(p, -1, produces=("src/promised.py",)),
    "unowned-test": lambda p: _with(p, -1, verification=("tests/test_none.py::test_it",)),
    "rollback": lambda p: _with(p, 0, risk_flags=("allow_network",), rollback=""),
    "unknown-dependency": lambda p: _with(p, -1, needs=(UnitId("U99"),)),
    "owners": lambda p: _with(
        p, -1, needs=(), slice_id=p.units[0].slice_id, writes=(*p.units[-1].writes, "src/m0.py")
    ),
    "owners-of-one": lambda p: _more(_more(p, 0, "src/x.py"), -1, "src/x.py"),
    "unserved": lambda p: replace(
        p, requirements=(*p.requirements, Requirement(requirement_id="R99", text="more"))
    ),
    "dangling": lambda p: _with(p, 0, slice_id="S99"),
    "dangling-slice": lambda p: replace(
        p, slices=(*p.slices, Slice(slice_id="S99", milestone_id="M99", title="lost"))
    ),
    "dangling-milestone": lambda p: replace(
        p, milestones=(*p.milestones, Milestone(milestone_id="M99", title="lost"))
    ),
    "dangling-requirement": lambda p: _with(p, 0, requirements=(*p.units[0].requirements, "R99")),
    "duplicate": lambda p: replace(p, milestones=(*p.milestones, p.milestones[0])),
    "duplicate-unit": lambda p: replace(p, units=(*p.units, p.units[0])),
    "order": lambda p: _with(
        _more(_with(p, -1, needs=()), -1, "src/late.py"), 0, needs=(), reads=("src/late.py",)
    ),
    "steps": _without_steps,
    "path": lambda p: _with(p, 0, writes=(*p.units[0].writes, "../outside")),
    "name": _renamed,
    "flag": lambda p: _with(p, 0, risk_flags=("allow_all",), rollback="take it back"),
    "schema": lambda p: replace(p, schema=99),
}
"""By code, or by code and what tells it from another defect of the same code."""
BETWEEN_MILESTONES: Final = "cycle-of-milestones"
"""The one way that needs two milestones."""
FIXTURES_OF: Final[Mapping[str, Callable[[Plan], Plan]]] = {
    **SPOILED,
    BETWEEN_MILESTONES: lambda p: _with(p, 0, needs=(UnitId("U2"),)),
}


def code_of(name: str) -> str:
    """The refusal's code that a way of spoiling leads to."""
    return "unknown-dependency" if name == "unknown-dependency" else name.partition("-")[0]


def main() -> None:
    """Write the fixtures."""
    for name, spoil in FIXTURES_OF.items():
        plan = spoil(SMALL)
        told = [plain(r) for r in judge(plan, FILES)]
        data = {"refusals": told, "files": FILES, "plan": plain(plan)}
        (FIXTURES / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main()
