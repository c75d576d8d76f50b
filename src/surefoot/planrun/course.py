"""From a plan to the graph that is executed: which work is merged in which order, and from what each unit starts. Pure.

    unit:U1 ──► merge:U1 ──► slice:S1 ──► milestone:M1 ──► unit:U5 …
    unit:U2 ──► merge:U2 ──┘

Merges come one after the other in the order of the plan, whoever is ready first. A unit starts from the tip after the
last merge that it depends on: its needs, earlier units that write what it reads or writes, and the milestone before. So
what a unit starts from, and with it every tree, depends on the plan alone: not on the number of jobs, nor on the clock.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.errors import UsageError
from surefoot.events.plans import PlanAdopted
from surefoot.nodes import Cost, Node, NodeId, NodeKind
from surefoot.plans import Plan, PlannedUnit, overlapping
from surefoot.values import Ceilings, Complexity, Digest, StepIntent, UnitId, UnitType

_ONLY_LOOKS: Final = frozenset({UnitType.PLAN, UnitType.AUDIT})
_WEIGHT: Final[Mapping[Complexity, int]] = {
    Complexity.LOW: 1,
    Complexity.MEDIUM: 2,
    Complexity.HIGH: 3,
    Complexity.VERY_HIGH: 4,
}
_ANYTHING: Final = ("*",)
PRE_DISPATCH: Final = "pre_dispatch"
POST_UNIT: Final = "post_unit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Units that are verified together when the last of them is merged (SPEC C9)."""

    name: str
    """The slice's id, or the milestone's as `plan_id/milestone_id`."""
    node_id: NodeId
    milestone: bool
    units: tuple[UnitId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A plan, or some of its milestones, in the order of its merges."""

    plan: Plan
    units: tuple[PlannedUnit, ...]
    starts: Mapping[UnitId, UnitId | None]
    """The unit after whose merge each one starts; None: the run's base."""
    waits: Mapping[UnitId, tuple[UnitId, ...]]
    """The units that each one starts after."""
    parts: tuple[Part, ...]

    @property
    def order(self) -> tuple[UnitId, ...]:
        """Units whose work is merged, first to last."""
        return tuple(u.unit_id for u in self.units if changes(u))

    def unit(self, unit_id: UnitId) -> PlannedUnit:
        """The unit of this id."""
        return next(u for u in self.units if u.unit_id == unit_id)

    def nodes(self, ceilings: Ceilings, hooks: Collection[str] = ()) -> tuple[Node, ...]:
        """The graph; each unit reserves its share of what the run may spend."""
        return tuple(_nodes(self, shares(self.units, ceilings), hooks))


def course_of(plan: Plan, milestones: Collection[str] = ()) -> Course:
    """The course of the milestones given, or of all.

    Raises:
        UsageError: A unit needs one that comes later, or in a circle.
    """
    wanted = [m for m in plan.milestones if not milestones or m.milestone_id in milestones]
    units = tuple(u for m in wanted for u in _in_order(plan, m.milestone_id))
    here = {u.unit_id: n for n, u in enumerate(units)}
    waits: dict[UnitId, tuple[UnitId, ...]] = {}
    starts: dict[UnitId, UnitId | None] = {}
    rank: dict[UnitId, int] = {}
    for number, unit in enumerate(units):
        before = tuple(_before(plan, unit, units[:number]))
        waits[unit.unit_id] = before
        last = max(
            (rank[u] if not changes(units[here[u]]) else here[u] for u in before), default=-1
        )
        last = max([last, *_earlier_milestone(plan, unit, units[:number])])
        rank[unit.unit_id] = last
        starts[unit.unit_id] = units[last].unit_id if last >= 0 else None
    return Course(
        plan=plan, units=units, starts=starts, waits=waits, parts=tuple(_parts(plan, wanted, units))
    )


def milestone_name(plan: Plan, milestone_id: str) -> str:
    """Unique among all plans of a repository."""
    return f"{plan.plan_id}/{milestone_id}"


def adopted(plan: Plan, kept: Digest, milestones: Sequence[str], jobs: int) -> PlanAdopted:
    """The record of a plan, the blob `kept`, that a run executes, of whose milestones it may do some (none: all)."""
    return PlanAdopted(
        plan_id=plan.plan_id,
        plan=kept,
        milestones=tuple(
            milestone_name(plan, m.milestone_id)
            for m in plan.milestones
            if not milestones or m.milestone_id in milestones
        ),
        order=course_of(plan, milestones).order,
        jobs=jobs,
    )


def changes(unit: PlannedUnit) -> bool:
    """Whether a unit makes something that is merged; the others look, and tell."""
    steps = unit.plan.steps
    looks = bool(steps) and all(s.intent is StepIntent.INVESTIGATE for s in steps)
    return unit.unit_type not in _ONLY_LOOKS and not looks


def unit_node(unit_id: UnitId, attempt: int = 1) -> NodeId:
    """The node of a unit's run."""
    return NodeId(f"unit:{unit_id}:{attempt}")


def merge_node(unit_id: UnitId, attempt: int = 1) -> NodeId:
    """The node in which its work is merged and proved."""
    return NodeId(f"merge:{unit_id}:{attempt}")


def hook_node(hook: str, unit_id: UnitId, attempt: int = 1) -> NodeId:
    """The node of a hook around a unit."""
    return NodeId(f"{hook}:{unit_id}:{attempt}")


def again(
    unit: PlannedUnit, attempt: int, reserve: Cost, hooks: Collection[str]
) -> tuple[Node, ...]:
    """The nodes that do a unit another time, from the merged tip, when its work could not be merged."""
    return tuple(_unit_nodes(unit, attempt, (), (), reserve, hooks))


def _in_order(plan: Plan, milestone_id: str) -> Iterator[PlannedUnit]:
    """The units of a milestone, each after what it needs, else as the plan lists them."""
    slices = {s.slice_id for s in plan.slices if s.milestone_id == milestone_id}
    left = [u for u in plan.units if u.slice_id in slices]
    inside = {u.unit_id for u in left}
    while left:
        free = next((u for u in left if not inside.intersection(u.needs)), None)
        if free is None:
            ids = ", ".join(u.unit_id for u in left)
            raise UsageError(f"units {ids} wait for each other; `surefoot plan --from` tells more")
        left.remove(free)
        inside.remove(free.unit_id)
        yield free


def _before(plan: Plan, unit: PlannedUnit, earlier: Sequence[PlannedUnit]) -> Iterator[UnitId]:
    """Earlier units that this one must not start before."""
    everyone = {u.unit_id for u in plan.units}
    for need in unit.needs:
        if need not in everyone:
            raise UsageError(f"unit {unit.unit_id} needs {need}, which the plan does not have")
    for other in earlier:
        if other.unit_id in unit.needs or touching(other, unit):
            yield other.unit_id


def touching(earlier: PlannedUnit, later: PlannedUnit) -> bool:
    """Whether the later of two units would see, or overwrite, what the earlier one writes."""
    written = _writes(earlier)
    return overlapping(written, (*_writes(later), *later.reads)) is not None


def _writes(unit: PlannedUnit) -> tuple[str, ...]:
    if not changes(unit):
        return ()
    return (*unit.writes, *unit.produces) or _ANYTHING


def _earlier_milestone(
    plan: Plan, unit: PlannedUnit, earlier: Sequence[PlannedUnit]
) -> Iterator[int]:
    own = _milestone_of(plan, unit)
    for number, other in enumerate(earlier):
        if _milestone_of(plan, other) != own and changes(other):
            yield number


def _milestone_of(plan: Plan, unit: PlannedUnit) -> str:
    return next(s.milestone_id for s in plan.slices if s.slice_id == unit.slice_id)


def _parts(
    plan: Plan, milestones: Sequence[object], units: Sequence[PlannedUnit]
) -> Iterator[Part]:
    for milestone in plan.milestones:
        if milestone not in milestones:
            continue
        inside: list[UnitId] = []
        for piece in (s for s in plan.slices if s.milestone_id == milestone.milestone_id):
            own = tuple(u.unit_id for u in units if u.slice_id == piece.slice_id)
            inside += own
            if own:
                node_id = NodeId(f"slice:{piece.slice_id}")
                yield Part(name=piece.slice_id, node_id=node_id, milestone=False, units=own)
        if inside:
            yield Part(
                name=milestone_name(plan, milestone.milestone_id),
                node_id=NodeId(f"milestone:{milestone.milestone_id}"),
                milestone=True,
                units=tuple(inside),
            )


def shares(units: Sequence[PlannedUnit], ceilings: Ceilings) -> Mapping[UnitId, Cost]:
    """What each unit reserves of tokens and money, by the complexity of its plan; nothing where there is no ceiling."""
    weights = {u.unit_id: _WEIGHT[u.plan.complexity] for u in units}
    whole = sum(weights.values())
    return {
        unit: Cost(
            # Of a ceiling nobody gets nothing, which would be no ceiling.
            tokens=max(ceilings.tokens * weight // whole, 1) if ceilings.tokens else 0,
            cost_usd=(ceilings.cost_usd or 0.0) * weight / whole,
        )
        for unit, weight in weights.items()
    }


def _nodes(course: Course, shares: Mapping[UnitId, Cost], hooks: Collection[str]) -> Iterator[Node]:
    merged: tuple[NodeId, ...] = ()
    milestone: tuple[NodeId, ...] = ()
    parts = list(course.parts)
    done: set[UnitId] = set()
    ends = {u.unit_id: _end(u, hooks) for u in course.units}
    for unit in course.units:
        needs = (*(ends[w] for w in course.waits[unit.unit_id]), *milestone)
        yield from _unit_nodes(unit, 1, needs, merged, shares[unit.unit_id], hooks)
        if changes(unit):
            merged = (merge_node(unit.unit_id),)
        done.add(unit.unit_id)
        while parts and done.issuperset(parts[0].units):
            part = parts.pop(0)
            inner = tuple(ends[u] for u in part.units)
            slices = tuple(
                p.node_id
                for p in course.parts
                if not p.milestone and set(p.units) <= set(part.units)
            )
            waits = (*inner, *slices) if part.milestone else inner
            yield Node(node_id=part.node_id, kind=NodeKind.VERIFICATION, needs=waits)
            if part.milestone:
                milestone = (part.node_id,)


def _unit_nodes(
    unit: PlannedUnit,
    attempt: int,
    needs: tuple[NodeId, ...],
    merged: tuple[NodeId, ...],
    reserve: Cost,
    hooks: Collection[str],
) -> Iterator[Node]:
    """A unit's run between its hooks, and the merge of its work after the merge before."""
    own = unit_node(unit.unit_id, attempt)
    if PRE_DISPATCH in hooks:
        first = hook_node(PRE_DISPATCH, unit.unit_id, attempt)
        yield Node(node_id=first, kind=NodeKind.HOOK, needs=needs)
        needs = (first,)
    kind = NodeKind.UNIT if attempt == 1 else NodeKind.REPROCESS
    yield Node(
        node_id=own,
        kind=kind if changes(unit) else NodeKind.SUBAGENT,
        needs=needs,
        reads=unit.reads,
        writes=_writes(unit),
        reserve=reserve,
    )
    if POST_UNIT in hooks:
        last = hook_node(POST_UNIT, unit.unit_id, attempt)
        yield Node(node_id=last, kind=NodeKind.HOOK, needs=(own,))
        own = last
    if changes(unit):
        yield Node(
            node_id=merge_node(unit.unit_id, attempt),
            kind=NodeKind.VERIFICATION,
            needs=(own,),
            after=merged,
        )


def _end(unit: PlannedUnit, hooks: Collection[str]) -> NodeId:
    """What those wait for that need the unit: a hook's no holds of one that only looks, too."""
    if changes(unit):
        return merge_node(unit.unit_id)
    return hook_node(POST_UNIT, unit.unit_id) if POST_UNIT in hooks else unit_node(unit.unit_id)
