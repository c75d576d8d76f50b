"""The plan gate: what a plan must not lack before a unit of it may run (SPEC C2). Pure, and closed when in doubt.

Every check looks for one kind of defect and says it in one sentence with the mend. A plan that makes a check throw has
not passed. The tree's paths come in as an argument; nothing is read here.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Final

from surefoot.decisions.plan_ir import ordered
from surefoot.plans import PLAN_SCHEMA, Plan, PlannedUnit, Refusal, matches, overlapping
from surefoot.values import RISK_FLAGS, UnitId, UnitType

CODES: Final[Mapping[str, str]] = {
    "acceptance": "a unit has no acceptance criterion",
    "verification": "a unit has no verification strategy",
    "cycle": "units wait for each other",
    "unowned": "an artifact that nobody makes is read, written or promised",
    "rollback": "a risky unit has no rollback",
    "unknown-dependency": "a unit needs one that is not in the plan",
    "owners": "two units make or change the same path without an order",
    "unserved": "a requirement is served by no unit",
    "dangling": "a slice, milestone or reference leads nowhere",
    "duplicate": "two things have one id",
    "order": "a unit reads what another one makes, and does not come after it",
    "steps": "a unit's own plan cannot be worked through",
    "path": "a path leaves the repository",
    "name": "an id is no plain word",
    "flag": "a risk flag is not one of the policy's",
    "schema": "the plan has another schema",
    "broken": "the gate itself broke",
}
"""What each refusal is about."""
_ONLY_LOOKS: Final = frozenset({UnitType.PLAN, UnitType.AUDIT})
_NAME: Final = re.compile(r"(?=.{1,40}$)[A-Za-z0-9](?:\.?[A-Za-z0-9_-])*")
"""A unit's id is part of the names of branches, in which dots stand alone and at no end."""
_TEST_FILE: Final = re.compile(r"^(?P<path>[^\s:]+\.\w+)::\S")


class _Scene:
    """A plan with what the checks ask of it again and again."""

    def __init__(self, plan: Plan, files: Collection[str]) -> None:
        self.plan, self.files = plan, frozenset(files)
        self.units: dict[UnitId, PlannedUnit] = {u.unit_id: u for u in plan.units}
        ranks = {m.milestone_id: n for n, m in enumerate(plan.milestones)}
        self._rank = {s.slice_id: ranks.get(s.milestone_id, 0) for s in plan.slices}

    def rank(self, unit: PlannedUnit) -> int:
        """Which milestone a unit belongs to, 0 first."""
        return self._rank.get(unit.slice_id, 0)

    @cached_property
    def circle(self) -> tuple[UnitId, ...]:
        """Units that wait for each other, in that order; empty when none do."""
        done: set[UnitId] = set()
        for start in self.units:
            path: list[UnitId] = []
            waiting = [(start, iter(self._known(start)))] if start not in done else []
            while waiting:
                here, rest = waiting[-1]
                if not path or path[-1] != here:
                    path.append(here)
                following = next((u for u in rest if u not in done), None)
                if following in path:
                    return tuple(path[path.index(following) :])
                if following is None:
                    done.add(here)
                    path.pop()
                    waiting.pop()
                else:
                    waiting.append((following, iter(self._known(following))))
        return ()

    @cached_property
    def ancestors(self) -> Mapping[UnitId, frozenset[UnitId]]:
        """All that must be done before each unit, by its needs alone; nothing for units in a circle."""
        found: dict[UnitId, frozenset[UnitId]] = {}
        left = list(self.units)
        while left:
            free = [u for u in left if all(n in found for n in self._known(u))]
            if not free:
                return found | dict.fromkeys(left, frozenset())
            for unit in free:
                needs = self._known(unit)
                found[unit] = frozenset(needs).union(*(found[n] for n in needs))
            left = [u for u in left if u not in found]
        return found

    def is_before(self, first: PlannedUnit, second: PlannedUnit) -> bool:
        """Whether one unit is done before another starts."""
        early = self.rank(first) < self.rank(second)
        return early or first.unit_id in self.ancestors[second.unit_id]

    def makers(self, path: str) -> Iterator[PlannedUnit]:
        """Units that produce what a path or pattern names."""
        return (u for u in self.plan.units if any(matches(path, p) for p in u.produces))

    def is_there(self, path: str) -> bool:
        """Whether the tree has what a path or pattern names."""
        return path in self.files or any(matches(path, f) for f in self.files)

    def _known(self, unit: UnitId) -> tuple[UnitId, ...]:
        return tuple(n for n in self.units[unit].needs if n in self.units)


def judge(plan: Plan, files: Collection[str]) -> tuple[Refusal, ...]:
    """What stands against a plan on a tree that holds `files`; empty: it has passed."""
    try:
        scene = _Scene(plan, files)
        return tuple(
            Refusal(code=code, subject=subject, message=message)
            for code, check in _CHECKS
            for subject, message in check(scene)
        )
    except Exception as error:  # noqa: BLE001  # named boundary: a gate that broke has refused
        told = f"the plan gate broke on it: {type(error).__name__}: {error}; mend the plan there"
        return (Refusal(code="broken", subject="plan", message=told),)


