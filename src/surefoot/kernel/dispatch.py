"""Runs a schedule: one thread decides and records, the others do the work."""

import queue
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from surefoot.codec import encode
from surefoot.errors import LedgerError, SurefootError, UsageError
from surefoot.events.envelope import Event
from surefoot.events.orchestration import NodeStarted, ScheduleOpened
from surefoot.interrupts import raise_hidden
from surefoot.kernel.ports import Ledger
from surefoot.kernel.schedule import Schedule
from surefoot.nodes import NOTHING, Cost, Graph, Node, NodeId, NodeOutcome
from surefoot.values import Ceilings


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What the work on a node came to; see `NodeSettled`."""

    outcome: NodeOutcome
    cause: str = ""
    used: Cost = NOTHING
    added: tuple[Node, ...] = ()


Work: TypeAlias = Callable[[Node, int], Settled | None]
"""Does a node, for the so-and-so-manieth time; None when it stopped because the whole run is to stop."""


class Ending(StrEnum):
    """Why a schedule stands still."""

    DONE = "done"
    """Every node has settled."""
    SHORT = "short"
    """The rest does not fit into the budget."""
    STOPPED = "stopped"


def open_schedule(
    nodes: tuple[Node, ...], *, jobs: int, seed: int, ceilings: Ceilings, ledger: Ledger
) -> Schedule:
    """The schedule of these nodes as the ledger has it: new, or where a process before left it.

    Raises:
        UsageError: The nodes are no graph that can be executed.
        LedgerError: The ledger was written for another graph or another seed.
    """
    graph = ledger.put(encode(Graph(nodes=nodes)))
    schedule = Schedule(nodes, jobs=jobs, seed=seed, ceilings=ceilings)
    for recorded in ledger.events():
        event = recorded.event
        if isinstance(event, ScheduleOpened) and (event.graph, event.seed) != (graph, seed):
            raise LedgerError(
                f"run {ledger.trace_id!r} executes graph {event.graph[:12]} with seed {event.seed}, "
                f"not graph {graph[:12]} with seed {seed}; go on with the plan that it was started with"
            )
        schedule.apply(event)
    opened = ScheduleOpened(graph=graph, nodes=len(nodes), jobs=jobs, seed=seed)
    ledger.append(opened)
    schedule.apply(opened)
    return schedule


def drive(schedule: Schedule, work: Work, *, ledger: Ledger, stop: Callable[[], bool]) -> Ending:
    """Work until all has settled, nothing more fits, or `stop` says so and what runs has come back.

    A tick, which is whatever settled and what starts because of it, is one durable batch, on the disk before any of the
    started nodes runs. Work that raises has failed; only a `LedgerError`, an interrupt and the like end the whole, once
    what runs has come back: then it is neither settled nor lost, and the next process starts it again. One job runs in
    the caller's thread, and its order is the same each time.
    """
    with ExitStack() as stack:
        threads = None
        if schedule.jobs > 1:
            threads = stack.enter_context(ThreadPoolExecutor(schedule.jobs, "node"))
        return _Drive(schedule, work, ledger, threads).to_the_end(stop)


class _Drive:
    def __init__(
        self, schedule: Schedule, work: Work, ledger: Ledger, threads: ThreadPoolExecutor | None
    ) -> None:
        self._schedule, self._work, self._ledger, self._threads = schedule, work, ledger, threads
        self._came_back: queue.SimpleQueue[tuple[NodeId, Settled | BaseException | None]]
        self._came_back = queue.SimpleQueue()
        self._busy = 0
        self._is_stopping = False

    def to_the_end(self, stop: Callable[[], bool]) -> Ending:
        settled: tuple[Event, ...] = ()
        while True:
            self._is_stopping = self._is_stopping or stop()
            started = () if self._is_stopping else self._schedule.dispatch()
            if settled or started:
                self._ledger.append_all((*settled, *started))
            for event in started:
                if isinstance(event, NodeStarted):
                    self._begin(self._schedule.node(event.node_id), event.attempt)
            if not self._busy:
                break
            settled = self._collect()
        if not self._schedule.unsettled:
            return Ending.DONE
        return Ending.STOPPED if self._is_stopping else Ending.SHORT

    def _begin(self, node: Node, attempt: int) -> None:
        self._busy += 1
        if self._threads:
            self._threads.submit(self._do, node, attempt)
        else:
            self._do(node, attempt)

    def _do(self, node: Node, attempt: int) -> None:
        result: Settled | BaseException | None
        try:
            result = self._attempted(node, attempt)
        except BaseException as error:  # noqa: BLE001  # an interrupt, or nothing more can be recorded: the deciding thread raises it again
            result = error
        self._came_back.put((node.node_id, result))

    def _attempted(self, node: Node, attempt: int) -> Settled | None:
        try:
            return self._work(node, attempt)
        except LedgerError:
            raise
        except Exception as error:  # noqa: BLE001  # named boundary: work that breaks is work that failed
            raise_hidden(error)
            code = error.code if isinstance(error, SurefootError) else type(error).__name__
            return Settled(outcome=NodeOutcome.FAILED, cause=f"{code}: {error}")

    def _collect(self) -> tuple[Event, ...]:
        """Wait for work that comes back; everything that is back by then, in the order in which it started."""
        back = dict([self._came_back.get()])
        with suppress(queue.Empty):
            while True:
                back.update([self._came_back.get_nowait()])
        self._busy -= len(back)
        events: list[Event] = []
        for node_id in self._schedule.running:
            result = back.get(node_id)
            if isinstance(result, BaseException):
                raise result
            if result is not None:
                events.append(self._settle(node_id, result))
            elif node_id in back:
                self._is_stopping = True
        return tuple(events)

    def _settle(self, node_id: NodeId, result: Settled) -> Event:
        try:
            return self._schedule.settle(
                node_id,
                result.outcome,
                cause=result.cause,
                used=result.used,
                added=result.added,
            )
        except UsageError as error:  # nodes that cannot be added
            return self._schedule.settle(
                node_id, NodeOutcome.FAILED, cause=str(error), used=result.used
            )
