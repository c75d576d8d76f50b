"""`surefoot plan`: discover, clarify, research, draft, compile, gate; with a ledger of its own, and documents at the end.

Each phase does its work and returns a trigger with a reason; the run's own table decides what follows, and `verify` holds
the record against it. Nothing of the repository is changed: tests run on a scratch checkout, and the plan lies in
`.surefoot/plans/<plan id>/`.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from surefoot.app import opening
from surefoot.assembly import Surroundings, lineup_of, open_ledger, policy_of, suite_of, tried_fence
from surefoot.codec import decode, encode
from surefoot.drafting import Desk, Made, PlanRequest, Room
from surefoot.errors import UsageError
from surefoot.events.orchestration import PhaseChanged, PlanGated, PlanWritten, RunStopped
from surefoot.gitops.reading import publish_ledger_head, text_files, tree_checkout
from surefoot.kernel.budget import exhausted
from surefoot.kernel.journal import Journal
from surefoot.kernel.lifecycle import ENDS, Phase, Trigger, advance
from surefoot.kernel.run import Step, resolved
from surefoot.models.registry import AUTO, EMBEDDED
from surefoot.plain_files import write_whole
from surefoot.plan import counted, documents, judge, risks_of, written
from surefoot.plans import Plan, Question, Refusal
from surefoot.project import PLAN_PREFIX, Project, scratch_folder
from surefoot.request import Frozen
from surefoot.sandbox import open_processes
from surefoot.values import Ceilings, RunId, RunStatus

PLAN_FILE: Final = "plan.json"
REFUSED_FILE: Final = "refused.json"
"""A plan that has not passed, to be mended by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOutcome:
    """How a planning ended."""

    plan_id: str
    status: RunStatus
    reason: str
    folder: Path
    plan: Plan | None = None
    """The last draft; it has passed when the status is `reported`."""
    refusals: tuple[Refusal, ...] = ()
    question: Question | None = None
    """The question that only a person can answer, and nobody did."""


def make_plan(project: Project, asked: PlanRequest, around: Surroundings) -> PlanOutcome:
    """Plan an issue, or judge a plan made by hand; `.surefoot/plans/<plan id>/` holds what came of it.

    Raises:
        LockedError: The repository is locked.
        UsageError: Nothing was given to plan, or an answer or a source cannot be used.
        SurefootError: Something is missing; nothing was changed.
    """
    project.repository.require_branch()
    project.require_unlocked()
    if asked.given is None and asked.request.issue.source == "audit":
        raise UsageError("there is nothing to plan; give an issue, --test or --from PLAN.json")
    frozen = Frozen(settings=project.settings, request=asked.request)
    lineup = lineup_of(project, frozen, around.environ)
    if frozen.model not in (AUTO, EMBEDDED):  # without the embedded one rules plan
        lineup.open(frozen.model)  # what it lacks is said before anything is written
    plan_id = RunId(PLAN_PREFIX + around.ids.run_id(around.clock.now()))
    with scratch_folder(project) as scratch, ExitStack() as stack:
        room = None if asked.given else _room(project, frozen, around, scratch, stack)
        project.prepare()
        ledger = stack.enter_context(open_ledger(project, plan_id, around))
        journal = Journal(ledger, around.clock)
        journal.record(opening(project, frozen, journal, planning=True))
        desk = Desk(
            project=project,
            asked=asked,
            frozen=frozen,
            around=around,
            journal=journal,
            plan_id=plan_id,
            files=text_files(project.repository, project.repository.tree),
        )
        planning = _Planning(desk, _Given(desk) if room is None else Made(desk, room))
        outcome = planning.run()
        publish_ledger_head(project.repository, plan_id, journal.head, project.home)
        return outcome


def _room(
    project: Project, frozen: Frozen, around: Surroundings, scratch: Path, stack: ExitStack
) -> Room:
    processes = open_processes(unsandboxed=frozen.request.unsandboxed, scratch=scratch)
    fence = tried_fence(processes, scratch, accepted=frozen.request.unsandboxed)
    plan, suite = suite_of(project, frozen.settings, processes, around, scratch)
    tree = project.repository.tree
    root = stack.enter_context(tree_checkout(project.repository, tree, scratch))
    return Room(root=root, suite=suite, plan=plan, level=processes.level, fence=fence)


Steps: TypeAlias = Mapping[Phase, Callable[[], Step]]


class _Way(Protocol):
    """How a plan comes about."""

    steps: Steps
    """Its phases before the gate."""
    plan: Plan | None
    """What the gate is to judge."""
    question: Question | None

    def refused(self, refusals: tuple[Refusal, ...]) -> bool:
        """Take notice of a refusal; whether there may be another draft."""
        ...


