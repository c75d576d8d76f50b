"""What a turn was is decided by events and diff first, text last (SPEC A1 to A4)."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from surefoot.codec import decode, encode
from surefoot.decisions.solver_checkpoint import SolverAnswer
from surefoot.events.envelope import Event
from surefoot.events.orchestration import Decided
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Observation, TurnOutput
from surefoot.solver import RuleSolver
from surefoot.solver.classify import classify, fingerprint
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import (
    Checkpoint,
    CheckpointOutcome,
    Classification,
    Complexity,
    Diff,
    Digest,
    EventId,
    Evidence,
    FileChange,
    Issue,
    Message,
    ModelAnswer,
    ModelFailure,
    ModelFault,
    ModelReply,
    ModelRequest,
    PlanIR,
    ReportState,
    TestOutcome,
    TestReport,
    TestResult,
    TreeId,
    Unit,
    UnitId,
    UnitType,
    Usage,
)

START, AFTER = TreeId("a" * 40), TreeId("b" * 40)
PROSE = "First we should look at the parser and then consider what to change in it. " * 4


def report(outcome: TestOutcome, test_id: str = "t::a") -> TestReport:
    """A report of one test."""
    result = TestResult(test_id=test_id, outcome=outcome)
    return TestReport(
        command=("pytest",), state=ReportState.COMPLETE, exit_code=0, results=(result,)
    )


UNIT = Unit(
    unit_id=UnitId("fix-1"),
    unit_type=UnitType.FIX,
    strategy="repair",
    issue=Issue(source="text", text="it breaks"),
    plan=PlanIR(
        analysis="", steps=(), verification=("t::a",), complexity=Complexity.LOW, confidence=1.0
    ),
    failing=("t::a",),
)
NO_DIFF = Diff(before=START, after=START, files=(), patch="")
CHANGED = Diff(
    before=START,
    after=AFTER,
    files=(FileChange(path="a.py", status="M", added=1, removed=1),),
    patch="",
)
PROOF = Evidence(kind="failing-tests", command="pytest", before="f", after="passed", passed=True)


def seen(**changes: object) -> Observation:
    """An observation of a turn that did nothing, with changes."""
    base = Observation(
        unit=UNIT,
        number=1,
        model="m",
        output=TurnOutput(transcript="", claim="none"),
        diff=NO_DIFF,
        seen_diffs=(),
        before=report(TestOutcome.FAILED),
        after=None,
        after_event=None,
        history=(),
        facts=(),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def said(text: str, **changes: object) -> TurnOutput:
    """An executor's output."""
    return replace(TurnOutput(transcript=text, claim="none"), **changes)  # type: ignore[arg-type]


def failed(fault: ModelFault) -> TurnOutput:
    """An output that ended in a failure of the model."""
    return said("", failure=ModelFailure(fault=fault, message="x", model="m"))


def was(kind: Classification, summary: str = "before") -> Checkpoint:
    """An earlier checkpoint."""
    return Checkpoint(outcome=CheckpointOutcome.CONTINUE, classification=kind, summary=summary)


C = Classification
CASES = [
    (seen(output=failed(ModelFault.RATE_LIMIT)), C.BLOCKER_INFRASTRUCTURE),
    (seen(output=failed(ModelFault.REFUSAL)), C.EXECUTOR_REFUSED),
    (seen(output=said("I'm sorry, but I can't assist with that.")), C.EXECUTOR_REFUSED),
    (seen(output=said("I don't have the necessary tools for it. " * 8)), C.EXECUTOR_REFUSED),
    (seen(output=said("Es tut mir leid, das geht nicht.")), C.EXECUTOR_REFUSED),
    (seen(output=said("")), C.EXECUTOR_NOOP),
    (seen(output=said("Looks good to me.")), C.EXECUTOR_NOOP),
    (seen(output=said("the build runs", claim="wait")), C.EXECUTOR_WAIT),
    (seen(output=said("done", claim="done", effective_actions=2)), C.BLOCKER_FALSE_CLAIM),
    (seen(output=said("", effective_actions=3)), C.BLOCKER_STALL),
    (seen(output=said("", effective_actions=3), facts=("suspects: f",)), C.PROGRESS),
    (seen(output=said(PROSE)), C.BLOCKER_STALL),
    (
        seen(
            output=said("sorry, I cannot help with the rest", effective_actions=1),
            diff=CHANGED,
            after=report(TestOutcome.PASSED),
            evidence=(PROOF,),
        ),
        C.COMPLETE,
    ),
    (
        seen(
            diff=CHANGED, after=report(TestOutcome.FAILED), evidence=(replace(PROOF, passed=False),)
        ),
        C.PROGRESS,
    ),
    (
        seen(
            diff=CHANGED,
            seen_diffs=(AFTER,),
            after=report(TestOutcome.FAILED),
            evidence=(replace(PROOF, passed=False),),
        ),
        C.BLOCKER_STALL,
    ),
]


