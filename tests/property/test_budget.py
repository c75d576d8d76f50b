"""No spend without a reservation, rebuilt from the ledger after a crash (promise 6)."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from surefoot.events.calls import BudgetReserved, BudgetSettled, ModelAsked
from surefoot.events.orchestration import RunResumed
from surefoot.kernel.budget import exhausted, shortage
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.kernel.state import fold
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    Ceilings,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    Spend,
    Usage,
)


class Priced:
    """A model that uses less than was reserved, or fails; counts what it really used."""

    name, context_tokens, parallel = "priced", 10_000, 4

    def __init__(self, shares: Sequence[float]) -> None:
        self.shares, self.used, self.calls = list(shares), 0, 0

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(m.content) for m in messages)

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens + completion_tokens) / 1000

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        return tuple(self._answer(r) for r in requests)

    def _answer(self, request: ModelRequest) -> ModelAnswer:
        share = self.shares[self.calls % len(self.shares)]
        self.calls += 1
        prompt = self.count_tokens(request.messages)
        usage = Usage(
            prompt_tokens=prompt,
            completion_tokens=int(request.max_tokens * share),
            cost_usd=(prompt + int(request.max_tokens * share)) / 1000,
        )
        self.used += usage.prompt_tokens + usage.completion_tokens
        if share < 0.2:
            return ModelFailure(fault=ModelFault.OVERLOAD, message="", model="m", usage=usage)
        return ModelReply(text="x", model="m", finish="stop", usage=usage)


def ask(number: int, size: int, answer: int) -> ModelRequest:
    """A request of its own."""
    content = f"{number:04d}" + "x" * size
    return ModelRequest(
        purpose="p", messages=(Message(role="user", content=content),), max_tokens=answer
    )


CALLS = st.lists(
    st.lists(st.tuples(st.integers(0, 200), st.integers(1, 300)), min_size=1, max_size=4),
    min_size=1,
    max_size=12,
)
SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=5)


def limits(tokens: int) -> Ceilings:
    """Only tokens are scarce."""
    return Ceilings(max_iterations=10, time_s=1e9, max_files=1, tokens=tokens)


@given(calls=CALLS, shares=SHARES, tokens=st.integers(1, 3000))
def test_the_ceiling_is_never_passed(
    calls: list[list[tuple[int, int]]], shares: list[float], tokens: int
) -> None:
    """Whatever is asked and however it fails, spend stays under the ceiling and equals what was used."""
    ledger, model = MemoryLedger(), Priced(shares)
    journal = Journal(ledger, FakeClock())
    metered = MeteredModel(model, journal, limits(tokens), FakeClock())
    number = 0
    for batch in calls:
        requests = [ask(number + i, size, answer) for i, (size, answer) in enumerate(batch)]
        number += len(batch)
        answers = metered.ask(requests)
        assert len(answers) <= len(requests)
    spend = journal.spend()
    assert spend.usage.prompt_tokens + spend.usage.completion_tokens == model.used <= tokens
    assert spend.model_calls == model.calls
    assert (spend.reserved_tokens, round(spend.reserved_usd, 9)) == (0, 0)
    kinds = [r.event for r in ledger.events()]
    reserved = [i for i, e in enumerate(kinds) if isinstance(e, BudgetReserved)]
    asked = [i for i, e in enumerate(kinds) if isinstance(e, ModelAsked)]
    assert len(asked) == len(reserved) == sum(isinstance(e, BudgetSettled) for e in kinds)
    assert all(r < a for r, a in zip(reserved, asked, strict=True))


@given(calls=CALLS, shares=SHARES, cut=st.integers(0, 200))
def test_state_is_the_fold_of_the_ledger(
    calls: list[list[tuple[int, int]]], shares: list[float], cut: int
) -> None:
    """The live state equals the fold; after a cut and a resume open reservations count as spent."""
    ledger = MemoryLedger()
    journal = Journal(ledger, FakeClock())
    metered = MeteredModel(Priced(shares), journal, limits(2000), FakeClock())
    for number, batch in enumerate(calls):
        metered.ask([ask(number * 10 + i, s, a) for i, (s, a) in enumerate(batch)])
    events = tuple(ledger.events())
    assert fold(events) == journal.state
    kept = events[: min(cut, len(events))]
    before = fold(kept)
    shorter = MemoryLedger()
    for recorded in kept:
        shorter.append(recorded.event)
    shorter.append(RunResumed(interrupted_turn=None))
    after = fold(shorter.events())
    assert after.spend.reserved_tokens == 0
    assert (
        after.spend.usage.prompt_tokens
        == before.spend.usage.prompt_tokens + before.spend.reserved_tokens
    )


def test_a_reply_that_the_turn_already_has_costs_nothing() -> None:
    """Asked again after a crash, the recorded reply answers."""
    model = Priced([0.5])
    journal = Journal(MemoryLedger(), FakeClock())
    metered = MeteredModel(model, journal, limits(10_000), FakeClock())
    first = metered.ask((ask(1, 10, 20),))
    assert metered.ask((ask(1, 10, 20),)) == first
    assert model.calls == 1


@given(iterations=st.integers(0, 5), time_s=st.floats(0, 100), tokens=st.integers(0, 100))
def test_exhausted_names_the_ceiling_that_is_reached(
    iterations: int, time_s: float, tokens: int
) -> None:
    """A turn may start only while every ceiling has room."""
    ceilings = Ceilings(max_iterations=3, time_s=50, max_files=1, tokens=60)
    spend = Spend(iterations=iterations, time_s=time_s, usage=Usage(prompt_tokens=tokens))
    free = iterations < 3 and time_s < 50 and tokens < 60
    assert (exhausted(ceilings, spend) is None) is free
    if free:
        assert shortage(ceilings, spend, tokens=60 - tokens, cost_usd=5) is None
        assert shortage(ceilings, spend, tokens=61 - tokens, cost_usd=0) is not None


def test_no_money_buys_what_is_free_and_nothing_else() -> None:
    """A ceiling of 0 stops no run on a model without a price, and every call that has one."""
    free = Ceilings(max_iterations=9, time_s=9.0, max_files=9, cost_usd=0.0)
    assert exhausted(free, Spend()) is None
    assert shortage(free, Spend(), tokens=9, cost_usd=0.0) is None
    assert shortage(free, Spend(), tokens=9, cost_usd=0.001) is not None
    assert exhausted(free, Spend(usage=Usage(cost_usd=0.001))) is not None
    paid = replace(free, cost_usd=1.0)
    assert exhausted(paid, Spend(usage=Usage(cost_usd=0.9))) is None
    assert exhausted(paid, Spend(usage=Usage(cost_usd=1.0))) is not None
