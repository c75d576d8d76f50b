"""What one run of the tests may use, and what is said of a run that its limits ended."""

import signal

import pytest

from surefoot.assembly import limits_of
from surefoot.settings import TestSettings
from surefoot.suite.environment import time_spent
from surefoot.values import Limits, ProcessResult

LIMITS = Limits(wall_s=300.0, cpu_s=600)


def ended(
    code: int | None = None, number: int | None = None, *, timed_out: bool = False
) -> ProcessResult:
    return ProcessResult(
        exit_code=code, signal=number, stdout=b"", stderr=b"", wall_s=1.0, timed_out=timed_out
    )


@pytest.mark.parametrize("timeout_s", [1.5, 300.0, 3600.0])
def test_who_has_the_time_may_compute_all_of_it(timeout_s: float) -> None:
    """The processor time follows the time-out; it is what a thread on each core can use."""
    limits = limits_of(TestSettings(timeout_s=timeout_s))
    assert limits.wall_s == timeout_s
    assert limits.cpu_s is not None
    assert limits.cpu_s >= timeout_s


@pytest.mark.parametrize(
    ("result", "word"),
    [
        (ended(number=signal.SIGKILL, timed_out=True), "the time of 300 s"),
        (ended(number=signal.SIGXCPU), "the processor time of 600 s"),
        (ended(128 + signal.SIGXCPU), "the processor time of 600 s"),
    ],
)
def test_the_limit_that_ended_a_run_is_told_with_its_setting(
    result: ProcessResult, word: str
) -> None:
    """Time by the clock, or by the processor, also where a shell stood between."""
    told = time_spent(result, LIMITS)
    assert told.startswith(word)
    assert "`[test] timeout_s`" in told


@pytest.mark.parametrize("result", [ended(0), ended(1), ended(137), ended(number=signal.SIGKILL)])
def test_any_other_end_is_none_of_time(result: ProcessResult) -> None:
    """An exit code, or a kill by somebody else."""
    assert time_spent(result, LIMITS) == ""
