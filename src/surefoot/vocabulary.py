"""The words of a run: ids, enumerations, and what is fixed about them; quick to load, because all else is made of them.

`values` hands every name on, so that a module that needs both has one place to ask.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Literal, NewType, TypeAlias

RunId = NewType("RunId", str)
TurnId = NewType("TurnId", str)
UnitId = NewType("UnitId", str)
EventId = NewType("EventId", str)
TreeId = NewType("TreeId", str)
CommitId = NewType("CommitId", str)
Digest = NewType("Digest", str)
"""SHA-256 of a blob's bytes, 64 lower-case hex digits."""


class Mode(StrEnum):
    """How far a run may go on its own (SPEC B1)."""

    REPORT_ONLY = "report_only"
    AUTO_FIX_SAFE = "auto_fix_safe"
    AUTO_SOLVE_FULL = "auto_solve_full"


class RunStatus(StrEnum):
    """How a run ended, or why it stands still."""

    COMPLETE = "complete"
    REPORTED = "reported"
    BLOCKED = "blocked"
    PAUSED = "paused"
    BUDGET = "budget"
    CANCELLED = "cancelled"
    ERROR = "error"


EXIT_CODES: Final[Mapping[RunStatus, int]] = {
    RunStatus.COMPLETE: 0,
    RunStatus.REPORTED: 0,
    RunStatus.ERROR: 1,
    RunStatus.BLOCKED: 10,
    RunStatus.CANCELLED: 11,
    RunStatus.BUDGET: 12,
    RunStatus.PAUSED: 13,
}
RESUMABLE: Final = frozenset({RunStatus.PAUSED, RunStatus.BUDGET, RunStatus.CANCELLED})


class UnitType(StrEnum):
    """What kind of work a unit is."""

    FIX = "fix"
    FEATURE = "feature"
    REFACTOR = "refactor"
    TEST = "test"
    DOCS = "docs"
    PLAN = "plan"
    AUDIT = "audit"


class CheckpointOutcome(StrEnum):
    """What the solver says should happen next."""

    CONTINUE = "continue"
    COMPLETE = "complete"
    BLOCKER = "blocker"


class Classification(StrEnum):
    """What a turn was (SPEC A4)."""

    EXECUTOR_REFUSED = "executor-refused"
    EXECUTOR_NOOP = "executor-noop"
    EXECUTOR_WAIT = "executor-wait"
    PROGRESS = "progress"
    COMPLETE = "complete"
    BLOCKER_INFRASTRUCTURE = "blocker-infrastructure"
    BLOCKER_FALSE_CLAIM = "blocker-false-claim"
    BLOCKER_STALL = "blocker-stall"
    BLOCKER_LOOP = "blocker-loop"
    BLOCKER_SOLVER_UNREACHABLE = "blocker-solver-unreachable"


class GateName(StrEnum):
    """The six gates of a turn, in their order."""

    POLICY = "policy"
    INPUT = "input"
    EXECUTION = "execution"
    ARTIFACT = "artifact"
    VERIFICATION = "verification"
    CLOSEOUT = "closeout"


class GateOutcome(StrEnum):
    """What a gate decided; only `pass` lets the turn go on."""

    PASS = "pass"  # noqa: S105  # an outcome, not a password
    RETRYABLE_FAIL = "retryable-fail"
    HARD_FAIL = "hard-fail"
    MANUAL_ATTENTION = "manual-attention"


class FailureClass(StrEnum):
    """Why a gate did not pass (SPEC C5)."""

    POLICY = "policy"
    INPUT = "input"
    EXECUTION = "execution"
    CODE = "code"
    TEST = "test"
    ARTIFACT = "artifact"
    VERIFICATION = "verification"
    CLOSEOUT = "closeout"
    GIT = "git"
    TIMEOUT = "timeout"
    MODEL = "model"
    TOOL = "tool"
    MANUAL_ATTENTION = "manual-attention"
    UNKNOWN = "unknown"


class Severity(StrEnum):
    """How bad a finding is; critical and high block."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


BLOCKING: Final = frozenset({Severity.CRITICAL, Severity.HIGH})


class Complexity(StrEnum):
    """How large a task looks."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    VERY_HIGH = "very_high"


class Tier(StrEnum):
    """How strong a model is, as catalogue data."""

    LIGHT = "light"
    STANDARD = "standard"
    HEAVY = "heavy"


class Profile(StrEnum):
    """What a run prefers when it chooses models (SPEC C4)."""

    ECONOMY = "economy"
    BALANCED = "balanced"
    QUALITY = "quality"
    BURN_MAX = "burn-max"


class StepIntent(StrEnum):
    """What a plan step is for (SPEC E2)."""

    INVESTIGATE = "investigate"
    MODIFY = "modify"
    VERIFY = "verify"
    SYNTHESIZE = "synthesize"


class SandboxLevel(StrEnum):
    """What really encloses the commands of a run."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    NONE = "none"


class TestOutcome(StrEnum):
    """What one test did."""

    __test__ = False

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"


TestFormat: TypeAlias = Literal["cargo", "go", "jest", "junit", "node", "tap"]
"""How a command of another language reports its tests."""


class ReportState(StrEnum):
    """Whether a test run can be trusted at all; only `complete` can."""

    COMPLETE = "complete"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    """The process ended before the runner said that it had finished."""
    UNPARSABLE = "unparsable"
    TOOL_MISSING = "tool-missing"
    NOTHING_COLLECTED = "nothing-collected"
    COLLECTION_ERROR = "collection-error"
    """Some test file could not be imported or parsed; `results` holds an ERROR entry for each."""
    FOREIGN_CODE = "foreign-code"
    """Tests imported the project from outside the tree under test; see `TestReport.foreign`."""
    FORGED = "forged"
    """The runner's own integrity check failed: a control test that must fail did not, or the like."""


SETTLED: Final = (ReportState.COMPLETE, ReportState.COLLECTION_ERROR)
"""States of runs that came to their end; what could not be collected is missing in one of the latter."""


class ModelFault(StrEnum):
    """The kinds in which a model call fails."""

    RATE_LIMIT = "rate-limit"
    OVERLOAD = "overload"
    TIMEOUT = "timeout"
    BROKEN_STREAM = "broken-stream"
    CONTEXT_OVERFLOW = "context-overflow"
    AUTH = "auth"
    NOT_FOUND = "not-found"
    REFUSAL = "refusal"
    MALFORMED = "malformed"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    """An answer that has to be whole was cut off at its length limit."""
    UNREACHABLE = "unreachable"
    UNSUPPORTED = "unsupported"
    """The server takes no tool definitions, for this model or at all."""


class AuditorState(StrEnum):
    """Whether an auditor's answer can be used."""

    OK = "ok"
    BROKEN = "broken"
    MISSING = "missing"
    TIMEOUT = "timeout"


TurnAction: TypeAlias = Literal["commit", "snapshot", "status-only"]
"""What keeps a turn's work: a commit on the run's branch, one beside it, or its tree alone."""


RISK_FLAGS: Final = (
    "allow_dependency_upgrades",
    "allow_destructive_ops",
    "allow_network",
    "allow_test_changes",
    "allow_ci_changes",
    "allow_suppressions",
)


def is_unicode(text: str) -> bool:
    """Whether it can be written as UTF-8: a name of a file that is not comes with halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
