"""What happens between the units of a plan: conflicts, red merges, blocked units, hooks, budgets, orders."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from bench.letters import unit
from bench.shelf import plan_of
from tests.integration.plan_hands import Edits, git, good, hands_project, play

from surefoot.app import start
from surefoot.cli.common import surroundings
from surefoot.decisions.plan_rule import ALL_TESTS
from surefoot.events.envelope import Recorded
from surefoot.events.orchestration import NodeStarted, TurnClosed
from surefoot.events.plans import MergeConflicted, UnitBlocked
from surefoot.events.policy import PolicyResolved
from surefoot.events.work import CommandRan
from surefoot.kernel.state import fold
from surefoot.ledger import read_events
from surefoot.nodes import NodeId
from surefoot.people import Nobody, Quiet
from surefoot.planrun.children import Order
from surefoot.planrun.run import drive_plan
from surefoot.project import Project, child_run, open_project
from surefoot.request import Request
from surefoot.values import (
    Complexity,
    RunId,
    RunStatus,
    UnitId,
    UnitType,
    Usage,
)
from surefoot.verify import verify_run


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Three files that are to be good."""
    return hands_project(tmp_path)


def test_a_conflict_is_done_again_from_the_merged_tip(project: Project) -> None:
    """Two units add one file: the later one is done again on top of the first; nothing of either is lost."""
    works = good("a", "b") | {
        ("a", 1): {"a.txt": "good\n", "notes.md": "of a\n"},
        ("b", 1): {"b.txt": "good\n", "notes.md": "of b\n"},
        ("b", 2): {"b.txt": "good\n", "notes.md": "of a\nof b\n"},
    }
    played = play(project, plan_of(unit("a"), unit("b")), works, jobs=2, meet=2)
    assert played.outcome.status is RunStatus.COMPLETE, played.outcome.report
    [conflict] = played.seen(MergeConflicted)
    assert (conflict.unit_id, conflict.paths) == ("b", ("notes.md",))
    again = played.hands.orders[-1]
    assert (again.node, again.attempt) == ("reprocess", 2)
    assert "conflicts" in again.refuted[0]
    assert git(project.root, "cat-file", "-t", str(conflict.commit)) == "commit"
    assert git(project.root, "show", f"{again.base}:notes.md") == "of a"
    assert played.show("notes.md") == "of a\nof b"


def test_a_red_merged_tree_is_done_again_and_what_was_merged_stays(project: Project) -> None:
    """Each unit is fine alone; together they break a test that passed, so the later one is done again."""
    works: dict[tuple[str, int], Edits | RunStatus] = {
        ("a", 1): {"a.txt": "good 1\n"},
        ("b", 1): {"b.txt": "good 1\n"},
        ("b", 2): {"b.txt": "good 2\n"},
    }
    played = play(project, plan_of(unit("a"), unit("b")), works, jobs=2, meet=2)
    assert played.outcome.status is RunStatus.COMPLETE, played.outcome.report
    ends = [(t.unit_id, t.ended_as) for t in played.seen(TurnClosed)]
    assert ends == [("a", "commit"), ("b", "rollback"), ("b", "commit")]
    assert "check::pair" in played.hands.orders[-1].refuted[0]
    assert (played.show("a.txt"), played.show("b.txt")) == ("good 1", "good 2")


def test_the_whole_test_suite_is_what_a_slice_runs_and_no_command(project: Project) -> None:
    """So a plan made by rule names what proves a unit that no test shows yet; the slice that it stands in holds."""
    proved = replace(unit("a"), verification=("check::a", ALL_TESTS))
    played = play(project, plan_of(proved), good("a"))
    assert played.outcome.status is RunStatus.COMPLETE, played.outcome.report
    assert not played.seen(CommandRan)


def test_a_unit_that_is_never_mergeable_ends_blocked_and_spoils_no_other(project: Project) -> None:
    """Attempts are bounded; the rest of the plan is merged, and the run says what is missing."""
    works = good("a", "b", "c") | {
        ("b", n): {"b.txt": "good\n", "a.txt": f"spoiled {n}\n"} for n in range(1, 9)
    }
    played = play(project, plan_of(unit("a"), unit("b"), unit("c")), works)
    assert played.outcome.status is RunStatus.BLOCKED
    attempts = [o.attempt for o in played.hands.orders if o.unit.unit_id == "b"]
    assert attempts == list(range(1, len(attempts) + 1))
    assert 1 < len(attempts) < 8
    assert played.show("a.txt") == "good"


