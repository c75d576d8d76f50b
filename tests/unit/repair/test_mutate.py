"""Plain syntax-tree edits."""

import ast
import itertools
import sys
from types import FrameType

import pytest

from surefoot.execute.repair.mutate import mutations, ranked_mutations
from surefoot.execute.source import apply, parse, units


def mutants(text: str) -> set[str]:
    source = parse("m.py", text)
    assert source is not None
    unit = units(source)[-1]
    return {apply(source.text, m.edits) for m in mutations(source, unit)}


def body(*lines: str, head: str = "def f(a, b, items):") -> str:
    return "\n".join([head, *(f"    {line}" for line in lines), ""])


@pytest.mark.parametrize(
    "row", ["#        print(x)\n", '        """Doc.\n\nAt the margin.\n        """\n']
)
def test_a_line_at_the_margin_hides_no_method(row: str) -> None:
    """It may be a comment, or one of a text."""
    text = f"class A:\n    def f(self, x):\n{row}        return x - 1\n"
    assert text.replace("- 1", "+ 1") in mutants(text)


FIXES = [
    ("return a < b", "return a <= b"),
    ("return a == b", "return a != b"),
    ("return a in items", "return a not in items"),
    ("return a and b", "return a or b"),
    ("return a and b", "return b"),
    ("return not a", "return a"),
    ("return a + b", "return a - b"),
    ("return a / b", "return a // b"),
    ("return a - b", "return b - a"),
    ("return (a + b) - 2", "return 2 - (a + b)"),
    ("return a + b", "return a"),
    ("return a if b else items", "return items if b else a"),
    ("return items[1:]", "return items[:-1]"),
    ("return items[0]", "return items[-1]"),
    ("return items[a]", "return items[a + 1]"),
    ("return list(range(a))", "return list(range(a + 1))"),
    ("return list(range(a))", "return list(range(1, a))"),
    ("return min(items)", "return max(items)"),
    ("return any(items)", "return all(items)"),
    ("return pow(a, b)", "return pow(b, a)"),
    ("return a.lower()", "return a.upper()"),
    ("return a.lower()", "return a"),
    ("return a", "return b"),
    ("return a", "return abs(a)"),
    ("return items", "return sorted(items)"),
    ("return [a - b, round(a - b)]", "return [round(a - b), round(a - b)]"),
    ("return sorted(items)", "return sorted(items, reverse=True)"),
    ("return sorted(items, reverse=True)", "return sorted(items)"),
    ("return items[a]", "return items.get(a, 0)"),
    ("return 'x'", "return ''"),
    ("return True", "return False"),
    ("return a == 0", "return a in (0, 1)"),
    ("return (a or b) != 2", "return (a or b) not in (1, 2)"),
    ("return a == 'y'", "return a in ('y', 'Y')"),
    ("return 10", "return 9"),
    ("return sorted(items[::2]) + items[::2]", "return sorted(items[::3]) + items[::3]"),
    ("return a - 1, b - 1", "return a - (-1), b - (-1)"),
    ("return [x for x in items if x]", "return [x for x in items]"),
    ("return [x for x in items]", "return [x for x in items if x]"),
    ("return -a", "return a"),
    ("return a ** 2", "return a * 2"),
    ("return a % 2 == 0", "return a % 2 == 1"),
    ("return isinstance(a, int)", "return isinstance(a, str)"),
    ("return a.lstrip('re:')", "return a.removeprefix('re:')"),
    ("return a.strip('.py')", "return a.removesuffix('.py')"),
    ("return [a for x in items if a > 0]", "return [x for x in items if x > 0]"),
    ("return (a.end, b.end)", "return (a.end, max(a.end, b.end))"),
]


@pytest.mark.parametrize(("broken", "right"), FIXES)
def test_an_expression_is_mended(broken: str, right: str) -> None:
    """Each of these one-place bugs has its mend among the edits."""
    assert body(right) in mutants(body(broken))


