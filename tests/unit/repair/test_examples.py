"""Examples in docstrings, issues and tests."""

from collections.abc import Iterable

import pytest

from surefoot.execute.repair.examples import (
    Example,
    arguments_of,
    from_docstring,
    from_issue,
    from_tests,
)
from surefoot.execute.source import parse


def pairs(examples: Iterable[Example]) -> list[tuple[str, str | None]]:
    return [(e.call, e.expected) for e in examples]


@pytest.mark.parametrize(
    ("text", "call", "expected"),
    [
        (">>> f(1, 2)\n3\n", "f(1, 2)", "3"),
        ("f(1) => 2", "f(1)", "2"),
        ("f(1) ==> 2", "f(1)", "2"),
        ("f([1, 2]) -> [2, 1]", "f([1, 2])", "[2, 1]"),
        ("f('a(b') ➞ 'x'", "f('a(b')", "'x'"),
        ("f(1) == True", "f(1)", "True"),
        ("f(1) => false", "f(1)", "False"),
        ('f("a   b") == "a-b"', 'f("a   b")', '"a-b"'),
        ("f([1,\n      2]) == 3", "f([1, 2])", "3"),
        ("f(1) = 2.5", "f(1)", "2.5"),
        ("f(19) should return 2.", "f(19)", "2"),
        ("f(1) returns (1, 'a') since it can.", "f(1)", "(1, 'a')"),
        ("f({'a': 1})  # => {'a': 2}", "f({'a': 1})", "{'a': 2}"),
        ("f(1) # returns 'x, y'", "f(1)", "'x, y'"),
        ("f(5) -> 19 - 5 - 6 = 8", "f(5)", "8"),
        ("f(5) -> [1] + [2] = [1, 2]", "f(5)", "[1, 2]"),
        ("f(5) -> (1, 2)", "f(5)", "(1, 2)"),
        ("f(5) returns [1, 5] # of 5, 16 and 8", "f(5)", "[1, 5]"),
        ("f(5) returns 'a # b'  # a text", "f(5)", "'a # b'"),
    ],
)
def test_docstring_examples(text: str, call: str, expected: str) -> None:
    """The spellings in which docstrings tell what a call gives."""
    assert pairs(from_docstring(text, "f")) == [(call, expected)]


@pytest.mark.parametrize(
    "text",
    [
        "f(x) -> 3",
        "g(1) -> 2",
        "my_f(1) -> 2",
        "f(1",
        "f(1) is nice",
        "f(1, y=z) -> 3",
        "f(1) => true when it is odd",
        "f(1) => 19 - 5 - 6",
        "f(1) => ('a')",
    ],
)
def test_no_example(text: str) -> None:
    """Variables, other functions and open brackets make no example with a value."""
    assert [e for e in from_docstring(text, "f") if e.expected is not None] == []


@pytest.mark.parametrize(
    "text",
    [
        "# `f` is wrong\n\n    f(1, 2)\n\nGot: 5\nExpected: 3\n",
        "f(1, 2) returns 5, expected 3",
        "`f(1, 2)` gives 5 instead of the correct 3",
        "f(1, 2) returned 5 but it should be 3.",
        "Calling f(1, 2) should return 3.",
        "I ran f(1, 2) and got 5. Expected `3`.",
        "f(1, 2)\n\nGot: raises ValueError\nExpected: `f(1, 2) == 3`",
        "The docs say f(1, 2) == 3, which fails.",
        "`f(1, 2)` gives 5 where 3 is right",
        "`f(1, 2)` is 5, but `3` would be expected",
        "`f(1, 2)` returns 5 instead of 3.",
        "`f(1, 2)` gave 5 rather than 3",
        "`f(1, 2)` must return 3 instead of 5",
    ],
)
def test_issue_examples(text: str) -> None:
    """An issue's right value is taken, never the wrong one that it reports."""
    assert pairs(from_issue(text, "f")) == [("f(1, 2)", "3")]


def test_a_reported_wrong_value_is_no_example() -> None:
    """A session that shows the bug is not taken for what is wanted."""
    text = "This is wrong:\n\n>>> f(1, 2)\n5\n\nExpected: 3\n"
    assert all(e.expected != "5" for e in from_issue(text, "f"))