def test_what_needs_a_blocked_unit_is_not_begun(project: Project) -> None:
    """Its unit is blocked with the reason; units that do not need it are done."""
    works = good("b", "c") | {("a", 1): RunStatus.BLOCKED}
    plan = plan_of(unit("a"), unit("b", needs=("a",)), unit("c"))
    played = play(project, plan, works, jobs=2)
    assert played.outcome.status is RunStatus.BLOCKED
    assert {u.unit_id: u.reason for u in played.seen(UnitBlocked)} == {
        "a": "could not",
        "b": "it needs merge:a:1, which was skipped because unit:a:1 failed",
    }
    assert {o.unit.unit_id for o in played.hands.orders} == {"a", "c"}
    assert played.show("c.txt") == "good"
    assert "2 of 3" not in played.outcome.summary["reason"]
    assert "1 of 3 units done; a: could not" in played.outcome.summary["reason"]


def test_dependants_start_from_the_merged_work_of_their_needs(project: Project) -> None:
    """A unit's base is the tip after the last merge that it depends on, not a later one."""
    plan = plan_of(unit("a"), unit("b"), unit("c", needs=("a",)))
    played = play(project, plan, good("a", "b", "c"), jobs=3)
    bases = {o.unit.unit_id: o.base for o in played.hands.orders}
    assert git(project.root, "show", f"{bases[UnitId('c')]}:a.txt") == "good"
    assert git(project.root, "show", f"{bases[UnitId('c')]}:b.txt") == "bad"


def test_what_happens_to_be_merged_already_is_not_what_a_unit_starts_from(project: Project) -> None:
    """One worker merges `b` before it starts `c`, which needs `a` alone: `c` starts from `a` alone all the same."""
    plan = plan_of(unit("a"), unit("b"), unit("c", needs=("a",)))
    played = play(project, plan, good("a", "b", "c"), jobs=1)
    told = [
        e.unit_id if isinstance(e, TurnClosed) else e.node_id
        for e in played.events
        if isinstance(e, TurnClosed | NodeStarted)
    ]
    assert told.index(UnitId("b")) < told.index(NodeId("unit:c:1"))
    base = played.hands.orders[-1].base
    shown = [git(project.root, "show", f"{base}:{name}.txt") for name in "abc"]
    assert shown == ["good", "bad", "bad"]


def test_one_job_and_three_give_the_same_trees_and_one_job_the_same_order(project: Project) -> None:
    """What a plan comes to does not depend on how many work on it; single mode repeats itself."""
    plan = plan_of(unit("a"), unit("b"), unit("c", needs=("a",)))
    runs = [play(project, plan, good("a", "b", "c"), jobs=jobs) for jobs in (1, 1, 3)]
    trees = [[t.tree for t in run.seen(TurnClosed)] for run in runs]
    assert trees[0] == trees[1] == trees[2]
    bases = [{o.unit.unit_id: o.base_tree for o in run.hands.orders} for run in runs]
    assert bases[0] == bases[1] == bases[2]
    orders = [[n.node_id for n in run.seen(NodeStarted)] for run in runs]
    assert orders[0] == orders[1]


def test_a_paused_unit_pauses_the_plan_and_resume_goes_on_with_it(project: Project) -> None:
    """What was merged stays; the unit that paused is asked for again, not the others."""
    plan = plan_of(unit("a"), unit("b"))
    first = play(project, plan, good("a") | {("b", 1): RunStatus.PAUSED})
    assert first.outcome.status is RunStatus.PAUSED
    run_id = RunId(first.outcome.summary["run_id"])
    second = play(project, plan, good("a", "b"), again=run_id)
    assert second.outcome.status is RunStatus.COMPLETE, second.outcome.report
    assert [o.unit.unit_id for o in second.hands.orders] == ["b"]


def test_units_share_the_ceiling_and_what_they_spend_is_the_plans(project: Project) -> None:
    """Each unit's share is reserved while it runs, settled when it ends, and never more than the ceiling in all."""
    plan = plan_of(
        unit("a"), replace(unit("b"), plan=replace(unit("b").plan, complexity=Complexity.MEDIUM))
    )
    spent = Usage(prompt_tokens=70, completion_tokens=30)
    played = play(project, plan, good("a", "b"), jobs=2, meet=2, usage=spent, tokens=3000)
    assert {o.unit.unit_id: o.share.tokens for o in played.hands.orders} == {"a": 1000, "b": 2000}
    assert played.outcome.summary["prompt_tokens"] == 140
    assert played.outcome.summary["model_calls"] >= 2
    state, most = None, 0
    recorded = tuple(read_events(project.ledger_file(RunId(played.outcome.summary["run_id"]))))
    for end in range(1, len(recorded) + 1):
        state = fold(recorded[:end])
        used = state.spend.usage.prompt_tokens + state.spend.usage.completion_tokens
        most = max(most, used + state.spend.reserved_tokens)
    assert most == 3000
    assert state is not None
    assert state.spend.reserved_tokens == 0