def test_how_much_an_idle_turn_has_to_say_is_a_setting() -> None:
    """What is told of it is read rather than taken for nothing done; blanks are not counted."""
    turn = seen(output=said("look at the parser " * 8))
    assert classify(turn).classification is C.EXECUTOR_NOOP
    assert classify(turn, 121).classification is C.EXECUTOR_NOOP
    assert classify(turn, 120).classification is not C.EXECUTOR_NOOP
    for characters, asked in ((121, 0), (120, 1)):
        hand = Counting(reply(REFUSED))
        RuleSolver(characters).judge(turn, hand, hand)
        assert hand.asked == asked


@pytest.mark.parametrize(("turn", "expected"), CASES)
def test_classification(turn: Observation, expected: Classification) -> None:
    """Facts decide before words do."""
    assert classify(turn).classification is expected


def test_complete_needs_every_proof() -> None:
    """A claim over one open proof is refuted once and a blocker the second time."""
    open_one = (PROOF, replace(PROOF, passed=False, after="2 failed"))
    turn = seen(
        output=said("done", claim="done", effective_actions=1), diff=CHANGED, evidence=open_one
    )
    first = classify(turn)
    assert (first.classification, first.outcome) == (
        C.BLOCKER_FALSE_CLAIM,
        CheckpointOutcome.CONTINUE,
    )
    assert "2 failed" in first.summary
    again = classify(replace(turn, history=(was(C.BLOCKER_FALSE_CLAIM),)))
    assert again.outcome is CheckpointOutcome.BLOCKER


def test_three_turns_without_progress_are_a_stall() -> None:
    """Two may pass; the third is a blocker, and progress in between starts the count again."""
    idle = seen(output=said("", effective_actions=1))
    stall = was(C.BLOCKER_STALL)
    outcomes = [
        classify(replace(idle, history=history)).outcome
        for history in ((), (stall,), (stall, stall), (stall, was(C.PROGRESS), stall))
    ]
    go, stop = CheckpointOutcome.CONTINUE, CheckpointOutcome.BLOCKER
    assert outcomes == [go, go, stop, go]


def test_the_same_summary_again_is_a_loop() -> None:
    """A repeated fingerprint inside the window is a loop, however it is spaced or cased."""
    turn = seen(output=said("", effective_actions=1), facts=("suspects:  F in a.py",))
    assert (
        classify(replace(turn, history=(was(C.PROGRESS, "Suspects: f in A.py"),))).outcome
        == "blocker"
    )
    far = (was(C.PROGRESS, "suspects: f in a.py"), *[was(C.PROGRESS, str(i)) for i in range(5)])
    assert classify(replace(turn, history=far)).classification is C.PROGRESS
    assert fingerprint("A  b\nC") == "a b c"


DEEP = "src/main/java/com/example/orders"
LONG = "tests/unit/services/billing/test_invoices.py::TestInvoices::test_an_invoice_of_each_discount_and_currency"


@pytest.mark.parametrize(
    "turn",
    [
        seen(
            output=said("", effective_actions=1),
            diff=replace(
                CHANGED,
                files=tuple(
                    FileChange(path=f"{DEEP}/{name}", status="M", added=1, removed=1)
                    for name in ("service/impl/OrderServiceImpl.java", "web/OrderController.java")
                ),
            ),
        ),
        seen(
            output=said("", effective_actions=1),
            diff=CHANGED,
            before=report(TestOutcome.FAILED, f"{LONG}[case-1]"),
            after=report(TestOutcome.PASSED, f"{LONG}[case-1]"),
        ),
        seen(output=said("", effective_actions=1), facts=(f"seen in {DEEP}: {LONG}[case-1]",)),
    ],
    ids=["another tree", "another test", "another fact"],
)
def test_what_only_the_end_of_a_summary_tells_apart_is_no_loop(turn: Observation) -> None:
    """Long paths and long test ids stand before it; the very same is a loop."""
    now = classify(turn)
    assert now.classification is C.PROGRESS
    other = now.summary.replace("bbbbbbbb", "cccccccc").replace("case-1", "case-2")
    assert other != now.summary
    assert classify(replace(turn, history=(was(C.PROGRESS, other),))).classification is C.PROGRESS
    again = classify(replace(turn, history=(was(C.PROGRESS, now.summary),)))
    assert again.classification is C.BLOCKER_LOOP


