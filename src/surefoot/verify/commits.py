"""The run in git: every commit that the ledger names, the refs that keep them, and the bytes behind every id."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from surefoot.decisions.redacted import MARK
from surefoot.errors import GitError
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import (
    CheckpointWritten,
    RunAccepted,
    RunOpened,
    RunRejected,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.work import GitStage, TestsRan
from surefoot.gitops import Repository
from surefoot.gitops.history import changed_object, objects_of, read_commit, run_refs
from surefoot.gitops.refs import RunRefs
from surefoot.gitops.workspace import with_trailers
from surefoot.kernel.state import RunState, apply, fold
from surefoot.kernel.turn import LEDGER_TRAILER, TURN_TRAILER, commit_message
from surefoot.records import until_stop
from surefoot.values import Checkpoint, CommitId, RunId, TreeId, TurnAction, TurnId, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A turn that ended as a commit, with what its commit has to say."""

    recorded: Recorded
    """Its `turn.closed`."""
    turn_id: TurnId
    commit: CommitId
    tree: TreeId
    parent: CommitId
    heads: tuple[str, ...]
    """Hashes of the lines of the ledger that may have been its last one when the commit was made: the turn's own last one, and those
    of others beside it, which a plan's run writes whenever a unit ends."""
    message: str | None
    """None where secrets were taken out of the record, so that it is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stands:
    """What a run stands on in git."""

    base: CommitId
    base_tree: TreeId
    branch: str
    """Full name of the branch that the user was on."""
    turns: tuple[Kept, ...]
    accepted: Recorded | None
    shown: frozenset[TreeId]
    """What may have been accepted: the run's own last tree, and those that were tested after its end."""
    milestones: int
    """Of a plan that were verified; accepting makes a commit of each that changes anything."""
    rejected: bool
    at_rest: bool
    """The run has stopped, so that its refs are those of its last turn."""
    interrupted: bool
    """It stopped within a turn, which may have been committed already; `resume` takes that back."""

    @property
    def commits(self) -> tuple[CommitId, ...]:
        """The run's own, which have to be there, the base first."""
        return (self.base, *(turn.commit for turn in self.turns))


def stands_of(events: Sequence[Recorded]) -> Stands | None:
    """What the events say that git has to hold; None when the run never began."""
    opened = events[0].event if events else None
    if not isinstance(opened, RunOpened):
        return None
    accepted = next((r for r in events if isinstance(r.event, RunAccepted)), None)
    state = fold(events)
    return Stands(
        base=opened.base,
        base_tree=opened.base_tree,
        branch=opened.branch,
        turns=tuple(_kept(events)),
        accepted=accepted,
        shown=frozenset({state.head_tree or opened.base_tree, *_tested_after(events)}),
        milestones=sum(part.level == "milestone" for part in state.plan.parts.values()),
        rejected=any(isinstance(r.event, RunRejected) for r in events),
        at_rest=state.status is not None,
        interrupted=state.turn is not None,
    )


def _tested_after(events: Sequence[Recorded]) -> Iterator[TreeId]:
    """Trees that tests ran on since the run's last stop, as `accept` has them run where the branch moved or a hook edited."""
    for recorded in events[len(until_stop(events)) :]:
        if isinstance(recorded.event, TestsRan):
            yield recorded.event.tree


def _kept(events: Sequence[Recorded]) -> Iterator[Kept]:
    state = RunState()
    since: list[str] = []
    heads: tuple[str, ...] = ()
    checkpoint: Checkpoint | None = None
    unit: Unit | None = None
    for recorded in events:
        event = recorded.event
        if isinstance(event, TurnStarted):
            found = state.units.get(event.unit_id)
            unit, checkpoint, heads = (found.unit if found else None), None, ()
        elif isinstance(event, CheckpointWritten):
            checkpoint = event.checkpoint
        elif isinstance(event, GitStage) and event.stage == "checkpoint" and event.ok:
            heads = tuple(since)
        elif isinstance(event, TurnClosed) and event.commit is not None and state.opened:
            yield Kept(
                recorded=recorded,
                turn_id=TurnId(recorded.turn_id or ""),
                commit=event.commit,
                tree=event.tree,
                parent=state.head_commit or state.opened.base,
                heads=heads,
                message=_message(unit, checkpoint),
            )
        since = [recorded.hash] if recorded.turn_id is not None else [*since, recorded.hash]
        state = apply(state, recorded)


def _message(unit: Unit | None, checkpoint: Checkpoint | None) -> str | None:
    if unit is None or checkpoint is None:
        return None
    told = commit_message(unit, checkpoint)
    return None if MARK.search(told) else told


