"""SolutionVerifier: the last word on work, which facts have first (SPEC E1, E5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from surefoot.decisions.build_status import BuildAnswer
from surefoot.decisions.signature import Signature
from surefoot.decisions.tests_status import TestAnswer
from surefoot.values import Evidence

Verdict = Literal["PASS", "FAIL", "RETRY"]
NextAction = Literal["accept", "mend", "do-again"]

_RETRY: Final = "to be done again: "


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionQuestion:
    """Everything that the last word rests on."""

    build: BuildAnswer
    tests: TestAnswer
    unproved: tuple[str, ...]
    """Proofs that do not hold."""
    requirements: tuple[tuple[str, bool, str, str], ...]
    """(text, must, status, missing); a status is SATISFIED, PARTIAL, NOT_ADDRESSED or UNKNOWN."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolutionAnswer:
    """The last word, why, and what follows from it."""

    verdict: Verdict
    """Whether it may stand: PASS does."""
    explanation: str
    next_action: NextAction
    """How the next turn hears of it: `do-again` puts a step for what is not met into its plan, `mend` tells what is wrong.

    Nothing here asks a person: tests that cannot be run are no proof, and who has none is refused before the last word.
    """
    confidence: float
    """0 to 1: the share of the requirements that somebody judged; facts are sure."""


SOLUTION: Final = Signature(
    name="solution_verifier",
    question=SolutionQuestion,
    answer=SolutionAnswer,
    instructions="May this solution stand?",
    version=2,
)


def verify(question: SolutionQuestion) -> SolutionAnswer:
    """A failing build or test outweighs every word; PARTIAL on a must blocks; what nobody judged is said."""
    build, tests = question.build, question.tests
    if build.status != "Success":
        return _failed(f"the build is {build.status}: {build.reason}")
    if tests.status != "Pass":
        return _failed(f"the tests are {tests.status} ({tests.failure_category})")
    if question.unproved:
        return _failed(question.unproved[0])
    unmet = [
        f"{status}: {text}" + (f" (missing: {missing})" if missing.strip() else "")
        for text, must, status, missing in question.requirements
        if must and status in ("PARTIAL", "NOT_ADDRESSED")
    ]
    if unmet:
        return SolutionAnswer(
            verdict="RETRY",
            explanation="; ".join(unmet),
            next_action="do-again",
            confidence=_judged_share(question),
        )
    nobody = sum(status == "UNKNOWN" for _, _, status, _ in question.requirements)
    told = "nothing asked for is missing"
    if nobody:
        told = f"nobody judged {nobody} of {len(question.requirements)} requirements"
    return SolutionAnswer(
        verdict="PASS",
        explanation=f"builds and passes; {told}",
        next_action="accept",
        confidence=_judged_share(question),
    )


def _failed(why: str) -> SolutionAnswer:
    return SolutionAnswer(verdict="FAIL", explanation=why, next_action="mend", confidence=1.0)


def _judged_share(question: SolutionQuestion) -> float:
    judged = [status != "UNKNOWN" for _, _, status, _ in question.requirements]
    return sum(judged) / len(judged) if judged else 1.0


def is_retry(told: str) -> bool:
    """Whether what was held against a turn is a verifier's word that it be done again."""
    return _RETRY in told


def retry(answer: SolutionAnswer) -> str:
    """That word, as the next turn hears it."""
    return f"{_RETRY}{answer.explanation}"


def unproved(evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """Proofs that do not hold, in words."""
    return tuple(f"{proof.kind}: {proof.after}" for proof in evidence if not proof.passed)
