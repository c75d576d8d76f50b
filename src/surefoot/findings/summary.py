"""An audit in numbers: for the kernel's next decision, for `summary.json`, and for a person's table."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from surefoot.codec import canonical
from surefoot.findings.severity import TABLE_VERSION
from surefoot.values import Audit, AuditorResult, AuditorState, Finding, Severity

SCHEMA: Final = 1
_ORDER: Final = {severity: place for place, severity in enumerate(Severity)}


def summary(audit: Audit) -> Mapping[str, int | bool]:
    """Findings above the baseline by severity, and `ci_pass`: the keys of SPEC B6's `audit_summary`."""
    counts = Counter(finding.severity for finding in audit.findings)
    return {
        **{severity.value: counts[severity] for severity in Severity},
        "ci_pass": audit.ci_pass,
    }


def fail_reason(audit: Audit) -> str:
    """Why `ci_pass` is false, in one line; empty when it is true."""
    broken = ", ".join(f"{result.tool} is {result.state.value}" for result in audit.broken)
    counts = Counter(finding.severity for finding in audit.findings)
    found = ", ".join(f"{counts[s]} {s.value}" for s in Severity if counts[s])
    return "; ".join(part for part in (broken, found and f"findings: {found}") if part)


def summary_json(audit: Audit) -> bytes:
    """The content of `summary.json`: the summary, the reason, and one entry an auditor."""
    known = frozenset(audit.baseline)
    document = {
        "schema": SCHEMA,
        "severity_table": TABLE_VERSION,
        **summary(audit),
        "fail_reason": fail_reason(audit),
        "accepted": sum(f.fingerprint in known for r in audit.results for f in r.findings),
        "tools": [
            {
                "tool": result.tool,
                "state": result.state.value,
                "findings": len(_above(result, known)),
                "message": result.message,
                "wall_s": round(result.wall_s, 3),
            }
            for result in audit.results
        ],
    }
    return canonical(document) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One auditor in a person's table."""

    tool: str
    state: AuditorState
    counts: tuple[int, ...]
    """Findings above the baseline, worst severity first."""
    message: str
    wall_s: float


def rows(audit: Audit) -> tuple[Row, ...]:
    """One row an auditor, in the audit's order."""
    known = frozenset(audit.baseline)
    return tuple(
        Row(
            tool=result.tool,
            state=result.state,
            counts=tuple(
                sum(f.severity is severity for f in _above(result, known)) for severity in Severity
            ),
            message=result.message,
            wall_s=result.wall_s,
        )
        for result in audit.results
    )


def worst_first(audit: Audit) -> tuple[Finding, ...]:
    """Findings above the baseline as a person wants to read them: by severity, then by place."""
    return tuple(
        sorted(audit.findings, key=lambda f: (_ORDER[f.severity], f.file, f.line, f.column, f.rule))
    )


def _above(result: AuditorResult, known: frozenset[str]) -> tuple[Finding, ...]:
    return tuple(f for f in result.findings if f.fingerprint not in known)
