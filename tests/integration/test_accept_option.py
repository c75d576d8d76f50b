"""`solve --accept`: what a complete run leaves on the user's branch, and what is said where it cannot be put there."""

import json
import subprocess
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
import typer
from tests.integration.conftest import Surefoot

from surefoot.app import start
from surefoot.assembly import Session, drive
from surefoot.cli.common import surroundings
from surefoot.cli.solve import finish
from surefoot.gitops.workspace import GitWorkspace
from surefoot.people import Nobody, Quiet
from surefoot.project import Places, open_project
from surefoot.replay import replay
from surefoot.request import Request
from surefoot.values import Issue, RunId
from surefoot.verify import verify_run


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
    refused = surefoot("accept", "--json", cwd=patient)
    told = {"schema": 1, "status": "blocked", "reason": summary["not_accepted"], "error": "accept"}
    assert (refused.returncode, json.loads(refused.stdout)) == (10, told)
    assert refused.stderr == f"surefoot: {summary['not_accepted']}\n"
    changed.write_text(committed)
    taken = surefoot("accept", "--json", cwd=patient)
    head = git(patient, "rev-parse", "HEAD")
    assert json.loads(taken.stdout) == {"run_id": summary["run_id"], "commit": head}
    assert json.loads(surefoot("show", "--json", cwd=patient).stdout)["commit"] == head
    assert git(patient, "rev-parse", "HEAD^") == tip
    again = surefoot("reject", "--json", cwd=patient)
    assert (again.returncode, json.loads(again.stdout)["error"]) == (2, "usage")


def test_a_branch_that_moves_during_the_run_is_looked_at_as_it_is_then(
    patient: Path, tmp_path: Path, scripted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A test that the user commits meanwhile, and that the work breaks, keeps the work off the branch."""
    changed = patient / "daybook" / "spans.py"
    test = (
        "from pathlib import Path\n\nBEFORE = {text!r}\n\n\n"
        "def test_mine():\n    assert Path('daybook/spans.py').read_text() == BEFORE\n"
    )

    def beside_the_user(session: Session, workspace: GitWorkspace) -> None:
        drive(session, workspace)
        (patient / "tests" / "test_mine.py").write_text(test.format(text=changed.read_text()))
        git(patient, "add", ".")
        git(patient, "commit", "-qm", "mine")

    around = surroundings(Nobody(), Quiet())
    project = open_project(patient, Places(state=tmp_path / "state", cache=tmp_path / "cache"))
    issue = Issue(source="file", text=(patient / "ISSUE.md").read_text())
    request = Request(issue=issue, model=scripted)
    result = start(project, request, around, driver=beside_the_user)
    assert (result.status, result.summary["files"]) == ("complete", ["daybook/spans.py"])
    tip = git(patient, "rev-parse", "HEAD")
    with pytest.raises(typer.Exit) as ended:
        finish(project, result, around, accept=True, json=True, quiet=False)
    summary = json.loads(capsys.readouterr().out)
    assert (ended.value.exit_code, summary["status"]) == (10, "complete")
    assert "broken: tests/test_mine.py::test_mine" in summary["not_accepted"]
    assert git(patient, "rev-parse", "HEAD") == tip
    # What was found out for that is no part of what the run did.
    run_id = RunId(summary["run_id"])
    assert verify_run(project, run_id, around=around).fault is None
    assert replay(project, run_id, around).divergence is None


class Interrupted:
    """A clock at whose first look somebody presses ctrl-C."""

    def now(self) -> datetime:
        """As `Clock`."""
        raise KeyboardInterrupt

    monotonic = sleep = now


def test_a_complete_run_is_told_whatever_keeps_it_from_the_branch(
    surefoot: Surefoot,
    patient: Path,
    tmp_path: Path,
    scripted: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ctrl-C while it was put there, or a lock since then; a program that waits for its object gets it."""
    around = surroundings(Nobody(), Quiet())
    project = open_project(patient, Places(state=tmp_path / "state", cache=tmp_path / "cache"))
    issue = Issue(source="file", text=(patient / "ISSUE.md").read_text())
    result = start(project, Request(issue=issue, model=scripted), around)
    interrupted = replace(around, clock=Interrupted())
    with pytest.raises(typer.Exit) as ended:
        finish(project, result, interrupted, accept=True, json=True, quiet=False)
    summary = json.loads(capsys.readouterr().out)
    assert (ended.value.exit_code, summary["status"]) == (11, "complete")
    told = f"interrupted; `surefoot accept {summary['run_id']}` goes on"
    assert summary["not_accepted"] == told
    assert surefoot("lock", "--why", "a release", cwd=patient).returncode == 0
    with pytest.raises(typer.Exit) as ended:
        finish(project, result, around, accept=True, json=True, quiet=False)
    summary = json.loads(capsys.readouterr().out)
    assert (ended.value.exit_code, summary["status"]) == (10, "complete")
    assert "a release" in summary["not_accepted"]
    assert summary["run_id"] == result.summary["run_id"]
