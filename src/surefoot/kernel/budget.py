"""Reserve before a call, settle after it (promise 6); pure arithmetic over ceilings and spend."""

from dataclasses import dataclass
from typing import Literal

from surefoot.values import Ceilings, Spend

What = Literal["tokens", "cost_usd", "time_s", "iterations"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Why a reservation cannot be made."""

    what: What
    asked: float
    left: float

    def __str__(self) -> str:
        return f"{self.what}: {self.asked:g} asked, {max(self.left, 0):g} left"


def shortage(ceilings: Ceilings, spend: Spend, *, tokens: int, cost_usd: float) -> Shortage | None:
    """What stands against a call of at most `tokens` and `cost_usd`, open reservations included."""
    if ceilings.tokens is not None:
        used = spend.usage.prompt_tokens + spend.usage.completion_tokens + spend.reserved_tokens
        if used + tokens > ceilings.tokens:
            return Shortage(what="tokens", asked=tokens, left=ceilings.tokens - used)
    if ceilings.cost_usd is not None:
        money = spend.usage.cost_usd + spend.reserved_usd
        if money + cost_usd > ceilings.cost_usd:
            return Shortage(what="cost_usd", asked=cost_usd, left=ceilings.cost_usd - money)
    return None


def exhausted(ceilings: Ceilings, spend: Spend) -> Shortage | None:
    """Which ceiling is reached, so that no further turn may start."""
    if spend.iterations >= ceilings.max_iterations:
        return Shortage(what="iterations", asked=1, left=0)
    if spend.time_s >= ceilings.time_s:
        return Shortage(what="time_s", asked=1, left=0)
    short = shortage(ceilings, spend, tokens=1, cost_usd=0.0)
    # No money at all still buys what is free.
    if short is None and ceilings.cost_usd and spend.usage.cost_usd >= ceilings.cost_usd:
        return Shortage(what="cost_usd", asked=0, left=0)
    return short


def share_used(ceilings: Ceilings, spend: Spend) -> float:
    """The largest used share of any ceiling, 0 and up."""
    shares = [spend.iterations / ceilings.max_iterations, spend.time_s / ceilings.time_s]
    if ceilings.tokens:
        shares.append((spend.usage.prompt_tokens + spend.usage.completion_tokens) / ceilings.tokens)
    if ceilings.cost_usd:
        shares.append(spend.usage.cost_usd / ceilings.cost_usd)
    return max(shares)
