"""A plan run: the one pipeline, whose turns merge what the runs of its units have made."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from surefoot.app import resume, start
from surefoot.assembly import Desk, Driver, Session, Surroundings, Work, drive, policy_of
from surefoot.codec import canonical, digest_of, encode
from surefoot.decisions.assigned import failing_of
from surefoot.decisions.plan_rule import ALL_TESTS
from surefoot.documents import SUMMARY
from surefoot.errors import PlanRefusedError
from surefoot.events.orchestration import Decided, RunOpened
from surefoot.events.plans import ChildEnded
from surefoot.execute.merge import MergeExecutor
from surefoot.gitops.reading import tree_files
from surefoot.gitops.workspace import GitWorkspace
from surefoot.kernel.hold import NotedHold
from surefoot.kernel.ports import Notebook, Routed, RouteRequest
from surefoot.kernel.proof import Prover
from surefoot.kernel.state import RunState
from surefoot.ledger import read_events
from surefoot.plan import judge
from surefoot.planrun.children import Children
from surefoot.planrun.conductor import Conductor, Hands, Shares
from surefoot.planrun.course import Course, adopted, changes, course_of, shares
from surefoot.planrun.hooks import Hooks
from surefoot.planrun.interrupt import Stop
from surefoot.planrun.parts import Parts
from surefoot.planrun.status import trace
from surefoot.plans import Plan, PlannedUnit
from surefoot.project import Project
from surefoot.reading import Outcome, read_story_of
from surefoot.request import Frozen, Request, frozen_of, thaw
from surefoot.values import (
    Audit,
    Issue,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelRequest,
    PlanIR,
    PlanStep,
    RunId,
    StepIntent,
    TestReport,
    Unit,
    UnitId,
)

_BUNDLE: Final = "plan/1"


def run_plan(
    project: Project,
    request: Request,
    around: Surroundings,
    *,
    run_id: RunId | None = None,
    driver: Driver | None = None,
) -> Outcome:
    """Execute the plan of a request, to the run's first stop. Raises as `app.start` and `checked_plan`."""
    request = replace(request, plan=checked_plan(project, request))
    return start(project, request, around, driver=driver or drive_plan, run_id=run_id)


def checked_plan(project: Project, request: Request) -> Plan:
    """The plan of a request, judged on the tree that it would be run on; one without a name gets one.

    What other milestones than the request's touch need not be there: those that are done may have moved it.

    Raises:
        PlanRefusedError: It has not what a plan must have.
    """
    plan = named_plan(request)
    own = {
        s.slice_id
        for s in plan.slices
        if not request.milestones or s.milestone_id in request.milestones
    }
    others = {u.unit_id for u in plan.units if u.slice_id not in own}
    refusals = [
        r
        for r in judge(plan, tree_files(project.repository, project.repository.tree))
        if r.code != "unowned" or r.subject not in others
    ]
    if refusals:
        raise PlanRefusedError(plan.plan_id, tuple(r.message for r in refusals))
    course_of(plan, request.milestones)
    return plan


def named_plan(request: Request) -> Plan:
    """The plan of a request; one without a name is called by its content."""
    plan = request.plan
    assert plan is not None  # noqa: S101  # what makes it a plan run
    return plan if plan.plan_id else replace(plan, plan_id=f"by-hand-{digest_of(plan)[:12]}")


def go_on(
    project: Project,
    run_id: RunId,
    around: Surroundings,
    larger: Request | None = None,
    *,
    driver: Driver | None = None,
) -> Outcome:
    """Take up a run again, of a plan or not. Raises as `app.resume`."""
    ledger = project.ledger_file(run_id)
    begun = ledger.exists() and next(iter(read_events(ledger)), None) is not None
    of_plan = begun and frozen_of(project, run_id).request.plan is not None
    if of_plan and not (project.runs / run_id / SUMMARY).exists():
        # Killed at its end, perhaps: then nothing of it is driven again.
        _write_trace(project, run_id, read_story_of(project, run_id).state)
    chosen = driver or (drive_plan if of_plan else drive)
    return resume(project, run_id, around, larger, driver=chosen)


def _write_trace(project: Project, run_id: RunId, state: RunState) -> None:
    """The trace matrix as it came out, beside the report, which is written after it."""
    plan = frozen_of(project, run_id).request.plan
    if plan is not None:
        (project.runs / run_id / "TRACE.md").write_text(trace(plan, state), "utf-8")


def drive_plan(
    session: Session,
    workspace: GitWorkspace,
    hired: Callable[[Session, Plan, Stop], Hands] = Children,
) -> None:
    """Run until it stops; children that still run by then are interrupted, and taken up by the next process."""
    opened: list[Conductor] = []

    def work(session: Session, workspace: GitWorkspace, desk: Desk) -> Work:
        made, conductor = _work(session, workspace, desk.prover, hired)
        opened.append(conductor)
        return made

    try:
        drive(session, workspace, work)
    finally:
        for conductor in opened:
            conductor.close()
    _write_trace(session.project, session.run_id, session.journal.state)


