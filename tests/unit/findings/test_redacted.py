"""What of an audit may be told."""

from dataclasses import replace

from surefoot.findings import findings_of, redacted
from surefoot.findings.raw import Raw
from surefoot.policy.redaction import redact
from surefoot.values import Audit, AuditorResult, AuditorState

TOKEN = "ghp_" + "a1B2" * 9
RAW = Raw(
    rule="r",
    file=f"{TOKEN}.py",
    line=1,
    message=f"assert {TOKEN}",
    evidence=f"x = {TOKEN}",
    remediation=f"take {TOKEN} away",
)


def test_no_words_of_an_audit_hold_a_secret() -> None:
    """Those of findings and of tools that broke; by their fingerprints the findings are the same."""
    ok = AuditorResult(
        tool="own", state=AuditorState.OK, findings=findings_of("own", (RAW,), None), message=TOKEN
    )
    audit = Audit(results=(ok, replace(ok, state=AuditorState.BROKEN, findings=())))
    seen = redacted(audit, redact)
    assert TOKEN not in str(seen)
    assert str(seen).count("[redacted:github-token]") == 6
    (before,), (after,) = audit.findings, seen.findings
    assert (after.fingerprint, after.finding_id) == (before.fingerprint, before.finding_id)


def test_an_audit_without_secrets_is_told_as_it_is() -> None:
    """Every word of it."""
    plain = replace(RAW, file="a.py", message="m", evidence="x = 1", remediation="r")
    ok = AuditorResult(
        tool="own", state=AuditorState.OK, findings=findings_of("own", (plain,), None)
    )
    audit = Audit(results=(ok,), baseline=("f" * 32,))
    assert redacted(audit, redact) == audit