STATEMENTS = [
    (["a = b", "return a"], ["a += b", "return a"]),
    (["a += b", "return a"], ["a -= b", "return a"]),
    (["a += b", "return a"], ["a = b", "return a"]),
    (["for x in items:", "    break", "return a"], ["for x in items:", "    continue", "return a"]),
    (["a = 1", "b = a", "return b"], ["b = a", "a = 1", "return b"]),
    (["a = 1", "a = 2", "return a"], ["a = 1", "return a"]),
    (["if a:", "    a = b", "return a"], ["a = b", "return a"]),
    (
        ["for x in items:", "    a += x", "    return a"],
        ["for x in items:", "    a += x", "return a"],
    ),
    (
        ["for x in items:", "    a = x", "b = a", "return b"],
        ["for x in items:", "    a = x", "    b = a", "return b"],
    ),
    (
        ["best = 0", "for x in items:", "    best = x", "return best"],
        ["best = 0", "for x in items:", "    best = max(best, x)", "return best"],
    ),
    (["return items[0]"], ["if not items:", "    return []", "return items[0]"]),
    (["for x in items:", "    a += x"], ["for x in items:", "    a += x", "return a"]),
    (
        ["if a:", "    a += 1", "if b:", "    a += 2", "return a"],
        ["if a:", "    a += 1", "elif b:", "    a += 2", "return a"],
    ),
]


@pytest.mark.parametrize(("broken", "right"), STATEMENTS)
def test_a_statement_is_mended(broken: list[str], right: list[str]) -> None:
    """Nesting, order, assignment, guards and returns are mended too."""
    assert body(*right) in mutants(body(*broken))


def test_a_default_that_all_calls_share() -> None:
    """A mutable default becomes None with a new value in each call."""
    broken = "def f(a=[]):\n    return a\n"
    assert "def f(a=None):\n    if a is None:\n        a = []\n    return a\n" in mutants(broken)


def test_the_rest_of_the_file_stays() -> None:
    """Comments, blank lines and quotes around the change are kept to the letter."""
    text = "# top\nx = 'q'  # kept\n\n\ndef f(a, b):\n    # why\n    return a < b  # here\n"
    assert text.replace("a < b", "a <= b") in mutants(text)


@pytest.mark.parametrize(
    "text",
    [
        body("for x in items:", "    if not x:", "        a += 1", "    b = x", "return a"),
        body(
            "if a:", "    b = 1", "    items.append(b)", "a.sort()", head="def f(a, b=[], *items):"
        ),
        "def f(a):\n    pass\n",
        "x = 1\ndef f(a):\n    return math.floor(a)",
    ],
)
def test_lines_end_as_those_of_the_file_do(text: str) -> None:
    """Every edit of a file with Windows newlines is the edit of the other file with such newlines."""
    assert mutants(text.replace("\n", "\r\n")) == {m.replace("\n", "\r\n") for m in mutants(text)}


def test_every_edit_is_python_and_new() -> None:
    """No edit breaks the syntax, none is the unchanged code, and no two are the same code."""
    text = body(
        "total = 0",
        "for i, x in enumerate(items):",
        "    if x > a and not x % b == 0 or i in items:",
        "        total += x[1:-1] if x else items[i - 1]",
        "    else:",
        "        continue",
        "return {k: v for k, v in zip(items, sorted(items, key=len))} or f'{total!r}'",
    )
    found = mutants(text)
    shapes = [ast.dump(ast.parse(m)) for m in found]
    assert len(found) > 200
    assert len(shapes) == len(set(shapes))
    assert ast.dump(ast.parse(text)) not in shapes


def test_heavier_edits_come_first() -> None:
    """Edits are given in order of plausibility, and in the same order each time."""
    source = parse("m.py", body("return a < b"))
    assert source is not None
    first, again = (mutations(source, units(source)[0]) for _ in range(2))
    weights = [m.weight for m in first]
    assert weights == sorted(weights, reverse=True)
    assert first == again
    assert first[0].note == "< -> <="


def test_mutations_of_some_lines_are_those_of_all_that_stand_there() -> None:
    """For a unit and for a module's own statements, whose other lines are not looked at."""
    source = parse(
        "m.py", "LOW = 1\nHIGH = LOW + 2\n\n\ndef f(a):\n    b = a + 1\n    return b > HIGH\n"
    )
    assert source is not None
    for unit, line in ((None, 2), (units(source)[0], 7)):
        every = mutations(source, unit)
        some = mutations(source, unit, {line})
        assert some == tuple(m for m in every if m.line == line)
        assert 0 < len(some) < len(every)


