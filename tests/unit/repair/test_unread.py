"""What a function has and no longer uses."""

import pytest

from surefoot.execute.repair.unread import dropped, idles, taken_in_vain
from surefoot.execute.source import Source, parse, units

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


GETTER = "    @property\n    def size(self):\n        word = str(self.x)\n        return word\n"
SETTER = (
    "    @size.setter\n    def size(self, new):\n        word = str(new)\n        self.x = word\n"
)


@pytest.mark.parametrize(("old", "number"), [("return word", 0), ("self.x = word", 1)])
def test_of_several_functions_of_a_name_the_one_that_is_changed_is_read(
    old: str, number: int
) -> None:
    """A getter and its setter are two functions."""
    before = parse("m.py", f"class Box:\n{GETTER}\n{SETTER}")
    assert before is not None
    after = parse("m.py", before.text.replace(old, old.replace("word", "0")))
    assert after is not None
    both = units(before)
    assert dropped(before, after, both[number]) == {"word"}
    assert dropped(before, after, both[1 - number]) == set()


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


INNER = """\
def positive(numbers):
    def total(n):
        digits = [int(i) for i in str(n)]
        return sum(digits)
    return list(filter(lambda x: x > 0, [total(i) for i in numbers])), {k: 0 for k in numbers}
"""


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        ("[int(i) for", "[n for", {"i"}),
        ("[total(i) for", "[total(numbers[0]) for", {"i"}),
        ("lambda x: x > 0", "lambda x: len(numbers) > 0", {"x"}),
        ("str(n)", "str(numbers)", {"n"}),
        ("[int(i) for", "[len(locals()) for", set()),
        ("[int(i) for i in str(n)]", "[int(j) for j in str(n)]", set()),
        ("[int(i) for i in str(n)]", "[n for j in str(n)]", set()),
        ("sum(digits)", "sum(digits) + len({k: 1 for k in digits if k})", set()),
    ],
)
def test_a_scope_within_reads_a_name_of_its_own(old: str, new: str, names: set[str]) -> None:
    """Another scope that reads one of the same spelling reads another one; one that was idle before may stay so."""
    before, after = parse("m.py", INNER), parse("m.py", INNER.replace(old, new))
    assert before is not None
    assert after is not None
    assert dropped(before, after, units(before)[0]) == names


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


@pytest.mark.parametrize(
    ("old", "new"),
    [("name()", "name(self)"), ("__exit__(self)", "__exit__(self, kind, error, at)")],
)
def test_what_a_protocol_passes_is_not_taken_in_vain(old: str, new: str) -> None:
    """An object, and what Python gives to a method of its own, comes whether it is read or not."""
    before = parse("m.py", f"class A:\n    def {old}:\n        return 'x'\n")
    assert before is not None
    after = parse("m.py", before.text.replace(old, new))
    assert after is not None
    assert taken_in_vain(before, after, units(before)[0]) is None


SUM = """\
def digits(n):
    neg = 1 if n >= 0 else -1
    parts = [int(i) for i in str(abs(n))]
    parts[0] = parts[0] * neg
    return sum(parts)
"""
LINE = "    parts[0] = parts[0] * neg\n"


def _changed(new: str) -> tuple[Source, Source]:
    before, after = parse("m.py", SUM), parse("m.py", SUM.replace(LINE, new))
    assert before is not None
    assert after is not None
    return before, after


@pytest.mark.parametrize(
    "new",
    [
        "    return sum(parts) + neg\n",
        "    raise ValueError(neg)\n",
        "    if neg > 0:\n        return 0\n    else:\n        return neg\n",
        "    while True:\n        break\n        parts[0] = neg\n",
    ],
)
def test_a_change_that_cuts_off_what_follows_leaves_it_idle(new: str) -> None:
    """Whoever put the statement there meant it to be reached; what was cut off before is none of the change's."""
    before, after = _changed(new)
    assert idles(before, after, units(before)[0])
    assert not idles(after, after, units(after)[0])


@pytest.mark.parametrize(
    "new",
    [
        "    if neg > 0:\n        return 0\n    elif neg:\n        parts[0] = neg\n",
        "    if neg > 0:\n        return 0\n",
        "    parts[0] *= neg\n",
    ],
)
def test_what_may_be_reached_is_not_idle(new: str) -> None:
    """A block that is left on one way only goes on."""
    before, after = _changed(new)
    assert not idles(before, after, units(before)[0])


