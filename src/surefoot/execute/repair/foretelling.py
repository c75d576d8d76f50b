"""What the model says that calls give on which candidates that pass differ, without having seen them.

Such a word is a vote of another kind than code is: Chen et al., "CodeT: Code generation with generated tests" (2022).
"""

from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from surefoot.decisions.foretold_value import ForetoldValue, ValueQuestion, foretell
from surefoot.execute.repair.examples import value_of
from surefoot.execute.repair.graft import head_of
from surefoot.execute.repair.inputs import Arguments
from surefoot.execute.repair.plain import plain
from surefoot.execute.repair.probe import STUCK
from surefoot.execute.repair.select import Choice, Passing
from surefoot.execute.repair.views import Shown
from surefoot.kernel.ports import Asker, Notebook

LONGEST: Final = 100
"""Characters of a call that a model can follow."""
_AT_ONCE: Final = 3


class Foretelling:
    """The foretold values of one suspect's calls."""

    def __init__(self, asker: Asker, notebook: Notebook, most: int) -> None:
        self._asker, self._notebook, self._most = asker, notebook, most
        self._told: dict[int, str] = {}
        """Words by place of the behaviour."""
        self._asked: set[int] = set()
        self._of = ""
        """Key of the suspect."""

    def ask(self, choice: Choice, shown: Shown, failure: str, inputs: Sequence[Arguments]) -> None:
        """Ask about a few calls on which the two behaviours differ that most speaks for, the shortest first; about more of them while the choice is open."""
        if choice.taken is not None and self._asked:
            return
        rivals = [words for c in choice.clusters if (words := c.members[0].words) is not None]
        if len(rivals) < 2 or any(len(words) != len(inputs) for words in rivals[:2]):  # noqa: PLR2004
            return
        one, other = rivals[:2]
        self._of = shown.suspect.key
        calls = {
            place: f"{shown.name}({', '.join(map(repr, inputs[place]))})"
            for place in range(len(inputs))
            if one[place] != other[place]
            and place not in self._asked
            and STUCK not in (one[place], other[place])
        }
        short = sorted((p for p in calls if len(calls[p]) <= LONGEST), key=lambda p: len(calls[p]))
        places = short[: min(_AT_ONCE, self._most - len(self._asked))]
        self._asked.update(places)
        questions = [
            ValueQuestion(
                name=shown.name,
                head=head_of(shown.code),
                context=shown.context,
                failure=failure,
                call=calls[place],
            )
            for place in places
        ]
        if questions:
            self._hear(places, foretell(questions, self._asker, self._notebook))

    def _hear(self, places: Sequence[int], told: Sequence[ForetoldValue]) -> None:
        for place, said in zip(places, told, strict=False):
            word = word_of(said.text)
            if word is not None:
                self._told[place] = word

    def hits(self, passing: Passing) -> frozenset[int]:
        """The calls on which a candidate gives what was foretold, by their places."""
        words = passing.words
        if words is None or passing.measured != self._of:
            return frozenset()
        return frozenset(p for p, word in self._told.items() if words[p : p + 1] == (word,))


def word_of(text: str) -> str | None:
    """A value as a probe tells it; None for what is no literal."""
    try:
        value = value_of(text)
    except ValueError:
        return None
    return word_of_value(value)


def word_of_value(value: object) -> str:
    """A value as a probe tells it."""
    return sha256(plain(value).encode()).hexdigest()[:8]
