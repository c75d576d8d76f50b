"""Which questions are asked, in which order."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from surefoot.decisions.candidate_edit import (
    EditProposal,
    EditQuestion,
    EditView,
    propose_edits,
    read_answer,
    request_of,
)
from surefoot.execute.repair.limits import RepairLimits
from surefoot.execute.repair.localise import Suspect, values_in
from surefoot.execute.repair.views import Attempt, Batch, Mask, Shown, questions_of
from surefoot.execute.source import parse, units
from surefoot.kernel.journal import Journal
from surefoot.kernel.metering import MeteredModel
from surefoot.models.scripted import ScriptedModel
from surefoot.testing.clock import FakeClock
from surefoot.testing.ledger import MemoryLedger
from surefoot.values import Ceilings

CODE = '''def {name}(a, b):
    """The larger one of two numbers."""
    if a < b:
        return a
    return b
'''


def shown(name: str, score: float, *, documented: bool = True) -> Shown:
    source = parse(f"{name}.py", CODE.format(name=name))
    assert source is not None
    (unit,) = units(source)
    suspect = Suspect(path=source.path, unit=unit, score=score, lines={3: 1.0, 4: 0.5})
    return Shown(suspect=suspect, name=name, code=unit.text, context="", documented=documented)


def batch(suspects: Sequence[Shown], **changes: object) -> Batch:
    made = Batch(
        shown=suspects,
        failures=["`f(1, 2)` gave `1`, expected `2`", "`f(3, 5)` gave `3`, expected `5`"],
        issue="The smaller one comes out.",
        attempts=(),
        first=0,
        size=12,
        second_tries=2,
        seed=7,
        votes=False,
        count_tokens=len,
        issue_characters=1_200,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def questions(made: Batch) -> tuple[EditQuestion, ...]:
    return tuple(asked.question for asked in questions_of(made))


def prompt(question: EditQuestion) -> str:
    return request_of(question).messages[-1].content


def test_every_view_is_asked_of_one_suspect() -> None:
    asked = questions(batch([shown("f", 1.0)]))
    assert {q.view for q in asked} == set(EditView)


def test_no_request_is_made_twice() -> None:
    asked = questions(batch([shown("f", 1.0, documented=False)], size=40))
    requests = {
        (r.messages, r.temperature, r.seed if r.temperature else 0) for r in map(request_of, asked)
    }
    assert len(requests) == 40


def test_likely_suspects_are_all_asked_about_first() -> None:
    suspects = [shown("f", 1.0), shown("g", 0.9), shown("h", 0.1)]
    names = [q.name for q in questions(batch(suspects))]
    assert names[:2] == ["f", "g"]
    assert names.count("h") == 3
    first = {n: next(q for q in questions(batch(suspects)) if q.name == n) for n in "fgh"}
    assert all(q.view is EditView.WHOLE and q.temperature == 0 for q in first.values())


def test_a_later_batch_goes_on_where_the_first_ended() -> None:
    suspects = [shown("f", 1.0), shown("g", 0.9)]
    whole = questions(batch(suspects, size=8))
    parts = (
        *questions(batch(suspects, size=4)),
        *questions(batch(suspects, first=4, size=4)),
    )
    assert whole == parts


def test_an_attempt_is_told_how_it_failed_beside_new_questions() -> None:
    attempts = [
        Attempt(
            suspect=f"{name}.py::{name}",
            code=f"def {name}(a, b): ...",
            failure=f"{name} gave nothing",
        )
        for name in ("g", "f", "g")
    ]
    asked = questions(batch([shown("f", 1.0), shown("g", 0.9)], attempts=attempts, size=4))
    assert [q.name for q in asked if q.attempt] == ["g", "f"]
    assert "g gave nothing" in prompt(asked[0])
    assert asked[2:] == questions(batch([shown("f", 1.0), shown("g", 0.9)], size=2))


def test_votes_are_asked_without_what_failed_before() -> None:
    attempts = [Attempt(suspect="f.py::f", code="def f(a, b): ...", failure="f gave nothing")]
    asked = questions(batch([shown("f", 1.0)], attempts=attempts, votes=True))
    assert not any(q.attempt for q in asked)


def test_a_vote_fills_in_what_an_edit_changed_without_having_seen_it() -> None:
    """Each place once, then once more with some warmth; the rest stands as the edit has it, and every other view is asked too."""
    edited = CODE.format(name="f").replace("a < b", "a > b").strip()
    masks = {"f.py::f": (Mask(code=edited, lines=(3, 3)), Mask(code=edited, lines=(5, 5)))}
    asked = questions(batch([shown("f", 1.0)], votes=True, masks=masks, size=20))
    votes = [q for q in asked if q.view is EditView.MASKED]
    assert [q.lines for q in votes] == [(3, 3), (5, 5), (3, 3), (5, 5)]
    assert [q.temperature for q in votes] == [0.0, 0.0, 0.4, 0.4]
    assert "a > b" not in prompt(votes[0])
    assert "a > b" in prompt(votes[1])
    assert {q.view for q in asked[:10]} == set(EditView)
    requests = {(prompt(q), q.temperature, q.seed if q.temperature else 0) for q in asked}
    assert len(requests) == 20
    first, then = (
        questions(batch([shown("f", 1.0)], votes=True, masks=masks, first=first, size=10))
        for first in (0, 10)
    )
    assert (*first, *then) == asked


def test_a_vote_on_one_line_ends_with_it() -> None:
    """Its first word is given where the unchanged code begins a line with it, so that the answer is about the same statement."""
    edited = CODE.format(name="f").replace("a < b", "a > b").strip()
    for opening, prefill in (("if", "```python\nif"), ("", "```python\n")):
        mask = Mask(code=edited, lines=(3, 3), opening=opening)
        first, *_ = questions(batch([shown("f", 1.0)], votes=True, masks={"f.py::f": (mask,)}))
        request = request_of(first)
        assert (request.prefill, request.stop) == (prefill, ("\n", "```"))
        read = read_answer(first, "```python\nif a > b:")
        assert read.code == edited


def test_no_vote_is_masked_where_no_edit_passes() -> None:
    """The order in which the other views are asked is the same with and without masks."""
    plain = questions(batch([shown("f", 1.0)], votes=True, size=6))
    masks = {"f.py::f": (Mask(code=CODE.format(name="f").strip(), lines=(3, 3)),)}
    mixed = questions(batch([shown("f", 1.0)], votes=True, masks=masks, size=8))
    assert [q.view for q in mixed if q.view is not EditView.MASKED] == [q.view for q in plain]
    assert all(q.view is not EditView.MASKED for q in plain)


def test_a_wider_search_is_told_more() -> None:
    """What `burn-max` widens reaches the prompt: an issue that is usually left to the failing check is told whole."""
    usual = RepairLimits()
    wide = usual.widened(2)
    issue = "It was so before. " * 100
    assert usual.issue_characters < len(issue) <= wide.issue_characters
    for limits, told in ((usual, False), (wide, True)):
        made = batch([shown("f", 1.0)], issue=issue, issue_characters=limits.issue_characters)
        assert all(("so before" in prompt(q)) is told for q in questions(made))
    assert (wide.told_calls, wide.told_values) == (2 * usual.told_calls, 2 * usual.told_values)
    assert wide.large_samples > usual.large_samples
    assert usual.widened(9).file_share == 0.5


def test_questions_share_their_beginning() -> None:
    """What a prompt cache can keep: all of the bug for every suspect, the function too for one suspect's."""
    asked = questions(batch([shown("f", 1.0), shown("g", 0.9)]))
    report = "Bug report:\nThe smaller one comes out.\n\nFailing check:\n`f(1, 2)` gave `1`, expected `2`\n\n"
    assert all(prompt(q).startswith(report) for q in asked)


