"""What follows a run, wired as the commands wire it: `resume`, `accept` and `gc` on a ledger and a real repository."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.integration.conftest import Surefoot

from surefoot.app import resume, start
from surefoot.assembly import Surroundings, open_ledger
from surefoot.cli.common import surroundings
from surefoot.codec import encode
from surefoot.errors import AcceptError, LockedError, SurefootError, UsageError
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import (
    PlanMade,
    RunOpened,
    RunStopped,
    TurnClosed,
    TurnStarted,
)
from surefoot.events.plans import ChildStarted
from surefoot.events.work import FactLearned
from surefoot.gitops.accept import Piece
from surefoot.gitops.accept import accept as put_onto_branch
from surefoot.gitops.collect import remove_worktree
from surefoot.gitops.reading import ledger_head
from surefoot.gitops.workspace import open_workspace
from surefoot.handover import accept, collect, reject
from surefoot.inspection import query
from surefoot.kernel.journal import Journal
from surefoot.ledger import read_events
from surefoot.people import Nobody, Quiet
from surefoot.project import Places, Project, open_project
from surefoot.reading import outcome
from surefoot.request import Frozen, Request
from surefoot.values import (
    Classification,
    Complexity,
    FileEdit,
    Issue,
    PlanIR,
    RunId,
    RunStatus,
    TreeId,
    TurnId,
    Unit,
    UnitId,
    UnitType,
)
from surefoot.verify import verify_run

RUN = RunId("20261122-101500-abcd")
UNIT = Unit(
    unit_id=UnitId("u"),
    unit_type=UnitType.FIX,
    strategy="repair",
    issue=Issue(source="audit"),
    plan=PlanIR(analysis="", steps=(), verification=(), complexity=Complexity.LOW, confidence=1.0),
)


@pytest.fixture
def around() -> Surroundings:
    """The real surroundings, with nobody there."""
    return surroundings(Nobody(), Quiet())


@pytest.fixture
def project(patient: Path, tmp_path: Path) -> Project:
    """The bundled patient."""
    return open_project(patient, Places(state=tmp_path / "state", cache=tmp_path / "cache"))


def git(project: Project, *args: str) -> str:
    done = subprocess.run(
        ["git", *args], cwd=project.root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def opened(project: Project, around: Surroundings, scripted: str, ends: RunStatus | None) -> None:
    """The ledger of a run that looks and reports; with an end it has made a commit before."""
    project.prepare()
    repository = project.repository
    request = Request(issue=Issue(source="audit"), mode="report_only", model=scripted)
    with open_ledger(project, RUN, around) as ledger:
        journal = Journal(ledger, around.clock)
        settings = journal.put(encode(Frozen(settings=project.settings, request=request)))
        journal.record(
            RunOpened(
                issue=request.issue,
                mode="report_only",
                model=scripted,
                repo=str(project.root),
                branch=repository.branch,
                base=repository.head,
                base_tree=repository.tree,
                settings=settings,
                seed=0,
                version="0",
            )
        )
        if ends is None:
            return
        journal.record(PlanMade(units=(UNIT,)))
        started = TurnStarted(unit_id=UNIT.unit_id, number=1, tree=repository.tree)
        journal.record(started, turn=TurnId(f"{RUN}/1"))
        with open_workspace(repository, RUN, home=project.home) as workspace:
            workspace.apply([FileEdit(path="new.py", text="")])
            tree = workspace.snapshot()
            commit = workspace.commit(tree, "turn", {})
        journal.record(
            TurnClosed(
                unit_id=UNIT.unit_id,
                number=1,
                ended_as="commit",
                tree=tree,
                commit=commit,
                classification=Classification.PROGRESS,
                outcome="pass",
                reason="",
            )
        )
        journal.record(RunStopped(status=ends, reason="told", elapsed_s=1.0))


def refs(project: Project) -> list[str]:
    """Refs of runs."""
    patterns = ("refs/surefoot/", "refs/heads/surefoot/")
    return git(project, "for-each-ref", "--format=%(refname)", *patterns).split()


@pytest.mark.parametrize("status", [RunStatus.COMPLETE, RunStatus.PAUSED, RunStatus.BUDGET])
def test_gc_keeps_work_that_can_be_taken_or_resumed(
    project: Project, around: Surroundings, scripted: str, status: RunStatus
) -> None:
    """Complete work that nobody has decided on is as much needed as work that goes on."""
    opened(project, around, scripted, status)
    before = refs(project)
    assert collect(project, around) == ("nothing to remove",)
    assert refs(project) == before != []


@pytest.mark.parametrize("decided", ["accepted", "rejected", "blocked"])
def test_gc_leaves_of_what_was_decided_only_what_verifies_it(
    project: Project, around: Surroundings, scripted: str, decided: str
) -> None:
    """The worktree of work that is on the branch, was thrown away or came to nothing goes; its commits stay."""
    blocked = decided == "blocked"
    opened(project, around, scripted, RunStatus.BLOCKED if blocked else RunStatus.COMPLETE)
    if decided == "accepted":
        accept(project, RUN, around)
    elif decided == "rejected":
        reject(project, RUN, around, "no")
    before = refs(project)
    collect(project, around)
    assert refs(project) == before
    assert (before == []) == (decided == "rejected")
    assert git(project, "worktree", "list", "--porcelain").count("worktree ") == 1


@pytest.mark.parametrize(
    "status", [RunStatus.COMPLETE, RunStatus.BLOCKED], ids=["undecided", "ended"]
)
def test_gc_in_another_checkout_leaves_the_runs_of_this_one_alone(
    project: Project, around: Surroundings, scripted: str, status: RunStatus
) -> None:
    """Checkouts share refs and not ledgers: what one of them does not know may be the other's work."""
    opened(project, around, scripted, status)
    remove_worktree(project.repository, RUN, project.home)
    before = refs(project)
    git(project, "worktree", "add", "--quiet", "-b", "other", "../second")
    second = open_project(project.root.parent / "second", project.places)
    assert collect(second, around) == ("nothing to remove",)
    assert refs(project) == before != []
    if status is RunStatus.COMPLETE:
        assert accept(project, RUN, around) == git(project, "rev-parse", "HEAD")


