"""Bounded rounds of questions, with a stop condition; answers from a file, a person, or declared defaults."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from surefoot.decisions.clarification import (
    AskedQuestion,
    ClarificationAnswer,
    open_points,
    problem,
)
from surefoot.errors import UsageError
from surefoot.events.envelope import Event
from surefoot.events.orchestration import PlanClarified, QuestionAsked
from surefoot.kernel.journal import Journal
from surefoot.kernel.ports import Answer
from surefoot.plan import Clarity, Desk, clarify
from surefoot.plans import Clarified, Question
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Diff, Issue


@dataclass
class Says:
    """A person who says these things, in order, and then nothing."""

    words: list[str]
    asked: list[str] = field(default_factory=list)

    def ask(
        self, question: str, why: str, *, approval: bool = True, diff: Diff | None = None
    ) -> Answer:
        del why, diff
        assert not approval
        self.asked.append(question)
        return Answer(approved=False, text=self.words.pop(0) if self.words else "", who="ursula")


def question(text: str, default: int | None = 0) -> Question:
    return Question(
        question_id="",
        text=text,
        options=("shop.py", "till.py", "both"),
        recommended=1,
        default=default,
        why="it matters",
    )


@dataclass
class Asking:
    """One planning's questions."""

    person: Says | None = None
    given: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.ledger = MemoryLedger()
        self._desk = Desk(
            given=self.given,
            given_by="answers.json",
            person=self.person,
            clock=clock,
            notebook=Journal(self.ledger, clock),
        )

    def ask(self, *rounds: Sequence[Question], most: int = 3) -> Clarity:
        """Ask; the n-th round proposes the n-th questions, and after those nothing."""
        left = [*rounds]

        def propose(_: Sequence[Clarified]) -> Sequence[Question]:
            return left.pop(0) if left else ()

        return clarify(propose, self._desk, most)

    @property
    def events(self) -> list[Event]:
        return [r.event for r in self.ledger.events()]


def said(clarity: Clarity) -> list[tuple[str, str, str]]:
    return [(a.question.question_id, a.answer, a.by) for a in clarity.answers]


def test_a_person_answers_by_number_or_words() -> None:
    """Both are recorded with who said it; the questions are numbered as they are asked."""
    asking = Asking(Says(["3", "TILL.PY"]))
    clarity = asking.ask([question("Which?"), question("And then?")])
    assert said(clarity) == [("Q1", "both", "ursula"), ("Q2", "till.py", "ursula")]
    assert clarity.reason == "no open question in round 2"
    kinds = [type(e) for e in asking.events]
    assert kinds == [QuestionAsked, PlanClarified, QuestionAsked, PlanClarified]


def test_a_person_sees_options_recommendation_and_default() -> None:
    """The question shows what can be said, what is recommended, and what holds without an answer."""
    person = Says(["1"])
    Asking(person).ask([question("Which?")])
    assert person.asked == [
        "Q1: Which?\n  1) shop.py (default)\n  2) till.py (recommended)\n  3) both"
    ]


def test_words_that_are_no_option_are_no_answer() -> None:
    """It is asked again, three times at most; after that the default holds, and not the words."""
    person = Says(["7", "maybe", "yes", "1"])
    assert said(Asking(person).ask([question("Which?")])) == [("Q1", "shop.py", "default")]
    assert len(person.asked) == 3


def test_a_file_answers_by_id_or_text() -> None:
    """Nobody is asked what stands there."""
    person = Says([])
    given = {"Q1": "2", "And then?": "both"}
    clarity = Asking(person, given).ask([question("Which?", None), question("And then?")])
    assert said(clarity) == [("Q1", "till.py", "answers.json"), ("Q2", "both", "answers.json")]
    assert not person.asked


def test_a_given_answer_must_be_an_option() -> None:
    """It is an error that names the file, the question and its options."""
    with pytest.raises(UsageError, match=r"answers.json answers Q1 with 'none'.*'shop.py'"):
        Asking(given={"Q1": "none"}).ask([question("Which?")])


def test_defaults_hold_when_nobody_is_asked() -> None:
    """And say so."""
    assert said(Asking().ask([question("Which?")])) == [("Q1", "shop.py", "default")]


def test_without_default_only_a_person_can_say() -> None:
    """Without an answer the questions end there, with that question."""
    for asking in (Asking(), Asking(Says([]))):
        clarity = asking.ask([question("Which?", None), question("And then?")])
        assert clarity.unanswered is not None
        assert clarity.unanswered.text == "Which?"
        assert clarity.answers == ()


def test_a_person_can_stop() -> None:
    """The rest of the round takes its defaults, and there is no other round."""
    person = Says(["3", "Stop"])
    clarity = Asking(person).ask(
        [question("Which?"), question("And then?"), question("And last?")], [question("More?")]
    )
    assert [a for _, a, _ in said(clarity)] == ["both", "shop.py", "shop.py"]
    assert clarity.reason == "ursula stopped the questions"
    assert len(person.asked) == 2


def test_rounds_are_bounded() -> None:
    """However much is still open."""
    clarity = Asking().ask(*([question(f"And {n}?")] for n in range(9)), most=2)
    assert [q for q, _, _ in said(clarity)] == ["Q1", "Q2"]
    assert clarity.reason == "2 rounds of questions are spent"
    assert said(Asking().ask([question("Which?")], most=0)) == []


def test_a_question_is_asked_once() -> None:
    """One that comes again opens no further round."""
    clarity = Asking().ask([question("Which?")], [question("Which?")])
    assert said(clarity) == [("Q1", "shop.py", "default")]
    assert clarity.reason == "no open question in round 2"


def test_the_rule_asks_about_other_failures_and_ambiguous_names() -> None:
    """With a default each; nothing where the issue says it itself."""
    issue = Issue(source="text", text="`total` is wrong")
    places = {"total": frozenset({"shop.py", "till.py"})}
    asked = open_points(issue, targets=(), others=("t::a",), definitions=places)
    assert [(q.options, q.default) for q in asked] == [
        (("only what the issue is about", "the other failing tests too"), 0),
        (("shop.py", "till.py"), 0),
    ]
    told = Issue(source="text", text="`total` of till.py is wrong")
    assert open_points(told, targets=(), others=(), definitions=places) == ()


@pytest.mark.parametrize(
    ("options", "recommended", "default"),
    [
        (["a"], 0, 0),
        (["a", "a"], 0, 0),
        (list("abcde"), 0, 0),
        (["a", "b"], 2, 0),
        (["a", "b"], 0, -1),
    ],
)
def test_a_model_s_question_has_to_be_one(
    options: list[str], recommended: int, default: int
) -> None:
    """Two to four different options, and indexes of them."""
    asked = AskedQuestion(
        text="Which?", options=options, recommended=recommended, default=default, why=""
    )
    assert problem(ClarificationAnswer(questions=[asked]))
