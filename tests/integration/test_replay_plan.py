"""A replay of a plan's run does again what its units did, and claims nothing of those that did nothing."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from bench.letters import two_that_clash
from tests.integration.plan_hands import Hands, hands_project, play

from surefoot.app import start
from surefoot.assembly import Session
from surefoot.cli.common import surroundings
from surefoot.errors import UsageError
from surefoot.events.plans import ChildEnded, ChildStarted
from surefoot.ledger import FileLedger
from surefoot.people import Nobody, Quiet
from surefoot.planrun.children import Children, Order
from surefoot.planrun.interrupt import Stop
from surefoot.planrun.run import drive_plan
from surefoot.plans import Plan
from surefoot.project import Project, child_run
from surefoot.replay import replay
from surefoot.request import Request
from surefoot.system import SystemClock
from surefoot.values import RunId, RunStatus

pytestmark = pytest.mark.campaign

PLAN = two_that_clash()
REFUSED = dict.fromkeys((("a", 1), ("b", 1)), RunStatus.PAUSED)
"""As a unit ends for which the machine or the settings lack something."""


@dataclass(frozen=True)
class Half:
    """Unit `a` is a run like any other; the others end before they begin, or are said to have records of this hash."""

    children: Children
    hands: Hands
    head: str

    def do(self, order: Order) -> ChildEnded:
        """As told above."""
        if order.unit.unit_id == "a":
            return self.children.do(order)
        ended = replace(self.hands.do(order), ledger_head=self.head)
        if self.head:
            self.hands.session.journal.record_all([ended], aside=True)
        return ended


def half(project: Project, head: str = "", status: RunStatus = RunStatus.PAUSED) -> RunId:
    """A plan's run of which `a` began, and the others ended like this."""

    def hire(session: Session, plan: Plan, stop: Stop) -> Half:
        works = dict.fromkeys(REFUSED, status)
        return Half(Children(session, plan, stop), Hands(session=session, works=works), head)

    model = f"scripted:{project.root.parent / 'model.json'}"
    request = Request(issue=PLAN.issue, model=model, plan=PLAN, jobs=1, seed=3)
    around = surroundings(Nobody(), Quiet())
    done = start(project, request, around, driver=partial(drive_plan, hired=hire))
    return RunId(done.summary["run_id"])


@pytest.mark.parametrize("time_s", [60.0, 1e-6])
def test_a_plan_run_that_began_no_unit_is_refused(tmp_path: Path, time_s: float) -> None:
    """Its units ended before they began, or its time was up: nothing was done again, so nothing is called identical."""
    project = hands_project(tmp_path)
    played = play(project, PLAN, REFUSED, time_s=time_s)
    run_id = RunId(played.outcome.summary["run_id"])
    assert bool(played.seen(ChildEnded)) is (time_s > 1)
    with pytest.raises(UsageError, match=rf"{run_id} began no unit .* `surefoot verify {run_id}`"):
        replay(project, run_id, surroundings(Nobody(), Quiet()))


def test_units_that_never_began_are_passed_over(tmp_path: Path) -> None:
    """Also one whose ledger was made and stayed empty, as where Ctrl-C comes before the first event."""
    project = hands_project(tmp_path)
    run_id = half(project)
    empty = project.ledger_file(child_run(run_id, PLAN.units[1].unit_id, 1))
    empty.parent.mkdir()
    empty.touch()
    played = replay(project, run_id, surroundings(Nobody(), Quiet()))
    assert played.divergence is None
    assert played.compared > 10


@pytest.mark.parametrize("status", [RunStatus.PAUSED, RunStatus.BLOCKED])
def test_a_unit_that_has_not_stopped_is_told_before_any_is_done_again(
    tmp_path: Path, status: RunStatus
) -> None:
    """As where its worktree could not be opened: the run of its plan is the one to resume, where that can be."""
    project = hands_project(tmp_path)
    run_id = half(project, head="f" * 64, status=status)
    first, second = (project.ledger_file(child_run(run_id, u.unit_id, 1)) for u in PLAN.units[:2])
    second.parent.mkdir()
    second.write_bytes(b"".join(first.read_bytes().splitlines(keepends=True)[:3]))
    first.write_bytes(first.read_bytes().replace(b'"seed":', b'"seed":1', 1))
    told = f"`surefoot resume {run_id}`" if status is RunStatus.PAUSED else f"{run_id}, ended as"
    with pytest.raises(UsageError, match=f"{second.parent.name} has not come to a stop; .*{told}"):
        replay(project, run_id, surroundings(Nobody(), Quiet()))


def test_a_unit_of_which_nothing_is_known_any_more_is_not_passed_over(tmp_path: Path) -> None:
    """Its plan has no end of it and its ledger is gone; one that is there and empty says that nothing was done."""
    project = hands_project(tmp_path)
    run_id = half(project)
    unit = child_run(run_id, "b", 2)
    ledger = FileLedger.open(
        project.ledger_file(run_id),
        blobs=project.blobs,
        trace_id=run_id,
        clock=SystemClock(),
        redact=str,
    )
    begun = next(r.event for r in ledger.events() if isinstance(r.event, ChildStarted))
    ledger.append(replace(begun, run=unit, attempt=2))
    ledger.close()
    with pytest.raises(UsageError, match=f"{unit} began, but .* is not there; bring it back"):
        replay(project, run_id, surroundings(Nobody(), Quiet()))
    project.ledger_file(unit).parent.mkdir()
    project.ledger_file(unit).touch()
    assert replay(project, run_id, surroundings(Nobody(), Quiet())).divergence is None


def test_a_unit_whose_ledger_is_gone_is_told_before_any_is_done_again(tmp_path: Path) -> None:
    """Although the unit before it differs from its record."""
    project = hands_project(tmp_path)
    run_id = half(project, head="f" * 64)
    first, gone = (project.ledger_file(child_run(run_id, u.unit_id, 1)) for u in PLAN.units[:2])
    first.write_bytes(first.read_bytes().replace(b'"seed":', b'"seed":1', 1))
    with pytest.raises(UsageError, match=rf"{gone} is not there; bring it back, .* --bundle"):
        replay(project, run_id, surroundings(Nobody(), Quiet()))
