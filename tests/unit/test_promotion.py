"""The promotion policy by example: each threshold, each state, and what no data means."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

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
from surefoot.errors import UsageError
from surefoot.kernel.calibration import judged_by, mistaken
from surefoot.kernel.promotion import TRANSITIONS, Scorecard, decide, force, session_of, settle
from surefoot.kernel.selection import Choice, Contender, Rollout, choose
from surefoot.kernel.thresholds import SOLVER_PROMOTION_V1
from surefoot.values import Issue

AT = datetime(2026, 1, 1, tzinfo=UTC)
NOTES = Interface(kind="tool", name="notes", method="add")
CANDIDATE, PROBATION, DURABLE, DEGRADED, DISABLED = LifecycleState
V1 = SOLVER_PROMOTION_V1


def version(number: int = 0, kind: str = "tool") -> VersionId:
    return VersionId(interface=replace(NOTES, kind=kind), artifact=digest(str(number).encode()))


def good(count: int, *, sessions: int = 2) -> tuple[CallFacts, ...]:
    return tuple(
        CallFacts(session=f"task-{n % sessions}", ok=True, contract=True) for n in range(count)
    )


def card(calls: tuple[CallFacts, ...], siblings: frozenset[str] | None = None) -> Scorecard:
    return Scorecard(
        version=version(), calls=len(calls), recent=calls[-200:], sibling_keys=siblings
    )


def judged(
    calls: tuple[CallFacts, ...],
    *,
    state: LifecycleState = PROBATION,
    enforced: bool = True,
    incumbent: tuple[CallFacts, ...] | None = None,
    siblings: frozenset[str] | None = None,
    **changes: object,
) -> DecisionRecord:
    standing = replace(Standing(version=version(), state=state, enforced=True), **changes)
    rival = None if incumbent is None else replace(card(incumbent), version=version(9))
    line = Line(interface=NOTES, calls=len(calls))
    if rival is not None:
        line = replace(line, incumbents=(version(9).artifact,))
    return decide(
        standing, card(calls, siblings), line, incumbent=rival, policy=V1, enforced=enforced
    )


def unmet(record: DecisionRecord) -> list[str]:
    return [c.name for c in record.unmet]


FAILED = CallFacts(session="task-0", ok=False, contract=True)
BROKE_CONTRACT = CallFacts(session="task-0", ok=False, contract=False)


@pytest.mark.parametrize(
    ("calls", "missing"),
    [
        (good(10), []),
        (good(9), ["calls"]),
        (good(10, sessions=1), ["sessions"]),
        ((*good(18), FAILED, FAILED), []),
        ((*good(19), BROKE_CONTRACT), []),
        ((*good(18), BROKE_CONTRACT), ["contract_pass_rate"]),
        (tuple(replace(c, contract=None) for c in good(10)), ["contract_pass_rate"]),
    ],
)
def test_a_version_in_probation_is_promoted_exactly_at_the_thresholds(
    calls: tuple[CallFacts, ...], missing: list[str]
) -> None:
    """10 calls over 2 sessions, contract 0.95, success 0.90; a contract that was never checked is no pass."""
    record = judged(calls)
    assert unmet(record) == missing
    assert record.after is (PROBATION if missing else DURABLE)
    assert all(name in record.rationale for name in missing)


def test_the_forty_per_cent_example_of_the_first_system_is_held() -> None:
    """Ten calls, two sessions, four successes, no contract data, nothing exhausted: never durable, from no state."""
    calls = tuple(CallFacts(session=f"task-{n % 2}", ok=n % 5 < 2) for n in range(10))
    for state in (CANDIDATE, PROBATION, DEGRADED):
        record = judged(calls, state=state)
        assert record.decision is not Decision.PROMOTE
        assert record.after is not DURABLE
    held = judged(calls, state=DEGRADED, cool_until=99)
    assert (held.decision, held.note) == (Decision.HOLD, "cool-down: 89 calls left")
    assert "success_rate" in judged(calls).rationale


@pytest.mark.parametrize("fault", list(Fault))
def test_one_fault_in_the_window_closes_the_gate_and_two_hundred_calls_later_it_does_not(
    fault: Fault,
) -> None:
    """Windows decide, not a lifetime: what is out of the medium window is forgiven."""
    first = replace(good(1)[0], faults=(fault,))
    calls = (first, *good(30))
    assert unmet(judged(calls)) == [fault]
    assert judged((first, *good(200))).decision is Decision.PROMOTE


def test_a_provenance_regression_cannot_promote_and_degrades() -> None:
    """External data of undeclared origin is in the way of a version in probation, and takes a durable one out."""
    bad = replace(good(1)[0], faults=(Fault.PROVENANCE,))
    calls = (*good(12), bad)
    assert judged(calls).decision is Decision.DEGRADE
    assert judged(calls, state=DURABLE).after is DEGRADED


def test_a_challenger_has_to_be_no_worse_than_the_incumbent() -> None:
    """Its own thresholds are not enough."""
    worse = (*good(38), FAILED, FAILED)
    assert judged(worse, incumbent=good(20)).decision is Decision.CONTINUE_PROBATION
    assert unmet(judged(worse, incumbent=good(20))) == ["success_rate_of_incumbent"]
    assert judged(worse, incumbent=worse).decision is Decision.PROMOTE


def test_coherence_is_measured_against_what_siblings_really_used() -> None:
    """Diverging state keys lower it; it is told in shadow, and stands in the way under enforcement."""

    def writes(key: str) -> tuple[CallFacts, ...]:
        return tuple(replace(c, writes=(key,)) for c in good(10))

    same, other = frozenset({"notes"}), frozenset({"entries"})
    assert judged(writes("notes"), siblings=same).decision is Decision.PROMOTE
    shadow = judged(writes("notes"), siblings=other, enforced=False)
    assert shadow.decision is Decision.PROMOTE
    assert "state_key_consistency_ratio 0 (at least 0.5), advisory" in shadow.rationale
    assert judged(writes("notes"), siblings=other).decision is Decision.DEGRADE
    silent = judged(writes("notes"), siblings=frozenset())
    assert unmet(silent) == ["state_key_consistency_ratio"]
    assert "no data" in silent.rationale
    assert judged(writes("notes")).decision is Decision.PROMOTE, "no siblings, nothing to agree on"


@pytest.mark.parametrize(
    ("calls", "after"),
    [
        ((*good(20), FAILED, FAILED), DURABLE),
        ((*good(20), FAILED, FAILED, FAILED), DEGRADED),
        ((FAILED,) * 4, DURABLE),
        ((FAILED,) * 5, DEGRADED),
        ((*good(4), FAILED), DURABLE),
        ((*good(20), BROKE_CONTRACT, BROKE_CONTRACT), DEGRADED),
    ],
)
def test_a_durable_version_regresses_when_the_short_window_fails(
    calls: tuple[CallFacts, ...], after: LifecycleState
) -> None:
    """At least five calls, and more failures than the window of twenty may have however it goes on."""
    assert judged(calls, state=DURABLE).after is after


def test_a_long_good_life_does_not_hide_a_regression() -> None:
    """Ten thousand good calls, three bad ones: the window is what counts."""
    scorecard = replace(card((*good(197), FAILED, FAILED, FAILED)), calls=10_003)
    standing = Standing(version=version(), state=DURABLE, enforced=True)
    record = decide(
        standing, scorecard, Line(interface=NOTES), incumbent=None, policy=V1, enforced=True
    )
    assert record.decision is Decision.DEGRADE
    assert record.window == "short:20"


def test_a_candidate_waits_for_a_productive_call() -> None:
    """A call that was ok is not enough; its turn has to have come to something."""
    scorecard, line = card(good(1)), Line(interface=NOTES)
    standing = Standing(version=version())
    asked = {"incumbent": None, "policy": V1, "enforced": False}
    assert decide(standing, scorecard, line, **asked).after is CANDIDATE
    assert decide(standing, scorecard, line, **asked, productive=True).after is PROBATION


def test_after_a_degrade_it_takes_cool_down_probation_and_better_evidence() -> None:
    """Nothing jumps from degraded to durable; old calls do not count; twenty new ones do."""
    standing, line = (
        Standing(version=version(), state=DURABLE, enforced=True),
        Line(interface=NOTES, incumbents=(version(7).artifact, version().artifact), calls=12),
    )
    calls = (*good(10), FAILED, FAILED, FAILED)
    seen = []
    for _ in range(60):
        calls = (*calls, good(1, sessions=1)[0]) if len(calls) % 2 else (*calls, *good(2)[1:])
        line = replace(line, calls=line.calls + 1)
        record = decide(standing, card(calls), line, incumbent=None, policy=V1, enforced=True)
        standing, line = settle(standing, line, record, policy=V1, at=AT)
        seen.append(record)
    degraded = seen[0]
    assert (degraded.after, degraded.restored) == (DEGRADED, version(7).artifact)
    states = [r.after for r in seen]
    assert states.count(DEGRADED) == V1.cool_down_calls
    assert states.count(PROBATION) == V1.returned_min_calls
    assert states[-1] is DURABLE
    assert line.incumbents == (version(7).artifact, version().artifact)


def test_what_shadow_promoted_is_held_against_the_gate_again_under_enforcement() -> None:
    """A durable of the shadow engine ranks as probation until an enforced decision says the same."""
    shadow = Standing(version=version(), state=DURABLE)
    line = Line(interface=NOTES, incumbents=(version().artifact,))
    rollout = Rollout(enforcement=True)
    before = choose([Contender(standing=shadow, order=1)], line, rollout)
    assert before is not None
    assert before.reason == "probation"
    asked = {"incumbent": None, "policy": V1, "enforced": True}
    confirmed = decide(shadow, card(good(10)), line, **asked)
    proven, line = settle(shadow, line, confirmed, policy=V1, at=AT)
    after = choose([Contender(standing=proven, order=1)], line, rollout)
    assert after is not None
    assert after.reason == "incumbent"
    doubted = decide(shadow, card(good(10, sessions=1)), line, **asked)
    back, line = settle(shadow, line, doubted, policy=V1, at=AT)
    assert (back.state, line.incumbents) == (PROBATION, ())


def contender(number: int, state: LifecycleState, successes: int = 0) -> Contender:
    return Contender(
        standing=Standing(version=version(number), state=state, enforced=True),
        order=number,
        calls=10,
        successes=successes,
    )


def test_the_order_of_the_choice() -> None:
    """Incumbent, then the incumbent before it, then probation, then the best candidate; never degraded, never disabled."""
    line = Line(interface=NOTES, incumbents=(version(1).artifact, version(2).artifact))
    everyone = [
        contender(1, DURABLE),
        contender(2, DURABLE),
        contender(3, PROBATION, 4),
        contender(4, CANDIDATE, 9),
        contender(5, CANDIDATE, 10),
        contender(6, DEGRADED, 10),
        contender(7, DISABLED, 10),
    ]
    rollout, gone, order = Rollout(enforcement=True), [], []
    while (found := choose(everyone, line, rollout, without=gone)) is not None:
        order.append((found.version, found.reason))
        gone.append(found.version.artifact)
    assert order == [
        (version(2), "incumbent"),
        (version(1), "fallback"),
        (version(3), "probation"),
        (version(5), "candidate"),
        (version(4), "candidate"),
    ]
    served = choose(everyone, line, rollout)
    assert served == Choice(version=version(2), reason="incumbent", trial=version(3))


@pytest.mark.parametrize(
    "rollout",
    [Rollout(), Rollout(shadow=False), Rollout(enforcement=True, kill_switch="off")],
)
def test_without_enforcement_the_latest_serves_whatever_its_state(rollout: Rollout) -> None:
    """As it was before there was a policy; only a person's `disable` holds."""
    everyone = [contender(1, DURABLE), contender(2, DEGRADED), contender(3, DISABLED)]
    line = Line(interface=NOTES, incumbents=(version(1).artifact,))
    assert choose(everyone, line, rollout) == Choice(version=version(2), reason="latest")


