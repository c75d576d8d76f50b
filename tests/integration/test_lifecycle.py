"""A tool's life on the disk: what runs record, operators see and change, each step in a process (or a registry) of its own."""

import json
import os
import shutil
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.integration.conftest import Surefoot
from typer.testing import CliRunner

from surefoot.artifacts import (
    CallFacts,
    Fault,
    Interface,
    LifecycleState,
    OperatorAct,
    VersionId,
)
from surefoot.cli.main import app
from surefoot.codec import digest
from surefoot.errors import UsageError
from surefoot.events.orchestration import RunOpened, RunRejected, TurnClosed, TurnStarted
from surefoot.events.policy import LifecycleForced, PromotionDecided
from surefoot.events.work import ArtifactStored, ArtifactUsed
from surefoot.kernel.journal import Journal
from surefoot.kernel.promotion import session_of
from surefoot.kernel.selection import Rollout
from surefoot.ledger import FileLedger, read_events
from surefoot.project import Places, Project, open_project
from surefoot.registry import readiness
from surefoot.shelf import RepositoryShelf, ToolPlaces
from surefoot.testing.clock import FakeClock
from surefoot.testing.repository import ScratchRepository
from surefoot.upkeep import limits_of, open_lifecycle, open_registry, own_ledger
from surefoot.values import (
    Classification,
    CommitId,
    Digest,
    Issue,
    RunId,
    TreeId,
    TurnId,
    UnitId,
)

TREE, COMMIT, UNIT = TreeId("7e" * 20), CommitId("c0" * 20), UnitId("fix-1")
LOGS = Interface(kind="tool", name="logs", method="errors")
OLD, NEW = (VersionId(interface=LOGS, artifact=digest(b)) for b in (b"old", b"new"))
ENFORCED = "[tools]\nenforcement = true\n"


@dataclass
class Repository:
    """A repository whose runs are written by hand: what they call, and how it turns out."""

    user: ScratchRepository
    places: Places
    clock: FakeClock = field(default_factory=lambda: FakeClock(step_s=1.0))
    runs: int = 0

    @property
    def project(self) -> Project:
        return open_project(self.user.root, self.places)

    def run(
        self,
        task: str,
        outcomes: str,
        *,
        version: VersionId | None = None,
        stores: Sequence[VersionId] = (),
        capability: str = "log_analysis",
        ended: Classification = Classification.PROGRESS,
    ) -> list[str]:
        """One run with one turn; `.` is a good call, `x` a failed one, `p` one of undeclared origin. Who served which."""
        project, issue = self.project, Issue(source="text", text=task)
        project.prepare()
        self.runs += 1
        run_id, served = RunId(f"20260101-000000-{self.runs:04d}"), []
        ledger = FileLedger.open(
            project.ledger_file(run_id),
            blobs=project.blobs,
            trace_id=run_id,
            clock=self.clock,
            redact=str,
        )
        with open_lifecycle(project, project.settings.tools, ledger) as lifecycle:
            journal = Journal(ledger, self.clock, lifecycle.follow)
            journal.record(self._opened(issue))
            turn = TurnId(f"{run_id}/1")
            journal.record(TurnStarted(unit_id=UNIT, number=1, tree=TREE), turn=turn)
            for one in stores:
                journal.record(ArtifactStored(version=one, capability=capability))
            for outcome in outcomes:
                interface = (version or OLD).interface
                choice = lifecycle.registry.choose(interface, lifecycle.rollout)
                assert choice is not None
                serves = [(choice.version, str(choice.reason))]
                if version is not None and version != choice.version:
                    serves.append((version, "trial"))
                for who, why in serves:
                    call = CallFacts(
                        session=session_of(issue),
                        ok=outcome != "x" or (version is not None and who != version),
                        contract=True,
                        faults=(Fault.PROVENANCE,) if outcome == "p" else (),
                    )
                    journal.record(ArtifactUsed(version=who, call=call, chosen=why))
                served.append(choice.version.artifact)
            journal.record(
                TurnClosed(
                    unit_id=UNIT,
                    number=1,
                    ended_as="commit",
                    tree=TREE,
                    commit=COMMIT,
                    classification=ended,
                    outcome="pass",
                    reason="",
                )
            )
        ledger.close()
        return served

    def reject(self) -> None:
        """A person throws the last run's work away."""
        project, run_id = self.project, RunId(f"20260101-000000-{self.runs:04d}")
        ledger = FileLedger.open(
            project.ledger_file(run_id),
            blobs=project.blobs,
            trace_id=run_id,
            clock=self.clock,
            redact=str,
        )
        ledger.append(RunRejected(reason="wrong"))
        ledger.close()

    def cli(self, *args: str, code: int = 0) -> str:
        """What the command line prints."""
        ran = CliRunner().invoke(app, ["tools", *args, "--repo", str(self.user.root)])
        assert ran.exit_code == code, ran.output
        return ran.output

    def states(self) -> dict[str, str]:
        """State by the beginning of the artifact."""
        rows = json.loads(self.cli("list", "--json"))["tools"]
        return {row["artifact"]: row["state"] for row in rows}

    def _opened(self, issue: Issue) -> RunOpened:
        return RunOpened(
            issue=issue,
            mode="auto_solve_full",
            model="embedded",
            repo=str(self.user.root),
            branch="refs/heads/main",
            base=COMMIT,
            base_tree=TREE,
            settings=Digest("ab" * 32),
            seed=0,
            version="0",
        )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """An empty repository, with a user whose places are in the test's folder."""
    monkeypatch.setenv("SUREFOOT_HOME", str(tmp_path / "home"))
    user = ScratchRepository.create(tmp_path, os.environ["PATH"])
    user.commit({"a.py": "x = 1\n"})
    places = Places(state=tmp_path / "home" / "state", cache=tmp_path / "home" / "cache")
    return Repository(user=user, places=places)


