"""What all known results of a function have in common with its arguments. Used here and, as source, inside a probe, by old interpreters too.

A few plain relations of a list or a text with what is made of it. Ernst et al., "Dynamically discovering likely program
invariants to support program evolution" (2001), find many more in many more runs; of a few calls only these are no accident.
"""

from collections import Counter

ENOUGH = 3
"""Different arguments for which a relation has to say something before it is kept."""
ENOUGH_TOLD = 2
"""The same for rising order, where a docstring speaks of it."""
RISING = "is in rising order"
SEARCHED = 6
"""Lists in lists that are searched for an infinity. A probe has one namespace for this and `plain`, whose `DEEPEST` is another."""


def relations(arguments: "tuple[object, ...]", result: object) -> "dict[tuple[str, int], bool]":
    """Of what could be asked of these arguments, in words and by an argument's place, whether it holds.

    Of several arguments of one kind none is looked at: a few calls do not say which of them is meant.
    """
    if hasattr(result, "__next__"):
        return {}
    kinds = [type(argument) for argument in arguments]
    told = {
        (words, place): holds
        for place, given in enumerate(arguments)
        if kinds.count(type(given)) == 1
        for words, holds in _between(given, result).items()
    }
    if arguments:
        if _is_finite(arguments):
            # What a search for the least begins with, and gives where there is nothing to search.
            told["has no infinity", 0] = _is_finite(result)
        told[RISING, 0] = _rises(result)
    return told


def _is_finite(value: object, depth: int = 0) -> bool:
    """Whether no number in a value is infinite or none at all; what lies deep is not looked at."""
    if isinstance(value, float):
        return value - value == 0
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, (list, tuple, set, frozenset)) or depth > SEARCHED:
        return True
    return all(_is_finite(v, depth + 1) for v in value)


def _rises(value: object) -> bool:
    """Whether no number in a row of them is less than the one before it; what is no such row does not fall."""
    numbers = _numbers(value)
    return numbers == sorted(numbers)


def _numbers(value: object) -> "list[float]":
    """The items of a list or tuple of numbers, and none of anything else."""
    if isinstance(value, (list, tuple)) and all(type(v) in (int, float) for v in value):
        return list(value)
    return []


def _between(given: object, result: object) -> "dict[str, bool]":
    if type(given) is int and given >= 0:
        return {"has {} items": isinstance(result, (list, tuple, str)) and len(result) == given}
    if not isinstance(given, (list, tuple, str)) or not given:
        return {}
    before = _items(given)
    after = None
    if isinstance(result, (list, tuple, str)) and type(result) is type(given):
        after = _items(result)
    return {
        "is one of the items of {}": not _items([result]) - before,
        "counts items of {}": type(result) is int and 0 <= result <= len(given),
        "has as many items as {}": after is not None and sum(after.values()) == len(given),
        "has no other items than {}": after is not None and not after - before,
        "has the items of {}": after == before,
    }


def _items(values: "list[object] | tuple[object, ...] | str") -> "Counter[object]":
    """How often each item is there; 1 and 1.0 are one."""
    return Counter(v if isinstance(v, (int, float, str)) else repr(v) for v in values)


def _orders(arguments: "tuple[object, ...]", result: object) -> bool:
    """Whether it is no accident that a result rises: it has different numbers, and not all lists that are given rise already."""
    rows = [a for a in arguments if isinstance(a, (list, tuple)) and len(a) > 1]
    return len({*_numbers(result)}) > 1 and not (rows and all(map(_rises, rows)))


def _says(given: object, result: object) -> bool:
    """Whether a relation that holds between these is no accident: of a single item, or of nothing, nearly all hold."""
    if isinstance(result, (list, tuple, str)) and not result:
        return False
    return not isinstance(given, (list, tuple, str)) or len(given) > 1


def kept_of(
    calls: "list[tuple[tuple[object, ...], object]]", *, rising: bool = False
) -> "tuple[tuple[str, int], ...]":
    """What holds in all of these calls, arguments and result, and says something in enough of them.

    `rising` is whether a docstring speaks of rising order.
    """
    told = [relations(arguments, result) for arguments, result in calls]
    kept = []
    for words, place in told[0] if told else ():
        if not all(of_call.get((words, place)) for of_call in told):
            continue
        if words == RISING:
            said = {repr(a) for a, result in calls if _orders(a, result)}
        else:
            said = {repr(a[place]) for a, result in calls if _says(a[place], result)}
        if len(said) >= (ENOUGH_TOLD if rising and words == RISING else ENOUGH):
            kept.append((words, place))
    return tuple(kept)


def broken(
    kept: "tuple[tuple[str, int], ...]", arguments: "tuple[object, ...]", result: object
) -> int:
    """Place of the first of what was kept that does not hold here, -1 without any; what cannot be asked holds."""
    told = relations(arguments, result)
    return next((n for n, relation in enumerate(kept) if not told.get(relation, True)), -1)
