"""The run of a plan in one file: with the runs of its units, so that somebody else can hold all of it against itself."""

import random
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from bench.letters import lay, rules, two_that_clash
from bench.tampering import anchored, rechain

from surefoot.cli.common import surroundings
from surefoot.codec import decode, encode
from surefoot.errors import LedgerError
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import RunAccepted, RunOpened
from surefoot.events.plans import PartVerified, PlanAdopted
from surefoot.events.policy import SandboxEnforced
from surefoot.events.work import FactLearned
from surefoot.gitops.accept import Piece
from surefoot.gitops.accept import accept as put_onto_branch
from surefoot.gitops.history import RecordedTrees
from surefoot.handover import accept
from surefoot.kernel.state import fold
from surefoot.ledger import read_events
from surefoot.ledger.blobs import BlobStore
from surefoot.people import Nobody, Quiet
from surefoot.planrun.run import run_plan
from surefoot.plans import Plan
from surefoot.project import Places, Project, open_project
from surefoot.request import Request, thaw
from surefoot.values import CommitId, RunId, RunStatus, UnitId
from surefoot.verify import open_bundle, verify_run, write_bundle
from surefoot.verify.bundle import MANIFEST, read_bundle
from surefoot.verify.commits import git_fault, stands_of
from surefoot.verify.parts import PartCheck
from surefoot.verify.record import Proofs

UNITS = ("a.1", "b.1", "b.2", "c.1")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunId]:
    """A folder with a repository and a plan's run that came to its end, and the run's id."""
    folder = tmp_path_factory.mktemp("done")
    lay(folder / "repo")
    (folder / "model.json").write_text(rules())
    plan = two_that_clash()
    request = Request(
        issue=plan.issue,
        plan=plan,
        model=f"scripted:{folder / 'model.json'}",
        strategy="agent",
        jobs=2,
    )
    there(folder).trust()
    outcome = run_plan(there(folder), request, surroundings(Nobody(), Quiet()))
    assert outcome.status is RunStatus.COMPLETE, outcome.report
    return folder, RunId(outcome.summary["run_id"])


def there(folder: Path) -> Project:
    """The repository in a folder."""
    return open_project(folder / "repo", Places(state=folder / "state", cache=folder / "cache"))


def elsewhere(tmp_path: Path) -> Places:
    """Another machine, which has never seen the repository."""
    return Places(state=tmp_path / "elsewhere", cache=tmp_path / "none")


def test_a_plans_run_is_verified_elsewhere_with_its_units(
    done: tuple[Path, RunId], tmp_path: Path
) -> None:
    """All that is looked at here is looked at there; the attempt that could not be merged is in it, too."""
    folder, run_id = done
    here = verify_run(there(folder), run_id)
    write_bundle(there(folder), run_id, tmp_path / "run.zip")
    manifest, _ = read_bundle(tmp_path / "run.zip")
    assert sorted(manifest.units) == [f"{run_id}.{unit}" for unit in UNITS]  # two begin at once
    with open_bundle(tmp_path / "run.zip", elsewhere(tmp_path)) as (unpacked, found):
        assert found == run_id
        assert verify_run(unpacked, found) == here
    assert here.fault is None
    assert here.commits > len(UNITS)


@pytest.mark.parametrize("unit", UNITS)
def test_a_units_ledger_that_was_told_anew_is_named(
    done: tuple[Path, RunId], tmp_path: Path, unit: str
) -> None:
    """Each of its hashes fits, but it is not the ledger that the plan's run and the refs know."""
    shutil.copytree(done[0], tmp_path / "copy", symlinks=True)
    project, run = there(tmp_path / "copy"), RunId(f"{done[1]}.{unit}")
    rechain(project, run, _said_again)
    write_bundle(project, done[1], tmp_path / "run.zip")
    with open_bundle(tmp_path / "run.zip", elsewhere(tmp_path)) as (unpacked, found):
        fault = verify_run(unpacked, found).fault
    assert fault is not None
    assert f"run {run}: " in fault


