"""Two tables: what each class of failure gets, at most, before it is final (SPEC C5), and what each fault of a model gets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from surefoot.values import FailureClass, ModelFault

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


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPath:
    """What follows a model's failure: calls within the turn, then another model, then a pause or a blocker."""

    extra_calls: int
    """The same call again, within the same turn and under a new reservation."""
    wait_s: float
    """Before the first of them where the provider names no time; doubles with each."""
    passes: bool
    """It goes away by itself: the model is left alone for a while, and a run that has no other one pauses. Otherwise the
    model is not asked again in this run, and a run that has no other one is blocked."""
    other_seed: bool = False
    """The same question would bring the same answer, so it is asked with another seed."""
    longer: bool = False
    """The answer gets twice the room, or what the context has; where that is no more, it is not asked again."""


FAULTS: Final[Mapping[ModelFault, FaultPath]] = {
    ModelFault.RATE_LIMIT: FaultPath(extra_calls=2, wait_s=60.0, passes=True),
    ModelFault.OVERLOAD: FaultPath(extra_calls=2, wait_s=30.0, passes=True),
    ModelFault.TIMEOUT: FaultPath(extra_calls=1, wait_s=15.0, passes=True),
    ModelFault.BROKEN_STREAM: FaultPath(extra_calls=2, wait_s=15.0, passes=True),
    ModelFault.UNREACHABLE: FaultPath(extra_calls=2, wait_s=3.0, passes=True),
    # A server or a gateway that writes nonsense is more often ill than wrong for good.
    ModelFault.MALFORMED: FaultPath(extra_calls=1, wait_s=15.0, passes=True, other_seed=True),
    ModelFault.EMPTY: FaultPath(extra_calls=1, wait_s=0.0, passes=False, other_seed=True),
    ModelFault.TRUNCATED: FaultPath(extra_calls=1, wait_s=0.0, passes=False, longer=True),
    ModelFault.CONTEXT_OVERFLOW: FaultPath(extra_calls=0, wait_s=0.0, passes=False),
    ModelFault.AUTH: FaultPath(extra_calls=0, wait_s=0.0, passes=False),
    ModelFault.NOT_FOUND: FaultPath(extra_calls=0, wait_s=0.0, passes=False),
    # The same question is asked as text then, by who offered the tools.
    ModelFault.UNSUPPORTED: FaultPath(extra_calls=0, wait_s=0.0, passes=False),
    # The solver's rules judge a refusal; it leads to a higher tier, not to another call (SPEC A5).
    ModelFault.REFUSAL: FaultPath(extra_calls=0, wait_s=0.0, passes=False),
}