def git_fault(
    repository: Repository, run_id: RunId, stands: Stands, action: TurnAction
) -> str | None:
    """The first thing in git that is not as the ledger says, in words. `action` is what kept its turns."""
    base = read_commit(repository, stands.base)
    if base is None or base.tree != stands.base_tree:
        told = "is not there" if base is None else f"has tree {base.tree}"
        return f"run.opened: base {stands.base} {told}, recorded is tree {stands.base_tree}"
    for turn in stands.turns:
        fault = "" if action == "status-only" else _commit_fault(repository, turn)
        if action == "status-only" and str(turn.commit) != str(turn.tree):
            fault = f"what keeps the turn was {turn.commit}, is its tree {turn.tree}"
        if fault:
            number = turn.recorded.event_id.rpartition(":")[2]
            return f"line {number} (turn.closed): commit {turn.commit}: {fault}"
    fault = _accepted_fault(repository, stands) or _refs_fault(repository, run_id, stands, action)
    if fault:
        return fault
    made = accepted_commits(repository, stands)
    try:
        return changed_object(repository, objects_of(repository, (*stands.commits, *made)))
    except GitError as error:
        return f"git cannot list what the run's commits hold: {error.stderr.strip()}"


def _commit_fault(repository: Repository, turn: Kept) -> str:
    found = read_commit(repository, turn.commit)
    if found is None:
        return "it is not there"
    if found.tree != turn.tree:
        return f"its tree was {turn.tree}, is {found.tree}"
    if found.parents != (turn.parent,):
        return f"its parents were {turn.parent}, are {', '.join(found.parents) or 'none'}"
    head = found.trailer(LEDGER_TRAILER) or ""
    known = head if head in turn.heads else " or ".join(turn.heads)
    trailers = {TURN_TRAILER: turn.turn_id, LEDGER_TRAILER: known}
    for key, wanted in trailers.items():
        if found.trailer(key) != wanted:
            return f"its trailer {key} is {found.trailer(key)!r}, by the ledger {wanted!r}"
    if turn.message is not None and found.message != with_trailers(turn.message, trailers):
        return "its message is not the one of the turn"
    return ""


def accepted_commits(repository: Repository, stands: Stands) -> tuple[CommitId, ...]:
    """The commits that `accept` made, the last one first: back to what they were put onto, or as far as they can be its.

    They need not be those of the trees that the milestones had, because the branch may have moved and hooks may edit.
    """
    if stands.accepted is None or not isinstance(stands.accepted.event, RunAccepted):
        return ()
    made = [stands.accepted.event.commit]
    while len(made) < stands.milestones:
        found = read_commit(repository, made[-1])
        if (
            found is None
            or len(found.parents) != 1
            or found.parents[0] == stands.accepted.event.onto
        ):
            break
        made.append(found.parents[0])
    return tuple(made)


def _accepted_fault(repository: Repository, stands: Stands) -> str:
    if stands.accepted is None or not isinstance(stands.accepted.event, RunAccepted):
        return ""
    event, number = stands.accepted.event, stands.accepted.event_id.rpartition(":")[2]
    first = accepted_commits(repository, stands)[-1]
    found = read_commit(repository, first)
    place = f"line {number} (run.accepted): commit {first}"
    if found is None:
        return f"{place} is not there"
    if found.parents != (event.onto,):
        return f"{place}: its parents are {', '.join(found.parents)}, recorded is {event.onto}"
    last = read_commit(repository, event.commit)
    if last is not None and last.tree not in stands.shown:
        return f"line {number} (run.accepted): commit {event.commit} has tree {last.tree}, on which nothing was proved"
    if event.branch != stands.branch:
        return f"line {number} (run.accepted): it went onto {event.branch}, the run began on {stands.branch}"
    return ""


def _refs_fault(repository: Repository, run_id: RunId, stands: Stands, action: TurnAction) -> str:
    if not stands.at_rest:
        return ""
    refs = run_refs(repository, run_id)
    if refs is None:
        return "the refs of the run are missing"
    if refs.branch != stands.branch:
        return f"refs/surefoot/{run_id}/run says {refs.branch}, by the ledger {stands.branch}"
    if refs.base != stands.base:
        return f"refs/surefoot/{run_id}/base is {refs.base}, by the ledger {stands.base}"
    turns = {number: turn.commit for number, turn in enumerate(stands.turns, 1)}
    unrecorded = refs.turns.get(len(turns) + 1) if stands.interrupted else None
    if unrecorded is not None:
        turns[len(turns) + 1] = unrecorded
    for number in sorted({*turns, *refs.turns}):
        if refs.turns.get(number) != turns.get(number):
            return (
                f"refs/surefoot/{run_id}/{number} is {refs.turns.get(number)}, "
                f"by the ledger {turns.get(number)}"
            )
    tip = turns[max(turns)] if turns and action == "commit" else stands.base
    return _branch_fault(run_id, refs, stands, tip)


def _branch_fault(run_id: RunId, refs: RunRefs, stands: Stands, tip: CommitId) -> str:
    if refs.tip != tip and not (refs.tip is None and stands.accepted is not None):
        return f"refs/heads/surefoot/{run_id} is {refs.tip}, by the ledger {tip}"
    accepted = stands.accepted.event if stands.accepted else None
    if isinstance(accepted, RunAccepted) and refs.accepted != accepted.commit:
        return (
            f"refs/surefoot/{run_id}/accepted is {refs.accepted}, by the ledger {accepted.commit}"
        )
    # Not kept by older versions.
    if isinstance(accepted, RunAccepted) and refs.onto not in {None, accepted.onto}:
        return f"refs/surefoot/{run_id}/onto is {refs.onto}, by the ledger {accepted.onto}"
    return ""
