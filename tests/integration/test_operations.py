"""Several runs as one thing: what cannot begin is said, what is not complete is never chosen (SPEC B13)."""

import json
import random
import threading
from concurrent.futures import Future
from pathlib import Path

import pytest
from bench.stories import BOTH, Story, make_project, stories, tell
from tests.integration.conftest import Surefoot
from tests.integration.disks import file_size_limit
from tests.integration.execute.test_agent import BUG, BUG_EDITS, repository
from tests.integration.steps import done, script

from surefoot.assembly import Surroundings
from surefoot.consent import clear_lock, give_trust, set_lock
from surefoot.decisions.roundtable import Juror
from surefoot.errors import LedgerError, UsageError
from surefoot.events.orchestration import Decided
from surefoot.ledger import read_events
from surefoot.operations import (
    Spawned,
    await_runs,
    consolidate_results,
    run_roundtable,
    spawn_runs,
)
from surefoot.project import Project, open_project
from surefoot.request import Request
from surefoot.upkeep import own_ledger
from surefoot.values import RunId, RunStatus

RUNS = tuple(RunId(f"20261122-101500-000{n}") for n in range(4))


def story(name: str) -> Story:
    """One of the honest ones."""
    return next(s for s in stories(random.Random(1)) if s.name == name)


@pytest.fixture
def around() -> Surroundings:
    """The real surroundings, with nobody there."""
    return Surroundings.real({})


@pytest.fixture
def project(tmp_path: Path, around: Surroundings) -> Project:
    """A repository with two complete runs that did the same, one that waits for a person, and one that is blocked."""
    made = make_project(tmp_path)
    told = ("complete", "complete", "tests change unseen", "refused")
    for run_id, name in zip(RUNS, told, strict=True):
        tell(made, story(name), run_id, around)
    return made


def test_results_are_summed_up(project: Project) -> None:
    """Who ended how, who changed what, and who waits."""
    results = consolidate_results(project, RUNS)
    assert results.by_status == {
        RunStatus.COMPLETE: RUNS[:2],
        RunStatus.PAUSED: RUNS[2:3],
        RunStatus.BLOCKED: RUNS[3:],
    }
    assert results.files == {"calc.py": RUNS[:3], "tests/test_calc.py": RUNS[2:3]}
    assert results.overlaps == ("calc.py",)
    assert [p.run_id for p in results.pending] == [RUNS[2]]
    assert not results.is_complete
    assert consolidate_results(project, RUNS[:2]).is_complete
    assert not consolidate_results(project, ()).is_complete
    with pytest.raises(UsageError, match="no run nowhere"):
        consolidate_results(project, (RunId("nowhere"),))


def test_only_what_is_complete_is_chosen(project: Project, around: Surroundings) -> None:
    """The very same change twice is one option; where nothing is complete nothing is chosen."""
    choice = run_roundtable(project, RUNS, around)
    assert (choice.run_id, choice.same) == (RUNS[0], (RUNS[1],))
    assert run_roundtable(project, RUNS[2:], around).run_id is None


def test_reviewers_choose_and_may_not_agree(tmp_path: Path, around: Surroundings) -> None:
    """Two different changes are voted on, and the votes are in the repository's own ledger."""
    project = make_project(tmp_path)
    tell(project, story("complete"), RUNS[0], around)
    tell(project, story("a new test"), RUNS[1], around)
    chosen = run_roundtable(project, RUNS[:2], around)
    assert chosen.run_id == RUNS[0]  # the smaller one
    own = [r.event for r in read_events(project.folder / "events.jsonl")]
    assert [e.decision for e in own if isinstance(e, Decided)] == ["roundtable"]
    split = (
        Juror(name="first", choose=lambda options: options[0].candidate_id),
        Juror(name="last", choose=lambda options: options[-1].candidate_id),
    )
    nothing = (Juror(name="none", choose=lambda _: None),)
    assert run_roundtable(project, RUNS[:2], around, nothing).run_id is None
    assert run_roundtable(project, RUNS[:2], around, split).run_id is None


def test_runs_on_different_commits_do_not_compare(tmp_path: Path, around: Surroundings) -> None:
    """The second begins from what was accepted of the first."""
    project = make_project(tmp_path)
    tell(project, story("complete"), RUNS[0], around)
    (project.root / "more.py").write_text("")
    for args in (("add", "."), ("commit", "--quiet", "--message", "more")):
        project.repository.git().run(*args)
    tell(open_project(project.root, project.places), story("complete"), RUNS[1], around)
    with pytest.raises(UsageError, match="different commits"):
        run_roundtable(project, RUNS[:2], around)


def test_what_cannot_begin_is_said(tmp_path: Path, around: Surroundings) -> None:
    """Each run for itself, in its place; nothing to start is the caller's mistake."""
    project = make_project(tmp_path)
    set_lock(project, "a release", "ursula", environ={})
    requests = [Request(issue=BOTH, model="scripted:none.json")] * 2
    awaited = await_runs(spawn_runs(project, requests, around))
    assert [one.outcome for one in awaited] == [None, None]
    assert all("locked: a release" in one.error for one in awaited)
    with pytest.raises(UsageError, match="start no run"):
        spawn_runs(project, [], around)