def test_the_kill_switch_incumbent_only_serves_nothing_else() -> None:
    """Neither a challenger nor a trial, with or without enforcement."""
    everyone = [contender(1, DURABLE), contender(2, PROBATION)]
    line = Line(interface=NOTES, incumbents=(version(1).artifact,))
    for enforcement in (False, True):
        rollout = Rollout(enforcement=enforcement, kill_switch="incumbent-only")
        assert choose(everyone, line, rollout) == Choice(version=version(1), reason="incumbent")
        assert choose(everyone[1:], Line(interface=NOTES), rollout) is None


def test_another_kind_of_artifact_goes_through_the_same_engine() -> None:
    """A compiled decision policy: nothing of the life cycle knows what a version is made of."""
    bundle = VersionId(
        interface=Interface(kind="policy", name="tool_call", method="decide"),
        artifact=digest(b"compiled prompt and demonstrations"),
    )
    standing, line = Standing(version=bundle), Line(interface=bundle.interface)
    scorecard = Scorecard(version=bundle)
    for call in (*good(10), FAILED, FAILED, FAILED):
        scorecard = replace(scorecard, calls=scorecard.calls + 1, recent=(*scorecard.recent, call))
        record = decide(
            standing,
            scorecard,
            replace(line, calls=scorecard.calls),
            incumbent=None,
            policy=V1,
            enforced=True,
            productive=True,
        )
        standing, line = settle(standing, line, record, policy=V1, at=AT)
        if scorecard.calls in (1, 10, 13):
            assert standing.state is {1: PROBATION, 10: DURABLE, 13: DEGRADED}[scorecard.calls]


