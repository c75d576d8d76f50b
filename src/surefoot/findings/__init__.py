"""Findings: what auditors hold against a tree, with severity, fingerprint, baseline, SARIF and clusters (SPEC B4, B14)."""

from surefoot.findings.auditors import default_auditors, run_audit
from surefoot.findings.baseline import BASELINE_NAME, read_baseline, write_baseline
from surefoot.findings.gaming import GamingReviewer, gaming
from surefoot.findings.process import AUDIT_LIMITS, Toolchain
from surefoot.findings.raw import Raw, findings_of
from surefoot.findings.redacted import redacted
from surefoot.findings.sarif import SarifError, sarif_to_findings
from surefoot.findings.sarif_write import write_sarif
from surefoot.findings.severity import TABLE_VERSION
from surefoot.findings.summary import fail_reason, rows, summary, summary_json, worst_first
from surefoot.findings.tools.command import CommandAuditor
from surefoot.findings.tools.suite import NoTests, TestsAuditor
from surefoot.findings.tree import looks_like_test, python_files

__all__ = [
    "AUDIT_LIMITS",
    "BASELINE_NAME",
    "TABLE_VERSION",
    "CommandAuditor",
    "GamingReviewer",
    "NoTests",
    "Raw",
    "SarifError",
    "TestsAuditor",
    "Toolchain",
    "default_auditors",
    "fail_reason",
    "findings_of",
    "gaming",
    "looks_like_test",
    "python_files",
    "read_baseline",
    "redacted",
    "rows",
    "run_audit",
    "sarif_to_findings",
    "summary",
    "summary_json",
    "worst_first",
    "write_baseline",
    "write_sarif",
]
