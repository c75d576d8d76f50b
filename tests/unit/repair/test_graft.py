"""Rewritten functions put into their file with the smallest change."""

import pytest

from surefoot.decisions.redacted import adds_mark
from surefoot.execute.repair.candidates import (
    changed_lines,
    changed_words,
    from_code,
    from_parts,
    mark,
    parts_of,
    special_cases,
    told_literals,
)
from surefoot.execute.repair.graft import graft, head_of, import_edit, short_head_of, splice
from surefoot.execute.repair.localise import function_of
from surefoot.execute.source import CodeUnit, Source, apply, parse, units

FILE = '''"""Module."""
from __future__ import annotations

import os


def other():
    return 1


def total(values: list[int], start: int = 0) -> int:
    """Add up.

    All of them.
    """
    # begin here
    result = start

    for value in values:  # each one
        result = result - value
    return result
'''


def prepared(text: str = FILE, name: str = "total") -> tuple[Source, CodeUnit]:
    source = parse("m.py", text)
    assert source is not None
    return source, next(u for u in units(source) if u.name == name)


def test_only_what_changed_changes() -> None:
    """Docstring, comments, blank lines and annotations stay, whatever the model made of them."""
    source, unit = prepared()
    code = (
        "def total(values, start=0):\n    result = start\n    for value in values:\n"
        "        result = result + value  # Fixed: add instead of subtract\n    return result"
    )
    grafted = splice(source, unit, graft(unit, code), (), ())
    assert grafted == FILE.replace("result - value", "result + value")


def test_a_new_signature_keeps_the_docstring() -> None:
    """A parameter that the model changed is taken; the docstring stays."""
    source, unit = prepared()
    code = "def total(values, start=1):\n    return sum(values, start)"
    grafted = splice(source, unit, graft(unit, code), (), ())
    assert (
        'def total(values, start=1):\n    """Add up.\n\n    All of them.\n    """\n    return sum'
        in grafted
    )


def test_tabs_and_narrow_steps() -> None:
    """New lines are indented as the function is."""
    source, unit = prepared(
        "class A:\n  def f(self, x):\n    if x:\n      return 1\n    return 2\n", "f"
    )
    code = "def f(self, x):\n    if not x:\n        return 1\n    return 2"
    assert splice(source, unit, graft(unit, code), (), ()) == (
        "class A:\n  def f(self, x):\n    if not x:\n      return 1\n    return 2\n"
    )


def test_a_string_over_lines_is_not_touched() -> None:
    """Text inside a literal survives graft and splice to the letter."""
    text = 'def f(x):\n    s = """a\n  b # no comment\n"""\n    return s - x\n'
    source, unit = prepared(text, "f")
    code = text.replace("- x", "+ x").rstrip()
    assert splice(source, unit, graft(unit, code), (), ()) == text.replace("- x", "+ x")


def test_lines_that_an_answer_does_not_touch_stay_to_the_letter() -> None:
    """White space on an empty line, and a docstring that stands at the margin, of a method."""
    text = 'class A:\n    def f(self, x):\n        """Doc.\n\nAt the margin.\n        """\n        y = x - 1\n      \n        return y\n'
    source, unit = prepared(text, "f")
    code = "def f(self, x):\n    y = x + 1\n    return y"
    assert splice(source, unit, graft(unit, code), (), ()) == text.replace("- 1", "+ 1")


def test_imports_and_helpers_find_their_place() -> None:
    """A missing import goes behind the imports, a helper before the function, each only when it is new and used."""
    source, unit = prepared()
    code = "def total(values, start=0):\n    return helper(math.fsum(values)) + os.getpid()"
    text = splice(
        source,
        unit,
        graft(unit, code),
        ("import math", "import os", "import json"),
        ("def helper(x):\n    return int(x)", "def other():\n    return 2"),
    )
    assert "import os\nimport math\n\n" in text
    assert "json" not in text
    assert text.count("def other") == 1
    assert text.index("def helper") < text.index("def total")
    assert parse("m.py", text) is not None


def test_what_is_put_beside_a_function_ends_its_lines_as_the_file_does() -> None:
    """Imports, helpers and the function itself, also one that stands on the last line, which ends with none."""
    text = "x = 1\n\n\ndef f(x): return x"
    code = "def f(x):\n    y = g(x)\n    return math.floor(y)"
    needs = (["import math"], ["def g(x):\n    return x + 1"])
    unix, windows = prepared(text, "f"), prepared(text.replace("\n", "\r\n"), "f")
    spliced = splice(*unix, code, *needs)
    assert "import math" in spliced
    assert "def g(x):" in spliced
    assert splice(*windows, code, *needs) == spliced.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"""Doc."""\n\n\nx = 1\n', '"""Doc."""\n\nimport math\n\n\nx = 1\n'),
        ('"""Doc."""\nx = 1\n', '"""Doc."""\n\nimport math\n\n\nx = 1\n'),
        ("x = 1\n", "import math\n\n\nx = 1\n"),
        ("#!/bin/python\n# Mine.\nx = 1\n", "#!/bin/python\n# Mine.\n\nimport math\n\n\nx = 1\n"),
        ('"""Doc."""\r\n\r\nx = 1\r\n', '"""Doc."""\r\n\r\nimport math\r\n\r\nx = 1\r\n'),
        ("import os\nx = 1\n", "import os\nimport math\nx = 1\n"),
        (
            '"""Doc."""\n\nfrom a import (\n    b,\n)\n',
            '"""Doc."""\n\nfrom a import (\n    b,\n)\nimport math\n',
        ),
    ],
)
def test_an_import_stands_apart_from_what_is_none(before: str, after: str) -> None:
    """Behind docstring and imports, with the blank lines that people leave."""
    source = parse("m.py", before)
    assert source is not None
    assert apply(before, [import_edit(source, ["import math"])]) == after


