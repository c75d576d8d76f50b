"""The vocabulary of a plan: a graph of units in slices and milestones, what each must show, and what could go wrong.

Frozen values, as in `values`; ids are short words, unique within their plan (`R1`, `M1`, `S1`, `U1`). In a path with a
`*` it stands for any characters, `/` too, so that a claim covers rather too much than too little.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from surefoot.values import CommitId, Issue, PlanIR, RunId, UnitId, UnitType

PLAN_SCHEMA: Final = 1
_CLAIMS: Final = 10_000
"""Claims of which it is kept how they begin and end; each is held against all others of its plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing that the issue asks for."""

    requirement_id: str
    text: str
    must: bool = True
    quote: str = ""
    """The issue's own words for it; empty when an answer to a question asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the issue leaves open."""

    question_id: str
    text: str
    options: tuple[str, ...]
    """2 to 4, all different."""
    recommended: int
    """Index into `options`."""
    default: int | None
    """Index into `options` that may be taken when nobody answers; None when only a person can say."""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarified:
    """A question with its answer."""

    question: Question
    answer: str
    by: str
    """A person's name, the file's name, or `default`."""
    at: str
    """ISO 8601, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Something that research found, and where."""

    where: str
    """Path in the repository, `package version: path`, or the URL that the user allowed."""
    fact: str
    digest: str = ""
    """SHA-256 of what was read, so that it can be read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """Work that is accepted as one commit."""

    milestone_id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """Units that are verified together before the milestone goes on."""

    slice_id: str
    milestone_id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedUnit:
    """One executable unit: what it does, what it touches, and what proves it."""

    unit_id: UnitId
    slice_id: str
    title: str
    unit_type: UnitType
    plan: PlanIR
    requirements: tuple[str, ...]
    """Requirement ids that it serves."""
    acceptance: tuple[str, ...]
    """Sentences; each is judged against the result."""
    verification: tuple[str, ...]
    """Test ids or commands that must pass when it is done."""
    needs: tuple[UnitId, ...] = ()
    """Units whose merged work it starts from."""
    reads: tuple[str, ...] = ()
    """Paths or globs inside the repository."""
    writes: tuple[str, ...] = ()
    """Paths or globs that it may change; two units that may run together never share one."""
    produces: tuple[str, ...] = ()
    """New paths that exist when it is done; each is owned by one unit and lies within `writes`."""
    risk_flags: tuple[str, ...] = ()
    """Flags of the policy that it needs, as in `values.RISK_FLAGS`."""
    rollback: str = ""
    """How its effect is undone; a risky unit has one."""

    @property
    def is_risky(self) -> bool:
        """It needs a flag of the policy, or its own plan names a risk."""
        return bool(self.risk_flags or self.plan.risk_factors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """What could go wrong, and what is done about it."""

    risk_id: str
    text: str
    units: tuple[UnitId, ...]
    mitigation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What `surefoot plan` writes and `surefoot run` executes."""

    schema: int
    plan_id: str = ""
    """Names the plan's files; its milestones are unique as `plan_id/milestone_id`. Empty until it was planned."""
    issue: Issue
    base: CommitId = CommitId("")
    """What it was planned on; empty until it was planned."""
    requirements: tuple[Requirement, ...]
    milestones: tuple[Milestone, ...]
    """In the order in which they are done; each starts from the one before."""
    slices: tuple[Slice, ...]
    units: tuple[PlannedUnit, ...]
    risks: tuple[Risk, ...] = ()
    answers: tuple[Clarified, ...] = ()
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """A unit of a plan, given to a run of its own."""

    parent: RunId
    """The plan run."""
    unit: PlannedUnit
    attempt: int
    """1-based."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the plan gate does not let a plan through; one kind of defect, at one place."""

    code: str
    """As in `plan.gate.CODES`."""
    subject: str
    """The id of what is wrong, or `plan`."""
    message: str
    """One sentence, with the mend."""


def matches(pattern: str, path: str) -> bool:
    """Whether a claim covers a path."""
    return pattern == path or fnmatchcase(path, pattern)


def covered(patterns: Iterable[str], path: str) -> bool:
    """Whether one of several claims covers a path."""
    return any(matches(pattern, path) for pattern in patterns)


def overlap(one: str, other: str) -> bool:
    """Whether some path may lie within both claims; two patterns that cannot be told apart overlap."""
    these, those = _ends(one), _ends(other)
    if these is None or those is None:
        return matches(one, other) or matches(other, one)
    return all(a.startswith(b) or b.startswith(a) for a, b in zip(these, those, strict=True))


def overlapping(these: Iterable[str], those: Iterable[str]) -> tuple[str, str] | None:
    """The first two claims, one of each side, that may share a path."""
    others = tuple(those)
    return next(((a, b) for a in these for b in others if overlap(a, b)), None)


@lru_cache(maxsize=_CLAIMS)
def _ends(claim: str) -> tuple[str, str] | None:
    """What stands before a pattern's first mark, and, backwards, behind its last one; None of a plain path."""
    if not any(mark in claim for mark in "*?["):
        return None
    return _literal(claim), _literal(claim[::-1])


def _literal(pattern: str) -> str:
    """What stands before the first mark; a `]` is one when a pattern is read from its end."""
    return next((pattern[:n] for n, c in enumerate(pattern) if c in "*?[]"), pattern)