def test_a_plan_without_money_gives_none_to_its_units(project: Project) -> None:
    """A ceiling of nothing is a ceiling, also of each unit's own run, which would else have none."""
    plan = plan_of(unit("a"))
    model = f"scripted:{project.root.parent / 'model.json'}"
    request = Request(issue=plan.issue, model=model, plan=plan, seed=3, cost_usd=0.0)
    outcome = start(project, request, surroundings(Nobody(), Quiet()), driver=drive_plan)
    run = child_run(RunId(outcome.summary["run_id"]), UnitId("a"), 1)
    events = (recorded.event for recorded in read_events(project.ledger_file(run)))
    ceilings = [e.cost_usd for e in events if isinstance(e, PolicyResolved)]
    assert ceilings
    assert all(usd is not None and usd < 1e-6 for usd in ceilings), ceilings


def test_status_tells_from_another_process_what_is_done_runs_waits_or_is_blocked(
    project: Project, tmp_path: Path
) -> None:
    """While one unit is at work, and after it has ended blocked; each with the reason."""
    seen: list[dict[str, tuple[str, str]]] = []

    def look(order: Order) -> None:
        if order.unit.unit_id == "b":
            seen.append(status(project, tmp_path))

    plan = plan_of(unit("a"), unit("b"), unit("c", slice_id="S2"), milestones=("M1", "M2"))
    works = good("a", "c") | {("b", 1): RunStatus.BLOCKED}
    played = play(project, plan, works, looks=look)
    assert played.outcome.status is RunStatus.BLOCKED
    run_id = played.outcome.summary["run_id"]
    [running] = seen
    assert running["run"][0] == "running"
    assert running["a"][0] == "done"
    assert running["b"] == ("running", f"run {run_id}.b.1")
    assert running["c"] == ("waiting", "for milestone M1")
    after = status(project, tmp_path)
    assert after["run"][0] == "blocked"
    assert after["a"] == running["a"]
    assert after["b"] == ("blocked", "could not")
    assert after["c"][0] == "blocked"
    assert "milestone:M1" in after["c"][1]


@pytest.mark.parametrize(
    ("limit", "few", "still", "more"),
    [("tokens", 1_000, 1_100, 50_000), ("cost_usd", 0.01, 0.011, 5.0)],
)
def test_a_spent_budget_can_be_raised(
    project: Project, limit: str, few: float, still: float, more: float
) -> None:
    """The graph is made of the ceilings of the beginning, whatever it is resumed with, also where that is twice."""
    spent = Usage(prompt_tokens=900, completion_tokens=90, cost_usd=0.009)
    plan = plan_of(unit("a"), unit("b"))
    played = play(project, plan, good("a", "b"), usage=spent, **{limit: few})
    assert played.outcome.status is RunStatus.BUDGET, played.outcome.report
    run_id = RunId(played.outcome.summary["run_id"])
    short = play(project, plan, good("a", "b"), again=run_id, **{limit: still})
    assert short.outcome.status is RunStatus.BUDGET, short.outcome.report
    again = play(project, plan, good("a", "b"), again=run_id, **{limit: more})
    assert again.outcome.status is RunStatus.COMPLETE, again.outcome.report
    assert again.show("b.txt") == "good"
    assert verify_run(project, run_id).fault is None


def status(project: Project, home: Path) -> dict[str, tuple[str, str]]:
    """The state of the run and of each unit, and why, as `surefoot status` says it in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "surefoot", "status", "--json"],
        cwd=project.root,
        env={**os.environ, "SUREFOOT_HOME": str(home)},
        check=True,
        capture_output=True,
        text=True,
    )
    told = json.loads(done.stdout)
    units = [
        u for milestone in told["parts"] for piece in milestone["parts"] for u in piece["parts"]
    ]
    return {
        "run": (told["state"], told["reason"]),
        **{u["name"]: (u["state"], u["why"]) for u in units},
    }


HOOK = """import json, sys
told = json.load(sys.stdin)
if told["unit"] == "b":
    print(json.dumps({"reason": "b is frozen this week"}))
    sys.exit(3)
