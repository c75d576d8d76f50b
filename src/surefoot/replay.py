"""`replay`: a run done again from its record, without a model; and what another model would have done (SPEC E8)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from surefoot.app import start
from surefoot.assembly import Cast, Session, Surroundings, asked_for, drive, parts_of
from surefoot.decisions.tool_call import SHAPED_CALL, TOOL_CALL
from surefoot.errors import LedgerError, UsageError
from surefoot.events.orchestration import Decided, RunOpened, RunResumed
from surefoot.gitops.accept import reject as remove_work
from surefoot.gitops.history import fill_checkout
from surefoot.gitops.reading import untracked
from surefoot.gitops.workspace import open_workspace
from surefoot.kernel.journal import Journal
from surefoot.kernel.plan_state import ChildState
from surefoot.kernel.state import RunState
from surefoot.ledger import FileLedger, read_events, verify_chain
from surefoot.ledger.blobs import BlobStore
from surefoot.policy.judges import PinnedChain
from surefoot.project import Places, Project, scratch_folder
from surefoot.reading import Outcome, read_story_of
from surefoot.request import Request, thaw
from surefoot.settings import Settings
from surefoot.shelf import TapedShelf
from surefoot.tape import Tape, TapedRouter
from surefoot.upkeep import redactor_of
from surefoot.values import RESUMABLE, RunId
from surefoot.verify import open_bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """How a replay went."""

    compared: int
    """Events that were the same."""
    divergence: str | None
    """The first record that differs, and how; None when none does."""


def replay(project: Project, run_id: RunId, around: Surroundings) -> Replayed:
    """Do a run again from its record, in a worktree of its own that is gone afterwards.

    Of a run that executes a plan, the runs of its units are done again, one after the other.

    Raises:
        UsageError: The run has not come to a stop, or it never began; or no unit of its plan did, or a unit's run is
            not here or has not come to a stop; or as `asked_for`.
        LockedError: The repository is locked.
    """
    project.require_unlocked()
    broken = verify_chain(project.ledger_file(run_id))
    if broken is not None:
        return Replayed(compared=0, divergence=str(broken))
    story = read_story_of(project, run_id)
    opened = story.state.opened
    if opened is None or story.state.status is None:
        raise UsageError(
            f"run {run_id} has not come to a stop; `surefoot resume {run_id}` goes on with it"
        )
    blobs = BlobStore(project.blobs)
    if thaw(blobs.get(opened.settings)).request.plan is not None:
        return _each(project, run_id, story.state, around)
    try:
        tape = Tape(tuple(read_events(project.ledger_file(run_id))), blobs.get)
    except LedgerError as error:
        return Replayed(compared=0, divergence=str(error))
    if not tape.judges:
        raise UsageError(
            f"run {run_id} stopped before it named its judges, so there is nothing to do again"
        )
    try:
        _play(project, tape.opened or opened, around, tape)
    except LedgerError as error:
        return Replayed(compared=tape.compared, divergence=str(error))
    return Replayed(compared=tape.compared, divergence=tape.unmet())


def _each(project: Project, plan: RunId, state: RunState, around: Surroundings) -> Replayed:
    """The runs of a plan's units, up to the first that differs. Their order beside each other is nothing that is done again."""
    compared = 0
    for unit in _begun(project, plan, state):
        played = replay(project, unit, around)
        compared += played.compared
        if played.divergence is not None:
            return Replayed(compared=compared, divergence=f"{unit}: {played.divergence}")
    return Replayed(compared=compared, divergence=None)


def _begun(project: Project, plan: RunId, state: RunState) -> tuple[RunId, ...]:
    """The runs of units that began. All can be done again: that one cannot is found out before any is, not after minutes."""
    units = tuple(run for run, child in state.plan.children.items() if _began(project, run, child))
    if not units:
        raise UsageError(
            f"run {plan} began no unit of its plan, so there is nothing to do again; "
            f"`surefoot verify {plan}` holds its own records against their chain"
        )
    for unit in units:
        if not project.ledger_file(unit).is_file():
            raise UsageError(
                f"the unit's run {unit} began, but {project.ledger_file(unit)} is not there; bring it back, or replay "
                "an export of the plan's run with `surefoot replay --bundle FILE`"
            )
    for unit in units:
        if not _has_stopped(project, unit):
            goes_on = f"`surefoot resume {plan}` goes on with the run of its plan"
            over = (
                f"the run of its plan, {plan}, ended as {state.status}, and nothing goes on with it"
            )
            raise UsageError(
                f"the unit's run {unit} has not come to a stop; "
                f"{goes_on if state.status in RESUMABLE else over}"
            )
    return units


def _began(project: Project, run: RunId, child: ChildState) -> bool:
    """Whether a unit's run has records; one that was stopped or refused at its start may leave an empty ledger, or none.

    Where its plan does not know how it ended and its ledger is gone, too, nobody can say that it did nothing.
    """
    if child.ended is not None:
        return bool(child.ended.ledger_head)
    path = project.ledger_file(run)
    return not path.is_file() or path.stat().st_size > 0


def _has_stopped(project: Project, run: RunId) -> bool:
    """Whether a run can be done again as far as its state goes; that its records are damaged is said of it when its turn comes."""
    try:
        return read_story_of(project, run).state.status is not None
    except LedgerError:
        return True


@contextmanager
def unpacked(
    bundle: Path, places: Places, *, trusted: bool = False
) -> Iterator[tuple[Project, RunId]]:
    """The run of a bundle with the files that it began with, ready to be replayed. Raises as `open_bundle`."""
    with open_bundle(bundle, places, trusted=trusted) as (project, run_id):
        fill_checkout(project.repository)
        yield project, run_id


