"""The life of a run is one closed table."""

import itertools

import pytest

from surefoot.errors import IllegalTransitionError
from surefoot.kernel.failures import REPROCESSING, is_final
from surefoot.kernel.lifecycle import ENDS, TRANSITIONS, Phase, Trigger, advance
from surefoot.values import EXIT_CODES, RESUMABLE, FailureClass, RunStatus

CELLS = list(itertools.product(Phase, Trigger))


@pytest.mark.parametrize(("phase", "trigger"), CELLS)
def test_every_cell_is_an_edge_or_an_error(phase: Phase, trigger: Trigger) -> None:
    """Each pair either leads to a phase or is refused by name; nothing is undecided."""
    if trigger in TRANSITIONS[phase]:
        assert advance(phase, trigger) is TRANSITIONS[phase][trigger]
    else:
        with pytest.raises(IllegalTransitionError) as caught:
            advance(phase, trigger)
        assert repr(trigger.value) in str(caught.value)


def test_complete_is_reached_only_through_passed_checks() -> None:
    """The one edge into complete comes from the delta critique, and that only from passed checks."""
    into = [(p, t) for p, row in TRANSITIONS.items() for t, q in row.items() if q is Phase.COMPLETE]
    assert into == [(Phase.DELTA_CRITIQUE, Trigger.CRITIQUE_PASSED)]
    before = [
        (p, t)
        for p, row in TRANSITIONS.items()
        for t, q in row.items()
        if q is Phase.DELTA_CRITIQUE
    ]
    assert before == [(Phase.POST_CHECKS, Trigger.CHECKS_PASSED)]


def test_what_ended_for_good_has_no_edges() -> None:
    """Only resumable ends can be left, and only by a resume."""
    for phase, status in ENDS.items():
        expected = {Trigger.RESUME} if status in RESUMABLE else set()
        assert set(TRANSITIONS[phase]) == expected


def test_every_working_phase_can_be_stopped() -> None:
    """Blocked, budget, paused and cancelled are explicit edges of every phase that works."""
    stops = {Trigger.BLOCKER, Trigger.BUDGET_SPENT, Trigger.PAUSE, Trigger.CANCEL}
    for phase in set(Phase) - set(ENDS):
        assert stops <= set(TRANSITIONS[phase])


def test_every_status_has_an_exit_code() -> None:
    """The exit codes are those of the vocabulary."""
    assert {s.value: c for s, c in EXIT_CODES.items()} == {
        "complete": 0,
        "reported": 0,
        "error": 1,
        "blocked": 10,
        "cancelled": 11,
        "budget": 12,
        "paused": 13,
    }
    assert set(EXIT_CODES) == set(RunStatus)


@pytest.mark.parametrize("failure", list(FailureClass))
def test_every_failure_class_is_final_after_its_attempts(failure: FailureClass) -> None:
    """The table is the ceiling: the first failure beyond the extra attempts is final."""
    extra = REPROCESSING[failure].extra_attempts
    assert not is_final(failure, extra)
    assert is_final(failure, extra + 1)
