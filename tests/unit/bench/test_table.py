"""The table counts what it says, and the limit is in tokens and candidates, not in this machine's seconds."""

import pytest
from bench.meter import Used
from bench.repair.baseline import prompt, read_file
from bench.repair.outcome import Attempt, Outcome, Who
from bench.repair.table import ratio, row, wilson
from bench.solving import usage_of


def outcome(
    case_id: str, *, claimed: bool, failed: tuple[int, ...] = (), who: Who = "script"
) -> Outcome:
    made = Attempt(
        claimed=claimed,
        status="complete" if claimed else "blocked",
        reason="",
        solution="",
        used=Used(model_calls=2, prompt_tokens=100, completion_tokens=28),
        idle_s=10.0,
        wall_s=99.0,
    )
    return Outcome(key="k", who=who, case_id=case_id, attempt=made, failed_checks=failed)


def test_a_complete_run_with_a_failing_check_is_a_false_success() -> None:
    """Solved, false and not complete are told apart, and add up."""
    some = [
        outcome("a", claimed=True),
        outcome("b", claimed=True, failed=(3,)),
        outcome("c", claimed=False),
    ]
    assert [(o.solved, o.false_success) for o in some] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    words = row("script", some).split()
    assert words[:3] == ["script", "3", "1"]
    assert "1 of 2" in row("script", some)


def test_the_ratio_is_over_the_cases_that_both_have_done() -> None:
    """An interrupted benchmark compares like with like."""
    ours = [outcome("a", claimed=True, who="surefoot"), outcome("b", claimed=True, who="surefoot")]
    theirs = [outcome("a", claimed=True)]
    assert ratio(ours, theirs).endswith("on 1 cases: 1 / 1 = 1.00")


def test_the_interval_is_wilsons() -> None:
    """Known values; nothing of nothing says nothing."""
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(1, 10)
    assert low == pytest.approx(0.0179, abs=1e-4)
    assert high == pytest.approx(0.4042, abs=1e-4)
    assert wilson(0, 60)[0] == 0.0


def test_seconds_are_tokens_and_candidates() -> None:
    """Cached prompt tokens cost nothing; 70 evaluated or 28 written tokens are a second."""
    used = Used(
        model_calls=1, prompt_tokens=210, cached_tokens=70, completion_tokens=56, candidates=3
    )
    assert used.idle_s(0.5) == pytest.approx(2 + 2 + 1.5)


def test_usage_is_read_from_ledger_events() -> None:
    """Replies, failed calls and candidates count; other events do not."""
    usage = {"prompt_tokens": 5, "cached_tokens": 2, "completion_tokens": 3, "cost_usd": 0.0}
    assert usage_of({"kind": "model.replied", "usage": usage}) == Used(
        model_calls=1, prompt_tokens=5, cached_tokens=2, completion_tokens=3
    )
    assert usage_of({"kind": "candidate.tried"}) == Used(candidates=1)
    assert usage_of({"kind": "turn.started"}) == Used()


def test_the_script_says_what_the_issue_says_and_reads_the_longest_block() -> None:
    """The file, the output, the one sentence; a reply without a block is the file itself."""
    text = prompt("def f(): ...", "E assert 1 == 2")
    assert text.index("def f(): ...") < text.index("E assert 1 == 2")
    assert text.endswith("Reply with the whole corrected file.")
    assert read_file("Use:\n```\nx\n```\nso:\n```python\nabc = 1\n```\n") == "abc = 1\n"
    assert read_file("```python\nabc = 1\n") == "abc = 1\n"
    assert read_file("abc = 1") == "abc = 1"