def test_commits_of_the_user_on_the_branch_of_a_run_outlive_it(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """`reject` throws away the run's work, not his, and says that the branch is still there."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    remove_worktree(project.repository, RUN, project.home)
    branch = f"surefoot/{RUN}"
    git(project, "branch", "mine", branch)
    git(project, "switch", "--quiet", "mine")
    git(project, "commit", "--quiet", "--allow-empty", "--message", "mine")
    git(project, "branch", "--force", branch, "mine")
    git(project, "switch", "--quiet", "main")
    assert reject(project, RUN, around, "no") == (
        f"branch {branch}, which holds other commits than the run's; `git branch -D {branch}` removes it",
    )
    assert git(project, "rev-parse", branch) == git(project, "rev-parse", "mine")
    assert refs(project) == [f"refs/heads/{branch}"]


def test_gc_removes_runs_that_never_began(project: Project, around: Surroundings) -> None:
    """Killed before their first event they hold nothing, and would be what `resume` takes for the last run."""
    project.prepare()
    with open_ledger(project, RUN, around):
        pass
    refused: tuple[tuple[type[SurefootError], Callable[[], object]], ...] = (
        (UsageError, lambda: resume(project, RUN, around)),
        (UsageError, lambda: reject(project, RUN, around, "no")),
        (AcceptError, lambda: accept(project, RUN, around)),
    )
    for kind, ask in refused:
        with pytest.raises(kind, match="`surefoot gc` removes it"):
            ask()
    assert "`surefoot gc` removes it" in outcome(project, RUN).report
    assert "resume" not in outcome(project, RUN).report
    assert collect(project, around) == (f"run {RUN}, which never began",)
    assert project.run_ids() == ()


@pytest.mark.parametrize("keep_days", [None, 0], ids=["gc", "--keep-days"])
def test_gc_keeps_a_run_whose_ledger_is_damaged_and_goes_on(
    project: Project, around: Surroundings, scripted: str, keep_days: int | None
) -> None:
    """It says so once, with what may be done; what else is to go, goes."""
    opened(project, around, scripted, RunStatus.BLOCKED)
    kept = refs(project)
    project.ledger_file(RUN).write_text('{"x": 1}\n{"y": 2}\n')
    other = RunId("20261122-101500-beef")
    open_workspace(project.repository, other, home=project.home).close()
    lines = collect(project, around, keep_days=keep_days)
    told = [line for line in lines if line.startswith("kept ")]
    assert len(told) == 1
    assert told[0].startswith(
        f"kept run {RUN}: the ledger {project.ledger_file(RUN)} cannot be read"
    )
    assert f"worktree {project.home / other}" in lines
    assert refs(project) == kept != []
    assert (project.home / RUN / "new.py").exists()


def test_work_that_is_on_the_branch_is_not_rejected(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """`accept` was killed before it could say that it put it there: it stays, and `accept` says so."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    work = project.repository.git().run("rev-parse", f"refs/heads/surefoot/{RUN}^{{tree}}").line
    piece = Piece(tree=TreeId(work), message="add new.py\n")
    put = put_onto_branch(
        project.repository, RUN, home=project.home, pieces=(piece,), verify=lambda _: None
    )
    assert git(project, "rev-parse", "HEAD") == put.commit
    with pytest.raises(UsageError, match=f"is on refs/heads/main as {put.commit}"):
        reject(project, RUN, around, "no")
    assert accept(project, RUN, around) == put.commit
    git(project, "reset", "--hard", "-q", "HEAD^")
    with pytest.raises(UsageError, match="was accepted"):
        reject(project, RUN, around, "no")


def test_a_plan_whose_work_is_on_the_branch_keeps_that_of_its_units(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """Who is refused has thrown nothing away, so that what is then accepted can be verified."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    repository, unit = project.repository, RunId(f"{RUN}.u.1")
    begun = ChildStarted(
        node="unit",
        unit_id=UNIT.unit_id,
        run=unit,
        attempt=1,
        base=repository.head,
        base_tree=repository.tree,
        tokens=0,
        cost_usd=0.0,
        reason="told",
    )
    with open_ledger(project, RUN, around) as ledger:
        ledger.append(begun)
    open_workspace(repository, unit, home=project.home).close()
    work = repository.git().run("rev-parse", f"refs/heads/surefoot/{RUN}^{{tree}}").line
    piece = Piece(tree=TreeId(work), message="add new.py\n")
    put_onto_branch(repository, RUN, home=project.home, pieces=(piece,), verify=lambda _: None)
    before = refs(project)
    assert f"refs/surefoot/{unit}/base" in before
    with pytest.raises(UsageError, match="is on refs/heads/main"):
        reject(project, RUN, around, "no")
    assert refs(project) == before
    assert (project.home / unit / "pyproject.toml").exists()


def test_an_empty_folder_is_no_run(project: Project, around: Surroundings, scripted: str) -> None:
    """Of a run that was killed before its ledger was there; nobody takes it for the last one, and `gc` removes it."""
    opened(project, around, scripted, RunStatus.PAUSED)
    empty = project.runs / f"{RUN}-later"
    empty.mkdir()
    assert project.find_run(None) == RUN
    assert f"run {empty.name}, which never began" in collect(project, around, keep_days=0)
    assert not empty.exists()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"turn": "1"}, "'1' is not a turn's id; one looks like fix-1.t2"),
        ({"cause": "77"}, "'77' is not an event id; one looks like 20"),
    ],
)
def test_what_can_be_no_turn_or_event_is_told(
    project: Project,
    around: Surroundings,
    scripted: str,
    asked: dict[str, str],
    told: str,
) -> None:
    """Nobody takes it for an answer that there is nothing: `explain` writes of turn 1 and of #77."""
    opened(project, around, scripted, RunStatus.BLOCKED)
    every = {"turn": None, "event_class": None, "kind": None, "cause": None}
    with pytest.raises(UsageError, match=re.escape(told)):
        query(project, trace=RUN, limit=9, **{**every, **asked})
    last = query(project, trace=RUN, limit=9, **every).events[-1].event_id
    assert query(project, trace=RUN, limit=9, **{**every, "cause": last}).events == ()


def test_a_ledger_that_breaks_off_is_told_after_its_events(
    project: Project, around: Surroundings, scripted: str, surefoot: Surefoot
) -> None:
    """Nobody takes what could be read for all that there is; another run's ledger has nothing to do with it."""
    opened(project, around, scripted, RunStatus.BLOCKED)
    file = project.ledger_file(RUN)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], lines[2].replace(b"1", b"2", 1), *lines[3:]]))
    for asked in ([RUN], ["--all"], [RUN, "--type", "run.stopped"]):
        done = surefoot("events", *asked, cwd=project.root)
        assert done.returncode == 1
        assert done.stdout.count("\n") == (0 if "--type" in asked else 2)
        assert f"the ledger {file.resolve()} cannot be read, line 3: " in done.stderr


