"""The reviewer that vetoes a bought audit, unless the risk flag that allows the trade is on."""

from collections.abc import Mapping
from typing import Final

from surefoot.findings.gaming.check import gaming
from surefoot.kernel.ports import ReviewInput
from surefoot.values import Review

_FLAGS: Final[Mapping[str, str | None]] = {
    "special-cased-input": None,
    "hard-coded-answer": None,
    "swallowed-failure": None,
    "trivial-test": None,
    "added-suppression": "allow_suppressions",
    "lowered-threshold": "allow_ci_changes",
    "gate-configuration-changed": "allow_ci_changes",
    "grown-baseline": "allow_ci_changes",
}
_OF_TESTS: Final = "allow_test_changes"


class GamingReviewer:
    """Looks at the whole change of the run, never at what was said about it."""

    def review(self, seen: ReviewInput) -> Review:
        """Veto on what no flag allows; what flags allow is a waiver that names it."""
        found = gaming(
            seen.contents,
            test_paths=seen.test_paths,
            control_paths=seen.control_paths,
            test_texts=seen.test_texts,
        )
        against = tuple(f for f in found if flag_of(f.rule) not in seen.risk_flags)
        if against:
            first = against[0]
            flag = flag_of(first.rule)
            return Review(
                verdict="FAIL",
                action="BLOCK",
                reason=f"{first.file}: {first.message}" + (f" (needs {flag})" if flag else ""),
                findings=against,
            )
        if found:
            flags = sorted({flag for f in found if (flag := flag_of(f.rule))})
            return Review(
                verdict="WAIVER",
                action="PROCEED",
                reason=f"{len(found)} findings are allowed by {', '.join(flags)}",
                findings=found,
            )
        return Review(verdict="PASS", action="PROCEED", reason="nothing was bought")


def flag_of(rule: str) -> str | None:
    """The risk flag that allows what a rule of this package reports; None: nothing allows it."""
    return _FLAGS.get(rule, _OF_TESTS)
