"""The rules that a reviewer holds against a whole change; a rule can veto, never approve (SPEC B3, B8)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from surefoot.codec import digest
from surefoot.kernel.ports import ReviewInput
from surefoot.kernel.rewritten import extended
from surefoot.values import Finding, Review, Severity

Inspector = Callable[[ReviewInput], Sequence[Finding]]
"""Looks at a change and says what is wrong with it."""

FLAG_OF: Final[Mapping[str, str]] = {
    "control-changed": "allow_ci_changes",
    "test-changed": "allow_test_changes",
    "dependency-changed": "allow_dependency_upgrades",
    "file-deleted": "allow_destructive_ops",
}
"""The risk flag that lifts a rule's veto; a rule without one always vetoes."""

_DEPENDENCY_FILES: Final = (
    "requirements*.txt",
    "constraints*.txt",
    "*.lock",
    "package.json",
    "package-lock.json",
    "go.mod",
    "Cargo.toml",
    "composer.json",
    "Gemfile",
    "pubspec.yaml",
)


class RuleReviewer:
    """Asks every inspector about the change, and looks at it as a whole itself."""

    def __init__(self, inspectors: Sequence[Inspector]) -> None:
        self._inspectors = (whole_change, *inspectors)

    def review(self, seen: ReviewInput) -> Review:
        """Veto on whatever no risk flag allows."""
        found = [f for inspector in self._inspectors for f in inspector(seen)]
        vetoes = [f for f in found if FLAG_OF.get(f.rule) not in seen.risk_flags]
        if not vetoes:
            return Review(verdict="PASS", action="PROCEED", reason="no rule objects")
        first = vetoes[0]
        flag = FLAG_OF.get(first.rule)
        place = f"{first.file}: " if first.file else ""
        needs = f" (needs {flag})" if flag else ""
        return Review(
            verdict="FAIL",
            action="BLOCK",
            reason=f"{place}{first.message}{needs}",
            findings=tuple(vetoes),
        )


def whole_change(seen: ReviewInput) -> list[Finding]:
    """What can be said of a change without reading it."""
    found: list[Finding] = []
    if not seen.diff.files:
        found.append(objection("empty-change", "", "the change is empty"))
    found += [
        objection("unproven", "", f"{p.kind}: {p.after}") for p in seen.evidence if not p.passed
    ]
    existing = {f.path for f in seen.diff.files if f.status != "A"} & seen.test_paths
    changed = existing - extended({path: seen.contents[path] for path in existing})
    for path in seen.diff.paths:
        if path in changed:
            found.append(objection("test-changed", path, "an existing test was changed"))
        if path in seen.control_paths:
            found.append(objection("control-changed", path, "it steers tests or gates"))
        if any(PurePosixPath(path).match(pattern) for pattern in _DEPENDENCY_FILES):
            found.append(objection("dependency-changed", path, "dependencies were changed"))
    found += [
        objection("file-deleted", f.path, "a file was deleted")
        for f in seen.diff.files
        if f.status == "D"
    ]
    return found


def objection(rule: str, path: str, message: str) -> Finding:
    """A reviewer's finding."""
    mark = digest(f"review\0{rule}\0{path}\0{message}".encode())
    return Finding(
        finding_id=f"review:{rule}:{mark[:12]}",
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
