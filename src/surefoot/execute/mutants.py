"""Mutants of the Python lines that a change brought: what its tests ought to notice.

The operators are those that the repair search undoes bugs with. Left out are families whose results any call shows to be
nonsense (another name, a wrapped call), and texts, which are mostly for people.
"""

import difflib
import io
import itertools
import platform
import sys
import tokenize
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from surefoot.execute.repair.mutate import Mutation, mutations, unit_text
from surefoot.execute.source import CodeUnit, Source, apply, bytecode, parse, units
from surefoot.kernel.ports import MutantDraft

OPERATORS: Final = "mutants/2"
_FAMILIES: Final = frozenset(
    {
        "arithmetic",
        "assign",
        "boolean",
        "compare",
        "condition",
        "constant",
        "index",
        "jump",
        "negate",
        "remove",
        "slice",
    }
)
_LEAST_WEIGHT: Final = 0.25
_MOST_UNITS: Final = 60
"""Of a file of which more functions changed, every second one is mutated, or every third, and so on."""
_QUOTES: Final = ('"', "'")
_CODE: Final = frozenset(
    [
        ".c",
        ".cc",
        ".cpp",
        ".cs",
        ".cts",
        ".go",
        ".h",
        ".hpp",
        ".java",
        ".js",
        ".jsx",
        ".kt",
        ".lua",
        ".mjs",
        ".mts",
        ".php",
        ".pl",
        ".rb",
        ".rs",
        ".scala",
        ".sh",
        ".sql",
        ".swift",
        ".ts",
        ".tsx",
        ".vue",
    ]
)
"""Ends of names of files that hold code in other languages."""


class PythonMutator:
    """The `Mutator` of Python files; of other code it says that it cannot read it."""

    @property
    def maker(self) -> str:
        """Operators and interpreter: which mutants are the same code depends on the compiler."""
        major, minor, *_ = sys.version_info
        return f"{OPERATORS} {platform.python_implementation()} {major}.{minor}"

    def reads(self, path: str) -> bool | None:
        """As `Mutator.reads`."""
        end = PurePosixPath(path).suffix
        if end == ".py":
            return True
        return False if end in _CODE else None

    def idle(self, path: str, text: str) -> str:
        """As `Mutator.idle`: a comment at its end, and wider gaps where the code allows it."""
        del path
        wide = _widened(text)
        return f"{wide if bytecode(wide) == bytecode(text) else text}\n#\n"

    def drafts(self, path: str, before: str | None, after: str) -> tuple[MutantDraft, ...]:
        """As `Mutator.drafts`; a mutant that is the code of the base again is left out, since the change is judged by that."""
        source = parse(path, after)
        if source is None:
            return ()
        found = _of_lines(source, _codes(path, before), changed_lines(before or "", after))
        return tuple(
            _draft(source, mutation)
            for mutation in sorted(found, key=lambda m: (m.line, -m.weight))
        )


def _draft(source: Source, mutation: Mutation) -> MutantDraft:
    text = apply(source.text, mutation.edits)
    return MutantDraft(
        file=source.path,
        line=mutation.line,
        operator=mutation.operator,
        text=text,
        patch=_patch(source.path, source.text, text),
    )


def _codes(path: str, text: str | None) -> Mapping[str, str | None]:
    """What each unit of a file does, by key; under "" the whole file."""
    source = None if text is None else parse(path, text)
    if source is None:
        return {}
    return {"": bytecode(source.text)} | {u.key: bytecode(u.text) for u in units(source)}


def _widened(text: str) -> str:
    """The text with one space more in each gap between two words of a line; the gaps of an f-string are part of it."""
    rows, gaps, depth = list(io.StringIO(text)), list[tuple[int, int]](), 0
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    for last, token in itertools.pairwise(tokens):
        kind = tokenize.tok_name[last.type]
        depth += (kind == "FSTRING_START") - (kind == "FSTRING_END")
        (line, end), (next_line, start) = last.end, token.start
        apart = line == next_line and end < start and not depth
        if apart and rows[line - 1][end:start].isspace():
            gaps.append((line, start))
    for line, start in reversed(gaps):
        row = rows[line - 1]
        rows[line - 1] = f"{row[:start]} {row[start:]}"
    return "".join(rows)


def changed_lines(before: str, after: str) -> frozenset[int]:
    """Lines of `after` that `before` lacks, 1-based; where lines are only gone, those on both sides of the gap."""
    old, new = before.splitlines(), after.splitlines()
    found: set[int] = set()
    for tag, _, _, start, end in difflib.SequenceMatcher(
        None, old, new, autojunk=False
    ).get_opcodes():
        if tag == "delete":
            found.update(n for n in (start, start + 1) if 0 < n <= len(new))
        elif tag != "equal":
            found.update(range(start + 1, end + 1))
    return frozenset(found)


def _of_lines(
    source: Source, base: Mapping[str, str | None], lines: Collection[int]
) -> Iterator[Mutation]:
    """Telling mutations of these lines, in functions and outside of them; none does what the base did."""
    inside: set[int] = set()
    places: list[CodeUnit | None] = []
    for unit in units(source):
        body = range(unit.first_line, unit.last_line + 1)
        inside.update(body)
        if any(line in lines for line in body):
            places.append(unit)
    if any(line not in inside for line in lines):
        places.append(None)
    for place in places[:: -(-len(places) // _MOST_UNITS) or 1]:
        was = base.get(place.key if place else "")
        for mutation in mutations(source, place, lines):
            if _is_telling(mutation):
                code = bytecode(unit_text(source, place, apply(source.text, mutation.edits)))
                if code is None or code != was:
                    yield mutation


def _is_telling(mutation: Mutation) -> bool:
    bare = mutation.note.lstrip("rbfuRBFU")
    is_text = mutation.operator == "constant" and bare.startswith(_QUOTES)
    return mutation.operator in _FAMILIES and mutation.weight >= _LEAST_WEIGHT and not is_text


def _patch(path: str, before: str, after: str) -> str:
    rows = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", n=1, lineterm=""
    )
    return "\n".join(rows)