print(json.dumps({"facts": [f"{told['hook']} saw {told['unit']} in {open('a.txt').read().strip()}"]}))
"""


def test_hooks_decide_and_tell_when_the_settings_are_trusted(project: Project) -> None:
    """One that says no blocks its unit; what one says reaches the unit's own run; both are in the ledger."""
    command = '["python3", "hook.py"]'
    trusted = _with_hooks(project, f"pre_dispatch = [{command}]\npost_unit = [{command}]\n")
    played = play(trusted, plan_of(unit("a"), unit("b")), good("a", "b"))
    assert played.outcome.status is RunStatus.BLOCKED
    assert {u.unit_id: u.reason for u in played.seen(UnitBlocked)} == {
        "b": "pre_dispatch python3: b is frozen this week"
    }
    assert played.hands.orders[0].facts == ("pre_dispatch saw a in bad",)
    ran = [c for c in played.seen(CommandRan) if c.argv == ("python3", "hook.py")]
    assert {(c.tool, c.exit_code) for c in ran} == {
        ("pre_dispatch", 0),
        ("pre_dispatch", 3),
        ("post_unit", 0),
    }


def test_a_hook_that_says_no_of_a_unit_that_only_looked_holds_what_needs_it(
    project: Project,
) -> None:
    """It has no merge to wait for; the hook's node stands in its place."""
    trusted = _with_hooks(project, 'post_unit = [["python3", "hook.py"]]\n')
    looks = replace(unit("b"), unit_type=UnitType.AUDIT, writes=())
    needs = replace(unit("a"), needs=(UnitId("b"),))
    played = play(trusted, plan_of(looks, needs), {("b", 1): RunStatus.REPORTED, **good("a")})
    assert played.outcome.status is RunStatus.BLOCKED, played.outcome.report
    assert [order.unit.unit_id for order in played.hands.orders] == ["b"]
    alone = play(trusted, plan_of(looks, unit("a")), {("b", 1): RunStatus.REPORTED, **good("a")})
    assert alone.outcome.status is RunStatus.BLOCKED, alone.outcome.report
    assert "b is frozen this week" in alone.outcome.summary["reason"]


class _Breaks:
    """A live view in which the first command that a hook ran is met by ctrl-C."""

    met = False

    def seen(self, recorded: Recorded) -> None:
        if isinstance(recorded.event, CommandRan) and not self.met:
            self.met = True
            raise KeyboardInterrupt


def test_ctrl_c_while_a_hook_is_at_work_ends_the_run(project: Project) -> None:
    """The schedule waits for the hook's answer, and the run for the schedule; neither waits for ever."""
    trusted = _with_hooks(project, 'post_unit = [["python3", "hook.py"]]\n')
    ended: list[RunStatus] = []

    def run() -> None:
        played = play(trusted, plan_of(unit("a")), good("a"), progress=_Breaks())
        ended.append(played.outcome.status)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(timeout=300)
    assert ended == [RunStatus.CANCELLED]


def test_a_lock_that_is_set_while_a_unit_is_at_work_holds_the_plan_and_loses_nothing(
    project: Project,
) -> None:
    """No hook runs; unlocked and taken up again, the unit's work is merged."""
    trusted = _with_hooks(project, 'post_unit = [["python3", "hook.py"]]\n')
    plan = plan_of(unit("a"))
    played = play(trusted, plan, good("a"), looks=lambda _: trusted.lock.set("stop at once"))
    run_id = RunId(played.outcome.summary["run_id"])
    assert played.outcome.status is RunStatus.PAUSED, played.outcome.report
    assert "the repository is locked: stop at once" in played.outcome.summary["reason"]
    assert not played.seen(CommandRan)
    trusted.lock.clear()
    again = play(trusted, plan, good("a"), again=run_id)
    assert again.outcome.status is RunStatus.COMPLETE, again.outcome.report
    assert again.show("a.txt") == "good"
    assert verify_run(trusted, run_id).fault is None


def test_hooks_of_untrusted_settings_have_no_effect(project: Project) -> None:
    """A repository cannot bring its own."""
    with (project.root / "surefoot.toml").open("a") as file:
        file.write('\n[hooks]\npre_dispatch = [["python3", "hook.py"]]\n')
    there = open_project(project.root, project.places)
    assert "hooks.pre_dispatch" in there.untrusted
    assert there.settings.hooks.pre_dispatch == ()


def _with_hooks(project: Project, lines: str) -> Project:
    (project.root / "hook.py").write_text(HOOK)
    with (project.root / "surefoot.toml").open("a") as file:
        file.write(f"\n[hooks]\n{lines}")
    git(project.root, "add", ".")
    git(project.root, "commit", "-qm", "hooks")
    open_project(project.root, project.places).trust()
    return open_project(project.root, project.places)
