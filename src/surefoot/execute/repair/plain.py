"""A text of a value that is equal for values that `==` calls equal. Used here and, as source, inside a probe."""

from itertools import islice

MOST_ITEMS = 200
"""Taken from an iterator, which may never end."""
DEEPEST = 6


def plain(value: object, depth: int = 0) -> str:
    """Numbers without their type, sets and tables in order, iterators as what they give; deep values are cut."""
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
    return text


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(int(value))
    return str(int(value)) if value.is_integer() else format(value, ".9g")
