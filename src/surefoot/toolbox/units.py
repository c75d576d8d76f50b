"""Where the classes and functions of a Python file are, and how new text takes the place of one.

Lines are 1-based and inclusive; they end where Python's own parser ends them, so a lone carriage return ends one too.
"""

import ast
import io
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Final, TypeAlias

from surefoot.errors import UsageError
from surefoot.syntax import inner_lines, parse, written
from surefoot.toolbox.bounds import named

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_HEAD_CHARACTERS: Final = 120
_ALIGNED_LINES: Final = 1_000
"""Between the first hidden secret and the last one: where many lines are alike, comparing them takes quadratic time."""
PYTHON: Final = frozenset({".py", ".pyi"})
"""Suffixes of the files that have units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A class, or a function that is not inside another one."""

    name: str
    """Dotted from the module, e.g. `Stack.pop`."""
    head: str
    """`class Stack(Base)` or `def pop(self, count=1)`, with the dotted name."""
    first: int
    """Line of the first decorator, or of `def` or `class`."""
    last: int


def lines_of(text: str) -> list[str]:
    """The lines with their ends."""
    return list(io.StringIO(text, newline=""))


def hidden_lines(text: str, redact: Callable[[str], str]) -> list[str]:
    """The lines of a whole text in which secrets are hidden, with the numbers that they had: a key of several became one.

    Of a part of the text, `redact` could not see all of a key.
    """
    lines, hidden = lines_of(text), lines_of(redact(text))
    missing = len(lines) - len(hidden)
    if not missing:
        return hidden
    head = _alike(zip(lines, hidden, strict=False))
    rest = min(len(lines), len(hidden)) - head
    tail = min(rest, _alike(zip(reversed(lines), reversed(hidden), strict=False)))
    old, new = lines[head : len(lines) - tail], hidden[head : len(hidden) - tail]
    middle = _in_their_places(old, new) if len(old) <= _ALIGNED_LINES else [*new, *["\n"] * missing]
    return [*hidden[:head], *middle, *hidden[len(hidden) - tail :]]


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _in_their_places(lines: list[str], hidden: list[str]) -> list[str]:
    found: list[str] = []
    for _, begins, ends, first, end in SequenceMatcher(
        None, lines, hidden, autojunk=False
    ).get_opcodes():
        found += [*hidden[first:end], *["\n"] * (ends - begins - (end - first))]
    return found


def numbered(lines: list[str], first: int) -> list[str]:
    """Lines with their numbers in front, the first of them being `first`."""
    width = len(str(first + len(lines)))
    bare = (line.rstrip("\r\n") for line in lines)
    return [f"{number:>{width}} | {line}" for number, line in enumerate(bare, start=first)]


def spans(tree: ast.Module) -> list[Span]:
    """All of a file, in the order of their lines."""
    return list(_below(tree.body, ""))


def tree_of(source: str | bytes) -> ast.Module | str:
    """The syntax tree, or what is wrong: `line 3: invalid syntax`."""
    try:
        return parse(source)
    except SyntaxError as error:
        return error.msg if error.lineno is None else f"line {error.lineno}: {error.msg}"


def with_indent(text: str, name: str, indent: str) -> str:
    """A definition of `name`, whole and indented with `indent`, no newline at its end.

    Comments around it come along. Lines inside a string keep what they have, unless it is a docstring.

    Raises:
        UsageError: The text is not Python, or does not define `name`.
    """
    lines = text.replace("\r\n", "\n").strip("\n").split("\n")
    own = lines[0][: len(lines[0]) - len(lines[0].lstrip(" \t"))]
    wrapper = ["if 1:"] if own else []
    tree = tree_of("\n".join((*wrapper, *lines)) + "\n")
    if isinstance(tree, str):
        raise UsageError(f"the new text is not valid Python: {tree}; nothing was written")
    outer = tree.body[0] if wrapper else tree
    body = outer.body if isinstance(outer, ast.Module | ast.If) else []
    found = [node.name for node in body if isinstance(node, _DEFINITIONS)]
    if name not in found:
        held = f"defines {', '.join(map(named, found))}" if found else "defines nothing"
        raise UsageError(
            f"the new text must hold the whole of {named(name)} from its decorators or `def` on, "
            f"but it {held}; nothing was written"
        )
    if own == indent:
        return "\n".join(lines)
    fixed = {number - len(wrapper) for number in inner_lines(tree)}
    below = {n: line for n, line in enumerate(lines[1:], start=2) if n not in fixed}
    if not own and all(_is_deeper(line, indent) for line in below.values()):
        # Copied from its place, but for the white space before its first line.
        fixed.update(below)
    shifted = [
        line if number in fixed else _shift(line, own, indent)
        for number, line in enumerate(lines, start=1)
    ]
    return "\n".join(shifted)


def _is_deeper(line: str, indent: str) -> bool:
    return not line.strip() or (line.startswith(indent) and line[len(indent)] in " \t")


def _shift(line: str, own: str, indent: str) -> str:
    if not line.strip():
        return ""
    return indent + line.removeprefix(own) if line.startswith(own) else line


def _below(body: Sequence[ast.stmt], prefix: str) -> Iterator[Span]:
    for node in body:
        if isinstance(node, _DEFINITIONS):
            name = prefix + node.name
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield Span(
                name=name, head=_head(node, name), first=first, last=node.end_lineno or first
            )
            if isinstance(node, ast.ClassDef):
                yield from _below(node.body, f"{name}.")
        else:
            for block in _blocks(node):
                yield from _below(block, prefix)


def _blocks(node: ast.stmt) -> Iterator[Sequence[ast.stmt]]:
    """The statements inside an `if`, `try`, `with`, `match` or loop, in their order."""
    if isinstance(node, ast.If | ast.For | ast.While | ast.With | ast.Try | ast.TryStar):
        yield node.body
    if isinstance(node, ast.Try | ast.TryStar):
        yield from (handler.body for handler in node.handlers)
    if isinstance(node, ast.If | ast.For | ast.While | ast.Try | ast.TryStar):
        yield node.orelse
    if isinstance(node, ast.Try | ast.TryStar):
        yield node.finalbody
    if isinstance(node, ast.Match):
        yield from (case.body for case in node.cases)


def _head(node: _Definition, name: str) -> str:
    if isinstance(node, ast.ClassDef):
        bases = ", ".join(written(base) for base in (*node.bases, *node.keywords))
        head = f"class {name}({bases})" if bases else f"class {name}"
    else:
        keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        head = f"{keyword} {name}({written(node.args)})"
    return textwrap.shorten(head, _HEAD_CHARACTERS, placeholder=" ...")
