"""Where units are, and how new text is given the indentation of the old."""

import ast
import re
import time

import pytest

from surefoot.errors import UsageError
from surefoot.toolbox.text_edits import replace_once, replace_unit, trouble
from surefoot.toolbox.units import hidden_lines, spans, tree_of, with_indent

SOURCE = '''\
@first
@second(
    1
)
class A(B, metaclass=M):
    """A."""

    class Inner:
        def run(self): return 1

    @overload
    def get(self): ...

    if FAST:
        def put(self):
            def hidden(): pass
    else:
        def put(self):
            pass


try:
    async def fetch(url: str = "x", *rest) -> int:
        return 1  # the end
except ImportError:
    def fall_back(): pass
finally:
    with x:
        def at_last(): pass

match FAST:
    case True:
        def by_case(): pass
    case _:
        def by_case(): return 1
'''


def replaced(old: str, name: str, text: str) -> str:
    return replace_unit(old, old.encode(), name, text).text


def test_spans_have_dotted_names_and_decorators() -> None:
    """Also inside blocks; what is inside a function is part of it."""
    tree = tree_of(SOURCE)
    assert isinstance(tree, ast.Module)
    assert [(s.head, s.first, s.last) for s in spans(tree)] == [
        ("class A(B, metaclass=M)", 1, 19),
        ("class A.Inner", 8, 9),
        ("def A.Inner.run(self)", 9, 9),
        ("def A.get(self)", 11, 12),
        ("def A.put(self)", 15, 16),
        ("def A.put(self)", 18, 19),
        ("async def fetch(url: str='x', *rest)", 23, 24),
        ("def fall_back()", 26, 26),
        ("def at_last()", 29, 29),
        ("def by_case()", 33, 33),
        ("def by_case()", 35, 35),
    ]


def test_a_unit_gives_way_whole() -> None:
    """With a comment behind it on its last line, and nothing of its neighbours."""
    new = replaced(SOURCE, "fetch", "def fetch():\n    return 2\n")
    assert new == SOURCE.replace(
        '    async def fetch(url: str = "x", *rest) -> int:\n        return 1  # the end\n',
        "    def fetch():\n        return 2\n",
    )


def test_places_that_overlap_are_two() -> None:
    """Either could have been meant."""
    with pytest.raises(UsageError, match="occurs 2 times, beginning at lines 1, 2"):
        replace_once("a\na\na\n", "a\na\n", "b\n")


@pytest.mark.parametrize(
    ("old", "search", "said"),
    [
        ("x" * 400_000, "x" * 4_000, "occurs more than 30 times, beginning at lines 1, 1"),
        ("x" * 400_000, "x" * 4_000 + "y", "the closest lines"),
        ("x\n" * 200_000, "x \n" * 8_000 + "y", "the closest lines"),
        ("x\r\n" * 200_000 + "y", "x\n" * 1_000 + "y", ""),
    ],
    ids=["often", "nowhere", "nowhere with white space", "once"],
)
def test_a_text_that_repeats_itself_is_searched_in_little_time(
    old: str, search: str, said: str
) -> None:
    """However often a part of what is looked for stands there."""
    began = time.process_time()
    if said:
        with pytest.raises(UsageError, match=said):
            replace_once(old, search, "z")
    else:
        assert replace_once(old, search, "z").text == "x\r\n" * 199_000 + "z"
    assert time.process_time() - began < 2


def test_line_ends_are_the_files() -> None:
    """Each kind is found, mixed too, and no half of one."""
    mixed = "a\r\nb\nc\r\nd"
    assert replace_once(mixed, "b\nc\n", "e\n").text == "a\r\ne\r\nd"
    assert replace_once(mixed, "\r\nb", "b").text == "ab\nc\r\nd"
    assert replace_once(mixed, "\nc", "c").text == "a\r\nbc\r\nd"


def test_a_unit_that_is_there_twice_is_not_guessed() -> None:
    """The lines of both are named."""
    with pytest.raises(UsageError, match="defined 2 times, in lines 15-16, 18-19"):
        replaced(SOURCE, "A.put", "def put(self): pass")


