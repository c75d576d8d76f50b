"""Which of several places a docstring names, which behaviour gives that one, and the edits that search from the other end."""

import pytest

from surefoot.execute.repair.foretelling import word_of_value
from surefoot.execute.repair.mutate import turned
from surefoot.execute.repair.places import meant, prefers
from surefoot.execute.source import parse

LAST = "Return the largest index of an item that is smaller than the one before it, -1 if there is none."


@pytest.mark.parametrize(
    ("docstring", "which"),
    [
        (LAST, -1),
        ("The LAST possible\n    position of a blank.", -1),
        ("The first occurrence of the word.", 1),
        ("Return the lowest index at which it stands.", 1),
        ("From the first index to the last index.", 0),
        ("The largest number of the list, by index.", 0),
        ("", 0),
    ],
)
def test_which_of_several_places_is_named(docstring: str, which: int) -> None:
    """An index, a position, an occurrence; and only where the other end is not named as well."""
    assert meant(docstring) == which


def words(*values: object) -> tuple[str, ...]:
    return tuple(map(word_of_value, values))


@pytest.mark.parametrize(
    ("docstring", "one", "other", "preferred"),
    [
        (LAST, words(1, -1, 2), words(3, -1, 2), True),
        (LAST, words(3, -1, 2), words(1, -1, 2), False),
        (LAST, words(1, 3, 2), words(3, 1, 2), False),
        (LAST, words(1, -1, 2), words(3, 0, 2), False),
        (LAST, words(1, "a", 2), words(3, "b", 2), False),
        (LAST, words(1, -1), words(1, -1), False),
        (
            LAST,
            words(1, -1),
            words(
                3,
            ),
            False,
        ),
        ("The first index of it.", words(3, -1), words(1, -1), True),
        ("An index of it.", words(3, -1), words(1, -1), False),
    ],
)
def test_a_behaviour_is_preferred_where_it_alone_gives_the_place_that_is_named(
    docstring: str, one: tuple[str, ...], other: tuple[str, ...], *, preferred: bool
) -> None:
    """On every input on which they differ; what is no place says nothing."""
    assert prefers(docstring, one, other) is preferred


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("for i in range(1, n):\n    pass\n", ["for i in reversed(range(1, n)):\n    pass\n"]),
        ("for i in reversed(given):\n    pass\n", ["for i in given:\n    pass\n"]),
        ("for x in given.items():\n    pass\n", ["for x in reversed(list(given.items())):\n    pass\n"]),
        ("for x in a, b:\n    pass\n", ["for x in reversed((a, b)):\n    pass\n"]),
        ("n = text.find('a') + other[0].rindex(b)\n", ["n = text.rfind('a') + other[0].rindex(b)\n", "n = text.find('a') + other[0].index(b)\n"]),
        ("while n:\n    n = found(n)\n", []),
    ],
)  # fmt: skip
def test_a_search_is_turned_around(before: str, after: list[str]) -> None:
    """Loops and the methods of a text, one at a time."""
    source = parse("m.py", before)
    assert source is not None
    made = []
    for mutation in turned(source, None):
        (edit,) = mutation.edits
        made.append(before[: edit.start] + edit.text + before[edit.end :])
    assert made == after
