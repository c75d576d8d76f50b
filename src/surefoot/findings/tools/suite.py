"""The project's own tests as an auditor: a failing test is a critical finding."""

from pathlib import Path
from typing import Final

from surefoot.findings.raw import Raw, findings_of
from surefoot.kernel.ports import Suite
from surefoot.values import (
    AuditorResult,
    AuditorState,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
)

_RULE: Final = "failing-test"
_STATES: Final = {
    ReportState.TIMEOUT: AuditorState.TIMEOUT,
    ReportState.TOOL_MISSING: AuditorState.MISSING,
}


class TestsAuditor:
    """Runs all tests of the suite."""

    __test__ = False

    def __init__(self, suite: Suite) -> None:
        self._suite = suite

    @property
    def tool(self) -> str:
        """Always `tests`."""
        return "tests"

    def audit(self, root: Path) -> AuditorResult:
        """Look at the tree at `root`."""
        return result_of(self._suite.run(root), root)


class NoTests:
    """Stands for the tests of a project of which nobody knows how it tests itself; that is no pass."""

    def __init__(self, why: str) -> None:
        self._why = why

    @property
    def tool(self) -> str:
        """As that of those that run."""
        return "tests"

    def audit(self, _root: Path) -> AuditorResult:
        """Nothing was run, and why."""
        return AuditorResult(tool=self.tool, state=AuditorState.MISSING, message=self._why)


def result_of(report: TestReport, root: Path) -> AuditorResult:
    """A test report, wherever it came from, as an auditor's result."""
    if report.state is not ReportState.COMPLETE:
        why = report.reason or ", ".join(report.failing[:3])
        return AuditorResult(
            tool="tests",
            state=_STATES.get(report.state, AuditorState.BROKEN),
            message=f"the test run is {report.state}{f': {why}' if why else ''}",
            wall_s=report.wall_s,
        )
    bad = (TestOutcome.FAILED, TestOutcome.ERROR)
    raws = (_raw(result, root) for result in report.results if result.outcome in bad)
    return AuditorResult(
        tool="tests",
        state=AuditorState.OK,
        findings=findings_of("tests", raws, root),
        wall_s=report.wall_s,
    )


def _raw(result: TestResult, root: Path) -> Raw:
    file = result.test_id.split("::")[0]
    if not (root / file).is_file():
        # Other runners have ids that are not paths.
        file = next((f.path for f in result.frames if (root / f.path).is_file()), "")
    lines = [frame.line for frame in result.frames if frame.path == file]
    return Raw(
        rule=_RULE,
        file=file,
        line=lines[0] if lines else 0,
        message=f"{result.test_id}: {result.message or result.outcome.value}",
        identity=result.test_id,
        evidence=result.detail or result.message,
        remediation="make the product do what the test asks",
    )