READ, WRITE = ("read_file", Digest("1" * 64)), ("edit_file", Digest("2" * 64))


def test_the_same_calls_again_are_a_loop() -> None:
    """Inside the window of five, exactly the same, and with nothing that tests or trees could show for it."""
    turn = seen(output=said("", effective_actions=2), called=(READ, WRITE))
    judged = {
        "first": turn,
        "others": replace(turn, patterns=((READ,), (WRITE, READ))),
        "again": replace(turn, patterns=((READ, WRITE), (READ,))),
        "far": replace(turn, patterns=((READ, WRITE), (), (), (), ())),
        "no calls": replace(turn, called=(), patterns=((),)),
        "another word for it": replace(turn, patterns=((READ, WRITE),), facts=("seen: f",)),
        "a new tree": replace(turn, patterns=((READ, WRITE),), diff=CHANGED, facts=("seen: f",)),
    }
    loops = {name for name, one in judged.items() if classify(one).classification is C.BLOCKER_LOOP}
    assert loops == {"again", "another word for it"}
    assert "read_file, edit_file" in classify(judged["again"]).summary


def test_three_declared_waits_in_a_row_are_a_stall() -> None:
    """Two may pass; an outage does not count, and work in between starts the count again."""
    wait, out = was(C.EXECUTOR_WAIT), was(C.BLOCKER_INFRASTRUCTURE)
    turn = seen(output=said("the build runs", claim="wait"))
    histories = ((wait,), (wait, wait), (wait, out, wait), (wait, was(C.PROGRESS), wait))
    verdicts = [classify(replace(turn, history=history)) for history in histories]
    kinds = [v.classification for v in verdicts]
    assert kinds == [C.EXECUTOR_WAIT, C.BLOCKER_STALL, C.BLOCKER_STALL, C.EXECUTOR_WAIT]
    assert [v.outcome for v in verdicts] == ["continue", "blocker", "blocker", "continue"]


