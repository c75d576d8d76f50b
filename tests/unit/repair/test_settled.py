"""Conditions that constants alone decide."""

import pytest

from surefoot.execute.repair.unread import idles
from surefoot.execute.source import parse, units

NAME = """\
def check(name):
    kinds = ['txt', 'exe']
    parts = name.split('.')
    if parts[1] not in kinds:
        return False
    digits = len([c for c in {} if c.isdigit()])
    if digits > 3:
        return False
    return True
"""
LIMIT = """\
def check(items, limit=3):
    found = 0
    loud = False
    for item in items:
        found += item
    {}
    while True:
        return found
"""


def is_idle(before: str, after: str) -> bool:
    """Whether a change leaves something idle."""
    one, other = parse("m.py", before), parse("m.py", after)
    assert one is not None
    assert other is not None
    return idles(one, other, units(one)[-1])


@pytest.mark.parametrize(
    ("read", "idle"), [("kinds[0]", True), ("parts[0]", False), ("name", False)]
)
def test_a_condition_is_decided_by_an_argument(read: str, *, idle: bool) -> None:
    """What is computed from constants alone was meant to be computed from something else, before the change or not."""
    text = NAME.format(read)
    assert is_idle(text, text) is idle
    assert is_idle(NAME.format("kinds[1]"), text) is idle


def test_a_change_makes_no_condition_a_plain_constant() -> None:
    """It stands there for what the change took away; one that was plain before is a switch."""
    plain = NAME.replace("len([c for c in {} if c.isdigit()])", "0")
    assert is_idle(NAME.format("name"), plain)
    assert not is_idle(plain, plain)


@pytest.mark.parametrize(
    ("line", "idle"),
    [
        ("if loud: print(found)", False),
        ("if len(str(loud)) > 4: print(found)", True),
        ("few = len('abc')\n    found = 1 if few else 2", True),
        ("found = 1 if min(1, 2) else 2", False),
        ("if found > max(3, 4): return 0", False),
        ("if limit > max(3, 4): return 0", False),
        ("if len(GLOBAL) > 3: return 0", False),
        ("if len(unknown(3)) > 3: return 0", False),
        ("seen = []\n    seen.append(found)\n    if len(seen) > 3: return 0", False),
        ("seen = [0]\n    seen[0] = found\n    if sum(seen) > 3: return 0", False),
        ("seen = [0]\n    fill(seen)\n    if sum(seen) > 3: return 0", False),
        ("first: str = str(3)\n    if first == '3': return 0", True),
        ("first = first = str(3)\n    if first == '3': return 0", False),
        ("if (lambda: 1)(): return 0", False),
        ("if loud[0]: return 0", True),
        ("loop = len(loop)\n    if loop: return 0", False),
        ("words = 'a b'.split()\n    words.append(found)\n    if len(words) > 2: return 0", False),
        ("words = 'a b'.split()\n    if len(words) > 2: return 0", True),
        ("rows = [[], []]\n    rows[found].append(1)\n    if len(rows[0]) > 2: return 0", False),
        ("out = [0]\n    other = out\n    other.append(1)\n    if len(out) > 2: return 0", False),
        ("out = [0]\n    work([out, found])\n    if len(out) > 2: return 0", False),
        ("out = [0]\n    for item in out: out += [item]\n    if len(out) > 2: return 0", False),
        (
            "rest = 'abc'\n    match items:\n        case [_, *rest]: pass\n    if len(rest) > 1: return 0",
            False,
        ),
        ("key = str(1)\n    def key(): return found\n    if key: return 0", False),
        (
            "err = str(1)\n    try: pass\n    except ValueError as err: pass\n    if err: return 0",
            False,
        ),
        ("key = str(1)\n    import re as key\n    if key: return 0", False),
        ("max = found * 2\n    few = 3\n    if max(few) > 3: return 0", False),
        ("if any(items for items in items): return 0", False),
        ("few = 'ab'\n    if [c for c in few if c == found]: return 0", False),
        ("few = 'ab'\n    if [c for c in few if c == 'a']: return 0", False),
        ("few = 'ab'\n    if len([c for c in few if c == 'a']) > 1: return 0", True),
        ("few = 'ab'\n    if len([found for c in few if c == 'a']) > 1: return 0", True),
        ("few = 'ab'\n    if len([c for c in few if c == found]) > 1: return 0", False),
        ("few = 'ab'\n    if sum([found for c in few if c == 'a']) > 1: return 0", False),
        ("if found % 2 == -1: return 0", True),
        ("if found % 2 == 1: return 0", False),
        ("if found % 2 != 2: return 0", True),
        ("if found % 3 > 2: return 0", False),
        ("if len(items) % 3 > 2: return 0", True),
        ("if found % 1 == 0: return 0", False),
        ("return [x for x in items if ord(x) % 1 == 0]", True),
        ("if found % -2 == 1: return 0", False),
        ("if found % limit == -1: return 0", False),
        ("if found % 2 in (0, 1): return 0", False),
        ("if 0 <= found % 2 < 2: return 0", False),
        ("if found % True == 2: return 0", False),
        ("if len(items) < 0: return 0", True),
        ("if len(items) >= 0: return 0", True),
        ("if len(items) > 0: return 0", False),
        ("def len(items): return -1\n    if len(items) < 0: return 0", False),
        ("ord = items.pop\n    if ord(found) % 1 == 0: return 0", False),
    ],
)
def test_which_conditions_those_are(line: str, *, idle: bool) -> None:
    """What a loop, a method, an item or an unknown function may change is no constant, nor is a name of the module."""
    text = LIMIT.format(line)
    assert is_idle(text, text) is idle


def test_a_loop_that_a_change_writes_is_meant() -> None:
    """`while True` reads nothing, and a flag that is new was meant so."""
    before = "def gcd(a, b):\n    while b > 1:\n        a, b = b, a % b\n    return a\n"
    for after in (
        "def gcd(a, b):\n    while True:\n        if b == 0: return a\n        a, b = b, a % b\n",
        "def gcd(a, b):\n    on = True\n    while on:\n        if b == 0: return a\n        a, b = b, a % b\n",
    ):
        assert not is_idle(before, after)


def test_a_chain_of_names_is_read_once() -> None:
    """Each stands for twice the one before it; a thousand of them are no deeper than one."""
    lines = "".join(f"    x{n} = len(str(x{n - 1})) + x{n - 1}\n" for n in range(1, 999))
    text = f"def f():\n    x0 = str(1)\n{lines}    if x998: return 1\n    return 2\n"
    assert not is_idle(text, text)
    last = text.replace("x998:", "x0 == '1':")
    assert is_idle(last, last)


def test_functions_that_are_gone_have_none() -> None:
    """Nor has a module's own code."""
    one, other = parse("m.py", NAME.format("kinds[0]")), parse("m.py", "x = 1\n")
    assert one is not None
    assert other is not None
    assert not idles(one, other, units(one)[0])
    assert not idles(one, one, None)
