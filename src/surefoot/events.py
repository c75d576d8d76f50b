"""Everything that a ledger can hold: one frozen dataclass an event type, and the envelope around them.

An event is born whole. A start and an end are two events. Bulk text (prompts, replies, output, patches) is a
blob named here by its digest. `kind` is the envelope's `type`; `event_class` is the envelope's `class`.
A new field needs a default; a changed meaning needs a new kind (old ledgers stay readable).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final, Literal, TypeAlias

from surefoot.artifacts import CallFacts, DecisionRecord, LifecycleState, OperatorAct, VersionId
from surefoot.judgements import Boundary, DecisionGate
from surefoot.nodes import NOTHING, Cost, Node, NodeId, NodeKind, NodeOutcome
from surefoot.plans import Clarified, Refusal, Source
from surefoot.values import (
    AuditorResult,
    CallForm,
    Checkpoint,
    Classification,
    CommitId,
    Digest,
    EventId,
    Evidence,
    GateName,
    GateResult,
    Issue,
    ModelFault,
    PlanIR,
    Review,
    RunId,
    RunStatus,
    SandboxLevel,
    TestReport,
    TreeId,
    TurnId,
    Unit,
    UnitId,
    UnitType,
    Usage,
)

EventClass: TypeAlias = Literal["orchestrator", "model", "tool", "git", "test", "policy", "cost"]
TestPurpose: TypeAlias = Literal[
    "baseline",
    "reproduce",
    "impacted",
    "turn",
    "base-tests",
    "falsify",
    "flaky",
    "accept",
    "check",
    "slice",
    "milestone",
]
ChildKind: TypeAlias = Literal["unit", "subagent", "reprocess"]
SCHEMA_VERSION: Final = 1


# --- orchestrator --------------------------------------------------------------------------------


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
    """Blob: what the rule would have answered where a model decided, and there is such a rule (SPEC E7)."""


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


# --- plans ---------------------------------------------------------------------------------------


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


# --- model and cost ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetReserved:
    """Tokens and money are set aside before a call (promise 6)."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["budget.reserved"] = "budget.reserved"
    purpose: str
    tokens: int
    cost_usd: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRefused:
    """A call was not made because the budget does not hold it."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["budget.refused"] = "budget.refused"
    purpose: str
    what: Literal["tokens", "cost_usd", "time_s", "iterations"]
    asked: float
    left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettled:
    """What a reservation really cost; names it by `reservation`."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["budget.settled"] = "budget.settled"
    reservation: EventId
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPressure:
    """Half, or nine tenths, of a ceiling are used."""

    event_class: ClassVar[EventClass] = "cost"
    kind: Literal["budget.pressure"] = "budget.pressure"
    what: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOpened:
    """What a run goes by of a model that it may ask."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.opened"] = "model.opened"
    model: str
    context_tokens: int
    parallel: int
    native_tools: bool = False
    """It may be offered tools in its provider's own protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensCounted:
    """Lengths of prompts that were asked for since the last call of a model."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.counted"] = "model.counted"
    model: str
    counts: Digest
    """Blob: canonical JSON, the number of tokens by the digest of the messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsked:
    """A request leaves."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.asked"] = "model.asked"
    purpose: str
    model: str
    request: Digest
    """Blob: the request, canonical JSON."""
    reservation: EventId


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReplied:
    """A usable answer came back."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.replied"] = "model.replied"
    request: Digest
    reply: Digest
    """Blob: the `ModelReply`, canonical JSON."""
    model: str
    finish: Literal["stop", "length"]
    usage: Usage
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailed:
    """A call gave no usable answer."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.failed"] = "model.failed"
    request: Digest
    failure: Digest
    """Blob: the `ModelFailure`, canonical JSON."""
    fault: ModelFault
    model: str
    message: str
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRead:
    """A reply that had to be a tool call was read; what a model's replies were like decides how it is asked on."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["call.read"] = "call.read"
    model: str
    form: CallForm
    """In which form the call was asked for."""
    why: str
    """Why in that one."""
    came: Literal["valid", "invalid", "turned-down"]
    """A call that can be run; something else; or the server's word that it takes none of this form."""
    complaint: str = ""
    """What is wrong with it, as the model is told; empty when nothing is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWaited:
    """A call is made again after a wait, because the failure is one that passes."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.waited"] = "model.waited"
    model: str
    fault: ModelFault
    wait_s: float
    attempt: int
    """1-based number of the call that failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGrounded:
    """A model failed in a way that another call now would not mend; the next turn goes to another one."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.grounded"] = "model.grounded"
    model: str
    fault: ModelFault
    until: datetime | None
    """From when on it may be asked again; None: not in this run."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChosen:
    """Who is asked for the next turn of a unit, and who would follow (SPEC C4)."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.chosen"] = "model.chosen"
    unit_id: UnitId
    model: str
    chain: tuple[str, ...]
    """Eligible models, the chosen one first, in the order in which they would follow a failure."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverPinned:
    """The models that judge this run's turns, the first one that can be reached; no router chose them (SPEC A2)."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["solver.pinned"] = "solver.pinned"
    chain: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSwitched:
    """Another model answers than before."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.switched"] = "model.switched"
    before: str
    after: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheHit:
    """An answer that the ledger already held was used again, unpaid (after a crash)."""

    event_class: ClassVar[EventClass] = "model"
    kind: Literal["model.cache_hit"] = "model.cache_hit"
    request: Digest
    reply: Digest


# --- tool and test -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled:
    """A tool of the executor is about to run."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["tool.called"] = "tool.called"
    tool: str
    params: Digest
    shown: str = ""
    """The parameters for people, cut to a line."""
    artifact: Digest | None = None
    """The forged tool's artifact, when it is one."""
    shape: Digest | None = None
    """Blob: the solver shape of a dynamic call (SPEC D1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished:
    """A tool of the executor came back, and what the call was worth (SPEC E4, LabeledToolCall)."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["tool.labelled"] = "tool.labelled"
    tool: str
    params: Digest
    step_id: str
    outcome: Digest
    """Blob: the `ToolOutcome`, canonical JSON."""
    ok: bool
    params_valid: bool = True
    """The parameters fitted the tool's schema, so that it ran."""
    exit_code: int | None = None
    """Of the command behind it, where there is one."""
    step_utility: float
    """-1 to +1."""
    verification_delta: int | None
    """Failing tests before minus after; None when unknown."""
    was_repeated: bool
    score: float
    cost_tokens: int
    label_source: Literal["rule", "model"]
    policy_bundle: str
    wall_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsOffered:
    """Which forged tools the model is shown from now on (SPEC D7)."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["tools.offered"] = "tools.offered"
    offer: Digest
    """Blob: the `Offer`, canonical JSON."""
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactStored:
    """A version of something that is called was kept, and its life begins (SPEC D2, D4)."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["artifact.stored"] = "artifact.stored"
    version: VersionId
    capability: str
    """Capability class, e.g. `log analysis`; shadow coverage and calibration are counted by it."""
    compatibility: bool = False
    """It was in use before there was a life cycle, so it begins in probation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactUsed:
    """A call of a stored version ended: what its scorecard counts (SPEC D3)."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["artifact.used"] = "artifact.used"
    version: VersionId
    call: CallFacts
    chosen: str
    """Why this version served, as the choice said it, e.g. `incumbent`; `trial`: it ran beside the one that served."""
    sources: tuple[str, ...] = ()
    """Files that the result rests on, as they were really read: the provenance of its external data."""
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandRan:
    """A command of the run ended inside the sandbox."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["tool.finished"] = "tool.finished"
    tool: str
    argv: tuple[str, ...]
    exit_code: int | None
    stdout: Digest
    stderr: Digest
    wall_s: float
    sandbox: SandboxLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditorFinished:
    """One auditor answered, or failed to."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["auditor.finished"] = "auditor.finished"
    tree: TreeId
    result: AuditorResult
    baseline: tuple[str, ...] = ()
    """Fingerprints that were accepted before."""
    of: int = 1
    """How many auditors the audit has; it counts only when all of them are recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTried:
    """A candidate met the failing tests, and the wider ones when it passed those."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["candidate.tried"] = "candidate.tried"
    candidate: Digest
    """Blob: the `Candidate`, canonical JSON."""
    generator: str
    passed: bool
    fixed: int
    broken: int
    score: float
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatesRejected:
    """Several cheap candidates met the failing tests and came no nearer than the unchanged code."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["candidates.rejected"] = "candidates.rejected"
    what: str
    """The search that they belong to, e.g. `single edits of m.py::f`."""
    count: int
    listing: Digest
    """Blob: canonical JSON, a list of [description, what the tests said]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLearned:
    """The executor established something by running it, e.g. the suspects of a bug."""

    event_class: ClassVar[EventClass] = "tool"
    kind: Literal["fact.learned"] = "fact.learned"
    topic: str
    text: str
    tree: TreeId | None = None
    """What it was established on, where that is not the worktree of the turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsRan:
    """A test run in a fresh process ended."""

    __test__: ClassVar[bool] = False
    event_class: ClassVar[EventClass] = "test"
    kind: Literal["tests.ran"] = "tests.ran"
    tree: TreeId
    purpose: TestPurpose
    report: Digest
    """Blob: the `TestReport`, canonical JSON."""
    state: str
    passed: int
    failed: int
    collected: int
    exit_code: int | None
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestsWatched:
    """All tests were run on a base once more, to see of which files each runs something."""

    __test__: ClassVar[bool] = False
    event_class: ClassVar[EventClass] = "test"
    kind: Literal["tests.watched"] = "tests.watched"
    tree: TreeId
    count: int
    reach: Digest
    """Blob: canonical JSON, the files by test id; under "" those that count for every test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpactChecked:
    """A guess which tests a change can reach was held against a whole run (SPEC C9)."""

    event_class: ClassVar[EventClass] = "test"
    kind: Literal["impact.checked"] = "impact.checked"
    level: Literal["turn", "slice", "milestone"]
    tree: TreeId
    selected: int
    total: int
    missed: tuple[str, ...]
    """Tests outside of the guess whose outcome changed: wrong guesses."""
    reason: str
    """How the guess was made."""
    levels: str = ""
    """Version of the table that asked for it."""


