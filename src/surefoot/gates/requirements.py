"""What the issue asks for, held against the change, one requirement after the other (SPEC E5)."""

from collections.abc import Sequence
from typing import Final, Literal

from surefoot.decisions.build_status import BUILD_STATUS, build_status, facts_of
from surefoot.decisions.environment import SMALL_CONTEXT
from surefoot.decisions.requirement_checker import (
    REQUIREMENT,
    Requirement,
    RequirementAnswer,
    RequirementQuestion,
    requirements_of,
    unfounded,
)
from surefoot.decisions.signature import NO_BUDGET, Decision, Unanswered, decide, ruled
from surefoot.decisions.solution_verifier import (
    SOLUTION,
    SolutionQuestion,
    retry,
    unproved,
    verify,
)
from surefoot.decisions.solver_checkpoint import cut
from surefoot.decisions.tests_status import TEST_STATUS, test_status
from surefoot.gates.review import objection
from surefoot.kernel.ports import Asker, Notebook, ReviewInput
from surefoot.values import Review

_UNKNOWN: Final = "UNKNOWN"
_ISSUE_CHARACTERS: Final = 12_000
_REQUIREMENT_CHARACTERS: Final = 2_000
_MOST_ASKED: Final = 40
"""Requirements that a judge is asked about, one call each."""
_CHARACTERS_A_TOKEN: Final = 3
_MOST_CHARACTERS: Final = 120_000
"""Of a change that a judge is shown whole, whatever it could hold: it stands in every call."""


class RequirementReviewer:
    """Vetoes what does not build, does not pass, or leaves a must-requirement open; it never approves alone.

    A judge with a small context is not asked: its word on a whole change is worth too little to stop proven work. What
    nobody judged, for whatever reason, is a waiver that says so, and no pass.
    """

    def __init__(self, asker: Asker, notebook: Notebook) -> None:
        self._asker, self._notebook = asker, notebook

    def review(self, seen: ReviewInput) -> Review:
        """Facts first; the judges only where the facts hold."""
        failing = tuple(t for t in seen.tests.failing if t not in seen.failing_before)
        facts = facts_of(seen.tests, failing)
        build = ruled(BUILD_STATUS, facts, self._notebook, build_status)
        tests = ruled(TEST_STATUS, facts, self._notebook, test_status)
        against = unproved(seen.evidence)
        sound = build.status == "Success" and tests.status == "Pass" and not against
        required = requirements_of(seen.issue.text) if sound and seen.issue.text.strip() else ()
        judged, why = self._judged(required, seen)
        word = ruled(
            SOLUTION,
            SolutionQuestion(build=build, tests=tests, unproved=against, requirements=judged),
            self._notebook,
            verify,
        )
        by: Literal["rule", "model"] = (
            "model" if any(status != _UNKNOWN for _, _, status, _ in judged) else "rule"
        )
        accepted = word.next_action == "accept"
        if accepted and word.confidence < 1:
            told = f"{word.explanation} ({why})"
            return Review(verdict="WAIVER", action="PROCEED", reason=told, decided_by=by)
        if accepted:
            return Review(verdict="PASS", action="PROCEED", reason=word.explanation, decided_by=by)
        told = retry(word) if word.next_action == "do-again" else word.explanation
        return Review(
            verdict="FAIL",
            action="BLOCK",
            reason=told,
            findings=(objection("requirement-unmet", "", told),),
            decided_by=by,
        )

    def _judged(
        self, required: Sequence[Requirement], seen: ReviewInput
    ) -> tuple[tuple[tuple[str, bool, str, str], ...], str]:
        """Text, must, status and what is missing of each, and why nobody judged some, when nobody did.

        A judge that cannot be had is not asked again; one whose answer cannot be used is asked about the next.
        """
        stopped, left_out = (self._unable(seen) if required else ""), ""
        judged = []
        for number, requirement in enumerate(required):
            if number == _MOST_ASKED:
                stopped = stopped or f"a judge is asked about {_MOST_ASKED} at most"
            decision = None if stopped else self._ask(requirement, seen)
            found = decision.answer if isinstance(decision, Decision) else None
            if found is not None and found.is_doubted:
                left_out = f"the judge doubts its own word ({found.confidence:.2f})"
                found = None
            status, missing = (found.status, found.missing) if found else (_UNKNOWN, "")
            if isinstance(decision, Unanswered):
                left_out = decision.reason
                gone = decision.failure is not None or decision.reason == NO_BUDGET
                stopped = decision.reason if gone else ""
            judged.append((requirement.text, requirement.must, status, missing))
        return tuple(judged), stopped or left_out

    def _unable(self, seen: ReviewInput) -> str:
        """Why the judge is not asked at all; empty when it is."""
        holds, size = self._asker.context_tokens, len(seen.diff.patch)
        if holds <= SMALL_CONTEXT:
            return f"{self._asker.model} holds {holds} tokens, too few to judge a whole change"
        room = holds * _CHARACTERS_A_TOKEN - 2 * _ISSUE_CHARACTERS
        if size > min(room, _MOST_CHARACTERS):
            return f"the change has {size} characters, more than {self._asker.model} can be shown"
        return ""

    def _ask(
        self, requirement: Requirement, seen: ReviewInput
    ) -> Decision[RequirementAnswer] | Unanswered:
        patch = seen.diff.patch
        return decide(
            REQUIREMENT,
            RequirementQuestion(
                issue=cut(seen.issue.text, _ISSUE_CHARACTERS),
                evidence=tuple(f"{p.kind}: {p.after}" for p in seen.evidence),
                changes=patch,
                requirement=cut(requirement.text, _REQUIREMENT_CHARACTERS),
            ),
            self._asker,
            self._notebook,
            check=lambda answer: unfounded(answer, patch),
        )