def test_a_run_that_is_archived_is_not_told_as_never_made(project: Project) -> None:
    """Who asks for it is told where it is, and what reads it there."""
    file = project.archive / f"{RUN}.zip"
    file.parent.mkdir(parents=True)
    file.touch()
    for ask in (project.find_run, project.find_record):
        for given in (RUN, RUN[-4:]):
            with pytest.raises(UsageError) as refused:
                ask(given)
            assert str(refused.value) == (
                f"run {RUN} is archived in {file}; `surefoot verify {RUN}` and `surefoot replay --bundle {file}` read it there"
            )
        with pytest.raises(UsageError, match=r"runs are archived; the last one is .*-abcd"):
            ask(None)
        with pytest.raises(UsageError, match="no run is called 'beef'"):
            ask("beef")


def test_a_plan_that_is_asked_for_as_a_run_is_told_as_one(project: Project) -> None:
    """Nothing of it was executed yet, so most commands have nothing to say of it."""
    plan = project.plans / "plan-20261122-101500-cafe"
    plan.mkdir(parents=True)
    (plan / "events.jsonl").write_text("")
    assert project.find_record("cafe") == plan.name
    for given in (plan.name, "cafe"):
        with pytest.raises(
            UsageError, match=f"{plan.name} is a plan and no run; `surefoot explain"
        ):
            project.find_run(given)
    with pytest.raises(UsageError, match="no runs yet"):
        project.find_run(None)


