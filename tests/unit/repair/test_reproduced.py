"""What a new test shows is told in its own words."""

import pytest

from surefoot.execute.repair.reproduce import Reproduced
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
