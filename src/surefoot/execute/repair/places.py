"""What a docstring says of several places that fit: that the first of them is meant, or the last. Pure.

A search from the one end and a search from the other differ where several fit. Tests seldom show such a case, and who
writes the loop takes the first.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from surefoot.execute.repair.foretelling import word_of_value
from surefoot.execute.repair.probe import Words

_PLACE: Final = r"\s+(?:possible\s+)?(?:index|position|place|offset|occurrence)\b"
_FIRST: Final = re.compile(
    rf"\b(first|earliest|smallest|lowest|least|leftmost){_PLACE}", re.IGNORECASE
)
_LAST: Final = re.compile(
    rf"\b(last|latest|largest|highest|greatest|biggest|rightmost){_PLACE}", re.IGNORECASE
)
_MOST: Final = 1_000
"""Generated inputs are shorter than that."""


def meant(docstring: str) -> int:
    """Which of several places a docstring names: 1 the first, -1 the last, 0 when it names none or both."""
    first, last = bool(_FIRST.search(docstring)), bool(_LAST.search(docstring))
    return first - last


def prefers(docstring: str, one: Words, other: Words) -> bool:
    """Whether wherever two behaviours differ both give a place, and the other gives that which the docstring names."""
    which, known = meant(docstring), _places()
    if not which or len(one) != len(other):
        return False
    differing = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
    return bool(differing) and all(
        a in known and b in known and (known[a] - known[b]) * which > 0 for a, b in differing
    )


@cache
def _places() -> Mapping[str, int]:
    """Places by the word that a probe has for each."""
    return {word_of_value(place): place for place in range(_MOST)}
