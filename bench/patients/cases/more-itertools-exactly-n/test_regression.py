"""No iterable has a negative number of true items."""

from more_itertools import exactly_n


def test_negative_is_never_exact() -> None:
    assert exactly_n([True, False], -5) is False
    assert exactly_n([], -2) is False
    assert exactly_n([True], -1) is False
