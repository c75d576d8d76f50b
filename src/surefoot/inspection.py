"""Reading runs back: queries over the projection, and `verify`. Nothing here asks a model or writes into a run."""

import difflib
import re
from dataclasses import dataclass, fields, replace
from typing import Final, get_args

from surefoot.errors import UsageError
from surefoot.events.classes import EventClass
from surefoot.events.envelope import Event, Recorded
from surefoot.kernel.budget import share_used
from surefoot.kernel.ports import RouteRequest
from surefoot.kernel.state import RunState, fold
from surefoot.ledger import read_events
from surefoot.ledger.projection import Projection, SourceFault
from surefoot.project import Project
from surefoot.values import Ceilings, EventId, RunId, TurnId, Unit, UnitId

_CLASSES: tuple[EventClass, ...] = (
    "orchestrator",
    "model",
    "tool",
    "git",
    "test",
    "policy",
    "cost",
)
_TURN: Final = re.compile(r".+\.t\d+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a query finds, and which of the ledgers that it asks cannot be read to their end."""

    events: tuple[Recorded, ...]
    broken: tuple[SourceFault, ...]


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


def _kinds() -> tuple[str, ...]:
    """Types of events, as `--type` takes them."""
    return tuple(
        str(next(f.default for f in fields(event) if f.name == "kind")) for event in get_args(Event)
    )


def query(
    project: Project,
    *,
    trace: RunId | None,
    turn: str | None,
    event_class: str | None,
    kind: str | None,
    cause: str | None,
    limit: int,
) -> Found:
    """Events for which all that is given holds, in order, of one record or (`trace` None) of all.

    Raises:
        UsageError: `event_class` is not one of the seven, `kind` not one of their types, or `turn` or `cause` can be
            the name of no turn or event.
    """
    known = next((c for c in _CLASSES if c == event_class), None)
    if event_class is not None and known is None:
        raise UsageError(f"class {event_class!r} is unknown; there are {', '.join(_CLASSES)}")
    if kind is not None and kind not in _kinds():
        near = difflib.get_close_matches(kind, _kinds(), n=3, cutoff=0.4)
        told = (
            f"; near are {', '.join(near)}"
            if near
            else "; `surefoot events` without it shows which there are"
        )
        raise UsageError(f"type {kind!r} is unknown{told}")
    if turn is not None and not _TURN.fullmatch(turn):
        raise UsageError(
            f"{turn!r} is not a turn's id; one looks like fix-1.t2, the second turn on unit fix-1"
        )
    project.prepare()
    plans = [project.ledger_file(plan) for plan in project.plan_ids()]
    with Projection(project.folder / "ledger.db") as projection:
        broken = projection.refresh(project.runs, extra=(*plans, project.folder / "events.jsonl"))
        events = projection.query(
            trace=trace,
            turn=TurnId(turn) if turn is not None else None,
            event_class=known,
            kind=kind,
            cause=EventId(cause) if cause is not None else None,
            limit=limit,
        )
    asked = None if trace is None else project.ledger_file(trace).absolute()
    return Found(events=events, broken=tuple(b for b in broken if asked in (None, b.path)))
