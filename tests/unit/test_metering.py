"""A model behind budget and ledger: what is asked again, what is waited for, and what it is counted at."""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha512

import pytest

from surefoot.codec import decode
from surefoot.events.calls import (
    BudgetRefused,
    BudgetReserved,
    ModelAsked,
    ModelWaited,
    ProviderSwitched,
)
from surefoot.kernel.failures import FAULTS
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import AskerChain, MeteredModel
from surefoot.models.unavailable import UnavailableModel
from surefoot.policy.redaction import Redactor
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    Ceilings,
    Gap,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    ToolCall,
    Usage,
)

GOOD = ModelReply(
    text="{}", model="m", finish="stop", usage=Usage(prompt_tokens=7, completion_tokens=3)
)


class Sequel:
    """A model that gives its answers one after the other, the last one for ever."""

    context_tokens, parallel = 10_000, 1

    def __init__(self, *answers: ModelAnswer, name: str = "m") -> None:
        self.name, self.answers, self.asked = name, list(answers), list[ModelRequest]()

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(m.content) for m in messages)

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        return (prompt_tokens + completion_tokens) / 1000

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        self.asked += requests
        first = len(self.asked) - len(requests)
        last = len(self.answers) - 1
        return tuple(self.answers[min(first + n, last)] for n in range(len(requests)))


class Table:
    """One asker with what it plays with."""

    def __init__(self, model: Sequel, *, tokens: int | None = None, time_s: float = 3600.0) -> None:
        self.clock = FakeClock()
        self.ledger = MemoryLedger(clock=self.clock)
        self.journal = Journal(self.ledger, self.clock)
        ceilings = Ceilings(max_iterations=9, time_s=time_s, max_files=9, tokens=tokens)
        self.asker = MeteredModel(model, self.journal, ceilings, self.clock)

    def waits(self) -> list[float]:
        return [e.wait_s for e in self.of(ModelWaited) if isinstance(e, ModelWaited)]

    def of(self, kind: type) -> list[object]:
        return [r.event for r in self.ledger.events() if isinstance(r.event, kind)]


def ask(schema: str | None = None) -> tuple[ModelRequest, ...]:
    """One request of 10 prompt tokens and at most 100 of answer."""
    message = Message(role="user", content="x" * 10)
    return (ModelRequest(purpose="p", messages=(message,), max_tokens=100, json_schema=schema),)


def fails(fault: ModelFault, retry_after_s: float | None = None) -> ModelFailure:
    """A failure without usage."""
    return ModelFailure(fault=fault, message="so it is", model="m", retry_after_s=retry_after_s)


@pytest.mark.parametrize("fault", list(ModelFault))
def test_every_fault_is_asked_again_as_often_as_the_table_says(fault: ModelFault) -> None:
    """Each further call has a reservation and an event of its own; then the failure goes to the caller."""
    model = Sequel(fails(fault))
    table = Table(model)
    (answer,) = table.asker.ask(ask())
    path = FAULTS[fault]
    assert isinstance(answer, ModelFailure)
    assert len(model.asked) == 1 + path.extra_calls
    assert len(table.of(BudgetReserved)) == len(table.of(ModelAsked)) == len(model.asked)
    assert len(table.waits()) == path.extra_calls
    assert table.clock.monotonic() == sum(table.waits())
    assert table.journal.spend().reserved_tokens == 0


def test_a_call_that_works_the_second_time_is_an_answer() -> None:
    """The caller sees the reply and nothing of the failure; the ledger holds both."""
    table = Table(Sequel(fails(ModelFault.OVERLOAD), GOOD))
    assert table.asker.ask(ask()) == (GOOD,)
    assert table.waits() == [30.0]


def test_waits_grow_and_stay_within_patience() -> None:
    """Without a stated time the wait doubles, up to the longest that is waited within a turn."""
    table = Table(Sequel(fails(ModelFault.RATE_LIMIT)))
    table.asker.ask(ask())
    assert table.waits() == [60.0, 60.0]
    table = Table(Sequel(fails(ModelFault.UNREACHABLE)))
    table.asker.ask(ask())
    assert table.waits() == [3.0, 6.0]


def test_a_stated_time_is_kept_to_and_a_long_one_is_not_waited_for_here() -> None:
    """A provider that names its time is asked again exactly then, or not within this turn."""
    table = Table(Sequel(fails(ModelFault.RATE_LIMIT, retry_after_s=7.5), GOOD))
    assert table.asker.ask(ask()) == (GOOD,)
    assert table.waits() == [7.5]
    long = fails(ModelFault.RATE_LIMIT, retry_after_s=61.0)
    table = Table(Sequel(long, GOOD))
    assert table.asker.ask(ask()) == (long,)
    assert table.waits() == []


def test_nothing_is_waited_for_beyond_the_time_limit() -> None:
    """A wait that the run does not have is not begun."""
    table = Table(Sequel(fails(ModelFault.OVERLOAD), GOOD), time_s=20.0)
    assert isinstance(table.asker.ask(ask())[0], ModelFailure)
    assert table.waits() == []


