"""The one scheduler of a graph (SPEC C3): which node may start now, and what each ending means for the others.

Pure bookkeeping. What happens to the graph is an event; `apply` is the only way in which anything changes, for the live
run and for one that is rebuilt from its ledger, so that the two cannot disagree.

A node passes these places, from left to right:

    waiting -> queued -> ready -> running -> settled
       |                   `---> deferred
       `---> doomed -----------------------> settled (skipped)

It waits for what it needs and comes after, then queues for its paths (`claims`), is then ready, and starts in the order
of its rank when one of `jobs` slots is free and the budget holds its reservation. One that does not fit holds back
those behind it until something settles; when nothing runs, nothing will ever make it fit, and it is deferred. So as long
as something is unsettled, something runs, can start, or is deferred: construction refuses circles, and queues make none.

Every node is looked at once for each of its edges and each directory of its claims, never beside all other nodes.
"""

import hashlib
import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from surefoot.errors import LedgerError, UsageError
from surefoot.events.envelope import Event
from surefoot.events.orchestration import NodeDeferred, NodeSettled, NodeStarted, ScheduleOpened
from surefoot.kernel.budget import Shortage, shortage
from surefoot.kernel.claims import Claims
from surefoot.kernel.graph import chains, in_order
from surefoot.nodes import NOTHING, Cost, Node, NodeId, NodeOutcome
from surefoot.values import Ceilings, Spend, Usage


class Place(StrEnum):
    """Where a node stands."""

    WAITING = "waiting"
    QUEUED = "queued"
    READY = "ready"
    RUNNING = "running"
    DEFERRED = "deferred"
    DOOMED = "doomed"
    SETTLED = "settled"


_Rank: TypeAlias = tuple[int, bytes, NodeId]


@dataclass(slots=True)
class _Entry:
    node: Node
    rank: _Rank = (0, b"", NodeId(""))
    place: Place = Place.WAITING
    missing: int = 0
    """How many of its constraints are not met yet."""
    attempts: int = 0
    needed_by: list[NodeId] = field(default_factory=list)
    before: list[NodeId] = field(default_factory=list)
    """Nodes that come after it."""
    outcome: NodeOutcome | None = None
    cause: str = ""
    replaced_by: tuple[NodeId, ...] = ()
    culprit: NodeId | None = None
    """The node whose failure took this one along."""


