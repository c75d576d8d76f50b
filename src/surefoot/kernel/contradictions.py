"""Which verdicts contradict themselves, and whom (SPEC B8): a table over all pairs, and one rule on what is done.

A contradiction is a finding of severity high, and whoever meets one stops.
"""

from collections.abc import Sequence
from typing import Final

from surefoot.codec import digest
from surefoot.values import Evidence, Finding, Review, Severity

CONSISTENT: Final = frozenset({("PASS", "PROCEED"), ("FAIL", "BLOCK"), ("WAIVER", "PROCEED")})
"""Every other pair of a verdict and an action says one thing and does another."""


def in_review(review: Review) -> Finding | None:
    """The contradiction of a review with itself."""
    if (review.verdict, review.action) in CONSISTENT:
        return None
    place = review.findings[0] if review.findings else None
    return _finding(
        "verdict",
        f"a review contradicts itself: {review.verdict} with {review.action}: {review.reason}",
        place,
    )


def over_checks(*, done: bool, proofs: Sequence[Evidence]) -> Finding | None:
    """The contradiction of a round that is said to be done with its own checks; no check at all is a failing one."""
    against = [p for p in proofs if not p.passed]
    if not done or (proofs and not against):
        return None
    told = f"{against[0].kind}: {against[0].after}" if against else "no check ran"
    return _finding("done-over-failing-checks", f"done is said over failing checks: {told}", None)


def _finding(rule: str, message: str, place: Finding | None) -> Finding:
    mark = digest(f"contradiction\0{rule}\0{message}".encode())
    return Finding(
        finding_id=f"review:{rule}:{mark[:12]}",
        tool="review",
        rule=rule,
        severity=Severity.HIGH,
        category="policy",
        file=place.file if place else "",
        line=place.line if place else 0,
        column=0,
        message=message,
        fingerprint=mark,
    )
