"""Tests that are written while they run are noticed, whatever is put back; what tests read and write is theirs."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from surefoot.suite.untouched import Stamps, held_to, stamps
from surefoot.values import ReportState, TestReport

COMPLETE = TestReport(command=("t",), state=ReportState.COMPLETE, exit_code=0)
FILES = (
    "calc.py",
    "tests/test_calc.py",
    "tests/helper.py",
    "tests/fixtures/sample.py",
    "tests/seen.txt",
    "web/add.test.js",
    "t/add.t",
    "shell/add.bats",
    "php/add.phpt",
    "internal/env/env_test.go",
    "internal/target/target_test.go",
    "dist/add.test.js",
)


def put_back(path: Path) -> None:
    """Written and written again, with the times as they were."""
    status, text = path.stat(), path.read_text()
    path.write_text("other")
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def later_than(before: Stamps, clock: Path) -> None:
    """Times of files go by ticks of several milliseconds; a test run takes many."""
    newest = max(changed for _, changed in before.values())
    clock.touch()
    while clock.stat().st_ctime_ns <= newest:
        clock.touch()


def replaced(path: Path) -> None:
    other = path.with_name("other")
    other.write_text(path.read_text())
    other.replace(path)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("calc.py", False),
        ("tests/test_calc.py", True),
        ("tests/helper.py", True),
        ("tests/fixtures/sample.py", False),
        ("tests/seen.txt", False),
        ("web/add.test.js", True),
        ("t/add.t", True),
        ("shell/add.bats", True),
        ("php/add.phpt", True),
        ("internal/env/env_test.go", True),
        ("internal/target/target_test.go", True),
        ("dist/add.test.js", False),
    ],
)
@pytest.mark.parametrize("change", [put_back, replaced, Path.unlink])
def test_which_files_are_held(
    tmp_path: Path, path: str, change: Callable[[Path], None], *, told: bool
) -> None:
    """The code of tests in every language, not what it reads; new files are nobody's yet."""
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    before = stamps(tmp_path)
    (tmp_path / "tests" / "test_new.py").write_text("")
    assert held_to(before, tmp_path, COMPLETE) == COMPLETE
    later_than(before, tmp_path / "clock")
    change(tmp_path / path)
    report = held_to(before, tmp_path, COMPLETE)
    assert report.state is (ReportState.FORGED if told else ReportState.COMPLETE)
    assert (path in report.reason) is told


def test_a_run_with_a_file_that_cannot_be_collected_is_held_to_its_tests(tmp_path: Path) -> None:
    """What passed in such a run counts, so it is forged like a complete one; a run that proves nothing stays what it is."""
    test = tmp_path / "test_calc.py"
    test.write_text("x")
    before = stamps(tmp_path)
    test.unlink()
    for state, then in (
        (ReportState.COLLECTION_ERROR, ReportState.FORGED),
        (ReportState.TIMEOUT, ReportState.TIMEOUT),
    ):
        report = TestReport(command=("t",), state=state, exit_code=2)
        assert held_to(before, tmp_path, report).state is then
