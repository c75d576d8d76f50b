"""The rules that a reviewer holds against a whole change; a rule can veto, never approve (SPEC B8)."""

from collections.abc import Callable, Mapping, Sequence

from surefoot.codec import digest
from surefoot.kernel.ports import ReviewInput
from surefoot.values import Finding, Review, Severity

Contents = Mapping[str, tuple[str | None, str | None]]
Rule = Callable[[str, str | None, str | None], Sequence[str]]
"""(path, before, after) -> what is wrong, in words."""

_PREFIX = 12


class RuleReviewer:
    """Looks at each changed file with rules that are handed in, and at the change as a whole."""

    def __init__(self, product_rules: Sequence[tuple[str, Rule]]) -> None:
        self._rules = product_rules

    def review(self, seen: ReviewInput) -> Review:
        """Veto on the first rule that finds something; an empty change is vetoed too."""
        findings: list[Finding] = []
        if not seen.diff.files:
            findings.append(_finding("empty-change", "", "the change is empty"))
        findings += self._protected(seen)
        for path, (before, after) in sorted(seen.contents.items()):
            if path in seen.test_paths:
                continue
            for name, rule in self._rules:
                findings += [_finding(name, path, told) for told in rule(path, before, after)]
        unproven = [p for p in seen.evidence if not p.passed]
        findings += [_finding("unproven", "", f"{p.kind}: {p.after}") for p in unproven]
        if findings:
            return Review(
                verdict="FAIL",
                action="BLOCK",
                reason=f"{findings[0].file + ': ' if findings[0].file else ''}{findings[0].message}",
                findings=tuple(findings),
            )
        return Review(verdict="PASS", action="PROCEED", reason="no rule objects")

    def _protected(self, seen: ReviewInput) -> list[Finding]:
        existing = {f.path for f in seen.diff.files if f.status != "A"}
        allowed_tests = "allow_test_changes" in seen.risk_flags
        allowed_ci = "allow_ci_changes" in seen.risk_flags
        found = [
            _finding(
                "test-changed", path, "an existing test was changed without allow_test_changes"
            )
            for path in sorted(seen.test_paths & existing)
            if not allowed_tests
        ]
        found += [
            _finding("control-changed", path, "steers tests or gates; needs allow_ci_changes")
            for path in sorted(seen.control_paths)
            if not allowed_ci
        ]
        return found


def _finding(rule: str, path: str, message: str) -> Finding:
    mark = digest(f"review\0{rule}\0{path}\0{message}".encode())
    return Finding(
        finding_id=f"review:{rule}:{mark[:_PREFIX]}",
        tool="review",
        rule=rule,
        severity=Severity.HIGH,
        category="policy",
        file=path,
        line=0,
        column=0,
        message=message,
        fingerprint=mark,
    )
