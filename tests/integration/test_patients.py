"""The bundled patients are repositories with exactly one failing test, the same on every machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.errors import EnvironmentBrokenError, UsageError
from surefoot.patients import NAMES, materialise

FAILING = "tests/test_free.py::test_a_meeting_inside_a_longer_one_frees_nothing"


def run_tests(root: Path) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rf"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout


def test_only_the_reported_behaviour_fails_and_one_function_mends_it(tmp_path: Path) -> None:
    """One test of several fails; with the merge of spans mended, all pass; git sees nothing but that."""
    root = materialise("daybook", tmp_path / "daybook")
    before = run_tests(root)
    assert f"FAILED {FAILING}" in before
    assert "1 failed, 18 passed" in before

    module = root / "daybook" / "spans.py"
    text = module.read_text("utf-8")
    mended = text.replace(
        "Span(merged[-1].start, span.end)",
        "Span(merged[-1].start, max(merged[-1].end, span.end))",
    )
    assert mended != text
    module.write_text(mended, "utf-8")
    assert "19 passed" in run_tests(root)

    status = ["git", "status", "--porcelain"]
    changed = subprocess.run(status, cwd=root, capture_output=True, text=True, check=True).stdout
    assert changed == " M daybook/spans.py\n"


@pytest.mark.parametrize("name", NAMES)
def test_a_patient_is_one_commit_with_the_same_id_everywhere(tmp_path: Path, name: str) -> None:
    """Content, identity and date are fixed, whatever the user's git says."""
    ids = set()
    for copy in ("one", "two"):
        root = materialise(name, tmp_path / copy)
        log = ["git", "log", "--format=%H %an"]
        ids.add(subprocess.run(log, cwd=root, capture_output=True, text=True, check=True).stdout)
        assert (root / "ISSUE.md").is_file()
        assert (root / ".gitignore").is_file()
    assert len(ids) == 1
    assert len(ids.pop().splitlines()) == 1


def test_nothing_of_the_user_is_overwritten(tmp_path: Path) -> None:
    """A folder that holds something, and a name that does not exist, are refused; nothing is changed."""
    (tmp_path / "mine").write_text("keep")
    with pytest.raises(UsageError, match="exists already"):
        materialise("daybook", tmp_path)
    with pytest.raises(UsageError, match="daybook"):
        materialise("nobody", tmp_path / "new")
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("parent", ["file", "/proc"])
def test_a_place_that_can_hold_no_folder_is_named(tmp_path: Path, parent: str) -> None:
    """In one sentence with the mend."""
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentBrokenError, match=r"/x' cannot be made: .*; name a folder"):
        materialise("daybook", tmp_path / parent / "x")