class _Planning:
    """The loop over the phases, and the gate at its end."""

    def __init__(self, desk: Desk, way: _Way) -> None:
        self._desk, self._way, self._journal = desk, way, desk.journal
        self._policy = policy_of(desk.project, desk.frozen)
        self._refusals: tuple[Refusal, ...] = ()
        self._attempt = 0
        self._steps: Steps = {**way.steps, Phase.PLAN_GATE: self._gate}

    def run(self) -> PlanOutcome:
        """Go through the phases to an end; the stop is the ledger's last word."""
        clock = self._desk.around.clock
        began = clock.monotonic()
        resolution = self._policy.resolve()
        self._journal.record(resolved(resolution))
        while (phase := self._journal.state.phase) not in ENDS:
            trigger, reason = self._step(phase, resolution.ceilings)
            self._journal.record(
                PhaseChanged(
                    before=phase, after=advance(phase, trigger), trigger=trigger, reason=reason
                )
            )
        state = self._journal.state
        status = ENDS[state.phase]
        elapsed = round(clock.monotonic() - began, 3)
        self._journal.record(RunStopped(status=status, reason=state.reason, elapsed_s=elapsed))
        return PlanOutcome(
            plan_id=self._desk.plan_id,
            status=status,
            reason=state.reason,
            folder=self._folder,
            plan=self._way.plan,
            refusals=self._refusals,
            question=self._way.question,
        )

    @property
    def _folder(self) -> Path:
        return self._desk.project.plans / self._desk.plan_id

    def _step(self, phase: Phase, ceilings: Ceilings) -> Step:
        locked = self._policy.locked()
        if locked is not None:
            return Trigger.BLOCKER, f"the repository is locked: {locked}"
        short = exhausted(ceilings, self._journal.spend())
        if short is not None:
            return Trigger.BUDGET_SPENT, f"no further phase: {short}"
        try:
            return self._steps[phase]()
        except UsageError as error:  # an answer or a source that turned out to be unusable
            return Trigger.BLOCKER, str(error)
        except KeyboardInterrupt:
            return Trigger.CANCEL, "interrupted from the keyboard"

    def _gate(self) -> Step:
        assert self._way.plan is not None  # noqa: S101  # the table leads here only with one
        self._attempt += 1
        # What is judged and written is what the ledger keeps: without secrets.
        digest = self._journal.put(encode(self._way.plan))
        plan = self._way.plan = decode(Plan, self._journal.get(digest))
        self._refusals = judge(plan, self._desk.files)
        self._journal.record(PlanGated(plan=digest, attempt=self._attempt, refusals=self._refusals))
        if self._refusals:
            return self._refuse(plan)
        (self._folder / REFUSED_FILE).unlink(missing_ok=True)
        files = documents(plan)
        self._write(files)
        self._journal.record(PlanWritten(plan=digest, files=tuple(sorted(files))))
        return (
            Trigger.PLAN_PASSED,
            f"the gate holds nothing against {counted(len(plan.units), 'unit')}",
        )

    def _refuse(self, plan: Plan) -> Step:
        """Send it back as often as that is allowed; after that it can only be mended by hand."""
        self._write({REFUSED_FILE: written(plan)})
        told = "; ".join(r.message for r in self._refusals)
        if self._way.refused(self._refusals):
            return Trigger.PLAN_REFUSED, told
        return Trigger.BLOCKER, f"the plan gate refuses the plan: {told}"

    def _write(self, files: Mapping[str, str]) -> None:
        """Write the documents, the plan itself last: where it lies, all lie."""
        for name, text in sorted(files.items(), key=lambda item: item[0] == PLAN_FILE):
            path = self._folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text.encode())


class _Given:
    """A plan made by hand: it is judged as it is."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.plan: Plan | None = None
        self.question: Question | None = None
        self.steps: Steps = {Phase.DISCOVER: self._take}

    def refused(self, refusals: tuple[Refusal, ...]) -> bool:
        """Nobody drafts it again."""
        del refusals
        return False

    def _take(self) -> Step:
        given = self._desk.asked.given
        assert given is not None  # noqa: S101  # else there would be another way
        repository = self._desk.project.repository
        plan = replace(given, plan_id=self._desk.plan_id, base=repository.head)
        self.plan = plan if plan.risks else replace(plan, risks=risks_of(plan.units))
        return Trigger.PLAN_GIVEN, f"a plan of {counted(len(given.units), 'unit')} was given"
