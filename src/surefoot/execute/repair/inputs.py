"""More inputs like those seen: what candidates that pass the known tests are compared on.

An input that no caller would ever give tells right candidates apart for nothing, so what the seen arguments have in common
is kept: types, signs and ranges, kinds of characters, words that are few, lengths that go together, order, items that are all
different. Code errs where two things are the same, which by chance they seldom are, so that some inputs are made to have a value
in two arguments. Pure and deterministic by seed.
"""

import itertools
import random
import re
import string
from collections.abc import Callable, Collection, Iterator, Sequence, Sized
from typing import Final, TypeAlias, TypeVar

Arguments: TypeAlias = tuple[object, ...]
_Value = TypeVar("_Value")

_TRIES: Final = 40
_SHAPE_SAMPLES: Final = 2
_DISTINCT_SAMPLES: Final = 3
"""Rows of several items from which on it is no accident that none holds an item twice."""
_MAX_TEXT: Final = 2_000
_TURNED: Final = 2
"""Seen argument lists that are turned around."""
_NUMBERS: Final = (0, 1, 0.5)
_LEAST: Final = (0, 1)
_MOST_TURNED: Final = 3
"""Numbers up to which all orders of them are few."""
_CLOSED: Final = 5
"""Characters seen for each different one from which on texts hold no others of their kind, as bits hold no 2.

Likewise words for each length that they have, and words for each different one.
"""
_WRITTEN: Final = 3
"""Different words of texts that stand in the code from which on texts may have others that do, where half of all seen ones do; where all of several do, no others."""
_OFTEN: Final = 3
"""How many of the ways to vary a text give it words of the code, where it may have them: about a fifth."""
_SHARING: Final = 4
"""Of so many inputs one has a value in two arguments, where there is such a one."""
_MOST_SHARED: Final = 12
"""Items of an argument that another one is given, and seen argument lists in which one is."""


