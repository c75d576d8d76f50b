"""A run put together: what the user asks for and the settings, with every adapter in its place, driven to a stop."""

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from surefoot.decisions.assigned import AssignedPlanner
from surefoot.decisions.planning import RulePlanner, kind_of
from surefoot.decisions.roundtable import jurors_of
from surefoot.decisions.signature import MEND
from surefoot.errors import ModelUnavailableError, SandboxError, SettingsError, UsageError
from surefoot.events.calls import SolverPinned
from surefoot.events.orchestration import TurnClosed
from surefoot.events.policy import PolicyDenied, PolicyWarning, SandboxEnforced
from surefoot.execute import (
    FixerExecutor,
    PythonMutator,
    RepairExecutor,
    RepairLimits,
    Strengthener,
    Weights,
    can_fix,
)
from surefoot.execute.example_tests import ExampleWriter
from surefoot.findings import (
    AUDIT_LIMITS,
    BASELINE_NAME,
    CommandAuditor,
    GamingReviewer,
    TestsAuditor,
    Toolchain,
    default_auditors,
    read_baseline,
    run_audit,
)
from surefoot.gates import default_gates
from surefoot.gates.assigned import PromisedTests
from surefoot.gates.model_review import ModelReviewer
from surefoot.gates.requirements import RequirementReviewer
from surefoot.gates.review import RuleReviewer, objection
from surefoot.gitops.push import push_branch
from surefoot.gitops.workspace import GitWorkspace
from surefoot.kernel.asking import Remembering
from surefoot.kernel.calls import by_model
from surefoot.kernel.hold import Hold, NotedHold
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
    Planner,
    Processes,
    Progress,
    Reviewer,
    ReviewInput,
    Router,
    Shelf,
    Suite,
    Toolbox,
)
from surefoot.kernel.promotion import session_of
from surefoot.kernel.proof import Prover
from surefoot.kernel.run import Run, RunPorts, Step
from surefoot.kernel.state import UnitState
from surefoot.kernel.strength import Meter
from surefoot.kernel.turn import Publisher, Push, TurnPorts
from surefoot.ledger import FileLedger, recent_calls, recent_turns
from surefoot.lineup import Lineup
from surefoot.models.registry import AUTO, check_address
from surefoot.models.router import PolicyRouter
from surefoot.people import Nobody, Quiet
from surefoot.policy.judges import PinnedChain
from surefoot.policy.rules import RulePolicy
from surefoot.preflight import SyntaxCritic
from surefoot.project import Project, plan_run_of
from surefoot.request import Frozen
from surefoot.sandbox import FencedProcesses, open_processes, quick_conformance
from surefoot.settings import ISSUE_AUDITORS, Settings, TestSettings
from surefoot.shelf import RepositoryShelf, ToolPlaces
from surefoot.solver import RuleSolver
from surefoot.suite import (
    CommandPlan,
    CommandSuite,
    PytestSuite,
    SuitePlan,
    ToldSuite,
    detect,
    suspicious_source,
)
from surefoot.system import RandomIds, SystemClock
from surefoot.upkeep import Lifecycle, redactor_of
from surefoot.values import (
    CallRecord,
    Ceilings,
    Finding,
    Limits,
    Mode,
    Profile,
    RunId,
    SandboxLevel,
    TreeId,
    UnitType,
)
from surefoot.workbench import Forging, Workbench

