"""What an issue shows in so many words is a test that the result has to pass, where the base fails it."""

import sys
import unittest
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from surefoot.execute.example_tests import ExampleWriter
from surefoot.kernel.examples import ExampleTests, judged
from surefoot.kernel.ports import TrialWorker
from surefoot.suite import is_control_path, is_test_path
from surefoot.values import Diff, ReportState, TestOutcome, TestReport, TestResult, TreeId

BASE, TREE = TreeId("base"), TreeId("tree")
CALC = "def add(a, b):\n    return a - b\n"


@dataclass
class Texts:
    """Trees that are only read."""

    trees: Mapping[TreeId, Mapping[str, str]]

    def files(self, tree: TreeId) -> tuple[str, ...]:
        return tuple(sorted(self.trees[tree]))

    def read(self, tree: TreeId, path: str) -> bytes | None:
        text = self.trees[tree].get(path)
        return None if text is None else text.encode()

    def diff(self, before: TreeId, after: TreeId) -> Diff:
        raise NotImplementedError

    def overlay(self, tree: TreeId, source: TreeId, paths: Sequence[str]) -> TreeId:
        raise NotImplementedError

    def checkout(self, tree: TreeId) -> AbstractContextManager[Path]:
        raise NotImplementedError


class Paths:
    """A suite that only tells which paths are tests."""

    command = ("pytest",)

    def is_test_path(self, path: str) -> bool:
        return is_test_path(path)

    def is_control_path(self, path: str) -> bool:
        return is_control_path(path)

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        raise NotImplementedError

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        raise NotImplementedError

    def worker(self, root: Path, tests: Sequence[str]) -> AbstractContextManager[TrialWorker]:
        raise NotImplementedError


def written(issue: str, base: Mapping[str, str], tree: Mapping[str, str]) -> ExampleTests | None:
    """The tests of an issue for a tree."""
    return ExampleWriter(trees=Texts({BASE: base, TREE: tree}), suite=Paths())(issue, BASE, TREE)


def shown(issue: str, base: Mapping[str, str], tree: Mapping[str, str]) -> list[str]:
    """Its examples in words."""
    tests = written(issue, base, tree)
    return [] if tests is None else list(tests.shown.values())


def test_only_what_can_be_told_for_sure_is_asked() -> None:
    """A function that one module defines at its top; no method, no coroutine, no name of two modules, no wrong value."""
    issue = "`add(2, 3)` gives -1 where 5 is right"
    assert shown(issue, {"calc.py": CALC}, {"calc.py": CALC}) == ["add(2, 3) gives 5"]
    for text in (
        "class Sum:\n    def add(self, a, b):\n        return a - b\n",
        f"async {CALC}",
        "total = 1\n",
        "def add(:\n",
    ):
        assert shown(issue, {"calc.py": text}, {"calc.py": text}) == []
    twice = {"calc.py": CALC, "other.py": CALC}
    assert shown(issue, twice, twice) == []
    assert shown("`add(2, 3)` gives -1", {"calc.py": CALC}, {"calc.py": CALC}) == []


def test_an_example_is_of_the_whole_expression() -> None:
    """What holds for the length of a result is not asked of the result; a number of items is asked of nothing."""
    issue = "`len(add([2], [3]))` gives 0, should be 2"
    assert shown(issue, {"calc.py": CALC}, {"calc.py": CALC}) == ["len(add([2], [3])) gives 2"]
    counted = "`add([2], [3])` should return 2 items"
    assert shown(counted, {"calc.py": CALC}, {"calc.py": CALC}) == []


def test_a_function_that_the_base_does_not_know_is_new() -> None:
    """Nothing has to be run to see that the base does not do it; a name that it has in another form is not new."""
    issue = "`add(2, 3)` should return 5"
    tests = written(issue, {"calc.py": ""}, {"calc.py": CALC})
    assert tests is not None
    assert tests.new == set(tests.shown) == {"tests/test_examples_of_the_issue.py::test_example_1"}
    known = written(issue, {"calc.py": "add = int.__add__\n"}, {"calc.py": CALC})
    assert known is not None
    assert known.new == frozenset()


