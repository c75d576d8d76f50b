"""What a ledger says of the plan that its run executes: child runs, merged work, verified parts. A fold, as in `state`."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import TurnClosed
from surefoot.events.plans import ChildEnded, ChildStarted, PartVerified, PlanAdopted
from surefoot.values import CommitId, EventId, RunId, TreeId, UnitId, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildState:
    """A unit's run, as its plan run knows it."""

    begun: ChildStarted
    """How it began last."""
    started: EventId
    ended: ChildEnded | None = None
    """How it stopped after that."""
    settled: Usage = Usage()
    """What all its ends have settled."""
    model_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState:
    """How far a plan is."""

    adopted: PlanAdopted | None = None
    children: Mapping[RunId, ChildState] = field(default_factory=dict)
    tips: Mapping[UnitId, tuple[CommitId, TreeId]] = field(default_factory=dict)
    """The plan's branch after each unit's work was merged."""
    parts: Mapping[str, PartVerified] = field(default_factory=dict)

    @property
    def reservations(self) -> frozenset[EventId]:
        """Of children that have not ended."""
        return frozenset(c.started for c in self.children.values() if c.ended is None)

    @property
    def noticing(self) -> frozenset[str]:
        """New tests of units that are there for what they notice."""
        ended = (c.ended for c in self.children.values())
        return frozenset(t for child in ended if child is not None for t in child.noticing)

    def attempts(self, unit_id: UnitId) -> tuple[ChildState, ...]:
        """The runs of a unit, first to last."""
        own = [c for c in self.children.values() if c.begun.unit_id == unit_id]
        return tuple(sorted(own, key=lambda c: c.begun.attempt))


def follow(state: PlanState, recorded: Recorded) -> PlanState:
    """The state after one more event."""
    event = recorded.event
    match event:
        case PlanAdopted():
            return replace(state, adopted=event)
        case ChildStarted():
            known = state.children.get(event.run)
            child = ChildState(
                begun=event,
                started=recorded.event_id,
                settled=known.settled if known else Usage(),
                model_calls=known.model_calls if known else 0,
            )
            return replace(state, children={**state.children, event.run: child})
        case ChildEnded() if event.run in state.children:
            known = state.children[event.run]
            child = replace(
                known,
                ended=event,
                settled=known.settled + event.usage,
                model_calls=known.model_calls + event.model_calls,
            )
            return replace(state, children={**state.children, event.run: child})
        case TurnClosed(commit=str() as commit) if state.adopted is not None:
            return replace(
                state, tips={**state.tips, event.unit_id: (CommitId(commit), event.tree)}
            )
        case PartVerified():
            return replace(state, parts={**state.parts, event.part: event})
        case _:
            return state
