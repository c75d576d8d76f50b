"""`verify` takes what is honest, names what is not, here and from a bundle, and says what only a kept head can catch."""

import json
import os
import random
import re
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bench.stories import Story, make_project, stories, tell
from bench.tampering import TAMPERINGS, Tampering, anchored, rechain
from bench.verify import campaign
from typer.testing import CliRunner

from surefoot.assembly import Surroundings, open_ledger
from surefoot.cli.common import surroundings
from surefoot.cli.main import app
from surefoot.codec import digest
from surefoot.documents import documents_of
from surefoot.errors import LedgerError, LockedError, SettingsError, UsageError
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import (
    GateDecided,
    ReviewGiven,
    RunAccepted,
    RunOpened,
    RunsCollected,
)
from surefoot.events.plans import RunArchived
from surefoot.events.policy import PolicyResolved, SandboxEnforced
from surefoot.events.work import GitStage
from surefoot.handover import collect
from surefoot.ledger import read_events
from surefoot.people import Nobody, Quiet
from surefoot.policy.redaction import redact
from surefoot.project import Places, Project, open_project
from surefoot.replay import replay
from surefoot.values import CommitId, GateName, RunId
from surefoot.verify import open_bundle, open_run, verify_run, write_bundle
from surefoot.verify.commits import git_fault, stands_of

RUN = RunId("20261122-101500-abcd")


def story(name: str) -> Story:
    """One of the honest ones."""
    return next(s for s in stories(random.Random(1)) if s.name == name)


@pytest.fixture(scope="module")
def around() -> Surroundings:
    """The real surroundings, with nobody there."""
    return surroundings(Nobody(), Quiet())


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, around: Surroundings) -> Path:
    """A folder with a repository and the home of an honest run of two turns."""
    folder = tmp_path_factory.mktemp("told")
    tell(make_project(folder), story("two turns"), RUN, around)
    return folder


@pytest.fixture
def project(told: Path, tmp_path: Path) -> Project:
    """A copy of it."""
    copy = tmp_path / "copy"
    shutil.copytree(told, copy, symlinks=True)
    return open_project(copy / "repo", Places(state=copy / "state", cache=copy / "cache"))


def elsewhere(tmp_path: Path) -> Places:
    """Another machine, which has never seen the repository."""
    return Places(state=tmp_path / "elsewhere", cache=tmp_path / "none")


def test_a_tenth_of_the_campaign(tmp_path: Path) -> None:
    """Ten honest runs pass where they are and from their bundles; each of ten tamperings is named."""
    said: list[str] = []
    assert campaign(tmp_path, 10, 10, 7, said.append) == 0, said


def test_a_run_that_was_killed_amid_its_reviews_verifies(
    tmp_path: Path, around: Surroundings
) -> None:
    """It asks all reviewers again when it is resumed; the word of the first one stands twice."""
    project = make_project(tmp_path)
    tell(project, story("killed amid reviews"), RUN, around)
    events = [r.event for r in read_events(project.ledger_file(RUN))]
    reasons = [e.review.reason for e in events if isinstance(e, ReviewGiven)]
    assert reasons[0] == reasons[1] != reasons[2]
    assert verify_run(project, RUN).fault is None


