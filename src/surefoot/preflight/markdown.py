"""The parts of a Markdown document that claims are read from, with their lines: headings, tables, fences, text.

What stands in an HTML comment is not there. A bar inside a code span does not end a table's cell, because types have bars.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

_HEADING: Final = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})\s*([^`]*)$")
_RULER: Final = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
_SPAN: Final = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_HARMLESS: Final = "<\0--"
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading."""

    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One line of running text or of a list."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A block of code."""

    line: int
    """Of its first line of code."""
    info: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A row of a table."""

    line: int
    cells: tuple[str, ...]

    def get(self, column: int | None) -> str:
        """A cell; empty when the row is shorter or there is no such column."""
        return self.cells[column] if column is not None and column < len(self.cells) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table."""

    line: int
    header: tuple[str, ...]
    rows: tuple[Row, ...]

    def column(self, *names: str) -> int | None:
        """The first column whose head begins with one of some words, whatever their case."""
        heads = [head.strip("`* ").lower() for head in self.header]
        for name in names:
            for index, head in enumerate(heads):
                if head.startswith(name):
                    return index
        return None


Block: TypeAlias = Heading | Text | Fence | Table


def blocks(text: str) -> tuple[Block, ...]:
    """A document's parts in order."""
    lines = _COMMENT.sub(lambda m: "\n" * m.group().count("\n"), _outside_code(text)).split("\n")
    shown = text.split("\n")
    return tuple(_blocks(lines, shown))


def _outside_code(text: str) -> str:
    """The text with comment marks inside fences and code spans made harmless, its lines unmoved."""
    found: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
            found.append(line.replace("<!--", _HARMLESS))
            continue
        if mark:
            fence = mark[1]
        found.append(_SPAN.sub(lambda m: m.group().replace("<!--", _HARMLESS), line))
    return "\n".join(found)


def _blocks(lines: Sequence[str], shown: Sequence[str]) -> Iterator[Block]:
    index = 0
    while index < len(lines):
        line = lines[index]
        fence = _FENCE.match(line)
        heading = _HEADING.match(line)
        if fence:
            end = _fence_end(lines, index, fence[1])
            body = "\n".join(shown[index + 1 : end])
            yield Fence(line=index + 2, info=fence[2].strip(), text=body)
            index = end + 1
        elif heading:
            yield Heading(line=index + 1, level=len(heading[1]), text=heading[2])
            index += 1
        elif (
            "|" in line
            and index + 1 < len(lines)
            and _RULER.match(lines[index + 1])
            and "-" in lines[index + 1]
        ):
            end = index + 2
            while end < len(lines) and "|" in lines[end] and lines[end].strip():
                end += 1
            rows = [Row(line=n + 1, cells=cells(lines[n])) for n in range(index + 2, end)]
            yield Table(line=index + 1, header=cells(line), rows=tuple(rows))
            index = end
        else:
            if line.strip():
                yield Text(line=index + 1, text=line)
            index += 1


def _fence_end(lines: Sequence[str], start: int, mark: str) -> int:
    for index in range(start + 1, len(lines)):
        found = _FENCE.match(lines[index])
        if found and found[1].startswith(mark) and not found[2].strip():
            return index
    return len(lines)


def cells(line: str) -> tuple[str, ...]:
    """The cells of a table's row."""
    held: list[str] = []

    def keep(found: re.Match[str]) -> str:
        held.append(found.group())
        return f"\0{len(held) - 1}\0"

    plain = _SPAN.sub(keep, line.replace("\\|", "\1")).strip()
    plain = plain.removeprefix("|").removesuffix("|")
    return tuple(
        re.sub(r"\0(\d+)\0", lambda m: held[int(m[1])], cell).replace("\1", "|").strip()
        for cell in plain.split("|")
    )


def spans(text: str) -> tuple[str, ...]:
    """The code spans of a line."""
    return tuple(found[2].strip() for found in _SPAN.finditer(text))


def without_spans(text: str) -> str:
    """A line without its code spans."""
    return _SPAN.sub(" ", text)
