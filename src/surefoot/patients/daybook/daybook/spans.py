"""Half-open spans of minutes, and what can be done with several of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from daybook.clock import format_minutes, parse_minutes


@dataclass(frozen=True, order=True)
class Span:
    """From `start` up to, but not including, `end`; minutes since midnight."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.end <= self.start:
            raise ValueError(f"a span must end after it starts: {self}")

    @classmethod
    def parse(cls, text: str) -> "Span":
        """Read `"09:00-10:30"`."""
        start, dash, end = text.partition("-")
        if not dash:
            raise ValueError(f"not a span: {text!r}")
        return cls(parse_minutes(start), parse_minutes(end))

    @property
    def minutes(self) -> int:
        """How long it is."""
        return self.end - self.start

    def overlaps(self, other: "Span") -> bool:
        """Whether they share at least one minute."""
        return self.start < other.end and other.start < self.end

    def __str__(self) -> str:
        return f"{format_minutes(self.start)}-{format_minutes(self.end)}"


def merge(spans: Iterable[Span]) -> list[Span]:
    """Join spans that overlap or touch; the result is sorted and has gaps between its spans."""
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start <= merged[-1].end:
            merged[-1] = Span(merged[-1].start, span.end)
        else:
            merged.append(span)
    return merged


def clip(span: Span, window: Span) -> Span | None:
    """The part of `span` inside `window`, or None when there is none."""
    if not span.overlaps(window):
        return None
    return Span(max(span.start, window.start), min(span.end, window.end))
