"""Edits of a file's text: one place changes, the rest stays as it is, byte for byte."""

import json
import re
import tomllib
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice
from pathlib import PurePosixPath
from typing import Final

from surefoot.errors import UsageError
from surefoot.toolbox.bounds import clip_lines, named
from surefoot.toolbox.units import (
    Span,
    hidden_lines,
    lines_of,
    numbered,
    spans,
    tree_of,
    with_indent,
)

_NEAR_LINES: Final = 12
_NEAR_CHARACTERS: Final = 2_000
_LISTED: Final = 30
_COMPARED_CHARACTERS: Final = 200
_LIKELY: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited:
    """A file's new text and which of its lines are new."""

    text: str
    first: int
    last: int


def replace_once(
    old: str, search: str, replacement: str, redact: Callable[[str], str] = str
) -> Edited:
    """Put `replacement` where `search` is; line ends of both are those of the file.

    `redact` hides secrets in the lines that a refusal shows.

    Raises:
        UsageError: `search` is not in the text, or more than once.
    """
    found = list(islice(_places(old, search), _LISTED + 1))
    if not found:
        raise UsageError(_miss(old, search, redact))
    if len(found) > 1:
        places = [str(old.count("\n", 0, start) + 1) for start, _ in found[:_LISTED]]
        often = len(found) if len(found) <= _LISTED else f"more than {_LISTED}"
        raise UsageError(
            f"the search text occurs {often} times, beginning at lines {', '.join(places)}; "
            "add lines around it until it occurs once"
        )
    return _spliced(old, found[0], replacement)


def replace_unit(old: str, data: bytes, name: str, text: str) -> Edited:
    """Put a new definition in the place of the class or function `name`, decorators included.

    `data` are the bytes of `old`, which may say in what encoding they are.

    Raises:
        UsageError: There is no such unit, or several, or the new text is not one.
    """
    tree = tree_of(data)
    if isinstance(tree, str):
        raise UsageError(f"the file is not valid Python: {tree}; mend it with search and replace")
    every = spans(tree)
    found = [span for span in every if span.name == name]
    if not found:
        raise UsageError(_no_unit(name, every))
    if len(found) > 1:
        places = ", ".join(f"{span.first}-{span.last}" for span in found)
        raise UsageError(
            f"{named(name)} is defined {len(found)} times, in lines {places}; use search and replace"
        )
    span, lines = found[0], lines_of(old)
    head = lines[span.first - 1]
    indent = head[: len(head) - len(head.lstrip(" \t\f"))]
    new = with_indent(text, name.rpartition(".")[2], indent)
    start = sum(map(len, lines[: span.first - 1]))
    end = start + sum(map(len, lines[span.first - 1 : span.last]))
    last = lines[span.last - 1]
    return _spliced(old, (start, end - len(last) + len(last.rstrip("\r\n"))), new)


def trouble(path: str, data: bytes) -> str | None:
    """Why a Python, JSON or TOML file cannot be read by what reads it, e.g. `line 3: invalid syntax`; else None."""
    check = _CHECKS.get(PurePosixPath(path).suffix)
    if check is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(data)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or type(error).__name__
    return None


def _python(data: bytes) -> None:
    # The compiler, not only the parser: it knows that `return` stands in a function.
    compile(data, "file", "exec", dont_inherit=True)


def _json(data: bytes) -> None:
    json.loads(data)


def _toml(data: bytes) -> None:
    tomllib.loads(data.decode())


_CHECKS: Final[Mapping[str, Callable[[bytes], None]]] = {
    ".py": _python,
    ".pyi": _python,
    ".json": _json,
    ".toml": _toml,
}


def _places(old: str, search: str) -> Iterator[tuple[int, int]]:
    """Where a text begins and ends in another one, with either kind of line ends; places may overlap."""
    plain, wanted = old.replace("\r\n", "\n"), search.replace("\r\n", "\n")
    # Where in the plain text a line end is one character shorter than it was.
    shorter = [m.start() - n for n, m in enumerate(re.finditer("\r\n", old))]
    start = plain.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        yield start + bisect_left(shorter, start), end + bisect_left(shorter, end)
        start = plain.find(wanted, start + 1)


def _spliced(old: str, place: tuple[int, int], replacement: str) -> Edited:
    start, end = place
    newline = "\r\n" if old.count("\r\n") * 2 > old.count("\n") else "\n"
    new = replacement.replace("\r\n", "\n").replace("\n", newline)
    tail = old[end:]
    if not tail:
        new = _with_end_of(old, old[:start], new, newline)
    first = old.count("\n", 0, start) + 1
    return Edited(text=f"{old[:start]}{new}{tail}", first=first, last=first + new.count("\n"))


def _with_end_of(old: str, before: str, new: str, newline: str) -> str:
    """The new end of the file, with a newline at the end or without one, as the old had it."""
    ends = (new or before).endswith("\n")
    if old.endswith("\n") and not ends and (new or before):
        return f"{new}{newline}"
    if not old.endswith("\n"):
        while new.endswith(newline):
            new = new.removesuffix(newline)
    return new


def _miss(old: str, search: str, redact: Callable[[str], str]) -> str:
    lines = [line.strip() for line in lines_of(old)]
    wanted = [line.strip() for line in search.strip("\r\n").split("\n")]
    whole = "\n".join(("", *lines, ""))
    same = whole.find("\n".join(("", *wanted, "")))
    start = whole.count("\n", 0, same) if same >= 0 else _nearest(lines, wanted)
    if start is None:
        return "the search text is not in the file, nor is a line like it; read the file first"
    place = numbered(
        hidden_lines(old, redact)[start : start + min(len(wanted), _NEAR_LINES)], start + 1
    )
    kept = "\n".join(clip_lines(place, _NEAR_CHARACTERS))
    why = ", only its white space differs" if same >= 0 else ""
    return (
        f"the search text is not in the file{why}; the closest lines, whose numbers and bars are "
        f"not part of the file, are:\n{kept}"
    )


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Where the lines begin that look most like those wanted, judged by the longest of these."""
    shift, longest = max(enumerate(wanted), key=lambda pair: len(pair[1]))
    line, pairs = longest[:_COMPARED_CHARACTERS], _pairs(longest)
    # difflib takes seconds for a long file, so it only chooses among those that share most pairs of characters.
    likely = nlargest(_LIKELY, enumerate(lines), key=lambda pair: _alike(pairs, _pairs(pair[1])))
    by_text = {text[:_COMPARED_CHARACTERS]: n for n, text in reversed(likely)}
    near = get_close_matches(line, by_text, n=1)
    return max(0, by_text[near[0]] - shift) if near else None


def _pairs(line: str) -> set[str]:
    padded = f" {line[:_COMPARED_CHARACTERS]} "
    return {padded[n : n + 2] for n in range(len(padded) - 1)}


def _alike(one: set[str], other: set[str]) -> float:
    """Dice's coefficient, 0 to 1."""
    return 2 * len(one & other) / (len(one) + len(other))


def _no_unit(name: str, every: list[Span]) -> str:
    names = list(dict.fromkeys(span.name for span in every))
    near = [n for n in names if n.rpartition(".")[2] == name.rpartition(".")[2]]
    near = near or get_close_matches(name, names, n=3)
    if near:
        return f"there is no unit {named(name)}; did you mean {' or '.join(map(named, near[:3]))}?"
    rest = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (
        f"there is no unit {named(name)}; there are: {', '.join(names[:_LISTED]) or 'none'}{rest}"
    )
