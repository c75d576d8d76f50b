"""Python source as text with places: offsets, edits that keep the rest of the file, and its whole units.

The syntax tree counts UTF-8 bytes within lines; everything here counts characters in the file.
"""

import ast
import difflib
import io
import sys
import textwrap
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from types import CodeType
from typing import Final, TypeAlias

from surefoot.syntax import MARK, docstring_node, inner_lines, tree_of

FunctionNode: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_HAS_DOCSTRING: Final = 0x4000000
"""Flag of functions with a docstring, since Python 3.13; before, a function's first constant was kept for it."""
Placed: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.keyword | ast.excepthandler


@dataclass(frozen=True, slots=True, kw_only=True)
class TextEdit:
    """Characters `start` up to `end` of a file become `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeUnit:
    """A whole function or method with its decorators."""

    path: str
    qualname: str
    """Dotted from the module, e.g. `Stack.pop`."""
    ordinal: int
    """Among the units of that name in the file, from 0: a getter and its setter share one, as do two branches."""
    class_name: str | None
    first_line: int
    """1-based, of the first decorator or of `def`."""
    last_line: int
    text: str
    """Its lines, indentation removed, no newline at the end."""
    indent: str

    @property
    def name(self) -> str:
        """The last part of the qualified name."""
        return self.qualname.rpartition(".")[2]

    @property
    def key(self) -> str:
        """A name that is unique in the file; from the second unit of a name on it ends with a number, e.g. `Box.size#2`."""
        return f"{self.qualname}#{self.ordinal + 1}" if self.ordinal else self.qualname


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A parsed file; `parse` builds it."""

    path: str
    text: str
    tree: ast.Module
    starts: tuple[int, ...] = field(repr=False)
    """Offset of each line's first character, and of the file's end."""
    oldest: tuple[int, int] | None = None
    """The oldest Python (major, minor) that the project supports, where that is known."""

    def offset(self, line: int, column: int) -> int:
        """Character offset of a syntax tree's place (1-based line, column in UTF-8 bytes)."""
        start = self.starts[line - 1]
        row = self.text[start : self.starts[line]]
        if row.isascii():
            return start + column
        return start + len(row.encode()[:column].decode(errors="ignore"))

    def start(self, node: Placed) -> int:
        """Offset of a node's first character."""
        return self.offset(node.lineno, node.col_offset)

    def end(self, node: Placed) -> int:
        """Offset behind a node's last character."""
        return self.offset(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def segment(self, node: Placed) -> str:
        """A node's own text, without parentheses around it."""
        return self.text[self.start(node) : self.end(node)]

    def lines(self, first: int, last: int) -> str:
        """Text of whole lines, 1-based and inclusive, newlines included."""
        return self.text[self.starts[first - 1] : self.starts[min(last, len(self.starts) - 1)]]

    def indent_of(self, line: int) -> str:
        """White space that a line begins with."""
        row = self.lines(line, line)
        return row[: len(row) - len(row.lstrip(" \t"))]


def parse(path: str, text: str, *, oldest: tuple[int, int] | None = None) -> Source | None:
    """A parsed file, or None when it is not valid Python for this interpreter."""
    tree = tree_of(text)
    if tree is None:
        return None
    # A byte order mark stays in the text, and before everything that is written into the file.
    code = text.removeprefix(MARK)
    starts = [len(text) - len(code)]
    for line in io.StringIO(code, newline=""):
        starts.append(starts[-1] + len(line))
    if len(starts) == 1:
        starts.append(starts[0])
    return Source(path=path, text=text, tree=tree, starts=tuple(starts), oldest=oldest)


def last_name(node: ast.expr) -> str:
    """The last part of a dotted name, e.g. of what is called; empty for another expression."""
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def newline_of(source: Source) -> str:
    """The line ending that most of the file's lines have."""
    return "\r\n" if 2 * source.text.count("\r\n") > source.text.count("\n") else "\n"


def apply(text: str, edits: Sequence[TextEdit]) -> str:
    """The text after edits that do not overlap."""
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def overlap(first: Sequence[TextEdit], second: Sequence[TextEdit]) -> bool:
    """Whether any edit of one touches the place of one of the other."""
    return any(a.start <= b.end and b.start <= a.end for a in first for b in second)


def is_unwritten(node: FunctionNode) -> bool:
    """Whether a function's body holds nothing but words, `pass`, or `raise NotImplementedError`."""
    return all(
        isinstance(n, ast.Pass)
        or (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))
        or (
            isinstance(n, ast.Raise)
            and n.exc is not None
            and "NotImplementedError" in ast.unparse(n.exc)
        )
        for n in node.body
    )


def units(source: Source) -> tuple[CodeUnit, ...]:
    """All functions and methods, in order of line; functions inside functions belong to the outer one."""
    return tuple(unit for unit, _ in unit_nodes(source))


def unit_nodes(source: Source) -> Iterator[tuple[CodeUnit, FunctionNode]]:
    """Each unit with its node."""
    seen = Counter[tuple[str, ...]]()
    for node, classes in _walk(source.tree.body, ()):
        names = (*classes, node.name)
        yield _unit(source, node, names, seen[names]), node
        seen[names] += 1


