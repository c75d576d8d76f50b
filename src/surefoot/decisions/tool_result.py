"""ToolResult and LabeledToolCall: what a call was worth, by rule, from what it did (SPEC E3, E4).

The five rows of the rubric: +1 it directly advances the goal, +0.5 it brings progress, 0 nothing came of it, -0.5 it was
wasted (asked before on the same tree), -1 it made things worse. The facts decide every row, so no model is asked, and an
answer has no confidence. What an output told, the model that reads it says as the next ToolCall's `learned`: a call of its
own for that would be paid for twice.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from surefoot.decisions.signature import Signature
from surefoot.values import ToolOutcome

Success: TypeAlias = Literal["yes", "partial", "no"]
_TOKENS_A_POINT: Final = 10_000
_MOST_COST: Final = 0.1
_UTILITY_WEIGHT: Final = 0.4
_IMPROVED: Final = 0.3
_REPEATED: Final = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultQuestion:
    """What is known of a call after it ran."""

    step_id: str
    tool: str
    effect: Literal["read", "write", "run"]
    outcome: ToolOutcome
    was_repeated: bool
    """Same tool, same parameters, unchanged tree."""
    repeated_before: bool
    """The call before it was repeated, too."""
    failing_before: tuple[str, ...] | None
    failing_after: tuple[str, ...] | None
    """Failing ids, before and after, of the tests that were there before; None where the run says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResultAnswer:
    """What it was worth."""

    success: Success
    """`partial`: it ran, and what it ran failed; `no` is no effective action of the turn."""
    should_continue: bool
    """The step may go on; not after two calls in a row that were asked before on the same tree."""
    step_utility: float
    """-1 to +1, by the rubric."""
    verification_delta: int | None
    """Failing tests before minus after, by test id; None when unknown."""
    improved: bool
    """The failing set shrank and nothing new fails."""


TOOL_RESULT: Final = Signature(
    name="tool_result",
    question=ToolResultQuestion,
    answer=ToolResultAnswer,
    instructions="What was this tool call worth?",
)


def value(question: ToolResultQuestion) -> ToolResultAnswer:
    """The rule."""
    outcome = question.outcome
    before, after = question.failing_before, question.failing_after
    delta = None if before is None or after is None else len(before) - len(after)
    improved = before is not None and after is not None and set(after) < set(before)
    broke = before is not None and after is None
    mended = before is None and after is not None
    worse = before is not None and after is not None and bool(set(after) - set(before))
    success = _success(outcome)
    return ToolResultAnswer(
        success=success,
        should_continue=not (question.was_repeated and question.repeated_before),
        step_utility=_utility(question, success, improved=improved or mended, worse=worse or broke),
        verification_delta=delta,
        improved=improved,
    )


def _success(outcome: ToolOutcome) -> Success:
    if not outcome.ok:
        return "no"
    return "yes" if outcome.exit_code in (None, 0) else "partial"


def _utility(
    question: ToolResultQuestion, success: Success, *, improved: bool, worse: bool
) -> float:
    if worse:
        return -1.0
    if improved:
        return 1.0
    if question.was_repeated:
        return -0.5
    if success == "no":
        return 0.0
    changed = bool(question.outcome.changed)
    brought = changed or (question.effect != "write" and bool(question.outcome.output.strip()))
    return 0.5 if brought else 0.0


def step_score(answer: ToolResultAnswer, *, was_repeated: bool, cost_tokens: int) -> float:
    """The seed's score of a step, from which policies are learned; about -0.7 to +0.7."""
    return (
        _UTILITY_WEIGHT * answer.step_utility
        + (_IMPROVED if answer.improved else 0.0)
        - (_REPEATED if was_repeated else 0.0)
        - min(_MOST_COST, cost_tokens / _TOKENS_A_POINT)
    )