def ran(tree: TreeId, purpose: TestPurpose, report: TestReport, blob: Digest) -> TestsRan:
    """The event of a test run; `blob` holds the whole report."""
    return TestsRan(
        tree=tree,
        purpose=purpose,
        report=blob,
        state=report.state,
        passed=len(report.passing),
        failed=len(report.failing),
        collected=len(report.collected),
        exit_code=report.exit_code,
        command=report.command,
    )


# --- git -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class GitStage:
    """One stage of the turn transaction, written after the git command did its work (SPEC C6)."""

    event_class: ClassVar[EventClass] = "git"
    kind: Literal["git.stage"] = "git.stage"
    stage: Literal["turn-start", "stage", "checkpoint", "publish", "rollback"]
    ok: bool
    tree: TreeId | None = None
    commit: CommitId | None = None
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffTaken:
    """What the turn changed against its start."""

    event_class: ClassVar[EventClass] = "git"
    kind: Literal["git.diff"] = "git.diff"
    diff: Digest
    """Blob: the `Diff`, canonical JSON."""
    files: tuple[str, ...]


# --- policy --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResolved:
    """What this run may do, and for how long."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["policy.resolved"] = "policy.resolved"
    mode: str
    can_execute: bool
    can_fix: bool
    can_escalate: bool
    max_iterations: int
    time_s: float
    max_files: int
    tokens: int | None
    cost_usd: float | None
    risk_flags: tuple[str, ...]
    """The flags that are on."""
    hard_stops: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAllowed:
    """A model may be asked for a unit; every rule that could forbid it was looked at."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["model.allowed"] = "model.allowed"
    unit_id: UnitId
    model: str
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDenied:
    """A model may not be asked for a unit, by this rule; no prompt leaves."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["model.denied"] = "model.denied"
    unit_id: UnitId
    model: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyDenied:
    """A step was refused by rule."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["policy.denied"] = "policy.denied"
    rule: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyWarning:
    """Something was read in the safest way because it was not understood."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["policy.warning"] = "policy.warning"
    rule: str
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxEnforced:
    """The level that really encloses the commands, and what its conformance probes said."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["sandbox.enforced"] = "sandbox.enforced"
    level: SandboxLevel
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionDecided:
    """`decide_next_action` answered (SPEC B6)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["action.decided"] = "action.decided"
    action: Literal["report", "solve", "stop"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundVerified:
    """`record_and_verify` answered (SPEC B6)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["round.verified"] = "round.verified"
    phase: str
    done: bool
    blocker: str | None
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundariesChecked:
    """What a round changed between the parts of the product, and whether it holds (SPEC B9)."""

    event_class: ClassVar[EventClass] = "test"
    kind: Literal["boundaries.checked"] = "boundaries.checked"
    tree: TreeId
    files: tuple[str, ...]
    """Everything that the run changed so far."""
    boundaries: tuple[Boundary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundDecided:
    """The decision gates of a round, after everything else of it: STOP or GO (SPEC B9)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["round.decided"] = "round.decided"
    number: int
    tree: TreeId
    gates: tuple[DecisionGate, ...]
    go: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LockChanged:
    """A person locked or unlocked the repository."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["lock.changed"] = "lock.changed"
    locked: bool
    why: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsTrusted:
    """A person let this content of `surefoot.toml` widen power."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["settings.trusted"] = "settings.trusted"
    keys: tuple[str, ...]
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionDecided:
    """The promotion policy said something new of a version (SPEC D4)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["promotion.decided"] = "promotion.decided"
    record: DecisionRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleForced:
    """A person moved a version (SPEC D8)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["lifecycle.forced"] = "lifecycle.forced"
    version: VersionId
    act: OperatorAct
    before: LifecycleState
    after: LifecycleState
    reason: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionPolicySet:
    """A person put a version of the promotion policy in force, for all or for one capability class (SPEC D5, D8)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["promotion.policy_set"] = "promotion.policy_set"
    version: str
    policy: Digest
    """Blob: the policy with every constant, canonical JSON."""
    capability: str | None
    """None: for all classes that have no profile of their own."""
    reason: str
    who: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcementApproved:
    """A person let the promotion policy have effect although something that it waits for is not there (SPEC D6)."""

    event_class: ClassVar[EventClass] = "policy"
    kind: Literal["enforcement.approved"] = "enforcement.approved"
    missing: tuple[str, ...]
    """What was not there, in words."""
    reason: str
    who: str


Event: TypeAlias = (
    RunOpened
    | RunResumed
    | RunStopped
    | RunAccepted
    | RunRejected
    | PhaseChanged
    | PlanMade
    | PlanClarified
    | SourceRead
    | PlanGated
    | PlanWritten
    | PlanRevised
    | ScheduleOpened
    | NodeStarted
    | NodeSettled
    | NodeDeferred
    | TurnStarted
    | ExecutorEnded
    | CheckpointWritten
    | SelfFeedback
    | NoFlyAdded
    | TurnClosed
    | GateDecided
    | ReviewGiven
    | QuestionAsked
    | QuestionAnswered
    | AnswerGiven
    | Decided
    | LedgerRepaired
    | RunsCollected
    | PlanAdopted
    | ChildStarted
    | ChildEnded
    | UnitBlocked
    | MergeConflicted
    | PartVerified
    | MilestoneClaimed
    | MilestoneReleased
    | RunArchived
    | BudgetReserved
    | BudgetRefused
    | BudgetSettled
    | BudgetPressure
    | ModelOpened
    | TokensCounted
    | ModelAsked
    | ModelReplied
    | ModelFailed
    | CallRead
    | ModelWaited
    | ModelGrounded
    | ModelChosen
    | SolverPinned
    | ProviderSwitched
    | CacheHit
    | ToolCalled
    | ToolFinished
    | ToolsOffered
    | ArtifactStored
    | ArtifactUsed
    | CommandRan
    | AuditorFinished
    | CandidateTried
    | CandidatesRejected
    | FactLearned
    | TestsRan
    | TestsWatched
    | ImpactChecked
    | GitStage
    | DiffTaken
    | PolicyResolved
    | ModelAllowed
    | ModelDenied
    | PolicyDenied
    | PolicyWarning
    | SandboxEnforced
    | ActionDecided
    | RoundVerified
    | LockChanged
    | BoundariesChecked
    | RoundDecided
    | SettingsTrusted
    | PromotionDecided
    | LifecycleForced
    | PromotionPolicySet
    | EnforcementApproved
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An event in its envelope, as one line of a ledger (SPEC C7)."""

    event_id: EventId
    """`<trace id>:<sequence number, 1-based>`, so that order and identity are one."""
    trace_id: RunId
    turn_id: TurnId | None
    caused_by: EventId | None
    """None only for a ledger's first event."""
    time: datetime
    """UTC."""
    event: Event
    previous_hash: str
    """Hash of the line before; 64 zeros for the first."""
    hash: str
    """SHA-256 over the canonical JSON of everything above, previous hash included."""
