"""Reading code out of a model's answer: what was given counts, not the form that was asked for.

Small models answer with a bare function, a whole file, a class around a method, a diff, a body without its `def`, wrong
indentation, or a block that was never closed. Each of these is read; the last usable definition wins, because models
quote the broken code first and the repaired code last. Pure.
"""

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from surefoot.decisions.redacted import adds_mark
from surefoot.syntax import tree_of

MAX_REPLY_CHARACTERS: Final = 100_000
"""More than any function needs; a longer reply is cut before it is looked at."""

_FENCE: Final = re.compile(
    r"^[ \t]*(?:```|~~~)[^\n`]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE
)
_THINKING: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_TICKS: Final = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*\n?", re.MULTILINE)
_EDGE: Final = re.compile(r"^[^\s#]", re.MULTILINE)
_HUNK: Final = re.compile(r"^@@.*?@@.*$", re.MULTILINE)
_CODE_START: Final = re.compile(r"^[ \t]*(?:@|async def |def |class |import |from )", re.MULTILINE)
_BODY: Final = re.compile(r"^\s*(?:return|yield|raise)\b", re.MULTILINE)
"""What a function's body without its `def` is told from prose by."""
_MAX_TRIMS: Final = 60

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadCode:
    """What a reply holds for one unit."""

    code: str | None
    """The unit's new text, with decorators, without indentation; None when the reply has none."""
    imports: tuple[str, ...] = ()
    """Top-level import statements given beside it."""
    helpers: tuple[str, ...] = ()
    """Other functions that it calls and that were given beside it."""
    problem: str = ""
    """Why there is no code, as it can be sent back."""


def read_code(reply: str, *, name: str, original: str) -> ReadCode:
    """The new text of function `name` in a reply; `original` is its present text, without indentation."""
    text = _THINKING.sub("", reply[:MAX_REPLY_CHARACTERS]).replace("\r\n", "\n")
    problem = f"the reply holds no definition of `{name}`"
    for block in _blocks(text):
        for version in _versions(block, original):
            tree = tree_of(version)
            if tree is None:
                problem = f"the code of `{name}` is not valid Python"
                continue
            read = _pick(tree, version, name, original)
            if read is not None:
                return read
    return ReadCode(code=None, problem=problem)


def read_lines(reply: str) -> str | None:
    """The code of a reply that was asked for a line or a few, without indentation; None when it holds none."""
    text = _THINKING.sub("", reply[:MAX_REPLY_CHARACTERS]).replace("\r\n", "\n")
    blocks = [m[1] for m in _FENCE.finditer(text)]
    body = textwrap.dedent(blocks[0] if blocks else text.strip("`")).strip("\n")
    return body if body.strip() else None


def finished(reply: str) -> str:
    """What of a reply that was cut off is whole; what stands last may lack its end, and would parse all the same.

    That are its closed blocks, and of an open one the statements before the last that begins at the left edge.
    """
    ticks = list(_TICKS.finditer(reply))
    if ticks and len(ticks) % 2 == 0:
        return reply
    start = ticks[-1].end() if ticks else 0
    edges = list(_EDGE.finditer(reply, start))
    before = reply[start : edges[-1].start()] if edges else ""
    if tree_of(before) is None:
        before = ""  # it ends within a string or a bracket
    return reply[:start] + before


def _blocks(text: str) -> Iterator[str]:
    """Pieces that may be code: fenced ones from the last to the first, then the text from its first code line on."""
    fenced = [m[1] for m in _FENCE.finditer(text) if m[1].strip()]
    yield from reversed(fenced)
    if len(fenced) > 1:
        yield "\n".join(fenced)
    start = _CODE_START.search(text)
    if start is not None and not fenced:
        yield text[start.start() :]
    yield text


def _versions(block: str, original: str) -> Iterator[str]:
    """Ways to read one piece."""
    block = block.strip("\n")
    if _looks_like_diff(block):
        patched = _patched(block, original)
        if patched is not None:
            yield patched
        return
    plain = textwrap.dedent(block)
    yield plain
    yield _indented_bodies(plain)
    head = _head(original)
    if head and _BODY.search(plain) and not re.search(r"^\s*(?:async )?def ", block, re.MULTILINE):
        yield head + "\n" + textwrap.indent(plain, "    ")
    rows = plain.split("\n")
    for count in range(1, min(len(rows), _MAX_TRIMS)):
        yield "\n".join(rows[:-count])


def _pick(tree: ast.Module, text: str, name: str, original: str) -> ReadCode | None:
    """The definition of `name` in a parsed piece, or the only function when it was renamed."""
    functions = [n for n in ast.walk(tree) if isinstance(n, Function)]
    named = [n for n in functions if n.name == name and _has_body(n)]
    top = [n for n in tree.body if isinstance(n, Function) and _has_body(n)]
    if named:
        chosen = named[-1]
    elif len(top) == 1 and _arity(top[0]) == _arity_of(original):
        chosen = top[0]
    else:
        return None
    code = _lines(text, chosen)
    if chosen.name != name:
        code = re.sub(rf"\b{re.escape(chosen.name)}\b", name, code)
    helpers = _helpers(tree, chosen, text)
    imports = tuple(ast.unparse(n) for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom))
    return ReadCode(code=code, imports=_safe_imports(imports), helpers=helpers)