def durable(here: Repository) -> None:
    """OLD is forged, used, and durable; enforcement is on."""
    here.user.write({"surefoot.toml": ENFORCED})
    here.run("first task", "..", stores=[OLD])
    here.cli("policy", "approve", "--reason", "a trial", "--apply")
    here.run("second task", "........")
    assert here.states() == {OLD.artifact: "durable"}


def test_a_tool_earns_trust_loses_it_and_the_one_before_it_serves(here: Repository) -> None:
    """Candidate, probation in its first run, durable after ten calls on two tasks; a better one after its gate; back at once."""
    here.user.write({"surefoot.toml": ENFORCED})
    here.run("first task", "..", stores=[OLD], ended=Classification.EXECUTOR_NOOP)
    assert here.states() == {OLD.artifact: "candidate"}
    here.run("first task", "..")
    assert here.states() == {OLD.artifact: "probation"}
    here.cli("policy", "approve", "--reason", "a trial", "--apply")
    here.run("first task", "......")
    assert here.states() == {OLD.artifact: "probation"}, "ten calls, one task"
    here.run("second task", ".")
    assert here.states() == {OLD.artifact: "durable"}

    served = here.run("third task", ".....", version=NEW, stores=[NEW])
    served += here.run("fourth task", "....", version=NEW)
    assert set(served) == {OLD.artifact}, "before its gate the challenger serves nobody"
    assert here.states()[NEW.artifact] == "probation"
    served = here.run("fifth task", "...", version=NEW)
    assert served == [OLD.artifact, NEW.artifact, NEW.artifact]
    assert here.states() == {OLD.artifact: "durable", NEW.artifact: "durable"}

    served = here.run("sixth task", "xxx.", version=NEW)
    assert served == [NEW.artifact, NEW.artifact, NEW.artifact, OLD.artifact]
    assert here.states() == {OLD.artifact: "durable", NEW.artifact: "degraded"}
    told = here.cli("decisions", "logs.errors")
    assert "degrade: durable -> degraded" in told
    assert f"{OLD.artifact[:12]} serves again" in told
    assert "success_rate" in told


def test_in_shadow_the_latest_serves_as_if_there_were_no_policy(here: Repository) -> None:
    """Decisions are recorded, the choice and the outcome of calls are what they were."""
    here.run("first task", ".....", stores=[OLD])
    here.run("second task", ".....")
    served = here.run("third task", "xxxxxx", version=NEW, stores=[NEW])
    assert set(served) == {NEW.artifact}
    assert here.states() == {OLD.artifact: "durable", NEW.artifact: "degraded"}
    assert here.run("fourth task", ".", version=NEW) == [NEW.artifact]
    with open_registry(here.project) as registry:
        assert not registry.standing(OLD).enforced
    assert "shadow" in here.cli("decisions")


def test_with_shadow_off_nothing_is_decided(here: Repository) -> None:
    """Scorecards go on being counted."""
    here.user.write({"surefoot.toml": "[tools]\nshadow = false\n"})
    here.run("first task", "..........", stores=[OLD])
    assert here.cli("decisions") == ""
    (row,) = json.loads(here.cli("show", "logs", "--json"))["tools"]
    assert (row["state"], row["calls"], row["successes"]) == ("candidate", 10, 10)


