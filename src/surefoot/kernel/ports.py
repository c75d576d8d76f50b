"""The roles that the kernel plays with; adapters fill them, `app.py` chooses which.

Every method returns values. An expected failure (a failed gate, a model that does not answer, a broken test run) is
part of the returned value; exceptions are for what the caller could not expect, and are `SurefootError`s.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from surefoot.artifacts import Interface, LifecycleState, VersionId
from surefoot.events.envelope import Event, Recorded
from surefoot.judgements import Boundary, Mutant
from surefoot.kernel.selection import Choice
from surefoot.values import (
    Audit,
    AuditorResult,
    AuditSummary,
    CallRecord,
    Candidate,
    Checkpoint,
    Command,
    CommitId,
    Diff,
    Digest,
    EventId,
    Evidence,
    FileEdit,
    Finding,
    GateName,
    GateResult,
    Issue,
    Merged,
    Message,
    Mode,
    ModelAnswer,
    ModelFailure,
    ModelRequest,
    NextAction,
    ProcessResult,
    Resolution,
    Review,
    RoundVerdict,
    RunId,
    SandboxLevel,
    Spend,
    TestReport,
    ToolCall,
    ToolOutcome,
    ToolSpec,
    TreeId,
    TurnId,
    Unit,
)


class Clock(Protocol):
    """Time comes in as an argument."""

    def now(self) -> datetime:
        """The present, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only grow."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let so much time go by; ctrl-C ends it."""
        ...


class Ids(Protocol):
    """Identity comes in as an argument."""

    def run_id(self, now: datetime) -> RunId:
        """A new run id: sortable by time, unique on this machine, valid in a ref name."""
        ...


