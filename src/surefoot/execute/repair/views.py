"""Which questions are put to the model, in which order: varied views, rising temperature, the exact failure fed back.

Pure: the same case, batch number and seed give the same questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from surefoot.decisions.candidate_edit import EditQuestion, EditView
from surefoot.execute.repair.graft import head_of
from surefoot.execute.repair.localise import Suspect

_MOST_TOKENS: Final = 900
_LEAST_REWRITE: Final = 220
_MARGIN: Final = 40
_ISSUE_CHARACTERS: Final = 1_200


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the model is shown of one suspect."""

    suspect: Suspect
    name: str
    code: str
    context: str
    documented: bool
    """Docstring or issue say enough to write the function anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A candidate of the model that failed."""

    code: str
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One place of the schedule."""

    view: EditView
    temperature: float
    feedback: bool = False


_SCHEDULE: Final = (
    Slot(view=EditView.WHOLE, temperature=0.0),
    Slot(view=EditView.REWRITE, temperature=0.0),
    Slot(view=EditView.EXPLAIN, temperature=0.3),
    Slot(view=EditView.REWRITE, temperature=0.6),
    Slot(view=EditView.WHOLE, temperature=0.6),
    Slot(view=EditView.EXPLAIN, temperature=0.7),
    Slot(view=EditView.WHOLE, temperature=0.5, feedback=True),
    Slot(view=EditView.REWRITE, temperature=0.8),
    Slot(view=EditView.MASKED, temperature=0.3),
    Slot(view=EditView.EXPLAIN, temperature=0.9),
    Slot(view=EditView.WHOLE, temperature=0.8, feedback=True),
    Slot(view=EditView.REWRITE, temperature=1.0),
)
"""Repeated with rising temperature until the samples of a turn are used."""
_VOTES: Final = (
    Slot(view=EditView.REWRITE, temperature=0.7),
    Slot(view=EditView.WHOLE, temperature=0.7),
    Slot(view=EditView.REWRITE, temperature=0.9),
    Slot(view=EditView.EXPLAIN, temperature=0.6),
)
"""Asked for when something passes already and more independent ideas are wanted."""
_WARMER: Final = 0.15
_HOTTEST: Final = 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a batch is made from."""

    shown: Sequence[Shown]
    """Suspects, the likeliest first."""
    failures: Sequence[str]
    """Failing checks with values, the shortest first."""
    issue: str
    attempts: Sequence[Attempt]
    """Failed candidates of the model, the nearest first."""
    first: int
    """Number of questions asked before in this turn."""
    size: int
    seed: int
    votes: bool
    """Something passes already."""
    count_tokens: Callable[[str], int]


def questions_of(batch: Batch) -> tuple[EditQuestion, ...]:
    """The questions of a batch."""
    return tuple(_question(batch, batch.first + n) for n in range(batch.size))


def _question(batch: Batch, number: int) -> EditQuestion:
    schedule = _VOTES if batch.votes else _SCHEDULE
    slot = schedule[number % len(schedule)]
    warmer = (
        _WARMER * (number // len(schedule)) if slot.temperature or number >= len(schedule) else 0.0
    )
    shown = _turn_about(batch.shown, number)
    view = slot.view
    if view is EditView.REWRITE and not shown.documented:
        view = EditView.EXPLAIN if number % 2 else EditView.WHOLE
    lines = _suspicious_lines(shown, number) if view is EditView.MASKED else None
    if view is EditView.MASKED and lines is None:
        view = EditView.WHOLE
    attempt = (
        batch.attempts[number % min(2, len(batch.attempts))]
        if slot.feedback and batch.attempts
        else None
    )
    return EditQuestion(
        view=view,
        name=shown.name,
        code=shown.code,
        head=head_of(shown.code),
        body_tokens=_body_tokens(batch, shown, view),
        context=shown.context,
        issue=_told_issue(batch),
        failure=_failure(batch, number),
        lines=lines,
        attempt=attempt.code if attempt else "",
        attempt_failure=attempt.failure if attempt else "",
        temperature=round(min(_HOTTEST, slot.temperature + warmer), 2),
        seed=batch.seed + number,
    )


def _turn_about(shown: Sequence[Shown], number: int) -> Shown:
    """The likeliest suspect most of the time; the others once the first questions are through."""
    if len(shown) == 1 or number < 4 or number % 3:  # noqa: PLR2004  # the first four are the likeliest one's
        return shown[0]
    return shown[1 + (number // 3) % (len(shown) - 1)]


def _failure(batch: Batch, number: int) -> str:
    """The smallest failing input first; another one in every third question."""
    if not batch.failures:
        return ""
    return batch.failures[(number // 3) % len(batch.failures) if number % 3 == 2 else 0]  # noqa: PLR2004


def _told_issue(batch: Batch) -> str:
    """The issue unless the failing check says it all; never cut in the middle of what is sent."""
    text = batch.issue.strip()
    return text if len(text) <= _ISSUE_CHARACTERS else ""


def _body_tokens(batch: Batch, shown: Shown, view: EditView) -> int:
    body = shown.code[len(head_of(shown.code)) :]
    tokens = int(batch.count_tokens(body) * 1.3) + _MARGIN
    if view is EditView.REWRITE:
        tokens = max(tokens, _LEAST_REWRITE)
    return min(tokens, _MOST_TOKENS)


def _suspicious_lines(shown: Shown, number: int) -> tuple[int, int] | None:
    """One line of the body, the most suspicious first, then the next at each asking."""
    unit = shown.suspect.unit
    if unit is None:
        return None
    head = head_of(shown.code).count("\n") + 1
    rows = shown.code.split("\n")
    lines = [
        n
        for n in range(head + 1, len(rows) + 1)
        if rows[n - 1].strip() and not rows[n - 1].strip().startswith("#")
    ]
    if not lines:
        return None
    ranked = sorted(lines, key=lambda n: -shown.suspect.suspicion(unit.first_line + n - 1))
    line = ranked[(number // len(_SCHEDULE)) % len(ranked)]
    return (line, line)
