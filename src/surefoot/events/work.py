"""Tools, tests, findings, and what git keeps of a turn."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from surefoot.artifacts import CallFacts, VersionId
from surefoot.events.classes import EventClass, TestPurpose
from surefoot.judgements import Mutant
from surefoot.values import (
    AuditorResult,
    CommitId,
    Digest,
    SandboxLevel,
    TestReport,
    TreeId,
)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class MutantsTried:
    """Lines that the run changed were mutated, and the tests that can reach them met the mutants."""

    event_class: ClassVar[EventClass] = "test"
    kind: Literal["mutants.tried"] = "mutants.tried"
    tree: TreeId
    possible: int
    """Mutants that the changed lines have; those of the same code as another, or as the base, are left out."""
    mutants: tuple[Mutant, ...]
    """Those that were chosen and tried, in the order of the choice."""
    untried: int
    """Chosen and not tried, since the time was up."""
    tests: int
    """Passing tests that can reach the change."""
    apart: tuple[str, ...]
    """New tests that pass on the base too, so that each has to notice a mutant by itself."""
    unread: tuple[str, ...]
    """Changed code in languages that no mutants are made of."""
    problem: str
    """Why nothing, or not everything, was measured; empty otherwise."""
    maker: str
    """What made the mutants; the same maker makes the same ones of the same change."""


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
