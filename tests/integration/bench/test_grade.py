"""Grading survives whatever a solution does, and the script works on a real case with a scripted model."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from bench.repair import baseline
from bench.repair.cases import Case, describe
from bench.repair.grade import LOST, grade, grade_all
from bench.repair.tasks import Check

from surefoot.values import Message, ModelAnswer, ModelReply, ModelRequest, Usage

CHECKS = (
    Check(setup="", source="assert double(1) == 2"),
    Check(setup="wanted = 6", source="assert double(3) == wanted"),
)
RIGHT = "def double(n):\n    return 2 * n\n"
WRONG = "def double(n):\n    return n * n + 1\n"


def test_solutions_are_judged_apart() -> None:
    """One that exits, one that loops, one that does not parse and one that forges output cost only their own verdicts."""
    solutions = [
        RIGHT,
        "import os\nos._exit(0)\n",
        "def double(n):\n    while True: pass\n",
        "def double(:",
        "print('{}')\ndef double(n):\n    raise SystemExit(0)\n",
        WRONG,
    ]
    found = grade_all(solutions, "double", CHECKS)
    assert [[v.passed for v in verdicts] for verdicts in found] == [
        [True, True],
        [False, False],
        [False, False],
        [False, False],
        [False, False],
        [True, False],
    ]
    assert found[1] == (LOST, LOST)
    assert found[2][0].timed_out
    assert (found[5][1].got, found[5][1].expected) == ("10", "6")


def test_what_a_call_gave_is_the_same_each_time() -> None:
    """In the order of a set, too: it becomes a part of the case, by which outcomes are known again."""
    letters = "def double(n):\n    return list(set('abcdefghijklmnop'))\n"
    first, second = (grade(letters, "double", CHECKS) for _ in range(2))
    assert first[0].got
    assert first == second


def test_a_check_does_not_see_what_an_earlier_one_left() -> None:
    """Each has a namespace of its own."""
    counting = "calls = []\ndef double(n):\n    calls.append(n)\n    return 2 * len(calls)\n"
    checks = [CHECKS[0], Check(setup="", source="assert double(9) == 2")]
    assert all(v.passed for v in grade(counting, "double", checks))


class Scripted:
    """A `Model` that gives its answers in order."""

    name, context_tokens, parallel = "scripted", 4096, 4

    def __init__(self, answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[ModelRequest] = []

    def count_tokens(self, messages: Sequence[Message]) -> int:
        return sum(len(m.content) for m in messages)

    def estimate_usd(self, prompt_tokens: int, completion_tokens: int) -> float:
        return 0.0

    def complete(self, requests: Sequence[ModelRequest]) -> tuple[ModelAnswer, ...]:
        self.asked += requests
        usage = Usage(prompt_tokens=140, completion_tokens=28)
        return tuple(
            ModelReply(text=self.answers.pop(0), model="scripted", finish="stop", usage=usage)
            for _ in requests
        )


@pytest.fixture
def case() -> Case:
    verdicts = grade(WRONG, "double", CHECKS)
    return Case(
        case_id="c",
        kind="mutants",
        task_id="x/1",
        entry="double",
        solution=WRONG,
        origin="arithmetic",
        visible=CHECKS,
        hidden=CHECKS,
        failing=(1,),
        issue=describe("double", CHECKS[1], verdicts[1]),
    )


def test_the_script_takes_the_first_answer_that_passes_what_it_sees(
    case: Case, tmp_path: Path
) -> None:
    """One greedy answer, then four at 0.8; the first that passes counts, with what it cost up to there."""
    answers = ["no idea", WRONG, f"```python\n{RIGHT}```", WRONG, WRONG]
    model = Scripted(answers)
    made = baseline.attempt(case, tmp_path, model, seed=1)
    assert [r.temperature for r in model.asked] == [0.0, 0.8, 0.8, 0.8, 0.8]
    assert "test_visible.py" in model.asked[0].messages[0].content
    assert made.claimed
    assert made.solution == RIGHT
    assert made.used.model_calls == made.used.candidates == 3
    assert made.used.prompt_tokens - made.used.cached_tokens == 140
    assert made.idle_s == pytest.approx(140 / 70 + 3 * (28 / 28 + baseline.CANDIDATE_S))


def test_the_script_gives_up_after_five(case: Case, tmp_path: Path) -> None:
    """Five wrong answers are no success."""
    made = baseline.attempt(case, tmp_path, Scripted([WRONG] * 5), seed=1)
    assert (made.claimed, made.used.model_calls) == (False, 5)
