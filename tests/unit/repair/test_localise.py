"""Where a bug is looked for first."""

from dataclasses import replace

import pytest

from surefoot.execute.repair.localise import BugFacts, function_of, localise
from surefoot.execute.source import parse
from surefoot.kernel.ports import Coverage

CODE = "def total(a):\n    return sum(a)\n"
SOURCES = {p: s for p in ("a.py", "b.py", "c.py") if (s := parse(p, CODE)) is not None}
RUN = Coverage(test_id="t", passed=False, lines=dict.fromkeys(SOURCES, (2,)))


def order(issue: str, *aimed: str) -> list[str]:
    """Files of the suspects, most suspicious first."""
    facts = BugFacts(
        sources=SOURCES, tests={}, failing=(), coverage=(RUN,), issue=issue, aimed=aimed
    )
    return [s.path for s in localise(facts) if s.unit is not None]


def test_of_what_ran_alike_the_file_that_the_plan_names_comes_first() -> None:
    """The plan's change is aimed at it."""
    assert order("it fails") == ["a.py", "b.py", "c.py"]
    assert order("it fails", "c.py") == ["c.py", "a.py", "b.py"]


def test_a_file_that_did_not_run_is_no_suspect_for_being_named() -> None:
    """Each of its functions would have its turn before another of what ran; where nothing is known to have run, it is one."""
    other = parse("d.py", CODE)
    assert other is not None
    facts = BugFacts(
        sources={**SOURCES, "d.py": other}, tests={}, failing=(), coverage=(RUN,), aimed=("d.py",)
    )
    assert "d.py" not in {s.path for s in localise(facts)}
    for blind in ((), (replace(RUN, lines={}),)):
        assert [s.path for s in localise(replace(facts, coverage=blind))] == ["d.py"]


def test_a_modules_own_statements_are_aimed_at_as_its_functions_are() -> None:
    """A table beside functions that ran: both in the file that the plan names."""
    table = "RATES = {'a': 1}\n" + CODE
    sources = {p: s for p in ("a.py", "b.py") if (s := parse(p, table)) is not None}
    run = Coverage(test_id="t", passed=False, lines=dict.fromkeys(sources, (1, 3)))
    facts = BugFacts(sources=sources, tests={}, failing=(), coverage=(run,), aimed=("b.py",))
    own = [s for s in localise(facts) if s.unit is None]
    assert [s.path for s in own] == ["b.py", "a.py"]


def test_every_suspect_has_a_key_of_its_own() -> None:
    """A getter and its setter share a name; the first one's key is its name, as that of any other function."""
    getter = "    @property\n    def size(self):\n        return self.x\n\n"
    setter = "    @size.setter\n    def size(self, x):\n        self.x = x\n"
    source = parse("a.py", f"class Box:\n{getter}{setter}")
    assert source is not None
    run = Coverage(test_id="t", passed=False, lines={"a.py": (4, 8)})
    found = localise(BugFacts(sources={"a.py": source}, tests={}, failing=(), coverage=(run,)))
    assert [s.key for s in found if s.unit is not None] == ["a.py::Box.size", "a.py::Box.size#2"]


@pytest.mark.parametrize(
    ("test_id", "name"),
    [
        ("t.py::test_parse", "test_parse"),
        ("t.py::test_parse[1-x]", "test_parse"),
        ("t.py::test_parse[::1]", "test_parse"),
        ("t.py::TestParse::test_parse[a::b[c]]", "test_parse"),
    ],
)
def test_the_function_of_a_test_is_told_whatever_its_row_is_called(test_id: str, name: str) -> None:
    """An address such as `::1` is a row's name, and no part of the test's."""
    assert function_of(test_id) == ("t.py", name)
