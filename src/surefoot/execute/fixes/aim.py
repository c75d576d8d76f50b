"""Which of a unit's findings are still there, and whether a tree got worse, by counting.

A finding is counted under (tool, rule, file): a line that was edited gives its findings new fingerprints, so that
fingerprints alone would call the rest of an edited line new.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from surefoot.values import AuditorResult, AuditorState, Finding

Key: TypeAlias = tuple[str, str, str]


def key_of(finding: Finding) -> Key:
    """What a finding is counted under."""
    return finding.tool, finding.rule, finding.file


def usable(results: Sequence[AuditorResult]) -> Iterator[Finding]:
    """Findings of the auditors that answered."""
    return (f for r in results if r.state is AuditorState.OK for f in r.findings)


class Aim:
    """The findings that a unit wants gone, as the auditors saw them at the turn's start."""

    def __init__(self, wanted: Sequence[Finding], start: Sequence[AuditorResult]) -> None:
        marks = {f.fingerprint for f in wanted}
        seen = list(usable(start))
        self._marks = frozenset(marks)
        self._keys = frozenset(key_of(f) for f in seen if f.fingerprint in marks)
        others = [f for f in seen if f.fingerprint not in marks]
        self._others = Counter(key_of(f) for f in others)
        self._other_marks = frozenset(f.fingerprint for f in others)
        self.unseen = len(marks - {f.fingerprint for f in seen})
        """How many of the wanted ones no auditor reported."""

    def left(self, results: Sequence[AuditorResult]) -> list[Finding]:
        """Those that are still there, in the auditors' order."""
        by_key: dict[Key, list[Finding]] = {}
        for finding in usable(results):
            if key_of(finding) in self._keys:
                by_key.setdefault(key_of(finding), []).append(finding)
        chosen: set[str] = set()
        for key, found in by_key.items():
            count = max(0, len(found) - self._others[key])
            # Known ones first, then those that may be known ones on edited lines.
            ranked = sorted(
                found, key=lambda f: (f.fingerprint not in self._marks, self._is_other(f))
            )
            chosen |= {f.fingerprint for f in ranked[:count]}
        return [f for found in by_key.values() for f in found if f.fingerprint in chosen]

    def _is_other(self, finding: Finding) -> bool:
        return finding.fingerprint in self._other_marks


def worsened(before: Sequence[AuditorResult], after: Sequence[AuditorResult]) -> list[str]:
    """What is more than before, in words: findings by rule and file, and auditors that stopped to answer."""
    was, now = (Counter(key_of(f) for f in usable(results)) for results in (before, after))
    answered = {r.tool for r in before if r.state is AuditorState.OK}
    silent = [r.tool for r in after if r.tool in answered and r.state is not AuditorState.OK]
    return [
        *(f"{tool} no longer answers" for tool in silent),
        *(f"{tool} {rule} in {file}" for tool, rule, file in sorted(now - was)),
    ]
