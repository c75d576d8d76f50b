"""A strong model's answers, as it gave them, still forge one tool that is used again and trusted (issue 7, a domain by letters)."""

from pathlib import Path

import pytest
from bench.oncall import play


@pytest.mark.soak
def test_a_tool_that_was_forged_once_is_durable_by_the_end_of_the_week(tmp_path: Path) -> None:
    """All five tasks are solved, each in a process of its own; twelve calls, of one version."""
    solved = play(tmp_path)
    assert [one.status for one in solved] == ["complete"] * 5
    assert [one.forged_calls for one in solved] == [1, 2, 3, 6, 12]
    assert [one.states for one in solved] == [("probation",)] * 4 + [("durable",)]