def test_a_yield_behind_a_return_is_read_all_the_same() -> None:
    """It says that the function is a generator."""
    before = parse("m.py", "def none(x):\n    return []\n")
    after = parse("m.py", "def none(x):\n    return\n    yield\n")
    assert before is not None
    assert after is not None
    # `x` was read by neither.
    assert idles(before, after, units(before)[0]) is False


NAMES = """\
def is_fine(name):
    \"\"\"Whether a name has at most three digits ('0'-'9') and one dot.\"\"\"
    head, tail = name.split(".")
    return not (tail.isdigit() and len(tail) > 3)
"""


@pytest.mark.parametrize(
    ("body", "forgotten"),
    [
        ("name.count('.') == 1", True),
        ("sum(c.isdigit() for c in name) <= 3", False),
        ("sum(c.isdecimal() for c in name) <= 3", False),
        ("sum('0' <= c <= '9' for c in name) <= 3", False),
        ("len(re.findall('[0-9]', name)) <= 3", False),
        ("name.isupper()", True),
    ],
)
def test_what_the_docstring_names_and_was_asked_for_is_not_forgotten(
    body: str, *, forgotten: bool
) -> None:
    """Digits are told from other characters in whatever way; where the docstring does not speak of them nobody misses them."""
    head, _, _ = NAMES.partition("    head,")
    for said in ("digits", "signs"):
        before = parse("m.py", NAMES.replace("digits", said))
        after = parse("m.py", f"{head.replace('digits', said)}    return {body}\n")
        assert before is not None
        assert after is not None
        assert idles(before, after, units(before)[0]) is (forgotten and said == "digits")


def test_a_docstring_of_small_letters_tells_none_of_them() -> None:
    """Nobody asks for small letters by writing of them in some."""
    code = '"""vowels of a name, in lowercase or not."""\n    return [c for c in name'
    before = parse("m.py", f"def vowels(name):\n    {code} if c.lower() in 'aeiou']\n")
    asks = parse("m.py", f"def vowels(name):\n    {code} if c in 'aeiou']\n")
    assert before is not None
    assert asks is not None
    after = parse("m.py", f"def vowels(name):\n    {code} if c in ('A', 'E')]\n")
    assert after is not None
    assert idles(before, after, units(before)[0])
    assert not idles(before, asks, units(before)[0])


BORED = """\
def bored(text):
    \"\"\"Sentences that start with I; they are delimited by '.', '?' or '!'.\"\"\"
    sentences = text.split(".")
    return sum(s.startswith("I") for s in sentences)
"""
SPLIT = 'text.split(".")'


@pytest.mark.parametrize(
    ("delimited", "unheeded"),
    [
        (SPLIT, True),
        ('text.replace("?", ".").split(".")', False),
        ('text.replace("?", ".").replace("!", ".").split(".")', False),
        ('re.split("[^A-Za-z ,]|[.]", text)', False),
        ("split(text)", False),
        ('[t for c in SIGNS for t in text.replace(c, ".").split(".")]', False),
    ],
)
def test_of_signs_that_the_docstring_names_more_than_one_is_told(
    delimited: str, *, unheeded: bool
) -> None:
    """One of three may be told by what is none of the others, and all of them by other code of the file."""
    file = "SIGNS = '.?!'\n" * ("SIGNS" in delimited) + BORED
    before = parse("m.py", file)
    after = parse("m.py", file.replace("s.startswith", "s.strip().startswith"))
    meant = parse("m.py", after.text.replace(SPLIT, delimited)) if after else None
    assert before is not None
    assert meant is not None
    assert idles(before, meant, units(before)[0]) is unheeded


@pytest.mark.parametrize("said", ["'.' or '!'", "one of .?!", "'a', 'e' or '.'"])
def test_signs_that_are_not_named_by_themselves_or_are_two_may_be_told_otherwise(said: str) -> None:
    """Of two the other one is what is left, and letters are told in many ways."""
    before = parse("m.py", BORED.replace("'.', '?' or '!'", said))
    assert before is not None
    assert not idles(before, before, units(before)[0])