def _rank(entry: _Entry) -> _Rank:
    return entry.rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What there is to say about one node."""

    node: Node
    place: Place
    outcome: NodeOutcome | None
    cause: str
    """Why it did not succeed."""
    waits_for: tuple[NodeId, ...]
    """Nodes that have to end first; empty for one that waits for its paths, a slot or the budget."""


class Schedule:
    """A graph in execution. Not thread-safe: one thread decides, others may do the work.

    `jobs` nodes run at once. Ready nodes start longest chain first; `seed` decides between equals. `ceilings` bound what
    all nodes use together; the time they take is not looked at here.

    Raises:
        UsageError: The nodes are no graph that can be executed: an id twice, an unknown or circular dependency, a claim
            outside the repository.
    """

    def __init__(self, nodes: Sequence[Node], *, jobs: int, seed: int, ceilings: Ceilings) -> None:
        if jobs < 1:
            raise UsageError(f"a schedule cannot run {jobs} nodes at once; give it at least one")
        self._jobs, self._seed, self._ceilings = jobs, seed, ceilings
        self._entries: dict[NodeId, _Entry] = {}
        self._claims = Claims()
        self._ready: list[_Rank] = []
        self._doomed: deque[tuple[NodeId, NodeId]] = deque()
        """Nodes to be skipped, with the one that each needs in vain."""
        self._running: dict[NodeId, None] = {}
        self._deferred: dict[NodeId, None] = {}
        self._unsettled = 0
        self.used = NOTHING
        """What all settled nodes used."""
        self._add(nodes)

    # --- what there is to see -------------------------------------------------------------------

    @property
    def jobs(self) -> int:
        """How many nodes may run at once."""
        return self._jobs

    @property
    def running(self) -> tuple[NodeId, ...]:
        """Nodes that have started and not settled, in the order in which they started."""
        return tuple(self._running)

    @property
    def deferred(self) -> tuple[NodeId, ...]:
        """Nodes that the budget does not hold."""
        return tuple(self._deferred)

    @property
    def unsettled(self) -> int:
        """How many nodes have not ended."""
        return self._unsettled

    def node(self, node_id: NodeId) -> Node:
        """The node of this id."""
        return self._entry(node_id).node

    def standing(self) -> Mapping[NodeId, Standing]:
        """Every node, in the order in which the graph got them."""
        return {node_id: self._standing(entry) for node_id, entry in self._entries.items()}

    def _standing(self, entry: _Entry) -> Standing:
        waits = self._waits(entry.node) if entry.place is Place.WAITING else ()
        return Standing(
            node=entry.node,
            place=entry.place,
            outcome=entry.outcome,
            cause=entry.cause,
            waits_for=tuple(i for i in waits if self._entries[i].place is not Place.SETTLED),
        )

    # --- what happens ---------------------------------------------------------------------------

    def dispatch(self) -> tuple[Event, ...]:
        """Skip what cannot succeed any more, then start what can start now; the events are to be recorded first."""
        done: list[Event] = []
        while self._doomed:
            node_id, need = self._doomed.popleft()
            if self._entries[node_id].place is Place.DOOMED:
                done.append(self._skip(node_id, need))
        while len(self._running) < self._jobs and (entry := self._first()):
            short = self._shortage(entry.node.reserve)
            if short is None:
                done.append(self._start(entry))
            elif self._running:
                break
            else:
                done.append(self._defer(entry, short))
        return tuple(done)

    def settle(
        self,
        node_id: NodeId,
        outcome: NodeOutcome,
        *,
        cause: str = "",
        used: Cost = NOTHING,
        added: Sequence[Node] = (),
    ) -> NodeSettled:
        """A running node ended; the event is to be recorded before anything is started that follows from it.

        A node that is replaced adds the nodes that do its work from now on: the merge that has to be done again, or
        several sub-agents and what makes of their results. They may need nodes that have ended, that run, and each other.

        Raises:
            UsageError: It does not run; the added nodes are none that can be added.
        """
        if node_id not in self._running or outcome is NodeOutcome.SKIPPED:
            place = self._entry(node_id).place
            raise UsageError(f"node {node_id!r}, which is {place}, cannot settle as {outcome}")
        event = NodeSettled(
            node_id=node_id, outcome=outcome, cause=cause, used=used, added=tuple(added)
        )
        self._check_added(event)
        self.apply(event)
        return event

    def apply(self, event: Event) -> None:
        """Fold in one event; those of other kinds change nothing.

        Raises:
            LedgerError: The event cannot have happened to this graph.
        """
        match event:
            case ScheduleOpened():
                self._take_up()
            case NodeStarted(node_id=node_id, attempt=attempt):
                self._on_started(node_id, attempt)
            case NodeSettled():
                self._on_settled(event)
            case NodeDeferred(node_id=node_id):
                self._on_deferred(node_id)
            case _:
                pass

    # --- decisions ------------------------------------------------------------------------------

    def _first(self) -> _Entry | None:
        """The ready node that is next; a rank whose node has left its place is dropped only here."""
        while self._ready:
            entry = self._entries[self._ready[0][2]]
            if entry.place is Place.READY:
                return entry
            heapq.heappop(self._ready)
        return None

    def _skip(self, node_id: NodeId, need: NodeId) -> NodeSettled:
        culprit = self._entries[node_id].culprit
        why = "failed" if culprit == need else f"was skipped because {culprit} failed"
        event = NodeSettled(
            node_id=node_id, outcome=NodeOutcome.SKIPPED, cause=f"it needs {need}, which {why}"
        )
        self.apply(event)
        return event

    def _start(self, entry: _Entry) -> NodeStarted:
        event = NodeStarted(
            node_id=entry.node.node_id, node_kind=entry.node.kind, attempt=entry.attempts + 1
        )
        self.apply(event)
        return event

    def _defer(self, entry: _Entry, short: Shortage) -> NodeDeferred:
        event = NodeDeferred(
            node_id=entry.node.node_id, what=short.what, asked=short.asked, left=max(short.left, 0)
        )
        self.apply(event)
        return event

    def _shortage(self, reserve: Cost) -> Shortage | None:
        reserved = [self._entries[node_id].node.reserve for node_id in self._running]
        iterations = self.used.iterations + sum(cost.iterations for cost in reserved)
        left = self._ceilings.max_iterations - iterations
        if reserve.iterations > left:
            return Shortage(what="iterations", asked=reserve.iterations, left=left)
        spend = Spend(
            usage=Usage(prompt_tokens=self.used.tokens, cost_usd=self.used.cost_usd),
            reserved_tokens=sum(cost.tokens for cost in reserved),
            reserved_usd=sum(cost.cost_usd for cost in reserved),
        )
        return shortage(self._ceilings, spend, tokens=reserve.tokens, cost_usd=reserve.cost_usd)

    # --- transitions ----------------------------------------------------------------------------

    def _take_up(self) -> None:
        """Another process goes on: what ran is ready again, and what was deferred is looked at anew."""
        for node_id in self._running:
            self._to_ready(self._entries[node_id])
        again = sorted(self._entries[node_id].rank for node_id in self._deferred)
        self._running, self._deferred = {}, {}
        for rank in again:
            self._to_queue(self._entries[rank[2]])

    def _on_started(self, node_id: NodeId, attempt: int) -> None:
        entry = self._expected(node_id, Place.READY, "started")
        entry.place, entry.attempts = Place.RUNNING, attempt
        self._running[node_id] = None

    def _on_deferred(self, node_id: NodeId) -> None:
        entry = self._expected(node_id, Place.READY, "was deferred")
        entry.place = Place.DEFERRED
        self._deferred[node_id] = None
        self._free_paths(entry.node)

    def _on_settled(self, event: NodeSettled) -> None:
        skipped = event.outcome is NodeOutcome.SKIPPED
        wanted = Place.DOOMED if skipped else Place.RUNNING
        entry = self._expected(event.node_id, wanted, "settled")
        entry.place, entry.outcome, entry.cause = Place.SETTLED, event.outcome, event.cause
        self._unsettled -= 1
        self.used = Cost(
            tokens=self.used.tokens + event.used.tokens,
            cost_usd=self.used.cost_usd + event.used.cost_usd,
            iterations=self.used.iterations + event.used.iterations,
        )
        if not skipped:
            del self._running[event.node_id]
            self._free_paths(entry.node)
        self._add(event.added)
        self._tell_dependents(entry, event)

    def _tell_dependents(self, entry: _Entry, event: NodeSettled) -> None:
        match event.outcome:
            case NodeOutcome.SUCCEEDED:
                self._met(entry.needed_by)
            case NodeOutcome.REPLACED:
                entry.replaced_by = tuple(node.node_id for node in event.added)
                for heir in map(self._entries.__getitem__, entry.replaced_by):
                    heir.needed_by += entry.needed_by
                    heir.before += entry.before
                for waiting in (*entry.needed_by, *entry.before):
                    self._entries[waiting].missing += len(entry.replaced_by)
                self._met(entry.needed_by)
            case _:
                for waiting in entry.needed_by:
                    self._doom(waiting, event.node_id)
        self._met(entry.before)
        entry.needed_by, entry.before = [], []

    def _met(self, waiting: Sequence[NodeId]) -> None:
        for node_id in waiting:
            entry = self._entries[node_id]
            entry.missing -= 1
            if not entry.missing and entry.place is Place.WAITING:
                self._to_queue(entry)

    def _doom(self, node_id: NodeId, need: NodeId) -> None:
        entry = self._entries[node_id]
        if entry.place is Place.WAITING:
            entry.place = Place.DOOMED
            entry.culprit = self._entries[need].culprit or need
            self._doomed.append((node_id, need))

    def _to_queue(self, entry: _Entry) -> None:
        entry.place = Place.QUEUED
        if self._claims.enter(entry.node):
            self._to_ready(entry)

    def _to_ready(self, entry: _Entry) -> None:
        entry.place = Place.READY
        heapq.heappush(self._ready, entry.rank)

    def _free_paths(self, node: Node) -> None:
        for node_id in self._claims.leave(node):
            self._to_ready(self._entries[node_id])

    # --- the graph ------------------------------------------------------------------------------

    def _add(self, nodes: Sequence[Node]) -> None:
        """Take nodes into the graph; checked before anything changes."""
        if not nodes:
            return
        heights = chains(in_order(nodes, known=self._entries))
        for node in nodes:
            rank = (-heights[node.node_id], self._lot(node.node_id), node.node_id)
            self._entries[node.node_id] = _Entry(node=node, rank=rank)
        self._unsettled += len(nodes)
        for entry in sorted((self._entries[node.node_id] for node in nodes), key=_rank):
            self._bind(entry)

    def _bind(self, entry: _Entry) -> None:
        node_id, failed = entry.node.node_id, None
        for need in self._current(entry.node.needs):
            other = self._entries[need]
            if other.place is not Place.SETTLED:
                other.needed_by.append(node_id)
                entry.missing += 1
            elif other.outcome is not NodeOutcome.SUCCEEDED:
                failed = need
        for earlier in map(self._entries.__getitem__, self._current(entry.node.after)):
            if earlier.place is not Place.SETTLED:
                earlier.before.append(node_id)
                entry.missing += 1
        if failed is not None:
            self._doom(node_id, failed)
        elif not entry.missing:
            self._to_queue(entry)

    def _waits(self, node: Node) -> tuple[NodeId, ...]:
        return tuple(dict.fromkeys((*self._current(node.needs), *self._current(node.after))))

    def _current(self, nodes: Sequence[NodeId]) -> tuple[NodeId, ...]:
        """Those of these nodes that the graph has, each replaced one as the nodes that do its work now."""
        found: dict[NodeId, None] = {}
        left = [node_id for node_id in reversed(nodes) if node_id in self._entries]
        while left:
            node_id = left.pop()
            heirs = self._entries[node_id].replaced_by
            left += reversed(heirs)
            if not heirs:
                found[node_id] = None
        return tuple(found)

    def _check_added(self, event: NodeSettled) -> None:
        replaced = event.outcome is NodeOutcome.REPLACED
        if replaced and not event.added:
            raise UsageError(f"node {event.node_id!r} is replaced by nothing; add what replaces it")
        in_order(event.added, known=self._entries)
        for node in event.added:
            waits = self._waits(node)
            if replaced and event.node_id in waits:
                raise UsageError(
                    f"node {node.node_id!r} waits for {event.node_id!r}, which it replaces; leave that out"
                )
            for other in waits:
                if self._entries[other].place not in {Place.SETTLED, Place.RUNNING}:
                    raise UsageError(
                        f"node {node.node_id!r}, added by {event.node_id!r}, would wait for {other!r}, which has "
                        "not started and may wait for it; let it wait for nodes that ended, run, or are added with it"
                    )

    def _lot(self, node_id: NodeId) -> bytes:
        return hashlib.blake2b(f"{self._seed}:{node_id}".encode(), digest_size=8).digest()

    def _entry(self, node_id: NodeId) -> _Entry:
        try:
            return self._entries[node_id]
        except KeyError:
            raise LedgerError(
                f"the graph has no node {node_id!r}; it is not the one that the ledger was written for"
            ) from None

    def _expected(self, node_id: NodeId, place: Place, what: str) -> _Entry:
        entry = self._entry(node_id)
        if entry.place is not place:
            raise LedgerError(
                f"node {node_id!r} cannot have {what}: it is {entry.place}, not {place}; "
                "graph and ledger do not belong together"
            )
        return entry
