"""Test reports as findings."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from surefoot.findings import TestsAuditor
from surefoot.findings.tools.suite import result_of
from surefoot.values import (
    AuditorState,
    Frame,
    ReportState,
    Severity,
    TestOutcome,
    TestReport,
    TestResult,
)


def report(*results: TestResult, state: ReportState = ReportState.COMPLETE) -> TestReport:
    return TestReport(
        command=("pytest",), state=state, exit_code=1, results=results, wall_s=2.0, reason="so"
    )


def failed(test_id: str, outcome: TestOutcome = TestOutcome.FAILED, line: int = 4) -> TestResult:
    frames = (
        Frame(path="tests/test_a.py", line=line, function="test_x"),
        Frame(path="pkg/a.py", line=9, function="f"),
    )
    return TestResult(test_id=test_id, outcome=outcome, message="assert 1 == 2", frames=frames)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("x\n" * 20)
    return tmp_path


def test_failures_are_critical(root: Path) -> None:
    """Each failing or erring test is one critical finding at its own line; the others are none."""
    result = result_of(
        report(
            failed("tests/test_a.py::test_x"),
            failed("tests/test_a.py::test_y", TestOutcome.ERROR),
            failed("tests/test_a.py::test_z", TestOutcome.SKIPPED),
            failed("tests/test_a.py::test_0", TestOutcome.XFAILED),
            TestResult(test_id="tests/test_a.py::test_1", outcome=TestOutcome.PASSED),
        ),
        root,
    )
    assert (result.state, result.wall_s) == (AuditorState.OK, 2.0)
    assert [(f.rule, f.file, f.line, f.severity, f.category) for f in result.findings] == [
        ("failing-test", "tests/test_a.py", 4, Severity.CRITICAL, "tests")
    ] * 2
    assert result.findings[0].message == "tests/test_a.py::test_x: assert 1 == 2"


def test_identity_is_the_test(root: Path) -> None:
    """Another line or message of the same test is the same finding; another test is not."""
    marks = [
        result_of(report(failed(test_id, line=line)), root).findings[0].fingerprint
        for test_id, line in (("t::a", 1), ("t::a", 9), ("t::b", 1))
    ]
    assert marks[0] == marks[1] != marks[2]


def test_ids_that_are_no_paths(root: Path) -> None:
    """The first frame inside the tree gives the place, when the id does not."""
    (finding,) = result_of(report(failed("Suite case")), root).findings
    assert (finding.file, finding.line) == ("tests/test_a.py", 4)


@pytest.mark.parametrize("state", [s for s in ReportState if s is not ReportState.COMPLETE])
def test_no_trust_no_answer(root: Path, state: ReportState) -> None:
    """A run that cannot be trusted is never an answer, whatever its results say."""
    passed = TestResult(test_id="t", outcome=TestOutcome.PASSED)
    result = result_of(report(passed, state=state), root)
    expected = {
        ReportState.TIMEOUT: AuditorState.TIMEOUT,
        ReportState.TOOL_MISSING: AuditorState.MISSING,
    }
    assert result.state is expected.get(state, AuditorState.BROKEN)
    assert (result.findings, result.message) == ((), f"the test run is {state}: so")


def test_asks_the_whole_suite(root: Path) -> None:
    """The auditor runs all tests, on the tree that it is given."""
    asked: list[tuple[Path, Sequence[str] | None]] = []

    class Suite:
        def run(self, where: Path, tests: Sequence[str] | None = None) -> TestReport:
            asked.append((where, tests))
            return report()

    auditor = TestsAuditor(Suite())  # type: ignore[arg-type]  # only `run` is asked
    assert auditor.audit(root).state is AuditorState.OK
    assert (auditor.tool, asked) == ("tests", [(root, None)])
