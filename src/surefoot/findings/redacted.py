"""An audit as it may be told: a secret that a tool quotes is hidden, as it is in the ledger of a run (SPEC F6)."""

from collections.abc import Callable
from dataclasses import replace

from surefoot.values import Audit, AuditorResult, Finding


def redacted(audit: Audit, redact: Callable[[str], str]) -> Audit:
    """The same audit without secrets in its words; fingerprints and ids stay what they are."""

    def result(one: AuditorResult) -> AuditorResult:
        findings = tuple(finding(f) for f in one.findings)
        return replace(one, findings=findings, message=redact(one.message))

    def finding(one: Finding) -> Finding:
        return replace(
            one,
            file=redact(one.file),
            message=redact(one.message),
            evidence=redact(one.evidence),
            remediation=redact(one.remediation),
        )

    return replace(audit, results=tuple(result(one) for one in audit.results))