@pytest.mark.parametrize(
    ("field", "said"),
    [("reason", "99 tests pass"), ("passed", False), ("tests", ("tests/test_none.py::test_x",))],
)
def test_what_is_said_of_a_part_follows_from_what_ran(
    done: tuple[Path, RunId], tmp_path: Path, field: str, said: object
) -> None:
    """The last milestone, which no commit comes after, told otherwise: every hash and the head in the repository fit."""
    shutil.copytree(done[0], tmp_path / "copy", symlinks=True)
    project, run_id = there(tmp_path / "copy"), done[1]
    *_, last = (
        r for r in read_events(project.ledger_file(run_id)) if isinstance(r.event, PartVerified)
    )

    def told(recorded: Recorded) -> Event:
        event = recorded.event
        if recorded.event_id == last.event_id and isinstance(event, PartVerified):
            return replace(event, **{field: said})  # type: ignore[arg-type]  # as the cases give it
        return event

    anchored(project, run_id, rechain(project, run_id, told))
    fault = verify_run(project, run_id).fault
    assert fault is not None
    assert re.match(rf"line \d+ \(part\.verified\): {field}\S* was ", fault), fault


def test_a_plan_is_complete_when_all_its_parts_hold(
    done: tuple[Path, RunId], tmp_path: Path
) -> None:
    """Another event stands where the last milestone was verified, and everything that derives from the ledger fits."""
    shutil.copytree(done[0], tmp_path / "copy", symlinks=True)
    project, run_id = there(tmp_path / "copy"), done[1]
    *_, last = (
        r for r in read_events(project.ledger_file(run_id)) if isinstance(r.event, PartVerified)
    )
    other = FactLearned(topic="nothing", text="nothing")
    made = rechain(project, run_id, lambda r: other if r.event_id == last.event_id else r.event)
    anchored(project, run_id, made)
    fault = verify_run(project, run_id).fault
    assert fault is not None
    assert re.match(
        r"line \d+ \(phase\.changed\): trigger was critique-passed, but \S+ does not hold: nothing is recorded",
        fault,
    ), fault


@pytest.mark.parametrize(
    ("field", "said"),
    [("order", (UnitId("b"), UnitId("a"))), ("milestones", ()), ("jobs", 7), ("plan_id", "x")],
)
def test_the_plan_that_is_executed_is_the_one_that_was_asked_for(
    done: tuple[Path, RunId], tmp_path: Path, field: str, said: object
) -> None:
    """A run of fewer milestones would be judged by less."""
    honest, look = adopting(there(done[0]), done[1], tmp_path)
    assert look(honest) == ""
    told = look(replace(honest, **{field: said}))  # type: ignore[arg-type]  # as the cases give it
    assert re.match(rf"{field}\S* was ", told), told


def test_a_shorter_plan_is_not_the_one_that_was_asked_for(
    done: tuple[Path, RunId], tmp_path: Path
) -> None:
    """A unit is left out of the blob."""
    project = there(done[0])
    honest, look = adopting(project, done[1], tmp_path)
    blobs = BlobStore(project.blobs)
    plan = decode(Plan, blobs.get(honest.plan))
    shorter = blobs.put(encode(replace(plan, units=plan.units[:-1])))
    assert re.match(r"plan\.units was ", look(replace(honest, plan=shorter)))


def adopting(
    project: Project, run_id: RunId, scratch: Path
) -> tuple[PlanAdopted, Callable[[PlanAdopted], str]]:
    """How a run adopted its plan, and what verify says of another word in its place."""
    events = list(read_events(project.ledger_file(run_id)))
    opened, get = events[0].event, BlobStore(project.blobs).get
    assert isinstance(opened, RunOpened)
    at, adopted = next((r, r.event) for r in events if isinstance(r.event, PlanAdopted))
    trees = RecordedTrees(project.repository, scratch, len(opened.base_tree))
    check = PartCheck(
        request=thaw(get(opened.settings)).request,
        get=get,
        proofs=Proofs(run_id=run_id, get=get, trees=trees),
    )
    return adopted, lambda said: check.look(fold(events[:1]), replace(at, event=said))


def test_a_units_ledger_with_one_bit_changed_is_not_exported(
    done: tuple[Path, RunId], tmp_path: Path
) -> None:
    """It is said which one, and no file is written."""
    shutil.copytree(done[0], tmp_path / "copy", symlinks=True)
    project, run = there(tmp_path / "copy"), RunId(f"{done[1]}.a.1")
    path = project.ledger_file(run)
    data = bytearray(path.read_bytes())
    data[random.Random(1).randrange(len(data))] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(LedgerError, match=str(run)):
        write_bundle(project, done[1], tmp_path / "run.zip")
    assert not (tmp_path / "run.zip").exists()