def test_a_repository_without_tools_gets_no_file_of_the_life_cycle(here: Repository) -> None:
    """Neither by a run nor by asking."""
    here.run("a task", "")
    assert "no run has forged a tool here yet" in here.cli("list")
    assert here.cli("policy", "show", code=10).startswith("solver_promotion_v1 (")
    assert not (here.project.folder / "toolbox").exists()


def test_the_projection_is_made_again_from_the_ledgers(here: Repository) -> None:
    """Deleted, or damaged, it says the same afterwards, decisions and their judgements included."""
    durable(here)
    here.run("third task", "..........", version=NEW, stores=[NEW])
    here.run("fourth task", "..xxxxxx.", version=NEW)
    here.cli("disable", "logs.errors@" + NEW.artifact[:8], "--reason", "noisy", "--apply")
    before = [here.cli(*a) for a in (["show", "logs", "--json"], ["decisions"], ["metrics"])]
    with open_registry(here.project) as registry:
        for run in here.project.run_ids():
            registry.fold(read_events(here.project.ledger_file(run)))
    assert [here.cli("show", "logs", "--json"), here.cli("decisions")] == before[:2], "folded twice"
    file = here.project.folder / "toolbox" / "lifecycle.db"
    for damage in (file.unlink, lambda: file.write_bytes(b"no database" * 100)):
        for name in ("lifecycle.db-wal", "lifecycle.db-shm"):
            file.with_name(name).unlink(missing_ok=True)
        damage()
        after = [here.cli(*a) for a in (["show", "logs", "--json"], ["decisions"], ["metrics"])]
        assert after == before


def test_the_projection_is_made_again_when_runs_are_put_away(here: Repository) -> None:
    """What an archived run made and called counts as before, though a later run and a person's act rest on it."""
    durable(here)
    here.cli("demote", "logs.errors", "--reason", "it lost lines", "--apply")
    before = [here.cli(*a) for a in (["show", "logs", "--json"], ["decisions"], ["metrics"])]
    first = here.project.run_ids()[0]
    here.project.archive.mkdir()
    with zipfile.ZipFile(here.project.archive / f"{first}.zip", "w") as bundle:
        bundle.write(here.project.ledger_file(first), "events.jsonl")
    shutil.rmtree(here.project.runs / first)
    for file in (here.project.folder / "toolbox").glob("lifecycle.db*"):
        file.unlink()
    after = [here.cli(*a) for a in (["show", "logs", "--json"], ["decisions"], ["metrics"])]
    assert after == before


def test_damaged_state_of_one_tool_keeps_no_turn_from_its_tools(here: Repository) -> None:
    """It is offered like the others, and its own calls say which file is to be mended."""
    here.run("first task", "..", stores=[OLD])
    places = ToolPlaces(root=here.project.folder / "toolbox")
    places.state.keep("logs", {"seen": 1})
    with open_registry(here.project) as registry:
        shelf = RepositoryShelf(places, registry, Rollout())
        assert shelf.offer(12).kept == {"logs": '{"seen":1}'}
        (places.root / "state" / "logs.json").write_text("")
        offer = shelf.offer(12)
        assert [listed.version for listed in offer.listed] == [OLD]
        assert not offer.kept
        with pytest.raises(UsageError, match=r"logs\.json is not JSON"):
            shelf.kept("logs")


def test_acts_are_plans_until_they_are_applied_and_audited_then(here: Repository) -> None:
    """A dry run changes nothing; an act has a reason and a name in the repository's own ledger."""
    durable(here)
    target = "logs.errors@" + OLD.artifact[:8]
    told = here.cli("demote", target, "--reason", "it lost lines")
    assert "would be demoted: durable -> degraded" in told
    assert here.states() == {OLD.artifact: "durable"}
    assert "--reason is empty" in here.cli("demote", target, "--reason", " ", code=2)
    here.cli("demote", target, "--reason", "it lost lines", "--apply")
    assert here.states() == {OLD.artifact: "degraded"}
    assert "cannot be demoted" in here.cli("demote", target, "--reason", "again", code=2)
    assert "names 0 versions" in here.cli("promote", "nothing.here", "--reason", "r", code=2)
    for state in ("probation", "durable"):
        here.cli("promote", target, "--reason", "it was the input", "--apply")
        assert here.states() == {OLD.artifact: state}
    acts = [
        r.event
        for r in read_events(here.project.folder / "events.jsonl")
        if isinstance(r.event, LifecycleForced)
    ]
    assert (acts[0].act.value, acts[0].reason) == ("demote", "it lost lines")
    assert all(a.who for a in acts)


