"""All that a ledger can hold, and the envelope around each."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from surefoot.events.calls import (
    BudgetPressure,
    BudgetRefused,
    BudgetReserved,
    BudgetSettled,
    CacheHit,
    CallRead,
    ModelAsked,
    ModelChosen,
    ModelFailed,
    ModelGrounded,
    ModelOpened,
    ModelPulled,
    ModelReplied,
    ModelWaited,
    ProviderSwitched,
    SolverPinned,
    TokensCounted,
)
from surefoot.events.orchestration import (
    AnswerGiven,
    CheckpointWritten,
    Decided,
    ExecutorEnded,
    GateDecided,
    LedgerRepaired,
    NodeDeferred,
    NodeSettled,
    NodeStarted,
    NoFlyAdded,
    PhaseChanged,
    PlanClarified,
    PlanGated,
    PlanMade,
    PlanRevised,
    PlanWritten,
    QuestionAnswered,
    QuestionAsked,
    ReviewGiven,
    RunAccepted,
    RunOpened,
    RunRejected,
    RunResumed,
    RunsCollected,
    RunStopped,
    ScheduleOpened,
    SelfFeedback,
    SourceRead,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.plans import (
    ChildEnded,
    ChildStarted,
    MergeConflicted,
    MilestoneClaimed,
    MilestoneReleased,
    PartVerified,
    PlanAdopted,
    RunArchived,
    UnitBlocked,
)
from surefoot.events.policy import (
    ActionDecided,
    BoundariesChecked,
    EnforcementApproved,
    LifecycleForced,
    LockChanged,
    LockMet,
    ModelAllowed,
    ModelDenied,
    PolicyDenied,
    PolicyResolved,
    PolicyWarning,
    PromotionDecided,
    PromotionPolicySet,
    RoundDecided,
    RoundVerified,
    SandboxEnforced,
    SettingsTrusted,
)
from surefoot.events.work import (
    ArtifactStored,
    ArtifactUsed,
    AuditorFinished,
    CandidatesRejected,
    CandidateTried,
    CommandRan,
    DiffTaken,
    FactLearned,
    GitStage,
    ImpactChecked,
    MutantsTried,
    TestsRan,
    TestsWatched,
    ToolCalled,
    ToolFinished,
    ToolsOffered,
)
from surefoot.values import (
    EventId,
    RunId,
    TurnId,
)

SCHEMA_VERSION: Final = 1

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
    | ModelPulled
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
    | MutantsTried
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
    | LockMet
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
