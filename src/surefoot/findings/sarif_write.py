"""Write an audit as a SARIF 2.1.0 log: one run a tool, broken tools included as failed invocations."""

import json
from typing import Final
from urllib.parse import quote

from surefoot.findings.sarif import FINGERPRINT, VERSION
from surefoot.findings.severity import TABLE_VERSION
from surefoot.values import Audit, AuditorResult, AuditorState, Finding, Severity

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"

_LEVELS: Final = {
    Severity.CRITICAL: "error",
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}


def write_sarif(audit: Audit) -> bytes:
    """The log as indented JSON; the same audit gives the same bytes. Accepted findings are in it, as `unchanged`."""
    known = frozenset(audit.baseline)
    log = {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [_run(result, known) for result in audit.results],
    }
    return json.dumps(log, indent=1, sort_keys=True, ensure_ascii=False).encode() + b"\n"


def _run(result: AuditorResult, known: frozenset[str]) -> dict[str, object]:
    rules = sorted({f.rule for f in result.findings})
    is_ok = result.state is AuditorState.OK
    invocation: dict[str, object] = {"executionSuccessful": is_ok}
    if result.message:
        invocation["toolExecutionNotifications"] = [
            {"level": "note" if is_ok else "error", "message": {"text": result.message}}
        ]
    return {
        "tool": {"driver": {"name": result.tool, "rules": [{"id": rule} for rule in rules]}},
        "invocations": [invocation],
        "results": [_result(f, rules.index(f.rule), known) for f in result.findings],
        "columnKind": "unicodeCodePoints",
        "properties": {"surefoot/state": result.state.value, "surefoot/table": TABLE_VERSION},
    }


def _result(finding: Finding, rule_index: int, known: frozenset[str]) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "baselineState": "unchanged" if finding.fingerprint in known else "new",
        "partialFingerprints": {FINGERPRINT: finding.fingerprint},
        "properties": {
            "surefoot/severity": finding.severity.value,
            "surefoot/category": finding.category,
            "surefoot/confidence": finding.confidence,
            "surefoot/evidence": finding.evidence,
            "surefoot/remediation": finding.remediation,
        },
    }
    if finding.file:
        location: dict[str, object] = {"artifactLocation": {"uri": quote(finding.file)}}
        if finding.line > 0:
            location["region"] = {
                "startLine": finding.line,
                "startColumn": max(finding.column, 1),
            }
        result["locations"] = [{"physicalLocation": location}]
    return result
