"""What the issue asks for, held against the change, one requirement after the other (SPEC E5)."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from surefoot.decisions.environment import SMALL_CONTEXT
from surefoot.decisions.review import DIFF_CHARACTERS
from surefoot.decisions.signature import Decision, Unanswered, decide, ruled
from surefoot.decisions.solver_checkpoint import cut
from surefoot.decisions.verification import (
    BUILD_STATUS,
    REQUIREMENT,
    SOLUTION,
    TEST_STATUS,
    Requirement,
    RequirementAnswer,
    RequirementQuestion,
    RunFacts,
    SolutionQuestion,
    build_status,
    requirements_of,
    test_status,
    unfounded,
    unproved,
    verify,
)
from surefoot.gates.review import objection
from surefoot.kernel.ports import Asker, Notebook, ReviewInput
from surefoot.values import Review

_UNKNOWN: Final = "UNKNOWN"
_ISSUE_CHARACTERS: Final = 12_000


class RequirementReviewer:
    """Vetoes what does not build, does not pass, or leaves a must-requirement open; it never approves alone.

    A judge with a small context is not asked: its word on a whole change is worth too little to stop proven work.
    """

    def __init__(self, asker: Asker, notebook: Notebook) -> None:
        self._asker, self._notebook = asker, notebook

    def review(self, seen: ReviewInput) -> Review:
        """Facts first; the judges only where the facts hold."""
        facts = RunFacts(
            state=seen.tests.state,
            passed=len(seen.tests.passing),
            failing=tuple(t for t in seen.tests.failing if t not in seen.failing_before),
        )
        build = ruled(BUILD_STATUS, facts, self._notebook, build_status)
        tests = ruled(TEST_STATUS, facts, self._notebook, test_status)
        against = unproved(seen.evidence)
        sound = build.status == "Success" and tests.status == "Pass" and not against
        required = requirements_of(seen.issue.text) if sound and seen.issue.text.strip() else ()
        judged = tuple(self._judged(required, seen))
        word = ruled(
            SOLUTION,
            SolutionQuestion(
                build=build.status, tests=tests.status, unproved=against, requirements=judged
            ),
            self._notebook,
            verify,
        )
        by: Literal["rule", "model"] = (
            "model" if any(status != _UNKNOWN for _, _, status in judged) else "rule"
        )
        if word.verdict == "PASS":
            return Review(verdict="PASS", action="PROCEED", reason=word.explanation, decided_by=by)
        return Review(
            verdict="FAIL",
            action="BLOCK",
            reason=word.explanation,
            findings=(objection("requirement-unmet", "", word.explanation),),
            decided_by=by,
        )

    def _judged(
        self, required: Sequence[Requirement], seen: ReviewInput
    ) -> Iterator[tuple[str, bool, str]]:
        """Text, must and status of each; a judge that cannot be had is not asked again."""
        patch = seen.diff.patch
        able = self._asker.context_tokens > SMALL_CONTEXT and len(patch) <= DIFF_CHARACTERS
        for requirement in required:
            status = _UNKNOWN
            if able:
                decision = self._ask(requirement, seen)
                able = not isinstance(decision, Unanswered) or decision.failure is None
                if not isinstance(decision, Unanswered):
                    status = decision.answer.status
            yield requirement.text, requirement.must, status

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
                requirement=requirement.text,
            ),
            self._asker,
            self._notebook,
            check=lambda answer: unfounded(answer, patch),
        )