def table(rows: int) -> str:
    """A function that is one long list of cases."""
    cases = (f'if a == "k{n}":\n        return b + {n + 100}' for n in range(rows))
    return body(*cases, head="def f(a, b):")


@pytest.mark.parametrize("line", [102, 103], ids=["a text", "an integer"])
def test_a_constant_of_a_long_function_is_swapped_with_those_around_it(line: int) -> None:
    """Each with each other one would be too many: a line has as many edits in a table that is twice as long."""
    found = []
    for rows in (100, 200):
        source = parse("m.py", table(rows))
        assert source is not None
        found.append(len(mutations(source, units(source)[0], {line})))
    assert found[0] == found[1] > 0


def test_a_constant_of_a_usual_function_is_swapped_with_all_others() -> None:
    """Also with the one that stands farthest."""
    text = table(14)
    found = mutants(text)
    assert text.replace('"k0"', "'k13'") in found
    assert text.replace("b + 100\n", "b + 113\n") in found


def test_only_the_edits_that_are_asked_for_are_compiled() -> None:
    """Those of a long function are thousands, and a search looks at the likeliest."""
    source = parse("m.py", table(14))
    assert source is not None
    compiled = 0

    def watch(_frame: FrameType, event: str, called: object) -> None:
        nonlocal compiled
        compiled += event == "c_call" and called is compile

    ranked = ranked_mutations(source, units(source)[0], lambda m: m.weight)
    sys.setprofile(watch)
    try:
        first = list(itertools.islice(ranked, 10))
    finally:
        sys.setprofile(None)
    assert len(first) == 10 <= compiled < 60


def test_what_is_likelier_for_another_reason_comes_first() -> None:
    """The same edits in the order of a rank; those of one rank in the order of their weights."""
    source = parse("m.py", body("b = a + 1", "return a < b"))
    assert source is not None
    unit = units(source)[0]
    every = mutations(source, unit)
    assert tuple(ranked_mutations(source, unit, lambda m: m.line)) == tuple(
        sorted(every, key=lambda m: -m.line)
    )


def test_a_modules_own_statements() -> None:
    """Constants outside functions are mutated apart from the functions, which are units of their own."""
    source = parse("m.py", "LIMIT = 10\n\n\ndef f(a):\n    return a < LIMIT\n")
    assert source is not None
    found = {apply(source.text, m.edits) for m in mutations(source, None)}
    assert source.text.replace("10", "11") in found
    assert all("return a < LIMIT" in m for m in found)


def test_a_name_that_nothing_reads_is_used_beside_another_one() -> None:
    """As the operand that got lost, where it is known; one that is read somewhere is not lost."""
    text = body("first = str(a)", "second = str(b)", "return {}", head="def f(a, b):")
    idle = mutants(text.format("all(first)"))
    for told in ("all(first) or all(second)", "all(first) and all(second)", "all(first + second)"):
        assert text.format(told) in idle
    assert not any("str(a) or" in found or "str(b) or" in found for found in idle)
    read = mutants(text.format("all(first), second"))
    assert text.format("(all(first) or all(second)), second") not in read


def test_an_inner_function_that_nothing_calls_is_used() -> None:
    """As the key of an order, and on what is read outside of it."""
    text = body("def g(n):", "    return -n", "return {}", head="def f(items):")
    found = mutants(text.format("sorted(items)"))
    for told in ("sorted(items, key=g)", "sorted(g(items))"):
        assert text.format(told) in found
    assert not any("-g(n)" in other for other in found)
    assert text.format("sorted(g(items))") not in mutants(text.format("sorted(items), g(1)"))


