"""Which files the base's tests stand in, whatever the files are called, and which examples may not read otherwise."""

import pytest

from surefoot.kernel.standing import examples_changed, is_test_by
from surefoot.suite import is_test_path

COLLECTED = (
    "checks/check_calc.py::test_add",
    "checks/check_calc.py::Box::test_two[a.b]",
    "shop/calc.py::shop.calc",
    "shop/calc.py::shop.calc.Box.add",
    "README.md::README.md",
    "src/lib.rs::tests::adds",
    "spec/adds.js::adds",
)
CALC = '''"""Sums.

>>> 1 + 1
2
"""


class Box:
    def add(self, n):
        """Add.

        >>> Box().add(2)
        5
        """
        return n - 3
'''


def test_a_test_makes_its_file_one() -> None:
    """Examples do not, and neither does a test of Rust, which stands beside the code."""
    is_test = is_test_by(is_test_path, COLLECTED)
    files = ("checks/check_calc.py", "tests/helper.py", "spec/adds.js")
    others = ("shop/calc.py", "README.md", "src/lib.rs", "checks/other.py")
    assert [is_test(path) for path in (*files, *others)] == [True] * 3 + [False] * 4


KEPT = {
    "the code": CALC.replace("n - 3", "n + 3"),
    "the words": CALC.replace("Add.", "Add a number."),
    "an example more, behind": CALC.replace(
        "        5\n", "        5\n\n        >>> 3\n        3\n"
    ),
    "a function with an example": CALC
    + '\n\ndef one():\n    """>>> one()\n    1\n    """\n    return 1\n',
}
CHANGED = {
    "the value": CALC.replace("        5\n", "        -1\n"),
    "the call": CALC.replace("add(2)", "add(8)"),
    "an option": CALC.replace("add(2)", "add(2)  # doctest: +SKIP"),
    "an example before": CALC.replace(
        "        >>> Box", "        >>> Box = Other\n        >>> Box"
    ),
    "no example": CALC.replace("        >>> Box().add(2)\n        5\n", ""),
    "the module's": CALC.replace("1 + 1\n2", "1 + 1\n3"),
    "no Python": "(",
}


@pytest.mark.parametrize("name", list(KEPT))
def test_what_leaves_the_examples_is_free(name: str) -> None:
    """Code, words, and examples behind those that were there."""
    assert examples_changed(COLLECTED, {"shop/calc.py": (CALC, KEPT[name])}) == frozenset()


@pytest.mark.parametrize("name", list(CHANGED))
def test_an_example_that_reads_otherwise_is_a_changed_test(name: str) -> None:
    """Whatever of it: call, value, options, or what runs before it."""
    changed = examples_changed(COLLECTED, {"shop/calc.py": (CALC, CHANGED[name])})
    assert changed == {"shop/calc.py"}


def test_examples_of_a_text_are_tests_too() -> None:
    """The text around them is not; and a file of which no example was collected has none."""
    text = "Use it:\n\n>>> 1 + 1\n2\n\nThat is all.\n"
    files = {"README.md": (text, text.replace("2\n", "3\n"))}
    assert examples_changed(COLLECTED, files) == {"README.md"}
    assert not examples_changed(COLLECTED, {"README.md": (text, text.replace("all", "it"))})
    assert not examples_changed(COLLECTED[:2], {"shop/calc.py": (CALC, CHANGED["the value"])})
    assert examples_changed(COLLECTED, {"README.md": (text, None)})


def test_a_lone_test_named_like_its_file_is_guarded_as_a_whole() -> None:
    """Its id reads like that of a module's docstring, and there are no examples."""
    text = "def check_add():\n    assert add(2, 3) == 5\n"
    files = {"check_add.py": (text, text.replace("5", "-1"))}
    assert examples_changed(("check_add.py::check_add",), files) == {"check_add.py"}


def test_an_assigned_docstring_counts() -> None:
    """As do the texts of `__test__`, which stand in the module."""
    text = "def f():\n    return 2\n\n\nf.__doc__ = '''\n>>> f()\n3\n'''\n"
    changed = {"m.py": (text, text.replace("3", "2"))}
    assert examples_changed(("m.py::m.f",), changed) == {"m.py"}
