"""Places, edits and units of Python source."""

import ast

import pytest

from surefoot.execute.repair.graft import splice
from surefoot.execute.repair.mutate import mutations
from surefoot.execute.source import (
    Source,
    TextEdit,
    apply,
    bytecode,
    indent_code,
    newline_of,
    overlap,
    parse,
    replace_unit,
    shape,
    units,
)

MODULE = '''"""Doc."""
LIMIT = "größe"  # ü before a place on the same line


class Box:
    """A box."""

    @property
    def size(self):
        """Its size.

        In units.
        """
        text = """kept
as it stands"""
        return len(text) + self.inner


    if LIMIT:
        def inner(self): return 1


async def last(a, b=2):
\treturn a
'''


def source_of(text: str) -> Source:
    source = parse("m.py", text)
    assert source is not None
    return source


def test_offsets_count_characters() -> None:
    """A node's segment is its text, also behind letters that take several bytes."""
    text = 'x = "ä" + name; y = name\n'
    source = source_of(text)
    names = [n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == "name"]
    assert [source.segment(n) for n in names] == ["name", "name"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_newline_that_python_knows(newline: str) -> None:
    """Lines end where Python ends them, whatever the file's newline, and a form feed ends none."""
    text = newline.join(["a = 1", "def f():", "    return '\x0c'", ""])
    source = source_of(text)
    assert source.lines(2, 3) == newline.join(["def f():", "    return '\x0c'", ""])


def test_units_are_whole_functions_and_methods() -> None:
    """Each function with its decorators, its dotted name and its class; nested ones belong to the outer one."""
    found = units(source_of(MODULE))
    assert [(u.qualname, u.class_name, u.first_line) for u in found] == [
        ("Box.size", "Box", 8),
        ("Box.inner", "Box", 20),
        ("last", None, 23),
    ]
    assert found[0].text.startswith('@property\ndef size(self):\n    """Its size.\n\n    In units.')
    assert 'text = """kept\nas it stands"""' in found[0].text


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_unit_put_back_changes_nothing(number: int) -> None:
    """Replacing a unit by its own text gives the same file, strings over several lines included."""
    source = source_of(MODULE)
    unit = units(source)[number]
    assert replace_unit(source, unit, unit.text) == MODULE


UNTIDY = '''class Box:
    def size(self, x):
        """Doc.

at the margin
  and nearly so
        """
        y = (
x + 1,
        )
········
        z = y
····
        return """kept
    as it stands""", z·
'''.replace("·", " ")


@pytest.mark.parametrize(
    "text",
    [UNTIDY, UNTIDY.replace("\n", "\r\n"), UNTIDY.replace("Doc.\n", "Doc.\r\n"), UNTIDY[:-1]],
)
def test_lines_that_stay_are_taken_as_they_stand(text: str) -> None:
    """White space on empty lines and at the end, what stands left of the function, and the lines' own newlines."""
    source = source_of(text)
    (unit,) = units(source)
    assert replace_unit(source, unit, unit.text) == text
    changed = replace_unit(source, unit, unit.text.replace("z = y", "z = x"))
    assert changed == text.replace("z = y", "z = x")


def test_the_last_line_of_a_file_may_stand_elsewhere() -> None:
    """It ends with no newline, and what comes after it stands on a line of its own."""
    source = source_of("def f(x):\n    x = x or 1 ")
    (unit,) = units(source)
    assert replace_unit(source, unit, unit.text + "\n    return x") == (
        "def f(x):\n    x = x or 1 \n    return x"
    )


def test_a_line_that_means_something_else_as_it_stands_is_indented() -> None:
    """The statement of the new text is also a line of the old docstring, which stands left of the function."""
    text = 'class A:\n    class B:\n        def f(self):\n            """Such as\n    x = 1\n            """\n'
    source = source_of(text)
    (unit,) = units(source)
    assert replace_unit(source, unit, "def f(self):\n    x = 1") == (
        "class A:\n    class B:\n        def f(self):\n            x = 1\n"
    )


def test_a_unit_in_a_file_with_windows_newlines() -> None:
    """New lines get the newline of the file, also where the unit is one line that ends with none."""
    for body in ("\r\n    return 1\r\n", "\r\n    return 1", " return 1"):
        source = source_of(f"x = 1\r\ndef f():{body}")
        ends = "\r\n" if body.endswith("\n") else ""
        assert replace_unit(source, units(source)[0], "def f():\n    return 2") == (
            f"x = 1\r\ndef f():\r\n    return 2{ends}"
        )


def test_the_newline_of_a_file_is_that_of_most_lines() -> None:
    """One stray line does not make it another file."""
    assert newline_of(source_of("a = 1\nb = 2\r\nc = 3\n")) == "\n"
    assert newline_of(source_of("a = 1\nb = 2\r\nc = 3\r\n")) == "\r\n"
    assert newline_of(source_of("")) == "\n"


def test_edits_apply_together() -> None:
    """Edits are given in the places of the unchanged text."""
    edits = [TextEdit(start=0, end=1, text="xyz"), TextEdit(start=4, end=5, text="")]
    assert apply("a = 1", edits) == "xyz = "
    assert overlap(edits[:1], [TextEdit(start=1, end=2, text="")])
    assert not overlap(edits[:1], edits[1:])


def test_shape_is_blind_to_layout_only() -> None:
    """Comments, blank lines and docstrings do not change a shape; code does; what is not Python has none."""
    assert shape("def f():\n    'doc'\n    return 1") == shape("def f():\n\n    return 1  # one")
    assert shape("def f():\n    return 1") != shape("def f():\n    return 2")
    assert shape("def f(:") == ""


def test_bytecode_is_what_the_code_does() -> None:
    """Layout, comments, lines and docstrings make no difference; constants of another type and other names do."""
    assert bytecode("def f():\n    'doc'\n    return 1") == bytecode(
        "\n\ndef f():\n  return 1  # one"
    )
    assert bytecode("def f(): return 1") != bytecode("def f(): return True")
    assert bytecode("def f(): return (1, 2)") != bytecode("def f(): return (1.0, 2)")
    assert bytecode("def f(a): return a") != bytecode("def f(b): return b")
    assert bytecode("def f():\n    def g(): return 1\n    return g") != bytecode(
        "def f():\n    def g(): return 2\n    return g"
    )
    assert bytecode("def f(:") is None
    assert bytecode("break") is None


@pytest.mark.parametrize(
    "code", ["[c for c in s if c in 'ab']", "sum(c == 'ab' for c in s)", "{'ab' for c in s}"]
)
def test_the_first_text_of_a_comprehension_is_no_docstring(code: str) -> None:
    """It is what the comprehension asks for or makes."""
    head = "def f(s): return "
    assert bytecode(head + code) != bytecode(head + code.replace("ab", "cd"))


def test_what_is_not_python_is_none() -> None:
    """Broken text, NUL and a bottomless expression are no source, and nothing is warned of."""
    assert parse("m.py", "def f(:") is None
    assert parse("m.py", "a\0b") is None
    assert parse("m.py", "(" * 3_000 + ")" * 3_000) is None
    assert parse("m.py", "x = '\\d'; y = 1if x else 2") is not None


def test_indenting_leaves_strings_alone() -> None:
    """A line inside a string keeps its white space; a docstring is moved with its function."""
    text = 'def f():\n    """A\n    B"""\n    return """x\ny"""'
    assert indent_code(text, "  ") == '  def f():\n      """A\n      B"""\n      return """x\ny"""'


def test_a_byte_order_mark_is_no_code_and_stays() -> None:
    """The places of the first line begin behind it; what is written there stands behind it, too."""
    marked = parse("m.py", "\ufeffdef f(a):\n    return a\n\n\nB = 1\n")
    assert marked is not None
    (unit,) = units(marked)
    assert unit.text == "def f(a):\n    return a"
    assert marked.segment(marked.tree.body[0]) == unit.text  # type: ignore[arg-type]
    assert replace_unit(marked, unit, "def f(b): ...") == "\ufeffdef f(b): ...\n\n\nB = 1\n"
    assert bytecode(marked.text) == bytecode(marked.text.removeprefix("\ufeff")) is not None
    assert shape(marked.text) == shape(marked.text.removeprefix("\ufeff")) != ""


def test_edits_and_imports_leave_a_byte_order_mark_first() -> None:
    """Of a function in the first line, and of what it needs beside it."""
    source = parse("m.py", "\ufeffdef f(a):\n    return a + 1\n")
    assert source is not None
    (unit,) = units(source)
    changed = [apply(source.text, m.edits) for m in mutations(source, unit)]
    changed.append(splice(source, unit, "def f(a):\n    return pi", ["from math import pi"], []))
    assert "\ufeffdef f(a):\n    return a - 1\n" in changed
    assert all(text.startswith("\ufeff") and text.count("\ufeff") == 1 for text in changed)
    assert "from math import pi" in changed[-1]
    assert parse("m.py", changed[-1]) is not None