_Found = Iterator[tuple[str, str]]


def _schema(scene: _Scene) -> _Found:
    if scene.plan.schema != PLAN_SCHEMA:
        told = f"the plan has schema {scene.plan.schema!r}; this version reads {PLAN_SCHEMA}"
        yield "plan", told


def _duplicates(scene: _Scene) -> _Found:
    for word, ids in _ids(scene.plan):
        for each in sorted({i for i in ids if ids.count(i) > 1}):
            yield each, f"{ids.count(each)} {word}s are called {each!r}; give each an id of its own"


def _names(scene: _Scene) -> _Found:
    for word, ids in _ids(scene.plan):
        for each in ids:
            if not _NAME.fullmatch(each):
                told = "letters, digits, `_`, `-`, single dots within, at most 40, beginning with a letter or digit"
                yield each, f"the {word} id {each!r} is no plain word ({told}); rename it"


def _ids(plan: Plan) -> Iterator[tuple[str, Sequence[str]]]:
    yield "requirement", [r.requirement_id for r in plan.requirements]
    yield "milestone", [m.milestone_id for m in plan.milestones]
    yield "slice", [s.slice_id for s in plan.slices]
    yield "unit", [u.unit_id for u in plan.units]
    yield "risk", [r.risk_id for r in plan.risks]


def _acceptance(scene: _Scene) -> _Found:
    for unit in scene.plan.units:
        if not any(map(str.strip, unit.acceptance)):
            told = "say in a sentence how one sees that it is done"
            yield unit.unit_id, f"unit {unit.unit_id} has no acceptance criterion; {told}"


def _verification(scene: _Scene) -> _Found:
    for unit in scene.plan.units:
        if not any(map(str.strip, unit.verification)):
            told = "name a test id or a command that must pass"
            yield unit.unit_id, f"unit {unit.unit_id} has no verification strategy; {told}"
        elif not all(map(str.strip, unit.verification)):
            told = "is verified by an empty text; name a test id or a command there, or take it out"
            yield unit.unit_id, f"unit {unit.unit_id} {told}"


def _unknown_needs(scene: _Scene) -> _Found:
    for unit in scene.plan.units:
        for need in unit.needs:
            if need not in scene.units:
                told = f"unit {unit.unit_id} needs {need!r}, which is not in the plan"
                yield unit.unit_id, f"{told}; there are {', '.join(scene.units)}"


def _cycles(scene: _Scene) -> _Found:
    if scene.circle:
        told = " -> ".join((*scene.circle, scene.circle[0]))
        yield scene.circle[0], f"units wait for each other: {told}; take one of the needs away"
    for unit in scene.plan.units:
        for need in unit.needs:
            other = scene.units.get(need)
            if other is not None and scene.rank(other) > scene.rank(unit):
                told = f"unit {unit.unit_id} needs {need}, which belongs to a later milestone"
                yield unit.unit_id, f"{told}, and that starts from this one; move one of the two"


def _unowned(scene: _Scene) -> _Found:
    for unit in scene.plan.units:
        name = unit.unit_id
        if not unit.writes and unit.unit_type not in _ONLY_LOOKS:
            told = f"unit {name} is to change something and may write nothing"
            yield name, f"{told}; add what it changes to writes"
        for path in unit.produces:
            if not any(matches(w, path) for w in unit.writes):
                yield (
                    name,
                    f"unit {name} is to produce {path!r}, but may not write it; add it to writes",
                )
        nowhere = [("reads", path) for path in unit.reads]
        nowhere += [("writes", path) for path in unit.writes if not _is_pattern(path)]
        tested = (_TEST_FILE.match(v) for v in unit.verification)
        nowhere += [("is verified by", match["path"]) for match in tested if match]
        for verb, path in nowhere:
            if not scene.is_there(path) and not any(scene.makers(path)):
                told = f"unit {name} {verb} {path!r}, which is not in the tree and which no unit produces"
                yield name, f"{told}; let one produce it, or correct the path"


def _order(scene: _Scene) -> _Found:
    for unit in (
        () if scene.circle else scene.plan.units
    ):  # a circle is no order to hold anything against
        for path in unit.reads:
            if path in scene.files:
                continue
            for maker in scene.makers(path):
                if maker.unit_id != unit.unit_id and not scene.is_before(maker, unit):
                    told = f"unit {unit.unit_id} reads {path!r}, which {maker.unit_id} produces"
                    yield unit.unit_id, f"{told}; add {maker.unit_id} to its needs"


def _owners(scene: _Scene) -> _Found:
    for one, other in combinations(scene.plan.units, 2):
        twice = overlapping(one.produces, other.produces)
        if twice is not None:
            told = f"units {one.unit_id} and {other.unit_id} both produce {twice[0]!r}"
            yield other.unit_id, f"{told}; let one of them own it"
            continue
        both = None if scene.circle else overlapping(one.writes, other.writes)
        if both and not scene.is_before(one, other) and not scene.is_before(other, one):
            told = f"units {one.unit_id} and {other.unit_id} both may write {both[0]!r}"
            yield (
                other.unit_id,
                f"{told} and have no order; let one need the other, or split the paths",
            )


