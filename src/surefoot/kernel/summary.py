"""Audits and baselines in the few words and numbers that a decision needs."""

import re
from collections.abc import Mapping
from typing import Final

from surefoot.values import Audit, AuditSummary, ReportState, Severity, TestReport


def summarise(audit: Audit) -> AuditSummary:
    """Findings above the baseline by severity."""
    counts = dict.fromkeys(Severity, 0)
    for finding in audit.findings:
        counts[finding.severity] += 1
    return AuditSummary(
        critical=counts[Severity.CRITICAL],
        high=counts[Severity.HIGH],
        medium=counts[Severity.MEDIUM],
        low=counts[Severity.LOW],
        info=counts[Severity.INFO],
        ci_pass=audit.ci_pass,
    )


_ERROR = re.compile(r"\berror:", re.IGNORECASE)
_RAISED = re.compile(r"^E {3}(?=\S)")
"""How pytest begins what an import raised: the exception's first line; those after it are further in."""
_UNUSABLE: Mapping[ReportState, str] = {
    ReportState.TIMEOUT: "the tests did not end in time; raise `[test] timeout_s`",
    ReportState.CRASHED: "the test process died before it finished",
    ReportState.UNPARSABLE: "the test run could not be understood",
    ReportState.TOOL_MISSING: "the test runner is missing; install it into the project's environment",
    ReportState.NOTHING_COLLECTED: "no test was collected; write one, or set `[test] command`",
    ReportState.FOREIGN_CODE: "the tests import the project from outside the worktree",
    ReportState.FORGED: "the runner's control tests did not behave; its word cannot be trusted",
}


_OURS: Final = frozenset({ReportState.FOREIGN_CODE, ReportState.FORGED, ReportState.TOOL_MISSING})
"""What Surefoot itself found out: nothing that the runner printed says more."""
_ENDED: Final = frozenset({ReportState.TIMEOUT, ReportState.CRASHED})
"""Where what ended the run is known, and the runner's last line says how far it was."""


def unusable(report: TestReport) -> str:
    """Why a baseline cannot be built on, in one sentence, with what was found.

    That is what Surefoot found out itself, and the runner's last line that names an error or what was raised, else its last.
    """
    told = _UNUSABLE[report.state]
    if report.state in _OURS | _ENDED and report.reason:
        told += f": {report.reason}"
        if report.state in _OURS:
            return told
    lines = [line.strip() for line in report.output.splitlines() if line.strip()]
    raised = [_RAISED.sub("", line) for line in lines if _RAISED.search(line)]
    errors = [line for line in lines if _ERROR.search(line)] or raised
    seen = "" if report.state in _ENDED else report.reason
    tail = errors[-1] if errors else seen or (lines or [""])[-1]
    return f"{told} ({tail[:200]})" if tail else told