def test_test_examples() -> None:
    """Calls in tests come with the literal that they are compared with, on either side."""
    source = parse(
        "t.py",
        "import m\n\ndef test_f():\n"
        "    assert f(1) == 2\n    assert [3] == f(-4)\n    g = f('x')\n    assert m.f([1]) == g\n    f(g)\n",
    )
    assert source is not None
    assert sorted(pairs(from_tests([source], "f")), key=str) == [
        ("f('x')", None),
        ("f(-4)", "[3]"),
        ("f(1)", "2"),
        ("f([1])", None),
    ]


def test_an_issue_may_call_with_keywords() -> None:
    """Such a call makes a test, though it gives no positional arguments to vary."""
    (example,) = from_issue("total([10, 20], discount=10)\n\nGot: 30\nExpected: 27.0\n", "total")
    assert example.call == "total([10, 20], discount=10)"
    assert example.expected == "27.0"
    assert arguments_of(example.call) is None


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("def test_a():\n    assert f(1) is False\n", [("f(1)", "False")]),
        ("def test_a():\n    assert None is f(1)\n", [("f(1)", "None")]),
        (
            "import m\nclass T:\n    def test_a(self):\n        self.assertEqual(m.f(1), 2)\n",
            [("f(1)", "2")],
        ),
        (
            "import m\nclass T:\n    def test_a(self):\n        self.assertTrue(m.f(1))\n",
            [("f(1)", None)],
        ),
    ],
)
def test_spellings_of_checks(text: str, known: list[tuple[str, str | None]]) -> None:
    """Identity with a constant and unittest's assertions say what a call gives; truth says only that it is made."""
    assert told_in(text) == known


@pytest.mark.parametrize(
    ("call", "known"),
    [
        ("shop.price.f(1)", [("f(1)", "2")]),
        ("prices.f(1)", [("f(1)", "2")]),
        ("other.f(1)", []),
        ("'a,b'.f(1)", []),
        ("{1: 2}.f(1)", []),
        ("made().f(1)", []),
        ("self.f(1)", []),
    ],
)
def test_a_method_of_the_same_name_is_no_call(call: str, known: list[tuple[str, str]]) -> None:
    """What stands before the dot has to be a module: a text's `split` is not the project's."""
    imports = "import shop.price\nfrom shop import made, price as prices\n"
    assert told_in(f"{imports}def test_a(self, other):\n    assert {call} == 2\n") == known


def told_in(text: str) -> list[tuple[str, str | None]]:
    source = parse("tests/test_a.py", text)
    assert source is not None
    return pairs(from_tests([source], "f"))


def test_rows_of_a_table() -> None:
    """Each row of `parametrize` is a call; tables on top of each other are all their pairs."""
    one = '@pytest.mark.parametrize("value", [1, "a"])\ndef test_a(value):\n    assert f(value)\n'
    assert told_in(one) == [("f(1)", None), ("f('a')", None)]
    named = (
        '@pytest.mark.parametrize(("value", "wanted"), [(1, 2), pytest.param(3, 4, id="x")])\n'
        "def test_a(value, wanted):\n    assert f(value) == wanted\n"
    )
    assert told_in(named) == [("f(1)", "2"), ("f(3)", "4")]
    pair = (
        '@pytest.mark.parametrize("a", [1, 2])\n@pytest.mark.parametrize("b,c", [(3, 4)])\n'
        "def test_a(a, b, c):\n    assert f(a, b) == c\n"
    )
    assert told_in(pair) == [("f(1, 3)", "4"), ("f(2, 3)", "4")]
    computed = '@pytest.mark.parametrize("a", ROWS)\ndef test_a(a):\n    assert f(a)\n'
    assert told_in(computed) == []


