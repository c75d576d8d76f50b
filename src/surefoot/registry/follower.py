"""What follows from an event: the scorecard moves, and the policy says something when it has something new to say."""

from surefoot.artifacts import DecisionRecord, LifecycleState, VersionId
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import TurnClosed
from surefoot.events.policy import PromotionDecided
from surefoot.events.work import ArtifactUsed
from surefoot.kernel.promotion import decide
from surefoot.kernel.selection import Rollout
from surefoot.registry.queries import MOST_CALLS
from surefoot.registry.store import Registry, told_key
from surefoot.values import Classification

_PRODUCTIVE = frozenset({Classification.PROGRESS, Classification.COMPLETE})
_SETTLED = frozenset({LifecycleState.DURABLE, LifecycleState.DEGRADED, LifecycleState.DISABLED})
REMINDER_CALLS = 20
"""A decision that says nothing new is recorded again after so many calls, so that each stretch can be judged."""


class Follower:
    """Watches a run's ledger for the life cycle. It records decisions; the outcome of a call is never touched."""

    def __init__(self, registry: Registry, rollout: Rollout) -> None:
        self._registry, self._rollout = registry, rollout

    def follow(self, recorded: Recorded) -> tuple[Event, ...]:
        """Fold an event; give the decisions that it calls for."""
        event = recorded.event
        decides = self._rollout.shadow or self._rollout.enforced
        if isinstance(event, ArtifactUsed) and decides:
            with self._registry.transaction():
                self._registry.fold((recorded,))
                return self._news(event.version)
        self._registry.fold((recorded,))
        if not decides:
            return ()
        if isinstance(event, TurnClosed) and event.classification in _PRODUCTIVE:
            return self._started(recorded)
        return ()

    def _started(self, recorded: Recorded) -> tuple[Event, ...]:
        found = self._registry.productive(recorded.trace_id, recorded.turn_id)
        return tuple(PromotionDecided(record=self._decide(v, productive=True)) for v in found)

    def _news(self, version: VersionId) -> tuple[Event, ...]:
        record = self._decide(version)
        told, calls = self._registry.told(version)
        if told == told_key(record) and record.calls - calls < REMINDER_CALLS:
            return ()
        return (PromotionDecided(record=record),)

    def _decide(self, version: VersionId, *, productive: bool = False) -> DecisionRecord:
        registry = self._registry
        line, standing = registry.line(version.interface), registry.standing(version)
        policy = registry.policy(registry.capability(version))
        # What is settled needs the short window only, and no comparison.
        settled = standing.enforced >= self._rollout.enforced and standing.state in _SETTLED
        other, rival = None, line.incumbent
        if rival is not None and rival != version.artifact and not settled:
            other = registry.card(VersionId(interface=version.interface, artifact=rival))
        return decide(
            standing,
            registry.card(version, most=policy.short_window if settled else MOST_CALLS),
            line,
            incumbent=other,
            policy=policy,
            enforced=self._rollout.enforced,
            productive=productive,
        )
