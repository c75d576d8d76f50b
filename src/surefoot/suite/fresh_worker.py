"""The trial worker of runners that cannot be forked: each candidate is written into a copy of the tree and tested there."""

import secrets
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final, TypeAlias

from surefoot.kernel.ports import Coverage, Trial
from surefoot.suite.paths import is_inside
from surefoot.suite.worker import left_out
from surefoot.values import Candidate, FileEdit, ReportState, TestReport

Run: TypeAlias = Callable[[Path, Sequence[str] | None], TestReport]
_Content: TypeAlias = tuple[bytes, int]
"""Bytes and mode of a file."""
_MODE: Final = 0o644


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
            why = f"the candidate writes outside the tree, or through a link: {bad[0]!r}"
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
        """Whether a path is a file inside the copy, or may be one, with no link on the way, not even an earlier test's."""
        place = self._copy / path
        if not is_inside(path) or any(p.is_symlink() for p in (place, *_above(self._copy, path))):
            return False
        return place.is_file() or not place.exists()

    @contextmanager
    def _written(self, edits: Sequence[FileEdit]) -> Iterator[None]:
        before = {e.path: _content(self._copy / e.path) for e in edits}
        try:
            for edit in edits:
                old = before[edit.path]
                mode = old[1] if old else _MODE
                self._put(edit.path, None if edit.text is None else (edit.text.encode(), mode))
            yield
        finally:
            for path, old in before.items():
                self._put(path, old)

    def _put(self, path: str, content: _Content | None) -> None:
        """Write or remove a file of the copy, whatever the tests have put in its place or above it: no link is followed.

        They are over, so that nothing of theirs moves meanwhile.
        """
        target, staged = self._copy / path, self._copy.with_name("staged")
        for above in _above(self._copy, path):
            if above.is_symlink() or above.is_file():
                above.unlink()
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        if content is None:
            target.unlink(missing_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        staged.write_bytes(content[0])
        staged.chmod(content[1])
        staged.replace(target)


def _above(root: Path, path: str) -> list[Path]:
    """The folders between, outermost first."""
    return [root / p for p in reversed(PurePosixPath(path).parents[:-1])]


def _content(path: Path) -> _Content | None:
    return (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) if path.is_file() else None


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