_BURN = 2
"""How much further `burn-max` looks; ceilings hold all the same."""
REMEMBERED = 400
"""Earlier turns that routing looks at, and earlier replies that had to be tool calls."""


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
    models: Callable[[Model], Model] = lambda model: model
    processes: Callable[[FencedProcesses], Processes] = lambda processes: processes
    """What stands between a run and each model that it asks, and between it and its commands."""

    @classmethod
    def real(
        cls,
        environ: Mapping[str, str],
        person: Person | None = None,
        progress: Progress | None = None,
    ) -> "Surroundings":
        """The real clock and ids, and the interpreter that runs this.

        `person` is asked what a run needs a person for; without one every answer is a no. `progress` sees every event.
        """
        return cls(
            clock=SystemClock(),
            ids=RandomIds(),
            person=person or Nobody(),
            progress=progress or Quiet(),
            environ=dict(environ),
            python=Path(sys.executable),
            python_home=tuple({Path(sys.prefix), Path(sys.base_prefix)}),
        )


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
    push: Push | None = None
    """How a branch is pushed; None: onto the remote."""
    system: str | None = None
    sandbox: SandboxLevel | None = None
    """What the model is told of the place of work; None: as it is."""
    shelf: Shelf | None = None
    """Forged tools; None: those of the repository."""
    cut_at: Callable[[TreeId], int | None] = lambda _tree: None
    """As in `Meter`."""
    lock: Hold | None = None
    """What may stop it; None: the repository's lock."""


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
    lifecycle: Lifecycle | None = None
    """Of what the repository's runs forged; None in a replay, which goes by its record."""


def live_cast(project: Project, frozen: Frozen, around: Surroundings, run_id: RunId) -> Cast:
    """Models by the settings and the keys of this environment; what is lacking is an error before anything is written."""
    kind = kind_of(frozen.request.issue)
    way = frozen.ways.fix if kind is UnitType.FIX else frozen.ways.change
    if way == "agent" and find_spec("dspy") is None:
        raise ModelUnavailableError(
            f"working step by step needs DSPy; {MEND}, or --strategy repair"
        )
    history = turns_before(project, run_id)
    lineup = lineup_of(project, frozen, around.environ, calls_before(project, run_id))
    bare = frozen.request.issue.source in ("audit", "sarif") and frozen.mode == Mode.AUTO_FIX_SAFE
    if frozen.model != AUTO and not bare:
        lineup.open(frozen.model)  # what it lacks is said before anything is written
    # Mending without a model goes on without one; a turn that asks it after all is told what it lacks.
    opened = lineup.open_judge if bare else lineup.open
    judging = lineup.judging()
    return Cast(
        router=lambda metered: PolicyRouter(
            lineup.routing(history), lambda name: metered(around.models(opened(name)))
        ),
        judging=judging,
        judges=tuple(around.models(lineup.open_judge(name)) for name in judging.models),
    )


def parts_of(
    project: Project, frozen: Frozen, around: Surroundings, scratch: Path, cast: Cast
) -> Parts:
    """The sandbox, tried out, and what runs in it."""
    fenced = open_processes(unsandboxed=frozen.request.unsandboxed, scratch=scratch)
    processes = around.processes(fenced)
    fence = tried_fence(processes, scratch, accepted=frozen.request.unsandboxed)
    plan, suite = suite_of(project, frozen.settings, processes, around, scratch)
    return Parts(
        cast=cast,
        processes=processes,
        fence=fence,
        plan=plan,
        suite=cast.suite(suite),
        auditors=auditors_of(project, frozen, processes, plan, TestsAuditor(suite), around),
        baseline=read_baseline(project.root / BASELINE_NAME),
    )


def lineup_of(
    project: Project,
    frozen: Frozen,
    environ: Mapping[str, str],
    calls: Mapping[str, CallRecord] | None = None,
) -> Lineup:
    """The models of a run; `calls` are those of earlier runs.

    Raises:
        UsageError: An address was asked for, and the model is asked at none.
    """
    check_address(frozen.model, frozen.request.base_url)
    return Lineup(
        model=frozen.model,
        base_url=frozen.base_url,
        judges=frozen.request.solver_model or frozen.settings.solver.model,
        profile=frozen.profile,
        settings=frozen.settings.models,
        environ=environ,
        cache=project.places.cache,
        calls=calls or {},
    )


def tried_fence(processes: Processes, scratch: Path, *, accepted: bool) -> str:
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


def asked_for(project: Project, frozen: Frozen) -> Frozen:
    """What a run was started with, to be run once more: of somebody else's run nothing that he alone has asked for.

    Raises:
        UsageError: A bundle's settings say what is run.
    """
    if not project.foreign:
        return frozen
    if told := frozen.settings.running():
        raise UsageError(
            f"the bundle's settings say what would be run here, or what it is given: {'; '.join(told)}; "
            "give --trust if that is what you want"
        )
    return replace(frozen, request=replace(frozen.request, unsandboxed=False))


