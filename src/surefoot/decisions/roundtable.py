"""Roundtable: which of several candidates is kept, by agreement of reviewers that look at different things (SPEC B7).

Each reviewer names one candidate or none. More than half of those that named one agree; where they do not, they choose
again among the two that were named most; where they still do not, nothing is kept. The reviewers by rule always name one.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeAlias

from surefoot.codec import encode
from surefoot.decisions.environment import SMALL_CONTEXT
from surefoot.decisions.signature import Signature, Unanswered, decide
from surefoot.events.orchestration import Decided
from surefoot.kernel.ports import Asker, Notebook
from surefoot.values import Digest, Mode

POLICY_BUNDLE: Final = "roundtable/1"
ROUNDS: Final = 2
_STAY: Final = 2
"""Candidates that the second round chooses between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """A candidate that passed, as reviewers see it."""

    candidate_id: Digest
    description: str
    score: float
    """Expected pass, smallness and reversibility, weighted; 0..1."""
    lines: int
    """Lines that it changes."""
    prior: float
    """How likely it is what a person would have written, 0..1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """One reviewer's word in one round."""

    reviewer: str
    round: int
    choice: Digest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What they came to."""

    choice: Digest | None
    """None: they did not agree."""
    ballots: tuple[Ballot, ...] = ()


Choose: TypeAlias = Callable[[Sequence[Option]], Digest | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Juror:
    """A reviewer with its name."""

    name: str
    choose: Choose


def _best(key: Callable[[Option], tuple[float, float]]) -> Choose:
    return lambda options: max(options, key=key).candidate_id


RULES: Final = (
    Juror(name="score", choose=_best(lambda o: (o.score, o.prior))),
    Juror(name="smallest", choose=_best(lambda o: (-o.lines, o.score))),
    Juror(name="likeliest", choose=_best(lambda o: (o.prior, o.score))),
)
"""Three that never abstain, so that two candidates always get a majority."""


def agree(options: Sequence[Option], jurors: Sequence[Juror] = RULES) -> Agreement:
    """Hold the rounds; a single option needs none."""
    if len(options) == 1:
        return Agreement(choice=options[0].candidate_id)
    ballots: tuple[Ballot, ...] = ()
    standing = tuple(options)
    for number in range(1, ROUNDS + 1):
        cast = tuple(
            Ballot(reviewer=j.name, round=number, choice=_valid(j.choose(standing), standing))
            for j in jurors
        )
        ballots += cast
        votes = Counter(b.choice for b in cast if b.choice is not None)
        first = votes.most_common(1)
        if first and first[0][1] * 2 > votes.total():
            return Agreement(choice=first[0][0], ballots=ballots)
        ranked = sorted(standing, key=lambda o: (-votes[o.candidate_id], -o.score))
        standing = tuple(ranked[:_STAY])
    return Agreement(choice=None, ballots=ballots)


def _valid(choice: Digest | None, options: Sequence[Option]) -> Digest | None:
    return choice if choice in {o.candidate_id for o in options} else None


def held(options: Sequence[Option], jurors: Sequence[Juror], notebook: Notebook) -> Agreement:
    """The same, recorded where there was something to choose."""
    found = agree(options, jurors)
    if found.ballots:
        by_model = len(jurors) > len(RULES)
        notebook.record(
            Decided(
                decision="roundtable",
                inputs=notebook.put(encode(tuple(options))),
                output=notebook.put(encode(found)),
                decided_by="model" if by_model else "rule",
                policy_bundle=POLICY_BUNDLE,
                by_rule=notebook.put(encode(agree(options))) if by_model else None,
            )
        )
    return found


def jurors_of(mode: Mode, judge: Asker, notebook: Notebook) -> tuple[Juror, ...]:
    """The reviewers by rule, and in `auto_solve_full` the pinned judge where its word is worth something."""
    if mode is not Mode.AUTO_SOLVE_FULL or judge.context_tokens <= SMALL_CONTEXT:
        return RULES
    return (*RULES, model_juror(judge, notebook))


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteQuestion:
    """What a model is shown."""

    options: Annotated[tuple[str, ...], "Changes that all pass, numbered from 0 in this order"]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteAnswer:
    """What it says."""

    choice: Annotated[int, "Number of the change that a careful maintainer would merge"]
    reason: Annotated[str, "Why, in one sentence"]


VOTE: Final = Signature(
    name="roundtable_vote",
    question=VoteQuestion,
    answer=VoteAnswer,
    instructions="Several changes mend the same findings and pass the same checks. Name the one that a careful "
    "maintainer would merge: it must keep what the program does and say what it means.",
    answer_tokens=150,
)


def _by_score(options: Sequence[Option]) -> VoteAnswer:
    best = RULES[0].choose(options)
    place = next(n for n, o in enumerate(options) if o.candidate_id == best)
    return VoteAnswer(choice=place, reason=f"it has the best score, {options[place].score:.2f}")


def model_juror(asker: Asker, notebook: Notebook) -> Juror:
    """A reviewer that is a model; where it cannot be had, or answers nonsense, it names none.

    Beside its vote stands the one by score.
    """

    def choose(options: Sequence[Option]) -> Digest | None:
        question = VoteQuestion(
            options=tuple(f"{o.description} ({o.lines} lines)" for o in options)
        )
        word = decide(
            VOTE,
            question,
            asker,
            notebook,
            otherwise=lambda _: _by_score(options),
            check=lambda a: "" if 0 <= a.choice < len(options) else "no change has that number",
        )
        return None if isinstance(word, Unanswered) else options[word.answer.choice].candidate_id

    return Juror(name="model", choose=choose)
