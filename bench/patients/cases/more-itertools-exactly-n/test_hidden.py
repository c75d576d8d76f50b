"""What the fixed release does, beyond the issue's examples."""

from itertools import count

from more_itertools import exactly_n


def test_other_counts() -> None:
    assert exactly_n([], 0)
    assert not exactly_n([1], 0)
    assert exactly_n([0, 1, 2, 3, 4, 5], 3, lambda x: x < 3)
    assert not exactly_n([1, 1, 1], 2)
    assert not exactly_n([1], 2)
    assert not exactly_n([0, 0], -100)
    items = count(1)
    assert not exactly_n(items, 2)
    assert next(items) == 4