def tried_processes(scratch: Path, *, unsandboxed: bool) -> FencedProcesses:
    """The sandbox, tried out; for work of which no run's ledger tells.

    Raises:
        SandboxError: There is none, or it lets something through.
    """
    processes = open_processes(unsandboxed=unsandboxed, scratch=scratch)
    tried_fence(processes, scratch, accepted=unsandboxed)
    return processes


def limits_of(test: TestSettings) -> Limits:
    """What one run of the tests may use; a process with a thread for each core may compute all the time."""
    cores = len(os.sched_getaffinity(0))
    return Limits(
        wall_s=test.timeout_s,
        cpu_s=math.ceil(test.timeout_s * cores),
        memory_bytes=test.memory_mb * 1024**2,
    )


def plan_of(
    project: Project, test: TestSettings, environ: Mapping[str, str]
) -> SuitePlan | CommandPlan:
    """How the project's tests are run, by settings of it. Raises as `detect`."""
    return detect(
        project.root,
        python=test.python,
        command=test.command,
        environ=environ,
        is_tracked=project.repository.is_tracked,
        report=test.format,
        env_names=test.env_names,
    )


def suite_of(
    project: Project,
    settings: Settings,
    processes: Processes,
    around: Surroundings,
    scratch: Path,
) -> tuple[SuitePlan | CommandPlan, Suite]:
    """How the project tests itself."""
    test = settings.test
    plan = plan_of(project, test, around.environ)
    limits = limits_of(test)
    given = {"original": project.root, "scratch": scratch}
    redact = redactor_of(project, around.environ)
    if isinstance(plan, CommandPlan):
        return plan, ToldSuite(CommandSuite(plan, processes, **given, limits=limits), redact)
    return plan, ToldSuite(PytestSuite(plan, processes, **given, limits=limits), redact)


def auditors_of(
    project: Project,
    frozen: Frozen,
    processes: Processes,
    plan: SuitePlan | CommandPlan | None,
    tests: Auditor | None,
    around: Surroundings,
) -> tuple[Auditor, ...]:
    """Who is asked before and after; `tests` is one of them where no issue was given.

    Raises:
        SettingsError: None that the settings ask for fits the project.
    """
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
        tests=tests if bare else None,
        project_python=plan.python if isinstance(plan, SuitePlan) else None,
        extra=extra,
    )
    wanted = settings.tools or (None if bare else ISSUE_AUDITORS)
    if wanted is None:
        return everyone
    chosen = tuple(a for a in everyone if a.tool in wanted)
    # With an issue it is the run's own tests that decide, and who looks beside them may have nothing to look at.
    if bare and not chosen:
        raise SettingsError(
            f"no auditor of audit.tools ({', '.join(wanted)}) fits this project, so nothing would be looked at; "
            f"there are {', '.join(a.tool for a in everyone)}"
        )
    return chosen