def test_what_is_left_of_a_run_that_lost_its_ledger_stays(
    project: Project, around: Surroundings
) -> None:
    """Its report is all that tells of it."""
    project.prepare()
    report = project.runs / RUN / "report.md"
    report.parent.mkdir()
    report.write_text("done\n")
    (told,) = collect(project, around, keep_days=0)
    assert told.startswith(f"kept run {RUN}: cannot read the ledger")
    assert [path.name for path in report.parent.iterdir()] == ["report.md"]


_KILLED = """
import os, signal, sys
from pathlib import Path
from surefoot.project import scratch_folder
from surefoot.project import Places, open_project
project = open_project(Path(sys.argv[1]), Places(state=Path(sys.argv[2]), cache=Path(sys.argv[3])))
with scratch_folder(project) as folder:
    print(os.getpid(), folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_gc_removes_what_killed_commands_were_writing(
    project: Project, around: Surroundings
) -> None:
    """Scratch, blobs and bundles that were not finished go; what a living process may be writing stays."""
    places = (project.root, project.places.state, project.places.cache)
    argv = [sys.executable, "-c", _KILLED, *map(str, places)]
    told = subprocess.run(argv, capture_output=True, text=True, check=False).stdout
    pid, _, scratch = told.strip().partition(" ")
    project.prepare()
    blobs = project.blobs / "ab"
    blobs.mkdir()
    dead, recent, alive = (
        blobs / f"{'ab' * 32}.{n}.tmp" for n in (f"{pid}.1", f"{pid}.2", f"{os.getpid()}.1")
    )
    for path in (dead, recent, alive):
        path.write_text("half")
    for path in (dead, alive):
        os.utime(path, (0, 0))
    archive = project.folder / "archive"
    archive.mkdir()
    (archive / f"{RUN}.fresh").write_text("half")
    assert collect(project, around) == (
        f"unfinished archive {archive / RUN}.fresh",
        f"unfinished blob {dead}",
        f"scratch {scratch}",
    )
    assert not Path(scratch).exists()
    assert {path.name for path in blobs.iterdir()} == {recent.name, alive.name}
    assert list(archive.iterdir()) == []


def test_accept_of_a_killed_run_names_resume(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """It has no status yet."""
    opened(project, around, scripted, None)
    with pytest.raises(AcceptError, match=f"has not ended; `surefoot resume {RUN}`"):
        accept(project, RUN, around)


def test_accept_ends_where_a_killed_git_has_left_a_lock(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """At the ref that holds the end of the ledger, which is written after the branch has moved."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    lock = project.root / ".git" / "refs" / "surefoot" / RUN / "ledger.lock"
    lock.touch()
    assert accept(project, RUN, around) == git(project, "rev-parse", "HEAD")
    assert not lock.exists()
    assert ledger_head(project.repository, RUN) is not None