def test_a_bundle_that_lacks_a_unit_is_not_verified(
    done: tuple[Path, RunId], tmp_path: Path
) -> None:
    """The plan's run knows which units it rests on."""
    folder, run_id = done
    write_bundle(there(folder), run_id, tmp_path / "whole.zip")
    manifest, files = read_bundle(tmp_path / "whole.zip")
    gone = f"units/{run_id}.c.1/"
    kept = {n: d for n, d in files.items() if not n.startswith(gone)}
    told = replace(
        manifest,
        units=tuple(u for u in manifest.units if not u.endswith(".c.1")),
        refs={n: o for n, o in manifest.refs.items() if ".c.1" not in n},
        files={n: manifest.files[n] for n in kept},
    )
    with zipfile.ZipFile(tmp_path / "run.zip", "w") as archive:
        for name, content in {MANIFEST: encode(told), **kept}.items():
            archive.writestr(name, content)
    with open_bundle(tmp_path / "run.zip", elsewhere(tmp_path)) as (unpacked, found):
        fault = verify_run(unpacked, found).fault
    assert fault == f"the ledger of unit c, run {run_id}.c.1, is missing"


@pytest.mark.parametrize("killed", [False, True], ids=["at once", "killed before it was recorded"])
def test_an_accepted_plan_is_verified_here_and_elsewhere(
    done: tuple[Path, RunId], tmp_path: Path, *, killed: bool
) -> None:
    """Two milestones are two commits, which are looked at from the last one back to what they were put onto."""
    shutil.copytree(done[0], tmp_path / "copy", symlinks=True)
    project, run_id = there(tmp_path / "copy"), done[1]
    sign(project)
    tip = git(project, "rev-parse", "main")
    if killed:
        parts = fold(tuple(read_events(project.ledger_file(run_id)))).plan.parts.values()
        first, last = (p.tree for p in parts if p.level == "milestone")
        assert first != last
        put_onto_branch(
            project.repository,
            run_id,
            home=project.home,
            pieces=(Piece(tree=first, message="M1\n"), Piece(tree=last, message="M2\n")),
            verify=lambda _: "not asked",
        )
    accept(project, run_id, surroundings(Nobody(), Quiet()))
    assert git(project, "rev-parse", "main~2") == tip
    here = verify_run(project, run_id)
    assert here.fault is None
    write_bundle(project, run_id, tmp_path / "run.zip")
    with open_bundle(tmp_path / "run.zip", elsewhere(tmp_path)) as (unpacked, found):
        assert verify_run(unpacked, found) == here
        log = git(unpacked, "log", "--format=%H", f"refs/surefoot/{run_id}/accepted")
    assert log.split() == git(project, "log", "-2", "--format=%H", "main").split()


def test_an_accepted_plan_that_was_put_elsewhere_is_named(
    done: tuple[Path, RunId], tmp_path: Path
) -> None:
    """What it was put onto lies behind one commit or more, none of them a merge, and no more than there are milestones."""
    shutil.copytree(done[0], tmp_path / "copy", symlinks=True)
    project, run_id = there(tmp_path / "copy"), done[1]
    sign(project)
    git(project, "commit", "--quiet", "--allow-empty", "--message", "later")
    accept(there(tmp_path / "copy"), run_id, surroundings(Nobody(), Quiet()))
    merge = git(project, "commit-tree", "-m", "M", "-p", "main~1", "-p", "main~2", "main^{tree}")
    *events, last = read_events(project.ledger_file(run_id))
    assert isinstance(last.event, RunAccepted)
    for commit, onto, fault in (
        ("main", "main~2", ""),
        ("main", "main~1", "/onto is"),
        ("main", "main", "its parents are"),
        ("main", "main~3", "its parents are"),
        (merge, "main~2", "its parents are"),
        ("main^{tree}", "main~2", "is not there"),
    ):
        named = [CommitId(git(project, "rev-parse", name)) for name in (commit, onto)]
        told = replace(last.event, commit=named[0], onto=named[1])
        stands = stands_of([*events, replace(last, event=told)])
        assert stands is not None
        found = git_fault(project.repository, run_id, stands, "commit")
        assert (found is None) == (fault == "")
        assert fault in (found or "")


def sign(project: Project) -> None:
    """Give the repository's user a name."""
    git(project, "config", "user.name", "T")
    git(project, "config", "user.email", "t@example.invalid")


def git(project: Project, *args: str) -> str:
    """Git's answer in a project's repository."""
    done = subprocess.run(
        ["git", *args], cwd=project.root, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _said_again(recorded: Recorded) -> Event:
    event = recorded.event
    return replace(event, detail="another") if isinstance(event, SandboxEnforced) else event
