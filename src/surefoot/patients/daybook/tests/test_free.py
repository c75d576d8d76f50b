from daybook import Agenda, Span, first_free, free_spans


def agenda_of(*spans):
    agenda = Agenda()
    for number, span in enumerate(spans):
        agenda.add(f"meeting {number}", span)
    return agenda


def test_an_empty_day_is_free():
    assert free_spans(agenda_of()) == [Span.parse("09:00-17:00")]


def test_time_between_meetings_is_free():
    agenda = agenda_of("09:00-10:00", "11:00-16:00")
    assert free_spans(agenda) == [Span.parse("10:00-11:00"), Span.parse("16:00-17:00")]


def test_short_gaps_are_left_out():
    agenda = agenda_of("09:00-12:00", "12:10-16:00")
    assert free_spans(agenda, at_least=30) == [Span.parse("16:00-17:00")]


def test_overlapping_meetings_count_once():
    agenda = agenda_of("09:00-11:00", "10:30-13:00")
    assert first_free(agenda, 45) == Span.parse("13:00-13:45")


def test_a_meeting_inside_a_longer_one_frees_nothing():
    agenda = agenda_of("09:00-12:00", "10:00-10:15")
    assert first_free(agenda, 30) == Span.parse("12:00-12:30")


def test_a_full_day_has_no_room():
    assert first_free(agenda_of("09:00-17:00"), 15) is None
