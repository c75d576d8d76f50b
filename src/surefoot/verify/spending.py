"""No spend without a reservation (promise 6), held against every model call of a run."""

from dataclasses import dataclass, field, replace

from surefoot.codec import decode, difference, plain
from surefoot.events.calls import (
    BudgetReserved,
    BudgetSettled,
    ModelAsked,
    ModelFailed,
    ModelReplied,
)
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import RunResumed, TurnStarted
from surefoot.kernel.budget import exhausted, shortage
from surefoot.kernel.metering import ended
from surefoot.kernel.state import RunState
from surefoot.values import Ceilings, Digest, EventId, ModelFailure, ModelReply, Usage
from surefoot.verify.record import Reader


@dataclass(slots=True, kw_only=True)
class SpendCheck:
    """Each call was reserved before it left, within the ceilings, and settled at what its answer says."""

    get: Reader
    _open: dict[EventId, BudgetReserved] = field(default_factory=dict)
    _asked: dict[EventId, Digest] = field(default_factory=dict)
    """Request of each call that has not been settled, by its reservation."""
    _answered: dict[EventId, Usage] = field(default_factory=dict)
    """What the answer to a reservation says that it cost."""

    def look(self, state: RunState, recorded: Recorded) -> str:
        """As `Check.look`."""
        event = recorded.event
        match event:
            case TurnStarted():
                short = exhausted(_ceilings(state), replace(state.spend, time_s=0.0))
                return f"a turn begins although the budget is spent: {short}" if short else ""
            case BudgetReserved():
                return self._reserved(state, recorded.event_id, event)
            case ModelReplied() | ModelFailed():
                return self._answer(recorded, event, self._derived(event))
            case BudgetSettled():
                return self._settled(event)
            case RunResumed():
                self._open, self._asked, self._answered = {}, {}, {}
            case ModelAsked():
                return self._left(event)
            case _:
                pass
        return ""

    def _reserved(self, state: RunState, event_id: EventId, event: BudgetReserved) -> str:
        self._open[event_id] = event
        spend = replace(state.spend, time_s=0.0)
        short = shortage(_ceilings(state), spend, tokens=event.tokens, cost_usd=event.cost_usd)
        return f"{short}: more is reserved than the budget holds" if short else ""

    def _left(self, event: ModelAsked) -> str:
        reserved = self._open.get(event.reservation)
        if reserved is None or event.reservation in self._asked:
            return f"reservation was {event.reservation!r}, which is none that is open"
        if reserved.purpose != event.purpose:
            return f"purpose was {event.purpose!r}, reserved was for {reserved.purpose!r}"
        self._asked[event.reservation] = event.request
        return ""

    def _derived(self, event: ModelReplied | ModelFailed) -> ModelReplied | ModelFailed:
        """The event as its blob says it."""
        if isinstance(event, ModelFailed):
            failure = decode(ModelFailure, self.get(event.failure))
            return ended(event.request, event.failure, failure)
        return ended(event.request, event.reply, decode(ModelReply, self.get(event.reply)))

    def _answer(
        self,
        recorded: Recorded,
        event: ModelReplied | ModelFailed,
        derived: ModelReplied | ModelFailed,
    ) -> str:
        differs = difference(plain(event), plain(derived))
        if differs:
            return differs
        cause = recorded.caused_by
        if cause is None or self._asked.get(cause) != event.request:
            return f"request was {event.request}, which was not asked under {cause!r}"
        self._answered[cause] = event.usage
        return ""

    def _settled(self, event: BudgetSettled) -> str:
        if self._open.pop(event.reservation, None) is None:
            return f"reservation was {event.reservation!r}, which is none that is open"
        self._asked.pop(event.reservation, None)
        answered = self._answered.pop(event.reservation, None)
        # A call that was cut off from here has no answer; it is counted in full.
        if answered is not None and answered != event.usage:
            return f"usage was {event.usage}, the answer says {answered}"
        return ""


def _ceilings(state: RunState) -> Ceilings:
    policy = state.policy
    if policy is None:
        return Ceilings(max_iterations=1, time_s=float("inf"), max_files=0)
    return Ceilings(
        max_iterations=policy.max_iterations,
        time_s=float("inf"),
        max_files=policy.max_files,
        tokens=policy.tokens,
        cost_usd=policy.cost_usd,
    )
