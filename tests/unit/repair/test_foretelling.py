"""Values that a model foretells tell behaviours apart that pass all the same."""

from dataclasses import replace
from hashlib import sha256

import pytest

from surefoot.codec import digest_of
from surefoot.decisions.foretold_value import PURPOSE
from surefoot.events.calls import ModelAsked
from surefoot.events.orchestration import Decided
from surefoot.execute.repair.foretelling import Foretelling, word_of
from surefoot.execute.repair.localise import Suspect
from surefoot.execute.repair.plain import plain
from surefoot.execute.repair.probe import RAISED, STUCK
from surefoot.execute.repair.select import Choice, Passing, Weights, choose
from surefoot.execute.repair.views import Shown
from surefoot.execute.source import parse, units
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.models.scripted import Rule, ScriptedModel
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Candidate, Ceilings, FileEdit

CODE = '''def first(one, other):
    """The shorter one of two lists; the first where they are equally long."""
    return other
'''
INPUTS: tuple[tuple[list[int], ...], ...] = (
    ([1], [2]),
    ([], [1]),
    ([3, 4, 5, 6], [1, 2, 3, 4]),
    ([1, 2], []),
)


def word(value: object) -> str:
    """As a probe tells a value."""
    return sha256(plain(value).encode()).hexdigest()[:8]


def passing(text: str, words: tuple[str, ...], samples: int) -> Passing:
    """A candidate that passes."""
    edits = (FileEdit(path="m.py", text=text),)
    candidate = Candidate(
        candidate_id=digest_of(edits), generator="g", edits=edits, description=text
    )
    return Passing(
        candidate=candidate,
        samples=samples,
        edited=True,
        prior=0.5,
        changed_lines=1,
        changed_files=1,
        words=words,
        examples=(),
        measured="m.py::first",
        special=None,
    )


RIGHT = passing("right", (word([1]), word([]), word([3, 4, 5, 6]), word([])), 1)
WRONG = passing("wrong", (word([2]), word([]), word([1, 2, 3, 4]), word([])), 2)


class Asked:
    """A foretelling, the model behind it, and what it recorded."""

    def __init__(
        self, *replies: tuple[str, str], most: int = 6, context_tokens: int = 4096
    ) -> None:
        rules = [Rule(pattern=call, replies=(value,)) for call, value in replies]
        self.clock, ledger = FakeClock(), MemoryLedger()
        self.journal = Journal(ledger, self.clock)
        ceilings = Ceilings(max_iterations=1, time_s=1e6, max_files=1)
        rules.append(Rule(replies=("I do not know.",)))
        model = ScriptedModel(rules, context_tokens=context_tokens)
        asker = MeteredModel(model, self.journal, ceilings, self.clock)
        self.foretelling = Foretelling(asker, self.journal, most)
        self.ledger = ledger

    def ask(self, *candidates: Passing) -> None:
        """About what these differ in."""
        source = parse("m.py", CODE)
        assert source is not None
        (unit,) = units(source)
        suspect = Suspect(path="m.py", unit=unit, score=1.0, lines={})
        shown = Shown(suspect=suspect, name="first", code=unit.text, context="", documented=True)
        self.foretelling.ask(self.choice(*candidates), shown, "first([], []) gives []", INPUTS)

    def choice(self, *candidates: Passing) -> Choice:
        """Without what was foretold."""
        return choose(candidates, Weights())

    @property
    def questions(self) -> int:
        """How many were answered and recorded."""
        events = (r.event for r in self.ledger.events())
        return sum(isinstance(e, Decided) and e.decision == PURPOSE for e in events)


def test_a_call_on_which_behaviours_differ_is_asked_about() -> None:
    """Those on which they agree are not; what the model gives speaks for who gives it."""
    asked = Asked((r">>> first\(\[1\], \[2\]\)", "[1]"), (r">>> first\(\[3,", "[3, 4,  5, 6]"))
    asked.ask(RIGHT, WRONG)
    assert asked.questions == 2
    assert (len(asked.foretelling.hits(RIGHT)), len(asked.foretelling.hits(WRONG))) == (
        2,
        0,
    )