def test_two_acts_at_once_leave_a_ledger_that_folds(here: Repository) -> None:
    """Who acts on a state that has just gone is recorded all the same, and takes the version to where the act said."""
    durable(here)
    here.cli("demote", "logs.errors", "--reason", "it lost lines", "--apply")
    with own_ledger(here.project, here.clock, {}) as ledger:
        late = LifecycleForced(
            version=OLD,
            act=OperatorAct.DEMOTE,
            before=LifecycleState.DURABLE,
            after=LifecycleState.DEGRADED,
            reason="it lost lines",
            who="somebody else",
        )
        ledger.append(late)
    assert here.states() == {OLD.artifact: "degraded"}
    here.run("third task", ".", stores=[NEW])


def test_kill_switches(here: Repository) -> None:
    """`off`: the latest serves again at once. `incumbent-only`: the incumbent and nothing beside it."""
    durable(here)
    here.run("third task", ".", version=NEW, stores=[NEW])
    for switch, serves in (("off", NEW), ("incumbent-only", OLD)):
        here.user.write({"surefoot.toml": f'{ENFORCED}kill_switch = "{switch}"\n'})
        assert here.run(f"task with {switch}", ".") == [serves.artifact]


def test_enforcement_waits_and_says_for_what(here: Repository) -> None:
    """Three classes of work and a cold start in shadow, judged decisions, a fallback that was tried; or a person's word."""
    here.user.write({"surefoot.toml": ENFORCED})
    here.run("first task", "..", stores=[OLD])
    told = here.cli("policy", "show", code=10)
    assert "domains: MISSING: shadow has decided in 1 of 3 capability classes" in told
    assert "cold-start: met" in told
    assert "false-promotions: MISSING: no decision judged" in told
    assert "enforcement off" in told
    assert "would let pass: domains" in here.cli("policy", "approve", "--reason", "r")
    here.cli("policy", "show", code=10)
    here.cli("policy", "approve", "--reason", "we watch it", "--apply")
    assert "enforcement on" in here.cli("policy", "show")
    assert "domains: let pass" in here.cli("policy", "show")


def test_who_lets_pass_that_nothing_is_known_lets_nothing_bad_pass(here: Repository) -> None:
    """Approved before any decision was judged, enforcement stops when a promotion turns out false; a second word lets it go on."""
    durable(here)
    here.run("third task", "xxx")
    assert here.states() == {OLD.artifact: "degraded"}
    told = here.cli("policy", "show", code=10)
    assert "domains: let pass" in told
    assert "false-promotions: MISSING: 1 of 1 (at most 10%)" in told
    assert "enforcement off" in told
    here.cli("policy", "approve", "--reason", "the input was broken", "--apply")
    assert "false-promotions: let pass" in here.cli("policy", "show")


def test_enforcement_begins_by_itself_when_shadow_has_shown_enough(here: Repository) -> None:
    """Three classes, promotions that held, a hold that was right: nothing is missing and nobody has to approve."""
    for number, capability in enumerate(("log_analysis", "code_search", "data_conversion")):
        tool = VersionId(
            interface=Interface(kind="tool", name=f"tool{number}", method="run"),
            artifact=digest(capability.encode()),
        )
        here.run(f"make {number}", ".....", version=tool, stores=[tool], capability=capability)
        here.run(f"use {number}", "." * 26, version=tool)
        bad = VersionId(interface=tool.interface, artifact=digest(b"bad" + capability.encode()))
        here.run(f"again {number}", "xxxxx", version=bad, stores=[bad], capability=capability)
        here.run(f"and again {number}", "x" * 20, version=bad)
    here.user.write({"surefoot.toml": ENFORCED})
    told = here.cli("policy", "show")
    assert "MISSING" not in told
    assert "enforcement on" in told


def test_a_correction_of_a_replaced_version_closes_the_release_gate(here: Repository) -> None:
    """The same task asked again, or a result thrown away, after the new version served."""
    durable(here)
    here.run("third task", "..........", version=NEW, stores=[NEW])
    here.run("fourth task", "...", version=NEW)
    assert here.states()[NEW.artifact] == "durable"
    here.run("fifth task", "...", version=NEW)

    def corrections() -> str:
        project = here.project
        with open_registry(project) as registry:
            found = readiness(registry, "tool", limits_of(project.settings.tools))
        return next(
            f"{r.met}: {r.told}" for r in found.requirements if r.name == "user-corrections"
        )

    assert corrections().startswith("True: 0.000 after 0.000")
    here.reject()
    assert corrections().startswith("False: 0.500 after 0.000")


