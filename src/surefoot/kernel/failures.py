"""One table: what each class of failure gets, at most, before it is final (SPEC C5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from surefoot.values import FailureClass

Strategy = Literal[
    "hard-stop",
    "ask-person",
    "same-again",
    "targeted-fix",
    "impacted-tests",
    "other-tool",
    "fallback-model",
    "larger-limits",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reprocessing:
    """What may follow a failure."""

    extra_attempts: int
    """Attempts after the first, within one unit and one class."""
    strategy: Strategy


REPROCESSING: Final[Mapping[FailureClass, Reprocessing]] = {
    FailureClass.POLICY: Reprocessing(extra_attempts=0, strategy="hard-stop"),
    FailureClass.INPUT: Reprocessing(extra_attempts=0, strategy="hard-stop"),
    FailureClass.EXECUTION: Reprocessing(extra_attempts=1, strategy="same-again"),
    FailureClass.CODE: Reprocessing(extra_attempts=3, strategy="targeted-fix"),
    FailureClass.TEST: Reprocessing(extra_attempts=3, strategy="impacted-tests"),
    FailureClass.ARTIFACT: Reprocessing(extra_attempts=1, strategy="targeted-fix"),
    FailureClass.VERIFICATION: Reprocessing(extra_attempts=3, strategy="targeted-fix"),
    FailureClass.CLOSEOUT: Reprocessing(extra_attempts=1, strategy="same-again"),
    FailureClass.GIT: Reprocessing(extra_attempts=1, strategy="same-again"),
    FailureClass.TIMEOUT: Reprocessing(extra_attempts=2, strategy="larger-limits"),
    FailureClass.MODEL: Reprocessing(extra_attempts=2, strategy="fallback-model"),
    FailureClass.TOOL: Reprocessing(extra_attempts=1, strategy="other-tool"),
    FailureClass.MANUAL_ATTENTION: Reprocessing(extra_attempts=0, strategy="ask-person"),
    FailureClass.UNKNOWN: Reprocessing(extra_attempts=0, strategy="hard-stop"),
}


def is_final(failure: FailureClass, seen: int) -> bool:
    """Whether the `seen`-th failure of this class in a unit (1-based) ends the unit."""
    return seen > REPROCESSING[failure].extra_attempts
