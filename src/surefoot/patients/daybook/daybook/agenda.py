"""The meetings of one day."""

from daybook.spans import Span, clip, merge


class Agenda:
    """Named meetings; several may take place at the same time."""

    def __init__(self) -> None:
        self._meetings: dict[str, Span] = {}

    def add(self, name: str, when: str) -> None:
        """Put a meeting down, e.g. `add("stand-up", "09:00-09:15")`; a name is used once."""
        if name in self._meetings:
            raise ValueError(f"there is a meeting {name!r} already")
        self._meetings[name] = Span.parse(when)

    def cancel(self, name: str) -> None:
        """Strike a meeting out."""
        del self._meetings[name]

    def at(self, minute: int) -> list[str]:
        """Names of the meetings that take place at a minute, sorted."""
        return sorted(
            name for name, span in self._meetings.items() if span.start <= minute < span.end
        )

    def busy(self, window: Span) -> list[Span]:
        """When something takes place inside `window`, as spans with gaps between them."""
        parts = (clip(span, window) for span in self._meetings.values())
        return merge(part for part in parts if part is not None)