@pytest.mark.parametrize(
    ("wanted", "given", "holds"),
    [
        ("5", 5, True),
        ("5", 6, False),
        ("3.33", 10 / 3, True),
        ("3.33", 3.34, False),
        ("[1, 2]", (1, 2), True),
        ("[1, 2]", iter([1, 2]), True),
        ("[1, 2]", [2, 1], False),
        ("'12'", "12", True),
        ("['1', '2']", "12", False),
        ("None", None, True),
    ],
)
def test_values_are_compared_leniently(
    monkeypatch: pytest.MonkeyPatch, wanted: str, given: object, *, holds: bool
) -> None:
    """As far as the issue writes a number out, and whatever holds a sequence."""
    assert runs(monkeypatch, wanted, given) is holds


def test_what_gives_nothing_claims_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """People who write what a call gives may mean what it prints."""
    with pytest.raises(unittest.SkipTest):
        runs(monkeypatch, "5", None)


def runs(monkeypatch: pytest.MonkeyPatch, wanted: str, given: object) -> bool:
    """Whether the test of an example passes where the function gives a value."""
    tests = written(f"`add(2, 3)` should return {wanted}", {"calc.py": ""}, {"calc.py": CALC})
    assert tests is not None
    calc = ModuleType("calc")
    calc.__dict__["add"] = lambda _a, _b: given
    monkeypatch.setitem(sys.modules, "calc", calc)
    space: dict[str, object] = {}
    exec(tests.text, space)  # what it does is what is looked at
    test = space["test_example_1"]
    assert callable(test)
    try:
        test()
    except AssertionError:
        return False
    return True


P, F, S = TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.SKIPPED
WRONG = "AssertionError: -1\nassert False"


def report(
    outcome: TestOutcome, message: str = WRONG, state: ReportState = ReportState.COMPLETE
) -> TestReport:
    """A run of one example."""
    result = TestResult(test_id="t", outcome=outcome, message=message)
    return TestReport(command=("pytest",), state=state, exit_code=0, results=(result,))


def example(*, new: bool = False) -> ExampleTests:
    """One example."""
    return ExampleTests(
        path="t.py", text="", shown={"t": "f(1) gives 2"}, new=frozenset({"t"} if new else ())
    )


def test_what_the_base_contradicts_has_to_hold() -> None:
    """It holds, or it does not, and the proof says so with the value that came."""
    held = judged(example(), report(F), report(P), "")
    assert held is not None
    assert held.evidence(report(P), ()).passed
    broken = judged(example(), report(F), report(F), "")
    assert broken is not None
    told = broken.evidence(report(F), ())
    assert not told.passed
    assert told.after == "the issue's example does not hold: f(1) gives 2 (AssertionError: -1)"


def test_an_exception_counts_where_the_issue_names_it() -> None:
    """Any other may come of running it here: no network, no file, arguments that the issue left out."""
    raised = report(F, "IndexError: list index out of range")
    assert judged(example(), raised, raised, "it raises an IndexError") is not None
    assert judged(example(), raised, raised, "it fails") is None
    held = judged(example(), raised, report(P), "it raises IndexError")
    assert held is not None
    assert not held.broken


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (report(P), report(F)),
        (report(S), report(F)),
        (report(F), report(S)),
        (report(F, state=ReportState.CRASHED), report(F)),
        (report(F), report(F, state=ReportState.TIMEOUT)),
        (None, report(F)),
    ],
)
def test_what_the_base_says_too_or_nobody_can_run_claims_nothing(
    before: TestReport | None, after: TestReport
) -> None:
    """Neither for the work nor against it."""
    assert judged(example(), before, after, "") is None


def test_an_example_of_something_new_needs_no_base() -> None:
    """The base cannot hold what it does not know."""
    broken = judged(example(new=True), None, report(F), "")
    assert broken is not None
    assert broken.broken
