"""What stands where a secret stood, and how an edit is kept from writing it over one (SPEC F6).

A model is shown `[redacted:<kind>]` in place of a secret. What it writes back has the mark there too, and a file that got
it would have lost its secret without a word.
"""

import re
from collections import Counter
from typing import Final

MARK: Final = re.compile(r"\[redacted:[a-z-]+\]")


def adds_mark(before: str | None, after: str) -> str | None:
    """A mark that stands in `after` more often than in `before` (None: there was no file), or None.

    An edit that adds one must not be written: a secret stood there which its author was not shown.
    """
    more = Counter(MARK.findall(after)) - Counter(MARK.findall(before or ""))
    return next(iter(more), None)
