"""Whether a decision was right, judged by the calls that came after it (SPEC D5). Pure."""

from typing import Final, Literal, TypeAlias

from surefoot.artifacts import Decision, DecisionRecord, LifecycleState, Standing
from surefoot.kernel.promotion import VOLUME, Scorecard, fails_quality, regression
from surefoot.kernel.thresholds import PromotionPolicy

Judged: TypeAlias = Literal["", "promotion", "hold"]
LOOK_BACK: Final = 20
"""Later calls that a decision is judged by."""
MEANINGFUL: Final = 30
"""Judged decisions of a capability class, below which nothing is said of it."""
MISFIT: Final = 2.0
"""A class whose rate is above this multiple of the rate of all is reported."""


def is_attempt(record: DecisionRecord) -> bool:
    """Whether the version came so far that the gate could say no: it had calls and sessions enough."""
    found = {c.name: c.met for c in record.conditions}
    return record.decision in {Decision.PROMOTE, Decision.CONTINUE_PROBATION} and all(
        found.get(name) for name in VOLUME
    )


def judged_by(record: DecisionRecord) -> Judged:
    """Whether later calls judge the decision as a promotion, as a hold, or not at all.

    Waiting for more calls is no judgement of the version, and neither is a cool-down.
    """
    if record.decision is Decision.PROMOTE:
        return "promotion"
    if record.decision is Decision.DEGRADE:
        return "hold"
    return "hold" if is_attempt(record) else ""


def mistaken(judges: str, card: Scorecard, *, since: int, policy: PromotionPolicy) -> bool | None:
    """Whether a decision after call number `since` of a version was wrong; None: too early to say.

    A promotion was wrong when the version regresses within the next 20 calls (a degrade in them says so at once, and is
    not asked here); a hold or a degrade when the next 20 calls pass every condition of quality.
    """
    if judges == "promotion":
        fresh = Standing(version=card.version, state=LifecycleState.DURABLE, evidence_from=since)
        if card.calls - since <= LOOK_BACK and regression(
            card, fresh, policy=policy, enforced=False
        ):
            return True
        return False if card.calls - since >= LOOK_BACK else None
    if card.calls - since < LOOK_BACK:
        return None
    return not fails_quality(card.window(LOOK_BACK, since=since), policy=policy)