def _rollback(scene: _Scene) -> _Found:
    for unit in scene.plan.units:
        if unit.is_risky and not unit.rollback.strip():
            risk = ", ".join((*unit.risk_flags, *unit.plan.risk_factors))
            told = f"unit {unit.unit_id} is risky ({risk}) and has no rollback"
            yield unit.unit_id, f"{told}; say how its effect is undone"


def _flags(scene: _Scene) -> _Found:
    for unit in scene.plan.units:
        for flag in unit.risk_flags:
            if flag not in RISK_FLAGS:
                told = f"unit {unit.unit_id} has the risk flag {flag!r}, which the policy does not know"
                yield unit.unit_id, f"{told}; there are {', '.join(RISK_FLAGS)}"


def _unserved(scene: _Scene) -> _Found:
    served = {r for unit in scene.plan.units for r in unit.requirements}
    for requirement in scene.plan.requirements:
        if requirement.requirement_id not in served:
            told = f"requirement {requirement.requirement_id} is served by no unit"
            yield requirement.requirement_id, f"{told}; add it to the requirements of one"


def _dangling(scene: _Scene) -> _Found:
    plan = scene.plan
    if not plan.units:
        yield "plan", "the plan has no unit; a plan is a graph of units"
    milestones = {m.milestone_id for m in plan.milestones}
    slices = {s.slice_id for s in plan.slices}
    for name in sorted(milestones - {s.milestone_id for s in plan.slices}):
        yield name, f"milestone {name} has no slice; give it one, or take it out"
    for name in sorted(slices - {u.slice_id for u in plan.units}):
        yield name, f"slice {name} has no unit; give it one, or take it out"
    for each in plan.slices:
        if each.milestone_id not in milestones:
            told = f"slice {each.slice_id} belongs to {each.milestone_id!r}"
            yield each.slice_id, f"{told}, which is no milestone of the plan; name one of them"
    for unit in plan.units:
        if unit.slice_id not in slices:
            told = f"unit {unit.unit_id} belongs to {unit.slice_id!r}"
            yield unit.unit_id, f"{told}, which is no slice of the plan; name one of them"


def _served(scene: _Scene) -> _Found:
    """The same for requirements."""
    requirements = {r.requirement_id for r in scene.plan.requirements}
    for unit in scene.plan.units:
        if not unit.requirements:
            told = f"unit {unit.unit_id} serves no requirement"
            yield unit.unit_id, f"{told}; name one, or take the unit out"
        for name in unit.requirements:
            if name not in requirements:
                told = f"unit {unit.unit_id} serves {name!r}, which is no requirement of the plan"
                yield unit.unit_id, f"{told}; name one of them"


def _steps(scene: _Scene) -> _Found:
    for unit in scene.plan.units:
        steps = unit.plan.steps
        ids = [s.step_id for s in steps]
        lost = [d for s in steps for d in s.depends_on if d not in ids]
        told = ""
        if not steps:
            told = "its plan has no step"
        elif len(set(ids)) < len(ids):
            told = "two of its steps have one id"
        elif lost:
            told = f"a step depends on {lost[0]!r}, which is not there"
        elif ordered(steps) is None:
            told = "its steps depend on each other in a circle"
        if told:
            yield (
                unit.unit_id,
                f"unit {unit.unit_id} cannot be worked through: {told}; mend its steps",
            )


def _paths(scene: _Scene) -> _Found:
    for unit in scene.plan.units:
        for path in (*unit.reads, *unit.writes, *unit.produces):
            parts = path.split("/")
            if not path.strip() or path.startswith("/") or ".." in parts or ".git" in parts:
                told = f"unit {unit.unit_id} names {path!r}, which is no path inside the repository"
                yield unit.unit_id, f"{told}; give it relative to the root"
        for path in unit.produces:
            if "*" in path or "?" in path:  # brackets are part of names, too: `app/[id]/page.tsx`
                told = f"unit {unit.unit_id} is to produce {path!r}, a pattern"
                yield unit.unit_id, f"{told}; name each path"


def _is_pattern(path: str) -> bool:
    return any(mark in path for mark in "*?[")


_CHECKS: Final[Sequence[tuple[str, Callable[[_Scene], _Found]]]] = (
    ("schema", _schema),
    ("duplicate", _duplicates),
    ("name", _names),
    ("dangling", _dangling),
    ("dangling", _served),
    ("unserved", _unserved),
    ("acceptance", _acceptance),
    ("verification", _verification),
    ("unknown-dependency", _unknown_needs),
    ("cycle", _cycles),
    ("path", _paths),
    ("unowned", _unowned),
    ("order", _order),
    ("owners", _owners),
    ("rollback", _rollback),
    ("flag", _flags),
    ("steps", _steps),
)