def another(
    project: Project,
    run_id: RunId,
    around: Surroundings,
    *,
    model: str | None,
    base_url: str | None = None,
    policy: str | None = None,
) -> Outcome:
    """A new run from where a recorded one began, with the same settings, and another model or another policy bundle.

    Raises:
        UsageError: The run never began, or there is no such bundle to go by instead, or none that would change it.
    """
    opened = read_story_of(project, run_id).state.opened
    if opened is None:
        raise UsageError(f"run {run_id} has no beginning in its ledger")
    frozen = thaw(BlobStore(project.blobs).get(opened.settings))
    settings = frozen.settings
    if policy is not None:
        settings = _by_policy(settings, policy, _bundles(project, run_id))
    request: Request = replace(frozen.request, seed=opened.seed, mode=opened.mode)
    if model is not None:
        request = replace(request, model=model, base_url=base_url)
    return start(_at(replace(project, settings=settings), opened), request, around)


def _bundles(project: Project, run_id: RunId) -> frozenset[str]:
    """The bundles by which a run asked for tool calls, whatever their form."""
    payloads = (line.event for line in read_events(project.ledger_file(run_id)))
    return frozenset(
        p.policy_bundle.replace(".native", "")
        for p in payloads
        if isinstance(p, Decided) and p.decision == TOOL_CALL.name
    )


def _by_policy(settings: Settings, policy: str, used: frozenset[str]) -> Settings:
    """The settings under which tool calls are asked for by a bundle; all other decisions have a single one.

    `used` are the bundles by which the run asked for them.
    """
    shaped = {TOOL_CALL.bundle: False, SHAPED_CALL.bundle: True}.get(policy)
    if shaped is None:
        raise UsageError(
            f"no run can go by {policy!r} instead: only tool calls have two policy bundles, {TOOL_CALL.bundle} and "
            f"{SHAPED_CALL.bundle} (with the shape of the decision), and their form follows from the model's record"
        )
    if not used:
        raise UsageError(
            f"the run asked no model for a tool call, so {policy} would change nothing"
        )
    if policy in used:
        raise UsageError(f"the run went by {policy} already; replay it without --with")
    if settings.tools.capture == shaped:
        raise UsageError(f"a model as small as the run's is never asked by {policy}")
    tools = settings.tools.model_copy(update={"capture": shaped})
    return settings.model_copy(update={"tools": tools})


def _play(project: Project, opened: RunOpened, around: Surroundings, tape: Tape) -> None:
    there, blobs = _at(project, opened), BlobStore(project.blobs)
    frozen = asked_for(project, thaw(blobs.get(opened.settings)))
    taped = replace(around, clock=tape, person=tape, progress=tape)
    run_id = around.ids.run_id(around.clock.now())
    told = tape.environment()
    cast = Cast(
        router=lambda metered: TapedRouter(tape, metered),
        judging=PinnedChain(models=tape.judges, reason="as recorded"),
        judges=tuple(tape.model(name) for name in tape.judges),
        suite=tape.suite,
        tools=tape.toolbox,
        push=tape.push,
        system=told.system if told else None,
        sandbox=told.sandbox if told else None,
        shelf=TapedShelf(tape.ahead, blobs.get),
        cut_at=tape.cut_at,
        lock=tape,
    )
    with scratch_folder(project) as scratch:
        parts = replace(parts_of(there, frozen, around, scratch, cast), baseline=tape.accepted())
        ledger = FileLedger.open(
            scratch / "events.jsonl",
            blobs=scratch / "blobs",
            trace_id=run_id,
            clock=tape,
            redact=redactor_of(project, around.environ),
            progress=tape,
        )
        try:
            with open_workspace(
                there.repository,
                run_id,
                home=project.home,
                carry=untracked(there.repository, opened.base_tree, parts.plan.carry),
                action=frozen.settings.git.turn_action,
            ) as workspace:
                journal = Journal(ledger, tape)
                settings = journal.put(blobs.get(opened.settings))
                journal.record(replace(opened, settings=settings))
                session = Session(
                    project=there,
                    run_id=run_id,
                    frozen=frozen,
                    parts=parts,
                    journal=journal,
                    around=taped,
                )
                drive(session, workspace)
                while journal.state.status in RESUMABLE and tape.unmet() is not None:
                    for answer in tuple(tape.given()):
                        journal.record(answer)
                    resumed = tape.resumed()
                    if resumed is not None:
                        session = _taken_up(session, resumed, blobs, scratch, cast)
                    drive(session, workspace)
        finally:
            ledger.close()
            remove_work(project.repository, run_id, home=project.home)


def _taken_up(
    session: Session, resumed: RunResumed, blobs: BlobStore, scratch: Path, cast: Cast
) -> Session:
    """The session after the run was taken up again, perhaps with other settings."""
    journal = session.journal
    if resumed.settings is None:
        journal.record(replace(resumed, interrupted_turn=None))
        return session
    data = blobs.get(resumed.settings)
    journal.record(replace(resumed, interrupted_turn=None, settings=journal.put(data)))
    frozen = thaw(data)
    parts = parts_of(session.project, frozen, session.around, scratch, cast)
    return replace(session, frozen=frozen, parts=parts)


def _at(project: Project, opened: RunOpened) -> Project:
    """The project as it was when the run began."""
    repository = replace(
        project.repository, head=opened.base, tree=opened.base_tree, branch=opened.branch
    )
    return replace(project, repository=repository)
