"""Random graphs, claims, failures and kills against a plain reading of what a schedule promises."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from surefoot.events.envelope import Event
from surefoot.events.orchestration import NodeDeferred, NodeSettled, NodeStarted, ScheduleOpened
from surefoot.kernel.claims import overlap
from surefoot.kernel.schedule import Place, Schedule
from surefoot.nodes import NOTHING, Cost, Node, NodeId, NodeKind, NodeOutcome
from surefoot.values import Ceilings, Digest

PATHS = ("a.py", "b.py", "src/a.py", "src/b.py", "src/sub/c.py", "tests/t.py", "docs/x.md")
GLOBS = ("src/*.py", "src/**", "src/sub", "docs/", "**/t.py", "tests/t_*.py")
KINDS = tuple(NodeKind)
OPENED = ScheduleOpened(graph=Digest("0" * 64), nodes=0, jobs=1, seed=0)
seeds = st.integers(min_value=0, max_value=2**32)


def claims(rng: random.Random) -> tuple[str, ...]:
    pool = PATHS if rng.random() < 0.9 else GLOBS
    return tuple(rng.sample(pool, rng.choice((0, 0, 1, 1, 2))))


def graph(rng: random.Random, size: int) -> tuple[Node, ...]:
    """Nodes in no particular order; each waits for a few of those with a smaller number."""
    free = rng.random() < 0.2
    nodes = []
    for number in range(size):
        near = range(max(0, number - rng.choice((3, 30, size))), number)
        picked = [NodeId(f"n{i}") for i in rng.sample(near, min(len(near), rng.choice((0, 1, 2))))]
        cut = rng.randint(0, len(picked))
        ghosts = [NodeId("nobody")] if rng.random() < 0.1 else []
        nodes.append(
            Node(
                node_id=NodeId(f"n{number}"),
                kind=rng.choice(KINDS),
                needs=tuple(picked[:cut]),
                after=(*picked[cut:], *ghosts),
                reads=() if free else claims(rng),
                writes=() if free else claims(rng),
                reserve=Cost(tokens=rng.choice((0, 0, 3, 9)), iterations=rng.choice((0, 1))),
            )
        )
    rng.shuffle(nodes)
    return tuple(nodes)


def conflict(one: Node, other: Node) -> bool:
    """Whether two nodes may not run at the same time."""
    return any(
        overlap(write, claim)
        for node, against in ((one, other), (other, one))
        for write in node.writes
        for claim in (*against.writes, *against.reads)
    )


@dataclass
class Play:
    """A schedule in the hands of chance, and a judge that knows only the rules."""

    nodes: tuple[Node, ...]
    ceilings: Ceilings
    jobs: int
    seed: int
    rng: random.Random
    events: list[Event] = field(default_factory=list)
    kills: int = 0

    def __post_init__(self) -> None:
        self.all = {node.node_id: node for node in self.nodes}
        self.ends: dict[NodeId, NodeSettled] = {}
        self.running: dict[NodeId, Node] = {}
        self.started: list[NodeId] = []
        self.schedule = self.rebuilt(self.events)

    def rebuilt(self, events: Sequence[Event]) -> Schedule:
        schedule = Schedule(self.nodes, jobs=self.jobs, seed=self.seed, ceilings=self.ceilings)
        for event in events:
            schedule.apply(event)
        return schedule

    # --- the judge ---

    def heirs(self, node_id: NodeId) -> list[NodeId]:
        end = self.ends.get(node_id)
        if end is None or end.outcome is not NodeOutcome.REPLACED:
            return [node_id]
        return [heir for node in end.added for heir in self.heirs(node.node_id)]

    def outcomes(self, waits: Sequence[NodeId]) -> list[NodeOutcome | None]:
        present = [heir for node_id in waits if node_id in self.all for heir in self.heirs(node_id)]
        return [self.ends[i].outcome if i in self.ends else None for i in present]

    def spent(self) -> Cost:
        costs = [end.used for end in self.ends.values()]
        costs += [node.reserve for node in self.running.values()]
        return Cost(
            tokens=sum(cost.tokens for cost in costs), iterations=sum(c.iterations for c in costs)
        )

    def judge(self, event: Event) -> None:
        match event:
            case NodeStarted(node_id=node_id):
                node = self.all[node_id]
                assert node_id not in {*self.ends, *self.running}
                assert {*self.outcomes(node.needs)} <= {NodeOutcome.SUCCEEDED}
                assert None not in self.outcomes(node.after)
                assert not [o for o in self.running.values() if conflict(node, o)]
                self.running[node_id] = node
                self.started.append(node_id)
                assert len(self.running) <= self.jobs
                assert self.spent().tokens <= (self.ceilings.tokens or 10**9)
                assert self.spent().iterations <= self.ceilings.max_iterations
            case NodeSettled(node_id=node_id):
                assert node_id not in self.ends
                skipped = event.outcome is NodeOutcome.SKIPPED
                assert skipped is (self.running.pop(node_id, None) is None)
                if skipped:
                    bad = {NodeOutcome.FAILED, NodeOutcome.SKIPPED}
                    assert bad & {*self.outcomes(self.all[node_id].needs)}
                self.ends[node_id] = event
                self.all |= {node.node_id: node for node in event.added}
            case NodeDeferred():
                assert not self.running
            case _:
                pass

    # --- chance ---

    def tick(self) -> bool:
        batch: list[Event] = []
        if self.running:
            some = self.rng.sample(
                sorted(self.running), self.rng.randint(1, min(4, len(self.running)))
            )
            batch += [self.settle(node_id) for node_id in some]
        batch += self.schedule.dispatch()
        if self.kills and self.rng.random() < 0.05:
            self.kills -= 1
            batch = batch[: self.rng.randint(0, len(batch))]
            for event in batch:
                self.judge(event)
            self.events += [*batch, OPENED]
            self.running = {}
            self.schedule = self.rebuilt(self.events)
            return True
        for event in batch:
            self.judge(event)
        self.events += batch
        assert self.running or not self.schedule.running
        return bool(batch)

    def settle(self, node_id: NodeId) -> NodeSettled:
        node, added = self.all[node_id], ()
        outcome = self.rng.choices(
            (NodeOutcome.SUCCEEDED, NodeOutcome.FAILED, NodeOutcome.REPLACED), (90, 4, 6)
        )[0]
        if outcome is NodeOutcome.REPLACED:
            running = [r for r in self.schedule.running if r != node_id]
            added = tuple(
                Node(
                    node_id=NodeId(f"{node_id}.{number}"),
                    kind=NodeKind.REPROCESS,
                    needs=(NodeId(f"{node_id}.0"),) if number else (),
                    after=tuple(self.rng.sample(running, min(1, len(running)))),
                    writes=node.writes,
                    reserve=node.reserve,
                )
                for number in range(self.rng.choice((1, 1, 2)))
            )
        used = Cost(
            tokens=self.rng.randint(0, node.reserve.tokens), iterations=node.reserve.iterations
        )
        return self.schedule.settle(node_id, outcome, used=used, added=added)

    def to_the_end(self) -> None:
        while self.tick():
            pass

    def open_ones(self) -> set[NodeId]:
        return {*self.all} - {*self.ends}


def play(seed: int, size: int, *, kills: int = 0, scarce: bool = False) -> Play:
    rng = random.Random(seed)
    tokens = rng.randint(0, size * 3) if scarce else None
    ceilings = Ceilings(max_iterations=size * 2 + 2, time_s=1, max_files=1, tokens=tokens)
    nodes = graph(rng, size)
    game = Play(nodes, ceilings, rng.choice((1, 2, 4, 50)), rng.randint(0, 9), rng, kills=kills)
    game.to_the_end()
    return game


@settings(max_examples=120, deadline=None)
@given(seed=seeds, size=st.integers(1, 60), kills=st.integers(0, 5))
def test_every_node_settles_once_by_the_rules_whatever_fails_and_whoever_is_killed(
    seed: int, size: int, kills: int
) -> None:
    """No overlap, nothing early, nothing lost, no deadlock; `judge` holds each event against the rules."""
    game = play(seed, size, kills=kills)
    assert not game.open_ones()
    assert not game.schedule.unsettled


@settings(max_examples=80, deadline=None)
@given(seed=seeds, size=st.integers(1, 60), kills=st.integers(0, 3))
def test_what_the_budget_does_not_hold_is_deferred_with_what_waits_for_it_and_nothing_else(
    seed: int, size: int, kills: int
) -> None:
    """The ceilings are never passed, and whatever is open at the end waits for a deferred node, or is one."""
    game = play(seed, size, kills=kills, scarce=True)
    reasons = {*game.schedule.deferred}
    for node_id, standing in game.schedule.standing().items():
        assert standing.place in {Place.SETTLED, Place.DEFERRED, Place.WAITING}
        if standing.place is Place.DEFERRED:
            left = (game.ceilings.tokens or 0) - game.spent().tokens
            rounds = game.ceilings.max_iterations - game.spent().iterations
            assert standing.node.reserve.tokens > left or standing.node.reserve.iterations > rounds
        if standing.place is Place.WAITING:
            assert {*standing.waits_for} & game.open_ones(), node_id
    assert bool(game.open_ones()) is bool(reasons)


@settings(max_examples=4, deadline=None, phases=(Phase.generate,))
@given(seed=seeds, size=st.integers(1500, 2000))
def test_graphs_of_two_thousand_nodes_keep_the_same_rules(seed: int, size: int) -> None:
    """As above, at the size that the rules are promised for."""
    game = play(seed, size, kills=3)
    assert not game.open_ones()


@settings(max_examples=60, deadline=None)
@given(seed=seeds, size=st.integers(1, 60))
def test_a_schedule_that_is_rebuilt_from_its_events_stands_where_the_live_one_stands(
    seed: int, size: int
) -> None:
    """And goes on in the same way."""
    game = play(seed, size, scarce=True)
    again = game.rebuilt(game.events)
    assert again.standing() == game.schedule.standing()
    cut = game.rng.randint(0, len(game.events))
    first, second = game.rebuilt(game.events[:cut]), game.rebuilt(game.events[:cut])
    assert first.dispatch() == second.dispatch()


@settings(max_examples=60, deadline=None)
@given(seed=seeds, size=st.integers(1, 60))
def test_the_same_seed_starts_nodes_in_the_same_order(seed: int, size: int) -> None:
    """Also in which order the graph lists its nodes does not matter."""
    nodes = graph(random.Random(seed), size)
    ceilings = Ceilings(max_iterations=size, time_s=1, max_files=1)
    orders = []
    for listed in (nodes, nodes, tuple(sorted(nodes, key=lambda node: node.node_id))):
        schedule = Schedule(listed, jobs=1, seed=seed, ceilings=ceilings)
        order: list[NodeId] = []
        while events := schedule.dispatch():
            order += [e.node_id for e in events if isinstance(e, NodeStarted)]
            for node_id in schedule.running:
                schedule.settle(node_id, NodeOutcome.SUCCEEDED, used=NOTHING)
        orders.append(order)
    assert orders[0] == orders[1]
    assert len(orders[0]) == size
    assert orders[0] == orders[2]


def test_claims_overlap_at_least_where_the_globs_match_the_same_path() -> None:
    """Wider than the globs, never narrower."""
    files = (*PATHS, "src/sub/t.py", "tests/t_1.py", "docs/deep/y.md")

    def matches(path: str, claim: str) -> bool:
        return path == claim or path.startswith(f"{claim.rstrip('/')}/") or fnmatch(path, claim)

    for one in (*PATHS, *GLOBS):
        for other in (*PATHS, *GLOBS):
            if any(matches(path, one) and matches(path, other) for path in files):
                assert overlap(one, other), (one, other)
    assert not overlap("src/a.py", "src/b.py")
    assert not overlap("src/a", "src/ab")
