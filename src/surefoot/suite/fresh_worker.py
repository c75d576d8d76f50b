"""The trial worker of runners that cannot be forked: each candidate is written into a copy of the tree and tested there."""

import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from surefoot.kernel.ports import Coverage, Trial
from surefoot.suite.paths import is_inside
from surefoot.suite.worker import left_out
from surefoot.values import Candidate, FileEdit, ReportState, TestReport

Run: TypeAlias = Callable[[Path, Sequence[str] | None], TestReport]


class FreshWorker:
    """A `TrialWorker` over whole runs on `copy`, which holds the unchanged tree between trials.

    What tests leave in the copy beside the candidate's files (build results, say) stays there for the next trial.
    """

    def __init__(self, run: Run, copy: Path, tests: tuple[str, ...]) -> None:
        self._run = run
        self._copy = copy
        self._tests = tests

    def attempt(self, candidate: Candidate, tests: Sequence[str] | None = None) -> Trial:
        """As `TrialWorker.attempt`, to the last test."""
        chosen = self._tests if tests is None else tuple(tests)
        if bad := [e.path for e in candidate.edits if not self._may_write(e.path)]:
            why = f"the candidate writes outside the tree: {bad[0]!r}"
            report = TestReport(
                command=chosen, state=ReportState.UNPARSABLE, exit_code=None, reason=why
            )
            return Trial(candidate=candidate, report=report, wall_s=0.0)
        with self._written(candidate.edits):
            report = self._run(self._copy, chosen)
        return Trial(candidate=candidate, report=report, wall_s=report.wall_s)

    def trace(self, test_id: str, files: Sequence[str]) -> Coverage:
        """As `TrialWorker.trace`, without lines and values: nobody looks inside such a run."""
        del files
        report = self._run(self._copy, (test_id,))
        passed = report.state is ReportState.COMPLETE and report.passing == (test_id,)
        return Coverage(test_id=test_id, passed=passed, lines={})

    def _may_write(self, path: str) -> bool:
        """Whether a path is inside the copy, also where the tree has symbolic links."""
        return is_inside(path) and (self._copy / path).resolve().is_relative_to(self._copy)

    @contextmanager
    def _written(self, edits: Sequence[FileEdit]) -> Iterator[None]:
        before = {e.path: _bytes(self._copy / e.path) for e in edits}
        try:
            for edit in edits:
                _write(self._copy / edit.path, None if edit.text is None else edit.text.encode())
            yield
        finally:
            for path, data in before.items():
                _write(self._copy / path, data)


def _bytes(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _write(path: Path, data: bytes | None) -> None:
    if data is None:
        path.unlink(missing_ok=True)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


@contextmanager
def open_fresh_worker(
    run: Run, *, root: Path, scratch: Path, tests: tuple[str, ...], carry: Sequence[str]
) -> Iterator[FreshWorker]:
    """A worker on a copy of the tree at `root`, in `scratch`; the copy is gone afterwards. `run` mounts what is in `carry`."""
    home = scratch.resolve() / f"trial-{secrets.token_hex(6)}"
    copy = home / "tree"
    try:
        shutil.copytree(root, copy, symlinks=True, ignore=left_out(root, carry))
        yield FreshWorker(run, copy, tests)
    finally:
        shutil.rmtree(home, ignore_errors=True)
