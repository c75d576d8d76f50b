"""What a docstring says of the order of what comes out: that it rises. Pure.

Tests seldom have what would come out in another order, and a few results that rise may do so by accident.
"""

import re
from typing import Final

_RISING: Final = re.compile(
    r"\b(in order(?! to\b)|sort(s|ed|ing)?|ascending|increasing)\b"
    r"|\b(smaller|smallest|lower|lowest|least)\b[^.]{0,20}\bto\b",
    re.IGNORECASE,
)


def speaks_of_rising(docstring: str) -> bool:
    """Whether a docstring asks for something in order, the least first; where it may ask for the greatest first, too, results say which."""
    return bool(_RISING.search(docstring))