def test_an_inner_function_that_nothing_calls_is_asked() -> None:
    """Of what a condition looks at, and of each item of a comprehension without one; of items that are read, too."""
    asks = ("def g(n):", "    return n > 1")
    loop = body(*asks, "while a or b:", "    a = b", "return items[a]", head="def f(a, b, items):")
    found = mutants(loop)
    for told in ("(a or b) and g(a)", "(a or b) and not g(b)", "(a or b) or g(b)"):
        assert loop.replace("a or b", told) in found
    assert loop.replace("items[a]", "g(items[a])") in found
    each = body(*asks, "return [x for x in items{}]", head="def f(items):")
    assert each.format(" if g(x)") in mutants(each.format(""))
    assert each.format(" if x and g(x)") in mutants(each.format(" if x"))


def test_conditions_on_twins_are_joined() -> None:
    """What is asked of one of two names that differ in a number is asked of the other one as well."""
    text = body("if {}:", "    return x2", "return x1", head="def f(x1, x2, y):")
    found = mutants(text.format("x1 not in y"))
    assert text.format("x1 not in y or x2 not in y") in found
    assert text.format("x1 not in y and x2 not in y") in found
    assert text.format("x1 not in y or x1 not in x2") not in found


def test_what_gives_its_items_once_becomes_a_list() -> None:
    """One place that gives it a name, or all of them at once."""
    text = body("a = {}filter(None, items){}", "b = {}map(str, items){}", "return a, b")
    found = mutants(text.format("", "", "", ""))
    assert text.format("list(", ")", "", "") in found
    assert text.format("list(", ")", "list(", ")") in found


@pytest.mark.parametrize(
    ("broken", "right"),
    [
        ("return len(filter(a, items))", "return len(list(filter(a, items)))"),
        ("return map(a, items)[0]", "return list(map(a, items))[0]"),
        ("if not (a < b or b > items):", "if a < b or b > items:"),
        ("if not a < b + items:", "if a < b + items:"),
    ],
)
def test_what_nobody_writes_is_mended_early(broken: str, right: str) -> None:
    """The length of what has none, and a `not` before what has an opposite of its own."""
    rest = [] if broken.startswith("return") else ["    return 1", "return 2"]
    source = parse("m.py", body(broken, *rest))
    assert source is not None
    first = [apply(source.text, m.edits) for m in mutations(source, units(source)[0])[:3]]
    assert body(right, *rest) in first


def test_annotations_are_no_code() -> None:
    """A type in a signature is not taken for a wrong variable."""
    found = mutants("def f(a: int) -> list:\n    return a\n")
    assert all(m.startswith("def f(a: int) -> list:") for m in found)


def test_one_line_functions_and_tabs() -> None:
    """Code in unusual layout is edited or left alone, never broken."""
    assert "def f(a): return not (a)\n" in mutants("def f(a): return a\n")
    assert "def f(a):\n\tif not a:\n\t\treturn []\n\treturn a\n" in mutants(
        "def f(a):\n\treturn a\n"
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if not a:", "if a is None:"),
        ("if b > 1 and not self.a:", "if b > 1 and self.a is None:"),
        ("while a or b:", "while a is not None or b:"),
        ("if not a or a <= 0:", "if a is not None and (not a or a <= 0):"),
        ("if a < 1:", "if a is None or a < 1:"),
        ("if c < 1:", "if c is not None and c < 1:"),
    ],
)
def test_none_is_told_from_empty(before: str, after: str) -> None:
    """A parameter that may be left out, and one that is empty, are two things."""
    head = "def f(self, b, a=None, *, c=None):"
    wanted = body(after, "    return 1", head=head)
    assert wanted in mutants(body(before, "    return 1", head=head))


def test_a_fallback_is_for_what_is_missing() -> None:
    assert body("return b if a is None else a") in mutants(body("return a or b"))


def test_only_parameters_that_may_be_left_out_are_excepted() -> None:
    """Elsewhere a look for `None` is noise."""
    told = mutants(body("if a < 1:", "    return 1", head="def f(a, b=None):"))
    assert not any("a is None or" in text for text in told)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a):\n    b = 2\n    return a * b\n", "def f(a, b=2):\n    return a * b\n"),
        (
            'def f(a: int = 1) -> int:\n    """Say."""\n\n    b = (2, "x")  # why\n    return b\n',
            None,
        ),
        (
            'def f(a: int = 1) -> int:\n    """Say."""\n    c = g(a)\n    b = (2, "x")\n    return b, c\n',
            'def f(a: int = 1, b=(2, "x")) -> int:\n    """Say."""\n    c = g(a)\n    return b, c\n',
        ),
    ],
)
def test_a_constant_of_the_body_becomes_a_parameter(before: str, after: str | None) -> None:
    """Behind the last one, with the constant as its default; a line with a remark stays."""
    found = {m for m in mutants(before) if ", b=" in m.partition("->")[0].partition(":\n")[0]}
    assert found == ({after} if after is not None else set())