def test_another_failing_check_is_shown_now_and_then() -> None:
    asked = questions(batch([shown("f", 1.0)]))
    seen = ["f(3, 5)" in prompt(q) for q in asked]
    assert any(seen)
    assert not all(seen)


def test_the_view_that_explains_is_not_started_for_the_model() -> None:
    asked = questions(batch([shown("f", 1.0)]))
    requests = {q.view: request_of(q) for q in reversed(asked)}
    assert requests[EditView.EXPLAIN].prefill == ""
    assert requests[EditView.WHOLE].prefill.startswith("```python\ndef f(a, b):")
    assert requests[EditView.EXPLAIN].max_tokens > requests[EditView.WHOLE].max_tokens


def test_beside_the_broken_code_a_docstring_is_told_once() -> None:
    """By the beginning of the answer to a model that goes on from it; a hosted one never sees that, and is told by the prompt."""
    attempt = Attempt(suspect="f.py::f", code=shown("f", 1.0).code, failure="wrong")
    asked = questions(batch([shown("f", 1.0)], attempts=[attempt]))
    begun = [q for q in asked if q.view is EditView.WHOLE]
    assert {bool(q.attempt) for q in begun} == {True, False}
    for question in begun:
        assert "The larger one of two numbers" in prompt(question)
        short = request_of(question, fills_gaps=True)
        assert "The larger one of two numbers" not in short.messages[-1].content
        assert short.prefill.count("The larger one of two numbers") == 1
    for question in asked:
        same = request_of(question, fills_gaps=True) == request_of(question)
        assert same is (question.view not in {EditView.WHOLE, EditView.MASKED})


def test_the_view_that_explains_sees_the_variables() -> None:
    traced = ["f.py:1 a = 1", "other.py:3 x = 2", "f.py:3 b = 2", "f.py:99 z = 0", "... 3 more ..."]
    suspect = shown("f", 1.0)
    seen = replace(suspect, values=values_in(suspect.suspect, traced, most=12))
    asked = questions(batch([seen]))
    for question in asked:
        told = "in order:\na = 1\nb = 2\n" in prompt(question)
        assert told is (question.view is EditView.EXPLAIN)


def test_of_many_variables_the_first_and_the_last_are_told() -> None:
    traced = [f"f.py:2 a = {n}" for n in range(50)]
    told = values_in(shown("f", 1.0).suspect, traced, most=4)
    assert told == ("a = 0", "a = 1", "...", "a = 48", "a = 49")


