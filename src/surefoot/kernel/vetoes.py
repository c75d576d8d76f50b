"""A veto is a finding with a place (SPEC B8): what a reviewer left out of it is filled in from the change."""

from dataclasses import replace

from surefoot.codec import digest
from surefoot.errors import LedgerError
from surefoot.interrupts import raise_hidden
from surefoot.kernel.ports import Reviewer, ReviewInput
from surefoot.values import Diff, Finding, Review, Severity


def heard(reviewer: Reviewer, seen: ReviewInput) -> Review:
    """A reviewer's word, a veto with its place; one that broke has objected."""
    try:
        review = reviewer.review(seen)
    except LedgerError:
        raise
    except Exception as error:  # noqa: BLE001  # named boundary: a broken reviewer is no approval
        raise_hidden(error)
        told = f"a reviewer broke: {type(error).__name__}: {error}"
        review = Review(verdict="FAIL", action="BLOCK", reason=told)
    return with_place(review, seen.diff)


def with_place(review: Review, diff: Diff) -> Review:
    """The review, whose veto is at least one finding, each with file and line where the change has any."""
    if review.action != "BLOCK":
        return review
    findings = review.findings or (_told(review.reason),)
    return replace(review, findings=tuple(_placed(f, diff) for f in findings))


def _told(reason: str) -> Finding:
    mark = digest(f"review\0veto\0{reason}".encode())
    return Finding(
        finding_id=f"review:veto:{mark[:12]}",
        tool="review",
        rule="veto",
        severity=Severity.HIGH,
        category="policy",
        file="",
        line=0,
        column=0,
        message=reason,
        fingerprint=mark,
    )


def _placed(finding: Finding, diff: Diff) -> Finding:
    path = finding.file or next(iter(diff.paths), "")
    if not path or (finding.file and finding.line):
        return finding
    return replace(finding, file=path, line=first_line(diff.patch, path))


def first_line(patch: str, path: str) -> int:
    """1-based line after the change at which its first hunk in `path` begins; 1 where the patch shows none."""
    inside = False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            inside = line.endswith(f" b/{path}")
        elif inside and line.startswith("@@"):
            start = next((word for word in line.split(" ") if word.startswith("+")), "+1")
            return max(int(start[1:].partition(",")[0]), 1)
    return 1