def test_the_same_nonsense_is_not_asked_for_twice() -> None:
    """After an unusable answer the question goes out with another seed."""
    model = Sequel(fails(ModelFault.MALFORMED), GOOD)
    assert Table(model).asker.ask(ask()) == (GOOD,)
    first, second = model.asked
    assert (first.messages, first.seed != second.seed) == (second.messages, True)


def test_json_that_was_cut_off_gets_twice_the_room() -> None:
    """An answer that has to be whole and hit its limit is a failure; plain text that did is not."""
    cut = ModelReply(text='{"a":', model="m", finish="length", usage=GOOD.usage)
    model = Sequel(cut, GOOD)
    assert Table(model).asker.ask(ask(schema="{}")) == (GOOD,)
    assert [r.max_tokens for r in model.asked] == [100, 200]
    assert Table(Sequel(cut)).asker.ask(ask()) == (cut,)


@pytest.mark.parametrize(("context", "rooms"), [(250, [100, 200]), (160, [100, 150]), (110, [100])])
def test_an_answer_gets_no_more_room_than_the_context_has(context: int, rooms: list[int]) -> None:
    """What was cut off stays that, and becomes no question that is too long."""
    cut = ModelReply(text='{"a":', model="m", finish="length", usage=GOOD.usage)
    model = Sequel(cut)
    model.context_tokens = context
    (answer,) = Table(model).asker.ask(ask(schema="{}"))
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.TRUNCATED
    assert [r.max_tokens for r in model.asked] == rooms


def test_a_refused_reservation_ends_the_further_calls() -> None:
    """The budget holds the first call only: its failure is the answer."""
    cut = Sequel(fails(ModelFault.BROKEN_STREAM), GOOD)
    assert isinstance(Table(cut, tokens=115).asker.ask(ask())[0], ModelFailure)
    assert len(cut.asked) == 1


@pytest.mark.parametrize(
    ("fault", "tokens"),
    [
        (ModelFault.BROKEN_STREAM, 110),
        (ModelFault.TIMEOUT, 110),
        (ModelFault.MALFORMED, 110),
        (ModelFault.REFUSAL, 110),
        (ModelFault.RATE_LIMIT, 0),
        (ModelFault.UNREACHABLE, 0),
        (ModelFault.AUTH, 0),
    ],
)
def test_a_reply_that_was_lost_is_counted_at_its_most(fault: ModelFault, tokens: int) -> None:
    """Where the server may have billed a whole answer, it counts as billed; where it cannot, nothing does."""
    table = Table(Sequel(fails(fault), GOOD))
    table.asker.ask(ask())
    usage = table.journal.spend().usage
    answered = 10 if FAULTS[fault].extra_calls else 0
    assert usage.prompt_tokens + usage.completion_tokens == tokens + answered


def test_what_the_answer_begins_with_is_reserved_for_too() -> None:
    """It is sent, read and billed like the rest of the prompt."""
    (request,) = ask()
    model = Sequel(GOOD)
    (answer,) = Table(model, tokens=130).asker.ask([replace(request, prefill="y" * 20)])
    assert isinstance(answer, ModelReply)
    table = Table(model, tokens=129)
    assert table.asker.ask([replace(request, prefill="y" * 20)]) == ()
    assert table.of(BudgetRefused)
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "reply",
    [
        replace(GOOD, text="\ud83d"),
        replace(GOOD, model="\ud83d"),
        replace(GOOD, calls=(ToolCall(tool="shell", parameters="\ud83d"),)),
    ],
    ids=["text", "model", "call"],
)
def test_half_a_character_is_no_answer_and_is_paid_for(reply: ModelReply) -> None:
    """An emoji that was cut in two; as what it is, it could be written nowhere."""
    table = Table(Sequel(reply))
    (answer,) = table.asker.ask(ask())
    assert isinstance(answer, ModelFailure)
    assert answer.fault is ModelFault.MALFORMED
    assert table.journal.spend().reserved_tokens == 0
    assert table.journal.spend().usage.prompt_tokens == 7 * len(table.of(ModelAsked))


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_a_call_that_is_broken_off_is_counted_at_its_most(error: type[BaseException]) -> None:
    """By the user, or by a fault of the adapter, which is not hidden: nobody knows what was sent by then."""

    class Broken(Sequel):
        def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
            raise error

    table = Table(Broken())
    with pytest.raises(error):
        table.asker.ask(ask() * 2)
    spend = table.journal.spend()
    used = (spend.usage.prompt_tokens, spend.usage.completion_tokens)
    assert (used, spend.reserved_tokens) == ((20, 200), 0)


