"""What a run that is taken up again goes by."""

from surefoot.events.calls import ModelGrounded
from surefoot.events.orchestration import RunResumed
from surefoot.kernel.journal import Journal
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import ModelFault


def test_a_model_that_is_named_anew_may_be_asked_at_once() -> None:
    """It may listen elsewhere now; what is held against others stays, and so it does where nobody named one."""
    journal = Journal(MemoryLedger(), FakeClock())
    for name in ("a/x", "b/y"):
        for _ in range(2):
            grounded = ModelGrounded(
                model=name, fault=ModelFault.UNREACHABLE, until=None, reason="nobody listens"
            )
            journal.record(grounded)
    journal.record(RunResumed(interrupted_turn=None))
    assert set(journal.state.grounded) == {"a/x", "b/y"}
    journal.record(RunResumed(interrupted_turn=None, model="a/x"))
    assert set(journal.state.grounded) == set(journal.state.groundings) == {"b/y"}
