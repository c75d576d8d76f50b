"""How far a plan run is: per milestone, slice and unit what is done, running, waiting or blocked, and why. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from surefoot.decisions.assigned import AUDIT, is_test
from surefoot.kernel.levels import Extent, Level, checks
from surefoot.kernel.plan_state import ChildState
from surefoot.kernel.schedule import Place, Schedule
from surefoot.kernel.state import RunState
from surefoot.nodes import NodeId
from surefoot.planrun.course import PRE_DISPATCH, Course, changes, milestone_name
from surefoot.plans import Plan, PlannedUnit
from surefoot.values import RunStatus, UnitId

_WAITS: Final[Mapping[Place, str]] = {
    Place.WAITING: "its needs",
    Place.QUEUED: "paths that another unit holds",
    Place.READY: "a worker that is free",
    Place.DEFERRED: "money or tokens that others have reserved",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How one part of a plan stands."""

    name: str
    title: str
    state: str
    """`done`, `running`, `waiting`, `stopped` or `blocked`."""
    why: str
    parts: tuple["Standing", ...] = ()


def standing(
    course: Course, state: RunState, waits: Mapping[UnitId, str], *, alive: bool
) -> tuple[Standing, ...]:
    """The milestones that the run does, with their slices, and their units.

    `waits` says for what units wait that have not begun; `alive`: a process works on the run.
    """
    plan = course.plan
    own = {u.slice_id for u in course.units}
    found = []
    for milestone in plan.milestones:
        slices = [s for s in plan.slices if s.milestone_id == milestone.milestone_id]
        inner = tuple(
            _part(
                course,
                piece.slice_id,
                piece.title,
                tuple(
                    _unit(state, u, waits, alive=alive)
                    for u in course.units
                    if u.slice_id == piece.slice_id
                ),
                state,
                alive=alive,
            )
            for piece in slices
            if piece.slice_id in own
        )
        if inner:
            name = milestone_name(plan, milestone.milestone_id)
            found.append(_part(course, name, milestone.title, inner, state, alive=alive))
    return tuple(found)


def _part(
    course: Course,
    name: str,
    title: str,
    parts: tuple[Standing, ...],
    state: RunState,
    *,
    alive: bool,
) -> Standing:
    verified = state.plan.parts.get(name)
    states = [p.state for p in parts]
    if verified is not None:
        word = "done" if verified.passed else "blocked"
        return Standing(name=name, title=title, state=word, why=verified.reason, parts=parts)
    word = next((w for w in ("blocked", "running", "stopped") if w in states), "waiting")
    if word == "waiting" and "done" in states:
        merged = any(p.name == name and set(p.units) & set(course.order) for p in course.parts)
        over = not merged and set(states) == {"done"}  # nothing of it has to be verified
        word = "done" if over else "running" if alive else "stopped"
    why = next((p.why for p in parts if p.state == word and word == "blocked"), "")
    return Standing(name=name, title=title, state=word, why=why, parts=parts)


def waiting(schedule: Schedule) -> Mapping[UnitId, str]:
    """For what each unit waits whose nodes the schedule has not started."""
    found: dict[UnitId, str] = {}
    for node_id, node in schedule.standing().items():
        role, subject, *_ = node_id.split(":")
        if role in (PRE_DISPATCH, "unit") and node.place in _WAITS:
            awaited = dict.fromkeys(_awaited(n) for n in node.waits_for)
            found.setdefault(UnitId(subject), f"for {', '.join(awaited) or _WAITS[node.place]}")
    return found


def _awaited(node_id: NodeId) -> str:
    role, subject, *_ = node_id.split(":")
    return f"{role} {subject}" if role in ("slice", "milestone") else subject


def _unit(
    state: RunState, unit: PlannedUnit, waits: Mapping[UnitId, str], *, alive: bool
) -> Standing:
    word, why = _word(state, unit, waits, alive=alive)
    return Standing(name=unit.unit_id, title=unit.title, state=word, why=why)


