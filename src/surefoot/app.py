"""The composition root: settings in, a ready kernel out. The only module that knows every adapter."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from surefoot import __version__
from surefoot.codec import canonical, decode, encode
from surefoot.decisions.planning import RulePlanner, Ways
from surefoot.errors import LockedError, SandboxError, UsageError
from surefoot.events import (
    PolicyWarning,
    RunOpened,
    RunResumed,
    SandboxEnforced,
    SolverPinned,
    TurnClosed,
)
from surefoot.execute import FixerExecutor, RepairExecutor, RepairLimits, can_fix
from surefoot.findings import (
    AUDIT_LIMITS,
    BASELINE_NAME,
    CommandAuditor,
    GamingReviewer,
    Toolchain,
    default_auditors,
    read_baseline,
    run_audit,
    write_sarif,
)
from surefoot.gates import default_gates
from surefoot.gates.model_review import ModelReviewer
from surefoot.gates.requirements import RequirementReviewer
from surefoot.gates.review import RuleReviewer, objection
from surefoot.gitops import (
    GitWorkspace,
    open_workspace,
    publish_ledger_head,
    remove_worktree,
    reopen_workspace,
    tree_checkout,
    tree_diff,
    untracked,
)
from surefoot.kernel import evidence
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import AskerChain, MeteredModel
from surefoot.kernel.noted import NotedModel
from surefoot.kernel.ports import (
    Asker,
    Auditor,
    Clock,
    Ids,
    Model,
    Person,
    Processes,
    Progress,
    Reviewer,
    ReviewInput,
    Router,
    Suite,
    Toolbox,
)
from surefoot.kernel.proof import Prover
from surefoot.kernel.run import Run, RunPorts
from surefoot.kernel.turn import TurnPorts
from surefoot.ledger import FileLedger, read_events, recent_turns
from surefoot.ledger.blobs import BlobStore
from surefoot.lineup import AUTO, Lineup
from surefoot.models.registry import is_local
from surefoot.models.router import PolicyRouter
from surefoot.policy import RulePolicy
from surefoot.policy.judges import PinnedChain
from surefoot.policy.redaction import Redactor
from surefoot.policy.rules import Overrides
from surefoot.project import Project
from surefoot.records import receipt, replay_lines
from surefoot.report import Story, Summary, read_story, render_report, summarise_run
from surefoot.sandbox import open_processes, quick_conformance
from surefoot.settings import Settings
from surefoot.solver import RuleSolver
from surefoot.suite import (
    CommandPlan,
    CommandSuite,
    PytestSuite,
    SuitePlan,
    detect,
    suspicious_source,
)
from surefoot.values import (
    RESUMABLE,
    Audit,
    Diff,
    Finding,
    Issue,
    Limits,
    Mode,
    Profile,
    RunId,
    RunStatus,
    SandboxLevel,
    TreeId,
)
from surefoot.workbench import Workbench

_SUMMARY = "summary.json"
_BURN = 2
"""How much further `burn-max` looks, and how much more it shows; ceilings hold all the same."""
REMEMBERED = 400
"""Earlier turns that routing looks at."""
_AUDIT_OF_ISSUES = ("ruff", "secrets")
"""What is audited before and after when an issue was given; a bare run asks every auditor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the user asks for, beyond the settings file; kept in the ledger for `resume`."""

    issue: Issue
    mode: str | None = None
    model: str | None = None
    base_url: str | None = None
    solver_model: str | None = None
    profile: str | None = None
    strategy: str | None = None
    seed: int | None = None
    max_iterations: int | None = None
    time_s: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    unsandboxed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    """Everything that a run depends on, as stored with it."""

    settings: Settings
    request: Request

    @property
    def mode(self) -> str:
        """As asked; else by what was given (SPEC B1)."""
        asked = self.request.mode or self.settings.run.mode
        bare = self.request.issue.source in ("audit", "sarif")
        return asked or (Mode.AUTO_FIX_SAFE if bare else Mode.AUTO_SOLVE_FULL).value

    @property
    def model(self) -> str:
        """The executor's model."""
        return self.request.model or self.settings.run.model

    @property
    def base_url(self) -> str | None:
        """Where an OpenAI-compatible server listens."""
        return self.request.base_url or self.settings.run.base_url

    @property
    def profile(self) -> Profile:
        """What is preferred among models."""
        return Profile(self.request.profile or self.settings.models.profile)

    @property
    def ways(self) -> Ways:
        """Which strategy works on what: a model that is no weak one works step by step on fixes, too."""
        asked = self.request.strategy or self.settings.run.strategy
        if asked == "auto":
            return Ways(fix="repair" if is_local(self.model) else "agent")
        return Ways(fix="agent" if asked == "agent" else "repair")

    @property
    def overrides(self) -> Overrides:
        """Ceilings that the user set."""
        asked, run = self.request, self.settings.run
        return Overrides(
            max_iterations=asked.max_iterations or run.max_iterations,
            time_s=asked.time_s or run.time_limit_s,
            max_files=run.max_files,
            tokens=asked.tokens or run.budget_tokens,
            cost_usd=asked.cost_usd or run.budget_usd,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the face that calls brings along."""

    clock: Clock
    ids: Ids
    person: Person
    progress: Progress
    environ: Mapping[str, str]
    """The caller's environment: keys for hosted models, VIRTUAL_ENV; secrets in it are redacted everywhere."""
    python: Path
    """The interpreter that runs Surefoot; its tools audit."""
    python_home: tuple[Path, ...]
    """What that interpreter needs to read: its environment's root and its base installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run stands."""

    summary: Summary
    report: str
    status: RunStatus


Metered = Callable[[Model], Asker]
"""Puts a model behind the run's budget and ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cast:
    """Who speaks in a run: the real ones, or those of a tape."""

    router: Callable[[Metered], Router]
    """Chooses who is asked for each turn."""
    judging: PinnedChain
    judges: tuple[Model, ...]
    """Behind the names of `judging`."""
    suite: Callable[[Suite], Suite] = lambda suite: suite
    tools: Callable[[Toolbox], Toolbox] = lambda box: box
    """What stands between a run and its tests, and between an executor and its tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What is opened before anything is written, so that what fails here changes nothing."""

    cast: Cast
    processes: Processes
    fence: str
    """What its conformance probes said."""
    plan: SuitePlan | CommandPlan
    suite: Suite
    auditors: tuple[Auditor, ...]
    baseline: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A run in this process."""

    project: Project
    run_id: RunId
    frozen: Frozen
    parts: Parts
    journal: Journal
    around: Surroundings


def start(project: Project, request: Request, around: Surroundings) -> Outcome:
    """Open a run and drive it to its first stop.

    Raises:
        LockedError: The repository is locked.
        SurefootError: Something is missing; nothing was changed.
    """
    locked = project.lock.reason()
    if locked is not None:
        raise LockedError(f"the repository is locked: {locked}; `surefoot unlock` opens it")
    frozen = Frozen(settings=project.settings, request=request)
    with scratch_folder(project) as scratch:
        run_id = around.ids.run_id(around.clock.now())
        cast = _live(project, frozen, around, turns_before(project, run_id))
        parts = parts_of(project, frozen, around, scratch, cast)
        project.prepare()
        with open_ledger(project, run_id, around) as ledger:
            journal = Journal(ledger, around.clock)
            journal.record(_opened(project, frozen, journal))
            if project.untrusted:
                told = f"{', '.join(project.untrusted)} have no effect until `surefoot trust`"
                journal.record(PolicyWarning(rule="untrusted-settings", what=told))
            with open_workspace(
                project.repository,
                run_id,
                home=project.home,
                carry=untracked(project.repository, project.repository.tree, parts.plan.carry),
            ) as workspace:
                session = Session(
                    project=project,
                    run_id=run_id,
                    frozen=frozen,
                    parts=parts,
                    journal=journal,
                    around=around,
                )
                drive(session, workspace)
            return _finish(project, run_id, journal)


def resume(
    project: Project, run_id: RunId, around: Surroundings, larger: Request | None = None
) -> Outcome:
    """Take up a run that was paused, cancelled, out of budget, or killed; `larger` may raise its ceilings.

    Raises:
        UsageError: The run has ended for good.
    """
    locked = project.lock.reason()
    if locked is not None:
        raise LockedError(f"the repository is locked: {locked}; `surefoot unlock` opens it")
    with open_ledger(project, run_id, around) as ledger:
        journal = Journal(ledger, around.clock)
        opened, status = journal.state.opened, journal.state.status
        if opened is None:
            raise UsageError(f"run {run_id} was killed before it began; `surefoot gc` removes it")
        ending = read_story_of(project, run_id).ending
        if ending:
            raise UsageError(f"run {run_id} was {ending}; start a new one")
        if status is not None and status not in RESUMABLE:
            if not (project.runs / run_id / _SUMMARY).exists():  # killed after its last event
                return _finish(project, run_id, journal)
            raise UsageError(f"run {run_id} ended as {status}; only an unfinished run is resumed")
        frozen = _with_larger(decode(Frozen, journal.get(opened.settings)), larger)
        with scratch_folder(project) as scratch:
            cast = _live(project, frozen, around, turns_before(project, run_id))
            parts = parts_of(project, frozen, around, scratch, cast)
            project.prepare()
            turn = journal.state.turn
            (project.runs / run_id / _SUMMARY).unlink(missing_ok=True)
            journal.record(RunResumed(interrupted_turn=turn.turn_id if turn else None))
            with reopen_workspace(
                project.repository,
                run_id,
                home=project.home,
                carry=untracked(project.repository, opened.base_tree, parts.plan.carry),
                head=journal.state.head_commit or opened.base,
                branch=opened.branch,
            ) as workspace:
                session = Session(
                    project=project,
                    run_id=run_id,
                    frozen=frozen,
                    parts=parts,
                    journal=journal,
                    around=around,
                )
                drive(session, workspace)
            return _finish(project, run_id, journal)


def read_story_of(project: Project, run_id: RunId) -> Story:
    """A run's story, from its ledger alone."""
    return read_story(run_id, tuple(read_events(project.ledger_file(run_id))))


def frozen_of(project: Project, run_id: RunId) -> Frozen:
    """What a run was started with, as its ledger keeps it.

    Raises:
        UsageError: The run has no beginning.
        LedgerError: The blob is missing, or is not what it was.
    """
    opened = _opened_of(read_story_of(project, run_id))
    return decode(Frozen, BlobStore(project.blobs).get(opened.settings))


def look_up(project: Project, run_id: RunId) -> tuple[Story, Diff | None]:
    """A run's story and its diff, from the ledger and the repository alone."""
    story = read_story_of(project, run_id)
    return story, run_diff(project, story)


def run_diff(project: Project, story: Story) -> Diff | None:
    """What the run changed in all; None when its commits are gone (rejected)."""
    opened, tree = story.state.opened, story.state.head_tree
    if opened is None or tree is None:
        return None
    with scratch_folder(project) as scratch:
        return tree_diff(project.repository, opened.base_tree, tree, scratch)


def outcome(project: Project, run_id: RunId) -> Outcome:
    """How a run stands, read anew."""
    story, diff = look_up(project, run_id)
    report = render_report(story, diff)
    folder = project.runs / run_id
    summary = summarise_run(story, diff.paths if diff else (), str(folder / "report.md"))
    return Outcome(summary=summary, report=report, status=RunStatus(summary["status"]))


def audit(project: Project, around: Surroundings, *, unsandboxed: bool = False) -> Audit:
    """Ask every auditor about HEAD, in a scratch checkout; nothing is written into the repository."""
    with scratch_folder(project) as scratch:
        frozen = Frozen(
            settings=project.settings,
            request=Request(issue=Issue(source="audit"), unsandboxed=unsandboxed),
        )
        processes = open_processes(unsandboxed=unsandboxed, scratch=scratch)
        plan, suite = _suite(project, frozen.settings, processes, around, scratch)
        auditors = _auditors(project, frozen, processes, plan, suite, around)
        tree = project.repository.tree
        with tree_checkout(project.repository, tree, scratch) as root:
            return run_audit(auditors, root, baseline=read_baseline(project.root / BASELINE_NAME))


def checked_again(
    project: Project, story: Story, around: Surroundings, journal: Journal, tree: TreeId
) -> str | None:
    """Hold a tree that is not the run's own (replayed, or edited by a hook) against the present tip.

    The tip's tests that pass must pass on it, and so must the tests that the run was about. Returns the refusal.
    """
    frozen = decode(Frozen, journal.get(_opened_of(story).settings))
    with scratch_folder(project) as scratch:
        processes = open_processes(unsandboxed=frozen.request.unsandboxed, scratch=scratch)
        _, suite = _suite(project, frozen.settings, processes, around, scratch)
        with tree_checkout(project.repository, project.repository.tree, scratch) as root:
            before = suite.run(root)
        with tree_checkout(project.repository, tree, scratch) as root:
            after = suite.run(root)
    event = journal.record_tests(tree, "accept", after)
    proof = evidence.base_tests(before, after, (), (event,))
    targets = {t for unit in story.state.units.values() for t in unit.unit.failing}
    lost = sorted(targets - set(after.passing))
    if lost:
        return f"{lost[0]} does not pass there"
    return None if proof.passed else proof.after


def _opened_of(story: Story) -> RunOpened:
    if story.state.opened is None:
        raise UsageError(f"run {story.run_id} has no beginning in its ledger")
    return story.state.opened


# --- wiring --------------------------------------------------------------------------------------


def _live(
    project: Project, frozen: Frozen, around: Surroundings, history: Sequence[TurnClosed]
) -> Cast:
    lineup = lineup_of(project, frozen, around.environ)
    if frozen.model != AUTO:
        lineup.open(frozen.model)  # what it lacks is said before anything is written
    judging = lineup.judging()
    return Cast(
        router=lambda metered: PolicyRouter(
            lineup.routing(history), lambda name: metered(lineup.open(name))
        ),
        judging=judging,
        judges=tuple(lineup.open_judge(name) for name in judging.models),
    )


def parts_of(
    project: Project, frozen: Frozen, around: Surroundings, scratch: Path, cast: Cast
) -> Parts:
    """The sandbox, tried out, and what runs in it."""
    processes = open_processes(unsandboxed=frozen.request.unsandboxed, scratch=scratch)
    fence = _tried(processes, scratch, accepted=frozen.request.unsandboxed)
    plan, suite = _suite(project, frozen.settings, processes, around, scratch)
    return Parts(
        cast=cast,
        processes=processes,
        fence=fence,
        plan=plan,
        suite=cast.suite(suite),
        auditors=_auditors(project, frozen, processes, plan, suite, around),
        baseline=read_baseline(project.root / BASELINE_NAME),
    )


def lineup_of(project: Project, frozen: Frozen, environ: Mapping[str, str]) -> Lineup:
    """The models of a run."""
    return Lineup(
        model=frozen.model,
        base_url=frozen.base_url,
        judges=frozen.request.solver_model or frozen.settings.solver.model,
        profile=frozen.profile,
        settings=frozen.settings.models,
        environ=environ,
        cache=project.places.cache,
    )


def _tried(processes: Processes, scratch: Path, *, accepted: bool) -> str:
    """What the fence's quick conformance says; a fence with a hole is refused for work unless the user accepts none."""
    if processes.level is SandboxLevel.NONE:
        return "no fence"
    results = quick_conformance(processes, scratch)
    holes = "; ".join(f"{r.name}: {r.detail}" for r in results if not r.refused)
    if holes and not accepted:
        raise SandboxError(
            f"the sandbox {processes.level} lets something through ({holes}); `surefoot doctor` tells more; "
            "mend it, or pass --unsandboxed to go on with it as it is"
        )
    refused = sum(r.refused for r in results)
    return f"{refused} of {len(results)} escapes refused" + (f"; {holes}" if holes else "")


def _suite(
    project: Project,
    settings: Settings,
    processes: Processes,
    around: Surroundings,
    scratch: Path,
) -> tuple[SuitePlan | CommandPlan, Suite]:
    test = settings.test
    plan = detect(
        project.root,
        python=test.python,
        command=test.command,
        environ=around.environ,
        report=test.format,
    )
    limits = Limits(wall_s=test.timeout_s, memory_bytes=test.memory_mb * 1024**2)
    given = {"original": project.root, "scratch": scratch}
    if isinstance(plan, CommandPlan):
        return plan, CommandSuite(plan, processes, **given, limits=limits)
    return plan, PytestSuite(plan, processes, **given, limits=limits)


def _auditors(
    project: Project,
    frozen: Frozen,
    processes: Processes,
    plan: SuitePlan | CommandPlan,
    suite: Suite,
    around: Surroundings,
) -> tuple[Auditor, ...]:
    settings = frozen.settings.audit
    toolchain = _toolchain(around, settings.timeout_s)
    bare = frozen.request.issue.source in ("audit", "sarif")
    extra = tuple(
        CommandAuditor(
            processes,
            name=c.name,
            argv=c.argv,
            limits=replace(AUDIT_LIMITS, wall_s=settings.timeout_s),
        )
        for c in settings.commands
    )
    everyone = default_auditors(
        processes,
        toolchain,
        project.root,
        suite=suite if bare else None,
        project_python=plan.python if isinstance(plan, SuitePlan) else None,
        extra=extra,
    )
    wanted = settings.tools or (None if bare else _AUDIT_OF_ISSUES)
    return everyone if wanted is None else tuple(a for a in everyone if a.tool in wanted)


def _toolchain(around: Surroundings, timeout_s: float) -> Toolchain:
    return Toolchain(
        python=around.python,
        reads=around.python_home,
        limits=replace(AUDIT_LIMITS, wall_s=timeout_s),
    )


def drive(session: Session, workspace: GitWorkspace) -> None:
    """Run until it stops; the stop is in the ledger."""
    project, frozen, parts = session.project, session.frozen, session.parts
    journal, around = session.journal, session.around
    level = parts.processes.level
    journal.record(SandboxEnforced(level=level, detail=parts.fence))
    policy = _policy(project, frozen)
    ceilings = policy.resolve().ceilings
    patience_s = frozen.settings.models.patience_s
    redact = _redactor(around)

    def metered(model: Model) -> MeteredModel:
        return MeteredModel(
            NotedModel(model, journal),
            journal,
            ceilings,
            around.clock,
            patience_s=patience_s,
            redact=redact,
        )

    judging = parts.cast.judging
    if journal.state.solver != judging.models:
        journal.record(SolverPinned(chain=judging.models, reason=judging.reason))
    judges = AskerChain([metered(judge) for judge in parts.cast.judges], journal)
    prover = Prover(
        journal=journal,
        workspace=workspace,
        suite=parts.suite,
        audit=lambda root: run_audit(parts.auditors, root, baseline=parts.baseline),
        risk_flags=policy.resolve().risk_flags,
    )
    turn = TurnPorts(
        journal=journal,
        workspace=workspace,
        prover=prover,
        executors={
            "agent": Workbench(
                processes=parts.processes,
                plan=parts.plan,
                suite=parts.suite,
                cache=project.places.cache,
                original=project.root,
                environ=around.environ,
                servers=frozen.settings.tools.mcp,
                warn=lambda told: journal.record(PolicyWarning(rule="tool-server", what=told)),
                person=around.person,
                clock=around.clock,
                tools=parts.cast.tools,
            ).agent(workspace),
            "repair": RepairExecutor(parts.suite, _repair_limits(frozen), ceilings.max_files),
            "fixer": FixerExecutor(
                parts.processes,
                parts.auditors,
                toolchain=_toolchain(around, frozen.settings.audit.timeout_s),
                suite=parts.suite,
                max_files=ceilings.max_files,
            ),
        },
        solver=RuleSolver(),
        solver_asker=judges,
        gates=default_gates(),
        policy=policy,
        clock=around.clock,
        sandbox=level,
        unsandboxed_allowed=frozen.request.unsandboxed,
    )
    ports = RunPorts(
        turn=turn,
        planner=RulePlanner(can_fix, frozen.ways),
        reviewers=_reviewers(frozen, judges, journal),
        person=around.person,
        router=parts.cast.router(metered),
    )
    Run(ports).run()


def _runner_touched(seen: ReviewInput) -> Sequence[Finding]:
    """Product code that reaches for the machinery of tests; what it could forge no run can show."""
    return [
        objection("runner-touched", path, told)
        for path, (before, after) in sorted(seen.contents.items())
        if after is not None and path not in seen.test_paths
        for told in suspicious_source(path, before, after)
    ]


def _finish(project: Project, run_id: RunId, journal: Journal) -> Outcome:
    """Write report, findings and summary; a run that has ended for good gives its worktree back.

    The summary comes last and whole: where it is missing, a kill came before it, and `resume` does this again.
    """
    publish_ledger_head(project.repository, run_id, journal.head)
    result = outcome(project, run_id)
    folder = project.runs / run_id
    (folder / "report.md").write_text(result.report)
    _write_records(project, run_id, folder)
    head = journal.state.head_tree
    if head is not None and head in journal.state.audits:
        audited = journal.state.audits[head].audit
        (folder / "findings.sarif").write_bytes(write_sarif(audited))
    if result.status not in RESUMABLE:
        remove_worktree(project.repository, run_id, home=project.home)
    unfinished = folder / f"{_SUMMARY}.new"
    unfinished.write_bytes(encode(result.summary) + b"\n")
    unfinished.replace(folder / _SUMMARY)
    return result


def _write_records(project: Project, run_id: RunId, folder: Path) -> None:
    """The receipt, and the run as lines for a viewer."""
    events = tuple(read_events(project.ledger_file(run_id)))
    (folder / "RECEIPT.json").write_bytes(canonical(receipt(events)) + b"\n")
    lines = b"".join(canonical(line) + b"\n" for line in replay_lines(events))
    (folder / "REPLAY.jsonl").write_bytes(lines)


def turns_before(project: Project, run_id: RunId) -> tuple[TurnClosed, ...]:
    """Turns of runs before this one, so that a resumed run sees what it saw at first."""
    earlier = [r for r in reversed(project.run_ids()) if r < run_id]
    return recent_turns((project.ledger_file(r) for r in earlier), most=REMEMBERED)


def _policy(project: Project, frozen: Frozen) -> RulePolicy:
    return RulePolicy(
        mode=frozen.mode,
        flags=frozen.settings.risk.model_dump(),
        overrides=frozen.overrides,
        lock=project.lock,
    )


def _reviewers(frozen: Frozen, judges: Asker, journal: Journal) -> tuple[Reviewer, ...]:
    rules = (
        RuleReviewer((_runner_touched,)),
        GamingReviewer(),
        RequirementReviewer(judges, journal),
    )
    if frozen.profile is Profile.BURN_MAX:
        return (*rules, ModelReviewer(judges, journal))
    return rules


def _repair_limits(frozen: Frozen) -> RepairLimits:
    limits = RepairLimits()
    if frozen.profile is Profile.BURN_MAX:
        limits = limits.widened(_BURN)
    own = frozen.settings.repair
    if own.max_candidates is not None:
        limits = replace(limits, candidates=own.max_candidates)
    if own.max_samples is not None:
        limits = replace(limits, samples=own.max_samples)
    return limits


def _opened(project: Project, frozen: Frozen, journal: Journal) -> RunOpened:
    repository = project.repository
    return RunOpened(
        issue=frozen.request.issue,
        mode=frozen.mode,
        model=frozen.model,
        repo=str(project.root),
        branch=repository.branch,
        base=repository.head,
        base_tree=TreeId(repository.tree),
        settings=journal.put(encode(frozen)),
        seed=frozen.request.seed if frozen.request.seed is not None else frozen.settings.run.seed,
        version=__version__,
    )


def _with_larger(frozen: Frozen, larger: Request | None) -> Frozen:
    if larger is None:
        return frozen
    names = ("max_iterations", "time_s", "cost_usd", "tokens")
    changes = {n: getattr(larger, n) for n in names if getattr(larger, n) is not None}
    return replace(frozen, request=replace(frozen.request, **changes))


@contextmanager
def open_ledger(project: Project, run_id: RunId, around: Surroundings) -> Iterator[FileLedger]:
    """A run's ledger, taken for this process; secrets of the environment never reach it."""
    ledger = FileLedger.open(
        project.ledger_file(run_id),
        blobs=project.blobs,
        trace_id=run_id,
        clock=around.clock,
        redact=_redactor(around),
        progress=around.progress,
    )
    try:
        yield ledger
    finally:
        ledger.close()


def _redactor(around: Surroundings) -> Redactor:
    """What hides secrets, the environment's own among them, from ledger and prompts."""
    return Redactor(v for k, v in around.environ.items() if _is_secret_name(k))


def _is_secret_name(name: str) -> bool:
    return name.upper().endswith(("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"))


@contextmanager
def scratch_folder(project: Project) -> Iterator[Path]:
    """A folder for short-lived files, outside the checkout, gone afterwards."""
    with ExitStack() as stack:
        place = project.places.state / "scratch"
        place.mkdir(parents=True, exist_ok=True)
        yield Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place, prefix="run-")))
