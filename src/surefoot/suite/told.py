"""Test ids as they may be told: a secret in an id is hidden before anybody sees the id (SPEC F6).

The table of a test gives parts of its ids, and the tests of a URL parser have passwords in them. The ledger would hide those;
an id read from the record would then be another than the runner's, a test that is lost here and cannot be run there.
So the hidden form is the id for everybody, and only here it is known what the runner calls it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from surefoot.decisions.redacted import MARK
from surefoot.kernel.ports import Coverage, Suite, Trial, TrialWorker
from surefoot.values import Candidate, TestReport


class ToldSuite:
    """A suite whose ids hold no secrets."""

    def __init__(self, suite: Suite, redact: Callable[[str], str]) -> None:
        self._suite = suite
        self._redact = redact
        self._runners: dict[str, str] = {}
        """The runner's ids by told ones, where they differ."""

    @property
    def command(self) -> tuple[str, ...]:
        """How a person would run all of them."""
        return self._suite.command

    def run(self, root: Path, tests: Sequence[str] | None = None, *, room: int = 1) -> TestReport:
        """Run all tests, or exactly these ids; see `Suite.run`."""
        asked = None if tests is None else self._asked(root, tests)
        return self.told(self._suite.run(root, asked, room=room))

    def watch(self, root: Path) -> Mapping[str, frozenset[str]]:
        """Of which files each test runs a function; see `Suite.watch`."""
        seen = self._suite.watch(root)
        names = self._names(seen)
        return {names.get(test, test): files for test, files in seen.items()}

    def is_test_path(self, path: str) -> bool:
        """Whether a path is a test file or a helper of tests."""
        return self._suite.is_test_path(path)

    def is_control_path(self, path: str) -> bool:
        """Whether a path steers the runner or the gates."""
        return self._suite.is_control_path(path)

    @contextmanager
    def worker(self, root: Path, tests: Sequence[str]) -> Iterator[TrialWorker]:
        """Open a trial worker on the tree at `root`."""
        with self._suite.worker(root, self._asked(root, tests)) as worker:
            yield _ToldWorker(worker, self._runners)

    def told(self, report: TestReport) -> TestReport:
        """A report of the runner with ids as they may be told."""
        return _renamed(report, self._names([r.test_id for r in report.results]))

    def _asked(self, root: Path, tests: Sequence[str]) -> list[str]:
        """What the runner calls some tests; all are run once where one was told by an earlier process."""
        if any(MARK.search(t) and t not in self._runners for t in tests):
            self.told(self._suite.run(root))
        return [self._runners.get(t, t) for t in tests]

    def _names(self, ids: Sequence[str] | Mapping[str, object]) -> dict[str, str]:
        """Told ids by the runner's, where they differ; ids that would be told alike are numbered in order."""
        if self._redact("\n".join(ids)) == "\n".join(ids):
            return {}
        names: dict[str, str] = {}
        for test_id in sorted(ids):
            plain = self._redact(test_id)
            told, number = plain, 1
            while told != test_id and self._runners.get(told, test_id) != test_id:
                number += 1
                told = f"{plain}#{number}"
            if told != test_id:
                self._runners[told] = test_id
                names[test_id] = told
        return names


def _renamed(report: TestReport, names: Mapping[str, str]) -> TestReport:
    """A report with other ids for some tests."""
    if not names:
        return report
    results = (replace(r, test_id=names.get(r.test_id, r.test_id)) for r in report.results)
    return replace(report, results=tuple(results))


class _ToldWorker:
    """A trial worker whose ids hold no secrets.

    It reports on the tests that it is asked for, whose ids are known: nothing is searched for secrets at each trial.
    """

    def __init__(self, worker: TrialWorker, runners: Mapping[str, str]) -> None:
        self._worker = worker
        self._runners = dict(runners)
        self._told = {runner: told for told, runner in runners.items()}

    def attempt(self, candidate: Candidate, tests: Sequence[str] | None = None) -> Trial:
        """Run tests against the candidate; see `TrialWorker.attempt`."""
        asked = None if tests is None else [self._runners.get(t, t) for t in tests]
        trial = self._worker.attempt(candidate, asked)
        return replace(trial, report=_renamed(trial.report, self._told)) if self._told else trial

    def trace(self, test_id: str, files: Sequence[str]) -> Coverage:
        """Run one test on the unchanged code; see `TrialWorker.trace`."""
        seen = self._worker.trace(self._runners.get(test_id, test_id), files)
        return replace(seen, test_id=test_id)
