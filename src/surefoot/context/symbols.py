"""The symbols of one file, from its syntax tree."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from tree_sitter import Node, Parser, QueryCursor, Tree

from surefoot.context.grammars import opened

MOST_BYTES: Final = 1_000_000
"""A larger file is data, or generated."""
MOST_DEPTH: Final = 200
"""Of open brackets; nobody writes deeper, and parsers take long for it."""
_STEPS: Final = 5_000
_BYTES_A_STEP: Final = 20
"""A step is what the parser does between two questions whether to go on; source text takes one for 50 bytes or more."""
_PIECE: Final = 65_536
_LINE: Final = 120
_NO_BRACKETS: Final = bytes(b for b in range(256) if chr(b) not in "([{}])")
_OPENING: Final = frozenset(b"([{")
_NAME: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbols:
    """What one file defines, by line, and what it refers to.

    Definitions are columns, not values of their own: a large repository has fifty thousand, and a map shows fifty.
    """

    names: Sequence[str]
    lines: Sequence[int]
    texts: Sequence[str]
    """The first line of each definition, with its indentation, at most 120 characters."""
    references: Mapping[str, int]
    """How often each name is referred to."""


def unreadable(data: bytes) -> str | None:
    """Why a file is no text to parse, in a word or two; None when it is."""
    if len(data) > MOST_BYTES:
        return "too large"
    if b"\0" in data:
        return "binary"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    return None


def _too_deep(data: bytes) -> bool:
    """Whether brackets nest deeper than anybody writes, counted without regard to strings and comments."""
    if sum(map(data.count, _OPENING)) <= MOST_DEPTH:
        return False
    brackets = data.translate(None, _NO_BRACKETS)
    return max(accumulate(1 if b in _OPENING else -1 for b in brackets)) > MOST_DEPTH


def symbols_of(language: str, data: bytes) -> Symbols | None:
    """The symbols of a readable file; None when it is too tangled to parse."""
    if _too_deep(data):
        return None
    loaded, query = opened(language)
    tree = _parsed(Parser(loaded), data)
    if tree is None:
        return None
    found = QueryCursor(query).captures(tree.root_node)
    lines = data.split(b"\n")
    places = sorted(
        {
            (node.start_point.row, name)
            for node in found.get("definition", ())
            if (name := _text(data, node))
        }
    )
    references = Counter(data[n.start_byte : n.end_byte] for n in found.get("reference", ()))
    return Symbols(
        names=[name for _, name in places],
        lines=[row + 1 for row, _ in places],
        texts=[_shown(lines[row]) for row, _ in places],
        references={name.decode(): count for name, count in sorted(references.items())},
    )


def _parsed(parser: Parser, data: bytes) -> Tree | None:
    """The tree; None when the parser does not get on: recovery from errors takes the square of their number.

    Its steps are counted, not its seconds, so that the answer is always the same.
    """
    left = _STEPS + len(data) // _BYTES_A_STEP

    def is_enough(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001  # as the parser calls it
        nonlocal left
        left -= 1
        return left < 0

    def read(offset: int, _point: object) -> bytes:
        return data[offset : offset + _PIECE]

    try:
        return parser.parse(read, encoding="utf8", progress_callback=is_enough)
    except ValueError:
        return None


def _text(data: bytes, node: Node) -> str:
    """A definition's name; empty when the parser's recovery took something else for it."""
    text = data[node.start_byte : node.end_byte].decode()
    return text if _NAME.match(text) and len(text) <= _LINE else ""


def _shown(line: bytes) -> str:
    return line.decode("utf-8", "replace").expandtabs(4).rstrip()[:_LINE]


def read_batch(batch: Sequence[tuple[str, bytes]]) -> list[Symbols | None]:
    """The symbols of several files, each a language and its text; what a process of the pool is asked."""
    return [symbols_of(language, data) for language, data in batch]