def _safe_imports(imports: Sequence[str]) -> tuple[str, ...]:
    return tuple(i for i in dict.fromkeys(imports) if not i.startswith("from __future__"))


def _has_body(node: Function) -> bool:
    """More than a docstring, `pass` or `...`."""
    rest = [
        s
        for s in node.body
        if not isinstance(s, ast.Pass)
        and not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    ]
    return bool(rest)


def _lines(text: str, node: Function) -> str:
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    rows = text.split("\n")[first - 1 : node.end_lineno]
    indent = len(rows[0]) - len(rows[0].lstrip())
    return "\n".join(r[indent:] if not r[:indent].strip() else r for r in rows).rstrip()


def _helpers(tree: ast.Module, chosen: Function, text: str) -> tuple[str, ...]:
    """Functions of the same piece that the chosen one needs, directly or through each other."""
    others = {n.name: n for n in tree.body if isinstance(n, Function) and n is not chosen}
    needed: dict[str, None] = {}
    queue: list[Function] = [chosen]
    while queue:
        here = queue.pop()
        for node in ast.walk(here):
            if isinstance(node, ast.Name) and node.id in others and node.id not in needed:
                needed[node.id] = None
                queue.append(others[node.id])
    return tuple(_lines(text, others[n]) for n in others if n in needed and n != chosen.name)


def _arity(node: Function) -> int:
    return len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)


def _arity_of(original: str) -> int:
    tree = tree_of(original)
    found = [n for n in tree.body if isinstance(n, Function)] if tree is not None else []
    return _arity(found[0]) if found else -1


def _head(original: str) -> str:
    """Decorators and `def` line of a unit."""
    tree = tree_of(original)
    if tree is None or not tree.body or not isinstance(tree.body[0], Function):
        return ""
    node = tree.body[0]
    rows = original.split("\n")
    if node.body[0].lineno == node.lineno:
        return ""
    last = node.body[0].lineno - 1
    while last > node.lineno and not rows[last - 1].strip().endswith(":"):
        last -= 1
    return "\n".join(rows[:last])


def _indented_bodies(text: str) -> str:
    """Code whose function bodies stand at the level of their `def`, indented."""
    rows: list[str] = []
    inside = False
    for row in text.split("\n"):
        starts = re.match(r"(?:async )?def .*:\s*(?:#.*)?$", row)
        if starts or re.match(r"@|import |from |class |if __name__", row):
            inside = bool(starts)
            rows.append(row)
        elif inside and row.strip():
            rows.append("    " + row)
        else:
            rows.append(row)
    return "\n".join(rows)


# --- diffs ---------------------------------------------------------------------------------------


def _looks_like_diff(block: str) -> bool:
    rows = [r for r in block.split("\n") if r.strip()]
    if any(r.startswith(("--- ", "+++ ", "@@")) for r in rows):
        return True
    signed = [r for r in rows if r[0] in "+-" and not re.match(r"[+-]\s*\d*\s*$", r)]
    return bool(signed) and any(r[0] == "+" for r in signed) and len(signed) < len(rows)


def _patched(block: str, original: str) -> str | None:
    """A unified diff applied by its lines' text; its line numbers are never trusted."""
    rows = original.split("\n")
    changed = False
    for hunk in _HUNK.split(block):
        body = [
            r for r in hunk.split("\n") if not r.startswith(("--- ", "+++ ", "diff ", "index "))
        ]
        body = [r for r in body if r.strip()]
        old = [r[1:] for r in body if r[0] in " -"]
        new = [r[1:] for r in body if r[0] in " +"]
        if not any(r[0] in "+-" for r in body) or not old:
            continue
        place = _find(rows, old)
        if place is None:
            return None
        first, last = place
        shift = _indent(rows[first]) - _indent(old[0])
        rows[first:last] = [_shift(r, shift) for r in new]
        changed = True
    return "\n".join(rows) if changed else None


def _find(rows: Sequence[str], old: Sequence[str]) -> tuple[int, int] | None:
    """Where lines stand, blank lines and outer white space left out of account."""
    wanted = [r.strip() for r in old]
    for first in range(len(rows)):
        here, seen = first, 0
        while here < len(rows) and seen < len(wanted):
            if not rows[here].strip() and seen:
                here += 1
                continue
            if rows[here].strip() != wanted[seen]:
                break
            here, seen = here + 1, seen + 1
        if seen == len(wanted):
            return first, here
    return None


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip())


def _shift(row: str, by: int) -> str:
    if by >= 0:
        return " " * by + row if row.strip() else row
    return row[min(-by, _indent(row)) :]


# --- tests ---------------------------------------------------------------------------------------


def read_test(reply: str) -> str | None:
    """The first test function of a reply, without anything around it; None when it holds none that can be used as it is."""
    text = _THINKING.sub("", reply[:MAX_REPLY_CHARACTERS]).replace("\r\n", "\n")
    for block in _blocks(text):
        plain = textwrap.dedent(block.strip("\n"))
        rows = plain.split("\n")
        for count in range(min(len(rows), _MAX_TRIMS)):
            version = "\n".join(rows[: len(rows) - count])
            tree = tree_of(version)
            tests = [
                n
                for n in (tree.body if tree is not None else ())
                if isinstance(n, ast.FunctionDef) and n.name.startswith("test") and _has_body(n)
            ]
            if tests:
                test = _lines(version, tests[0])
                return test if adds_mark(None, test) is None else None
    return None
