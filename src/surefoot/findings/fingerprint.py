"""An identity for a finding that survives line moves.

It is made of tool, rule, file, the text of the line with its white space evened out, the names of the definitions
around it, and a counter among equals. Line numbers and messages stay out: the first change with every edit above, the
second with every release of a tool. The definitions are read from indentation rather than from a syntax tree, so that
a file that does not parse keeps its fingerprints, and so that no parser warning is raised in an auditor's thread.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

LENGTH: Final = 32
"""Hex digits kept of the SHA-256: 128 bits, far beyond chance among the findings of a repository."""

_NEWLINE: Final = re.compile(r"\r\n|\r|\n")
_DEFINITION: Final = re.compile(r"(?:async\s+def|def|class)\s+(\w+)")
_CLOSERS: Final = (")", "]", "}")
"""What ends a wrapped signature: as far left as its `def`, and no definition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a fingerprint is made of, before equals are counted."""

    tool: str
    rule: str
    file: str
    scope: str
    text: str


def split_lines(text: str) -> list[str]:
    """Lines as the tools count them: form feeds and Unicode separators end none."""
    return _NEWLINE.split(text)


def normalise(line: str) -> str:
    """The line without the white space that a formatter may change."""
    return " ".join(line.split())


def scope_at(lines: Sequence[str], line: int) -> str:
    """Dotted names of the definitions around a 1-based line of Python; empty at module level or outside the text."""
    if not 1 <= line <= len(lines):
        return ""
    limit = _indent(lines[line - 1])
    names: list[str] = []
    for text in reversed(lines[: line - 1]):
        stripped = text.strip()
        if not stripped or stripped.startswith(("#", *_CLOSERS)) or _indent(text) >= limit:
            continue
        limit = _indent(text)
        match = _DEFINITION.match(stripped)
        if match:
            names.append(match.group(1))
        if limit == 0:
            break
    return ".".join(reversed(names))


def fingerprints(places: Iterable[Place]) -> tuple[str, ...]:
    """One fingerprint a place, in the order given; equals are told apart by that order, so give them sorted by line."""
    seen: Counter[Place] = Counter()
    marks: list[str] = []
    for place in places:
        parts = (place.tool, place.rule, place.file, place.scope, place.text, str(seen[place]))
        marks.append(hashlib.sha256("\0".join(parts).encode()).hexdigest()[:LENGTH])
        seen[place] += 1
    return tuple(marks)


def _indent(line: str) -> int:
    expanded = line.expandtabs()
    return len(expanded) - len(expanded.lstrip())
