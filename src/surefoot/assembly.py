"""A run put together: what the user asks for and the settings, with every adapter in its place, driven to a stop."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from surefoot.decisions.planning import RulePlanner, Ways, kind_of
from surefoot.decisions.signature import MEND
from surefoot.errors import ModelUnavailableError, SandboxError
from surefoot.events import (
    PolicyWarning,
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
)
from surefoot.gates import default_gates
from surefoot.gates.model_review import ModelReviewer
from surefoot.gates.requirements import RequirementReviewer
from surefoot.gates.review import RuleReviewer, objection
from surefoot.gitops import (
    GitWorkspace,
)
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import AskerChain, MeteredModel
from surefoot.kernel.noted import NotedModel
from surefoot.kernel.ports import (
    Asker,
    Auditor,
    Clock,
    Executor,
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
from surefoot.ledger import FileLedger, recent_turns
from surefoot.lineup import AUTO, Lineup
from surefoot.models.registry import is_local
from surefoot.models.router import PolicyRouter
from surefoot.policy import RulePolicy
from surefoot.policy.judges import PinnedChain
from surefoot.policy.redaction import Redactor
from surefoot.policy.rules import Overrides
from surefoot.project import Project
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
    Finding,
    Issue,
    Limits,
    Mode,
    Profile,
    RunId,
    SandboxLevel,
    UnitType,
)
from surefoot.workbench import Workbench

_BURN = 2
"""How much further `burn-max` looks; ceilings hold all the same."""
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
    system: str | None = None
    sandbox: SandboxLevel | None = None
    """What the model is told of the place of work; None: as it is."""


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


def live_cast(
    project: Project, frozen: Frozen, around: Surroundings, history: Sequence[TurnClosed]
) -> Cast:
    """Models by the settings and the keys of this environment; what is lacking is an error before anything is written."""
    kind = kind_of(frozen.request.issue)
    way = frozen.ways.fix if kind is UnitType.FIX else frozen.ways.change
    if way == "agent" and find_spec("dspy") is None:
        raise ModelUnavailableError(
            f"working step by step needs DSPy; {MEND}, or --strategy repair"
        )
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
    plan, suite = suite_of(project, frozen.settings, processes, around, scratch)
    return Parts(
        cast=cast,
        processes=processes,
        fence=fence,
        plan=plan,
        suite=cast.suite(suite),
        auditors=auditors_of(project, frozen, processes, plan, suite, around),
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


def suite_of(
    project: Project,
    settings: Settings,
    processes: Processes,
    around: Surroundings,
    scratch: Path,
) -> tuple[SuitePlan | CommandPlan, Suite]:
    """How the project tests itself."""
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


def auditors_of(
    project: Project,
    frozen: Frozen,
    processes: Processes,
    plan: SuitePlan | CommandPlan,
    suite: Suite,
    around: Surroundings,
) -> tuple[Auditor, ...]:
    """Who is asked before and after."""
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
    redact = redactor_of(project, around)

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
        executors=_executors(session, workspace),
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


def _executors(session: Session, workspace: GitWorkspace) -> dict[str, Executor]:
    """The strategies by name."""
    project, frozen, parts = session.project, session.frozen, session.parts
    journal, around = session.journal, session.around
    max_files = _policy(project, frozen).resolve().ceilings.max_files
    return {
        "agent": Workbench(
            processes=parts.processes,
            plan=parts.plan,
            suite=parts.suite,
            cache=project.places.cache,
            original=project.root,
            environ=around.environ,
            servers=frozen.settings.tools.mcp,
            system=parts.cast.system,
            sandbox=parts.cast.sandbox,
            warn=lambda told: journal.record(PolicyWarning(rule="tool-server", what=told)),
            person=around.person,
            clock=around.clock,
            tools=parts.cast.tools,
        ).agent(workspace),
        "repair": RepairExecutor(parts.suite, _repair_limits(frozen), max_files),
        "fixer": FixerExecutor(
            parts.processes,
            parts.auditors,
            toolchain=_toolchain(around, frozen.settings.audit.timeout_s),
            suite=parts.suite,
            max_files=max_files,
        ),
    }


def _runner_touched(seen: ReviewInput) -> Sequence[Finding]:
    """Product code that reaches for the machinery of tests; what it could forge no run can show."""
    return [
        objection("runner-touched", path, told)
        for path, (before, after) in sorted(seen.contents.items())
        if after is not None and path not in seen.test_paths
        for told in suspicious_source(path, before, after)
    ]


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


@contextmanager
def open_ledger(project: Project, run_id: RunId, around: Surroundings) -> Iterator[FileLedger]:
    """A run's ledger, taken for this process; secrets of the environment never reach it."""
    ledger = FileLedger.open(
        project.ledger_file(run_id),
        blobs=project.blobs,
        trace_id=run_id,
        clock=around.clock,
        redact=redactor_of(project, around),
        progress=around.progress,
    )
    try:
        yield ledger
    finally:
        ledger.close()


def redactor_of(project: Project, around: Surroundings) -> Redactor:
    """What hides secrets from ledger and prompts: the environment's own, and what tool servers are given of it."""
    given = {name for server in project.settings.tools.mcp for name in server.env_names}
    return Redactor(v for k, v in around.environ.items() if k in given or _is_secret_name(k))


def _is_secret_name(name: str) -> bool:
    return name.upper().endswith(("_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_CREDENTIALS"))


@contextmanager
def scratch_folder(project: Project) -> Iterator[Path]:
    """A folder for short-lived files, outside the checkout, gone afterwards."""
    with ExitStack() as stack:
        place = project.places.state / "scratch"
        place.mkdir(parents=True, exist_ok=True)
        yield Path(stack.enter_context(tempfile.TemporaryDirectory(dir=place, prefix="run-")))
