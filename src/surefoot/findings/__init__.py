"""Findings: what auditors hold against a tree, with severity, fingerprint, baseline, SARIF and clusters (SPEC B4, B14)."""

from surefoot.findings.auditors import default_auditors, run_audit
from surefoot.findings.baseline import BASELINE_NAME, read_baseline, write_baseline
from surefoot.findings.cluster import Cluster, clusters
from surefoot.findings.gaming import GamingReviewer, gaming
from surefoot.findings.process import AUDIT_LIMITS, Toolchain
from surefoot.findings.sarif import SarifError, sarif_to_findings
from surefoot.findings.sarif_write import write_sarif
from surefoot.findings.severity import TABLE_VERSION
from surefoot.findings.summary import fail_reason, rows, summary, summary_json, worst_first
from surefoot.findings.tools.command import CommandAuditor
from surefoot.findings.tools.suite import TestsAuditor

__all__ = [
    "AUDIT_LIMITS",
    "BASELINE_NAME",
    "TABLE_VERSION",
    "Cluster",
    "CommandAuditor",
    "GamingReviewer",
    "SarifError",
    "TestsAuditor",
    "Toolchain",
    "clusters",
    "default_auditors",
    "fail_reason",
    "gaming",
    "read_baseline",
    "rows",
    "run_audit",
    "sarif_to_findings",
    "summary",
    "summary_json",
    "worst_first",
    "write_baseline",
    "write_sarif",
]
