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
        ("found = 1 if min(1, 2) else 2", True),
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
    ],
)
def test_which_conditions_those_are(line: str, *, idle: bool) -> None:
    """What a loop, a method, an item or an unknown function may change is no constant, nor is a name of the module."""
    text = LIMIT.format(line)
    assert is_idle(text, text) is idle


def test_functions_that_are_gone_have_none() -> None:
    """Nor has a module's own code."""
    one, other = parse("m.py", NAME.format("kinds[0]")), parse("m.py", "x = 1\n")
    assert one is not None
    assert other is not None
    assert not idles(one, other, units(one)[0])
    assert not idles(one, one, None)