def test_a_person_moves_a_version_by_one_step() -> None:
    """Also a person's degraded version goes back through probation, with evidence from there on."""
    line = Line(interface=NOTES)
    standing = Standing(version=version(), state=DEGRADED)
    standing, line = force(standing, line, OperatorAct.PROMOTE, calls=30, policy=V1)
    assert (standing.state, standing.evidence_from) == (PROBATION, 30)
    standing, line = force(standing, line, OperatorAct.PROMOTE, calls=30, policy=V1)
    assert (standing.state, line.incumbents) == (DURABLE, (version().artifact,))
    with pytest.raises(UsageError, match="from there: demote, disable"):
        force(standing, line, OperatorAct.PROMOTE, calls=30, policy=V1)
    standing, line = force(standing, line, OperatorAct.DISABLE, calls=30, policy=V1)
    assert (standing.state, line.incumbents) == (DISABLED, ())


def test_a_disabled_version_stays_so_whatever_it_does() -> None:
    """Only a person brings it back."""
    assert TRANSITIONS[DISABLED] == {Decision.HOLD: DISABLED}
    assert judged(good(200), state=DISABLED).after is DISABLED


def test_decisions_are_judged_by_the_twenty_calls_after_them() -> None:
    """A promotion by a regression, a hold by calls that all pass; before there are twenty nobody knows."""
    promoted = judged(good(10))
    assert judged_by(promoted) == "promotion"
    assert judged_by(judged(good(9))) == "", "waiting for calls is no judgement"
    held = judged((*good(16), FAILED, FAILED))
    assert judged_by(held) == "hold"
    assert judged_by(judged(good(5), state=DEGRADED, cool_until=9)) == ""

    def later(judges: str, calls: tuple[CallFacts, ...]) -> bool | None:
        return mistaken(judges, card((*good(10), *calls)), since=10, policy=V1)

    assert later("promotion", good(19)) is None
    assert later("promotion", good(20)) is False
    assert later("promotion", (*good(6), FAILED, FAILED, FAILED)) is True
    assert later("hold", good(19)) is None
    assert later("hold", good(20)) is True
    assert later("hold", (*good(17), FAILED, FAILED, FAILED)) is False


def test_runs_on_one_task_are_one_session() -> None:
    """The text decides, however it was given."""
    first = session_of(Issue(source="text", text="sum is wrong"))
    assert first == session_of(Issue(source="file", text="sum is wrong\n"))
    assert first != session_of(Issue(source="text", text="sum is slow"))
