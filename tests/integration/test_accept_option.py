"""`solve --accept`: what a complete run leaves on the user's branch, and what is said where it cannot be put there."""

import json
import subprocess
from pathlib import Path

from tests.integration.conftest import Surefoot


def git(root: Path, *args: str) -> str:
    """As the user."""
    done = subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_a_complete_run_is_accepted(surefoot: Surefoot, patient: Path, scripted: str) -> None:
    """One object, whose commit is the one on the branch."""
    tip = git(patient, "rev-parse", "HEAD")
    done = surefoot("solve", "ISSUE.md", "--model", scripted, "--accept", "--json", cwd=patient)
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["status"]) == (0, "complete"), done.stderr
    assert summary["commit"] == git(patient, "rev-parse", "HEAD")
    assert git(patient, "rev-parse", "HEAD^") == tip
    assert git(patient, "diff", "--name-only", "HEAD^").split() == summary["files"]
    assert "not_accepted" not in summary
    assert "not part of the run" not in done.stderr


def test_what_is_in_the_way_is_told_and_the_run_stays(
    surefoot: Surefoot, patient: Path, scripted: str
) -> None:
    """Told before the work and after it; the run is complete, is not lost, and can be accepted later."""
    tip, changed = git(patient, "rev-parse", "HEAD"), patient / "daybook" / "spans.py"
    committed = changed.read_text()
    changed.write_text(f"{committed}\n# mine\n")
    (patient / "mine.txt").write_text("new\n")
    solve = ("solve", "ISSUE.md", "--model", scripted, "--accept")
    done = surefoot(*solve, "--json", cwd=patient)
    summary = json.loads(done.stdout)
    assert (done.returncode, summary["status"]) == (10, "complete"), done.stderr
    assert "'daybook/spans.py'" in summary["not_accepted"]
    assert f"surefoot: not accepted: {summary['not_accepted']}\n" in done.stderr
    assert git(patient, "rev-parse", "HEAD") == tip
    assert changed.read_text().endswith("# mine\n")
    told = "daybook/spans.py, mine.txt: not committed, so not part of the run"
    assert told in surefoot("explain", summary["run_id"], cwd=patient).stdout
    refused = surefoot("accept", cwd=patient)
    assert (refused.returncode, refused.stdout) == (10, "")
    assert refused.stderr == f"surefoot: {summary['not_accepted']}\n"
    changed.write_text(committed)
    assert surefoot("accept", cwd=patient).returncode == 0
    assert git(patient, "rev-parse", "HEAD^") == tip
