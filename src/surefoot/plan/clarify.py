"""Bounded rounds of questions: answered from a file, by a person, or by their defaults, and ended by a stop condition."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from surefoot.errors import UsageError
from surefoot.events.orchestration import PlanClarified, QuestionAsked
from surefoot.kernel.ports import Clock, Notebook, Person
from surefoot.plans import Clarified, Question

STOP: Final = "stop"
"""What a person says to end the questions; defaults hold for the rest."""
BY_DEFAULT: Final = "default"
_TRIES: Final = 3

Propose: TypeAlias = Callable[[Sequence[Clarified]], "Sequence[Question] | str"]
"""The open questions of the next round, given the answers so far; in words, why they cannot be told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where answers come from."""

    given: Mapping[str, str]
    """By id or text of the question: an option, or its number from 1 on."""
    given_by: str
    """Name of the file, or of who calls."""
    person: Person | None
    """None: nobody is asked, and the defaults hold."""
    clock: Clock
    notebook: Notebook


@dataclass(frozen=True, slots=True, kw_only=True)
class Clarity:
    """How the questions ended."""

    answers: tuple[Clarified, ...]
    reason: str
    """Why no further question was asked."""
    unanswered: Question | None = None
    """One that only a person can answer, and nobody did."""
    failed: str = ""
    """Why the questions could not be told."""


def clarify(propose: Propose, desk: Desk, rounds: int) -> Clarity:
    """Ask until nothing is open, the rounds are spent, or a person stops.

    Raises:
        UsageError: A given answer is none of its question's options.
    """
    return _Rounds(propose, desk).run(rounds)


class _Rounds:
    def __init__(self, propose: Propose, desk: Desk) -> None:
        self._propose, self._desk = propose, desk
        self._answers: list[Clarified] = []
        self._asked: set[str] = set()
        self._stopped_by = ""

    def run(self, rounds: int) -> Clarity:
        for number in range(1, rounds + 1):
            proposed = self._propose(self._answers)
            if isinstance(proposed, str):
                return self._ended("", failed=proposed)
            fresh = [q for q in proposed if q.text not in self._asked]
            if not fresh:
                return self._ended(f"no open question in round {number}")
            for question in fresh:
                self._asked.add(question.text)
                named = replace(question, question_id=f"Q{len(self._asked)}")
                if not self._ask(named):
                    return self._ended("", unanswered=named)
            if self._stopped_by:
                return self._ended(f"{self._stopped_by} stopped the questions")
        return self._ended(f"{rounds} rounds of questions are spent")

    def _ended(
        self, reason: str, *, unanswered: Question | None = None, failed: str = ""
    ) -> Clarity:
        answers = tuple(self._answers)
        return Clarity(answers=answers, reason=reason, unanswered=unanswered, failed=failed)

    def _ask(self, question: Question) -> bool:
        """Whether the question has an answer now."""
        self._desk.notebook.record(
            QuestionAsked(question=shown(question), why=question.why, approval=False)
        )
        answer, by = self._given(question) or self._said(question) or ("", BY_DEFAULT)
        if not answer:
            if question.default is None:
                return False
            answer = question.options[question.default]
        at = self._desk.clock.now().isoformat(timespec="seconds")
        clarified = Clarified(question=question, answer=answer, by=by, at=at)
        self._desk.notebook.record(PlanClarified(clarified=clarified))
        self._answers.append(clarified)
        return True

    def _given(self, question: Question) -> tuple[str, str] | None:
        given = self._desk.given
        text = given.get(question.question_id, given.get(question.text))
        if text is None:
            return None
        option = chosen(question, text)
        if option is None:
            told = f"{self._desk.given_by} answers {question.question_id} with {text!r}"
            raise UsageError(f"{told}; its options are {', '.join(map(repr, question.options))}")
        return option, self._desk.given_by

    def _said(self, question: Question) -> tuple[str, str] | None:
        """What the person chose; words that are no option are asked about again, and then count for nothing."""
        if self._desk.person is None or self._stopped_by:
            return None
        for _ in range(_TRIES):
            answer = self._desk.person.ask(shown(question), question.why, approval=False)
            if answer.text.strip().lower() == STOP:
                self._stopped_by = answer.who
                return None
            option = chosen(question, answer.text)
            if option is not None:
                return option, answer.who
            if not answer.text.strip():
                return None
        return None


def shown(question: Question) -> str:
    """A question with its options, as a person reads it."""
    lines = [f"{question.question_id}: {question.text}"]
    for number, option in enumerate(question.options):
        marks = [
            w
            for w, i in (("recommended", question.recommended), ("default", question.default))
            if i == number
        ]
        lines.append(f"  {number + 1}) {option}" + (f" ({', '.join(marks)})" if marks else ""))
    return "\n".join(lines)


def chosen(question: Question, text: str) -> str | None:
    """The option that a text names: its number, or its words in any case; None for anything else."""
    word = text.strip().lower()
    if word.isdecimal() and 1 <= int(word) <= len(question.options):
        return question.options[int(word) - 1]
    return next((o for o in question.options if o.lower() == word), None)