def test_a_secret_of_the_environment_is_hidden_in_the_report(
    tmp_path: Path, around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The diff is git's, which has it; verify needs no such environment, and a mark hides nothing but the change."""
    secret = "return x * 3"
    monkeypatch.setenv("DB_PASSWORD", secret)
    project = make_project(tmp_path)
    tell(project, story("two turns"), RUN, around)
    report = project.runs / RUN / "report.md"
    said = report.read_text()
    assert "[redacted:value]" in said
    assert secret not in said
    monkeypatch.delenv("DB_PASSWORD")
    later = open_project(project.root, project.places)
    assert verify_run(later, RUN).fault is None
    for old, new in (("**complete**", "**[redacted:value]**"), ("[redacted:value]", "nothing")):
        report.write_text(said.replace(old, new, 1))
        fault = verify_run(later, RUN).fault
        assert fault is not None
        assert fault.startswith("report.md: line")


def test_a_forged_gate_is_named_with_its_line_and_field(
    tmp_path: Path, around: Surroundings
) -> None:
    """Also where every hash, the head that the repository keeps and the documents were made to fit it."""
    project = make_project(tmp_path)
    tell(project, story("refused"), RUN, around)
    forge(project, _praised)
    fault = verify_run(project, RUN).fault
    assert fault is not None
    assert re.match(
        r"line \d+ \(gate\.decided\): result\.reason was 'it is fine', is 'mode ", fault
    )


def test_a_forged_gate_does_not_fit_the_commits(project: Project) -> None:
    """Each commit names the line that the ledger ended at when it was made."""
    anchored(project, RUN, rechain(project, RUN, _praised))
    fault = verify_run(project, RUN).fault
    assert fault is not None
    assert re.match(
        r"line \d+ \(turn\.closed\): commit [0-9a-f]+: its trailer Surefoot-Ledger", fault
    )


@pytest.mark.parametrize("own", [False, True])
def test_a_commit_may_name_the_line_before_one_that_others_wrote(
    project: Project, *, own: bool
) -> None:
    """A plan's run notes the end of a unit while a turn is committed; a line of the turn itself has to be covered."""
    events = list(read_events(project.ledger_file(RUN)))
    place = next(
        n
        for n, r in enumerate(events)
        if isinstance(r.event, GitStage) and r.event.stage == "checkpoint"
    )
    last = events[place - 1]
    noted = replace(last, hash="f" * 64, turn_id=last.turn_id if own else None)
    made = replace(events[place], previous_hash=noted.hash)
    stands = stands_of([*events[:place], noted, made, *events[place + 1 :]])
    assert stands is not None
    fault = git_fault(project.repository, RUN, stands, "commit")
    if own:
        assert fault is not None
        assert "its trailer Surefoot-Ledger" in fault
    else:
        assert fault is None


def forge(project: Project, change: Callable[[Recorded], Event]) -> None:
    """Tell a run without commits anew, with all that derives from its ledger."""
    made = rechain(project, RUN, change)
    anchored(project, RUN, made)
    folder = project.runs / RUN
    for name, data in documents_of(made, None, folder, redact).items():
        (folder / name).write_bytes(data)


def _praised(recorded: Recorded) -> Event:
    event = recorded.event
    if isinstance(event, GateDecided) and event.result.gate is GateName.POLICY:
        return replace(event, result=replace(event.result, reason="it is fine"))
    return event


def _said_again(recorded: Recorded) -> Event:
    event = recorded.event
    return replace(event, detail="another") if isinstance(event, SandboxEnforced) else event


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("max_iterations", 999),
        ("time_s", 1e9),
        ("max_files", 10_000),
        ("tokens", 7),
        ("cost_usd", 1.0),
        ("can_escalate", False),
        ("risk_flags", ("allow_network",)),
        ("hard_stops", ("the execution lock is on",)),
    ],
)
def test_what_a_run_may_do_follows_from_its_settings(
    tmp_path: Path, around: Surroundings, field: str, said: object
) -> None:
    """Budgets, the limit of files and the right to change anything are held against what the policy resolves to."""
    project = make_project(tmp_path)
    tell(project, story("refused"), RUN, around)
    assert verify_run(project, RUN).fault is None

    def lifted(recorded: Recorded) -> Event:
        event = recorded.event
        if not isinstance(event, PolicyResolved):
            return event
        return replace(event, **{field: said})  # type: ignore[arg-type]  # as the cases give it

    forge(project, lifted)
    fault = verify_run(project, RUN).fault
    assert fault is not None
    assert re.match(r"line \d+ \(policy\.resolved\): \w+\S* was ", fault), fault


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("a STOP told as GO", r"line \d+ \(round\.decided\): gates\[0\]\.reason was 'it holds'"),
        (
            "a broken boundary mended",
            r"line \d+ \(boundaries\.checked\): boundaries\[0\]\.problem was '', is .*does not bind",
        ),
    ],
)
def test_a_forged_go_is_named(name: str, fault: str, tmp_path: Path, around: Surroundings) -> None:
    """Also where hashes, ref and documents fit it: what a round changed, and what its gates say, follow from the trees."""
    project = make_project(tmp_path)
    tell(project, story("breaks a boundary"), RUN, around)
    assert verify_run(project, RUN).fault is None
    tampering = next(t for t in TAMPERINGS if t.name == name)
    assert tampering.fits(project, RUN)
    tampering.apply(project, RUN, random.Random(5))
    told = verify_run(project, RUN).fault
    assert told is not None
    assert re.match(fault, told)


