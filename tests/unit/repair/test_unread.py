"""What a function has and no longer uses."""

import pytest

from surefoot.execute.repair.unread import dropped, taken_in_vain
from surefoot.execute.source import parse, units

BEFORE = """\
def ends(words, sep):
    first = words[0] + sep
    last: str = words[-1] + sep
    if (both := first + "-") and len(both) > 9:
        return both
    return first, last
"""


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("return first, last", "return first", {"last"}),
        (" + sep", "", {"sep"}),
        ("len(both) > 9:\n        return both", "first:\n        return 1", {"both"}),
        ("words[-1] + sep", "words[-1]", set()),
        ("    last: str = words[-1] + sep\n", "    last, rest = words\n", set()),
        ("return first, last", "return locals()", set()),
        ("return first, last", "return first, (lambda: last)", set()),
        ("return first, last", "new = first, last", set()),
        ("def ends(words, sep):", "def starts(words, sep):", set()),
    ],
)
def test_what_a_change_leaves_idle(old: str, new: str, names: set[str]) -> None:
    """Names that were read, are still there and are read nowhere; not what is gone, new, or was idle before."""
    before, after = parse("m.py", BEFORE), parse("m.py", BEFORE.replace(old, new))
    assert before is not None
    assert after is not None
    assert dropped(before, after, units(before)[0]) == names
    assert dropped(after, after, units(after)[0]) == set()
    assert dropped(before, after, None) == set()


def test_what_is_imported_is_used_on() -> None:
    """Within a function or above it; an import that was idle before, or that goes, is none of the change's."""
    text = "import os\nimport re as regex\n\ndef f(x):\n    import math\n    return math.floor(x), regex.escape(x)\n"
    before = parse("m.py", text)
    assert before is not None
    unit = units(before)[0]
    for old, new, names in (
        ("math.floor(x)", "x", {"math"}),
        ("regex.escape(x)", "x", {"regex"}),
        ("    import math\n    return math.floor(x)", "    return x", set()),
    ):
        after = parse("m.py", text.replace(old, new))
        assert after is not None
        assert dropped(before, after, unit) == names


def test_loops_that_count_use_no_name() -> None:
    """The variable of a loop over anything else is read, or was meant to be."""
    before = parse("m.py", "def f(xs):\n    return [x + 1 for x in xs], [i for i in range(3)]\n")
    assert before is not None
    unit = units(before)[0]
    for old, new, names in (("x + 1", "1", {"x"}), ("[i for", "[0 for", set())):
        after = parse("m.py", before.text.replace(old, new))
        assert after is not None
        assert dropped(before, after, unit) == names


@pytest.mark.parametrize(
    ("after", "vain"),
    [
        ("def power(x, n=2):\n    n = 2\n    return x**n\n", "n"),
        ("def power(x, n=2):\n    return x**2\n", "n"),
        ("def power(x, n=2):\n    return x**n\n", None),
        ("def power(x, n=None):\n    n = n or 2\n    return x**n\n", None),
        ("def power(x, n=None):\n    if n is None:\n        n = 2\n    return x**n\n", None),
        ("def power(x, n=2):\n    return eval('x**n')\n", None),
        ("def power(x):\n    n = 3\n    return x**n\n", None),
    ],
)
def test_a_parameter_that_is_taken_in_vain(after: str, vain: str | None) -> None:
    """A call that passes it gets what it got without it, whatever the tests say."""
    before = parse("m.py", "def power(x):\n    n = 2\n    return x**n\n")
    now = parse("m.py", after)
    assert before is not None
    assert now is not None
    assert taken_in_vain(before, now, units(before)[0]) == vain
