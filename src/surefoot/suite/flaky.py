"""Tells a test that fails from one that cannot make up its mind."""

from dataclasses import dataclass
from pathlib import Path

from surefoot.kernel.ports import Suite
from surefoot.values import ReportState, TestReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A report after its failures were run again."""

    report: TestReport
    """The first report; a test that failed at first and passed later keeps its failure here."""
    flaky: tuple[str, ...]
    """Ids whose outcome changed, sorted."""
    reruns: tuple[TestReport, ...]

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids that failed every time, sorted."""
        return tuple(i for i in self.report.failing if i not in self.flaky)


def settle(suite: Suite, root: Path, report: TestReport, again: int = 2) -> Settled:
    """Run the failures of a complete report `again` more times, alone, on the same tree.

    Stops early when every one of them has changed its outcome. A rerun that is not complete says nothing about any
    test. A report that is not complete, or has no failure, comes back as it is.
    """
    failing = report.failing if report.state is ReportState.COMPLETE else ()
    open_ids = set(failing)
    reruns: list[TestReport] = []
    for _ in range(again):
        if not open_ids:
            break
        rerun = suite.run(root, sorted(open_ids))
        reruns.append(rerun)
        if rerun.state is ReportState.COMPLETE:
            open_ids &= set(rerun.failing)
    flaky = tuple(i for i in failing if i not in open_ids)
    return Settled(report=report, flaky=flaky, reruns=tuple(reruns))
