"""A text of a value that is equal for values that `==` calls equal. Used here and, as source, inside a probe."""

import re
from itertools import islice

MOST_ITEMS = 200
"""Taken from an iterator, which may never end."""
DEEPEST = 6
ADDRESS = re.compile(" at 0x[0-9a-f]+")
"""Where an object lies, which is another place for each."""


def plain(value: object, depth: int = 0) -> str:
    """Numbers without their type, sets and tables in order, iterators as what they give, objects with what they hold; deep values are cut."""
    if depth > DEEPEST:
        return "..."
    if isinstance(value, (bool, int, float)):
        return _number(value)
    text = repr(value)
    if isinstance(value, list):
        text = "[" + ",".join(plain(v, depth + 1) for v in value) + "]"
    elif isinstance(value, tuple):
        text = "(" + "".join(plain(v, depth + 1) + "," for v in value) + ")"
    elif isinstance(value, (set, frozenset)):
        inner = ",".join(sorted(plain(v, depth + 1) for v in value))
        text = "{" + inner + "}" if inner else "set()"
    elif isinstance(value, dict):
        pairs = [plain(k, depth + 1) + ":" + plain(v, depth + 1) for k, v in value.items()]
        text = "{" + ",".join(sorted(pairs)) + "}"
    elif hasattr(value, "__next__") and hasattr(value, "__iter__"):
        text = "iter" + plain(list(islice(value, MOST_ITEMS)), depth + 1)
    elif ADDRESS.search(text):
        text = _object(value, text, depth)
    return text


def _object(value: object, text: str, depth: int) -> str:
    """An object by what it holds in place of where it lies. One that does not show that, such as a function, is like no other."""
    state = getattr(value, "__dict__", None)
    if not isinstance(state, dict) or (callable(value) and not state):
        return text
    return ADDRESS.sub("", text) + plain(state, depth + 1)


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))
    return str(int(value)) if value.is_integer() else format(value, ".9g")
