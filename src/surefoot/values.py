"""The values of a run, frozen, which every other module speaks; with the words that they are made of.

Nothing here does I/O, reads a clock or imports anything of ours but the words (`vocabulary`), which are handed on.
Units are in the names; "no limit" is `None`, never 0; paths inside a repository are POSIX strings
relative to its root; tree and commit ids are 40 (or 64) lower-case hex digits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from surefoot.vocabulary import (
    BLOCKING,
    EXIT_CODES,
    RESUMABLE,
    RISK_FLAGS,
    SETTLED,
    AuditorState,
    CheckpointOutcome,
    Classification,
    CommitId,
    Complexity,
    Digest,
    EventId,
    FailureClass,
    GateName,
    GateOutcome,
    Mode,
    ModelFault,
    Profile,
    ReportState,
    RunId,
    RunStatus,
    SandboxLevel,
    Severity,
    StepIntent,
    TestFormat,
    TestOutcome,
    Tier,
    TreeId,
    TurnAction,
    TurnId,
    UnitId,
    UnitType,
)

# --- processes -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one command may use; `None` is no limit."""

    wall_s: float = 60.0
    cpu_s: int | None = 120
    memory_bytes: int | None = 4 * 1024**3
    """Address space of each process (RLIMIT_AS)."""
    file_bytes: int | None = 512 * 1024**2
    """Largest file that a process may write (RLIMIT_FSIZE)."""
    processes: int | None = 512
    output_bytes: int = 4 * 1024**2
    """Kept of standard output and of standard error each; the rest is read and dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One program to run inside the fence. `env` is the whole environment, nothing is inherited."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    reads: tuple[Path, ...] = ()
    """Readable beside the system's own directories (/usr, /lib, /etc, the interpreter)."""
    writes: tuple[Path, ...] = ()
    """Readable and writable; must exist. HOME and TMPDIR are scratch and always writable."""
    binds: tuple[tuple[Path, Path], ...] = ()
    """(source, where it appears), read-only, e.g. a node_modules carried into the worktree."""
    limits: Limits = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """How a command ended. A non-zero exit is a result, not an error."""

    exit_code: int | None
    """None when a signal or a limit ended it."""
    signal: int | None
    stdout: bytes
    stderr: bytes
    wall_s: float
    timed_out: bool = False
    truncated: bool = False
    """Output beyond `Limits.output_bytes` was dropped."""


# --- tests ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One frame of a failure's traceback, outermost first in a list of them."""

    path: str
    """Relative to the tree under test when inside it, else absolute."""
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """One test of one run."""

    __test__ = False

    test_id: str
    """The runner's own id, e.g. `tests/test_x.py::test_y[1]`."""
    outcome: TestOutcome
    wall_s: float = 0.0
    message: str = ""
    """The last line or two of the failure: exception and assertion, with values. Empty when passed."""
    detail: str = ""
    """The runner's own failure text, at most 8,000 characters."""
    frames: tuple[Frame, ...] = ()


_RAN_THROUGH: Final = (TestOutcome.PASSED, TestOutcome.XFAILED, TestOutcome.XPASSED)
"""What a test does that ran to its end and broke nothing; one that is skipped did not run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """What a test run says, whatever the runner. Empty, broken or missing never reads as a pass."""

    __test__ = False

    command: tuple[str, ...]
    state: ReportState
    exit_code: int | None
    results: tuple[TestResult, ...] = ()
    wall_s: float = 0.0
    foreign: tuple[str, ...] = ()
    """Files of the original checkout that were imported instead of the worktree's."""
    output: str = ""
    """Tail of what the runner printed, for people."""
    reason: str = ""
    """Why the state is not `complete`, with the ids or files in question and the mend; empty when it is."""

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids that failed or errored, sorted."""
        bad = (TestOutcome.FAILED, TestOutcome.ERROR)
        return tuple(sorted(r.test_id for r in self.results if r.outcome in bad))

    @property
    def passing(self) -> tuple[str, ...]:
        """Ids that passed, sorted."""
        return tuple(sorted(r.test_id for r in self.results if r.outcome is TestOutcome.PASSED))

    @property
    def collected(self) -> tuple[str, ...]:
        """All ids that the run reports on, sorted."""
        return tuple(sorted(r.test_id for r in self.results))

    def passed(self, tests: Iterable[str]) -> frozenset[str]:
        """Those of `tests` that passed.

        A file that could not be collected is a failing test by its path, and has no result of its own once it can be: it
        passed when the run came to its end, some of its tests pass, and the others fail as they are expected to.
        """
        asked, passing = set(tests), set(self.passing)
        files = {t for t in asked - set(self.collected) if "::" not in t}
        if self.state not in SETTLED:
            files = set()
        inside = [
            (r, file) for r in self.results if (file := r.test_id.partition("::")[0]) in files
        ]
        bad = {file for r, file in inside if r.outcome not in _RAN_THROUGH}
        good = {file for r, file in inside if r.outcome is TestOutcome.PASSED}
        return frozenset((asked & passing) | (good - bad))

    def result(self, test_id: str) -> TestResult | None:
        """The entry of one test id, or None."""
        return next((r for r in self.results if r.test_id == test_id), None)


# --- models --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat message."""

    role: Literal["system", "user", "assistant"]
    content: str