def test_no_power_is_given_where_the_record_has_no_room(tmp_path: Path) -> None:
    """The disk is full: the lock holds, and what nobody trusted stays so, as they say."""
    bare = make_project(tmp_path)
    (bare.root / "surefoot.toml").write_text('[test]\ncommand = ["true"]\n')
    project = open_project(bare.root, bare.places)
    set_lock(project, "a release", "ursula", environ={})
    ledger = project.folder / "events.jsonl"
    with file_size_limit(ledger.stat().st_size):
        with pytest.raises(LedgerError, match="cannot write"):
            clear_lock(project, "ursula", environ={})
        with pytest.raises(LedgerError, match="cannot write"):
            give_trust(project, "ursula", environ={})
    assert project.lock.reason() == "a release"
    assert open_project(bare.root, bare.places).untrusted == ("test.command",)
    assert [one.event.kind for one in read_events(ledger)] == ["lock.changed"]


def test_no_power_is_given_that_cannot_be_recorded(tmp_path: Path, around: Surroundings) -> None:
    """While another command has the ledger: unlock and trust change nothing, a lock holds and says what is missing."""
    bare = make_project(tmp_path)
    (bare.root / "surefoot.toml").write_text('[test]\ncommand = ["true"]\n')
    project = open_project(bare.root, bare.places)
    project.prepare()
    with own_ledger(project, around.clock, {}):
        with pytest.raises(LedgerError, match=r"^locked, but not recorded: .*in use"):
            set_lock(project, "a release", "ursula", environ={})
        with pytest.raises(LedgerError, match="in use"):
            clear_lock(project, "ursula", environ={})
        with pytest.raises(LedgerError, match="in use"):
            give_trust(project, "ursula", environ={})
    assert project.lock.reason() == "a release"
    assert open_project(bare.root, bare.places).untrusted == ("test.command",)
    assert clear_lock(project, "ursula", environ={})
    assert give_trust(project, "ursula", environ={}) == ("test.command",)
    kinds = [one.event.kind for one in read_events(project.folder / "events.jsonl")]
    assert kinds == ["lock.changed", "settings.trusted"]


def test_a_rival_changes_no_exit_code(surefoot: Surefoot, tmp_path: Path) -> None:
    """Where no run can begin it is refused as the first would be alone: for its model, and for the lock."""
    root = repository(tmp_path, BUG)
    command = ("solve", "x y", "--model", "scripted:none.json", "--json")
    for code, kind in ((1, "settings"), (10, "locked")):
        for rival in ((), ("--rival", "scripted:none.json")):
            ran = surefoot(*command, *rival, cwd=root)
            assert ran.returncode == code, ran.stderr
            assert json.loads(ran.stdout)["error"] == kind
        surefoot("lock", "--why", "a release", cwd=root)


def test_what_goes_on_is_neither_done_nor_broken() -> None:
    """Waiting ends with its time; a run that is not done has no outcome and no error."""
    spawned = Spawned(runs=RUNS[:1], results={RUNS[0]: Future()}, stop=threading.Event())
    (one,) = await_runs(spawned, timeout_s=0)
    assert (one.outcome, one.error) == (None, "")


def test_rivals_solve_side_by_side(surefoot: Surefoot, tmp_path: Path) -> None:
    """The model that does nothing is beside the one that works; what is kept is complete, and accepted."""
    root = repository(tmp_path, BUG)
    for name, answers in (("works", BUG_EDITS), ("idle", [done()])):
        (tmp_path / f"{name}.json").write_text(json.dumps(script(answers)))
    ran = surefoot(
        "solve",
        "`receipt` shows 2.5 for 250",
        *("--model", f"scripted:{tmp_path}/idle.json"),
        *("--rival", f"scripted:{tmp_path}/works.json"),
        *("--strategy", "agent", "--json"),
        cwd=root,
    )
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout.splitlines()[-1])
    assert (summary["status"], summary["files"]) == ("complete", ["till/money.py"])
    assert f"the roundtable keeps {summary['run_id']}" in ran.stderr
    assert "blocked: " in ran.stderr


def test_a_rival_is_not_sent_to_another_models_server(surefoot: Surefoot, tmp_path: Path) -> None:
    """What `--base-url` names is the server of `--model` alone; a rival has its own, or lacks a key."""
    root = repository(tmp_path, BUG)
    where = ("--model", "openai/own", "--base-url", "http://127.0.0.1:9/v1")
    ran = surefoot(
        *("solve", "x y", "--mode", "report_only", *where, "--rival", "openai/rival"),
        cwd=root,
        env={"OPENAI_API_KEY": ""},
    )
    assert "`openai/rival` may not be asked: there is no key in OPENAI_API_KEY" in ran.stderr
    assert "`openai/own` may not be asked" not in ran.stderr