class Counting:
    """An asker that counts, and a notebook that keeps nothing."""

    model, context_tokens, parallel = "judge", 8000, 1

    def __init__(self, *answers: ModelAnswer) -> None:
        self.answers, self.asked = list(answers), 0

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(m.content) for m in messages)

    def ask(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        self.asked += len(requests)
        return tuple(self.answers.pop(0) for _ in requests)

    def record(self, event: Event, *, cause: EventId | None = None) -> EventId:
        return EventId("r:1")

    def put(self, data: bytes) -> Digest:
        return Digest("0" * 64)


def reply(text: str) -> ModelReply:
    """A judge's reply."""
    return ModelReply(text=text, model="judge", finish="stop", usage=Usage())


REFUSED = (
    '{"classification":"executor-refused","summary":"it declines","excerpt":"look at the parser"}'
)
MADE_UP = REFUSED.replace("look at the parser", "I refuse")


@pytest.mark.parametrize(
    ("turn", "expected"), [c for c in CASES if c[0].output.transcript != PROSE]
)
def test_certain_rules_ask_no_model(turn: Observation, expected: Classification) -> None:
    """Where the rules are certain the solver costs no call."""
    hand = Counting()
    checkpoint = RuleSolver().judge(turn, hand, hand)
    assert (hand.asked, checkpoint.classification) == (0, expected)


def test_prose_without_work_is_read_by_the_model() -> None:
    """Only words in which nothing was done are for the pinned model."""
    hand = Counting(reply(REFUSED))
    checkpoint = RuleSolver().judge(seen(output=said(PROSE)), hand, hand)
    assert (hand.asked, checkpoint.decided_by) == (1, "model")
    assert checkpoint.classification is C.EXECUTOR_REFUSED
    assert checkpoint.excerpts == ("look at the parser",)


def test_the_rules_verdict_stands_beside_the_models() -> None:
    """What the rules would have made of the turn is recorded with the decision."""
    ledger = MemoryLedger()
    turn = seen(output=said(PROSE))
    hand = Listening(reply(REFUSED))
    RuleSolver().judge(turn, hand, Journal(ledger, FakeClock()))
    (decided,) = [r.event for r in ledger.events() if isinstance(r.event, Decided)]
    assert (decided.decision, decided.decided_by) == ("solver_checkpoint", "model")
    assert decode(SolverAnswer, ledger.get(decided.output)).classification is C.EXECUTOR_REFUSED
    assert decided.by_rule is not None
    verdict = classify(turn)
    assert decode(SolverAnswer, ledger.get(decided.by_rule)) == SolverAnswer(
        classification=verdict.classification, summary=verdict.summary, excerpt=verdict.excerpt
    )
    assert verdict.classification is C.BLOCKER_STALL


def test_a_reading_costs_what_both_tries_did() -> None:
    """The answer that pointed at nothing was paid for, too."""
    ledger = MemoryLedger()
    tries = [
        replace(reply(text), usage=Usage(prompt_tokens=tokens))
        for text, tokens in ((MADE_UP, 10), (REFUSED, 5))
    ]
    turn, hand = seen(output=said(PROSE)), Listening(*tries)
    RuleSolver().judge(turn, hand, Journal(ledger, FakeClock()))
    (decided,) = [r.event for r in ledger.events() if isinstance(r.event, Decided)]
    assert decided.usage.prompt_tokens == 15


class Listening(Counting):
    """An asker that keeps what it was asked."""

    def __init__(self, *answers: ModelAnswer) -> None:
        super().__init__(*answers)
        self.heard: list[ModelRequest] = []

    def ask(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        self.heard += requests
        return super().ask(requests)


def test_the_same_observation_is_the_same_prompt_however_long_its_transcript() -> None:
    """Byte for byte, within the judge's room, and with the executor's words marked as claims (SPEC A7)."""
    asked = []
    for text in (PROSE, PROSE, PROSE * 500):
        hand = Listening(reply(REFUSED))
        RuleSolver().judge(seen(output=said(text)), hand, hand)
        asked += hand.heard
    first, second, long = asked
    assert encode(first) == encode(second)
    assert encode(first) != encode(long)
    assert Counting().count_tokens(long.messages) < len(PROSE * 500)
    prompt = "".join(m.content for m in first.messages)
    assert "claims, not facts" in prompt
    assert "First we should look at the parser" in prompt
    assert "fix-1" in prompt


def test_an_agreeing_checkpoint_is_stamped_without_a_call() -> None:
    """The executor's own checkpoint that says the same is the fast path."""
    advice = was(C.BLOCKER_STALL)
    turn = seen(output=said(PROSE, advice=advice))
    hand = Counting()
    assert RuleSolver().judge(turn, hand, hand).decided_by == "fast-path"
    assert hand.asked == 0


def test_an_excerpt_that_is_not_in_the_transcript_is_rejected() -> None:
    """A made-up excerpt is sent back once, then the rules decide."""
    hand = Counting(reply(MADE_UP), reply(MADE_UP))
    checkpoint = RuleSolver().judge(seen(output=said(PROSE)), hand, hand)
    assert (hand.asked, checkpoint.decided_by) == (2, "rule")
    assert checkpoint.excerpts == ()


def test_the_model_cannot_say_complete() -> None:
    """Progress and completion are not among what may be read out of prose."""
    claim = '{"classification":"complete","summary":"all done","excerpt":"look at the parser"}'
    hand = Counting(reply(claim), reply(claim))
    checkpoint = RuleSolver().judge(seen(output=said(PROSE)), hand, hand)
    assert checkpoint.classification is C.BLOCKER_STALL


def test_an_unreachable_solver_is_a_blocker_of_its_own() -> None:
    """The protocol is never dropped: the blocker is synthesised by rule."""
    hand = Counting(ModelFailure(fault=ModelFault.UNREACHABLE, message="refused", model="judge"))
    checkpoint = RuleSolver().judge(seen(output=said(PROSE)), hand, hand)
    assert checkpoint.classification is C.BLOCKER_SOLVER_UNREACHABLE
    assert (checkpoint.outcome, checkpoint.decided_by) == ("blocker", "synthesised")
