"""What a run does: its phases, turns, nodes, decisions and the questions that it asks."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Literal

from surefoot.events.classes import EventClass
from surefoot.nodes import NOTHING, Cost, Node, NodeId, NodeKind, NodeOutcome
from surefoot.plans import Clarified, Refusal, Source
from surefoot.values import (
    Checkpoint,
    Classification,
    CommitId,
    Digest,
    GateName,
    GateResult,
    Issue,
    ModelFault,
    PlanIR,
    Review,
    RunId,
    RunStatus,
    TreeId,
    TurnId,
    Unit,
    UnitId,
    UnitType,
    Usage,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOpened:
    """A run exists; everything that it depends on is frozen here."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["run.opened"] = "run.opened"
    issue: Issue
    mode: str
    model: str
    repo: str
    """Absolute path of the user's checkout."""
    branch: str
    """Full name of the branch that the user was on, e.g. `refs/heads/main`."""
    base: CommitId
    base_tree: TreeId
    settings: Digest
    """Blob: the settings as used, canonical JSON."""
    seed: int
    version: str
    parent: RunId | None = None
    """The plan run that this run does a unit for."""
    planning: bool = False
    """It only makes a plan; nothing of the repository is changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed:
    """A process took the run up again."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["run.resumed"] = "run.resumed"
    interrupted_turn: TurnId | None
    """The turn that had not closed and was rolled back."""
    settings: Digest | None = None
    """What the run goes by from here on, as `RunOpened.settings`; None: what it went by before."""
    model: str | None = None
    """The executor's model, where it or its address was named anew; what was held against it holds no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStopped:
    """The process lets go of the run; `complete`, `reported`, `blocked` and `error` close it for good."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["run.stopped"] = "run.stopped"
    status: RunStatus
    reason: str
    elapsed_s: float
    """Since the run was opened or resumed by this process."""
    resume_at: datetime | None = None
    """From when on a paused run can go on, where a provider said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunAccepted:
    """The user took the work over."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["run.accepted"] = "run.accepted"
    commit: CommitId
    onto: CommitId
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRejected:
    """The user threw the work away."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["run.rejected"] = "run.rejected"
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseChanged:
    """The run moved along the lifecycle table (SPEC B5, B11)."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["phase.changed"] = "phase.changed"
    before: str
    after: str
    trigger: str
    """Kind of the outcome that the table was asked about."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanMade:
    """The units of this round, each with its PlanIR."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["plan.made"] = "plan.made"
    units: tuple[Unit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanClarified:
    """A question of a planning has its answer."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["plan.clarified"] = "plan.clarified"
    clarified: Clarified


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRead:
    """Research found something, and this is where it stands."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["source.read"] = "source.read"
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGated:
    """The plan gate decided on a plan; it has passed only when there are no refusals."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["plan.gated"] = "plan.gated"
    plan: Digest
    """Blob: the plan, canonical JSON."""
    attempt: int
    """1 for the first draft."""
    refusals: tuple[Refusal, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWritten:
    """A plan that has passed lies in its folder, with its documents."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["plan.written"] = "plan.written"
    plan: Digest
    files: tuple[str, ...]
    """Paths below the plan's folder, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRevised:
    """A unit's plan was made by a model, or changed by what a check said (SPEC E6)."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["plan.revised"] = "plan.revised"
    unit_id: UnitId
    plan: PlanIR
    plan_hash: str
    """SHA-256 of the plan's canonical JSON; a change of what a check is given changes it, too."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleOpened:
    """A process takes up a graph; nodes that had started and not settled are started again."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["schedule.opened"] = "schedule.opened"
    graph: Digest
    """Blob: the `Graph` that the first process started with, canonical JSON."""
    nodes: int
    """How many it has."""
    jobs: int
    """How many nodes may run at once."""
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStarted:
    """A node of the graph is about to run."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["node.started"] = "node.started"
    node_id: NodeId
    node_kind: NodeKind
    attempt: int
    """1-based; more than 1 after a process that was killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettled:
    """A node ended, or will never run."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["node.settled"] = "node.settled"
    node_id: NodeId
    outcome: NodeOutcome
    cause: str = ""
    """Why it did not succeed."""
    used: Cost = NOTHING
    """In all its attempts."""
    added: tuple[Node, ...] = ()
    """Nodes that the graph has from now on, such as a merge that has to be done again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeferred:
    """The budget will never hold what a node reserves, so this process leaves it and what waits for it undone."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["node.deferred"] = "node.deferred"
    node_id: NodeId
    what: Literal["tokens", "cost_usd", "time_s", "iterations"]
    asked: float
    left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted:
    """An attempt at a unit begins from a tree."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["turn.started"] = "turn.started"
    unit_id: UnitId
    number: int
    """1-based within the run; a turn that was interrupted is started again under the same number."""
    tree: TreeId
    model: str = ""
    """Name of the model that the executor may ask."""
    locked: str | None = None
    """Why the repository was locked then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorEnded:
    """The executor let go of the turn: what it said, and what it threw."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["executor.ended"] = "executor.ended"
    output: Digest
    """Blob: the `TurnOutput`, canonical JSON; claims, not facts."""
    error: str | None = None
    learned: tuple[str, ...] = ()
    """What the executor wants to remember in the unit's next turn; claims, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointWritten:
    """The solver's canonical word on the turn."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["checkpoint.written"] = "checkpoint.written"
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfFeedback:
    """The solver judged the same evidence differently before (SPEC A6)."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["solver.self_feedback"] = "solver.self_feedback"
    before: Classification
    after: Classification
    evidence: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFlyAdded:
    """This model is not asked for this unit again (SPEC A5)."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["nofly.added"] = "nofly.added"
    unit_id: UnitId
    unit_type: UnitType
    model: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnClosed:
    """The one record of a turn: it ended as a commit, a structured no-op, or a rollback."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["turn.closed"] = "turn.closed"
    unit_id: UnitId
    number: int
    ended_as: Literal["commit", "noop", "rollback"]
    tree: TreeId
    """The worktree's tree after the turn."""
    commit: CommitId | None
    """What keeps the tree: a commit, or with `turn_action = status-only` the tree itself."""
    classification: Classification | None
    outcome: Literal["pass", "retryable-fail", "hard-fail", "manual-attention"]
    reason: str
    elapsed_s: float = 0.0
    gate: GateName | None = None
    """The first gate that did not pass."""
    model: str = ""
    unit_type: UnitType | None = None
    fault: ModelFault | None = None
    """How the model failed, where that ended the turn without a change."""
    retry_after_s: float | None = None
    """After which the provider said that it answers again."""
    unanswered: str = ""
    """The question that the work waits for a person with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateDecided:
    """A gate ran to its end."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["gate.decided"] = "gate.decided"
    result: GateResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewGiven:
    """A reviewer spoke."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["review.given"] = "review.given"
    review: Review


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked:
    """A person is asked; without an answer it is a no."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["question.asked"] = "question.asked"
    question: str
    why: str
    approval: bool = True
    """Else words are asked for."""
    diff: Digest | None = None
    """What is to be approved: blob of the diff that the person is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered:
    """What the person said, or that nobody did."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["question.answered"] = "question.answered"
    approved: bool
    text: str
    who: str
    diff: Digest | None = None
    """The diff that the answer is about; it holds for no other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerGiven:
    """A person answered what a paused run had asked, for when it is taken up again (SPEC B12)."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["answer.given"] = "answer.given"
    question: str
    diff: Digest | None
    """The diff that the answer is about; it holds for no other."""
    approved: bool
    text: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A typed decision of `decisions/` (promise 7)."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["decision.made"] = "decision.made"
    decision: str
    """Name of the signature, e.g. `candidate_edit`."""
    inputs: Digest
    output: Digest
    decided_by: Literal["rule", "model"]
    policy_bundle: str
    usage: Usage = Usage()
    by_rule: Digest | None = None
    """Blob: what the rule would have answered where a model decided (SPEC E7).

    None, too, where there is no such rule: for free text (a tool call, an edit, a test) and for a judge's word.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerRepaired:
    """A torn last line was cut off at the start."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["ledger.repaired"] = "ledger.repaired"
    dropped_bytes: int
    dropped: Digest


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsCollected:
    """`surefoot gc` removed what killed or old runs had left."""

    event_class: ClassVar[EventClass] = "orchestrator"
    kind: Literal["gc.collected"] = "gc.collected"
    runs: tuple[RunId, ...]
    worktrees: tuple[str, ...]
    refs: tuple[str, ...]
