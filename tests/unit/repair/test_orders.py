"""Which docstrings speak of rising order."""

import pytest

from surefoot.execute.repair.orders import speaks_of_rising


@pytest.mark.parametrize(
    ("docstring", "speaks"),
    [
        ("Return them in order (smaller number, larger number).", True),
        ("A Sorted list of the items of both.", True),
        ("Its factors, from smallest to largest.", True),
        ("All numbers between, in ascending order.", True),
        ("Go through the list in order to find the sum.", False),
        ("Keep the order of the items.", False),
        ("The smallest number. Add one to it.", False),
        ("Of assorted colours.", False),
        ("", False),
    ],
)
def test_a_docstring_that_speaks_of_rising_order(docstring: str, *, speaks: bool) -> None:
    """Not one that names an order and not which, and none that does something in order to do another."""
    assert speaks_of_rising(docstring) is speaks
