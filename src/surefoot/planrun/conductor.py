"""Executes a plan's graph beside the loop of its run.

A thread of its own drives the schedule, and children run in the threads that it starts. What belongs to the plan run's
own worktree and ledger, which are merges, verifications and hooks, is handed to the run's loop, one thing after the
other; the run's loop asks for it between its turns.
"""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

from surefoot.errors import LedgerError
from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import NodeSettled
from surefoot.events.plans import ChildEnded, UnitBlocked
from surefoot.kernel.dispatch import Ending, Settled, drive, open_schedule
from surefoot.kernel.journal import Journal
from surefoot.kernel.lifecycle import Trigger
from surefoot.kernel.run import Step, held
from surefoot.kernel.state import UnitState
from surefoot.nodes import Cost, Node, NodeId, NodeKind, NodeOutcome
from surefoot.planrun.children import Order
from surefoot.planrun.course import POST_UNIT, PRE_DISPATCH, Course, again, changes
from surefoot.planrun.hooks import Hooks, topic
from surefoot.planrun.interrupt import Stop
from surefoot.planrun.parts import Parts
from surefoot.plans import PlannedUnit
from surefoot.values import (
    Ceilings,
    CommitId,
    Digest,
    EventId,
    RunId,
    RunStatus,
    TreeId,
    TurnId,
    UnitId,
)

