"""What the run of a plan does with the runs of its units."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from surefoot.events.classes import ChildKind, EventClass
from surefoot.nodes import NodeKind
from surefoot.values import (
    CommitId,
    Digest,
    EventId,
    RunId,
    RunStatus,
    TreeId,
    UnitId,
    Usage,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanAdopted:
    """A run executes a plan."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["plan.adopted"] = "plan.adopted"
    plan_id: str
    plan: Digest
    """Blob: the `Plan`, canonical JSON."""
    milestones: tuple[str, ...]
    """Those that this run does, as `plan_id/milestone_id`."""
    order: tuple[UnitId, ...]
    """Units in the order in which their work is merged."""
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStarted:
    """A unit begins, or goes on, as a run of its own; what it may spend is reserved here until it ends."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["child.started"] = "child.started"
    node: ChildKind
    unit_id: UnitId
    run: RunId
    attempt: int
    """1-based; a reprocess node does the unit again from the merged tip."""
    base: CommitId
    base_tree: TreeId
    tokens: int
    cost_usd: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnded:
    """A child run came to a stop; settles what was reserved for it."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["child.ended"] = "child.ended"
    unit_id: UnitId
    run: RunId
    status: RunStatus
    reason: str
    ledger_head: str
    """Hash of the last line of its ledger; empty when it never began."""
    base_tree: TreeId
    tree: TreeId | None
    """What it made of its base; None when nothing."""
    commit: CommitId | None
    usage: Usage
    """What it spent since its last end."""
    model_calls: int
    facts: tuple[str, ...] = ()
    """What it established for the units that need it."""
    noticing: tuple[str, ...] = ()
    """Its new tests that pass on its base, too, and each notice a mutant that no other test does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitBlocked:
    """A unit of the plan cannot be done, or what it needs cannot."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["unit.blocked"] = "unit.blocked"
    unit_id: UnitId
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConflicted:
    """A unit's work does not fit onto the merged work; its commits stay where they are."""

    event_class: ClassVar[EventClass] = "git"
    kind: Literal["merge.conflicted"] = "merge.conflicted"
    unit_id: UnitId
    run: RunId
    commit: CommitId | None
    """Of the work; reachable under its run's refs."""
    onto: TreeId
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartVerified:
    """The tests of a slice, or the whole suite at a milestone's end, ran on the merged tree (SPEC C9)."""

    event_class: ClassVar[EventClass] = "test"
    kind: Literal["part.verified"] = "part.verified"
    part: str
    """The slice's id, or the milestone's as `plan_id/milestone_id`."""
    level: Literal["slice", "milestone"]
    tree: TreeId
    commit: CommitId | None
    passed: bool
    reason: str
    tests: tuple[str, ...]
    """What had to pass beside what passed on the base."""
    report: EventId
    """The recorded test run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneClaimed:
    """A worker of a team does a milestone; in the repository's own ledger."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["milestone.claimed"] = "milestone.claimed"
    milestone: str
    """`plan_id/milestone_id`."""
    node: NodeKind
    run: RunId
    worker: str
    """The process: `pid:start`; a claim whose process is dead may be taken over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MilestoneReleased:
    """A milestone is done: its work is on the branch."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["milestone.released"] = "milestone.released"
    milestone: str
    run: RunId
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunArchived:
    """`surefoot gc` put a whole closed run into one file, verified it from there, and took it out of its folders."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["run.archived"] = "run.archived"
    run_id: RunId
    file: str
    """Name of the bundle."""
    sha256: str
    head: str
    """Hash of the last line of its ledger."""
