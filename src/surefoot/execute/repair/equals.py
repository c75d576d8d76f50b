"""What a docstring says of equals: that the first of them is meant, or the last. Pure.

`<` and `<=` differ on equals alone. Tests seldom give any, and who writes the line seldom thinks of them.
"""

import re
from collections.abc import Sequence
from typing import Final

from surefoot.execute.repair.foretelling import word_of_value
from surefoot.execute.repair.inputs import Arguments
from surefoot.execute.repair.probe import Words

_SENTENCE: Final = re.compile(r"(?<=[.;!?])\s|\n\s*\n")
_EQUAL: Final = re.compile(
    r"\b(same|equal(ly)?|equals|identical|ties?|tied|in case of (multiple|several))\b",
    re.IGNORECASE,
)
_FIRST: Final = re.compile(r"\b(first|earliest|former)\b", re.IGNORECASE)
_LAST: Final = re.compile(r"\b(last|latest|latter|second)\b", re.IGNORECASE)


def meant(docstring: str) -> int:
    """Which of equals a docstring names: 1 the first, -1 the last, 0 when it names none or both."""
    told = {
        (1 if first else -1)
        for sentence in _SENTENCE.split(docstring)
        if _EQUAL.search(sentence)
        for first in [bool(_FIRST.search(sentence))]
        if first != bool(_LAST.search(sentence))
    }
    return told.pop() if len(told) == 1 else 0


def prefers(docstring: str, inputs: Sequence[Arguments], one: Words, other: Words) -> bool:
    """Whether wherever two behaviours differ both give what they were given, and the other gives that which the docstring names."""
    which = meant(docstring)
    if not which or len(one) != len(inputs) or len(other) != len(inputs):
        return False
    differing = [n for n in range(len(inputs)) if one[n] != other[n]]
    places = [(_place(one[n], inputs[n]), _place(other[n], inputs[n])) for n in differing]
    return bool(places) and all(
        a is not None and b is not None and (a - b) * which > 0 for a, b in places
    )


def _place(word: str, arguments: Arguments) -> int | None:
    """Which of the arguments, or of the items of the only one, a word tells of; None when none of them."""
    given = arguments
    if len(arguments) == 1:
        given = tuple(arguments[0]) if isinstance(arguments[0], list | tuple) else ()
    words = [word_of_value(value) for value in given]
    return words.index(word) if word in words else None