def test_a_broken_doctest_does_not_hide_those_beside_it() -> None:
    """A line end within a quoted text is none that a doctest can hold; the other examples say what they said."""
    text = "\n    >>> f('ab')\n    'a'\n    >>> f('a\nb')\n    'a\nb'\n    >>> f('B')\n    ''\n"
    assert pairs(from_docstring(text, "f")) == [("f('ab')", "'a'"), ("f('B')", "''")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("`list(f([1, 2, 3], 2))` gives [[1, 2]], expected [[1, 2], [3]]", "list(f([1, 2, 3], 2))"),
        ("`len(f([1]))` returns 3 but should be [[1, 2], [3]]", "len(f([1]))"),
        ("`f('a').name` returns 1, should return [[1, 2], [3]]", "f('a').name"),
        ("`f('a b').split(' ')` should be [[1, 2], [3]]", "f('a b').split(' ')"),
        ("`f(2)[0]` should be [[1, 2], [3]]", "f(2)[0]"),
        ("`f(1)(2)` should be [[1, 2], [3]]", "f(1)(2)"),
        ("`not f(3)` returns True, expected [[1, 2], [3]]", "(not f(3))"),
        ("`-f(2)` should be [[1, 2], [3]]", "(-f(2))"),
        ("`f(2) + f(3)` should be [[1, 2], [3]], but it is 6", "(f(2) + f(3))"),
        (
            "    tuple(f([5,\n           6]))\n\nGot: 1\nExpected: [[1, 2], [3]]\n",
            "tuple(f([5, 6]))",
        ),
        ("sorted(f('b'))  # -> [[1, 2], [3]]", "sorted(f('b'))"),
        ("It should be:\n\n>>> print(f(1))  # it is 2, expected [[1, 2], [3]]\n", "f(1)"),
        ("- f(1)\n\nExpected: [[1, 2], [3]]", "f(1)"),
        ("assert f(1) == [[1, 2], [3]]", "f(1)"),
        ("x = f(1)  # should be [[1, 2], [3]]", "f(1)"),
        ("**f(1)** should be [[1, 2], [3]]", "f(1)"),
        ("f(1), it says, should be [[1, 2], [3]]", "f(1)"),
    ],
)
def test_the_whole_expression_is_what_gives_the_value(text: str, told: str) -> None:
    """Of an issue all that stands around the call, between backticks or on its line of code, counts."""
    assert pairs(from_issue(text, "f")) == [(told, "[[1, 2], [3]]")]


@pytest.mark.parametrize(
    "text",
    [
        "`await f(1)` returns 2, expected 3",
        "`json.loads(f(1))` should be 3",
        "`eval('1') + f(1)` should be 3",
        "`f(1).__class__` should be 3",
        "`[n for n in f(1)]` should be 3",
        "`'f(1)'` should be 3",
        "I see that len(f(1)) is 2, it should be 3",
        "There not f(1) should be True",
        "not f(1) -> True",
        "The name f('a').name should be 'b'",
        "Then f(2) + 1 should be 5, but it is 6",
        "Then 1 - f(2) should be 5, but it is 6",
        "Then -f(2) should be 5",
        "x = g(1, f(2))  # should be 5",
        "`f(1) == 3` is False, expected True",
        "`f(1)` is 3; `g(f(2))` should be 5",
    ],
)
def test_a_part_of_something_else_is_no_example(text: str) -> None:
    """What a call gives is not told where only that of an expression is, which cannot be taken as it stands."""
    assert from_issue(text, "f") == ()


@pytest.mark.parametrize(
    "text",
    [
        "`f(5)` should return 3 items, it returns 4",
        "`f(5)` should return `3` items",
        "`f(5)` should be 3 times as large",
        "`f(5)` must be 2 or more",
        "`f(5)` should return 5 % of it",
        "f(5) is 1 day off",
    ],
)
def test_a_number_of_something_is_no_value(text: str) -> None:
    """Three items are not the number 3."""
    assert from_issue(text, "f") == ()


@pytest.mark.parametrize(
    "text",
    [
        "`f(5)` should return 3 when it is sorted",
        "`f(5)` should return 3, items or not",
        "`f(5)` expected 3 got 4",
        "`f(5)` should be 3 and not 4",
        "    f(5)\n\nGot: 4\nExpected: 3\n\nThe docstring says what it is for.\n",
    ],
)
def test_a_sentence_may_go_on_behind_a_number(text: str) -> None:
    """Words that follow a value are none that it counts."""
    assert pairs(from_issue(text, "f")) == [("f(5)", "3")]


def test_a_call_of_the_result_is_no_example_of_a_docstring() -> None:
    """Its arguments are not those of the function; nor are they where an issue shows one."""
    assert from_docstring(">>> f(1)(42)\n'0042'\n", "f") == ()
    assert arguments_of("f(1)(42)") is None
