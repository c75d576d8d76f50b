"""The decision gates are a reading of the ledger: what is not recorded, or not as the table has it, fails (SPEC B9)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from surefoot.events.envelope import Event, Recorded
from surefoot.events.orchestration import GateDecided, PhaseChanged, RunOpened, TurnClosed
from surefoot.events.policy import BoundariesChecked, PolicyResolved, RoundVerified
from surefoot.judgements import Boundary
from surefoot.kernel.critique import decide, is_go, stops
from surefoot.kernel.lifecycle import Phase, Trigger
from surefoot.values import (
    Audit,
    AuditorResult,
    AuditorState,
    CommitId,
    Digest,
    EventId,
    Finding,
    GateName,
    GateOutcome,
    GateResult,
    Issue,
    RunId,
    Severity,
    TreeId,
    TurnId,
    UnitId,
)

BASE, TREE = TreeId("a" * 40), TreeId("b" * 40)
TURN = TurnId("t1")
OPENED = RunOpened(
    issue=Issue(source="text", text="x"),
    mode="auto_solve_full",
    model="m",
    repo="r",
    branch="main",
    base=CommitId("c" * 40),
    base_tree=BASE,
    settings=Digest("0" * 64),
    seed=0,
    version="0",
)
POLICY = PolicyResolved(
    mode="auto_solve_full",
    can_execute=True,
    can_fix=True,
    can_escalate=True,
    max_iterations=8,
    time_s=60.0,
    max_files=40,
    tokens=None,
    cost_usd=None,
    risk_flags=(),
    hard_stops=(),
)
VERIFIED = GateDecided(
    result=GateResult(
        gate=GateName.VERIFICATION, outcome=GateOutcome.PASS, reason="tests pass", failure=None
    )
)
CLOSED = TurnClosed(
    unit_id=UnitId("fix-1"),
    number=1,
    ended_as="commit",
    tree=TREE,
    commit=CommitId("d" * 40),
    classification=None,
    outcome="pass",
    reason="done",
)
CHECKED = RoundVerified(phase="complete", done=True, blocker=None)
LOOKED = BoundariesChecked(tree=TREE, files=("a.py",), boundaries=())
HOLDS = Boundary(kind="call", place="a.py:3", contract="f is f(x) in b.py")
BROKEN = Boundary(kind="signature", place="b.py:1", contract="f: …", problem="does not bind")
FINDING = Finding(
    finding_id="f1",
    tool="ruff",
    rule="F821",
    severity=Severity.HIGH,
    category="lint",
    file="a.py",
    line=1,
    column=1,
    message="undefined name",
    fingerprint="f" * 16,
)


def step(before: Phase, trigger: Trigger, after: Phase) -> PhaseChanged:
    return PhaseChanged(before=before, after=after, trigger=trigger, reason="")


STEPS: tuple[PhaseChanged, ...] = (
    step(Phase.AUDITING, Trigger.WORK_FOUND, Phase.PLANNING),
    step(Phase.PLANNING, Trigger.PLANNED, Phase.SOLVING),
    step(Phase.SOLVING, Trigger.UNITS_DONE, Phase.REVIEW),
    step(Phase.REVIEW, Trigger.REVIEW_PASSED, Phase.POST_CHECKS),
    step(Phase.POST_CHECKS, Trigger.CHECKS_PASSED, Phase.DELTA_CRITIQUE),
)
CLEAN = Audit(results=(AuditorResult(tool="ruff", state=AuditorState.OK),))
GOOD: tuple[Event, ...] = (
    OPENED,
    POLICY,
    *STEPS[:2],
    VERIFIED,
    CLOSED,
    *STEPS[2:],
    CHECKED,
    LOOKED,
)


def recorded(events: Sequence[Event]) -> tuple[Recorded, ...]:
    return tuple(
        Recorded(
            event_id=EventId(f"r:{n}"),
            trace_id=RunId("r"),
            turn_id=TURN if event in (VERIFIED, CLOSED) else None,
            caused_by=None,
            time=datetime(2026, 1, 1, tzinfo=UTC),
            event=event,
            previous_hash="",
            hash="",
        )
        for n, event in enumerate(events, 1)
    )


def failed(events: Sequence[Event], locked: str | None = None) -> list[str]:
    return [
        g.gate
        for g in decide(recorded(events), TREE, locked, before=CLEAN, after=CLEAN)
        if not g.passed
    ]


def without(*gone: Event) -> tuple[Event, ...]:
    return tuple(e for e in GOOD if e not in gone)


def test_a_whole_round_is_a_go_with_evidence() -> None:
    """Each gate names the records that it was decided on."""
    gates = decide(recorded(GOOD), TREE, None, before=CLEAN, after=CLEAN)
    assert is_go(gates)
    assert stops(gates) is None
    assert all(g.events for g in gates)


@pytest.mark.parametrize(
    ("events", "gate"),
    [
        (without(POLICY), "G1"),
        (without(LOOKED), "G2"),
        ((*without(LOOKED), BoundariesChecked(tree=BASE, files=(), boundaries=())), "G2"),
        (
            (*without(LOOKED), BoundariesChecked(tree=TREE, files=(), boundaries=(HOLDS, BROKEN))),
            "G2",
        ),
        (without(STEPS[-1]), "G3"),
        (without(STEPS[2]), "G3"),
        (without(*STEPS), "G3"),
        (without(VERIFIED), "G4"),
        (without(CLOSED), "G4"),
        (without(CHECKED), "G5"),
        ((*without(CHECKED), RoundVerified(phase="solving", done=False, blocker=None)), "G5"),
    ],
)
def test_what_is_missing_or_wrong_fails_its_gate(events: Sequence[Event], gate: str) -> None:
    """One record taken away or altered fails exactly the gate that rests on it."""
    assert failed(events) == [gate]


ROLLED_BACK = replace(CLOSED, number=2, ended_as="rollback", tree=BASE, commit=None)
VETOED = step(Phase.REVIEW, Trigger.REVIEW_VETOED, Phase.SOLVING)


def test_a_turn_that_kept_nothing_after_a_veto_needs_no_verification() -> None:
    """It ends on the base, from which the work begins again, and not on the tree of the turn before it."""
    first = GOOD[: GOOD.index(CLOSED) + 1]
    rest = (VERIFIED, CLOSED, *GOOD[len(first) :])
    again = (*first, STEPS[2], VETOED, ROLLED_BACK, *rest)
    assert failed(again) == []


def test_the_same_tree_kept_again_after_a_veto_is_verified_again() -> None:
    """What was verified before the veto vouches for no other turn."""
    second = replace(CLOSED, number=2)
    first = GOOD[: GOOD.index(CLOSED) + 1]
    again = (*first, STEPS[2], VETOED, second, *GOOD[len(first) :])
    assert failed(again) == ["G4"]


def test_a_lock_stops_the_round() -> None:
    assert failed(GOOD, locked="inspection") == ["G1"]


def test_a_step_outside_the_table_stops_the_round() -> None:
    """From failing checks nothing leads on."""
    leap = step(Phase.POST_CHECKS, Trigger.CHECKS_FAILED, Phase.DELTA_CRITIQUE)
    gates = decide(recorded((*without(STEPS[-1]), leap)), TREE, None, before=CLEAN, after=CLEAN)
    stop = stops(gates)
    assert stop is not None
    assert stop.gate == "G3"


def test_a_new_finding_is_no_go_but_no_stop() -> None:
    """It is work for another round."""
    after = Audit(results=(AuditorResult(tool="ruff", state=AuditorState.OK, findings=(FINDING,)),))
    gates = decide(recorded(GOOD), TREE, None, before=CLEAN, after=after)
    assert stops(gates) is None
    assert not is_go(gates)
    assert is_go(decide(recorded(GOOD), TREE, None, before=after, after=after))


@pytest.mark.parametrize(
    "results", [(), (AuditorResult(tool="ruff", state=AuditorState.BROKEN, message="crashed"),)]
)
def test_an_auditor_that_fell_silent_is_no_go(results: tuple[AuditorResult, ...]) -> None:
    """What gives no answer after the change has not found it clean; what gave none before may go on so."""
    after = Audit(results=results)
    gates = decide(recorded(GOOD), TREE, None, before=CLEAN, after=after)
    assert [g.reason for g in gates if not g.passed] == ["no answer from ruff after the change"]
    assert stops(gates) is None
    assert is_go(decide(recorded(GOOD), TREE, None, before=after, after=after))


def test_contracts_that_hold_pass() -> None:
    kept = BoundariesChecked(tree=TREE, files=("a.py",), boundaries=(HOLDS,))
    assert failed((*without(LOOKED), kept)) == []
