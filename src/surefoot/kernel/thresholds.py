"""Constants as values: what a policy of the life cycle asks before it promotes, what a release is held to, what an idle turn has to say.

They stand apart from what goes by them (`promotion`, `selection`), because reading the settings needs their defaults and nothing else.
"""

from dataclasses import dataclass
from typing import Final

NOOP_CHARACTERS: Final = 200
"""A turn without work that says less, blanks not counted, did nothing (SPEC A4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionPolicy:
    """Every constant of the life cycle; a changed constant is another version. Rates are 0 to 1."""

    version: str
    short_window: int = 20
    medium_window: int = 200
    min_calls: int = 10
    min_sessions: int = 2
    min_contract_rate: float = 0.95
    min_success_rate: float = 0.90
    min_consistency: float = 0.5
    regression_calls: int = 5
    """Fewer calls in the short window show no regression."""
    benefit_of_doubt: bool = True
    """A short window that is not full is read as though the missing calls were good."""
    cool_down_calls: int = 20
    """Calls of the interface for which a degraded version stays degraded."""
    returned_min_calls: int = 20
    """What `min_calls` is for a version that was degraded before."""
    returned_min_success_rate: float = 0.95
    """What `min_success_rate` is for a version that was degraded before."""


SOLVER_PROMOTION_V1: Final = PromotionPolicy(version="solver_promotion_v1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseLimits:
    """What the release gate holds the life cycle to before it may be enforced (SPEC D9). Rates are 0 to 1; an increase is the rate after less the rate before."""

    max_guardrail_increase: float = 0.01
    """Of calls that exhaust their guardrail retries, where the policy chose, against where the latest served."""
    max_correction_increase: float = 0.0
    """Of runs that a person corrected, where a replaced version served, against the same interfaces before."""
    min_fallback_drills: int = 1
    """Interfaces with an incumbent on which losing it was tried and led where it must, twice the same way."""
    max_false_promotions: float = 0.10
    max_false_holds: float = 0.25
    """The two control limits of the calibration ledger."""
    max_class_misfit: float = 2.0
    """Of a capability class without a profile of its own, as a multiple of the rate of all."""