class Ledger(Protocol):
    """The one record of a run. Thread-safe; every append is durable before it returns."""

    @property
    def trace_id(self) -> RunId:
        """The run that this ledger belongs to."""
        ...

    def append(
        self, event: Event, *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> Recorded:
        """Add one event; without a cause, the event before it is the cause."""
        ...

    def append_all(
        self, events: Sequence[Event], *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> tuple[Recorded, ...]:
        """Add several under one fsync, in order."""
        ...

    def put(self, data: bytes) -> Digest:
        """Store a blob, redacted, and return its digest; the same bytes are stored once."""
        ...

    def get(self, digest: Digest) -> bytes:
        """The blob; `LedgerError` when it is missing or does not match its digest."""
        ...

    def events(self) -> Iterator[Recorded]:
        """All events so far, in order."""
        ...

    @property
    def head(self) -> str:
        """Hash of the last line; 64 zeros when empty."""
        ...

    def close(self) -> None:
        """Let go of the files; a second call does nothing."""
        ...


class RunningProcess(Protocol):
    """A command that talks while it runs (a worker)."""

    def send(self, line: bytes) -> None:
        """Write one line, without its newline, to its standard input."""
        ...

    def receive(self, timeout_s: float) -> bytes | None:
        """The next line of its standard output without the newline; None when it ended or the time is up."""
        ...

    def stop(self) -> ProcessResult:
        """End the whole process tree and say how it ended; a second call returns the same."""
        ...


class Processes(Protocol):
    """The only way in which a run executes anything of the project."""

    @property
    def level(self) -> SandboxLevel:
        """What encloses the commands."""
        ...

    def run(self, command: Command) -> ProcessResult:
        """Run to the end, or to a limit; nothing of its process tree survives.

        Raises:
            SandboxError: The command cannot be enclosed (missing directory, backend gone).
        """
        ...

    def start(self, command: Command) -> RunningProcess:
        """Start a worker; `limits.wall_s` bounds its whole life. Raises as `run`."""
        ...


class Model(Protocol):
    """Something that answers prompts."""

    @property
    def name(self) -> str:
        """How settings and events call it, e.g. `embedded` or `openai/gpt-5-mini`."""
        ...

    @property
    def context_tokens(self) -> int:
        """Prompt and answer together fit into this."""
        ...

    @property
    def parallel(self) -> int:
        """How many requests it serves at once with profit."""
        ...

    @property
    def native_tools(self) -> bool:
        """Whether requests may offer it tools, which it then calls in its provider's own protocol."""
        ...

    @property
    def fills_gaps(self) -> bool:
        """Whether requests may have a gap in place of messages."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Length of the prompt in the model's own tokens, or a safe upper estimate."""
        ...

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        """An upper bound of the price of such a call."""
        ...

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """Answer each request, in the order given, several at a time where it can."""
        ...


class Trees(Protocol):
    """What can be asked of recorded trees."""

    def diff(self, before: TreeId, after: TreeId) -> Diff:
        """What changed between two trees."""
        ...

    def read(self, tree: TreeId, path: str) -> bytes | None:
        """A file's bytes in a tree, or None when it is not a file there."""
        ...

    def files(self, tree: TreeId) -> tuple[str, ...]:
        """All paths of a tree, sorted."""
        ...

    def overlay(self, tree: TreeId, source: TreeId, paths: Sequence[str]) -> TreeId:
        """A tree that is `tree` with `paths` taken from `source` (removed where `source` lacks them)."""
        ...

    def checkout(self, tree: TreeId) -> AbstractContextManager[Path]:
        """A scratch directory that holds exactly `tree`, gone afterwards."""
        ...


class Workspace(Trees, Protocol):
    """The run's own linked worktree and branch (promises 2 and 3)."""

    @property
    def path(self) -> Path:
        """Root of the worktree."""
        ...

    @property
    def base(self) -> CommitId:
        """The commit that the run started from."""
        ...

    @property
    def base_tree(self) -> TreeId:
        """Its tree."""
        ...

    @property
    def head(self) -> tuple[CommitId, TreeId]:
        """The last closed turn's commit and tree; at first the base's."""
        ...

    def snapshot(self) -> TreeId:
        """Write the worktree's present state as a tree, without what was carried in, and what git ignores and no edit wrote."""
        ...

    def apply(self, edits: Sequence[FileEdit]) -> None:
        """Write edits into the worktree; a path outside it, through a symlink, or into `.git` is refused.

        What they write is in every later snapshot, even where git ignores it.
        """
        ...

    def commit(self, tree: TreeId, message: str, trailers: Mapping[str, str]) -> CommitId:
        """Commit `tree` on the run's branch (parent: head) and move the branch: commit first, ref after."""
        ...

    def restore(self, tree: TreeId) -> None:
        """Make the worktree exactly `tree`: changed, added and untracked files of the turn are gone."""
        ...

    def merge(self, *, base: TreeId, work: TreeId, onto: TreeId) -> Merged:
        """What `work` changed against `base`, applied to `onto`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What one candidate did in the worker."""

    candidate: Candidate
    report: TestReport
    wall_s: float


class TrialWorker(Protocol):
    """A forked, limited, sandboxed process that tries candidates in milliseconds."""

    def attempt(self, candidate: Candidate, tests: Sequence[str] | None = None) -> Trial:
        """Run `tests` (default: those the worker was opened with) against the candidate, stopping at the first failure."""
        ...

    def trace(self, test_id: str, files: Sequence[str]) -> "Coverage":
        """Run one test on the unchanged code and say which lines of `files` it ran, and with which values."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What one test executed."""

    test_id: str
    passed: bool
    lines: Mapping[str, tuple[int, ...]]
    """Executed 1-based lines by path, in order of line."""
    values: tuple[str, ...] = ()
    """Readable trace: `path:line name = repr`, in order of execution, shortened."""


class Suite(Protocol):
    """The project's own tests, whatever the runner."""

    @property
    def command(self) -> tuple[str, ...]:
        """How a person would run all of them."""
        ...

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """Run in a fresh sandboxed process on the tree at `root`: all tests, or exactly these ids.

        Time and memory are limited to `room` times what the settings say.

        A report is `complete` only when the runner said that it finished, its control tests behaved, the project's
        modules came from `root`, and, where ids were asked for, exactly those ids are in it.
        """
        ...

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        """Of which files each test of the tree at `root` runs a function; under "" those that count for every test.

        Tests that could not be watched are left out; empty when none could.
        """
        ...

    def is_test_path(self, path: str) -> bool:
        """Whether a path is a test file or a helper of tests (conftest, fixtures, snapshots)."""
        ...

    def is_control_path(self, path: str) -> bool:
        """Whether a path steers the runner or the gates: configuration, CI, conftest, .pth, plugins, sitecustomize."""
        ...

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        """Open a trial worker on the tree at `root`."""
        ...


class Critic(Protocol):
    """Reads what a change did to the boundaries between the parts of the product (SPEC B9)."""

    def concerns(self, path: str) -> bool:
        """Whether a change of this file can change a boundary."""
        ...

    def look(
        self,
        before: Path,
        after: Path,
        files: tuple[Sequence[str], Sequence[str]],
        changed: Sequence[str],
    ) -> tuple[Boundary, ...]:
        """The boundaries that a change of some files touched, each held against its contract.

        Args:
            before: The tree before the change, checked out.
            after: The tree after it.
            files: The paths of the two trees.
            changed: The paths that differ.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantDraft:
    """A mutant before anybody has tried it."""

    file: str
    line: int
    operator: str
    text: str
    """The whole mutated file."""
    patch: str


class Mutator(Protocol):
    """Makes small wrong changes of changed lines, which tests ought to notice."""

    @property
    def maker(self) -> str:
        """Version of the operators and of what they rest on; the same makes the same mutants."""
        ...

    def reads(self, path: str) -> bool | None:
        """Whether mutants can be made of a file; None when it holds no code."""
        ...

    def idle(self, path: str, text: str) -> str:
        """A file that `reads` knows with a change that does nothing."""
        ...

    def drafts(self, path: str, before: str | None, after: str) -> tuple[MutantDraft, ...]:
        """Every mutant of the lines of a file that changed; of each line the most telling first."""
        ...


class Auditor(Protocol):
    """One source of findings, run as a process of its own."""

    @property
    def tool(self) -> str:
        """Its name, e.g. `ruff`."""
        ...

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`; a tool that broke says so in the state."""
        ...


class Asker(Protocol):
    """The metered model that executors and solvers get: reserves, asks, records, settles (promise 6)."""

    @property
    def model(self) -> str:
        """Name of the model behind it."""
        ...

    @property
    def context_tokens(self) -> int:
        """As `Model.context_tokens`."""
        ...

    @property
    def parallel(self) -> int:
        """As `Model.parallel`."""
        ...

    @property
    def native_tools(self) -> bool:
        """As `Model.native_tools`."""
        ...

    @property
    def fills_gaps(self) -> bool:
        """As `Model.fills_gaps`."""
        ...

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """As `Model.count_tokens`."""
        ...

    def ask(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """Answers in order. Empty when the budget refuses the whole batch; the refusal is an event."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """What an executor starts from; rebuilt for every turn from ledger and worktree."""

    unit: Unit
    number: int
    """1-based number of this turn within its unit."""
    seed: int
    tree: TreeId
    base_tree: TreeId
    mode: Mode
    baseline: TestReport
    """The whole suite on the base tree."""
    last: Checkpoint | None
    tried: Mapping[Digest, str]
    """Candidates of earlier turns by id, with what the tests said of them."""
    refuted: tuple[str, ...] = ()
    """Claims of the last turn that the evidence contradicted, and gate failures, in words."""
    weak: tuple[Mutant, ...] = ()
    """Mutants of the changed lines that no test notices, when the work is shown but for that."""
    left_s: Callable[[], float] = lambda: float("inf")
    """Seconds that the run still has now."""
    calls: CallRecord = field(default_factory=dict)
    """What came of the tool calls that its model was asked for in earlier turns of the run."""
    locked: Callable[[], str | None] = lambda: None
    """Why the repository is locked now; read anew at each step (SPEC B2)."""
    learned: tuple[str, ...] = ()
    """What the executor wanted to remember of earlier turns."""
    kept: bool = True
    """Whether the work of the turn before is in `tree`."""
    audited: Callable[[TreeId], Evidence | None] = lambda _: None
    """What the auditors say of a tree, as the turn's proof will have it; None where no audit is asked for."""
    objections: Callable[[TreeId], tuple[Finding, ...]] = lambda _: ()
    """What the review will hold against the run if it ends with this tree, as far as its text alone shows it."""

    def halted(self) -> str:
        """Why there is no further step, by the lock or the run's time; empty when there may be one."""
        locked = self.locked()
        if locked is not None:
            return f"the repository is locked: {locked}"
        return "the run's time is up" if self.left_s() <= 0 else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutput:
    """What an executor did; its edits are in the worktree."""

    transcript: str
    """Everything that was said, the model's prose included; claims, not facts."""
    claim: Literal["none", "done", "wait"]
    """`done`: it says that the work is complete. `wait`: it declares to wait for something."""
    advice: Checkpoint | None = None
    """A checkpoint that the executor wrote itself (SPEC A1)."""
    effective_actions: int = 0
    """Tool events with an effect; each candidate tried is one."""
    failure: ModelFailure | None = None
    """The infrastructure or refusal failure that ended the turn, when one did."""
    unanswered: str = ""
    """The question that only a person can answer, and nobody did."""
    learned: tuple[str, ...] = ()
    """What it wants to remember in the next turn; claims, like the transcript."""


class Notebook(Protocol):
    """How an executor or a decision records what it does, inside the turn that it belongs to."""

    def record(self, event: Event, *, cause: EventId | None = None) -> EventId:
        """Append to the ledger under the present turn."""
        ...

    def put(self, data: bytes) -> Digest:
        """Store a blob."""
        ...


class Toolbox(Protocol):
    """What an executor may use, behind one schema validation (SPEC E3)."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """Every tool, in the order in which a model is shown them; names are unique."""
        ...

    def call(self, call: ToolCall, workspace: Workspace) -> ToolOutcome:
        """Check the parameters against the tool's schema, then run it on the worktree.

        An unknown tool, parameters that do not fit, and a tool that broke are outcomes that are not ok.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A forged tool that a model is shown."""

    version: VersionId
    """That serves its calls now."""
    state: LifecycleState
    note: str
    """How far it is trusted, in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """The forged tools that a model is shown, and everything that a call of theirs depends on."""

    listed: tuple[Listed, ...]
    """The best first."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """State by tool name, canonical JSON."""


class Shelf(Protocol):
    """The forged tools of a repository: what there is, which version serves, and what they keep (SPEC D2, D6)."""

    def offer(self, most: int, *, first: Sequence[Interface] = ()) -> Offer:
        """What a model is shown: `first`, then the best others, `most` in all. The same facts give the same offer."""
        ...

    def is_stale(self, offer: Offer, interface: Interface) -> bool:
        """Whether another version serves the interface than the offer says, or one with another standing."""
        ...

    def choose(self, interface: Interface, *, without: Collection[Digest] = ()) -> Choice | None:
        """The version that serves a call now, not one of `without`; None when none may."""
        ...

    def artifact(self, artifact: Digest) -> bytes:
        """The content of a version; `LedgerError` when it is missing or damaged."""
        ...

    def store(self, data: bytes) -> Digest:
        """Keep the content of a version."""
        ...

    def kept(self, name: str) -> Mapping[str, object]:
        """The state that a tool keeps, by key."""
        ...

    def keep(self, name: str, writes: Mapping[str, object]) -> None:
        """Add to it, or replace keys of it."""
        ...


class Executor(Protocol):
    """A strategy that does the work of one turn."""

    def run_turn(
        self, task: TurnInput, workspace: Workspace, asker: Asker, notebook: Notebook
    ) -> TurnOutput:
        """Work in the worktree; judge nothing."""
        ...


ToolPattern: TypeAlias = tuple[tuple[str, Digest], ...]
"""What a turn called, in order: each tool with the digest of its parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the solver is shown: facts first, the executor's words as claims."""

    unit: Unit
    number: int
    model: str
    """The model that the executor used."""
    output: TurnOutput
    diff: Diff
    seen_diffs: tuple[str, ...]
    """Tree ids after earlier turns of the unit."""
    before: TestReport
    """The unit's tests at the turn's start."""
    after: TestReport | None
    """The same after the turn; None when nothing changed."""
    after_event: EventId | None
    """The recorded test run behind `after`."""
    history: tuple[Checkpoint, ...]
    """Checkpoints of the unit so far, oldest first."""
    facts: tuple[str, ...]
    """New verified facts of this turn."""
    evidence: tuple[Evidence, ...] = ()
    """What the kernel proved of the turn's tree; empty when nothing changed."""
    called: ToolPattern = ()
    """The tools of this turn."""
    patterns: tuple[ToolPattern, ...] = ()
    """Those of the unit's earlier turns, oldest first; turns that an outage ended are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """What a choice of a model rests on, all of it from the ledger."""

    unit: Unit
    refused: frozenset[str]
    """Models that refused this unit; it goes to a higher tier than theirs."""
    grounded: frozenset[str]
    """Models that failed and are not to be asked now."""
    pressure: float
    """Largest used share of any ceiling, 0 and up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    """Who is asked for the next turn of a unit; None when nobody may be."""

    asker: Asker | None
    reason: str
    chain: tuple[str, ...] = ()
    """The chosen model and those that would follow it."""
    grounded: tuple[str, ...] = ()
    """Models that only their failures keep out."""
    verdicts: tuple[Event, ...] = ()
    """`ModelAllowed` and `ModelDenied`, one a model that was looked at."""


class Router(Protocol):
    """Chooses the executor's model by policy; the solver's is never its business (SPEC A2, C4)."""

    def route(self, request: RouteRequest) -> Routed:
        """The same request gets the same answer."""
        ...


class Solver(Protocol):
    """Observes a turn and writes the canonical checkpoint; never edits, never routed (SPEC A1, A2)."""

    def judge(self, seen: Observation, asker: Asker, notebook: Notebook) -> Checkpoint:
        """Classify the turn."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewInput:
    """What a reviewer sees: issue, diff, evidence; not the executor's prose (SPEC B8)."""

    issue: Issue
    diff: Diff
    contents: Mapping[str, tuple[str | None, str | None]]
    """Text of each changed file before and after; None where it does not exist or is not text."""
    evidence: tuple[Evidence, ...]
    mode: Mode
    risk_flags: frozenset[str]
    test_paths: frozenset[str]
    control_paths: frozenset[str]
    tests: TestReport
    """The run that the evidence rests on."""
    failing_before: frozenset[str]
    """Tests that failed on the base and are none of the issue's business."""
    test_texts: Mapping[str, str] = field(default_factory=dict)
    """Text of the files of the tests that the run is about, by path."""


class Reviewer(Protocol):
    """Can veto with a finding, never approve alone."""

    def review(self, seen: ReviewInput) -> Review:
        """Look at the whole change of the run."""
        ...


class Gate(Protocol):
    """One of the six; a gate that throws has failed."""

    @property
    def name(self) -> GateName:
        """Which of the six it is."""
        ...

    def evaluate(self, state: "GateInput") -> GateResult:
        """Decide, from recorded facts only."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GateInput:
    """What the gates of one turn decide on; fields fill up as the turn goes on."""

    unit: Unit
    mode: Mode
    locked: str | None
    """Why the repository is locked, or None."""
    risk_flags: frozenset[str]
    max_files: int
    sandbox: SandboxLevel
    unsandboxed_allowed: bool
    tree: TreeId
    output: TurnOutput | None = None
    error: str | None = None
    """What the executor threw, when it did."""
    diff: Diff | None = None
    run_diff: Diff | None = None
    """Of the whole run so far against the base."""
    review: Review | None = None
    contents: Mapping[str, tuple[str | None, str | None]] | None = None
    evidence: tuple[Evidence, ...] = ()
    gain: bool = False
    """Strictly fewer tests fail after the turn than before it, or fewer findings of the unit's kinds are left; none new."""
    checkpoint: Checkpoint | None = None
    commit: CommitId | None = None
    test_paths: frozenset[str] = frozenset()
    control_paths: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a person said; no answer is a no (SPEC B12)."""

    approved: bool
    text: str
    who: str

    @property
    def is_silence(self) -> bool:
        """Nobody said anything: that is a no which somebody may still answer later."""
        return not self.approved and not self.text


class Policy(Protocol):
    """What may happen, by rule (SPEC B6)."""

    def locked(self) -> str | None:
        """Why the repository is locked against execution, or None; read anew at every call."""
        ...

    def resolve(self) -> Resolution:
        """Mode, ceilings and flags of this run under the present lock."""
        ...

    def next_action(self, summary: AuditSummary, spend: Spend, *, asked: bool) -> NextAction:
        """Report, solve or stop; `asked` is whether the user gave an issue."""
        ...

    def verify_round(
        self, files: Sequence[str], *, checks_passed: bool | None, summary: AuditSummary
    ) -> RoundVerdict:
        """Whether a round is done; `checks_passed` None means that no checks ran, which is a failure."""
        ...


class Planner(Protocol):
    """Turns what is known into units; a decision (promise 7)."""

    def plan(
        self,
        issue: Issue,
        baseline: TestReport,
        audit: Audit,
        files: Sequence[str],
        notebook: "Notebook",
        *,
        earlier: Sequence[Unit] = (),
    ) -> tuple[Unit, ...] | str:
        """The units of this round, or why nothing can be stated that a run could prove.

        `earlier` are the units of the rounds before; what they tried is not tried in the same way again.
        """
        ...


class Person(Protocol):
    """The one port that asks."""

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        """Ask for an approval: a closed terminal, silence or unknown text is a no. Else for words: empty when there are none.

        Args:
            question: What may be done, or what has to be known.
            why: What it is asked for.
            approval: Whether a yes or no is asked for.
            diff: What is to be approved; the answer holds for it alone.
        """
        ...


class Progress(Protocol):
    """Where a live view listens; it sees every event after it is durable, and can change nothing."""

    def seen(self, recorded: Recorded) -> None:
        """One event was written."""
        ...