def test_an_attempt_at_a_function_whose_name_is_another_ones_too_is_told_to_its_own() -> None:
    source = parse(
        "m.py",
        "class A:\n    def f(self):\n        return 1\n\n\nclass B:\n    def f(self):\n        return 2\n",
    )
    assert source is not None
    first, second = (
        Shown(
            suspect=Suspect(path="m.py", unit=unit, score=1.0, lines={}),
            name=unit.name,
            code=unit.text,
            context="",
            documented=False,
        )
        for unit in units(source)
    )
    attempt = Attempt(suspect=second.suspect.key, code="def f(self): ...", failure="wrong")
    asked = questions(batch([first, second], attempts=[attempt], size=1))
    assert [q.code for q in asked] == [second.code]


def test_a_model_that_fills_gaps_is_asked_without_words() -> None:
    """The place as a gap in the function, with what stands around it; its answer may be of more lines than one."""
    vote = Mask(code=shown("f", 1.0).code, lines=(3, 3), opening="if")
    (first,) = (
        q
        for q in questions(batch([shown("f", 1.0)], votes=True, size=1, masks={"f.py::f": (vote,)}))
    )
    request = request_of(first, fills_gaps=True)
    assert request.messages == ()
    assert request.gap is not None
    assert request.gap.before.endswith('numbers."""\n    ')
    assert request.gap.after == "\n        return a\n    return b\n"
    assert request.stop == ("\n",)


def asked(question: EditQuestion, reply: str, *, fills_gaps: bool = False) -> EditProposal:
    """What a question brings of a model that answers all alike."""
    clock = FakeClock()
    journal = Journal(MemoryLedger(clock=clock), clock)
    ceilings = Ceilings(max_iterations=1, time_s=60.0, max_files=1)
    model = ScriptedModel([reply], fills_gaps=fills_gaps)
    asker = MeteredModel(model, journal, ceilings, clock)
    (proposal,) = propose_edits([question], asker, journal).proposals
    return proposal


LONG = "".join(f"    if a == {n}:\n        return b + {n}\n" for n in range(40))


@pytest.mark.parametrize(
    ("reply", "whole"),
    [
        (f"def f(a, b):\n{LONG}    return b\n", False),
        (f"def f(a, b):\n    return b\n\n\ndef g(a, b):\n{LONG}", True),
    ],
    ids=["the function", "what stands behind it"],
)
def test_what_is_cut_off_is_no_answer(*, reply: str, whole: bool) -> None:
    """A function without its last part parses, and passes where no test looks at that part."""
    question = EditQuestion(
        view=EditView.WHOLE, name="f", code=shown("f", 1.0).code, head="", body_tokens=30
    )
    proposal = asked(question, reply)
    assert (proposal.code is not None) == whole
    assert ("cut off" in proposal.problem) != whole


@pytest.mark.parametrize("fills_gaps", [False, True])
def test_a_line_that_is_cut_off_is_no_answer(*, fills_gaps: bool) -> None:
    """A list without its last items is a list, too."""
    question = EditQuestion(
        view=EditView.MASKED,
        name="f",
        code=shown("f", 1.0).code,
        head="",
        body_tokens=9,
        lines=(5, 5),
    )
    proposal = asked(question, "return " + "b;" * 400, fills_gaps=fills_gaps)
    assert (proposal.code, proposal.problem) == (None, "the answer was cut off before it was whole")


def test_an_answer_may_be_as_long_as_the_function() -> None:
    """Less would only cut it off; one that does not fit into the context is not asked."""
    long = replace(shown("f", 1.0), code=f"def f(a, b):\n{LONG}    return b\n")
    (asking, *_) = questions_of(batch([long], count_tokens=len))
    assert asking.question.body_tokens > len(LONG)


def test_blanks_around_an_answer_in_a_gap_are_not_part_of_it() -> None:
    """The gap begins behind the indentation, which a model may write once more."""
    question = EditQuestion(
        view=EditView.MASKED,
        name="f",
        code=shown("f", 1.0).code,
        head="",
        body_tokens=9,
        lines=(3, 3),
    )
    proposal = asked(question, "    if a > b:  ", fills_gaps=True)
    assert proposal.code == question.code.replace("a < b", "a > b")


def test_of_two_functions_with_the_same_text_each_question_says_whose_it_is() -> None:
    """By its text nobody could tell them apart."""
    source = parse(
        "m.py", "".join(f"class {c}:\n    def f(self):\n        return 1\n" for c in "AB")
    )
    assert source is not None
    both = [
        replace(
            shown("f", 1.0, documented=False),
            suspect=Suspect(path="m.py", unit=unit, score=1.0, lines={}),
            code=unit.text,
        )
        for unit in units(source)
    ]
    attempt = Attempt(suspect=both[1].suspect.key, code="def f(self): ...", failure="wrong")
    asked = questions_of(batch(both, attempts=[attempt], size=3))
    assert [a.shown.suspect.key for a in asked] == ["m.py::B.f", "m.py::A.f", "m.py::B.f"]
    assert {a.question.code for a in asked} == {both[0].code}
