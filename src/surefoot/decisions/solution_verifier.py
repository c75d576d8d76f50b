"""SolutionVerifier: the last word on work, which facts have first (SPEC E1, E5)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from surefoot.decisions.build_status import BuildAnswer
from surefoot.decisions.signature import Signature
from surefoot.decisions.tests_status import TestAnswer
from surefoot.values import Evidence

Verdict = Literal["PASS", "FAIL", "RETRY"]
NextAction = Literal["accept", "mend", "do-again"]

_NEXT: Final[Mapping[Verdict, NextAction]] = {"PASS": "accept", "FAIL": "mend", "RETRY": "do-again"}
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
    """The word itself, for whoever reads the record; the gate goes by what follows from it."""
    explanation: str
    next_action: NextAction
    """One for each verdict: `accept` lets the work stand, `mend` tells the next turn what is wrong, `do-again` puts a step for
    what is not met into its plan.

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
        return _said("FAIL", f"the build is {build.status}: {build.reason}", 1.0)
    if tests.status != "Pass":
        return _said("FAIL", f"the tests are {tests.status} ({tests.failure_category})", 1.0)
    if question.unproved:
        return _said("FAIL", question.unproved[0], 1.0)
    unmet = [
        f"{status}: {text}" + (f" (missing: {missing})" if missing.strip() else "")
        for text, must, status, missing in question.requirements
        if must and status in ("PARTIAL", "NOT_ADDRESSED")
    ]
    if unmet:
        return _said("RETRY", "; ".join(unmet), _judged_share(question))
    nobody = sum(status == "UNKNOWN" for _, _, status, _ in question.requirements)
    told = "nothing asked for is missing"
    if nobody:
        told = f"nobody judged {nobody} of {len(question.requirements)} requirements"
    return _said("PASS", f"builds and passes; {told}", _judged_share(question))


def _said(verdict: Verdict, why: str, confidence: float) -> SolutionAnswer:
    return SolutionAnswer(
        verdict=verdict, explanation=why, next_action=_NEXT[verdict], confidence=confidence
    )


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
