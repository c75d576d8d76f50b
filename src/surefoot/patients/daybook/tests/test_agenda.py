import pytest
from daybook import Agenda, Span

DAY = Span.parse("09:00-17:00")


def test_meetings_that_touch_are_one_busy_span():
    agenda = Agenda()
    agenda.add("stand-up", "09:00-09:15")
    agenda.add("planning", "09:15-10:00")
    assert agenda.busy(DAY) == [Span.parse("09:00-10:00")]


def test_busy_spans_stay_inside_the_window():
    agenda = Agenda()
    agenda.add("night shift", "04:00-09:30")
    agenda.add("dinner", "18:00-20:00")
    assert agenda.busy(DAY) == [Span.parse("09:00-09:30")]


def test_a_cancelled_meeting_is_gone():
    agenda = Agenda()
    agenda.add("review", "11:00-12:00")
    agenda.cancel("review")
    assert agenda.at(11 * 60) == []


def test_names_are_used_once():
    agenda = Agenda()
    agenda.add("review", "11:00-12:00")
    with pytest.raises(ValueError, match="already"):
        agenda.add("review", "13:00-14:00")
