"""Test reports that several tests lean on."""

from surefoot.values import ReportState, TestOutcome, TestReport, TestResult

GREEN = TestReport(
    command=("pytest",),
    state=ReportState.COMPLETE,
    exit_code=0,
    results=(TestResult(test_id="tests/test_a.py::test_b", outcome=TestOutcome.PASSED),),
)
