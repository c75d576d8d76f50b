"""What is told of a run is what its ledger says of it, at the time of its last event."""

from datetime import timedelta

import pytest

from surefoot.events.calls import ModelGrounded
from surefoot.events.orchestration import NoFlyAdded, PlanMade, RunOpened
from surefoot.events.policy import PolicyResolved
from surefoot.inspection import asked_of_router
from surefoot.kernel.state import fold
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    CommitId,
    Complexity,
    Digest,
    Issue,
    ModelFault,
    PlanIR,
    TreeId,
    Unit,
    UnitId,
    UnitType,
)

UNIT = Unit(
    unit_id=UnitId("fix-1"),
    unit_type=UnitType.FIX,
    strategy="repair",
    issue=Issue(source="text", text="it breaks"),
    plan=PlanIR(analysis="", steps=(), verification=(), complexity=Complexity.LOW, confidence=1.0),
)
OPENED = RunOpened(
    issue=UNIT.issue,
    mode="auto_solve_full",
    model="short",
    repo="/r",
    branch="refs/heads/main",
    base=CommitId("a" * 40),
    base_tree=TreeId("b" * 40),
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
    time_s=1000.0,
    max_files=9,
    tokens=None,
    cost_usd=None,
    risk_flags=(),
    hard_stops=(),
)


def grounded(model: str, until: timedelta | None, clock: FakeClock) -> ModelGrounded:
    """A model that is left alone until then, counted from now."""
    then = None if until is None else clock.now() + until
    return ModelGrounded(model=model, fault=ModelFault.OVERLOAD, until=then, reason="busy")


def test_what_the_router_was_asked_is_told_as_of_the_last_event() -> None:
    """A model that could be asked again by then is not held back, and what was refused and used counts."""
    clock = FakeClock()
    ledger = MemoryLedger(clock=clock)
    ledger.append(OPENED)
    ledger.append(PlanMade(units=(UNIT,)))
    ledger.append(POLICY)
    ledger.append(grounded("short", timedelta(seconds=60), clock))
    ledger.append(grounded("long", timedelta(seconds=600), clock))
    ledger.append(grounded("for good", None, clock))
    clock.advance(120)
    for unit in (UNIT.unit_id, UnitId("fix-2")):
        refused = NoFlyAdded(unit_id=unit, unit_type=UnitType.FIX, model=f"of {unit}", reason="")
        ledger.append(refused)
    asked = asked_of_router(fold(ledger.events()), UNIT)
    assert asked.grounded == {"long", "for good"}
    assert asked.refused == {"of fix-1"}
    assert asked.pressure == pytest.approx(0.12, abs=0.01)