@pytest.mark.parametrize(
    ("text", "head"),
    [
        (
            '@d\ndef f(\n    a,\n):\n    """Doc."""\n    return a',
            '@d\ndef f(\n    a,\n):\n    """Doc."""',
        ),
        ("def f(a):\n    return a", "def f(a):"),
        ("def f(a): return a", ""),
        ('def f(a):\n    """Doc."""', 'def f(a):\n    """Doc."""'),
        ('def f(a, b="#:"):  # of two\n    return a', 'def f(a, b="#:"):  # of two'),
    ],
)
def test_heads(text: str, head: str) -> None:
    """A head is decorators, signature and docstring; a function that cannot be cut there has none."""
    assert head_of(text) == head
    assert short_head_of(text) == head.replace("Doc.", "...")


def test_a_function_that_only_says_what_it_is_for_keeps_that() -> None:
    """The usual stub: its docstring stays, to the letter, over the body that is written."""
    text = 'def total(values):\n    """Add up: ``total([1])``."""\n'
    source, unit = prepared(text)
    code = "def total(values):\n    return sum(values)"
    assert splice(source, unit, graft(unit, code), (), ()) == f"{text}    return sum(values)\n"


def test_a_short_head_has_one_row_for_a_docstring() -> None:
    text = "def f(a):\n    r'''One.\n\n    Two.\n    '''\n    return a"
    assert short_head_of(text) == 'def f(a):\n    """..."""'


def test_candidates_that_change_nothing() -> None:
    """The unchanged function, in other layout, is no candidate."""
    source, unit = prepared()
    code = "def total(values, start=0):\n    result=start\n    for value in values: result = result-value\n    return result"
    unchanged = from_code(source, unit, unit.text, generator="model:whole", prior=0.5)
    assert unchanged is None
    other = from_code(source, unit, code, generator="model:whole", prior=0.5)
    assert other is not None
    assert mark(other).endswith(mark(other).split("\0")[-1])


def test_equal_ideas_have_equal_marks() -> None:
    """The same code in another layout is the same idea."""
    source, unit = prepared()
    texts = (
        "def total(values, start=0):\n    return sum(values)",
        "def total(values, start=0):\n    return (sum(values))",
    )
    first, second = (from_code(source, unit, t, generator="g", prior=0.5) for t in texts)
    assert first is not None
    assert second is not None
    assert mark(first) == mark(second)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("if values == [1, 2, 3]: return 6", True),
        ("if start == 77: return 0", True),
        ("return 606", True),
        ("if start == 0: return 0", False),
        ("return -1", False),
        ("if start == 5: return 5", False),
        ("if len(values) == 77: return 0", True),
        ("for v in [start]: result = v == 77", False),
    ],
)
def test_answers_made_for_a_test(line: str, *, told: bool) -> None:
    """A comparison with a test's own input, or its expected value returned, is seen; everyday constants are not."""
    source, unit = prepared()
    tests = parse(
        "t.py",
        "def test_it():\n    assert total([1, 2, 3], 77) == 606\n\ndef test_b():\n    assert total([], 5)\n",
    )
    assert tests is not None
    after = parse("m.py", FILE.replace("    result = start\n", f"    {line}\n    result = start\n"))
    assert after is not None
    literals = told_literals([tests], frozenset({"test_it"}))
    assert (special_cases(source, after, literals) is not None) is told
    assert unit.name == "total"


SAID = '''def level(text):
    """Whether a text is level.

    Return "YES" if it is. Otherwise, the word 'NO'.
    level("aba") => "ABA"
    >>> level("abc")
    'CBA'
    Output: 'OUT'
    """
    raise NotImplementedError
'''


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("return 'YES'", False),
        ("return 'NO'", False),
        ("return 'ABA'", True),
        ("return 'CBA'", True),
        ("return 'OUT'", True),
        ("if text == 'YES': return 1", True),
    ],
)
def test_an_answer_that_a_docstring_names_may_be_given(line: str, *, told: bool) -> None:
    """A sentence says what is to be returned; an example only shows it, and an input stays a test's own."""
    expected = ", ".join(repr(w) for w in ("YES", "NO", "ABA", "CBA", "OUT"))
    tests = parse("t.py", f"def test_it():\n    assert level('x') in ({expected})\n")
    before = parse("m.py", SAID)
    after = parse("m.py", SAID.replace("raise NotImplementedError", line))
    assert tests is not None
    assert before is not None
    assert after is not None
    literals = told_literals([tests], frozenset({"test_it"}))
    assert (special_cases(before, after, literals) is not None) is told


