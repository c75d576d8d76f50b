"""What holds for the life cycle whatever calls come, in whatever order, with whatever faults."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.artifacts import (
    CallFacts,
    Decision,
    DecisionRecord,
    Fault,
    Interface,
    LifecycleState,
    Line,
    OperatorAct,
    Standing,
    VersionId,
)
from surefoot.codec import digest
from surefoot.kernel.promotion import (
    ACTS,
    TRANSITIONS,
    Scorecard,
    decide,
    force,
    settle,
    tally,
)
from surefoot.kernel.selection import Contender, Rollout, choose
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1
from surefoot.testing.scorecards import observe
from surefoot.values import Digest

AT = datetime(2026, 1, 1, tzinfo=UTC)
V1 = SOLVER_PROMOTION_V1
INTERFACE = Interface(kind="tool", name="notes", method="add")
IDS = [VersionId(interface=INTERFACE, artifact=digest(bytes([n]))) for n in range(3)]
ROLLOUT = Rollout(enforcement=True)

calls = st.builds(
    CallFacts,
    session=st.sampled_from(["a", "b", "c"]),
    # Mostly good: what never gets anywhere shows nothing.
    ok=st.sampled_from([True] * 12 + [False]),
    contract=st.sampled_from([True] * 12 + [False, None]),
    faults=st.sampled_from([()] * 30 + [(fault,) for fault in Fault]),
)
burst = st.one_of(
    st.lists(calls, min_size=1, max_size=30),
    st.lists(st.just(CallFacts(session="a", ok=True, contract=True)), min_size=5, max_size=40),
    st.lists(st.just(CallFacts(session="b", ok=True, contract=True)), min_size=5, max_size=40),
    st.lists(st.just(CallFacts(session="c", ok=False, contract=False)), min_size=1, max_size=6),
)
acts = st.sampled_from([None] * 9 + list(OperatorAct))
steps = st.lists(st.tuples(st.sampled_from([0, 1, 2]), burst, acts), max_size=12)


@dataclass
class World:
    """Three versions of one interface; only what is called moves."""

    standings: dict[Digest, Standing]
    cards: dict[Digest, Scorecard]
    line: Line

    @classmethod
    def new(cls) -> "World":
        return cls(
            standings={v.artifact: Standing(version=v) for v in IDS},
            cards={v.artifact: Scorecard(version=v) for v in IDS},
            line=Line(interface=INTERFACE),
        )

    def call(self, artifact: Digest, call: CallFacts) -> DecisionRecord:
        self.cards[artifact] = observe(self.cards[artifact], call, keep=V1.medium_window)
        self.line = replace(self.line, calls=self.line.calls + 1)
        rival = self.line.incumbent
        record = decide(
            self.standings[artifact],
            self.cards[artifact],
            self.line,
            incumbent=None if rival in {None, artifact} else self.cards[rival],
            policy=V1,
            enforced=True,
            productive=call.ok,
        )
        self.standings[artifact], self.line = settle(
            self.standings[artifact], self.line, record, policy=V1, at=AT
        )
        return record

    def force(self, artifact: Digest, act: OperatorAct) -> None:
        standing = self.standings[artifact]
        if act in ACTS[standing.state]:
            number = self.cards[artifact].calls
            self.standings[artifact], self.line = force(
                standing, self.line, act, calls=number, policy=V1
            )

    def serves(self) -> VersionId | None:
        contenders = [Contender(standing=s, order=n) for n, s in enumerate(self.standings.values())]
        choice = choose(contenders, self.line, ROLLOUT)
        return None if choice is None else choice.version


@settings(max_examples=100, deadline=None)
@given(steps)
def test_no_sequence_breaks_what_the_life_cycle_promises(
    sequence: list[tuple[int, list[CallFacts], OperatorAct | None]],
) -> None:
    """Below its thresholds nothing is promoted, an incumbent always serves, and none is forgotten while it is durable."""
    world = World.new()
    fallen: dict[Digest, int] = {}
    for number, outcomes, act in sequence:
        artifact = IDS[number].artifact
        for call in outcomes:
            before = world.standings[artifact]
            record = world.call(artifact, call)
            after = world.standings[artifact]
            assert after.state is TRANSITIONS[before.state][record.decision]
            if record.decision is Decision.PROMOTE and before.state is LifecycleState.PROBATION:
                _holds_the_thresholds(world, before, artifact)
            if after.state is LifecycleState.DEGRADED and before.state is not after.state:
                fallen[artifact] = world.line.calls
            if after.state is LifecycleState.DURABLE and before.state is not after.state:
                since = world.line.calls - fallen.get(artifact, -V1.cool_down_calls)
                assert since >= V1.cool_down_calls, "it oscillates faster than the cool-down"
            _is_whole(world)
        if act is not None:
            world.force(artifact, act)
            fallen.pop(artifact, None)
            _is_whole(world)


def _holds_the_thresholds(world: World, standing: Standing, artifact: Digest) -> None:
    seen = tally(world.cards[artifact].window(V1.medium_window, since=standing.evidence_from))
    assert seen.calls >= (V1.returned_min_calls if standing.degrades else V1.min_calls)
    assert seen.sessions >= V1.min_sessions
    assert (seen.contract_rate or 0) >= V1.min_contract_rate
    assert (seen.success_rate or 0) >= V1.min_success_rate
    assert not any(seen.faults.values())


def _is_whole(world: World) -> None:
    """The line holds the durable versions, all of them and nothing else, and the last of them serves."""
    durable = {a for a, s in world.standings.items() if s.state is LifecycleState.DURABLE}
    assert set(world.line.incumbents) == durable
    assert len(world.line.incumbents) == len(durable)
    served = world.serves()
    if world.line.incumbent is not None:
        assert served is not None
        assert served.artifact == world.line.incumbent
    if served is not None:
        state = world.standings[served.artifact].state
        assert state not in {LifecycleState.DEGRADED, LifecycleState.DISABLED}


@settings(max_examples=25, deadline=None)
@given(st.lists(calls, max_size=60))
def test_no_data_is_never_a_pass(outcomes: list[CallFacts]) -> None:
    """Calls whose contract was never checked promote nothing, however many succeed."""
    world = World.new()
    for call in outcomes:
        world.call(IDS[0].artifact, replace(call, contract=None, ok=True, faults=()))
    assert world.standings[IDS[0].artifact].state is not LifecycleState.DURABLE


@settings(max_examples=25, deadline=None)
@given(st.lists(calls, min_size=40, max_size=60))
def test_a_provenance_regression_cannot_promote(outcomes: list[CallFacts]) -> None:
    """A version whose every call rests on undeclared data is never durable."""
    world = World.new()
    for call in outcomes:
        world.call(
            IDS[0].artifact, replace(call, ok=True, contract=True, faults=(Fault.PROVENANCE,))
        )
        assert world.standings[IDS[0].artifact].state is not LifecycleState.DURABLE
