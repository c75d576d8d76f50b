"""`surefoot run --team`: workers that share a plan and a repository."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from bench.letters import unit
from bench.shelf import plan_of
from tests.integration.plan_hands import Edits, Hands, git, good, hands_project

from surefoot.assembly import Session
from surefoot.cli.common import surroundings
from surefoot.errors import AcceptError, PlanRefusedError
from surefoot.events.plans import MilestoneClaimed, MilestoneReleased
from surefoot.gitops.lease import process_mark
from surefoot.handover import reject
from surefoot.ledger import read_events
from surefoot.nodes import NodeKind
from surefoot.people import Nobody, Quiet
from surefoot.planrun.run import drive_plan
from surefoot.plans import Plan
from surefoot.project import Project, open_project
from surefoot.request import Request
from surefoot.system import SystemClock
from surefoot.team import Turnout, milestone_nodes, take, work
from surefoot.upkeep import own_ledger
from surefoot.values import RunId, RunStatus

DEAD = "999999999:1"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Three files that are to be good."""
    return hands_project(tmp_path)


def team_plan() -> Plan:
    """Three milestones; the third needs the first."""
    return plan_of(
        unit("a", slice_id="S1"),
        unit("b", slice_id="S2"),
        unit("c", slice_id="S3", needs=("a",)),
        milestones=("M1", "M2", "M3"),
    )


def join(
    project: Project,
    works: dict[tuple[str, int], Edits | RunStatus],
    plan: Plan | None = None,
) -> Turnout:
    """A worker of the team, with hands."""

    def hire(session: Session, *_: object) -> Hands:
        return Hands(session=session, works=works)

    model = f"scripted:{project.root.parent / 'model.json'}"
    plan = plan or team_plan()
    request = Request(issue=plan.issue, model=model, plan=plan, seed=3)
    return work(
        lambda: open_project(project.root, project.places),
        request,
        surroundings(Nobody(), Quiet()),
        driver=partial(drive_plan, hired=hire),
    )


def claimed(project: Project, milestone: str, worker: str) -> None:
    """Somebody else has taken a milestone."""
    project.prepare()
    with own_ledger(project, SystemClock(), {}) as ledger:
        ledger.append(
            MilestoneClaimed(
                milestone=milestone,
                node=NodeKind.TEAM_WORKER,
                run=RunId("20260101-000000-0001"),
                worker=worker,
            )
        )


def test_a_worker_takes_what_is_free_and_leaves_what_others_do(project: Project) -> None:
    """The first milestone is another living worker's, and the third needs it: the second is done and accepted."""
    claimed(project, "shelf-plan/M1", process_mark())
    turnout = join(project, good("a", "b", "c"))
    assert turnout.accepted == ("shelf-plan/M2",)
    assert [line.partition(":")[0] for line in turnout.left] == ["shelf-plan/M1", "shelf-plan/M3"]
    assert turnout.status is RunStatus.BLOCKED
    assert git(project.root, "log", "--format=%s").splitlines()[0] == "Milestone M2"
    assert (project.root / "b.txt").read_text() == "good\n"


def test_a_dead_workers_claim_is_taken_over_and_all_is_done(project: Project) -> None:
    """Its run's id stays; the milestones land on the branch one after the other, each under its unique id."""
    claimed(project, "shelf-plan/M1", DEAD)
    turnout = join(project, good("a", "b", "c"))
    assert turnout.accepted == ("shelf-plan/M1", "shelf-plan/M2", "shelf-plan/M3")
    assert (turnout.left, turnout.status) == ((), RunStatus.COMPLETE)
    again = join(project, good("a", "b", "c"))
    assert (again.accepted, again.left, again.status) == ((), (), RunStatus.COMPLETE)
    events = [r.event for r in read_events(project.folder / "events.jsonl")]
    released = [e for e in events if isinstance(e, MilestoneReleased)]
    assert released[0].run == "20260101-000000-0001"
    assert git(project.root, "log", "--format=%s").splitlines()[:3] == [
        "Milestone M3",
        "Milestone M2",
        "Milestone M1",
    ]


def test_what_was_rejected_is_done_again_and_what_cannot_be_accepted_is_not(
    project: Project,
) -> None:
    """Changes of the user's stand in its way, and the branch has no newer tip to do it from; rejected, it is not there."""
    plan, milestone = plan_of(unit("a")), "shelf-plan/M1"
    claimed(project, milestone, DEAD)
    (project.root / "a.txt").write_text("mine\n")
    with pytest.raises(AcceptError, match=r"a\.txt"):
        join(project, good("a"), plan)
    [run] = project.run_ids()
    reject(project, run, surroundings(Nobody(), Quiet()), "not like this")
    git(project.root, "checkout", "--", "a.txt")
    claimed(project, milestone, DEAD)
    turnout = join(project, good("a"), plan)
    assert (turnout.accepted, turnout.left) == ((milestone,), ())
    assert project.run_ids() == (run, f"{run}-2")
    assert git(project.root, "show", "HEAD:a.txt") == "good"


def test_what_a_milestone_that_is_done_has_moved_holds_up_no_other(project: Project) -> None:
    """The first one took `old.txt` away, which the plan says that it may write; the second has nothing to do with it."""
    first = replace(unit("a"), writes=("a.txt", "old.txt"))
    plan = plan_of(first, unit("b", slice_id="S2"), milestones=("M1", "M2"))
    project.prepare()
    done = MilestoneReleased(milestone="shelf-plan/M1", run=RunId("R1"), branch="refs/heads/main")
    with pytest.raises(PlanRefusedError, match=r"old\.txt"):
        join(project, {}, plan)
    with own_ledger(project, SystemClock(), {}) as ledger:
        ledger.append(done)
    turnout = join(project, good("b"), plan)
    assert (turnout.accepted, turnout.left) == (("shelf-plan/M2",), ())


def test_a_milestone_that_is_blocked_keeps_nobody_from_the_others(project: Project) -> None:
    """Whoever comes next does what is free first, and is told of the blocked one at the end."""
    claimed(project, "shelf-plan/M1", DEAD)
    first = join(project, {("a", 1): RunStatus.BLOCKED})
    assert (first.accepted, first.last and first.last.status) == ((), RunStatus.BLOCKED)
    claimed(project, "shelf-plan/M1", DEAD)
    second = join(project, good("b"))
    assert second.accepted == ("shelf-plan/M2",)
    assert second.last is not None
    assert (second.last.status, len(project.run_ids())) == (RunStatus.BLOCKED, 2)


def test_milestones_need_those_whose_work_they_touch(project: Project) -> None:
    """The graph of a team: one team-worker node a milestone."""
    nodes = milestone_nodes(team_plan())
    assert [(n.node_id, n.needs) for n in nodes] == [
        ("shelf-plan/M1", ()),
        ("shelf-plan/M2", ()),
        ("shelf-plan/M3", ("shelf-plan/M1",)),
    ]
    assert {n.kind for n in nodes} == {NodeKind.TEAM_WORKER}


def test_two_workers_never_hold_one_milestone(project: Project) -> None:
    """A claim is made under a lock, and a living worker's claim stands."""
    around = surroundings(Nobody(), Quiet())
    first = take(project, team_plan(), around)
    second = take(project, team_plan(), around)
    assert first is not None
    assert second is not None
    assert (first.milestone_id, second.milestone_id) == ("M1", "M2")
    assert take(project, team_plan(), around) is None