@pytest.mark.parametrize("given", ["", "    ", "        ", "\t"])
def test_text_moves_to_the_indentation_of_its_place(given: str) -> None:
    """Whatever indentation it comes with, docstrings and comments with it; what other strings hold stays."""
    lines = ["# why", "@x", "def f(self):", '    """Say.', "", '    More."""', "    # then"]
    string = ['    return """', "one", "  two", '"""']
    text = "\n".join(
        [*((given + line if line else line) for line in lines), given + string[0], *string[1:]]
    )
    moved = with_indent(f"\n{text}\n\n", "f", "    ")
    shifted = [f"    {line}" if line else line for line in lines]
    assert moved == "\n".join([*shifted, f"    {string[0]}", *string[1:]])


@pytest.mark.parametrize("indent", ["    ", "        ", "\t"])
def test_text_that_only_its_first_line_is_out_of_place_in_is_put_right(indent: str) -> None:
    """As a copy of a method is that begins at its `def`; a body of usual depth moves along."""
    step = "\t" if indent == "\t" else "    "
    copied = f"def f(self):\n{indent}{step}if x:\n\n{indent}{step}{step}return 1"
    assert with_indent(copied, "f", indent) == f"{indent}{copied}"
    usual = f"def f(self):\n{step}if x:\n{step}{step}return 1"
    assert with_indent(usual, "f", indent) == "\n".join(indent + x for x in usual.split("\n"))


def test_helpers_may_come_along() -> None:
    """One of the definitions is the one asked for."""
    assert with_indent("def g(): pass\n\n\ndef f(): pass", "f", "").endswith("def f(): pass")
    with pytest.raises(UsageError, match="defines 'A'"):
        with_indent("class A:\n    def f(self): pass", "f", "    ")


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("a.py", "x = 1\n", None),
        ("a.py", 'x = "\\d"\nassert (1, 2)\n', None),
        ("a.py", "x = (\n", "line 1: '(' was never closed"),
        ("a.pyi", "def f() -> int: ...\n", None),
        ("a.py", "await x\n", "line 1: 'await' outside function"),
        ("a.py", "x = 1\0\n", "source code string cannot contain null bytes"),
        ("a.json", "[1, 2]", None),
        ("a.json", "[1, 2", "Expecting ',' delimiter"),
        ("a.json", "[" * 100_000, "maximum recursion depth exceeded"),
        ("a.toml", "a = [1]\n", None),
        ("a.toml", "a = [1\n", "Unclosed array"),
        ("a.toml", "\udcff", "'utf-8' codec can't decode"),
        ("a.txt", "x = (", None),
        ("Makefile", "x = (", None),
    ],
)
def test_a_file_is_checked_by_what_reads_it(path: str, text: str, said: str | None) -> None:
    """Without a warning; a file of another kind is left to its own tools."""
    found = trouble(path, text.encode("utf-8", "surrogateescape"))
    assert found == said if said is None else said in (found or "")


def test_python_too_deep_for_the_compiler_is_trouble_and_no_crash() -> None:
    """Whatever limit it hits."""
    assert trouble("a.py", b"-" * 100_000 + b"1\n")
    assert trouble("a.py", b"(" * 10_000 + b"\n")


@pytest.mark.parametrize("others", [3, 2_000], ids=["near", "far apart"])
def test_lines_around_hidden_ones_keep_their_numbers(others: int) -> None:
    """A secret of several lines becomes one; of far too many lines between two, those before and behind both."""
    between = ["same\n"] * others
    lines = ["first\n", "A\n", "A\n", *between, "A\n", "A\n", "A\n", "last\n"]
    hidden = hidden_lines("".join(lines), lambda text: re.sub("(A\n)+", "[hidden]\n", text))
    assert len(hidden) == len(lines)
    assert (hidden[0], hidden[1], hidden[-1]) == ("first\n", "[hidden]\n", "last\n")
    assert "A\n" not in hidden
    if others == 3:
        assert hidden[3:8] == [*between, "[hidden]\n", "\n"]


def test_lines_are_hidden_in_linear_time() -> None:
    """A long list of hosts with two keys in it: sixteen times as long costs sixteen times as much, not 256 times."""

    def cost(times: int) -> float:
        text = "A\nA\n" + "port: 22\nuser: me\n" * times + "A\nA\n"
        begun = time.process_time()
        hidden_lines(text, lambda whole: whole.replace("A\nA\n", "[hidden]\n"))
        return time.process_time() - begun

    assert any(cost(32_000) < 64 * cost(2_000) for _ in range(3))