_STOPS: Final = {
    RunStatus.PAUSED: Trigger.PAUSE,
    RunStatus.BUDGET: Trigger.BUDGET_SPENT,
    RunStatus.CANCELLED: Trigger.CANCEL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """What each unit may spend."""

    reserved: dict[UnitId, Cost]
    """Of the ceilings that the run was started with; part of its graph."""
    allowed: dict[UnitId, Cost]
    """Of the present ceilings."""


class Hands(Protocol):
    """Who does the units."""

    def do(self, order: Order) -> ChildEnded:
        """Do one, to a stop of its run, and record how it began and ended; called from several threads."""
        ...


@dataclass(slots=True)
class _Job:
    """A node that the run's own loop does."""

    node: Node
    reply: "queue.SimpleQueue[Settled | None]" = field(default_factory=queue.SimpleQueue)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Over:
    """The schedule stands still."""

    ending: Ending | None
    error: BaseException | None = None


class _NodeLedger:
    """The plan run's ledger as the schedule sees it: its events are no part of a turn."""

    def __init__(self, journal: Journal, seen: Callable[[Event], None]) -> None:
        self._journal, self._seen = journal, seen

    @property
    def trace_id(self) -> RunId:
        return self._journal.trace_id

    def put(self, data: bytes) -> Digest:
        return self._journal.put(data)

    def events(self) -> Iterator[Recorded]:
        return self._journal.events()

    @property
    def head(self) -> str:
        return self._journal.head

    def get(self, digest: Digest) -> bytes:
        return self._journal.get(digest)

    def append(
        self, event: Event, *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> Recorded:
        return self.append_all((event,), cause=cause, turn=turn)[0]

    def append_all(
        self, events: Sequence[Event], *, cause: EventId | None = None, turn: TurnId | None = None
    ) -> tuple[Recorded, ...]:
        del turn
        for event in events:
            self._seen(event)
        return self._journal.record_all(events, cause=cause, aside=True)

    def close(self) -> None:
        """The run closes it."""


class Conductor:
    """One plan run's graph, from where its ledger stands."""

    def __init__(
        self,
        journal: Journal,
        course: Course,
        hands: Hands,
        parts: Parts,
        hooks: Hooks,
        *,
        stop: Stop,
        shares: Shares,
        ceilings: Ceilings,
        jobs: int,
        seed: int,
        nodes: tuple[Node, ...],
        locked: Callable[[], str | None],
    ) -> None:
        """`locked`: why the repository is locked against execution, read anew."""
        self._journal, self._course, self._locked = journal, course, locked
        self._hands, self._parts, self._hooks, self._stop = hands, parts, hooks, stop
        self._shares, self._ceilings = shares, ceilings
        self._jobs, self._seed, self._nodes = jobs, seed, nodes
        self._inbox: queue.SimpleQueue[_Job | _Over] = queue.SimpleQueue()
        self._kept: _Job | _Over | None = None
        """Taken from the inbox, and for later."""
        self._merging: _Job | None = None
        self._why: dict[NodeId, str] = {}
        """Causes of nodes that did not succeed."""
        self._halt: Step | None = None
        self._thread: threading.Thread | None = None

    # --- the run's own thread --------------------------------------------------------------------

    def between(self, unit: UnitState | None) -> Step | None:
        """See `RunPorts.between`: returns None when a unit's work is there to be merged, or when all is done."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._drive, name="schedule")
            self._thread.start()
        try:
            self._after_merge()
            while True:
                job = self._next()
                if isinstance(job, _Over):
                    return self._over(job, unit)
                if why := self._locked():
                    self._kept = job
                    return held(why)
                name = _name(job.node)
                if name.role in (PRE_DISPATCH, POST_UNIT):
                    self._answer(job, partial(self._hook, name))
                elif name.role != "merge":
                    self._answer(job, partial(self._verify, job.node))
                elif self._is_over(name):
                    self._answer(job, partial(self._merged, name))
                elif unit is not None and name.subject == unit.unit.unit_id:
                    self._merging = job
                    return None
                else:
                    self._kept = job
                    return self._blocked(unit)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Interrupt what runs and wait for it; what has not ended is taken up by the next process."""
        self._stop.set()
        if self._thread is None:
            return
        try:
            self._after_merge()
        finally:
            while not isinstance(job := self._next(), _Over):
                job.reply.put(None)
            self._kept = job
            self._thread.join()

    def _answer(self, job: _Job, work: Callable[[], Settled | None]) -> None:
        """Do what the schedule waits for. It is answered whatever breaks the work, or it would wait for ever."""
        ended: Settled | None = None
        try:
            ended = work()
        except BaseException:
            self._stop.set()
            raise
        finally:
            job.reply.put(ended)

    def _next(self) -> _Job | _Over:
        job, self._kept = self._kept, None
        return job or self._inbox.get()

    def _after_merge(self) -> None:
        """Say how the merge ended that the run's loop has made a turn of."""
        job, self._merging = self._merging, None
        if job is not None:
            self._answer(job, partial(self._merged, _name(job.node)))

    def _is_over(self, name: "_Name") -> bool:
        """Whether a merge's turn had ended before the process that made it died."""
        unit = self._journal.state.units[UnitId(name.subject)]
        return unit.ended != "open" or unit.turns >= name.attempt

    def _merged(self, name: "_Name") -> Settled | None:
        unit_id = UnitId(name.subject)
        unit = self._journal.state.units[unit_id]
        if unit.ended == "done":
            return Settled(outcome=NodeOutcome.SUCCEEDED)
        if unit.ended == "blocked":
            return Settled(outcome=NodeOutcome.FAILED, cause=unit.blocker)
        if unit.turns < name.attempt:
            return None
        added = again(
            self._course.unit(unit_id),
            name.attempt + 1,
            self._shares.reserved[unit_id],
            self._hooks.names,
        )
        told = "; ".join(unit.refuted) or "the merged tree was refused"
        return Settled(outcome=NodeOutcome.REPLACED, cause=told, added=added)

    def _over(self, over: _Over, unit: UnitState | None) -> Step | None:
        self._kept = over
        if over.error is not None:
            raise over.error
        if over.ending is Ending.SHORT:
            return Trigger.BUDGET_SPENT, "the budget does not hold the next unit's share"
        if over.ending is Ending.STOPPED:
            return self._halt or (Trigger.CANCEL, "interrupted")
        if unit is not None:
            return self._blocked(unit)
        units = self._journal.state.units.values()
        blocked = [u for u in units if u.ended == "blocked"]
        if blocked:
            told = f"{blocked[0].unit.unit_id}: {blocked[0].blocker}"
            return (
                Trigger.BLOCKER,
                f"{len(units) - len(blocked)} of {len(units)} units done; {told}",
            )
        failed = [p for p in self._course.parts if p.node_id in self._why]
        if failed:
            # What failed first is why; a part behind it was only skipped.
            return Trigger.BLOCKER, f"{failed[0].name}: {next(iter(self._why.values()))}"
        return None

    def _blocked(self, unit: UnitState | None) -> Step:
        """Its merge will never come."""
        if unit is None:
            raise LedgerError(
                "a merge is due of a unit that has ended; `surefoot verify` tells more"
            )
        unit_id = unit.unit.unit_id
        reasons = [w for n, w in self._why.items() if n.split(":")[1] == unit_id]
        told = reasons[0] if reasons else "its work never came"
        self._journal.record(UnitBlocked(unit_id=unit_id, reason=told))
        return Trigger.TURN_ENDED, f"unit {unit_id} is blocked: {told}"

    def _hook(self, name: "_Name") -> Settled:
        unit = self._course.unit(UnitId(name.subject))
        if name.role == PRE_DISPATCH:
            base = self._base_of(unit, name.attempt)
            return self._hooks.run("pre_dispatch", unit, name.attempt, base[1], {})
        ended = self._journal.state.plan.attempts(unit.unit_id)[-1].ended
        assert ended is not None  # noqa: S101  # the hook needs its end
        about = {"child": ended.run, "status": ended.status.value, "commit": ended.commit}
        tree = ended.tree or ended.base_tree
        return self._hooks.run("post_unit", unit, name.attempt, tree, about)

    def _verify(self, node: Node) -> Settled:
        part = next(p for p in self._course.parts if p.node_id == node.node_id)
        last = [u for u in self._course.order if u in part.units]
        if not last:
            return Settled(outcome=NodeOutcome.SUCCEEDED, cause="nothing was changed")
        commit, tree = self._tip(last[-1])
        verified = self._parts.verify(part, commit, tree, self._base[1])
        if verified.passed:
            return Settled(outcome=NodeOutcome.SUCCEEDED)
        return Settled(outcome=NodeOutcome.FAILED, cause=verified.reason)

    # --- other threads ---------------------------------------------------------------------------

    def _drive(self) -> None:
        try:
            ledger = _NodeLedger(self._journal, self._note)
            for recorded in self._journal.events():
                self._note(recorded.event)
            schedule = open_schedule(
                self._nodes,
                jobs=self._jobs,
                seed=self._seed,
                ceilings=self._ceilings,
                ledger=ledger,
            )
            ending = drive(schedule, self._work, ledger=ledger, stop=self._stop.is_set)
            self._inbox.put(_Over(ending=ending))
        except BaseException as error:  # noqa: BLE001  # named boundary: the run's own thread raises it again
            self._inbox.put(_Over(ending=None, error=error))

    def _note(self, event: Event) -> None:
        if isinstance(event, NodeSettled) and event.outcome in (
            NodeOutcome.FAILED,
            NodeOutcome.SKIPPED,
        ):
            self._why[event.node_id] = event.cause

    def _work(self, node: Node, attempt: int) -> Settled | None:
        """Of the schedule: a child's run here, everything else in the run's own thread."""
        del attempt
        if node.kind in (NodeKind.UNIT, NodeKind.REPROCESS, NodeKind.SUBAGENT):
            return self._unit(node)
        job = _Job(node)
        self._inbox.put(job)
        return job.reply.get()

    def _unit(self, node: Node) -> Settled | None:
        order = self._order(node)
        ended = self._hands.do(order)
        if ended.status in _STOPS:
            self._halt = self._halt or (
                _STOPS[ended.status],
                f"unit {ended.unit_id}: {ended.reason}",
            )
            self._stop.set()
            return None
        spent = self._journal.state.plan.children[ended.run].settled
        used = Cost(tokens=spent.prompt_tokens + spent.completion_tokens, cost_usd=spent.cost_usd)
        good = RunStatus.COMPLETE if changes(order.unit) else RunStatus.REPORTED
        if ended.status is good:
            return Settled(outcome=NodeOutcome.SUCCEEDED, used=used)
        return Settled(outcome=NodeOutcome.FAILED, cause=ended.reason, used=used)

    def _order(self, node: Node) -> Order:
        name, state = _name(node), self._journal.state
        unit = self._course.unit(UnitId(name.subject))
        first = name.attempt == 1
        base = self._base_of(unit, name.attempt)
        told = f"{topic(PRE_DISPATCH, unit)}: "
        kind = node.kind
        return Order(
            unit=unit,
            attempt=name.attempt,
            node="subagent"
            if kind is NodeKind.SUBAGENT
            else "reprocess"
            if kind is NodeKind.REPROCESS
            else "unit",
            base=base[0],
            base_tree=base[1],
            share=self._shares.allowed[unit.unit_id],
            facts=tuple(
                fact
                for need in self._course.waits[unit.unit_id]
                for child in state.plan.attempts(need)
                if child.ended is not None
                for fact in child.ended.facts
            )
            + tuple(f.removeprefix(told) for f in state.facts if f.startswith(told)),
            refuted=() if first else state.units[unit.unit_id].refuted,
        )

    def _base_of(self, unit: PlannedUnit, attempt: int) -> tuple[CommitId, TreeId]:
        """What an attempt starts from; a later one from all that was merged by then."""
        unit_id = unit.unit_id
        return self._tip(self._course.starts[unit_id] if attempt == 1 else unit_id)

    @property
    def _base(self) -> tuple[CommitId, TreeId]:
        opened = self._journal.state.opened
        assert opened is not None  # noqa: S101  # opened before it was driven
        return opened.base, opened.base_tree

    def _tip(self, after: UnitId | None) -> tuple[CommitId, TreeId]:
        """The plan's branch after the merge of a unit, or after the last one before it that was merged."""
        tip, order = self._base, self._course.order
        if after is None:
            return tip
        tips = self._journal.state.plan.tips
        for unit_id in order[: order.index(after) + 1]:
            tip = tips.get(unit_id, tip)
        return tip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Name:
    role: str
    subject: str
    attempt: int


def _name(node: Node) -> _Name:
    """What a node's id says."""
    role, subject, *rest = node.node_id.split(":")
    return _Name(role=role, subject=subject, attempt=int(rest[0]) if rest else 1)