TRAVELS = [*TAMPERINGS[6:12], *TAMPERINGS[14:17], *TAMPERINGS[19:22]]
"""Those that a run with a GO can carry along."""


@pytest.mark.parametrize("tampering", TRAVELS, ids=lambda t: t.name)
def test_a_bundle_carries_the_fault_with_it(
    tampering: Tampering, project: Project, tmp_path: Path
) -> None:
    """What cannot be verified here is either refused at export, or found by whoever gets the file."""
    tampering.apply(project, RUN, random.Random(5))
    try:
        write_bundle(project, RUN, tmp_path / "run.zip")
    except LedgerError:
        return
    with open_bundle(tmp_path / "run.zip", elsewhere(tmp_path)) as (unpacked, run_id):
        assert verify_run(unpacked, run_id).fault is not None


def test_a_damaged_bundle_is_refused(project: Project, tmp_path: Path) -> None:
    """Its manifest holds the hash of everything in it."""
    path = tmp_path / "run.zip"
    write_bundle(project, RUN, path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(LedgerError), open_bundle(path, elsewhere(tmp_path)):
        pass


def _rewritten(bundle: Path, about: Callable[[dict[str, Any]], None], more: str) -> None:
    """The bundle again, with another manifest, and with a further file of this name."""
    with zipfile.ZipFile(bundle) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    files[more] = b"not theirs"
    manifest["files"][more] = digest(files[more])
    about(manifest)
    with zipfile.ZipFile(bundle, "w") as archive:
        for name, data in {"manifest.json": json.dumps(manifest), **files}.items():
            archive.writestr(name, data)


def test_a_bundle_is_unpacked_nowhere_else(project: Project, tmp_path: Path) -> None:
    """Whoever wrote it cannot have a file put into a folder of the reader's: neither by its ids nor by its names."""
    victim = tmp_path / "victim"

    def absolute(manifest: dict[str, Any]) -> None:
        manifest |= {"run_id": str(victim), "refs": {}}

    def upwards(manifest: dict[str, Any]) -> None:
        manifest |= {"run_id": "../../../../victim", "refs": {}}

    def of_unit(manifest: dict[str, Any]) -> None:
        manifest |= {"units": [f"{RUN}.{'/..' * 5}/victim"], "version": 2}

    for about in (absolute, upwards, of_unit):
        bundle = tmp_path / "run.zip"
        write_bundle(project, RUN, bundle)
        _rewritten(bundle, about, "documents/profile.sh")
        with (
            pytest.raises(LedgerError, match="names no run"),
            open_bundle(bundle, elsewhere(tmp_path)),
        ):
            pass
        assert not victim.exists()
    write_bundle(project, RUN, bundle)
    _rewritten(bundle, lambda _: None, "documents/..")
    with pytest.raises(LedgerError, match="outside"), open_bundle(bundle, elsewhere(tmp_path)):
        pass


def test_damage_anywhere_in_a_bundle_is_said_in_words(project: Project, tmp_path: Path) -> None:
    """Wherever a bit flips, the bundle is refused with an error of ours, or what it holds is whole all the same."""
    path = tmp_path / "run.zip"
    write_bundle(project, RUN, path)
    whole = path.read_bytes()
    refused = 0
    for place in range(0, len(whole), max(1, len(whole) // 97)):
        data = bytearray(whole)
        data[place] ^= 1 << place % 8
        path.write_bytes(bytes(data))
        try:
            with open_bundle(path, elsewhere(tmp_path / str(place))):
                pass
        except (LedgerError, UsageError):
            refused += 1
    assert refused > 80


def test_only_a_kept_head_catches_who_rewrites_everything(
    tmp_path: Path, around: Surroundings
) -> None:
    """A run without commits, told anew from end to end with all that derives from it, fits itself; not the old head."""
    project = make_project(tmp_path)
    tell(project, story("report only"), RUN, around)
    head = verify_run(project, RUN).head
    forge(project, _said_again)
    assert verify_run(project, RUN).fault is None
    assert verify_run(project, RUN).head != head
    fault = verify_run(project, RUN, head=head).fault
    assert fault is not None
    assert "was given" in fault


def test_an_accepted_tree_that_nobody_tested_is_named(tmp_path: Path, around: Surroundings) -> None:
    """Also where the ledger's last line, the refs and the branch were made to fit it."""
    project = make_project(tmp_path)
    tell(project, story("accepted"), RUN, around)
    assert verify_run(project, RUN).fault is None
    real, git = f"refs/surefoot/{RUN}/accepted", project.repository.git()
    blob = git.run("hash-object", "-w", "--stdin", stdin=b"import antigravity\n").line
    entries = git.run("ls-tree", real).stdout + f"100644 blob {blob}\tbackdoor.py\n".encode()
    tree = git.run("mktree", stdin=entries).line
    about = git.run("log", "-1", "--format=%B", real).stdout
    evil = git.run("commit-tree", tree, "-p", f"{real}^", stdin=about).line
    git.run("update-ref", "refs/heads/main", evil)
    git.run("update-ref", real, evil)

    def moved(recorded: Recorded) -> Event:
        event = recorded.event
        return replace(event, commit=CommitId(evil)) if isinstance(event, RunAccepted) else event

    anchored(project, RUN, rechain(project, RUN, moved))
    fault = verify_run(project, RUN).fault
    assert fault is not None
    assert f"commit {evil} has tree {tree}, on which nothing was proved" in fault


@pytest.mark.parametrize(
    ("ref", "said", "wanted"),
    [
        ("run", '{"branch": "refs/heads/release"}', "says refs/heads/release, by the ledger"),
        ("run", "{}", "does not say its branch"),
        ("run", "no", "does not say its branch"),
        ("ledger", "[]", "does not say its head"),
    ],
)
def test_a_ref_that_says_something_else_is_named(
    project: Project, ref: str, said: str, wanted: str
) -> None:
    """It decides onto which branch the work goes."""
    git = project.repository.git()
    blob = git.run("hash-object", "-w", "--stdin", stdin=said.encode()).line
    git.run("update-ref", f"refs/surefoot/{RUN}/{ref}", blob)
    fault = verify_run(project, RUN).fault
    assert fault is not None
    assert wanted in fault


def test_what_a_lock_forbids_is_not_replayed(project: Project, around: Surroundings) -> None:
    """A replay runs the project's tests."""
    project.lock.set("hold on")
    with pytest.raises(LockedError, match="hold on"):
        replay(project, RUN, around)


def test_the_deciding_tests_run_again(project: Project, around: Surroundings) -> None:
    """In the sandbox, on the recorded trees, by test id."""
    verdict = verify_run(project, RUN, around=around)
    assert (verdict.fault, verdict.reran) == (None, 6)


def test_an_old_closed_run_is_archived_and_verifies_from_there(
    tmp_path: Path, around: Surroundings
) -> None:
    """The run leaves its folder, refs and blobs whole, `gc` says so in the repository's ledger, and nobody else loses a blob."""
    project = make_project(tmp_path)
    other = RunId("20261122-101500-beef")
    tell(project, story("accepted"), RUN, around)
    tell(project, story("complete"), other, around)
    assert verify_run(project, RUN).fault is None
    assert not any("archived" in line for line in collect(project, around, keep_days=1))
    assert verify_run(project, RUN).fault is None
    assert any(f"archived run {RUN}" in line for line in collect(project, around, keep_days=0))
    assert project.run_ids() == (other,)
    assert _refs(project, RUN) == ""
    assert verify_run(project, other).fault is None
    with open_run(project, "abcd") as (unpacked, run_id):
        verdict = verify_run(unpacked, run_id)
    assert verdict.fault is None
    own = [r.event for r in read_events(project.folder / "events.jsonl")]
    archived = [e for e in own if isinstance(e, RunArchived)]
    assert [(e.run_id, e.head) for e in archived] == [(RUN, verdict.head)]
    assert any(isinstance(e, RunsCollected) for e in own)


def test_an_archive_is_on_the_disk_before_anything_of_its_run_goes(
    tmp_path: Path, around: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut right after `gc` leaves one of the two: the file's bytes and its name are as durable as what is removed."""
    project = make_project(tmp_path)
    tell(project, story("accepted"), RUN, around)
    synced: dict[int, bool] = {}
    plain = os.fsync

    def fsync(fd: int) -> None:
        plain(fd)
        synced[os.fstat(fd).st_ino] = bool(_refs(project, RUN))

    monkeypatch.setattr("os.fsync", fsync)
    assert any(f"archived run {RUN}" in line for line in collect(project, around, keep_days=0))
    archive = project.archive / f"{RUN}.zip"
    assert [synced.get(path.stat().st_ino) for path in (archive, archive.parent)] == [True, True]


def test_a_run_whose_documents_are_being_written_is_not_archived(
    tmp_path: Path, around: Surroundings
) -> None:
    """Its last event is recorded; who recorded it has its ledger until the last file is there."""
    project = make_project(tmp_path)
    tell(project, story("accepted"), RUN, around)
    with open_ledger(project, RUN, around):
        lines = collect(project, around, keep_days=0)
        assert any(line.startswith(f"kept run {RUN}: run '{RUN}' is in use") for line in lines)
        assert (project.runs / RUN / "report.md").exists()
    assert any(f"archived run {RUN}" in line for line in collect(project, around, keep_days=0))


def test_the_rest_of_an_archived_run_goes(tmp_path: Path, around: Surroundings) -> None:
    """A `gc` that was killed while it emptied the run's folder may have come as far as the ledger."""
    project = make_project(tmp_path)
    tell(project, story("accepted"), RUN, around)
    report = (project.runs / RUN / "report.md").read_text()
    collect(project, around, keep_days=0)
    (project.runs / RUN).mkdir()
    (project.runs / RUN / "report.md").write_text(report)
    assert collect(project, around, keep_days=0) == (f"rest of run {RUN}, which is archived",)
    assert not (project.runs / RUN).exists()
    with open_run(project, RUN) as (unpacked, run_id):
        assert verify_run(unpacked, run_id).fault is None


def test_archiving_leaves_the_blobs_of_a_planning(tmp_path: Path, around: Surroundings) -> None:
    """What a plan was made with may be what a run was started with; the plan is shown and verified long after."""
    project, plan = make_project(tmp_path), RunId("plan-20261122-101400-cafe")
    tell(project, story("accepted"), RUN, around)
    opened = next(read_events(project.ledger_file(RUN))).event
    assert isinstance(opened, RunOpened)
    with open_ledger(project, plan, around) as ledger:
        ledger.append(replace(opened, planning=True))
    blobs = [path for path in project.blobs.rglob("*") if path.is_file()]
    for path in blobs:
        os.utime(path, (0, 0))
    assert any(f"archived run {RUN}" in line for line in collect(project, around, keep_days=0))
    assert [path.name for path in blobs if path.exists()] == [opened.settings]


def test_archiving_leaves_all_blobs_where_a_ledger_is_damaged(
    tmp_path: Path, around: Surroundings
) -> None:
    """Nobody knows which of them it names, and it may be restored."""
    project, other = make_project(tmp_path), RunId("20261122-101500-beef")
    tell(project, story("accepted"), RUN, around)
    tell(project, story("report only"), other, around)
    project.ledger_file(other).write_text("{}\n{}\n")
    blobs = [path for path in project.blobs.rglob("*") if path.is_file()]
    for path in blobs:
        os.utime(path, (0, 0))
    lines = collect(project, around, keep_days=0)
    assert any(line.startswith(f"archived run {RUN}") for line in lines)
    assert any(line.startswith(f"kept the blobs of run {RUN}") for line in lines)
    assert any(line.startswith(f"kept run {other}: the ledger") for line in lines)
    assert all(path.exists() for path in blobs)


def test_a_run_that_does_not_verify_is_not_archived(tmp_path: Path, around: Surroundings) -> None:
    """It stays as it is, for somebody to look at."""
    project = make_project(tmp_path)
    tell(project, story("report only"), RUN, around)
    (project.runs / RUN / "RECEIPT.json").write_text("{}\n")
    lines = collect(project, around, keep_days=0)
    assert any(line.startswith(f"kept run {RUN}, which does not verify: RECEIPT") for line in lines)
    assert project.run_ids() == (RUN,)
    with pytest.raises(UsageError), open_run(project, "nothing like it"):
        pass


def _refs(project: Project, run_id: RunId) -> str:
    done = subprocess.run(
        ["git", "for-each-ref", f"refs/surefoot/{run_id}", f"refs/heads/surefoot/{run_id}"],
        cwd=project.root,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def test_the_command_says_yes_no_or_that_it_could_not(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0, 10 and 1; what it found is on standard output as one JSON object."""
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "home"))
    repo, bundle = ["--repo", str(project.root)], str(tmp_path / "run.zip")
    assert CliRunner().invoke(app, ["export", *repo, "--bundle", bundle]).exit_code == 0
    found = CliRunner().invoke(app, ["verify", "--bundle", bundle, "--json"])
    assert (found.exit_code, json.loads(found.stdout)["ok"]) == (0, True)
    (project.runs / RUN / "report.md").write_text("All is well.\n")
    found = CliRunner().invoke(app, ["verify", *repo, "--json"])
    assert (found.exit_code, "report.md" in json.loads(found.stdout)["fault"]) == (10, True)
    Path(bundle).write_text("no bundle")
    assert CliRunner().invoke(app, ["verify", "--bundle", bundle]).exit_code == 1


def test_a_checkout_whose_files_are_all_staged_for_removal_stays_so(
    project: Project, around: Surroundings
) -> None:
    """Only where a bundle was unpacked are files written, so that the tests can be run there."""

    def git(*args: str) -> bytes:
        return subprocess.run(
            ["git", *args], cwd=project.root, check=True, capture_output=True
        ).stdout

    git("rm", "-r", "--quiet", ".")
    before = git("status", "--porcelain")
    assert b"D  " in before
    with pytest.raises(SettingsError, match="no tests were found"):
        verify_run(project, RUN, around=around)
    assert git("status", "--porcelain") == before


def test_the_deciding_tests_of_a_bundle_run_again(
    project: Project, tmp_path: Path, around: Surroundings
) -> None:
    """Where nobody has the repository."""
    bundle = tmp_path / "run.zip"
    write_bundle(project, RUN, bundle)
    with open_bundle(bundle, elsewhere(tmp_path), trusted=True) as (unpacked, run_id):
        verdict = verify_run(unpacked, run_id, around=around)
    assert (verdict.fault, verdict.reran) == (None, 6)
