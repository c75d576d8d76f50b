"""Which questions are put to the model, in which order: varied views, rising temperature, the exact failure fed back.

Pure: the same case, batch number and seed give the same questions.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from surefoot.decisions.candidate_edit import EditQuestion, EditView
from surefoot.execute.repair.graft import head_of, short_head_of
from surefoot.execute.repair.localise import Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Lines of a unit as an edit that passes made it, which the model is to fill in without having seen them."""

    code: str
    """The unit with the edit."""
    lines: tuple[int, int]
    """First and last one, within `code`, 1-based."""
    opening: str | None = None
    """As in `EditQuestion`."""


_LEAST_REWRITE: Final = 220
_MARGIN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What the model is shown of one suspect."""

    suspect: Suspect
    name: str
    code: str
    context: str
    documented: bool
    """Docstring or issue say enough to write the function anew."""
    values: tuple[str, ...] = ()
    """How its variables changed in the failing check, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and what it is about, which its text does not say: two suspects may have the same code."""

    shown: Shown
    question: EditQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A candidate of the model that failed."""

    suspect: str
    """Key of the suspect whose text it is; functions of several classes share a name."""
    code: str
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One place of the schedule."""

    view: EditView
    temperature: float


_SCHEDULE: Final = (
    Slot(view=EditView.WHOLE, temperature=0.0),
    Slot(view=EditView.REWRITE, temperature=0.0),
    Slot(view=EditView.REWRITE, temperature=0.6),
    Slot(view=EditView.WHOLE, temperature=0.6),
    Slot(view=EditView.REWRITE, temperature=0.9),
    Slot(view=EditView.MASKED, temperature=0.3),
    Slot(view=EditView.REWRITE, temperature=0.7),
    Slot(view=EditView.WHOLE, temperature=0.9),
    Slot(view=EditView.REWRITE, temperature=1.0),
    Slot(view=EditView.EXPLAIN, temperature=0.0),
)
"""For one suspect; repeated with rising temperature until the samples of a turn are used.

Half of the answers have not seen the code: of those that have, most give it back, and an explanation first costs a small model
sixteen times what an answer without costs for each new candidate that passes.
"""
_VOTES: Final = (
    Slot(view=EditView.MASKED, temperature=0.0),
    Slot(view=EditView.REWRITE, temperature=0.0),
    Slot(view=EditView.MASKED, temperature=0.0),
    Slot(view=EditView.WHOLE, temperature=0.0),
    Slot(view=EditView.REWRITE, temperature=0.6),
    Slot(view=EditView.MASKED, temperature=0.0),
    Slot(view=EditView.REWRITE, temperature=0.8),
    Slot(view=EditView.WHOLE, temperature=0.6),
    Slot(view=EditView.MASKED, temperature=0.0),
    Slot(view=EditView.EXPLAIN, temperature=0.4),
)
"""Asked for when something passes already and more independent ideas are wanted.

The answer that has not seen the code comes early: where it does what an edit does, two are enough.
The view `masked` leaves out, in turn, each place that passing edits change: without having seen it, and in a few tokens, the
model says what belongs there, twice at most. Where no edit passes it is not asked.
"""
_VOTES_A_MASK: Final = 2
"""A model that fills in the same wrong line twice does so again."""
_WARMER: Final = 0.15
_LEAST_WARM: Final = 0.4
_HOTTEST: Final = 1.2
_RARE: Final = 4
_LIKELY: Final = 0.6
"""Share of the first suspect's score from which on another one is asked about as often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a batch is made from."""

    shown: Sequence[Shown]
    """Suspects, the likeliest first."""
    failures: Sequence[str]
    """Failing checks with values, the shortest first."""
    issue: str
    attempts: Sequence[Attempt]
    """Failed candidates of the model that have not been told it, the most telling first."""
    first: int
    """Number of questions asked before in this turn, those about attempts left out."""
    size: int
    second_tries: int
    """At most so many of the batch's questions say how an attempt failed."""
    seed: int
    votes: bool
    """Something passes already."""
    masks: Mapping[str, Sequence[Mask]] = field(default_factory=dict)
    """What passing edits change of each suspect by its key, the likeliest first."""
    count_tokens: Callable[[str], int]
    issue_characters: int
    """Length up to which the issue is told."""


def questions_of(batch: Batch) -> tuple[Asked, ...]:
    """The questions of a batch: some say how an attempt failed, the others follow the schedule."""
    told = [] if batch.votes else batch.attempts[: batch.second_tries]
    return (
        *(_second_try(batch, attempt) for attempt in told),
        *(_question(batch, batch.first + n) for n in range(batch.size - len(told))),
    )


def _second_try(batch: Batch, attempt: Attempt) -> Asked:
    """An attempt's own question once more, with the attempt and how it failed."""
    shown = next(s for s in batch.shown if s.suspect.key == attempt.suspect)
    question = _asked(batch, shown, EditView.WHOLE)
    told = replace(question, attempt=attempt.code, attempt_failure=attempt.failure)
    return Asked(shown=shown, question=told)


