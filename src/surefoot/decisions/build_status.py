"""BuildStatus: whether the code could be loaded at all, by what a test run says of itself (SPEC E1, E5).

Exit codes and parsed reports decide, and no word of a model weighs against them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from surefoot.decisions.signature import Signature
from surefoot.values import ReportState, TestReport

BuildStatus = Literal["Success", "Error", "Fatal"]
BuildError = Literal[
    "none", "crash", "collection", "unparsable", "tool-missing", "foreign-code", "forged"
]

_ERRORS: Final[Mapping[ReportState, BuildError]] = {
    ReportState.COMPLETE: "none",
    ReportState.TIMEOUT: "none",
    ReportState.NOTHING_COLLECTED: "none",
    ReportState.CRASHED: "crash",
    ReportState.COLLECTION_ERROR: "collection",
    ReportState.UNPARSABLE: "unparsable",
    ReportState.TOOL_MISSING: "tool-missing",
    ReportState.FOREIGN_CODE: "foreign-code",
    ReportState.FORGED: "forged",
}
_FATAL: Final = frozenset({"tool-missing", "foreign-code", "forged"})
_MAY_BE_MACHINE: Final = frozenset({"tool-missing"})
"""No run begins on a base that ends like these, so an edit led there; only a program may have gone from the machine, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """What a test run says of itself."""

    state: ReportState
    passed: int
    failing: tuple[str, ...]
    messages: tuple[str, ...] = ()
    """What the failing ones say, as far as they say something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildAnswer:
    """Whether the code could be loaded at all."""

    status: BuildStatus
    error_type: BuildError
    actionable: bool
    """An edit is what mends it: not so of what builds, and not surely so of a program that is gone."""
    reason: str


BUILD_STATUS: Final = Signature(
    name="build_status",
    question=RunFacts,
    answer=BuildAnswer,
    instructions="Does the code build?",
    version=2,
)


def facts_of(report: TestReport, failing: tuple[str, ...]) -> RunFacts:
    """What a report says of itself; `failing` are those of its failures that count."""
    return RunFacts(
        state=report.state,
        passed=len(report.passing),
        failing=failing,
        messages=tuple(r.message for r in report.results if r.test_id in failing),
    )


def build_status(facts: RunFacts) -> BuildAnswer:
    """A run that could not load the code, or could not start, did not build."""
    error = _ERRORS[facts.state]
    if error == "none":
        told = "the tests could be loaded"
        return BuildAnswer(status="Success", error_type=error, actionable=False, reason=told)
    return BuildAnswer(
        status="Fatal" if error in _FATAL else "Error",
        error_type=error,
        actionable=error not in _MAY_BE_MACHINE,
        reason=f"the run is {facts.state}",
    )