def _work(
    session: Session,
    workspace: GitWorkspace,
    prover: Prover,
    hired: Callable[[Session, Plan, Stop], Hands],
) -> tuple[Work, Conductor]:
    journal, request = session.journal, session.frozen.request
    assert request.plan is not None  # noqa: S101  # only plan runs are driven here
    course = course_of(request.plan, request.milestones)
    began = _began_with(session)
    if journal.state.plan.adopted is None:
        kept = journal.put(encode(request.plan))
        journal.record(adopted(request.plan, kept, request.milestones, request.jobs))
    now = policy_of(session.project, session.frozen).resolve().ceilings
    first = policy_of(session.project, began).resolve().ceilings
    stop, hooks = Stop(), Hooks(session, workspace)
    conductor = Conductor(
        journal,
        course,
        hired(session, request.plan, stop),
        Parts(session, workspace, prover, course),
        hooks,
        stop=stop,
        shares=Shares(
            reserved=dict(shares(course.units, first)), allowed=dict(shares(course.units, now))
        ),
        ceilings=now,
        jobs=request.jobs,
        seed=journal.state.opened.seed if journal.state.opened else 0,
        nodes=course.nodes(first, hooks.names),
        locked=NotedHold(session.project.lock, journal).reason,
    )

    def work_of(unit_id: UnitId) -> ChildEnded:
        ended = journal.state.plan.attempts(unit_id)[-1].ended
        assert ended is not None  # noqa: S101  # its merge needs its end
        return ended

    made = Work(
        planner=_Planner(course),
        executors={"merge": MergeExecutor(work_of)},
        router=_NoModel(),
        between=conductor.between,
        works_over=False,
    )
    return made, conductor


def _began_with(session: Session) -> Frozen:
    """The settings that the run was started with, whatever it was resumed with since; its graph is made of them."""
    opened = next(session.journal.events()).event
    assert isinstance(opened, RunOpened)  # noqa: S101  # a run begins with it
    return thaw(session.journal.get(opened.settings))


class _Planner:
    """The `Planner` port: the plan's units, each as the merge of its work, in the order of the merges."""

    def __init__(self, course: Course) -> None:
        self._course = course

    def plan(
        self,
        issue: Issue,
        baseline: TestReport,
        audit: Audit,
        files: Sequence[str],
        notebook: Notebook,
        *,
        earlier: Sequence[Unit] = (),
    ) -> tuple[Unit, ...] | str:
        """The units, with those of their tests that fail on the base as targets."""
        del audit, files, earlier
        units = tuple(
            self._unit(unit, issue, baseline) for unit in self._course.units if changes(unit)
        )
        notebook.record(
            Decided(
                decision="planning",
                inputs=notebook.put(encode(self._course.plan)),
                output=notebook.put(canonical({"order": list(self._course.order)})),
                decided_by="rule",
                policy_bundle=_BUNDLE,
            )
        )
        return units or "the plan has no unit that changes anything"

    def _unit(self, unit: PlannedUnit, issue: Issue, baseline: TestReport) -> Unit:
        step = PlanStep(
            step_id="merge",
            description="take over what the unit's run has made",
            intent=StepIntent.MODIFY,
            acceptance=unit.acceptance or ("every proof holds on the merged tree",),
            rollback="the tip before the merge",
        )
        return Unit(
            unit_id=unit.unit_id,
            unit_type=unit.unit_type,
            strategy="merge",
            issue=Issue(source=issue.source, text=unit.title),
            plan=PlanIR(
                analysis=unit.plan.analysis,
                steps=(step,),
                verification=unit.verification or (ALL_TESTS,),
                complexity=unit.plan.complexity,
                confidence=unit.plan.confidence,
                risk_factors=unit.plan.risk_factors,
            ),
            failing=failing_of(unit, baseline),
        )


class _NoModel:
    """The `Router` of merges: no model has a say in them."""

    def route(self, request: RouteRequest) -> Routed:
        """Always the same."""
        del request
        return Routed(asker=_Nobody(), reason="no model is needed to merge")


class _Nobody:
    """The `Asker` that is never asked."""

    model: Final = ""
    context_tokens: Final = 0
    parallel: Final = 1
    native_tools: Final = False
    fills_gaps: Final = False

    def count_tokens(self, messages: Sequence[Message]) -> int:
        """Nothing is read."""
        del messages
        return 0

    def ask(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        """A failure, once a request."""
        told = "a merge asks no model"
        failure = ModelFailure(fault=ModelFault.NOT_FOUND, message=told, model=self.model)
        return (failure,) * len(requests)