@pytest.mark.parametrize(
    "code",
    [
        "def f(*a):\n    b = 2\n    return b\n",
        "def f(a, *, c):\n    b = 2\n    return b\n",
        "def f():\n    b = 2\n    return b\n",
        "def f(a):\n    b = []\n    return b\n",
        "def f(a): b = 2; return b\n",
    ],
)
def test_what_cannot_become_a_parameter_stays(code: str) -> None:
    """A list that all calls would share, a place that is not the last one, a line that others stand on."""
    head = code.partition("\n")[0].partition(")")[0]
    assert all(m.startswith(head) for m in mutants(code))


def imported(text: str, name: str = "f") -> list[str]:
    """The lines that edits of imports put into a file."""
    source = parse("m.py", text)
    assert source is not None
    unit = next(u for u in units(source) if u.name == name)
    found = [m for m in mutations(source, unit) if m.operator == "import"]
    return [m.edits[0].text.strip() for m in found]


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("return math.sqrt(a)", ["import math"]),
        ("return math(a)", []),
        ("return Counter(a)", ["from collections import Counter", "from typing import Counter"]),
        ("return [reduce(max, x) for x in a]", ["from functools import reduce"]),
        ("return datetime.now()", ["from datetime import datetime"]),
        ("return datetime.date(a)", ["import datetime", "from datetime import datetime"]),
        ("return antigravity.geohash(a)", ["import antigravity"]),
        ("return a + os.sep + len(a) * nobody", []),
        ("math = a\n    return math.x", []),
    ],
)
def test_what_nobody_imports_is_imported(code: str, lines: list[str]) -> None:
    """Where the standard library has it, a module where something is read of it that it has; behind the imports that are there."""
    assert imported(f'"""Docs."""\nimport os\n\n\ndef f(a):\n    {code}\n') == lines


def test_several_missing_names_are_imported_at_once_too() -> None:
    """None of them mends anything by itself."""
    file = "import os\n\n\ndef f(a: List[int]) -> Optional[int]:\n    return None\n"
    one, other = "from typing import List", "from typing import Optional"
    assert imported(file) == [one, other, f"{one}\n{other}"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("more", "lines"), [('S = "\\d"\n', ["import math"]), ("nonlocal x\n", [])]
)
def test_a_file_that_a_compiler_warns_of_or_refuses_is_no_trouble(
    more: str, lines: list[str]
) -> None:
    """An escape that is none; a statement out of place, which the parser takes and the symbol table does not."""
    assert imported(f"def f(a):\n    return math.pi\n\n\n{more}") == lines


def test_an_annotation_wants_its_import_too() -> None:
    """It is read when the function is made, so that without it nothing of the file runs."""
    head = "import os\n\n\ndef f(a: Sequence[int]):\n    return a\n"
    assert imported(head)[0] == "from collections.abc import Sequence"


@pytest.mark.parametrize(
    "file",
    [
        "from tools import *\n\n\ndef f(a):\n    return math.pi\n",
        "def g():\n    global math\n    import math\n\n\ndef f(a):\n    return math.pi\n",
        "try:\n    import math\nexcept ImportError:\n    math = None\n\n\ndef f(a):\n    return math.pi\n",
        "class math:\n    pi = 3\n\n\ndef f(a):\n    return math.pi\n",
        "def f(a):\n    import math\n    return [math.pi for x in a]\n",
        "def f(a):\n    return len(a)\n",
    ],
)
def test_what_somebody_may_bind_is_left_alone(file: str) -> None:
    """A whole module's names, a global one, one of several ways, a class, a local one, a builtin."""
    assert imported(file) == []
