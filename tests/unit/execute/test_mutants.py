"""Which wrong changes are made of the lines that a change brought."""

import pytest

from surefoot.execute.mutants import PythonMutator, changed_lines
from surefoot.execute.source import bytecode

BEFORE = '''LIMIT = 3


def clip(x, low):
    """Not below."""
    if x < low:
        return low
    return low
'''
AFTER = BEFORE.replace("    return low\n", "    return x\n").replace(
    "        return x\n", "        return low\n"
)


def made(before: str | None, after: str) -> list[tuple[int, str]]:
    """Line and added text of every mutant."""
    drafts = PythonMutator().drafts("a.py", before, after)
    return [(d.line, d.patch.splitlines()[-1]) for d in drafts]


def test_only_changed_lines_are_mutated() -> None:
    """The comparison stands as it was, so nobody turns it."""
    grown = AFTER.replace("return x", "return x + 1")
    assert {line for line, _ in made(BEFORE, grown)} == {8}
    assert {d.line for d in PythonMutator().drafts("a.py", None, grown)} == {1, 6, 7, 8}


def test_what_the_base_did_is_no_mutant() -> None:
    """The change itself undone fails the tests that asked for it, so it would only flatter them."""
    before = "def f(x):\n    return x - 1\n"
    after = "def f(x):\n    return x + 1\n"
    texts = {d.text for d in PythonMutator().drafts("a.py", before, after)}
    assert before not in texts
    assert after not in texts
    assert "def f(x):\n    return x * 1\n" in texts
    assert len(texts) == len(PythonMutator().drafts("a.py", before, after))


def test_of_several_functions_of_a_name_each_has_its_own_base() -> None:
    """A getter that is put back is what the base did, whatever its setter does."""
    before = """class Box:
    @property
    def size(self):
        return self.x - 1

    @size.setter
    def size(self, x):
        self.x = x
"""
    after = before.replace("- 1", "+ 1")
    texts = {d.text for d in PythonMutator().drafts("a.py", before, after)}
    assert before not in texts
    assert before.replace("- 1", "* 1") in texts


def test_words_are_left_alone() -> None:
    """Messages, comments and docstrings are for people; a file that does not parse has no mutants."""
    spoken = 'def f():\n    """Say."""\n    # well\n    return "a word"\n'
    assert all('"a word"' in row or row == "+    pass" for _, row in made(None, spoken))
    assert made(None, "def f(:\n") == []
    assert made(None, "# nothing\n") == []


def test_a_gap_counts_on_both_sides() -> None:
    """Where lines are only gone, those beside the gap are what changed."""
    assert changed_lines("a\nb\nc\n", "a\nc\n") == {1, 2}
    assert changed_lines("a\n", "a\nb\n") == {2}
    assert changed_lines("a\n", "a\n") == frozenset()


@pytest.mark.parametrize(
    ("path", "reads"), [("a.py", True), ("a.js", False), ("a.md", None), ("Makefile", None)]
)
def test_other_code_is_known_as_such(path: str, *, reads: bool | None) -> None:
    """Code of other languages is not measured, which is to be said; a page holds no code."""
    assert PythonMutator().reads(path) is reads


def test_a_change_that_does_nothing() -> None:
    """Every line with a gap reads otherwise, and the code is the same; what is inside of strings stays."""
    text = 'def f(x, y):\n    z = f"{x = } {y}"  # well\n    return z + "a b"\n'
    idle = PythonMutator().idle("a.py", text)
    assert "z = f" not in idle
    assert "return z" not in idle
    assert '{x = } {y}"' in idle
    assert '"a b"' in idle
    assert bytecode(idle) == bytecode(text)
    assert PythonMutator().idle("a.py", "def f(:\n").startswith("def f(:\n")
