r"""Places in a text as the Language Server Protocol counts them, and edits at such places.

A line ends with `\n`, `\r\n` or `\r` and with nothing else (Python's `str.splitlines` knows more). A column counts UTF-16
code units, or characters where client and server agreed on `utf-32`.
https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#position
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Encoding: TypeAlias = Literal["utf-16", "utf-32"]
ENCODINGS: Final[tuple[Encoding, ...]] = ("utf-32", "utf-16")
"""What we understand, the better one first: characters are what Python counts, and what some servers count anyway."""

_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_ASTRAL: Final = 0xFFFF


class PlaceError(ValueError):
    """A place does not exist in the text; the message says which."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Between two characters; both numbers count from 0."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """What stands between two places is replaced."""

    start: Place
    end: Place
    text: str


class Lines:
    """A text with its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        ends = [(m.start(), m.end()) for m in _LINE_END.finditer(text)]
        self._starts = [0, *(after for _, after in ends)]
        self._ends = [*(before for before, _ in ends), len(text)]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, line: int) -> str:
        """A line without its end."""
        return self.text[self._starts[line] : self._ends[line]]

    def offset(self, place: Place, encoding: Encoding) -> int:
        """Index in the text; a column behind the line's end stands for the end, as the protocol says.

        Raises:
            PlaceError: There is no such line, or the column divides a character.
        """
        if place.line == len(self) and place.column == 0:
            return len(self.text)  # the end of the last line, said in another way
        if not 0 <= place.line < len(self) or place.column < 0:
            raise PlaceError(f"line {place.line + 1}, column {place.column} of {len(self)} lines")
        start, line = self._starts[place.line], self[place.line]
        if encoding == "utf-32":
            return start + min(place.column, len(line))
        units = 0
        for index, character in enumerate(line):
            if units == place.column:
                return start + index
            if units > place.column:
                raise PlaceError(
                    f"line {place.line + 1}: column {place.column} divides a character"
                )
            units += _units(character)
        return start + len(line)

    def column(self, line: int, index: int, encoding: Encoding) -> int:
        """Column of the character at `index` of a line."""
        return index if encoding == "utf-32" else sum(map(_units, self[line][:index]))


def edited(text: str, edits: Sequence[TextEdit], encoding: Encoding) -> str:
    """The text after edits that all speak of the text before them.

    Raises:
        PlaceError: One of them is nowhere in the text, or two overlap.
    """
    lines = Lines(text)
    spans = sorted(
        (lines.offset(e.start, encoding), lines.offset(e.end, encoding), number)
        for number, e in enumerate(edits)
    )
    parts = []
    done = 0
    for start, end, number in spans:
        if start < done or end < start:
            raise PlaceError(f"two edits overlap at line {edits[number].start.line + 1}")
        parts += [text[done:start], edits[number].text]
        done = end
    return "".join((*parts, text[done:]))


def word(name: str) -> re.Pattern[str]:
    """Finds a name where it stands alone, not as a part of a longer one."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")


def is_pure_rename(before: str, after: str, names: tuple[str, str]) -> bool:
    """Whether two texts differ in nothing but the old name and the new one."""
    old, new = names
    return word(new).sub(lambda _: old, before) == word(new).sub(lambda _: old, after)


def _units(character: str) -> int:
    return 2 if ord(character) > _ASTRAL else 1
