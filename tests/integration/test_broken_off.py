"""A run that an error breaks off is told with its id, as the documented object, and can be gone on with."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from subprocess import PIPE

import pytest
import typer

from surefoot.app import resume, start
from surefoot.assembly import Session, Surroundings
from surefoot.cli.common import surroundings
from surefoot.cli.solve import told_with_its_run
from surefoot.errors import EnvironmentBrokenError, UsageError
from surefoot.gitops.workspace import GitWorkspace
from surefoot.handover import reject
from surefoot.operations import await_runs, spawn_runs
from surefoot.people import Nobody, Quiet
from surefoot.project import Places, Project, open_project
from surefoot.report import Summary
from surefoot.request import Request
from surefoot.values import Issue, RunId, RunStatus

RUN = RunId("20261122-101500-abcd")


@pytest.fixture
def project(patient: Path, tmp_path: Path) -> Project:
    """The bundled patient."""
    return open_project(patient, Places(state=tmp_path / "state", cache=tmp_path / "cache"))


@pytest.fixture
def around() -> Surroundings:
    """The real surroundings, with nobody there."""
    return surroundings(Nobody(), Quiet())


def begin(project: Project, around: Surroundings, scripted: str, error: BaseException) -> None:
    """A run that breaks in its first step."""

    def breaks(session: Session, workspace: GitWorkspace) -> None:
        del session, workspace
        raise error

    request = Request(issue=Issue(source="audit"), mode="report_only", model=scripted)
    start(project, request, around, driver=breaks, run_id=RUN)


def test_an_error_is_one_sentence_and_the_runs_object(
    project: Project, around: Surroundings, scripted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """All documented keys, the id among them; and what the sentence says of going on is true."""
    error = EnvironmentBrokenError("the disk is gone; mount it")
    with pytest.raises(typer.Exit) as ended, told_with_its_run(project, RUN, json=True):
        begin(project, around, scripted, error)
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    wanted = Summary.__required_keys__
    assert wanted <= summary.keys()
    assert (summary["run_id"], summary["status"], ended.value.exit_code) == (RUN, "error", 1)
    told = (
        f"the disk is gone; mount it; run {RUN} is kept as it was then, and `surefoot resume {RUN}`"
    )
    assert summary["reason"].startswith(told)
    assert printed.err == f"surefoot: {summary['reason']}\n"
    assert resume(project, RUN, around).status is RunStatus.REPORTED


def test_ctrl_c_outside_of_the_runs_own_steps_is_told_with_its_id(
    project: Project, around: Surroundings, scripted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """No end is recorded, and the run goes on from there."""
    with pytest.raises(typer.Exit) as ended, told_with_its_run(project, RUN, json=True):
        begin(project, around, scripted, KeyboardInterrupt())
    summary = json.loads(capsys.readouterr().out)
    assert (summary["run_id"], summary["status"], ended.value.exit_code) == (RUN, "cancelled", 11)
    assert summary["reason"].startswith(f"interrupted; run {RUN} is kept as it was then")
    assert resume(project, RUN, around).status is RunStatus.REPORTED


def test_ctrl_c_before_there_is_a_run_is_told(patient: Path) -> None:
    """In words, as an object, and as the exit code of what was cancelled."""
    solve = [sys.executable, "-m", "surefoot", "solve", "-", "--json"]
    with subprocess.Popen(solve, cwd=patient, stdin=PIPE, stdout=PIPE, stderr=PIPE) as waiting:
        assert waiting.stdin is not None
        waiting.stdin.write(b"x" * 100_000)  # more than a pipe holds: it is being read
        waiting.send_signal(signal.SIGINT)
        out, err = waiting.communicate(timeout=60)
    told = {"schema": 1, "status": "cancelled", "reason": "interrupted", "error": "cancelled"}
    assert (waiting.returncode, json.loads(out)) == (11, told)
    assert err == b"surefoot: interrupted\n"


def test_a_fault_of_surefoot_keeps_its_traceback(
    project: Project, around: Surroundings, scripted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes on to the top; the object is there all the same."""
    with pytest.raises(ZeroDivisionError), told_with_its_run(project, RUN, json=True):
        begin(project, around, scripted, ZeroDivisionError("by hand"))
    summary = json.loads(capsys.readouterr().out)
    assert (summary["run_id"], summary["status"]) == (RUN, "error")
    assert summary["reason"].startswith("ZeroDivisionError('by hand'); run ")


def test_a_refusal_before_anything_was_done_is_no_broken_run(
    project: Project, around: Surroundings, scripted: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a run that has ended, and of one that never began, it is what it was."""
    with pytest.raises(UsageError), told_with_its_run(project, RUN, json=True):
        raise UsageError("not understood")
    start(
        project,
        Request(issue=Issue(source="audit"), mode="report_only", model=scripted),
        around,
        run_id=RUN,
    )
    with pytest.raises(UsageError, match="ended as"), told_with_its_run(project, RUN, json=True):
        resume(project, RUN, around)
    assert capsys.readouterr().out == ""


def test_an_id_is_of_one_run(project: Project, around: Surroundings, scripted: str) -> None:
    """What was recorded under it stays as it is, also after its branch and commits are gone."""
    request = Request(issue=Issue(source="audit"), mode="report_only", model=scripted)
    start(project, request, around, run_id=RUN)
    reject(project, RUN, around, "not wanted")
    before = project.ledger_file(RUN).read_bytes()
    with pytest.raises(UsageError, match=f"run {RUN} exists already"):
        start(project, request, around, run_id=RUN)
    assert project.ledger_file(RUN).read_bytes() == before


class FewIds:
    """Ids of which some meet; they are drawn in order."""

    def __init__(self, *ids: RunId) -> None:
        self._ids = iter(ids)

    def run_id(self, now: datetime) -> RunId:
        """The next one."""
        del now
        return next(self._ids)


def test_ids_that_meet_are_drawn_again(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """With a run that is there, and among those that are begun at once."""
    request = Request(issue=Issue(source="audit"), mode="report_only", model=scripted)
    start(project, request, around, run_id=RUN)
    one, two, three = (RunId(f"20261122-101500-000{n}") for n in (1, 2, 3))
    few = replace(around, ids=FewIds(RUN, one, one, RUN, two, two, three))
    assert start(project, request, few).summary["run_id"] == one
    spawned = spawn_runs(project, [request] * 2, few)
    awaited = await_runs(spawned)
    assert [(a.run_id, a.error) for a in awaited] == [(two, ""), (three, "")]
