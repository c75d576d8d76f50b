"""A case shows half of the checks, one of which fails; its report says what a user saw."""

import random

import pytest
from bench.repair.cases import Case, describe, files, split, unfit, written
from bench.repair.grade import Verdict
from bench.repair.tasks import Check


def verdict(*, passed: bool, returned: bool = True, timed_out: bool = False) -> Verdict:
    return Verdict(passed=passed, got="1", expected="2", returned=returned, timed_out=timed_out)


@pytest.mark.parametrize("pattern", ["01", "0111111", "1000", "111110", "00", "01110"])
def test_the_visible_half_holds_a_failing_check_and_a_passing_one_where_it_can(
    pattern: str,
) -> None:
    """Whatever the chance: half of them, a failure, and a pass when two are shown and one exists."""
    verdicts = [verdict(passed=mark == "1") for mark in pattern]
    for seed in range(50):
        parts = split(verdicts, random.Random(seed))
        assert parts is not None
        shown, failing = parts
        assert len(shown) == (len(pattern) + 1) // 2
        assert set(failing) <= set(shown)
        assert failing
        if len(shown) > 1 and "1" in pattern:
            assert len(failing) < len(shown)


def test_nothing_is_split_when_nothing_fails() -> None:
    """An equivalent mutant makes no case."""
    assert split([verdict(passed=True)] * 3, random.Random(1)) is None


def test_what_does_not_run_or_does_not_end_makes_no_case() -> None:
    """Only wrong answers do."""
    assert unfit([verdict(passed=True)]) == "passes all checks"
    assert unfit([verdict(passed=False, returned=False)]) == "does not run"
    bad = [verdict(passed=False), verdict(passed=False, timed_out=True)]
    assert unfit(bad) == "does not end"
    assert unfit([verdict(passed=True), verdict(passed=False)]) is None


def test_the_repository_shows_the_visible_checks_and_none_of_the_others() -> None:
    """One test a check; the grading checks are nowhere in it."""
    seen = Check(setup="want = 2", source="assert double(1) == want")
    unseen = Check(setup="", source="assert double(987) == 1974")
    case = Case(
        case_id="c",
        kind="mutants",
        task_id="x/1",
        entry="double",
        solution="def double(n):\n    return n\n",
        origin="compare",
        visible=(seen,),
        hidden=(seen, unseen),
        failing=(0,),
        issue=describe("double", seen, verdict(passed=False)),
    )
    shown = files(case)
    assert shown["test_visible.py"] == (
        "from solution import double\n\n\n"
        "def test_1():\n    want = 2\n    assert double(1) == want\n"
    )
    assert "double(1)\n" in shown["ISSUE.md"]
    assert "Got: 1\nExpected: 2" in shown["ISSUE.md"]
    assert not any("987" in text for text in shown.values())


def test_a_sample_that_wrote_nothing_is_no_bug() -> None:
    """Text that does not parse, another function, or a docstring alone is not taken; formatting is no difference."""
    assert written("def f(:", "f") is None
    assert written('def f():\n    """Only words."""\n    # later\n', "f") is None
    assert written("def f():\n    ...\n    pass\n", "f") is None
    assert written("def g():\n    return 1\n", "f") is None
    assert written("def f():\n    return 1\n", "f") == written("def f():  return  1\n", "f")