def like(
    seen: Sequence[Arguments], *, seed: int, count: int, written: Collection[str] = ()
) -> tuple[Arguments, ...]:
    """At most `count` new argument lists that keep what all seen ones have in common; up to a quarter of them have a value in two arguments.

    `written` are texts that stand in the code: where words of the seen ones are among them, others of them are given, too.
    """
    usable = [args for args in seen if args and len(repr(args)) <= _MAX_TEXT]
    if not usable:
        return ()
    chance = random.Random(seed)  # noqa: S311  # inputs, not secrets
    common = _Common(usable, written)
    known = {repr(args) for args in seen}
    shared = {repr(a): a for a in common.shared(chance) if common.holds(a)}
    fresh = [args for key, args in shared.items() if key not in known]
    made = chance.sample(fresh, k=min(len(fresh), count // _SHARING))
    known.update(map(repr, made))
    for _ in range(count * _TRIES):
        if len(made) == count:
            break
        args = common.vary(chance)
        if repr(args) not in known and common.holds(args):
            known.add(repr(args))
            made.append(args)
    return tuple(made)


def small_ones(seen: Sequence[Arguments]) -> tuple[Arguments, ...]:
    """The first seen argument list with each text, list, tuple, set or table in turn empty, then with all of them empty.

    Likewise with one item in texts, lists and tuples. A length that was seen at a place is left out, and what holds between the
    arguments of all seen ones holds here too. `like` gives no such input, since a caller may never give one: who uses these
    asks the unchanged code whether it answers.
    """
    found: list[Arguments] = []
    for args in seen[:1]:
        others = [other for other in seen if len(other) == len(args)]
        rules = _kept_relations(others)
        for length in (0, 1):
            for cut in _cuts(args, others, length):
                made = tuple(_first(v, length) if n in cut else v for n, v in enumerate(args))
                if all(rule(made) for rule in rules):
                    found.append(made)
    return tuple(found)


def unusual(seen: Sequence[Arguments]) -> tuple[Arguments, ...]:
    """Seen arguments that are all numbers in every other order, and the first ones with each whole number in turn 0, 1 and a half.

    Likewise the first number of each list. That the shown calls keep an order, or have no 0 and only whole numbers, may say
    what callers give or nothing at all.
    """
    known = {repr(args) for args in seen}
    found: dict[str, Arguments] = {}
    for args in seen[:_TURNED]:
        if 1 < len(args) <= _MOST_TURNED and all(type(a) in (int, float) for a in args):
            found |= {repr(made): made for made in itertools.permutations(args)}
    for args in seen[:1]:
        for place, value in enumerate(args):
            near = ((*args[:place], other, *args[place + 1 :]) for other in _beside(value))
            found |= {repr(made): made for made in near}
    return tuple(made for key, made in found.items() if key not in known)


def least_ones(seen: Sequence[Arguments]) -> tuple[Arguments, ...]:
    """Where a few whole numbers are all that is given, each way to give 0 and 1."""
    for args in seen[:1]:
        if len(args) <= _MOST_TURNED and all(type(a) is int for a in args):
            return tuple(itertools.product(_LEAST, repeat=len(args)))
    return ()


def strange(seen: Sequence[Arguments]) -> tuple[Arguments, ...]:
    """The first seen argument lists with each argument in turn as tests seldom give it, and of the same kind.

    Numbers with the other sign; lists of one item, of one item again and again, turned around, and of numbers with the other
    sign; texts turned around, in capitals and in small letters, with blanks around them and of one character. Whoever
    writes a function from its docstring has thought of some of them, and a caller may give any.
    """
    known = {repr(args) for args in seen}
    found: dict[str, Arguments] = {}
    for args in seen[:_TURNED]:
        for place, value in enumerate(args):
            near = ((*args[:place], other, *args[place + 1 :]) for other in _unlike(value))
            found |= {repr(made): made for made in near}
    return tuple(made for key, made in found.items() if key not in known)


def _unlike(value: object) -> Iterator[object]:
    match value:
        case bool():
            yield not value
        case int() | float():
            yield -value
        case str():
            yield from (value[::-1], value.upper(), value.lower(), f" {value} ", value[:1])
        case list() | tuple():
            yield from map(type(value), _unlike_items(list(value)))
        case _:
            return


def _unlike_items(items: list[object]) -> Iterator[Sequence[object]]:
    numbers = [n for n in items if isinstance(n, int | float) and not isinstance(n, bool)]
    if numbers and len(numbers) == len(items):
        yield from ([n] for n in (0, 1, -1))
        yield [-n for n in numbers]
    if items:
        yield from (items[::-1], items[:1], items[:1] * len(items))


def _beside(value: object) -> Iterator[object]:
    """A whole number, or a list that begins with one, with other numbers in its place."""
    if type(value) is int:
        yield from _NUMBERS
    elif isinstance(value, list) and value and type(value[0]) is int:
        yield from ([number, *value[1:]] for number in _NUMBERS)


def _cuts(args: Arguments, others: Sequence[Arguments], length: int) -> list[list[int]]:
    """Places at which no argument of this length was seen, each for itself and then all together."""
    kinds = str | list | tuple if length else str | list | tuple | set | dict
    places = [
        place
        for place, value in enumerate(args)
        if isinstance(value, kinds) and all(_length(other[place]) != length for other in others)
    ]
    return [*([place] for place in places), *([places] if len(places) > 1 else [])]


def _length(value: object) -> int | None:
    return len(value) if isinstance(value, Sized) else None


def _first(value: object, count: int) -> object:
    """The first items of a text, list or tuple; an empty set or table."""
    return value[:count] if isinstance(value, str | list | tuple) else type(value)()


# --- what the seen ones have in common -----------------------------------------------------------


class _Common:
    """Facts that hold for all seen argument lists of the most frequent length."""

    def __init__(self, seen: Sequence[Arguments], written: Collection[str]) -> None:
        lengths = [len(args) for args in seen]
        length = max(sorted(set(lengths)), key=lengths.count)
        self._seen = [args for args in seen if len(args) == length]
        columns = [[args[place] for args in self._seen] for place in range(length)]
        self._columns = [_Kind(column, written) for column in columns]
        self._rules = _kept_relations(self._seen)

    def vary(self, chance: random.Random) -> Arguments:
        args = list(chance.choice(self._seen))
        places = chance.sample(range(len(args)), k=chance.choice([1, len(args)]))
        for place in places:
            for _ in range(chance.choice([1, 1, 2, 3])):
                args[place] = self._columns[place].vary(args[place], chance)
        return tuple(args)

    def shared(self, chance: random.Random) -> Iterator[Arguments]:
        """Seen argument lists in which one argument gets what another one is, holds, or is long."""
        for args in _some(self._seen, chance):
            for there, here in itertools.permutations(range(len(args)), 2):
                for value in _values_of(args[there], chance):
                    for other in self._columns[here].with_value(args[here], value, chance):
                        yield (*args[:here], other, *args[here + 1 :])

    def holds(self, args: Arguments) -> bool:
        fit = all(kind.holds(value) for kind, value in zip(self._columns, args, strict=True))
        return fit and all(rule(args) for rule in self._rules)


def _values_of(value: object, chance: random.Random) -> Iterator[object]:
    """A value, how many items it has, and some of them."""
    yield value
    if isinstance(value, str | list | tuple):
        yield len(value)
    if isinstance(value, list | tuple):
        yield from _some(value, chance)


def _some(values: Sequence[_Value], chance: random.Random) -> list[_Value]:
    return chance.sample(values, k=min(len(values), _MOST_SHARED))


def _kept_relations(seen: Sequence[Arguments]) -> list[Callable[[Arguments], bool]]:
    """Relations that hold in all of several argument lists of one length."""
    if len(seen) < _SHAPE_SAMPLES:
        return []
    return [rule for rule in _relations(len(seen[0])) if all(rule(args) for args in seen)]


def _relations(length: int) -> list[Callable[[Arguments], bool]]:
    """Relations between two arguments that callers often keep."""
    rules: list[Callable[[Arguments], bool]] = []
    for a in range(length):
        for b in range(length):
            if a != b:
                rules.extend((_le(a, b), _le_length(a, b)))
                if a < b:
                    rules.append(_same_length(a, b))
    return rules


def _le(a: int, b: int) -> Callable[[Arguments], bool]:
    def rule(args: Arguments) -> bool:
        x, y = args[a], args[b]
        return isinstance(x, int | float) and isinstance(y, int | float) and x <= y

    return rule


def _le_length(a: int, b: int) -> Callable[[Arguments], bool]:
    def rule(args: Arguments) -> bool:
        x, y = args[a], args[b]
        return isinstance(x, int) and isinstance(y, list | str | tuple) and x <= len(y)

    return rule


def _same_length(a: int, b: int) -> Callable[[Arguments], bool]:
    def rule(args: Arguments) -> bool:
        x, y = args[a], args[b]
        return (
            isinstance(x, list | str | tuple)
            and isinstance(y, list | str | tuple)
            and len(x) == len(y)
        )

    return rule


class _Kind:
    """What the values at one place have in common."""

    def __init__(self, values: Sequence[object], written: Collection[str] = ()) -> None:
        self._values = list(values)
        self._types = {type(v) for v in values}
        numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
        self._low = min(numbers, default=0)
        self._high = max(numbers, default=0)
        texts = [v for v in values if isinstance(v, str)]
        self._letters = _Letters("".join(texts))
        self._shapes = {_skeleton(t) for t in texts}
        self._tidy = all(t == " ".join(t.split()) for t in texts)
        self._balanced = all(_balanced(t) for t in texts)
        words = [word for t in texts for word in t.split(" ")]
        lengths = {len(word) for word in words}
        closed = len(words) >= _CLOSED * max(1, len(lengths)) and any(" " in t for t in texts)
        self._word_lengths = lengths if closed else None
        few = {*words}
        known = (few & {*written}) - {""}
        told = len(known) >= max(_WRITTEN, len(few - {""}) / 2)
        self._written = sorted(w for w in written if w.split() == [w]) if told else []
        self._words = few if len(few) > 1 and len(words) >= _CLOSED * len(few) else None
        if self._written and len(words) >= _CLOSED and known == few - {""}:
            self._words = {*self._written}
        rows = [v for v in values if isinstance(v, list | tuple)]
        self._lengths = {len(v) for v in rows} | {len(t) for t in texts}
        items = [x for v in rows for x in v]
        self._items = _Kind(items, written) if items else None
        long = [v for v in rows if len(v) > 1]
        several = len(long) >= _SHAPE_SAMPLES
        self._ordered = several and all(_ordered(v) for v in long)
        self._distinct = len(long) >= _DISTINCT_SAMPLES and all(_distinct(v) for v in long)
        self._fixed_length = len({len(v) for v in rows}) == 1 and len(rows) > _SHAPE_SAMPLES
        self._empty = any(not v for v in rows) or "" in texts

    def holds(self, value: object) -> bool:
        if type(value) not in self._types:
            return False
        if isinstance(value, bool) or value is None:
            return True
        if isinstance(value, int | float):
            return self._low <= value <= max(self._high, self._low + 12)
        if isinstance(value, str):
            return self._text_holds(value)
        return self._row_holds(value) if isinstance(value, list | tuple) else bool(value)

    def _text_holds(self, value: str) -> bool:
        if not value and not self._empty:
            return False
        if (self._tidy and value != " ".join(value.split())) or (
            self._balanced and not _balanced(value)
        ):
            return False
        words = {*value.split(" ")} if value else set()
        if self._words is not None and not words <= self._words:
            return False
        if self._word_lengths is not None and not {*map(len, words)} <= self._word_lengths:
            return False
        return len(self._shapes) > 1 or _skeleton(value) in self._shapes or self._shapes == {"a"}

    def _row_holds(self, value: Sequence[object]) -> bool:
        if not value and not self._empty:
            return False
        if self._fixed_length and len(value) not in self._lengths:
            return False
        if (self._ordered and not _ordered(value)) or (self._distinct and not _distinct(value)):
            return False
        return self._items is None or all(self._items.holds(x) for x in value)

    def with_value(self, value: object, other: object, chance: random.Random) -> Iterator[object]:
        """Another value of the same type in the place of one, and in that of one of its items."""
        if type(value) is type(other) and not isinstance(value, bool):
            yield other
        if isinstance(value, list | tuple) and value:
            place = chance.randrange(len(value))
            if type(value[place]) is type(other):
                row = [*value[:place], other, *value[place + 1 :]]
                row = _sorted(row) if self._ordered else row
                yield row if isinstance(value, list) else tuple(row)

    def vary(self, value: object, chance: random.Random) -> object:
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return self._number(value, chance)
        if isinstance(value, float):
            low, high = float(self._low), float(max(self._high, self._low + 1))
            near = chance.choice([chance.uniform(low, high), value + 0.5, value - 0.5])
            return round(near, chance.choice([0, 1, 2]))
        if isinstance(value, str):
            return self._text(value, chance)
        if isinstance(value, list | tuple):
            row = self._row(list(value), chance)
            return row if isinstance(value, list) else tuple(row)
        table = self._table(value, chance) if isinstance(value, dict) else None
        return chance.choice(self._values) if table is None else table

    def _number(self, value: int, chance: random.Random) -> int:
        low, high = int(self._low), int(max(self._high, self._low + 12))
        return chance.choice(
            [
                value + 1,
                value - 1,
                value + 2,
                chance.randint(low, high),
                chance.randint(low, min(high, low + 12)),
            ]
        )

    def _text(self, value: str, chance: random.Random) -> str:
        other = chance.choice([v for v in self._values if isinstance(v, str)])
        place = chance.randrange(len(value)) if value else 0
        char = value[place : place + 1]
        words = value.split(" ")
        word = chance.randrange(len(words))
        options = [
            value[:place] + self._letters.like(char, chance) + value[place + 1 :],
            value[:place] + value[place + 1 :],
            value[:place] + char + value[place:],
            value[::-1],
            value[:place],
            value[place:],
            "".join(chance.sample(value, len(value))),
            " ".join(chance.sample(words, len(words))),
            " ".join([*words[:word], *words[word + 1 :]]),
            " ".join([*words, words[word]]),
            value.swapcase() if self._letters.lower and self._letters.upper else value,
            value[:place] + other,
            other,
        ]
        if self._written:
            some = [chance.choice([w, *self._written]) for w in words]
            options += [" ".join(some)] * _OFTEN
        return chance.choice(options)

    def _row(self, value: list[object], chance: random.Random) -> list[object]:
        rows = [v for v in self._values if isinstance(v, list | tuple)]
        other = list(chance.choice(rows))
        if not value:
            return other[:1]
        place = chance.randrange(len(value))
        changed = list(value)
        if self._items is not None:
            changed[place] = self._items.vary(value[place], chance)
        if self._fixed_length:
            return chance.choice([changed, chance.sample(value, len(value))])
        options: list[list[object]] = [
            changed,
            changed,
            value[:place] + value[place + 1 :],
            [*value[:place], value[place], *value[place:]],
            value[::-1],
            chance.sample(value, len(value)),
            value[:place],
            value + other[:2],
            [*value, *changed[place : place + 1]],
        ]
        row = chance.choice(options)
        return _sorted(row) if self._ordered else row

    def _table(self, value: dict[object, object], chance: random.Random) -> dict[object, object]:
        if not value:
            return value
        key = chance.choice(list(value))
        rest = {k: v for k, v in value.items() if k != key}
        values = _Kind([v for t in self._values if isinstance(t, dict) for v in t.values()])
        return chance.choice([rest, {**value, key: values.vary(value[key], chance)}])


def _skeleton(text: str) -> str:
    """The kinds of characters in a text: runs of letters are `a`, of digits `9`, of white space one blank."""
    text = re.sub(r"[A-Za-z]+", "a", text)
    text = re.sub(r"\d+", "9", text)
    return re.sub(r"\s+", " ", text)


def _balanced(text: str) -> bool:
    """Whether its brackets close in order."""
    open_ = []
    for char in text:
        if char in "([{":
            open_.append(char)
        elif char in ")]}" and (not open_ or "([{".index(open_.pop()) != ")]}".index(char)):
            return False
    return not open_


class _Letters:
    """The characters of all seen texts, by kind."""

    def __init__(self, text: str) -> None:
        self.digits = [c for c in text if c in string.digits]
        self.lower = [c for c in text if c.islower()]
        self.upper = [c for c in text if c.isupper()]
        self.others = sorted({c for c in text if not c.isalnum()})

    def like(self, char: str, chance: random.Random) -> str:
        """Another character of the kind of `char`; one of the seen ones where they are so few, so often, that it is no accident."""
        if char.isdigit():
            return chance.choice(_choices(self.digits, string.digits))
        if char.islower():
            return chance.choice(_choices(self.lower, string.ascii_lowercase))
        if char.isupper():
            return chance.choice(_choices(self.upper, string.ascii_uppercase))
        return chance.choice(self.others) if self.others else char


def _choices(seen: Sequence[str], usual: str) -> list[str]:
    own = sorted(set(seen))
    return own if own and len(seen) >= _CLOSED * len(own) else [*usual, *own, *own]


def _sorted(row: Sequence[object]) -> list[object]:
    """Ascending when the items can be compared, else as given."""
    numbers = [x for x in row if isinstance(x, int | float)]
    texts = [x for x in row if isinstance(x, str)]
    if len(numbers) == len(row):
        return list[object](sorted(numbers))
    return list[object](sorted(texts)) if len(texts) == len(row) else list(row)


def _comparable(row: Sequence[object]) -> bool:
    return all(isinstance(x, int | float) for x in row) or all(isinstance(x, str) for x in row)


def _distinct(row: Sequence[object]) -> bool:
    return len({repr(item) for item in row}) == len(row)


def _ordered(row: Sequence[object]) -> bool:
    return _comparable(row) and list(row) == _sorted(row)


def holds_text(value: object) -> bool:
    """Whether there is a text anywhere in a value."""
    if isinstance(value, str | bytes):
        return True
    if isinstance(value, dict):
        return any(holds_text(part) for pair in value.items() for part in pair)
    return isinstance(value, list | tuple | set | frozenset) and any(map(holds_text, value))
