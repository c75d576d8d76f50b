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


def pinned_chain(asked: str | None, has_key: Callable[[str], bool]) -> PinnedChain:
    """The judges of a run.

    Args:
        asked: What the user configured: a model, or several with commas between.
        has_key: Whether there is a credential for the provider of a model that the user did not name.
    """
    named = tuple(name.strip() for name in (asked or "").split(",") if name.strip())
    if named:
        return PinnedChain(models=named, reason="as configured")
    reachable = tuple(name for name in DEFAULT if has_key(name.partition("/")[0]))
    if reachable:
        return PinnedChain(models=reachable, reason="the default chain, as far as there are keys")
    return PinnedChain(
        models=(LAST_RESORT,),
        reason="no solver is configured and there is no key for the default chain, so the embedded model judges",
    )
