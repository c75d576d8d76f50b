"""The time between meetings."""

from daybook.agenda import Agenda
from daybook.spans import Span

WORKDAY = Span.parse("09:00-17:00")


def free_spans(agenda: Agenda, window: Span = WORKDAY, at_least: int = 1) -> list[Span]:
    """Spans of `window` without a meeting that are `at_least` so many minutes long."""
    free: list[Span] = []
    start = window.start
    for busy in agenda.busy(window):
        if busy.start - start >= at_least:
            free.append(Span(start, busy.start))
        start = busy.end
    if window.end - start >= at_least:
        free.append(Span(start, window.end))
    return free


def first_free(agenda: Agenda, minutes: int, window: Span = WORKDAY) -> Span | None:
    """The earliest span of exactly `minutes` in which nothing takes place."""
    for span in free_spans(agenda, window, at_least=minutes):
        return Span(span.start, span.start + minutes)
    return None