@pytest.mark.parametrize("row", ["ipv6", "::1"])
def test_an_answer_made_for_a_row_is_seen_whatever_the_row_is_called(row: str) -> None:
    """The values of a table are those of its test, also where a row's own name looks like a part of the id."""
    table = "@pytest.mark.parametrize('text', ['::1', '::2'])\n"
    tests = parse("t.py", f"{table}def test_is_local(text):\n    assert is_local(text)\n")
    before = parse("m.py", "def is_local(text):\n    return False\n")
    after = parse("m.py", "def is_local(text):\n    return text == '::1'\n")
    assert tests is not None
    assert before is not None
    assert after is not None
    failing = function_of(f"t.py::test_is_local[{row}]")[1]
    assert special_cases(before, after, told_literals([tests], frozenset({failing})))


def test_changed_lines() -> None:
    """The larger side of each change counts."""
    assert changed_lines("a\nb\nc", "a\nx\ny\nc") == 2
    assert changed_lines("a", "a") == 0
    assert changed_words("x\nsum(a for b in c)\n", "x\nsum(b for b in c)\n") == 1
    assert changed_words("sum(a for b in c)", "sum([x for x in c if x])") == 6
    assert changed_words("a * b - 1", "a * b") == 0 < changed_words("a * b - 1", "a * b - 0")


SECRET = "AK" + "IAQ2W4E6R7T3Y5U2I4"
GUARDED = f'''def sign(text):
    """Signs as {SECRET} does."""
    key = "{SECRET}"
    return text - key
'''


@pytest.mark.parametrize(
    ("body", "usable"),
    [
        ('    key = "[redacted:aws-access-key]"\n    return text + key', False),
        (f'    key = "{SECRET}"\n    return text + key', True),
    ],
)
def test_a_mark_is_never_written_over_a_secret(body: str, *, usable: bool) -> None:
    """Code that holds the mark of a secret is no candidate; where the file's own text stays, nothing is lost."""
    source, unit = prepared(GUARDED, "sign")
    code = f'def sign(text):\n    """Signs as [redacted:aws-access-key] does."""\n{body}'
    candidate = from_code(source, unit, code, generator="model:whole", prior=0.5)
    if not usable:
        assert candidate is None
        return
    assert candidate is not None
    assert candidate.edits[0].text == GUARDED.replace("text - key", "text + key")


def test_a_mark_that_was_there_may_stay() -> None:
    """A file that speaks of marks can be worked on; one more than before is one too many."""
    assert adds_mark("see [redacted:value]", "look at [redacted:value]") is None
    assert adds_mark("see [redacted:value]", "[redacted:value] [redacted:value]") is not None
    assert adds_mark("see [redacted:value]", "see [redacted:jwt]") == "[redacted:jwt]"
    assert adds_mark(None, "x = '[redacted:jwt]'") == "[redacted:jwt]"
    assert adds_mark(None, "x = 1") is None


def test_an_answer_in_parts() -> None:
    """Lines that are rewritten are a part each; what is put in or taken out is one; a part alone may not parse."""
    source = parse("m.py", "def f(a):\n    b = a\n    c = b\n    return c\n")
    assert source is not None
    after = "def f(a):\n    b = 2\n    c = 3\n    if c:\n        c = 4\n    return c\n"
    parts = parts_of(source.text, after)
    assert [part[:2] for part in parts] == [(1, 2), (2, 3), (3, 3)]
    guarded = "def f(a):\n    if not a:\n        return []\n\n    b = sorted(a)\n    c = b\n    return c\n"
    guard, line = parts_of(source.text, guarded)
    only = from_parts(source, guarded, [guard], 0.5)
    assert only is not None
    assert only.edits[0].text == guarded.replace("sorted(a)", "a")
    assert line == (1, 2, 4, 5)
    same = "def f(a):\n    b = 2\n    c = 3\n    return c\n"
    first, second = parts_of(source.text, same)
    only = from_parts(source, same, [second], 0.5)
    assert only is not None
    assert only.edits[0].text == "def f(a):\n    b = a\n    c = 3\n    return c\n"
    both = from_parts(source, same, [first, second], 0.5)
    assert both is not None
    assert both.edits[0].text == same
    open_end = "def f(a):\n    if a:\n        b = a\n    c = b\n    return c\n"
    assert from_parts(source, open_end, [(1, 1, 1, 2)], 0.5) is None


def test_decorators_that_an_answer_leaves_out_stay() -> None:
    """With the docstring and the comments; what takes other parameters may well be another kind of method."""
    text = (
        "class Box:\n    @property\n    def size(self):\n"
        '        """Its size."""\n        # in units\n        w = self.w\n        return w - self.h\n'
    )
    source = parse("m.py", text)
    assert source is not None
    unit = units(source)[0]
    answer = "def size(self):\n    w = self.w\n    return w + self.h"
    assert graft(unit, answer) == unit.text.replace("w - ", "w + ")
    assert graft(unit, answer.replace("self)", "self, by)")).startswith("def size(self, by):")
