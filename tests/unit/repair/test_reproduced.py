"""What a new test shows is told in its own words."""

import pytest

from surefoot.execute.repair.reproduce import Reproduced, keeps_to_issue
from surefoot.execute.source import parse, units
from surefoot.values import FileEdit, TestOutcome, TestResult

HEAD = "import pytest\nfrom shop import total\n\n\n"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("assert total([1]) == 1", "assert total([1]) == 1"),
        (
            "with pytest.raises(ValueError):\n        total(None)",
            "with pytest.raises(ValueError): total(None)",
        ),
        ("total([])  # must not raise IndexError", "total([])"),
        ("total([])\n\n\ndef helper():\n    assert total", "total([])"),
        ('"""As reported."""\n    paid = total([])\n    paid.close()', "paid = total([])"),
        (
            "for n in (1, 2):\n        assert total([n]) == n\n    assert total([]) == 0",
            "assert total([n]) == n",
        ),
        ("n = [1]\n    pytest.raises(ValueError, total, n)", "pytest.raises(ValueError, total, n)"),
        ("n = []\n    total(n)", "total(n)"),
        ("n = []\n    for one in n:\n        n.pop()", "for one in n: n.pop()"),
        ("n = []\n    n[0]", "n = []"),
        ("def check(n):\n        assert total([n]) == n\n\n    check(1)", "check(1)"),
        ("class Cart:\n        assert total\n\n    assert total([Cart])", "assert total([Cart])"),
        ("told = 'raises()'\n    repr('raises(')\n    assert total([])", "assert total([])"),
        ('"""As reported."""', ""),
    ],
)
def test_what_a_test_expects_first_is_told(body: str, told: str) -> None:
    """In the order of the source: an `assert`, a `raises`, else its first call, else its first statement; of the failing test, not of what helps it."""
    text = f"{HEAD}def test_total():\n    {body}\n"
    result = TestResult(test_id="tests/test_total.py::test_total", outcome=TestOutcome.FAILED)
    edit = FileEdit(path="tests/test_total.py", text=text)
    assert Reproduced(edit=edit, failing=(result,), how="model").told == told


@pytest.mark.parametrize(
    ("expected", "kept"),
    [
        ("3", True),
        ("total([1]) + 3", True),
        ("[3, 4]", True),
        ("0", True),
        ("'paid'", True),
        ("9", False),
        ("-9", False),
        ("-3", False),
        ("5", False),
        ("pytest.approx(9.5)", False),
        ("pytest.approx(3)", True),
        ("[1][0] + 8", False),
        ("float('3.5')", False),
        ("'due'", False),
    ],
)
def test_a_test_expects_what_the_issue_says(expected: str, *, kept: bool) -> None:
    """Also behind a sign, inside `approx` and in a sum; a digit of another number is not said."""
    source = parse("shop.py", "def total(values):\n    return values\n")
    assert source is not None
    (unit,) = units(source)
    issue = 'On line 15 `total([1])` gives 4, and not 3. Then the list [3, 4] is "paid".'
    test = f"def test_total():\n    assert total([1]) == {expected}\n"
    assert keeps_to_issue(test, unit, issue) is kept
