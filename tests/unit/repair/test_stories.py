"""Stories: what tests tell, with looks for assertions and other literals on the way."""

from pathlib import Path

import pytest

from surefoot.execute.repair.probe import Probe, Words, probe_of_stories, words_of
from surefoot.execute.repair.stories import LOOK, stories_of
from surefoot.execute.source import Source, parse
from surefoot.values import TestOutcome, TestResult


def source(text: str) -> Source:
    found = parse("tests/test_a.py", text)
    assert found is not None
    return found


def first(text: str, name: str = "put") -> str:
    """The first story of a test file as it stands."""
    return stories_of([source(text)], {name}, failing=(), seed=1, count=1)[0].text


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("assert x == 1", f"({LOOK}(lambda: x),)"),
        ("assert x == put", f"({LOOK}(lambda: x), {LOOK}(lambda: put))"),
        ("assert x, 'why'", f"({LOOK}(lambda: x),)"),
        ("self.assertEqual(x, 1)", f"({LOOK}(lambda: x),)"),
        ("x.put(2)", f"{LOOK}(lambda: x.put(2))"),
    ],
)
def test_assertions_become_looks(statement: str, told: str) -> None:
    """So does each call of the code in question: a story goes on where a test would end."""
    text = f"def test_a(self):\n    x = put\n    {statement}\n"
    assert first(text).splitlines()[-1].strip() == told


def test_an_expected_error_ends_nothing() -> None:
    text = "def test_a():\n    with pytest.raises(ValueError):\n        put(1)\n    assert put(2)\n"
    rows = first(text).splitlines()
    assert "except Exception:" in rows[3]
    assert "lambda: put(2)" in rows[-1]


def test_rows_of_a_table_are_given() -> None:
    """The first and the last one; a test that wants a fixture tells no story."""
    table = '@pytest.mark.parametrize("v", [1, 2, 3])\n'
    told = stories_of(
        [source(f"{table}def test_a(v):\n    put(v)\n")], {"put"}, failing=(), seed=1, count=2
    )
    assert ["v = 1" in told[0].text, "v = 3" in told[1].text] == [True, True]
    assert (
        stories_of(
            [source("def test_a(tmp_path):\n    put(tmp_path)\n")],
            "put",
            failing=(),
            seed=1,
            count=2,
        )
        == ()
    )


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("self.assertEqual(put(1), 2)", 1),
        ("self.assertEqual(self.box.put(1), 2)", 0),
        ("box = self.made()\n        box.put(1)", 0),
        ("class Box:\n            def size(self): return self.n\n        put(Box())", 1),
    ],
)
def test_what_set_up_gave_is_in_no_story(row: str, told: int) -> None:
    """Nothing stands in for it: whatever was asked of that would be the same for all candidates."""
    text = f"class TestBox(TestCase):\n    def test_a(self):\n        {row}\n"
    assert len(stories_of([source(text)], {"put"}, failing=(), seed=1, count=1)) == told


def test_variations_are_many_and_the_same_for_a_seed() -> None:
    text = "def test_a():\n    box = Box('ab')\n    assert box.put(3, 'x') == [3]\n\n\ndef test_b():\n    other(4)\n"
    told = stories_of([source(text)], {"put"}, failing=(), seed=1, count=20)
    assert told == stories_of([source(text)], {"put"}, failing=(), seed=1, count=20)
    assert len(told) == len({s.text for s in told}) == 20
    assert any("box.put(3)" in s.text for s in told)
    assert any("Box('ab')" not in s.text for s in told)
    assert all("other" not in s.text for s in told)


def test_the_story_of_a_failing_test_is_told_from_that_of_a_passing_one() -> None:
    """In its variations, too."""
    text = "def test_a():\n    a = put(1)\n\n\ndef test_b():\n    b = put('b')\n"
    told = stories_of(
        [source(text)], {"put"}, failing=["tests/test_a.py::test_b[x]"], seed=1, count=9
    )
    assert {s.steady for s in told} == {True, False}
    assert all(s.steady == ("a = " in s.text) for s in told)


TESTS = """class Box:
    def __init__(self, size):
        self.size = size

    def put(self, n):
        {body}


def test_put():
    box = Box(3)
    assert box.put(2) == 2
"""


def said(folder: Path, body: str) -> Words:
    """What the stories of a test file say when `put` has a body, told by a probe in this process."""
    text = TESTS.format(body=body)
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "test_a.py").write_text(text)
    stories = stories_of([source(TESTS.format(body="pass"))], {"put"}, failing=(), seed=1, count=12)
    return told_by(probe_of_stories("tests/test_b.py", stories), folder)


def told_by(probe: Probe, folder: Path) -> Words:
    """What a probe says in this process."""
    space: dict[str, object] = {"__file__": str(folder / probe.path)}
    exec(compile(probe.text, probe.path, "exec"), space)
    test = space["test_behaviour"]
    assert callable(test)
    with pytest.raises(AssertionError) as failure:
        test()
    result = TestResult(
        test_id=probe.tests[0], outcome=TestOutcome.FAILED, message=str(failure.value)
    )
    words = words_of(result)
    assert words is not None
    return words


def test_what_passes_alike_is_told_apart(tmp_path: Path) -> None:
    """Two bodies give the test's value for the test's literals and another one for others; two that do the same, do."""
    right = said(tmp_path, "return min(n, self.size)")
    wrong = said(tmp_path, "return n")
    same = said(tmp_path, "return n if n < self.size else self.size")
    assert right[0] == wrong[0]
    assert right != wrong
    assert right == same


def test_a_story_that_breaks_down_says_so(tmp_path: Path) -> None:
    """An input on which most candidates break down tells nobody apart; what does not end is stopped."""
    assert set(said(tmp_path, "raise KeyError(n)")) == {"!_Broken"}
    assert said(tmp_path, "while True: pass")[:3] == ("?", "?", "?")


@pytest.mark.parametrize(
    "head",
    [
        "from .helpers import A\n",
        (
            "from __future__ import annotations\nfrom dataclasses import dataclass\n\n\n"
            "@dataclass\nclass Row:\n    x: int\n"
        ),
    ],
    ids=["beside it", "dataclass"],
)
def test_a_file_of_tests_is_imported_under_its_packages(
    head: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it takes from beside itself, and what looks for its module, is there for its stories."""
    monkeypatch.syspath_prepend(tmp_path)
    body = "def put(n):\n    return n\n\n\ndef test_put():\n    assert put(6) == 6\n"
    (tmp_path / "told").mkdir()
    for name, code in (("__init__", ""), ("helpers", "A = 1"), ("test_a", f"{head}\n\n{body}")):
        (tmp_path / "told" / f"{name}.py").write_text(code)
    tests = parse("told/test_a.py", f"{head}\n\n{body}")
    assert tests is not None
    stories = stories_of([tests], {"put"}, failing=(), seed=1, count=1)
    (word,) = told_by(probe_of_stories("told/test_b.py", stories), tmp_path)
    assert not word.startswith("!")


def test_an_address_is_no_behaviour(tmp_path: Path) -> None:
    """Nor is an iterator used up by looking at it."""
    assert said(tmp_path, "return object()") == said(tmp_path, "return object()")
    assert said(tmp_path, "return iter([n])") != said(tmp_path, "return iter([n, n])")
