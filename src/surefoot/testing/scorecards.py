"""Scorecards without a registry: for tests and simulations of the promotion policy."""

from dataclasses import replace

from surefoot.artifacts import CallFacts
from surefoot.kernel.promotion import Scorecard


def observe(card: Scorecard, call: CallFacts, *, keep: int) -> Scorecard:
    """The scorecard after one more call, with the last `keep` calls."""
    return replace(card, calls=card.calls + 1, recent=(*card.recent, call)[-keep:])