def test_a_policy_is_bumped_rolled_back_and_never_changes_under_its_name(here: Repository) -> None:
    """A version of one's own comes from the settings, takes effect by an act, and is kept with all its constants."""
    here.run("first task", "..", stores=[OLD])
    own = '[[tools.policy]]\nversion = "strict_v2"\nmin_calls = 4\nshort_window = 5\n'
    here.user.write({"surefoot.toml": own})
    assert "no promotion policy is called 'other'" in here.cli(
        "policy", "set", "other", "--reason", "r", code=2
    )
    assert "would be in force: strict_v2" in here.cli("policy", "set", "strict_v2", "--reason", "r")
    here.cli("policy", "set", "strict_v2", "--reason", "trend of false holds", "--apply")
    here.run("second task", "......")
    assert here.states() == {OLD.artifact: "durable"}
    here.user.write({"surefoot.toml": own.replace("4", "5")})
    assert "other constants" in here.cli("policy", "set", "strict_v2", "--reason", "r", code=2)
    here.user.write({"surefoot.toml": ""})
    here.cli("policy", "rollback", "--reason", "too eager", "--apply")
    assert here.cli("policy", "show", code=10).startswith("solver_promotion_v1 (")
    assert "short_window_calls: 8" in here.cli("show", str(OLD))
    here.cli(
        "policy", "set", "strict_v2", "--capability", "log_analysis", "--reason", "r", "--apply"
    )
    told = here.cli("policy", "show", code=10)
    assert told.startswith("solver_promotion_v1 (")
    assert "for log_analysis: strict_v2 (" in told
    assert "short_window_calls: 5" in here.cli("show", str(OLD))
    assert {"solver_promotion_v1", "strict_v2"} == {
        line for line in here.cli("metrics").splitlines() if not line.startswith(" ")
    }


def test_tools_from_before_the_life_cycle_go_into_probation(here: Repository) -> None:
    """With a mark that goes when they have shown their evidence; what is no tool stays where it is."""
    kept = b'{"capability":"log_analysis","method":"errors","name":"logs","source":"def errors(): ..."}'
    folder = here.project.folder / "toolbox" / "artifacts"
    for data in (kept, b'{"else": 1}'):
        path = folder / digest(data)[:2] / digest(data)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    assert "logs.errors@" in here.cli("migrate", "--reason", "upgrade")
    assert "no run has forged" in here.cli("list")
    here.cli("migrate", "--reason", "upgrade", "--apply")
    assert here.states() == {digest(kept): "probation"}
    assert "compatibility" in here.cli("list")
    assert "every kept tool has a life cycle" in here.cli("migrate", "--reason", "again")
    here.run("first task", ".....")
    here.run("second task", ".....")
    assert here.states() == {digest(kept): "durable"}
    assert "compatibility" not in here.cli("list")


def test_decisions_name_what_was_missing_and_say_nothing_twice(here: Repository) -> None:
    """Seven calls short of sessions are one record, not seven; the call's outcome stays its own."""
    here.run("first task", "....." * 3, stores=[OLD])
    records = [
        r.event.record
        for run in here.project.run_ids()
        for r in read_events(here.project.ledger_file(run))
        if isinstance(r.event, PromotionDecided)
    ]
    assert [r.after for r in records] == [LifecycleState.CANDIDATE, LifecycleState.PROBATION]
    here.run("first task", ".")
    with open_registry(here.project) as registry:
        (*_, last) = registry.decisions("tool")
    assert last.rationale == "sessions 1 (at least 2)"


def test_a_run_says_what_enforcement_waits_for(
    surefoot: Surefoot, scripted: str, tmp_path: Path
) -> None:
    """Asked for too early, it is a warning in the ledger, and the run goes on in shadow."""
    user = ScratchRepository.create(tmp_path, os.environ["PATH"])
    test = "def test_a() -> None:\n    assert True\n"
    user.commit({"test_a.py": test, "surefoot.toml": ENFORCED})
    ran = surefoot("solve", "--mode", "report_only", "--model", scripted, cwd=user.root)
    assert ran.returncode == 0, ran.stderr
    told = surefoot("events", "--type", "policy.warning", "--json", cwd=user.root).stdout
    assert "waits for domains: shadow has decided in 0 of 3 capability classes" in told
