"""TestStatus: whether the tests pass, by what a test run says of itself (SPEC E1, E5)."""

from dataclasses import dataclass
from typing import Final, Literal

from surefoot.decisions.build_status import RunFacts
from surefoot.decisions.signature import Signature
from surefoot.values import ReportState

TestStatus = Literal["Pass", "Fail", "Skip", "Error"]
TestFailure = Literal[
    "none", "assertion", "exception", "timeout", "nothing-collected", "not-understood"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class TestAnswer:
    """Whether the tests pass."""

    __test__ = False

    status: TestStatus
    failure_category: TestFailure
    failing_tests: tuple[str, ...]


TEST_STATUS: Final = Signature(
    name="test_status",
    question=RunFacts,
    answer=TestAnswer,
    instructions="Do the tests pass?",
)


def test_status(facts: RunFacts) -> TestAnswer:
    """Nothing collected, a missing tool, or a run that cannot be understood is never a pass."""
    status: TestStatus = "Pass" if facts.passed else "Skip"
    if facts.state is ReportState.NOTHING_COLLECTED:
        status = "Skip"
    elif facts.state is not ReportState.COMPLETE:
        status = "Error"
    elif facts.failing:
        status = "Fail"
    return TestAnswer(
        status=status,
        failure_category=_category(facts),
        failing_tests=() if status == "Skip" else facts.failing,
    )


def _category(facts: RunFacts) -> TestFailure:
    """What kind of failure it is; of several the one that a change of values would not mend."""
    if facts.state is ReportState.TIMEOUT:
        return "timeout"
    if facts.state is ReportState.NOTHING_COLLECTED:
        return "nothing-collected"
    if facts.state is not ReportState.COMPLETE:
        return "not-understood"
    if not facts.failing:
        return "none" if facts.passed else "nothing-collected"
    asserted = all("assert" in message.lower() for message in facts.messages)
    return "assertion" if facts.messages and asserted else "exception"


test_status.__test__ = False  # type: ignore[attr-defined]  # a rule, though its name begins as a test's