def test_a_request_that_was_turned_down_is_counted_as_nothing() -> None:
    """The failure's own word stands against the rule that a lost reply may have cost as much as was reserved."""
    model = Sequel(replace(fails(ModelFault.MALFORMED), unbilled=True))
    table = Table(model)
    table.asker.ask(ask())
    assert len(model.asked) == 2
    assert table.journal.spend().usage == Usage()
    assert table.journal.spend().reserved_tokens == 0


def test_a_reported_usage_is_kept_as_it_is() -> None:
    """What the server says it counted is what is counted, also for a failure."""
    cut = ModelFailure(
        fault=ModelFault.BROKEN_STREAM,
        message="",
        model="m",
        usage=Usage(prompt_tokens=9, completion_tokens=1),
    )
    table = Table(Sequel(cut))
    table.asker.ask(ask())
    assert table.journal.spend().usage.prompt_tokens == 9 * 3


def test_a_chain_goes_on_where_one_cannot_be_reached() -> None:
    """The first judge that answers is kept for the rest; what is skipped is an event."""
    clock, ledger = FakeClock(), MemoryLedger()
    journal = Journal(ledger, clock)
    ceilings = Ceilings(max_iterations=9, time_s=3600, max_files=9)
    models = (UnavailableModel("first", "no key"), Sequel(GOOD, name="second"), Sequel(GOOD))
    chain = AskerChain([MeteredModel(m, journal, ceilings, clock) for m in models], journal)
    assert chain.model == "first"
    assert chain.ask(ask()) == (GOOD,)
    assert chain.model == "second"
    switched = [r.event for r in ledger.events() if isinstance(r.event, ProviderSwitched)]
    assert [(e.before, e.after, e.reason) for e in switched] == [("first", "second", "no key")]


def test_a_chain_without_anybody_gives_the_last_failure() -> None:
    """The caller learns that nobody could be asked."""
    clock = FakeClock()
    journal = Journal(MemoryLedger(), clock)
    ceilings = Ceilings(max_iterations=9, time_s=3600, max_files=9)
    models = (UnavailableModel("first", "no key"), UnavailableModel("last", "no weights"))
    chain = AskerChain([MeteredModel(m, journal, ceilings, clock) for m in models], journal)
    (answer,) = chain.ask(ask())
    assert isinstance(answer, ModelFailure)
    assert answer.message == "no weights"


@pytest.mark.parametrize("judging", [False, True])
def test_no_secret_reaches_a_prompt(*, judging: bool) -> None:
    """Known values and what looks like a key are hidden in messages, prefill, schema and gap; the record is what was sent."""
    known, key = "correct horse battery", "AK" + "IAQ2W4E6R7T3Y5U2I4"
    clock, redact, model = FakeClock(), Redactor([known]), Sequel(GOOD)
    ledger = MemoryLedger(clock=clock, redact=redact)
    journal = Journal(ledger, clock)
    ceilings = Ceilings(max_iterations=9, time_s=3600, max_files=9)
    metered = MeteredModel(model, journal, ceilings, clock, redact=redact)
    request = ModelRequest(
        purpose="p",
        messages=(
            Message(role="system", content=f"You know {known}."),
            Message(role="user", content=f"KEY = '{key}'\nreturn None"),
        ),
        max_tokens=9,
        prefill=f"def f(pin={known!r}",
        json_schema=f'{{"const":"{known}"}}',
        gap=Gap(before=f"PIN = {known!r}\n", after=f"# {key}", filled=f"pin == {known!r}"),
    )
    (AskerChain([metered], journal) if judging else metered).ask((request,))
    (sent,) = model.asked
    assert not [secret for secret in (known, key) if secret in repr(sent)]
    assert sent.messages[1].content == "KEY = '[redacted:aws-access-key]'\nreturn None"
    (asked,) = [r.event for r in ledger.events() if isinstance(r.event, ModelAsked)]
    assert decode(ModelRequest, journal.get(asked.request)) == sent


def test_a_secret_of_several_lines_is_hidden_around_a_gap_within_it() -> None:
    """Its beginning stands before the gap and its end after it, so that neither half looks like one."""
    rows = [sha512(str(n).encode()).hexdigest()[:64] for n in range(3)]
    key = "\n".join(("-----BEGIN " + "PRIVATE KEY-----", *rows, "-----END " + "PRIVATE KEY-----"))
    clock, redact, model = FakeClock(), Redactor([]), Sequel(GOOD)
    journal = Journal(MemoryLedger(clock=clock, redact=redact), clock)
    ceilings = Ceilings(max_iterations=9, time_s=3600, max_files=9)
    metered = MeteredModel(model, journal, ceilings, clock, redact=redact)
    first, _, rest = f"KEY = '{key}'\n".partition(rows[0])
    gap = Gap(before=f"x = 1\n{first}", after=rest)
    metered.ask((ModelRequest(purpose="p", messages=(), max_tokens=9, gap=gap),))
    (sent,) = model.asked
    assert sent.gap is not None
    assert not [row for row in rows if row in repr(sent)]
    assert sent.gap.before.startswith("x = 1\nKEY = '")
