"""What an issue's lines are: prose, items of lists that ask for something, and what asks for nothing. Pure.

Code blocks are left out, and so are lists that tell how to see the problem or where it was seen: neither is a wish.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

_ITEM: Final = re.compile(r"(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s*)?(?P<text>.*\w\w.*)")
_FENCE: Final = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)?(`{3,}(?=[^`]*$)|~{3,})")
_HEADING: Final = re.compile(r"#{1,6}\s")
_ASIDE: Final = re.compile(
    r"(?:(?:the |minimal )*(?:steps?|ways?|how|code|commands?) )?(?:to|for) (?:reproduc\w+|see|show)"
    r"(?: (?:it|this|that|(?:(?:the|this) )?(?:bug|problem|issue|error|behaviou?r|failure|crash)))?"
    r"|repro(?:duction|ducing)?(?: steps)?|steps|(?:your |my )?environment|system info(?:rmation)?|versions?",
    re.IGNORECASE,
)
_MARKS: Final = re.compile(r"^\W+|\W+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """An issue in its parts."""

    prose: str
    """All sentences outside lists, a paragraph a line; empty where they only announce the lists."""
    items: tuple[tuple[str, ...], ...]
    """Of each item its paragraphs."""


def outline(issue: str) -> Outline:
    """Sort the lines; an item goes on in those that are indented more than its mark, below a blank one, too."""
    reading = _Reading()
    for line in _without_code(issue.expandtabs(4).splitlines()):
        reading.take(line)
    prose = [p for p in reading.prose if not _is_aside(p)]
    announces = all(re.search(r":\W*$", p) for p in prose)
    return Outline(
        prose="" if announces else "\n".join(prose), items=tuple(map(tuple, reading.items))
    )


@dataclass(slots=True)
class _Reading:
    """How far an issue was read."""

    prose: list[str] = field(default_factory=list)
    items: list[list[str]] = field(default_factory=list)
    depth: int | None = None
    """Of the mark of the item that the next line may go on with."""
    lead: str = ""
    """The line above the list."""
    in_aside: bool = False
    """Under a heading whose lists ask for nothing."""
    is_wish: bool = True
    """Whether the list that is read asks for something."""
    after_blank: bool = True

    def take(self, line: str) -> None:
        """Read one more line."""
        text, indent = line.strip(), len(line) - len(line.lstrip())
        item = _ITEM.fullmatch(text)
        if not text:
            pass
        elif item is not None:
            if self.depth is None:
                self.is_wish = not self.in_aside and not _is_aside(self.lead)
            self.depth = indent
            if self.is_wish:
                self.items.append([item["text"].strip()])
        elif self.depth is not None and indent > self.depth:
            if self.is_wish:
                _go_on(self.items[-1], text, anew=self.after_blank)
        elif re.search(r"\w", text):
            self._take_prose(text)
        self.after_blank = not text

    def _take_prose(self, text: str) -> None:
        heading = _HEADING.match(text) is not None
        if heading:
            self.in_aside = _is_aside(text)
        if not heading or not (self.prose or self.items):
            anew = self.after_blank or heading or self.depth is not None or not self.prose
            _go_on(self.prose, text.lstrip("# "), anew=anew)
        # A line right below an item may still be that item's, and announces nothing.
        if self.depth is None or self.after_blank or heading:
            self.lead = text
        self.depth = None


def _go_on(paragraphs: list[str], text: str, *, anew: bool) -> None:
    if anew:
        paragraphs.append(text)
    else:
        paragraphs[-1] += f" {text}"


def _is_aside(line: str) -> bool:
    """Whether a line, or its last sentence, announces how to see the problem, or where it was seen."""
    last = re.split(r"[.!?]\s+(?=\w)", line)[-1]
    return _ASIDE.fullmatch(_MARKS.sub("", last)) is not None


def _without_code(lines: Sequence[str]) -> list[str]:
    """The lines, a blank one in the place of each fenced block; a fence that nothing closes fences nothing."""
    kept, held, fence = list[str](), list[str](), ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            held.append(line)
            ends = set(line.strip()) == {fence[0]} and len(line.strip()) >= len(fence)
            if ends:
                kept.append("")
                fence = ""
        elif mark is not None:
            fence, held = mark[1], []
        else:
            kept.append(line)
    return kept + held if fence else kept
