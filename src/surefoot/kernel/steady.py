"""Test ids that change from run to run of the same tree, as those of parameters that come from a set do.

Such ids cannot be compared one by one. Where a second run of the base shows that a function's ids vary, the function's
results are compared by number: as many have to pass as before.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from surefoot.values import ReportState, TestOutcome, TestReport, TestResult

_RUNS: Final = 2
_AS_MEANT: Final = (TestOutcome.PASSED, TestOutcome.XFAILED, TestOutcome.SKIPPED)
"""What a test does that is as its author says; an unexpected pass is not, and tells as little of a steady test as a failure."""


def function_of(test_id: str) -> str:
    """The test function that an id belongs to, its parameters left out."""
    return test_id.partition("[")[0]


def varying(one: TestReport, other: TestReport) -> frozenset[str]:
    """Functions whose ids differ between two whole runs of one tree; a broken run shows nothing."""
    if not one.state is other.state is ReportState.COMPLETE:
        return frozenset()
    return frozenset(function_of(t) for t in set(one.collected) ^ set(other.collected) if "[" in t)


def unsteady(before: TestReport, again: Callable[[], TestReport]) -> frozenset[str]:
    """Functions whose ids vary, as a few further runs of the tree of `before` show."""
    return frozenset[str]().union(*(varying(before, again()) for _ in range(_RUNS)))


def steadied(report: TestReport, functions: Collection[str]) -> TestReport:
    """The report with the results of these functions numbered, those that passed first."""
    if not functions:
        return report
    loose = [r for r in report.results if function_of(r.test_id) in functions]
    kept = [r for r in report.results if function_of(r.test_id) not in functions]
    return replace(report, results=(*kept, *_numbered(loose)))


def passing_s(report: TestReport, functions: Collection[str]) -> dict[str, float]:
    """Seconds of the passing tests by the name under which they can be run again: these functions as a whole.

    Such a function is left out when a result of it is bad.
    """
    seconds: dict[str, float] = {}
    bad: set[str] = set()
    for result in report.results:
        function = function_of(result.test_id)
        name = function if function in functions else result.test_id
        if result.outcome is TestOutcome.PASSED:
            seconds[name] = seconds.get(name, 0.0) + result.wall_s
        elif result.outcome not in _AS_MEANT:
            bad.add(name)
    return {name: wall_s for name, wall_s in seconds.items() if name not in bad}


def alike(one: TestReport, other: TestReport) -> bool:
    """Whether two runs of the same command say the same of the same tests, in whatever words and order."""
    if (one.state, one.command) != (other.state, other.command):
        return False
    return _outcomes(one) == _outcomes(other)


def _outcomes(report: TestReport) -> dict[str, TestOutcome]:
    return {r.test_id: r.outcome for r in report.results}


def _numbered(results: list[TestResult]) -> Iterator[TestResult]:
    ranked = sorted(results, key=lambda r: (function_of(r.test_id), _rank(r.outcome), r.test_id))
    for function, group in groupby(ranked, key=lambda r: function_of(r.test_id)):
        for number, result in enumerate(group):
            yield replace(result, test_id=f"{function}[#{number}]")


def _rank(outcome: TestOutcome) -> int:
    if outcome is TestOutcome.PASSED:
        return 0
    return 1 if outcome in _AS_MEANT else 2