def test_accept_gives_hooks_what_git_ignores(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """A hook that lives in `node_modules`, as tools install it, finds itself and what it calls."""
    hooks = project.root / "node_modules" / ".hooks"
    hooks.mkdir(parents=True)
    (hooks.parent / "lint").write_text("ok\n")
    (hooks / "pre-commit").write_text("#!/bin/sh\ntest -f node_modules/lint\n")
    (hooks / "pre-commit").chmod(0o755)
    (hooks.parent / ".gitignore").write_text("*\n")
    git(project, "config", "core.hooksPath", "node_modules/.hooks")
    opened(project, around, scripted, RunStatus.COMPLETE)
    assert accept(project, RUN, around) == git(project, "rev-parse", "HEAD")
    assert (project.root / "new.py").exists()


def moved(project: Project, **files: str) -> str:
    """The user commits test files of his own, by their names' middle; the tip then."""
    for name, text in files.items():
        (project.root / "tests" / f"test_{name}.py").write_text(text)
    git(project, "add", ".")
    git(project, "commit", "-qm", "moved")
    return git(project, "rev-parse", "HEAD")


@pytest.mark.parametrize("opened_anew", [False, True], ids=["--accept", "accept"])
def test_accept_tests_again_where_the_branch_has_moved(
    project: Project, around: Surroundings, scripted: str, *, opened_anew: bool
) -> None:
    """Work and tip may each pass and not do so together: then it is refused, with the test, and nothing has changed.

    Whether the branch moved before the project was opened, or while the run that it was opened for went on.
    """
    opened(project, around, scripted, RunStatus.COMPLETE)
    alone = (
        "from pathlib import Path\n\n\ndef test_alone():\n    assert not Path('new.py').exists()\n"
    )
    tip = moved(project, alone=alone)
    now = open_project(project.root, project.places) if opened_anew else project
    with pytest.raises(
        AcceptError, match=r"base-tests: .*broken: tests/test_alone\.py::test_alone"
    ):
        accept(now, RUN, around)
    assert git(project, "rev-parse", "HEAD") == tip
    assert not (project.root / "new.py").exists()


def test_tests_that_the_user_committed_meanwhile_are_the_branchs(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """They guard the work and are none of its changes."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    tip = moved(project, mine="def test_mine():\n    assert True\n")
    assert accept(project, RUN, around) == git(project, "rev-parse", "HEAD")
    assert git(project, "rev-parse", "HEAD^") == tip


@dataclass(frozen=True)
class Locking:
    """Locks the project as soon as `accept` verifies again."""

    project: Project

    def seen(self, recorded: Recorded) -> None:
        """As `Progress.seen`."""
        if isinstance(recorded.event, FactLearned):
            self.project.lock.set("a release")


@pytest.mark.parametrize("during", ["hooks", "gates"])
def test_a_lock_that_comes_while_accept_is_at_work_holds(
    project: Project, around: Surroundings, scripted: str, during: str
) -> None:
    """Nothing is put on the branch, and no hook is asked any more."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    asked, lock = project.root.parent / "asked", project.repository.common_dir / "surefoot-lock"
    if during == "gates":
        moved(project, mine="def test_mine():\n    assert True\n")
    hook = project.root / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {asked}; echo a release > {lock}\n")
    hook.chmod(0o755)
    tip = git(project, "rev-parse", "HEAD")
    with pytest.raises(LockedError, match="locked: a release"):
        accept(project, RUN, surroundings(Nobody(), Locking(project)))
    assert asked.exists() == (during == "hooks")
    assert git(project, "rev-parse", "HEAD") == tip
    assert not (project.root / "new.py").exists()


def test_accept_audits_again_what_a_hook_has_edited(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """The tests say nothing of it; a blocking finding that neither the tip nor the run has is refused by name."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    hooks = project.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text("#!/bin/sh\necho 'x = nowhere' > new.py\ngit add new.py\n")
    (hooks / "pre-commit").chmod(0o755)
    tip = git(project, "rev-parse", "HEAD")
    with pytest.raises(AcceptError, match=r"changed-files: new: \S+:\d+ ruff F821"):
        accept(project, RUN, around)
    assert git(project, "rev-parse", "HEAD") == tip


def test_accept_lets_no_hook_change_what_guards_the_work(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """A hook may format the work; a test that it brings is none of the run's."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    hooks = project.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "pre-commit").write_text(
        "#!/bin/sh\necho > tests/test_hook.py\ngit add tests/test_hook.py\n"
    )
    (hooks / "pre-commit").chmod(0o755)
    tip = git(project, "rev-parse", "HEAD")
    with pytest.raises(AcceptError, match=r"tests/test_hook\.py guards the work"):
        accept(project, RUN, around)
    assert git(project, "rev-parse", "HEAD") == tip


def test_generated_files_that_are_tracked_are_no_hindrance(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """Many projects commit the version module that a tool wrote: it is part of the trees, so nothing carries it."""
    version = project.root / "daybook" / "_version.py"
    version.write_text('# file generated by a tool, do not edit\nversion = "1"\n')
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "version")
    now = open_project(project.root, project.places)
    request = Request(issue=Issue(source="audit"), mode="report_only", model=scripted)
    assert start(now, request, around).status is RunStatus.REPORTED
    opened(now, around, scripted, RunStatus.COMPLETE)
    assert accept(now, RUN, around) == git(project, "rev-parse", "HEAD")


def test_a_run_killed_before_its_refs_belongs_to_the_branch_that_it_was_opened_on(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """Whatever the user has checked out when it is taken up again."""
    opened(project, around, scripted, None)
    git(project, "switch", "--quiet", "--create", "elsewhere")
    result = resume(open_project(project.root, project.places), RUN, around)
    assert result.status is RunStatus.REPORTED
    told = json.loads(git(project, "cat-file", "blob", f"refs/surefoot/{RUN}/run"))
    assert told["branch"] == "refs/heads/main"


def test_a_run_killed_after_its_last_event_is_finished_by_resume(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """Report and summary are written and the worktree is given back; a second time there is nothing to resume."""
    opened(project, around, scripted, RunStatus.COMPLETE)
    folder = project.runs / RUN
    # As a git leaves it that was killed with the run.
    (project.repository.common_dir / "refs" / "surefoot" / RUN / "ledger.lock").touch()
    assert resume(project, RUN, around).status is RunStatus.COMPLETE
    assert json.loads((folder / "summary.json").read_text())["status"] == "complete"
    assert (folder / "report.md").exists()
    assert git(project, "worktree", "list", "--porcelain").count("worktree ") == 1
    with pytest.raises(UsageError, match="ended as complete"):
        resume(project, RUN, around)


@pytest.mark.parametrize(("why", "told"), [("no", "was rejected: no"), ("", "was rejected")])
def test_a_rejected_run_is_not_taken_up_again(
    project: Project, around: Surroundings, scripted: str, why: str, told: str
) -> None:
    """Its commits are gone, and nobody wants them back."""
    opened(project, around, scripted, RunStatus.PAUSED)
    reject(project, RUN, around, why)
    with pytest.raises(UsageError, match=f"{told}; start a new one"):
        resume(project, RUN, around)
    assert refs(project) == []


def test_an_unknown_type_of_event_is_refused_and_near_ones_are_named(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """An empty answer would read as that there is none."""
    opened(project, around, scripted, RunStatus.PAUSED)
    ask = partial(query, project, trace=None, turn=None, event_class=None, cause=None, limit=9)
    assert [r.event.kind for r in ask(kind="run.opened").events] == ["run.opened"]
    with pytest.raises(UsageError, match=r"near are .*run\.opened"):
        ask(kind="run.openend")


def test_events_are_a_line_each(
    project: Project, around: Surroundings, scripted: str, surefoot: Surefoot
) -> None:
    """As the reference says: a program reads as many objects as there are events, none where none fits."""
    opened(project, around, scripted, RunStatus.PAUSED)
    kinds = [r.event.kind for r in read_events(project.ledger_file(RUN))]
    lines = surefoot("events", "--json", cwd=project.root).stdout.splitlines()
    assert [json.loads(line)["event"]["kind"] for line in lines] == kinds
    first, *others = surefoot("events", cwd=project.root).stdout.splitlines()
    assert len(first.split()) == 3
    assert first.endswith(f"/{kinds[0]}")
    assert all(line.split()[3] == "<-" for line in others)
    none = surefoot("events", "--json", "--turn", "fix-1.t9", cwd=project.root)
    assert (none.returncode, none.stdout) == (0, "")
    page = (Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text()
    section = page.partition("## surefoot events")[2].partition("\n## ")[0]
    assert "Print one JSON object a line, a line an event" in section


def test_what_reject_tells_a_program_is_what_the_reference_says(
    project: Project, around: Surroundings, scripted: str, surefoot: Surefoot
) -> None:
    """Each key of it, and no other."""
    opened(project, around, scripted, RunStatus.BLOCKED)
    told = json.loads(surefoot("reject", "--json", cwd=project.root).stdout)
    page = (Path(__file__).parents[2] / "docs" / "reference" / "summary.md").read_text()
    sentence = page.partition("`surefoot reject --json` prints ")[2].partition("\n")[0]
    assert re.findall(r"`(\w+)`", sentence) == list(told)


def test_a_ledger_that_was_cut_short_is_told(
    project: Project, around: Surroundings, scripted: str
) -> None:
    """Whole lines taken off the end leave a chain that holds; the repository knows how far it went."""
    request = Request(issue=Issue(source="audit"), mode="report_only", model=scripted)
    run_id = RunId(start(project, request, around).summary["run_id"])
    assert verify_run(project, run_id).fault is None
    ledger = project.ledger_file(run_id)
    ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
    fault = verify_run(project, run_id).fault
    assert fault is not None
    assert "lines are missing at its end" in fault
