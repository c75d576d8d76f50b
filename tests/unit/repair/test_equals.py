"""Which of equals a docstring names, and which behaviour gives that one."""

import pytest

from surefoot.execute.repair.equals import meant, prefers
from surefoot.execute.repair.foretelling import word_of_value

FIRST = "The longer one. If both have the same length, return the first."


@pytest.mark.parametrize(
    ("docstring", "which"),
    [
        (FIRST, 1),
        ("The longest. Return the first one in case of multiple strings of the same length.", 1),
        ("Whoever scored most; a tie goes to\nthe earliest.", 1),
        ("Of equal ones the last is kept.", -1),
        ("Return the second if they are equal!", -1),
        ("The first of all values. Equal ones are kept.", 0),
        ("If the first and the last are equal, nothing.", 0),
        ("Ties go to the first. Of the same name the last is kept.", 0),
        ("", 0),
    ],
)
def test_which_of_equals_is_named(docstring: str, which: int) -> None:
    """Only a sentence that speaks of equals says it, and only where no other one says the opposite."""
    assert meant(docstring) == which


def words(*values: object) -> tuple[str, ...]:
    return tuple(map(word_of_value, values))


PAIRS = (("ab", "cd"), ("a", "bcd"), ("xy", "zw"))


@pytest.mark.parametrize(
    ("docstring", "one", "other", "preferred"),
    [
        (FIRST, words("cd", "bcd", "zw"), words("ab", "bcd", "xy"), True),
        (FIRST, words("ab", "bcd", "xy"), words("cd", "bcd", "zw"), False),
        (FIRST, words("ab", "bcd", "zw"), words("cd", "bcd", "xy"), False),
        (FIRST, words("cd", "bcd", "zw"), words("ab", "bcd", "?"), False),
        (FIRST, words("cd", "bcd", "zw"), words("cd", "bcd", "zw"), False),
        (FIRST, words("cd", "bcd"), words("ab", "bcd"), False),
        ("Of equal ones the second.", words("ab", "a", "xy"), words("cd", "a", "zw"), True),
        ("The first.", words("cd", "bcd", "zw"), words("ab", "bcd", "xy"), False),
    ],
)
def test_a_behaviour_is_preferred_where_it_alone_gives_the_one_that_is_named(
    docstring: str, one: tuple[str, ...], other: tuple[str, ...], *, preferred: bool
) -> None:
    """On every input on which they differ; a result that was not given says nothing."""
    assert prefers(docstring, PAIRS, one, other) is preferred


def test_the_items_of_an_only_list_are_looked_at() -> None:
    """A function of one list chooses among them."""
    inputs = ((["ab", "cd"],), (["a"],), ("ab",))
    kept = words("cd", "a", "b"), words("ab", "a", "b")
    assert prefers(FIRST, inputs, *kept)
    assert not prefers(FIRST, inputs, words("cd", "a", "b"), words("ab", "a", "a"))
