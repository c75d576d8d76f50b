"""The deciding test suites once more, on the recorded trees: the same tests with the same outcomes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.assembly import Surroundings, asked_for, suite_of, tried_processes
from surefoot.codec import decode
from surefoot.errors import EnvironmentBrokenError
from surefoot.events.envelope import Recorded
from surefoot.events.work import FactLearned, TestsRan
from surefoot.gitops.history import fill_checkout
from surefoot.gitops.reading import tree_checkout, tree_exists
from surefoot.kernel.steady import function_of
from surefoot.project import Project, scratch_folder
from surefoot.records import until_stop
from surefoot.request import Frozen
from surefoot.values import ReportState, TestReport
from surefoot.verify.record import Reader

DECIDING: Final = ("baseline", "base-tests", "apart")
_UNTOLD: Final = frozenset(
    {
        ReportState.TIMEOUT,
        ReportState.CRASHED,
        ReportState.TOOL_MISSING,
        ReportState.UNPARSABLE,
    }
)
"""How a test run ends that this machine may be to blame for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What running again gave."""

    fault: str | None = None
    tests: int = 0
    note: str | None = None


def deciding(events: Sequence[Recorded]) -> Iterator[tuple[int, TestsRan]]:
    """The run on the base, and the last one that decided, each with its line."""
    for purpose in DECIDING:
        found = [
            (number, r.event)
            for number, r in enumerate(events, 1)
            if isinstance(r.event, TestsRan) and r.event.purpose == purpose
        ]
        yield from found[-1:]


def run_again(
    project: Project, events: Sequence[Recorded], frozen: Frozen, get: Reader, around: Surroundings
) -> Again:
    """Run them in the sandbox as the run did; tests that it found flaky do not count.

    Raises:
        LockedError: The repository is locked.
        UsageError: As `asked_for`.
        SandboxError: There is no sandbox that holds here.
        EnvironmentBrokenError: The tests do not come to an end here, so nothing can be told.
    """
    project.require_unlocked()
    frozen = asked_for(project, frozen)
    if project.unpacked:
        fill_checkout(project.repository)
    events = until_stop(events)
    chancy = {
        r.event.text
        for r in events
        if isinstance(r.event, FactLearned) and r.event.topic in ("flaky", "loose ids")
    }
    tests = 0
    with scratch_folder(project) as scratch:
        processes = tried_processes(scratch, unsandboxed=frozen.request.unsandboxed)
        _, suite = suite_of(project, frozen.settings, processes, around, scratch)
        for number, event in deciding(events):
            if not tree_exists(project.repository, event.tree):
                return Again(tests=tests, note=f"git no longer has tree {event.tree} to run on")
            with tree_checkout(project.repository, event.tree, scratch) as root:
                report = suite.run(root)
            if report.state in _UNTOLD and report.state != event.state:
                raise EnvironmentBrokenError(
                    f"the tests on tree {event.tree} could not be run again ({report.state}): {report.reason or report.output}"
                )
            now = _outcomes(report, chancy)
            recorded = _outcomes(decode(TestReport, get(event.report)), chancy)
            differs = [t for t in sorted({*now, *recorded}) if now.get(t) != recorded.get(t)]
            if differs:
                first = differs[0]
                told = f"{first} was {recorded.get(first, 'not there')}, is {now.get(first, 'not there')}"
                return Again(tests=tests, fault=f"line {number} (tests.ran): run again, {told}")
            tests += len(now)
    return Again(tests=tests)


def _outcomes(report: TestReport, chancy: set[str]) -> dict[str, str]:
    return {
        r.test_id: r.outcome.value
        for r in report.results
        if r.test_id not in chancy and function_of(r.test_id) not in chancy
    }