CallForm: TypeAlias = Literal["native", "text"]
"""How a model calls a tool: in its provider's own protocol, or as JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferedTool:
    """A tool as a provider's own protocol defines one."""

    name: str
    """Letters, digits, `_` and `-`, at most 64 of them: what every provider takes."""
    purpose: str
    schema: str
    """JSON Schema of its parameters (an object), as canonical JSON text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One tool, asked to do one thing. Equal calls have equal digests."""

    tool: str
    parameters: str
    """A JSON object, as canonical JSON text; in a model's reply as it wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCount:
    """What came back when a model was asked for tool calls in one form."""

    valid: int = 0
    invalid: int = 0
    turned_down: int = 0
    """How often the server said that it takes none of this form."""

    @property
    def read(self) -> int:
        """Replies that could be looked at."""
        return self.valid + self.invalid

    @property
    def share(self) -> float:
        """Of the replies, those that could be used; 0 without any."""
        return self.valid / self.read if self.read else 0.0

    def __add__(self, other: "CallCount") -> "CallCount":
        return CallCount(
            valid=self.valid + other.valid,
            invalid=self.invalid + other.invalid,
            turned_down=self.turned_down + other.turned_down,
        )


CallRecord: TypeAlias = Mapping[CallForm, CallCount]
"""What is known of one model's tool calls."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A place in a text that is to be filled in: Bavarian et al., "Efficient training of language models to fill in the middle" (2022)."""

    before: str
    after: str
    filled: str | None = None
    """Not None: the answer is this text, and what is asked for is how likely it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model. Equal requests have equal digests, which is what resume leans on."""

    purpose: str
    """The decision that asks, e.g. `candidate_edit`; also chooses the prompt-cache slot."""
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    json_schema: str | None = None
    """A JSON Schema as canonical JSON text; the reply is held to it where the model can be."""
    prefill: str = ""
    """Text that the assistant's answer starts with; part of the reply's text."""
    tools: tuple[OfferedTool, ...] = ()
    """The answer has to call one of these, in the provider's own protocol; for models that say they have one."""
    gap: Gap | None = None
    """Asked in place of messages, of models that say they fill gaps."""

    @property
    def measured(self) -> tuple[Message, ...]:
        """What its length is measured by: the messages, the definitions of the tools, the text around the gap, the answer's beginning."""
        defined = "".join(f"{t.name}\n{t.purpose}\n{t.schema}\n" for t in self.tools)
        around = f"{self.gap.before}{self.gap.after}" if self.gap is not None else ""
        return (
            *self.messages,
            *(Message(role="system", content=text) for text in (defined, around) if text),
            *((Message(role="assistant", content=self.prefill),) if self.prefill else ()),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a call used."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    """Part of `prompt_tokens` that came from the prompt cache."""
    completion_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What a model answered."""

    text: str
    model: str
    """The model that really answered, as the provider names it."""
    finish: Literal["stop", "length"]
    usage: Usage
    wall_s: float = 0.0
    mean_logprob: float | None = None
    """Mean natural log-probability of the answer's tokens, where the provider gives it."""
    calls: tuple[ToolCall, ...] = ()
    """Tools that it called in the provider's own protocol, names and parameters as it wrote them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFailure:
    """A call that gave no usable answer; a result, not an exception."""

    fault: ModelFault
    message: str
    model: str
    usage: Usage = Usage()
    retry_after_s: float | None = None
    wall_s: float = 0.0
    unbilled: bool = False
    """The provider turned the request down before anything was written, so a missing usage is none."""


ModelAnswer = ModelReply | ModelFailure


# --- findings ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that an auditor holds against the code (SPEC B4)."""

    finding_id: str
    """`<tool>:<rule>:<short fingerprint>`, unique in one audit."""
    tool: str
    rule: str
    severity: Severity
    category: Literal["typing", "lint", "tests", "integration", "policy", "security"]
    file: str
    line: int
    """1-based; 0 when the finding has no place."""
    column: int
    message: str
    fingerprint: str
    """Survives line moves: made of tool, rule, file and the normalised text of the place."""
    evidence: str = ""
    remediation: str = ""
    confidence: Literal["high", "medium", "low"] = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditorResult:
    """What one auditor said; `findings` mean something only when `state` is ok."""

    tool: str
    state: AuditorState
    findings: tuple[Finding, ...] = ()
    message: str = ""
    wall_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All auditors of one round on one tree."""

    results: tuple[AuditorResult, ...]
    baseline: tuple[str, ...] = ()
    """Fingerprints that were accepted before."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings above the baseline."""
        known = frozenset(self.baseline)
        return tuple(f for r in self.results for f in r.findings if f.fingerprint not in known)

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """Critical and high findings above the baseline."""
        return tuple(f for f in self.findings if f.severity in BLOCKING)

    @property
    def broken(self) -> tuple[AuditorResult, ...]:
        """Auditors that gave no usable answer."""
        return tuple(r for r in self.results if r.state is not AuditorState.OK)

    @property
    def ci_pass(self) -> bool:
        """Nothing above the baseline at any severity, and every auditor answered."""
        return not self.findings and not self.broken


# --- work ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """What the user gave: text, failing tests, findings, or nothing at all. Data, never instructions."""

    source: Literal["text", "file", "stdin", "test", "sarif", "audit"]
    text: str = ""
    tests: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def title(self) -> str:
        """First non-empty line, without Markdown marks, at most 72 characters."""
        for line in self.text.splitlines():
            if line.strip(" #*\t"):
                return line.strip(" #*\t")[:72]
        if self.tests:
            return f"make {self.tests[0]} pass"[:72]
        return "audit and fix"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanStep:
    """One step of a PlanIR (SPEC E2)."""

    step_id: str
    description: str
    intent: StepIntent
    target_files: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    max_iterations: int = 3
    acceptance: tuple[str, ...] = ()
    rollback: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanIR:
    """The one plan for every way of working."""

    analysis: str
    steps: tuple[PlanStep, ...]
    verification: tuple[str, ...]
    """What shows the end, told to who works; what must hold is the kernel's to say."""
    complexity: Complexity
    confidence: float
    risk_factors: tuple[str, ...] = ()
    room: int = 1
    """Time and memory of the checks, as a multiple of what the settings say."""

    @property
    def changes_in(self) -> tuple[str, ...]:
        """The files that it means to change, in the order of its steps; what a step only reads is none."""
        steps = (step for step in self.steps if step.intent is StepIntent.MODIFY)
        return tuple(dict.fromkeys(path for step in steps for path in step.target_files))


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One node of work: what to do, what it may write, and what proves it."""

    unit_id: UnitId
    unit_type: UnitType
    strategy: Literal["repair", "fixer", "agent", "merge"]
    issue: Issue
    plan: PlanIR
    failing: tuple[str, ...] = ()
    """Test ids that fail on the base and must pass on the result."""
    findings: tuple[Finding, ...] = ()
    """Findings that must be gone on the result."""
    writes: tuple[str, ...] = ()
    """Paths or globs that the unit may change; empty is any product file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEdit:
    """New content of one file; `None` deletes it."""

    path: str
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One possible change, whoever thought of it."""

    candidate_id: Digest
    """Digest of its edits, so that the same idea is not tried twice."""
    generator: str
    """E.g. `ast:compare`, `model:whole`, `model:explain`, `ruff`."""
    edits: tuple[FileEdit, ...]
    description: str
    prior: float = 0.5
    """How likely its generator finds it, 0..1, before any test."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """What a model and a runtime need to know of a tool."""

    name: str
    purpose: str
    """One sentence: what it does, and when to use it."""
    schema: str
    """JSON Schema of its parameters (an object), as canonical JSON text; a call that does not fit never runs."""
    effect: Literal["read", "write", "run"]
    """`read`: looks at the worktree. `write`: changes files in it. `run`: executes something inside the sandbox."""
    example: str
    """Parameters of a typical call, as canonical JSON text."""
    looks: bool = False
    """Of a tool that changes files: most of its calls only look, so it is for steps that look, too."""
    artifact: Digest | None = None
    """Of a forged tool: the version that serves now."""
    note: str = ""
    """Of a forged tool: how far it is trusted, in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractIntent:
    """What a call is meant to bring about, and what is to happen when it does not."""

    purpose: str
    on_error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SolverShape:
    """What the decision behind a call said of it (SPEC D1); a field that it did not say is None."""

    stance: Literal["do", "shape", "forge", "orchestrate"] | None
    capability_summary: str | None
    reuse_basis: str | None
    contract_intent: ContractIntent | None
    promotion_intent: Literal["none", "local_pattern", "durable_tool_candidate"] | None
    complete: bool
    """Stance, contract intent and promotion intent were said; a call goes on without them, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """What a call did. A failure is a value whose `error` says what is wrong, and how to mend the call."""

    ok: bool
    output: str = ""
    """What a model is shown, already cut to the tool's own bound; says so where it was cut."""
    error: str = ""
    exit_code: int | None = None
    """Of the command behind it, where there is one."""
    changed: tuple[str, ...] = ()
    """Paths that it wrote or deleted, sorted; a command's are found by looking at the worktree afterwards."""
    fits: bool = True
    """The call named a tool and its parameters fitted the schema; only then anything ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One path that differs between two trees."""

    path: str
    status: Literal["A", "M", "D", "T"]
    added: int
    removed: int
    """Lines; both 0 for binary files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diff:
    """The difference of two trees; renames are shown as delete and add."""

    before: TreeId
    after: TreeId
    files: tuple[FileChange, ...]
    patch: str

    @property
    def paths(self) -> tuple[str, ...]:
        """Changed paths, sorted."""
        return tuple(sorted(f.path for f in self.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """Two changes in one tree."""

    tree: TreeId
    conflicts: tuple[str, ...]
    """Paths in conflict; what the tree has there is of no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One fact that speaks for or against completion, as it goes into report and summary."""

    kind: Literal[
        "failing-tests",
        "base-tests",
        "new-tests",
        "tests-apart",
        "issue-examples",
        "findings",
        "changed-files",
        "review",
        "protected-files",
        "test-strength",
    ]
    command: str
    before: str
    after: str
    passed: bool
    events: tuple[EventId, ...] = ()
    """Recorded events that it rests on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pdd:
    """The eight purpose fields of a checkpoint (SPEC A3)."""

    purpose: str = ""
    consumer: str = ""
    contract: str = ""
    failure_boundary: str = ""
    evidence: str = ""
    non_goals: str = ""
    invariants: str = ""
    assumptions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRef:
    """A claim in a checkpoint and the recorded event that bears it out."""

    claim: str
    event_id: EventId


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """The canonical word on a turn, written by the solver (SPEC A3)."""

    schema_version: int = 1
    outcome: CheckpointOutcome
    classification: Classification
    summary: str
    completed_items: tuple[str, ...] = ()
    remaining_items: tuple[str, ...] = ()
    verification_evidence: tuple[EvidenceRef, ...] = ()
    pdd: Pdd = Pdd()
    excerpts: tuple[str, ...] = ()
    """Verbatim pieces of the transcript that show the classification."""
    decided_by: Literal["rule", "model", "fast-path", "synthesised"] = "rule"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """What one gate decided on one turn."""

    gate: GateName
    outcome: GateOutcome
    failure: FailureClass | None
    reason: str
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A reviewer's word: it can veto with findings, never approve alone (SPEC B8)."""

    verdict: Literal["PASS", "FAIL", "WAIVER"]
    action: Literal["PROCEED", "BLOCK"]
    reason: str
    findings: tuple[Finding, ...] = ()
    decided_by: Literal["rule", "model"] = "rule"


# --- policy and budgets --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """What a run may use in all; `None` is no limit."""

    max_iterations: int
    time_s: float
    max_files: int
    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What a run has used, a fold of its ledger."""

    iterations: int = 0
    time_s: float = 0.0
    model_calls: int = 0
    usage: Usage = Usage()
    reserved_tokens: int = 0
    reserved_usd: float = 0.0
    """Reserved by calls that are still open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What `resolve_policy` allows a run (SPEC B6)."""

    mode: Mode
    ceilings: Ceilings
    can_execute: bool
    can_fix: bool
    can_escalate: bool
    """May change the model tier or ask a person."""
    hard_stops: tuple[str, ...]
    """Why nothing may run, in words; empty when something may."""
    risk_flags: frozenset[str]
    """The flags that are on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSummary:
    """Findings above the baseline, counted by severity."""

    critical: int
    high: int
    medium: int
    low: int
    info: int
    ci_pass: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NextAction:
    """What `decide_next_action` says (SPEC B6)."""

    action: Literal["report", "solve", "stop"]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundVerdict:
    """What `record_and_verify` says (SPEC B6)."""

    phase: str
    done: bool
    blocker: str | None
