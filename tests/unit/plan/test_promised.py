"""Which entries of a unit's verification are tests, and what a run that promised them has to show."""

from dataclasses import replace

import pytest
from tests.unit.plan.plans import unit

from surefoot.decisions import assigned
from surefoot.gates.assigned import PromisedTests
from surefoot.kernel.ports import ReviewInput
from surefoot.values import (
    Diff,
    Issue,
    Mode,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
    TreeId,
)

SENTENCE = "adds two numbers"
BLANK = "unit tests/test_sum.py::test_adds"
NEW = "tests/test_new.py::test_it"
COMMAND = "make check"


def report(**outcomes: TestOutcome) -> TestReport:
    results = tuple(TestResult(test_id=t, outcome=o) for t, o in outcomes.items())
    return TestReport(command=("prove",), state=ReportState.COMPLETE, exit_code=1, results=results)


@pytest.mark.parametrize("test_id", [SENTENCE, BLANK])
def test_what_is_collected_is_a_test_whatever_it_looks_like(test_id: str) -> None:
    """A sentence of TAP and a folder with a blank are no commands; what is not there yet is told by its look."""
    given = unit(1, "S1", verification=(test_id, NEW, COMMAND))
    red = report(**{test_id: TestOutcome.FAILED, "other": TestOutcome.FAILED})
    assert assigned.tests_of(given, red.collected) == (test_id, NEW)
    assert assigned.tests_of(given, ()) == (NEW,)
    assert assigned.failing_of(given, red) == (test_id,)


@pytest.mark.parametrize("test_id", [SENTENCE, BLANK])
def test_a_promised_test_that_fails_is_vetoed(test_id: str) -> None:
    """And one that passes is not, whatever its id looks like."""
    given = PromisedTests(unit(1, "S1", verification=(test_id, COMMAND)))
    red = report(**{test_id: TestOutcome.FAILED})
    seen = ReviewInput(
        issue=Issue(source="text", text="mend it"),
        diff=Diff(before=TreeId("a"), after=TreeId("b"), files=(), patch=""),
        contents={},
        evidence=(),
        mode=Mode.AUTO_SOLVE_FULL,
        risk_flags=frozenset(),
        test_paths=frozenset(),
        control_paths=frozenset(),
        tests=red,
        failing_before=frozenset(),
    )
    assert test_id in given.review(seen).reason
    green = replace(seen, tests=report(**{test_id: TestOutcome.PASSED}))
    assert given.review(green).verdict == "PASS"


@pytest.mark.parametrize("line", ["./check.sh", "tools/check.sh", "../bin/check.py", "/bin/true.x"])
def test_the_path_of_a_program_is_a_command(line: str) -> None:
    """As a shell takes it: looked for among the tests, it would be missing at the end of its slice."""
    given = unit(1, "S1", verification=(line, "tests/test_a.py", "lib/rows.js"))
    assert assigned.tests_of(given, ()) == ("tests/test_a.py", "lib/rows.js")