def _word(
    state: RunState, unit: PlannedUnit, waits: Mapping[UnitId, str], *, alive: bool
) -> tuple[str, str]:
    known = state.units.get(unit.unit_id)
    runs = state.plan.attempts(unit.unit_id)
    last = runs[-1] if runs else None
    if known is not None and known.ended == "blocked":
        return "blocked", known.blocker
    if known is not None and known.ended == "done":
        commit, _ = state.plan.tips[unit.unit_id]
        return "done", f"{commit[:10]}, by run {last.begun.run if last else '-'}"
    if last is None:
        return "waiting", waits.get(unit.unit_id, "")
    return _of_run(unit, last, "running" if alive else "stopped")


def _of_run(unit: PlannedUnit, last: ChildState, going: str) -> tuple[str, str]:
    """What the unit's last run says, as long as its work is not merged."""
    if last.ended is None:
        return going, f"run {last.begun.run}"
    if not changes(unit) and last.ended.status is RunStatus.REPORTED:
        return "done", f"{len(last.ended.facts)} facts, by run {last.begun.run}"
    if last.ended.status is RunStatus.COMPLETE:
        return going, "its work is to be merged"
    final = last.ended.status in (RunStatus.BLOCKED, RunStatus.ERROR)
    return "blocked" if final else "stopped", f"{last.ended.status}: {last.ended.reason}"


def trace(plan: Plan, state: RunState) -> str:
    """The trace matrix as it came out: each requirement, the units that serve it, and the tests that pass for it."""
    lines = [
        "# Trace",
        "",
        "| requirement | units | tests that pass | not shown |",
        "|---|---|---|---|",
    ]
    passed = {test for part in state.plan.parts.values() if part.passed for test in part.tests}
    for requirement in plan.requirements:
        units = [u for u in plan.units if requirement.requirement_id in u.requirements]
        tests = dict.fromkeys(v for u in units for v in u.verification)
        good = [t for t in tests if t in passed or (not is_test(t) and _held(plan, state, t))]
        bad = [t for t in tests if t not in good]
        cells = (
            f"{requirement.requirement_id}: {requirement.text}",
            ", ".join(u.unit_id for u in units),
            ", ".join(f"`{t}`" for t in good),
            ", ".join(f"`{t}`" for t in bad) or "-",
        )
        lines.append(
            "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ") for c in cells) + " |"
        )
    return "\n".join(lines) + "\n"


def _held(plan: Plan, state: RunState, command: str) -> bool:
    """A slice holds only when its units' commands ended well; an audit that it does not ask for is the milestone's."""
    slices = {u.slice_id for u in plan.units if command in u.verification}
    parts = {s if command != AUDIT or _audits(plan, s) else _milestone(plan, s) for s in slices}
    return all(p in state.plan.parts and state.plan.parts[p].passed for p in parts)


def _audits(plan: Plan, slice_id: str) -> bool:
    types = (u.unit_type for u in plan.units if u.slice_id == slice_id)
    return checks(Level.SLICE, types).audit is not Extent.NONE


def _milestone(plan: Plan, slice_id: str) -> str:
    return next(milestone_name(plan, s.milestone_id) for s in plan.slices if s.slice_id == slice_id)


def lines_of(parts: tuple[Standing, ...], depth: int = 0) -> Iterator[str]:
    """For people: one line a part."""
    for part in parts:
        why = f": {part.why}" if part.why else ""
        yield f"{'  ' * depth}{part.state:<8} {part.name}  {part.title}{why}"
        yield from lines_of(part.parts, depth + 1)


def as_json(parts: tuple[Standing, ...]) -> list[Mapping[str, object]]:
    """For programs."""
    return [
        {
            "name": p.name,
            "title": p.title,
            "state": p.state,
            "why": p.why,
            "parts": as_json(p.parts),
        }
        for p in parts
    ]