def again_in(source: Source, unit: CodeUnit | None) -> CodeUnit | None:
    """A unit as it stands in this or another version of its file; None when it is gone."""
    return next((u for u in units(source) if unit is not None and u.key == unit.key), None)


def node_of(source: Source, unit: CodeUnit | None) -> FunctionNode | None:
    """The node of a unit in this or another version of its file; None when it is gone."""
    return next((n for u, n in unit_nodes(source) if unit is not None and u.key == unit.key), None)


def _walk(
    body: Sequence[ast.stmt], classes: tuple[str, ...]
) -> Iterator[tuple[FunctionNode, tuple[str, ...]]]:
    """Each function that is a unit, with the classes that it stands in."""
    for node in body:
        if isinstance(node, FunctionNode):
            yield node, classes
        elif isinstance(node, ast.ClassDef):
            yield from _walk(node.body, (*classes, node.name))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for block in blocks(node):
                yield from _walk(block, classes)


def _unit(source: Source, node: FunctionNode, names: tuple[str, ...], ordinal: int) -> CodeUnit:
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    last = node.end_lineno or node.lineno
    indent = source.indent_of(first)
    return CodeUnit(
        path=source.path,
        qualname=".".join(names),
        ordinal=ordinal,
        class_name=".".join(names[:-1]) or None,
        first_line=first,
        last_line=last,
        text=_dedent(source.lines(first, last), indent, first, inner_lines(node)).rstrip(),
        indent=indent,
    )


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The statement lists directly inside a node, in order."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block
    for handler in getattr(node, "handlers", ()):
        yield handler.body
    for case in getattr(node, "cases", ()):
        yield case.body


def replace_unit(source: Source, unit: CodeUnit, text: str) -> str:
    """The file with a unit's lines replaced by `text`, which is given without indentation.

    Lines that the unit has already are taken as they stand, with white space and all that indenting does not give back.
    """
    text, newline = text.strip("\n"), newline_of(source)
    start, end = source.starts[unit.first_line - 1], source.starts[unit.last_line]
    old = source.text[start:end]
    last = old[len(old.rstrip("\r\n")) :]
    rows = [f"{row}{newline}" for row in indent_code(text, unit.indent).split("\n")]
    kept, lines = list(rows), list(io.StringIO(f"{old}{newline}"))
    matcher = difflib.SequenceMatcher(None, unit.text.split("\n"), text.split("\n"), autojunk=False)
    for i, j, size in matcher.get_matching_blocks():
        kept[j : j + size] = lines[i : i + size]
    found, indented = (
        source.text[:start] + "".join(body).rstrip("\r\n") + last + source.text[end:]
        for body in (kept, rows)
    )
    # A line that stood left of the function, in its docstring or in parentheses, may be code elsewhere.
    return found if found == indented or shape(found) == shape(indented) else indented


def _dedent(text: str, indent: str, first: int, inner: frozenset[int]) -> str:
    rows = text.replace("\r\n", "\n").split("\n")
    return "\n".join(
        row if number in inner else row.removeprefix(indent)
        for number, row in enumerate(rows, start=first)
    )


def indent_code(text: str, indent: str) -> str:
    """Indent lines, but not those that are inside a string that spans several."""
    tree = None if not indent else parse("", text)
    if tree is None:
        return text if not indent else textwrap.indent(text, indent)
    inner = inner_lines(tree.tree)
    return "\n".join(
        row if not row.strip() or number in inner else indent + row
        for number, row in enumerate(text.split("\n"), start=1)
    )


def docstring_of(node: ast.AST | None) -> str:
    """The text of a node's docstring; empty where there is none, or no node."""
    found = docstring_node(node) if node is not None else None
    return str(found.value) if found is not None else ""


def shape(text: str) -> str:
    """What two texts have in common that differ in layout, comments and docstrings only; empty when invalid."""
    tree = tree_of(textwrap.dedent(text.removeprefix(MARK)))
    if tree is None:
        return ""
    for node in ast.walk(tree):
        if isinstance(node, FunctionNode | ast.ClassDef) and docstring_node(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.dump(tree)


def bytecode(text: str) -> str | None:
    """What two texts have in common that do the same step by step; None when the text does not compile.

    Layout, comments, line numbers and functions' docstrings make no difference. Several times as fast as `shape`, and
    only good for comparing texts within one process.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _steps(
                compile(textwrap.dedent(text.removeprefix(MARK)), "", "exec", dont_inherit=True)
            )
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _steps(code: CodeType) -> str:
    consts = list(code.co_consts)
    documented = code.co_flags & (_HAS_DOCSTRING if sys.version_info >= (3, 13) else CO_OPTIMIZED)
    # A comprehension keeps no place for a docstring: its first constant is what it asks for.
    if documented and not code.co_name.startswith("<") and consts and isinstance(consts[0], str):
        consts[0] = None
    said = (
        code.co_name,
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        code.co_flags,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_exceptiontable,
        *(_steps(c) if isinstance(c, CodeType) else _constant(c) for c in consts),
    )
    return repr(said)


def _constant(value: object) -> str:
    """A constant with its type: 1, 1.0 and True are three."""
    if isinstance(value, tuple):
        return f"({','.join(_constant(item) for item in value)})"
    if isinstance(value, frozenset):
        return f"{{{','.join(sorted(_constant(item) for item in value))}}}"
    return f"{type(value).__name__} {value!r}"
