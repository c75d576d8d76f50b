"""Several workers on one plan and one repository: each takes a free milestone, does it, and puts it onto the branch.

No process holds the graph of milestones: who does what stands in the repository's own ledger, written under a lock. A
claim whose process is dead is taken over together with its run. Work comes together by `accept`, one worker at a time:
what was done beside others is replayed on the moved branch and passes the gates again, and what does not fit is done again.
"""

import fcntl
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

from surefoot.assembly import Driver, Surroundings
from surefoot.errors import AcceptError
from surefoot.events.orchestration import RunAccepted, RunRejected
from surefoot.events.plans import MilestoneClaimed, MilestoneReleased
from surefoot.gitops.lease import is_alive, process_mark
from surefoot.handover import accept
from surefoot.ledger import read_events
from surefoot.nodes import Node, NodeId, NodeKind
from surefoot.planrun.course import milestone_name, touching
from surefoot.planrun.run import checked_plan, go_on, named_plan, run_plan
from surefoot.plans import Plan
from surefoot.project import Project, plan_run_of
from surefoot.reading import Outcome, outcome, read_story_of
from surefoot.request import Request
from surefoot.upkeep import own_ledger
from surefoot.values import RunId, RunStatus

_ATTEMPTS: Final = 3
"""Runs of one milestone by one worker."""
_FOR_GOOD: Final = (RunStatus.BLOCKED, RunStatus.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A milestone that this worker does, and the run in which it does it."""

    milestone_id: str
    name: str
    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Turnout:
    """What a worker has done until nothing was free."""

    accepted: tuple[str, ...]
    """Milestones that it put onto the branch."""
    left: tuple[str, ...]
    """Milestones that are not done, each with the reason."""
    last: Outcome | None
    """Of its last run."""

    @property
    def status(self) -> RunStatus:
        """How the plan stands: complete when nothing is left; blocked for this worker where others have what is."""
        if self.last is not None and self.last.status is not RunStatus.COMPLETE:
            return self.last.status
        return RunStatus.BLOCKED if self.left else RunStatus.COMPLETE


def milestone_nodes(plan: Plan) -> tuple[Node, ...]:
    """A node for each milestone; one needs another when a unit of it needs, reads or writes what that one makes."""
    of_slice = {s.slice_id: s.milestone_id for s in plan.slices}
    units = {
        m.milestone_id: [u for u in plan.units if of_slice[u.slice_id] == m.milestone_id]
        for m in plan.milestones
    }
    nodes: list[Node] = []
    for number, milestone in enumerate(plan.milestones):
        own = units[milestone.milestone_id]
        needs = tuple(
            NodeId(milestone_name(plan, earlier.milestone_id))
            for earlier in plan.milestones[:number]
            if any(
                a.unit_id in b.needs or touching(a, b)
                for a in units[earlier.milestone_id]
                for b in own
            )
        )
        node_id = NodeId(milestone_name(plan, milestone.milestone_id))
        nodes.append(Node(node_id=node_id, kind=NodeKind.TEAM_WORKER, needs=needs))
    return tuple(nodes)


def work(
    reopen: Callable[[], Project],
    request: Request,
    around: Surroundings,
    driver: Driver | None = None,
) -> Turnout:
    """Do one free milestone after the other, until none is free or one is not completed. Raises as `run_plan`."""
    plan, project = named_plan(request), reopen()
    left = _not_done(project, plan)
    if left or not plan.milestones:
        checked_plan(project, replace(request, plan=plan, milestones=left))
    accepted: list[str] = []
    last: Outcome | None = None
    while (claim := take(reopen(), plan, around)) is not None:
        last = _milestone(reopen, replace(request, plan=plan), around, claim, driver)
        if last.status is not RunStatus.COMPLETE:
            break
        accepted.append(claim.name)
    return Turnout(accepted=tuple(accepted), left=_left(reopen(), plan), last=last)


def take(project: Project, plan: Plan, around: Surroundings) -> Claim | None:
    """Claim the first milestone that is free, or that a dead process left; None when there is none.

    One whose run has ended for good comes after all others: whoever takes it is only told so again.
    """
    project.prepare()
    with _alone(project):
        standing = _standing(project)
        free = [
            (milestone, node, held)
            for milestone, node in zip(plan.milestones, milestone_nodes(plan), strict=True)
            for held in [standing.get(node.node_id)]
            if not isinstance(held, MilestoneReleased)
            and (held is None or not is_alive(held.worker))
            and all(isinstance(standing.get(n), MilestoneReleased) for n in node.needs)
        ]
        if not free:
            return None
        milestone, node, held = min(free, key=lambda one: _is_stuck(project, one[2]))
        run = held.run if held else around.ids.run_id(around.clock.now())
        with own_ledger(project, around.clock, around.environ) as ledger:
            ledger.append(
                MilestoneClaimed(
                    milestone=node.node_id, node=node.kind, run=run, worker=process_mark()
                )
            )
        return Claim(milestone_id=milestone.milestone_id, name=node.node_id, run=run)


def _is_stuck(project: Project, held: MilestoneClaimed | None) -> bool:
    """Whether one of a claim's runs has ended in a way that nobody can go on from, and was not rejected."""
    if held is None:
        return False
    plan_runs = (r for r in project.run_ids() if plan_run_of(r) == r)
    own = [r for r in plan_runs if r == held.run or r.startswith(f"{held.run}-")]
    stories = [read_story_of(project, r) for r in own if not _was(RunRejected, project, r)]
    return any(s.state.status in _FOR_GOOD for s in stories)


def _milestone(
    reopen: Callable[[], Project],
    request: Request,
    around: Surroundings,
    claim: Claim,
    driver: Driver | None,
) -> Outcome:
    """Run a claimed milestone and put it onto the branch; what does not fit there is done again from the new tip.

    So is what was rejected; where the branch has not moved there is no new tip, and doing it again would come to the same.
    """
    runs = _runs(reopen, claim)
    for attempt in count(1):
        run = next(runs)
        result = _run(reopen(), request, around, replace(claim, run=run), driver)
        if result.status is not RunStatus.COMPLETE:
            return result
        try:
            with _alone(project := reopen()):
                _put(project, claim.name, run, around)
        except AcceptError:
            if attempt == _ATTEMPTS or not _has_moved(reopen(), run):
                raise
        else:
            return result
    raise AssertionError  # the loop returns or raises


def _runs(reopen: Callable[[], Project], claim: Claim) -> Iterator[RunId]:
    """The run of a claim, then those in which its milestone is done again; without what was rejected."""
    for number in count(1):
        run = claim.run if number == 1 else RunId(f"{claim.run}-{number}")
        if not _was(RunRejected, reopen(), run):
            yield run


def _was(decided: type[RunAccepted | RunRejected], project: Project, run: RunId) -> bool:
    path = project.ledger_file(run)
    return path.exists() and any(isinstance(r.event, decided) for r in read_events(path))


def _has_moved(project: Project, run: RunId) -> bool:
    opened = read_story_of(project, run).state.opened
    return opened is not None and opened.base != project.repository.head


def _run(
    project: Project,
    request: Request,
    around: Surroundings,
    claim: Claim,
    driver: Driver | None,
) -> Outcome:
    ledger = project.ledger_file(claim.run)
    if not ledger.exists() or next(iter(read_events(ledger)), None) is None:
        mine = replace(request, milestones=(claim.milestone_id,))
        return run_plan(project, mine, around, run_id=claim.run, driver=driver)
    story = read_story_of(project, claim.run)
    if story.state.status in (RunStatus.COMPLETE, *_FOR_GOOD):
        return outcome(project, claim.run)
    return go_on(project, claim.run, around, driver=driver)


def _put(project: Project, name: str, run: RunId, around: Surroundings) -> None:
    if not _was(RunAccepted, project, run):
        accept(project, run, around)
    with own_ledger(project, around.clock, around.environ) as ledger:
        ledger.append(MilestoneReleased(milestone=name, run=run, branch=project.repository.branch))


def _left(project: Project, plan: Plan) -> tuple[str, ...]:
    standing = _standing(project)
    told = []
    for node in milestone_nodes(plan):
        held = standing.get(node.node_id)
        if isinstance(held, MilestoneReleased):
            continue
        waits = [n for n in node.needs if not isinstance(standing.get(n), MilestoneReleased)]
        if held is not None:
            told.append(f"{node.node_id}: run {held.run}, {held.worker}")
        else:
            told.append(f"{node.node_id}: waits for {', '.join(waits)}" if waits else node.node_id)
    return tuple(told)


def _not_done(project: Project, plan: Plan) -> tuple[str, ...]:
    standing = _standing(project)
    names = {m.milestone_id: milestone_name(plan, m.milestone_id) for m in plan.milestones}
    return tuple(i for i, n in names.items() if not isinstance(standing.get(n), MilestoneReleased))


def _standing(project: Project) -> dict[str, MilestoneClaimed | MilestoneReleased]:
    """The last word of the repository's ledger on each milestone."""
    path = project.folder / "events.jsonl"
    events = (r.event for r in read_events(path)) if path.exists() else ()
    return {e.milestone: e for e in events if isinstance(e, MilestoneClaimed | MilestoneReleased)}


@contextmanager
def _alone(project: Project) -> Iterator[None]:
    """One worker at a time."""
    with (project.folder / "team.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def told(turnout: Turnout) -> Sequence[str]:
    """For people."""
    lines = [f"accepted {name}" for name in turnout.accepted]
    lines += [f"left {name}" for name in turnout.left]
    return lines or ["every milestone is done"]
