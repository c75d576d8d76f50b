"""Reading runs back: queries over the projection, and `verify`. Nothing here asks a model or writes into a run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

from surefoot.errors import LedgerError, UsageError
from surefoot.events import (
    EventClass,
    PhaseChanged,
    Recorded,
    RunOpened,
    RunStopped,
    TurnClosed,
)
from surefoot.gitops import ledger_head, tree_exists
from surefoot.kernel.budget import share_used
from surefoot.kernel.lifecycle import ENDS, Phase, Trigger, advance
from surefoot.kernel.ports import RouteRequest
from surefoot.kernel.state import RunState, apply, fold
from surefoot.ledger import read_events, verify_chain
from surefoot.ledger.blobs import BlobStore
from surefoot.ledger.projection import Projection
from surefoot.project import Project
from surefoot.values import Ceilings, Digest, EventId, RunId, TreeId, TurnId, Unit, UnitId

_CLASSES: tuple[EventClass, ...] = (
    "orchestrator",
    "model",
    "tool",
    "git",
    "test",
    "policy",
    "cost",
)


@contextmanager
def projection(project: Project) -> Iterator[Projection]:
    """The up-to-date projection of all runs of a repository."""
    project.prepare()
    with Projection(project.folder / "ledger.db") as found:
        found.refresh(project.runs, extra=[project.folder / "events.jsonl"])
        yield found


def route_request(project: Project, run_id: RunId, unit_id: str) -> RouteRequest:
    """What the router would have been asked for a unit when the run last recorded anything, by its own ledger.

    Raises:
        UsageError: The run has no such unit.
    """
    state = fold(read_events(project.ledger_file(run_id)))
    found = state.units.get(UnitId(unit_id))
    if found is None:
        known = ", ".join(state.units) or "none yet"
        raise UsageError(f"run {run_id} has no unit {unit_id!r}; it has {known}")
    return asked_of_router(state, found.unit)


def asked_of_router(state: RunState, unit: Unit) -> RouteRequest:
    """What a run in this state asks its router for a unit, at the time of its last event."""
    now = state.last_time
    return RouteRequest(
        unit=unit,
        refused=frozenset(m for u, m in state.no_fly if u == unit.unit_id),
        grounded=frozenset(
            model
            for model, until in state.grounded.items()
            if until is None or now is None or until > now
        ),
        pressure=_pressure(state),
    )


def _pressure(state: RunState) -> float:
    """The largest used share of a ceiling."""
    policy, now = state.policy, state.last_time
    if policy is None or now is None:
        return 0.0
    ceilings = Ceilings(
        max_iterations=policy.max_iterations,
        time_s=policy.time_s,
        max_files=policy.max_files,
        tokens=policy.tokens,
        cost_usd=policy.cost_usd,
    )
    return share_used(ceilings, replace(state.spend, time_s=state.elapsed_s(now)))


def query(
    project: Project,
    *,
    trace: RunId | None,
    turn: str | None,
    event_class: str | None,
    kind: str | None,
    cause: str | None,
    limit: int,
) -> tuple[Recorded, ...]:
    """Events for which all that is given holds, in order.

    Raises:
        UsageError: `event_class` is not one of the seven.
    """
    known = next((c for c in _CLASSES if c == event_class), None)
    if event_class is not None and known is None:
        raise UsageError(f"class {event_class!r} is unknown; there are {', '.join(_CLASSES)}")
    with projection(project) as found:
        return found.query(
            trace=trace,
            turn=TurnId(turn) if turn else None,
            event_class=known,
            kind=kind,
            cause=EventId(cause) if cause else None,
            limit=limit,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What `verify` found."""

    fault: str | None
    """The first difference, in words; None when everything is as recorded."""
    events: int
    trees: int
    blobs: int


def verify_run(project: Project, run_id: RunId) -> Verdict:
    """Hold a run against itself: hash chain, blobs, tree ids in git, and the fold against what was recorded."""
    path = project.ledger_file(run_id)
    broken = verify_chain(path)
    if broken is not None:
        return Verdict(fault=str(broken), events=0, trees=0, blobs=0)
    events = tuple(read_events(path))
    rejected = any(e.event.kind == "run.rejected" for e in events)
    trees = () if rejected else _trees(events)
    blobs = tuple(sorted(set(_digests(events))))
    fault = _lifecycle(events) or _fold(events) or _cut_short(project, run_id, events)
    fault = fault or _blobs(project, blobs)
    fault = fault or next((t for t in (_tree(project, tree) for tree in trees) if t), None)
    return Verdict(fault=fault, events=len(events), trees=len(trees), blobs=len(blobs))


def _cut_short(project: Project, run_id: RunId, events: Sequence[Recorded]) -> str | None:
    """Whether the ledger goes on at least to the line that the repository has kept the hash of."""
    head = ledger_head(project.repository, run_id)
    if head is None or any(recorded.hash == head for recorded in events):
        return None
    return (
        f"the ledger ends at {events[-1].event_id if events else 'nothing'}, but the repository knows of a later line "
        f"{head[:12]}: lines are missing at its end"
    )


def _tree(project: Project, tree: TreeId) -> str | None:
    if tree_exists(project.repository, tree):
        return None
    return f"tree {tree} is recorded, but git does not have it"


def _trees(events: Sequence[Recorded]) -> tuple[TreeId, ...]:
    """The trees that a run stands on; scratch trees may be collected by git."""
    found: dict[TreeId, None] = {}
    for recorded in events:
        event = recorded.event
        if isinstance(event, RunOpened):
            found[event.base_tree] = None
        elif isinstance(event, TurnClosed):
            found[event.tree] = None
    return tuple(found)


def _digests(events: Sequence[Recorded]) -> Iterator[Digest]:
    """Blobs that events name: every field that is typed `Digest`."""
    for recorded in events:
        for item in fields(recorded.event):
            if item.type in (Digest, Digest | None):
                found = getattr(recorded.event, item.name)
                if found is not None:
                    yield found


def _blobs(project: Project, digests: Sequence[Digest]) -> str | None:
    store = BlobStore(project.blobs)
    for found in digests:
        try:
            store.get(found)
        except LedgerError as error:
            return str(error)
    return None


def _lifecycle(events: Sequence[Recorded]) -> str | None:
    """Whether each recorded move is an edge of the table, from where the one before ended."""
    phase = Phase.AUDITING
    for recorded in events:
        event = recorded.event
        if not isinstance(event, PhaseChanged):
            continue
        if event.before != phase:
            return f"{recorded.event_id}: moves from {event.before}, but the run stood at {phase}"
        after = advance(phase, Trigger(event.trigger))
        if after != event.after:
            return (
                f"{recorded.event_id}: {event.trigger} leads to {after}, recorded is {event.after}"
            )
        phase = after
    return None


def _fold(events: Sequence[Recorded]) -> str | None:
    """Whether what the events say of the state is what they fold to."""
    state = fold(())
    for recorded in events:
        event = recorded.event
        if isinstance(event, TurnClosed) and state.turn is None:
            return f"{recorded.event_id}: closes a turn that is not open"
        state = apply(state, recorded)
        if isinstance(event, TurnClosed) and state.head_tree != event.tree:
            return f"{recorded.event_id}: folds to tree {state.head_tree}, recorded is {event.tree}"
        if isinstance(event, RunStopped) and ENDS.get(state.phase) != event.status:
            return f"{recorded.event_id}: stopped as {event.status} in phase {state.phase}"
    return None
