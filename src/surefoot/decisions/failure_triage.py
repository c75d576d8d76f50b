"""FailureTriage: what a failed check means, and what is done about it (SPEC E6).

The diagnosis comes from exit codes and known words, so it is a rule. Its action changes the plan or the resources of the
turn: `FixAndRetry` puts a step in, `RetryLarger` and `RetryLonger` give the check more, `Escalate` asks, `Abort` ends.
"""

import re
from dataclasses import dataclass, replace
from typing import Final, Literal

from surefoot.decisions.signature import Signature
from surefoot.values import PlanIR, PlanStep, StepIntent

Category = Literal[
    "OutOfMemory",
    "Timeout",
    "CompileError",
    "TestFailure",
    "MissingDependency",
    "PermissionDenied",
    "NetworkError",
    "ConfigError",
    "Unknown",
]
Action = Literal["FixAndRetry", "RetryLarger", "RetryLonger", "Escalate", "Abort"]
_FIX_ITERATIONS: Final = 4
_PREVIEW: Final = 1_000
_SHORT: Final = 200

_WORDS: Final[tuple[tuple[Category, re.Pattern[str]], ...]] = (
    ("OutOfMemory", re.compile(r"MemoryError|out of memory|Cannot allocate memory", re.IGNORECASE)),
    (
        "NetworkError",
        re.compile(
            r"Network is unreachable|Temporary failure in name resolution|Name or service not known"
        ),
    ),
    (
        "MissingDependency",
        re.compile(r"ModuleNotFoundError: No module named|command not found|Cannot find module"),
    ),
    ("PermissionDenied", re.compile(r"PermissionError|Permission denied|Read-only file system")),
    (
        "CompileError",
        re.compile(r"SyntaxError|IndentationError|ImportError|NameError: name|error: cannot find"),
    ),
    (
        "ConfigError",
        re.compile(
            r"usage error|unrecognized arguments|invalid configuration",
            re.IGNORECASE,
        ),
    ),
)
_ACTIONS: Final[dict[Category, Action]] = {
    "OutOfMemory": "RetryLarger",
    "Timeout": "RetryLonger",
    "CompileError": "FixAndRetry",
    "TestFailure": "FixAndRetry",
    "MissingDependency": "Escalate",
    "PermissionDenied": "Escalate",
    "NetworkError": "Escalate",
    "ConfigError": "FixAndRetry",
    "Unknown": "FixAndRetry",
}


_LEFT: Final[dict[Action, tuple[str, str, StepIntent]]] = {
    "FixAndRetry": (
        "fix",
        "mend what the checks hold against the work (see Tests)",
        StepIntent.MODIFY,
    ),
    "Escalate": ("ask", "a person says whether the work goes on", StepIntent.VERIFY),
    "Abort": ("stop", "the work ends as it is", StepIntent.VERIFY),
}
"""The step that an action leaves to do: its name, what it is, its intent."""
_MISSING: Final = re.compile(
    r"No module named '(?P<python>[\w.]+)'|Cannot find (?:module|package) '(?P<node>[^']+)'"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageQuestion:
    """A failed check."""

    complaints: tuple[str, ...]
    """What the checks hold against the work, in words; test failures by id."""
    output: str
    exit_code: int | None
    timed_out: bool
    ran_whole: bool = False
    """The run came to its end; its failures are those of tests."""
    attempt: int
    """How often the plan was changed for a failure before, in this turn."""
    most_attempts: int
    product: tuple[str, ...] = ()
    """Paths of the turn's tree: a missing module under one of them is the turn's own mistake."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageAnswer:
    """What it is and what follows."""

    category: Category
    action: Action
    explanation: str


TRIAGE: Final = Signature(
    name="failure_triage",
    question=TriageQuestion,
    answer=TriageAnswer,
    instructions="What does this failure mean?",
)


def diagnose(question: TriageQuestion) -> TriageAnswer:
    """The rule."""
    category = _category(question)
    action = _ACTIONS[category]
    if action in ("RetryLonger", "RetryLarger") and question.attempt > 0:
        action = "FixAndRetry"  # more room did not help, so the change itself runs away
    if question.attempt >= question.most_attempts:
        action = "Abort"
    elif category == "MissingDependency" and _is_own(question):
        action = "FixAndRetry"
    told = question.complaints[0] if question.complaints else question.output[-_PREVIEW:]
    return TriageAnswer(category=category, action=action, explanation=told[:_PREVIEW])


def revised(plan: PlanIR, question: TriageQuestion, action: Action) -> PlanIR:
    """The plan of what is left to do after an action; each action leaves another one.

    `FixAndRetry` is a step for what the checks hold against the work, `RetryLarger` and `RetryLonger` more room for the
    checks and no step, `Escalate` a person's word, `Abort` the end.
    """
    if action in ("RetryLarger", "RetryLonger"):
        return replace(plan, steps=(), room=plan.room + 1)
    name, description, intent = _LEFT[action]
    step = PlanStep(
        step_id=f"{name}-{question.attempt + 1}",
        description=description,
        intent=intent,
        max_iterations=_FIX_ITERATIONS,
        acceptance=tuple(f"no longer: {told[:_SHORT]}" for told in question.complaints),
        rollback="the turn's start tree",
    )
    return replace(plan, steps=(step,))


def _category(question: TriageQuestion) -> Category:
    if question.timed_out:
        return "Timeout"
    if question.ran_whole:
        return "TestFailure"  # what a failing test prints is about the code, not about the machine
    text = f"{question.output}\n" + "\n".join(question.complaints)
    for category, words in _WORDS:
        if words.search(text):
            return category
    return "TestFailure" if question.complaints else "Unknown"


def _is_own(question: TriageQuestion) -> bool:
    """Whether the missing module is the project's own: a relative one, or one whose first name the tree has."""
    found = _MISSING.search(f"{question.output}\n{question.complaints}")
    if found is None:
        return False
    name = found["python"] or found["node"]
    if name.startswith((".", "/")):
        return True
    first = re.split(r"[./]", name)[0]
    return any(
        first in (part, part.partition(".")[0])
        for path in question.product
        for part in path.split("/")
    )
