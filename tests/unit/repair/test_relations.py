"""What all known results have in common with their arguments, and whether another result has it."""

import pytest

from surefoot.execute.repair.relations import broken, kept_of

MAXIMUM = [
    (([-3, -4, 5], 3), [-4, -3, 5]),
    (([4, -4, 4], 2), [4, 4]),
    (([1, 0, 5, -7], 1), [5]),
]
"""The largest `k` of a list, sorted."""
FINITE = ("has no infinity", 0)
RISING = ("is in rising order", 0)


def test_what_holds_of_all_and_says_something_is_kept() -> None:
    """Three calls keep what a result has of a list and of a number; two, or three with one number, do not."""
    other, many = ("has no other items than {}", 0), ("has {} items", 1)
    assert kept_of(MAXIMUM) == (other, many, FINITE)
    assert kept_of(MAXIMUM[:2]) == ()
    assert kept_of([*MAXIMUM[:2], (([7, 1, 2], 2), [2, 7])]) == (other, FINITE)
    assert kept_of([*MAXIMUM, (([2, 1], 2), [1, 1])]) == (many, FINITE)


def test_a_result_that_breaks_it_is_told() -> None:
    """None of the items where none was asked for; what cannot be asked of the arguments is not broken."""
    kept = kept_of(MAXIMUM)
    assert broken(kept, ([3, 1], 0), []) == -1
    assert broken(kept, ([3, 1], 0), [1, 3]) == 1
    assert broken(kept, ([3, 1], 1), [4]) == 0
    assert broken(kept, ([3, 1], 1), None) == 0
    assert broken(kept, ([3, 1], 0.5), [3]) == -1
    assert broken(kept, ([], 1), [9]) == -1


def test_of_two_lists_none_is_looked_at() -> None:
    """That it is the second one three times does not say that it has to be."""
    calls = [(([1, n], [n, 2]), [n, 2]) for n in range(3, 7)]
    assert kept_of(calls) == (FINITE,)


def test_an_infinity_that_no_known_result_holds_is_told() -> None:
    """A search for the least gives what it began with where there is nothing to search; where one is given, or known, nothing is said."""
    pluck = [(([4, 2, n],), [2, 1]) for n in (3, 5, 7)]
    kept = kept_of(pluck)
    told = kept.index(FINITE)
    inf, nan = float("inf"), float("nan")
    assert [broken(kept, ([7, 9],), r) for r in ([7, 9], [inf, -1], [nan, 1], [7, -inf])] == [
        -1,
        told,
        told,
        told,
    ]
    assert broken((FINITE,), ([7, 9],), {"least": [(inf,)]}) == 0
    assert broken((FINITE,), ([7, inf],), [inf]) == -1
    assert FINITE not in kept_of([*pluck, (([9, 9],), inf)])


PAIRS = [(([5, 1, n],), (n, n + 1)) for n in (3, 7, 9)]
"""Lists in no order, and a pair that rises."""


@pytest.mark.parametrize(
    ("calls", "rising", "kept"),
    [
        (PAIRS, False, True),
        (PAIRS[:2], False, False),
        (PAIRS[:2], True, True),
        (PAIRS[:1], True, False),
        ([*PAIRS, (([4, 2],), (2, 2)), (([],), None)], False, True),
        ([*PAIRS, (([4, 2],), (2, 1))], True, False),
        ([(([1, 2, n],), (n, n + 1)) for n in (3, 7, 9)], True, False),
        ([(([5, 1, n],), (n, n)) for n in (3, 7, 9)], True, False),
        ([(([5, 1, n],), ("a", f"b{n}")) for n in (3, 7, 9)], True, False),
        ([((n,), [1, n]) for n in (3, 7, 9)], False, True),
    ],
)
def test_rising_order_is_kept_where_it_is_no_accident(
    calls: list[tuple[tuple[object, ...], object]], *, rising: bool, kept: bool
) -> None:
    """Of different numbers, from what does not rise itself; three calls say so, or two and the docstring."""
    assert (RISING in kept_of(calls, rising=rising)) is kept


def test_a_row_that_falls_breaks_rising_order() -> None:
    """What is no row of numbers does not fall."""
    given = ([5, 1],)
    results = ((1, 5), [5, 1], (1, 1), (5, "1"), [], None, [True, False])
    assert [broken((RISING,), given, r) for r in results] == [-1, 0, -1, -1, -1, -1, -1]


def test_of_a_single_item_or_of_nothing_no_relation_says_anything() -> None:
    """Then nearly all of them hold."""
    assert kept_of([(([n],), [n]) for n in range(5)]) == ()
    assert kept_of([((f"{n}x",), "") for n in range(5)]) == ()


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([(([n, 1, 2],), [2.0, n, True]) for n in range(3, 7)], "has the items of {}"),
        ([(([n, 1, 2],), n) for n in range(13, 17)], "is one of the items of {}"),
        ([(("ab" * n,), n) for n in range(1, 5)], "counts items of {}"),
        ([(([1] * n,), [2] * n) for n in range(1, 6)], "has as many items as {}"),
    ],
)
def test_each_relation(calls: list[tuple[tuple[object, ...], object]], told: str) -> None:
    """A list put in order, an item, a count, and a list made of a list."""
    assert (told, 0) in kept_of(calls)
    assert broken(kept_of(calls), calls[-1][0], [object()] * 9) == 0


def test_a_generator_is_not_looked_at() -> None:
    """To look at its items would use them up."""
    kept = kept_of([(([n, 1, 2],), [2, n, 1]) for n in range(3, 7)])
    given = iter([1])
    assert broken(kept, ([3, 4],), given) == -1
    assert list(given) == [1]
