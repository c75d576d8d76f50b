"""Daybook: meetings of one day, and the time that is still free between them."""

from daybook.agenda import Agenda
from daybook.clock import format_minutes, parse_minutes
from daybook.free import first_free, free_spans
from daybook.spans import Span

__all__ = ["Agenda", "Span", "first_free", "format_minutes", "free_spans", "parse_minutes"]