def test_no_call_is_asked_about_twice_and_no_more_than_the_limit() -> None:
    """The shortest first."""
    asked = Asked((r">>> first\(\[1\]", "[1]"), most=1)
    asked.ask(RIGHT, WRONG)
    asked.ask(RIGHT, WRONG)
    assert asked.questions == 1
    assert len(asked.foretelling.hits(RIGHT)) == 1


@pytest.mark.parametrize(("samples", "questions"), [(2, 4), (9, 3)])
def test_what_is_clear_is_asked_about_once(samples: int, questions: int) -> None:
    """Three calls at a time, and all that there are while nothing can be taken."""
    asked = Asked()
    many = passing("many", tuple(word([n, n]) for n in range(4)), samples)
    for _ in range(3):
        asked.ask(RIGHT, many)
    assert (asked.choice(RIGHT, many).taken is many) is (questions == 3)
    assert asked.questions == questions


@pytest.mark.parametrize(
    "reply", ["[1]", "`[1]`", "```python\n[1]\n```", "```python\n>>> first([1], [2])\n[1]\n```"]
)
def test_models_put_a_value_in_several_ways(reply: str) -> None:
    """With a fence or without, with the call again or without."""
    asked = Asked((r"first\(\[1\]", reply))
    asked.ask(RIGHT, WRONG)
    assert len(asked.foretelling.hits(RIGHT)) == 1


def test_what_is_no_value_says_nothing() -> None:
    """Nor does a value that no candidate gives."""
    asked = Asked((r">>> first\(\[1\]", "[9]"))
    asked.ask(RIGHT, WRONG)
    assert (len(asked.foretelling.hits(RIGHT)), len(asked.foretelling.hits(WRONG))) == (
        0,
        0,
    )
    assert not asked.foretelling.hits(replace(RIGHT, words=None))


def test_words_told_on_another_functions_inputs_hit_nothing() -> None:
    """They stand in the same places, and are about other calls."""
    asked = Asked((r">>> first\(\[1\]", "[1]"))
    asked.ask(RIGHT, WRONG)
    assert asked.foretelling.hits(RIGHT)
    assert not asked.foretelling.hits(replace(RIGHT, measured="m.py::other"))


def test_what_does_not_fit_is_not_asked() -> None:
    """A model with room for the answer alone says nothing."""
    asked = Asked((r">>> first", "[1]"), context_tokens=64)
    asked.ask(RIGHT, WRONG)
    assert not any(isinstance(r.event, ModelAsked) for r in asked.ledger.events())


def test_one_behaviour_is_not_asked_about() -> None:
    """There is nothing to tell apart; nor is there where one of them does not end."""
    asked = Asked()
    asked.ask(RIGHT)
    asked.ask(RIGHT, passing("stuck", (STUCK, word([]), STUCK, word([])), 1))
    assert asked.questions == 0


def test_foretold_values_turn_the_choice() -> None:
    """Two answers for one behaviour, one and two foretold values for the other."""
    asked = Asked((r">>> first\(\[1\]", "[1]"), (r">>> first\(\[3,", "[3, 4, 5, 6]"))
    assert asked.choice(RIGHT, WRONG).clusters[0].members[0] is WRONG
    asked.ask(RIGHT, WRONG)
    heard = [replace(p, foretold=len(asked.foretelling.hits(p))) for p in (RIGHT, WRONG)]
    assert asked.choice(*heard).clusters[0].members[0] is heard[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2]", [1, 2]),
        ("'a'", "a"),
        ('"a"', "a"),
        ("2.0", 2),
        ("None", None),
        ("{1, 2}", {2, 1}),
    ],
)
def test_equal_values_are_one_word(text: str, value: object) -> None:
    """As the probe tells them."""
    assert word_of(text) == word(value)


@pytest.mark.parametrize(
    "text", ["", "x", "Traceback (most recent call last):", "first([1])", f"{RAISED}ValueError"]
)
def test_no_value(text: str) -> None:
    """Names, calls, errors."""
    assert word_of(text) is None