def _toolchain(around: Surroundings, timeout_s: float) -> Toolchain:
    return Toolchain(
        python=around.python,
        reads=around.python_home,
        limits=replace(AUDIT_LIMITS, wall_s=timeout_s),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Who does the work of a run, and by which plan."""

    planner: Planner
    executors: Mapping[str, Executor]
    router: Router
    between: Callable[[UnitState | None], Step | None] = lambda _unit: None
    works_over: bool = True
    """As in `RunPorts`."""


Driver = Callable[[Session, GitWorkspace], None]
"""Drives a run to its next stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What a run that is driven already has, for those who do its work."""

    prover: Prover
    metered: Metered
    judges: Asker


def own_work(session: Session, workspace: GitWorkspace, desk: Desk) -> Work:
    """A run that does its work itself."""
    frozen = session.frozen
    assignment = frozen.request.assignment
    return Work(
        planner=RulePlanner(can_fix, frozen.ways)
        if assignment is None
        else AssignedPlanner(assignment.unit, frozen.ways),
        executors=_executors(session, workspace, desk.judges),
        router=session.parts.cast.router(desk.metered),
    )


def drive(
    session: Session,
    workspace: GitWorkspace,
    given: Callable[[Session, GitWorkspace, Desk], Work] = own_work,
) -> None:
    """Run until it stops; the stop is in the ledger."""
    project, frozen, parts = session.project, session.frozen, session.parts
    journal, around = session.journal, session.around
    person = Remembering(around.person, journal)
    session = replace(session, around=replace(around, person=person))
    level = parts.processes.level
    journal.record(SandboxEnforced(level=level, detail=parts.fence))
    policy = policy_of(project, frozen, NotedHold(parts.cast.lock or project.lock, journal))
    ceilings = policy.resolve().ceilings
    metered = metering(project, frozen, journal, ceilings, around)
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
        strict=frozen.strict,
        meter=_meter(session, ceilings),
        examples=ExampleWriter(trees=workspace, suite=parts.suite),
    )
    work = given(session, workspace, Desk(prover=prover, metered=metered, judges=judges))
    turn = TurnPorts(
        journal=journal,
        workspace=workspace,
        prover=prover,
        executors=work.executors,
        solver=RuleSolver(frozen.settings.solver.noop_characters),
        solver_asker=judges,
        gates=default_gates(),
        policy=policy,
        person=person,
        clock=around.clock,
        sandbox=level,
        unsandboxed_allowed=frozen.request.unsandboxed,
        publisher=publisher_of(
            frozen,
            journal,
            parts.cast.push or (lambda c: push_branch(project.repository, session.run_id, c)),
        ),
        readers=_readers(),
    )
    ports = RunPorts(
        turn=turn,
        planner=work.planner,
        critic=SyntaxCritic(parts.suite.is_test_path),
        reviewers=_reviewers(frozen, judges, journal),
        router=work.router,
        between=work.between,
        works_over=work.works_over,
        asks=frozen.request.assignment is None,
    )
    Run(ports).run()


def _meter(session: Session, ceilings: Ceilings) -> Meter | None:
    """What measures the strength of the tests, within the run's time."""
    frozen, parts, journal = session.frozen, session.parts, session.journal
    if frozen.mutants is None:
        return None
    return Meter(
        mutator=PythonMutator(),
        suite=parts.suite,
        clock=session.around.clock,
        left_s=lambda: ceilings.time_s - journal.spend().time_s,
        cut_at=parts.cast.cut_at,
        most=frozen.mutants,
        time_s=frozen.settings.test.mutants_s * frozen.mutated,
    )


def metering(
    project: Project, frozen: Frozen, journal: Journal, ceilings: Ceilings, around: Surroundings
) -> Metered:
    """What puts a model behind a run's budget and ledger."""
    patience_s = frozen.settings.models.patience_s
    redact = redactor_of(project, around.environ)

    def metered(model: Model) -> MeteredModel:
        return MeteredModel(
            NotedModel(model, journal),
            journal,
            ceilings,
            around.clock,
            patience_s=patience_s,
            redact=redact,
        )

    return metered


def publisher_of(frozen: Frozen, journal: Journal, push: Push) -> Publisher | None:
    """The push of the run's branch, where the settings ask for it and the network may be used."""
    when = frozen.settings.git.turn_push
    if when == "never":
        return None
    if not frozen.settings.risk.allow_network:
        told = f"turn_push = {when} has no effect without the risk flag allow_network"
        journal.record(PolicyDenied(rule="allow_network", what=told))
        return None
    return Publisher(push=push, every_turn=when == "always")


def _executors(session: Session, workspace: GitWorkspace, judges: Asker) -> dict[str, Executor]:
    """The strategies by name."""
    project, frozen, parts = session.project, session.frozen, session.parts
    journal, around = session.journal, session.around
    resolution = policy_of(project, frozen).resolve()
    max_files = resolution.ceilings.max_files
    return {
        "agent": Strengthener(
            Workbench(
                processes=parts.processes,
                plan=parts.plan,
                suite=parts.suite,
                cache=project.places.cache,
                original=project.root,
                environ=around.environ,
                servers=frozen.settings.tools.mcp,
                languages=frozen.settings.tools.lsp,
                system=parts.cast.system,
                sandbox=parts.cast.sandbox,
                warn=lambda told: journal.record(PolicyWarning(rule="tool-server", what=told)),
                person=around.person,
                clock=around.clock,
                redact=redactor_of(project, around.environ),
                tools=parts.cast.tools,
                forging=_forging(session),
                capture=frozen.settings.tools.capture,
            ).agent(workspace),
            parts.suite,
            goes_on=True,
        ),
        "repair": Strengthener(
            RepairExecutor(parts.suite, _repair_limits(frozen), max_files),
            parts.suite,
            goes_on=False,
        ),
        "fixer": FixerExecutor(
            parts.processes,
            parts.auditors,
            toolchain=_toolchain(around, frozen.settings.audit.timeout_s),
            suite=parts.suite,
            max_files=max_files,
            weights=Weights(**frozen.settings.score.model_dump()),
            jurors=jurors_of(resolution.mode, judges, journal),
        ),
    }


def _forging(session: Session) -> Forging | None:
    """What the agent writes tools with, and finds those that runs of this repository wrote."""
    shelf, life = session.parts.cast.shelf, session.lifecycle
    if shelf is None and life is not None:
        places = ToolPlaces(root=session.project.folder / "toolbox")
        shelf = RepositoryShelf(places, life.registry, life.rollout)
    if shelf is None or not session.frozen.settings.tools.forge:
        return None
    return Forging(
        shelf=shelf,
        notebook=session.journal,
        python=session.around.python,
        session=session_of(session.frozen.request.issue),
    )


def _runner_touched(seen: ReviewInput) -> Sequence[Finding]:
    """Product code that reaches for the machinery of tests; what it could forge no run can show."""
    gone = {f.path for f in seen.diff.files if f.status == "D"}
    return [
        objection("runner-touched", path, told)
        for path, (before, after) in sorted(seen.contents.items())
        if path not in gone and path not in seen.test_paths
        for told in suspicious_source(path, before, after)
    ]


def turns_before(project: Project, run_id: RunId) -> tuple[TurnClosed, ...]:
    """Turns of runs before this one, so that a resumed run sees what it saw at first."""
    return recent_turns(_ledgers_before(project, run_id), most=REMEMBERED)


def calls_before(project: Project, run_id: RunId) -> Mapping[str, CallRecord]:
    """By model, what came of the tool calls of runs before this one."""
    return by_model(recent_calls(_ledgers_before(project, run_id), most=REMEMBERED))


def _ledgers_before(project: Project, run_id: RunId) -> Iterator[Path]:
    # Runs beside this one, of the same plan, are left out: which of them is done is a matter of chance.
    earlier = (r for r in reversed(project.run_ids()) if r < plan_run_of(run_id))
    return (project.ledger_file(r) for r in earlier)


def policy_of(project: Project, frozen: Frozen, lock: Hold | None = None) -> RulePolicy:
    """What may happen, by the mode, the flags and the ceilings of a run; `lock` instead of the repository's own."""
    return rules_of(frozen, lock or project.lock)


def rules_of(frozen: Frozen, lock: Hold) -> RulePolicy:
    """The same, of settings alone."""
    return RulePolicy(
        mode=frozen.mode,
        flags=frozen.settings.risk.model_dump(),
        overrides=frozen.overrides,
        lock=lock,
    )


def rule_reviewers() -> tuple[Reviewer, ...]:
    """Those that look with rules alone; they are asked first, and say the same of the same change."""
    return (RuleReviewer((_runner_touched,)), *_readers())


def _readers() -> tuple[Reviewer, ...]:
    """Those of them that need nothing but the change; an executor hears them while it can still mend it."""
    return (GamingReviewer(),)


def _reviewers(frozen: Frozen, judges: Asker, journal: Journal) -> tuple[Reviewer, ...]:
    rules: tuple[Reviewer, ...] = (*rule_reviewers(), RequirementReviewer(judges, journal))
    if frozen.request.assignment is not None:
        rules += (PromisedTests(frozen.request.assignment.unit),)
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
        redact=redactor_of(project, around.environ),
        progress=around.progress,
    )
    try:
        yield ledger
    finally:
        ledger.close()
