"""From a draft to a plan: each unit gets its PlanIR, and the needs that follow from what it reads, writes and makes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

from surefoot.decisions.plan_draft import DraftedUnit, PlanDraftAnswer
from surefoot.decisions.plan_ir import PlanningAnswer, plan_of
from surefoot.plans import (
    PLAN_SCHEMA,
    Clarified,
    Milestone,
    Plan,
    PlannedUnit,
    Requirement,
    Risk,
    Slice,
    Source,
    matches,
    overlapping,
)
from surefoot.values import CommitId, Complexity, Issue, UnitId, UnitType


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a plan is made from, beside the draft."""

    plan_id: str
    issue: Issue
    base: CommitId
    complexity: Complexity
    """Of the whole work; a unit of several is one step lower."""
    answers: tuple[Clarified, ...] = ()
    sources: tuple[Source, ...] = ()


def compile_plan(draft: PlanDraftAnswer, origin: Origin) -> Plan:
    """The plan of a draft; whether it may run, the plan gate says."""
    size = _LOWER[origin.complexity] if len(draft.units) > 1 else origin.complexity
    units = _ordered([_unit(u, size, draft.confidence) for u in draft.units], _ranks(draft))
    return Plan(
        schema=PLAN_SCHEMA,
        plan_id=origin.plan_id,
        issue=origin.issue,
        base=origin.base,
        requirements=tuple(
            Requirement(requirement_id=r.id, text=r.text, must=r.must, quote=r.quote)
            for r in draft.requirements
        ),
        milestones=tuple(Milestone(milestone_id=m.id, title=m.title) for m in draft.milestones),
        slices=tuple(
            Slice(slice_id=s.id, milestone_id=s.milestone, title=s.title) for s in draft.slices
        ),
        units=units,
        risks=risks_of(units),
        answers=origin.answers,
        sources=origin.sources,
    )


def risks_of(units: Sequence[PlannedUnit]) -> tuple[Risk, ...]:
    """The register: each risk that a unit's own plan names, and each flag that one needs, with what is done about it."""
    found: dict[str, list[PlannedUnit]] = {}
    for unit in units:
        flags = (f"needs the risk flag {flag}" for flag in unit.risk_flags)
        for text in dict.fromkeys((*unit.plan.risk_factors, *flags)):
            found.setdefault(text, []).append(unit)
    return tuple(
        Risk(
            risk_id=f"K{number}",
            text=text,
            units=tuple(unit.unit_id for unit in bearers),
            mitigation="; ".join(dict.fromkeys(u.rollback for u in bearers if u.rollback)),
        )
        for number, (text, bearers) in enumerate(found.items(), 1)
    )


_LOWER = {
    Complexity.LOW: Complexity.LOW,
    Complexity.MEDIUM: Complexity.LOW,
    Complexity.HIGH: Complexity.MEDIUM,
    Complexity.VERY_HIGH: Complexity.HIGH,
}


def _unit(unit: DraftedUnit, complexity: Complexity, confidence: float) -> PlannedUnit:
    plan = plan_of(
        PlanningAnswer(
            analysis=unit.title,
            steps=unit.steps,
            verification=unit.verification,
            risk_factors=unit.risk_factors,
            confidence=confidence,
        ),
        complexity,
    )
    return PlannedUnit(
        unit_id=UnitId(unit.id),
        slice_id=unit.slice,
        title=unit.title,
        unit_type=UnitType(unit.type),
        plan=plan,
        requirements=tuple(unit.requirements),
        acceptance=tuple(unit.acceptance),
        verification=tuple(unit.verification),
        needs=tuple(UnitId(n) for n in dict.fromkeys(unit.needs)),
        reads=tuple(dict.fromkeys(unit.reads)),
        # What it makes it may write; a draft that says so once has said enough.
        writes=tuple(dict.fromkeys((*unit.writes, *unit.produces))),
        produces=tuple(dict.fromkeys(unit.produces)),
        risk_flags=tuple(dict.fromkeys(unit.risk_flags)),
        rollback=unit.rollback,
    )


class _Order:
    """Which units come before which, while needs are added."""

    def __init__(self, units: Sequence[PlannedUnit], ranks: Mapping[str, int]) -> None:
        self.needs = {unit.unit_id: list(unit.needs) for unit in units}
        self._ranks = ranks

    def add(self, first: PlannedUnit, second: PlannedUnit) -> None:
        """One unit after another, unless they have an order already: by their needs, or by their milestones."""
        one, other = first.unit_id, second.unit_id
        same = self._ranks.get(first.slice_id) == self._ranks.get(second.slice_id)
        if one != other and same and not (self._reaches(one, other) or self._reaches(other, one)):
            self.needs[other].append(one)

    def _reaches(self, start: UnitId, goal: UnitId) -> bool:
        seen, left = set[UnitId](), list(self.needs.get(start, ()))
        while left:
            here = left.pop()
            if here not in seen:
                seen.add(here)
                left += self.needs.get(here, ())
        return goal in seen


def _ordered(units: Sequence[PlannedUnit], ranks: Mapping[str, int]) -> tuple[PlannedUnit, ...]:
    """The units with the needs that they imply: after who makes what one reads, and one writer of a path after another."""
    order = _Order(units, ranks)
    for unit, maker in product(units, units):
        if any(matches(path, made) for path in unit.reads for made in maker.produces):
            order.add(maker, unit)
    for first, second in combinations(units, 2):
        if overlapping(first.writes, second.writes):
            order.add(first, second)
    return tuple(replace(unit, needs=tuple(order.needs[unit.unit_id])) for unit in units)


def _ranks(draft: PlanDraftAnswer) -> dict[str, int]:
    """Which milestone each slice belongs to, 0 first."""
    numbers = {milestone.id: n for n, milestone in enumerate(draft.milestones)}
    return {each.id: numbers.get(each.milestone, 0) for each in draft.slices}
