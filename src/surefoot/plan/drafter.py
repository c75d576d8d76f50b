"""Who asks and who drafts: the rule where the facts suffice, else the model, else the rule as well as it can."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from surefoot.codec import encode
from surefoot.decisions.clarification import (
    CLARIFICATION,
    AskedQuestion,
    ClarificationAnswer,
    ClarificationQuestion,
    open_points,
)
from surefoot.decisions.clarification import problem as question_problem
from surefoot.decisions.plan_draft import PLAN_DRAFT, PlanDraftAnswer, PlanDraftQuestion, problem
from surefoot.decisions.plan_rule import PlanFacts, clear_draft, rough_draft
from surefoot.decisions.signature import Unanswered, decide, ruled
from surefoot.decisions.solver_checkpoint import cut
from surefoot.kernel.ports import Asker, Notebook
from surefoot.plan.discover import Found
from surefoot.plans import Clarified, Question, Refusal, Source
from surefoot.values import Issue

_CHARACTERS_A_TOKEN: Final = 3
_HEAD_TOKENS: Final = 1_500
"""Of a signature itself, with its schema."""
_LEAST_CHARACTERS: Final = 200
_SHARES: Final = {"repository": 0.2, "files": 0.08, "issue": 0.3, "tests": 0.1, "last": 0.3}
"""Of the characters that a question may have; the rest is for what is short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is known of the place and the issue when the questions begin."""

    issue: Issue
    environment: str
    overview: str
    """Map of the repository."""
    tests: str
    """How the tests stand."""
    files: tuple[str, ...]
    found: Found

    def facts(self, answers: Sequence[Clarified]) -> PlanFacts:
        """What the rule goes by; an answer that is a path says which definition of a name is meant."""
        meant = {a.answer for a in answers} & set(self.files)
        definitions = {
            name: paths & meant or paths for name, paths in self.found.definitions.items()
        }
        return PlanFacts(
            issue=self.issue,
            defects=self.found.defects,
            definitions=definitions,
            test_folder=self.found.test_folder,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """The last draft, and what the plan gate held against it."""

    draft: PlanDraftAnswer
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """Asks what is open, and drafts."""

    notebook: Notebook
    asker: Callable[[], Asker | None]
    """Who may be asked, looked for only when it is needed; None: nobody who could plan."""
    seed: int

    def questions(
        self, setting: Setting, answers: Sequence[Clarified]
    ) -> tuple[Question, ...] | Unanswered:
        """What is open: what the rule sees, and what a model does where the facts do not suffice."""
        found = setting.found
        by_rule = open_points(
            setting.issue,
            targets=found.targets,
            others=found.others,
            definitions=found.definitions,
        )
        question = ClarificationQuestion(
            environment=setting.environment,
            repository=setting.overview,
            issue=setting.issue.text,
            tests=setting.tests,
            answers=_answered(answers),
        )
        ruled(CLARIFICATION, question, self.notebook, lambda _: _as_answer(by_rule))
        asker = None if clear_draft(setting.facts(answers)) else self.asker()
        if asker is None:
            return by_rule
        room = _room(asker, CLARIFICATION.answer_tokens)
        decision = decide(
            CLARIFICATION,
            replace(
                question,
                repository=_cut(question.repository, room, "repository"),
                issue=_cut(question.issue, room, "issue"),
                tests=_cut(question.tests, room, "tests"),
            ),
            asker,
            self.notebook,
            check=question_problem,
            seed=self.seed,
        )
        if isinstance(decision, Unanswered):
            return decision
        return by_rule + tuple(
            Question(
                question_id="",
                text=asked.text,
                options=tuple(asked.options),
                recommended=asked.recommended,
                default=asked.default,
                why=asked.why,
            )
            for asked in decision.answer.questions
        )

    def draft(
        self,
        setting: Setting,
        answers: Sequence[Clarified],
        sources: Sequence[Source],
        refused: Refused | None,
    ) -> PlanDraftAnswer | Unanswered:
        """A draft; after a refusal one that meets it, which only a model can make."""
        facts = setting.facts(answers)
        question = PlanDraftQuestion(
            environment=setting.environment,
            repository=setting.overview,
            files="\n".join(setting.files),
            sources=tuple(f"{s.where}: {s.fact}" for s in sources),
            issue=setting.issue.text or f"Make these tests pass: {', '.join(setting.issue.tests)}",
            answers=_answered(answers),
            tests=setting.tests,
            refused=() if refused is None else tuple(r.message for r in refused.refusals),
            last="" if refused is None else encode(refused.draft).decode(),
        )
        clear = None if refused else clear_draft(facts)
        if clear is not None:
            return ruled(PLAN_DRAFT, question, self.notebook, lambda _: clear)
        asker = self.asker()
        if asker is None:
            return ruled(PLAN_DRAFT, question, self.notebook, lambda _: rough_draft(facts))
        answer_tokens = min(PLAN_DRAFT.answer_tokens, asker.context_tokens // 3)
        room = _room(asker, answer_tokens)
        decision = decide(
            replace(PLAN_DRAFT, answer_tokens=answer_tokens),
            replace(
                question,
                repository=_cut(question.repository, room, "repository"),
                files=_cut(question.files, room, "files"),
                issue=_cut(question.issue, room, "issue"),
                tests=_cut(question.tests, room, "tests"),
                last=_cut(question.last, room, "last"),
            ),
            asker,
            self.notebook,
            otherwise=lambda _: rough_draft(facts),
            check=problem,
            seed=self.seed,
        )
        return decision if isinstance(decision, Unanswered) else decision.answer


def _answered(answers: Sequence[Clarified]) -> tuple[str, ...]:
    return tuple(f"{a.question.text} {a.answer} (said by {a.by})" for a in answers)


def _as_answer(questions: Sequence[Question]) -> ClarificationAnswer:
    return ClarificationAnswer(
        questions=[
            AskedQuestion(
                text=q.text,
                options=list(q.options),
                recommended=q.recommended,
                default=q.default,
                why=q.why,
            )
            for q in questions
        ]
    )


def _room(asker: Asker, answer_tokens: int) -> int:
    """Characters that a question may have."""
    return max(0, asker.context_tokens - answer_tokens - _HEAD_TOKENS) * _CHARACTERS_A_TOKEN


def _cut(text: str, room: int, name: str) -> str:
    return cut(text, max(_LEAST_CHARACTERS, int(room * _SHARES[name])))
