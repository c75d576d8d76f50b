"""The models that judge a run: pinned, never chosen (SPEC A2).

Nothing here looks at scores, history, profiles or a router, and nothing of the kind may be passed in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

DEFAULT: Final = (
    "kimi-coding/kimi-k2.6",
    "anthropic/claude-sonnet-4-6",
    "anthropic/claude-opus-4-7",
)
LAST_RESORT: Final = "embedded"


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedChain:
    """The judges in their order, and why these."""

    models: tuple[str, ...]
    reason: str


def pinned_chain(asked: str | None, may_ask: Callable[[str], bool]) -> PinnedChain:
    """The judges of a run.

    Args:
        asked: What the user configured: a model, or several with commas between.
        may_ask: Whether there is a key for a model that the user did not name, and the settings let it be asked.
    """
    named = tuple(name.strip() for name in (asked or "").split(",") if name.strip())
    if named:
        return PinnedChain(models=named, reason="as configured")
    reachable = tuple(name for name in DEFAULT if may_ask(name))
    if reachable:
        told = "the default chain, as far as there are keys and the settings let it be asked"
        return PinnedChain(models=reachable, reason=told)
    return PinnedChain(
        models=(LAST_RESORT,),
        reason="no solver is configured and there is no key for the default chain, or the settings leave it out, so the embedded model judges",
    )