def _question(batch: Batch, number: int) -> Asked:
    shown, place = _turn_about(batch.shown, number)
    return Asked(shown=shown, question=_scheduled(batch, shown, place, number))


def _scheduled(batch: Batch, shown: Shown, place: int, number: int) -> EditQuestion:
    """The question at a place of a suspect's own schedule; `number` is its place among all."""
    masks = batch.masks.get(shown.suspect.key, ())
    places = _votes(len(masks)) if batch.votes else _plan()
    slot, lap, vote = next(itertools.islice(places, place, None))
    if vote is not None:
        return _vote(batch, shown, masks, vote, number)
    view = slot.view
    if view is EditView.REWRITE and not shown.documented:
        view = EditView.EXPLAIN if lap % 2 else EditView.WHOLE
    lines = _suspicious_lines(shown, lap) if view is EditView.MASKED else None
    if view is EditView.MASKED and lines is None:
        view = EditView.WHOLE
    return replace(
        _asked(batch, shown, view),
        values=shown.values if view is EditView.EXPLAIN else (),
        other_failure=_other_failure(batch, place),
        lines=lines,
        temperature=_temperature(slot, lap, twice=view is not slot.view),
        seed=batch.seed + number,
    )


def _plan() -> Iterator[tuple[Slot, int, int | None]]:
    """The places of the schedule, each with its lap; none is a vote on a mask."""
    return ((slot, lap, None) for lap in itertools.count() for slot in _SCHEDULE)


def _votes(masks: int) -> Iterator[tuple[Slot, int, int | None]]:
    """The places of the votes, each with its lap and, where it is a vote on a mask, its number among those."""
    asked = 0
    for lap in itertools.count():
        for slot in _VOTES:
            if slot.view is not EditView.MASKED:
                yield slot, lap, None
            elif asked < _VOTES_A_MASK * masks:
                yield slot, lap, asked
                asked += 1


def _vote(batch: Batch, shown: Shown, masks: Sequence[Mask], nth: int, number: int) -> EditQuestion:
    """What belongs in one of the places; each is asked about once before any is asked about again, warmer."""
    again, mask = divmod(nth, len(masks))
    return replace(
        _asked(batch, shown, EditView.MASKED),
        code=masks[mask].code,
        lines=masks[mask].lines,
        opening=masks[mask].opening,
        temperature=_LEAST_WARM if again else 0.0,
        seed=batch.seed + number,
    )


def _asked(batch: Batch, shown: Shown, view: EditView) -> EditQuestion:
    """A view of a suspect at temperature 0."""
    head = head_of(shown.code)
    return EditQuestion(
        view=view,
        name=shown.name,
        code=shown.code,
        head=head,
        short_head=short_head_of(shown.code),
        body_tokens=_body_tokens(batch, shown, view),
        head_tokens=batch.count_tokens(head),
        context=shown.context,
        issue=_told_issue(batch),
        failure=batch.failures[0] if batch.failures else "",
        seed=batch.seed,
    )


def _temperature(slot: Slot, lap: int, *, twice: bool) -> float:
    """Warmer in each lap; never 0 where that would ask the same question twice."""
    if not slot.temperature and not lap:
        return _LEAST_WARM if twice else 0.0
    return round(min(_HOTTEST, slot.temperature + _WARMER * lap), 2)


def _turn_about(shown: Sequence[Shown], number: int) -> tuple[Shown, int]:
    """Whose question it is, and its place in that suspect's own schedule: all likely ones first, then by rank.

    Suspects that are likely take turns; the others share every fourth question.
    """
    likely = [s for s in shown if s.suspect.score >= _LIKELY * shown[0].suspect.score]
    turns: list[int] = []
    for n in range(number + 1):
        rare = len(likely) < len(shown) and n % _RARE == _RARE - 1 and n > len(likely)
        group = range(len(likely), len(shown)) if rare else range(len(likely))
        turns.append(min(group, key=lambda index: (turns.count(index), index)))
    return shown[turns[-1]], turns.count(turns[-1]) - 1


def _other_failure(batch: Batch, place: int) -> str:
    """Another failing check in every third question."""
    if len(batch.failures) < 2 or place % 3 != 2:  # noqa: PLR2004
        return ""
    return batch.failures[1 + (place // 3) % (len(batch.failures) - 1)]


def _told_issue(batch: Batch) -> str:
    """The issue unless the failing check says it all; never cut in the middle of what is sent."""
    text = batch.issue.strip()
    return text if len(text) <= batch.issue_characters else ""


def _body_tokens(batch: Batch, shown: Shown, view: EditView) -> int:
    """As many as the body of an answer may need, however many those are: fewer would only cut it off."""
    body = shown.code[len(head_of(shown.code)) :]
    tokens = int(batch.count_tokens(body) * 1.3) + _MARGIN
    return max(tokens, _LEAST_REWRITE) if view is EditView.REWRITE else tokens


def _suspicious_lines(shown: Shown, lap: int) -> tuple[int, int] | None:
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
    line = ranked[lap % len(ranked)]
    return (line, line)
