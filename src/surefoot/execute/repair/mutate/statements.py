"""Mutations of whole statements: guards, returns, order, nesting, loops and assignments."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Final

from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.source import FunctionNode, TextEdit, blocks, newline_of
from surefoot.syntax import docstring_node

_AUGMENTED: Final = {
    ast.Add: ("+=", {"-=": 0.6, "*=": 0.4, "=": 0.45, "//=": 0.05}),
    ast.Sub: ("-=", {"+=": 0.6, "=": 0.4, "//=": 0.1}),
    ast.Mult: ("*=", {"+=": 0.5, "/=": 0.3, "//=": 0.3, "=": 0.35, "**=": 0.1}),
    ast.Div: ("/=", {"*=": 0.5, "//=": 0.6, "=": 0.2}),
    ast.FloorDiv: ("//=", {"/=": 0.5, "%=": 0.5, "-=": 0.1, "=": 0.2}),
    ast.Mod: ("%=", {"//=": 0.5, "=": 0.2}),
    ast.BitAnd: ("&=", {"|=": 0.5, "^=": 0.3, "=": 0.2}),
    ast.BitOr: ("|=", {"&=": 0.5, "^=": 0.3, "=": 0.3}),
    ast.BitXor: ("^=", {"&=": 0.3, "|=": 0.5, "=": 0.2}),
}
_RETURNS: Final = ("True", "False", "None", "[]", "0", "''", "-1", "1")


def statement_mutations(site: Site) -> Iterator[Mutation]:
    """All mutations of this module."""
    for node in site.nodes:
        yield from _single(site, node)
        if isinstance(node, ast.stmt):
            for block in blocks(node):
                yield from _block(site, block)
    for block in blocks(site.root):
        yield from _block(site, block)
    if isinstance(site.root, FunctionNode):
        yield from _guards(site, site.root)
        yield from _fall_off(site, site.root)
        yield from _defaults(site, site.root)


def _single(site: Site, node: ast.AST) -> Iterator[Mutation]:
    match node:
        case ast.Return():
            yield from _return(site, node)
        case ast.AugAssign():
            yield from _augmented(site, node)
        case ast.Assign(targets=[target]):
            yield from _assign(site, node, target)
        case ast.Break() | ast.Continue():
            other = "continue" if isinstance(node, ast.Break) else "break"
            yield site.replace(node, other, "jump", 0.4)
            yield site.replace(node, "pass", "jump", 0.4)
        case ast.If():
            yield from _if(site, node)
        case ast.While():
            yield from _keyword(site, node, "while", "if", 0.15)
        case ast.ExceptHandler(type=ast.Name() as caught):
            yield site.replace(caught, "Exception", "type", 0.2)
        case _:
            pass


# --- single statements ---------------------------------------------------------------------------


def _return(site: Site, node: ast.Return) -> Iterator[Mutation]:
    if node.value is None:
        for text in (*_RETURNS, *site.names):
            yield site.replace(node, f"return {text}", "return", 0.2)
        return
    value = site.text(node.value)
    for text in _RETURNS:
        if text != value:
            yield site.replace(node.value, text, "return", 0.15)
    for name in site.names:
        if name != value and not isinstance(node.value, ast.Name):
            yield site.replace(node.value, name, "return", 0.25)
    yield site.replace(node.value, f"not ({value})", "negate", 0.3)


def _augmented(site: Site, node: ast.AugAssign) -> Iterator[Mutation]:
    symbol, options = _AUGMENTED.get(type(node.op), ("", {}))
    start, end = site.source.end(node.target), site.source.start(node.value)
    place = site.source.text.find(symbol, start, end) if symbol else -1
    if place < 0:
        return
    for other, weight in options.items():
        edit = TextEdit(start=place, end=place + len(symbol), text=other)
        yield site.edit([edit], node, "assign", weight)


def _assign(site: Site, node: ast.Assign, target: ast.expr) -> Iterator[Mutation]:
    place = site.source.text.find("=", site.source.end(target), site.source.start(node.value))
    if place >= 0 and isinstance(target, ast.Name | ast.Attribute | ast.Subscript):
        # In a loop a plain assignment of what an earlier round has is often a sum that was lost.
        more = 0.5 if site.is_repeated(node) else 0.35
        for other, weight in (("+=", more), ("-=", 0.1), ("*=", 0.1)):
            edit = TextEdit(start=place, end=place + 1, text=other)
            yield site.edit([edit], node, "assign", weight)
    if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:  # noqa: PLR2004  # a pair
        first, second = node.value.elts
        edits = [
            TextEdit(
                start=site.source.start(first), end=site.source.end(first), text=site.text(second)
            ),
            TextEdit(
                start=site.source.start(second), end=site.source.end(second), text=site.text(first)
            ),
        ]
        yield site.edit(edits, node, "operands", 0.3)
    if isinstance(target, ast.Subscript):
        whole = site.text(target)
        got = f"{site.text(target.value)}.get({site.text(target.slice)}, 0)"
        yield site.replace(node.value, f"{got} + {site.text(node.value)}", "assign", 0.1)
        yield site.replace(node.value, f"{whole} + {site.text(node.value)}", "assign", 0.1)


def _if(site: Site, node: ast.If) -> Iterator[Mutation]:
    word = "elif" if site.source.text.startswith("elif", site.source.start(node)) else "if"
    if word == "elif":
        yield from _keyword(site, node, "elif", "if", 0.35)
    else:
        yield from _keyword(site, node, "if", "while", 0.15)
        block = site.block_of(node)
        index = next((i for i, s in enumerate(block) if s is node), 0)
        if index and isinstance(block[index - 1], ast.If):
            yield from _keyword(site, node, "if", "elif", 0.3)
        if not node.orelse:
            yield from _unwrap(site, node)
    yield site.replace(node.test, "True", "condition", 0.15)
    yield site.replace(node.test, "False", "condition", 0.2)


def _keyword(site: Site, node: ast.stmt, old: str, new: str, weight: float) -> Iterator[Mutation]:
    start = site.source.start(node)
    if site.source.text.startswith(old, start):
        edit = TextEdit(start=start, end=start + len(old), text=new)
        yield site.edit([edit], node, "keyword", weight)


# --- statements in their block -------------------------------------------------------------------


def _rows(site: Site, statements: Sequence[ast.stmt]) -> tuple[int, int]:
    """Offsets of the whole lines of statements that follow each other."""
    first, last = statements[0], statements[-1]
    starts = site.source.starts
    line = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))])
    return starts[line - 1], starts[last.end_lineno or last.lineno]


def _alone(site: Site, statement: ast.stmt) -> bool:
    """Whether a statement has its lines to itself."""
    start, end = _rows(site, [statement])
    before = site.source.text[start : site.source.start(statement)]
    after = site.source.text[site.source.end(statement) : end].strip()
    return not before.strip() and (not after or after.startswith("#"))


def _shifted(text: str, old: str, new: str) -> str:
    rows = text.splitlines(keepends=True)
    return "".join(new + r.removeprefix(old) if r.strip() else r for r in rows)


def _block(site: Site, block: list[ast.stmt]) -> Iterator[Mutation]:
    body = [s for s in block if not _is_docstring(site, s)]
    if not all(_alone(site, s) for s in body):
        return
    for index, statement in enumerate(body):
        if isinstance(statement, FunctionNode | ast.ClassDef | ast.Import | ast.ImportFrom):
            continue
        yield from _remove(site, statement, only=len(body) == 1)
        if index + 1 < len(body):
            yield from _swap(site, statement, body[index + 1])
            yield from _pull_in(site, statement, body[index + 1])
    if body and isinstance(body[0], ast.stmt):
        yield from _push_out(site, body)


def _is_docstring(site: Site, statement: ast.stmt) -> bool:
    doc = docstring_node(site.parents.get(id(statement), site.root))
    return isinstance(statement, ast.Expr) and statement.value is doc


def _remove(site: Site, statement: ast.stmt, *, only: bool) -> Iterator[Mutation]:
    start, end = _rows(site, [statement])
    indent = site.source.indent_of(statement.lineno)
    text = f"{indent}pass{newline_of(site.source)}" if only else ""
    weight = 0.2 if isinstance(statement, ast.For | ast.While | ast.Return) else 0.35
    if not (only and isinstance(statement, ast.Pass)):
        yield site.edit([TextEdit(start=start, end=end, text=text)], statement, "remove", weight)


def _swap(site: Site, first: ast.stmt, second: ast.stmt) -> Iterator[Mutation]:
    if isinstance(first, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return
    a, b = _rows(site, [first]), _rows(site, [second])
    text = site.source.text
    tail = text[b[0] : b[1]]
    end = "" if tail.endswith("\n") else newline_of(site.source)
    moved = tail + end + text[a[1] : b[0]] + text[a[0] : a[1]]
    yield site.edit([TextEdit(start=a[0], end=b[1], text=moved)], first, "order", 0.3)


def _pull_in(site: Site, first: ast.stmt, second: ast.stmt) -> Iterator[Mutation]:
    """The statement after a block becomes the block's last one."""
    inner = list(blocks(first))
    if not inner or isinstance(first, ast.Try):
        return
    last = first
    while deeper := list(blocks(last)):
        last = deeper[-1][-1]
        target = site.source.indent_of(last.lineno)
        start, end = _rows(site, [second])
        own = site.source.indent_of(second.lineno)
        text = _shifted(site.source.text[start:end], own, target)
        yield site.edit([TextEdit(start=start, end=end, text=text)], second, "nesting", 0.35)


def _push_out(site: Site, body: list[ast.stmt]) -> Iterator[Mutation]:
    """The last statement of a block leaves it; a block of one statement dissolves."""
    around = site.parents.get(id(body[0]))
    if not isinstance(around, ast.For | ast.While | ast.If | ast.With):
        return
    if len(body) == 1 or (isinstance(around, ast.If | ast.For | ast.While) and around.orelse):
        return
    last = body[-1]
    own, target = site.source.indent_of(last.lineno), site.source.indent_of(around.lineno)
    start, end = _rows(site, [last])
    text = _shifted(site.source.text[start:end], own, target)
    yield site.edit([TextEdit(start=start, end=end, text=text)], last, "nesting", 0.45)


def _unwrap(site: Site, node: ast.If) -> Iterator[Mutation]:
    """`if c: body` becomes `body`."""
    start, end = _rows(site, [node])
    inner = _rows(site, node.body)
    old, new = site.source.indent_of(node.body[0].lineno), site.source.indent_of(node.lineno)
    if node.body[0].lineno == node.lineno:
        return
    text = _shifted(site.source.text[inner[0] : inner[1]], old, new)
    yield site.edit([TextEdit(start=start, end=end, text=text)], node, "condition", 0.3)


# --- things that are missing ---------------------------------------------------------------------


def _insert(site: Site, before: ast.stmt, rows: Sequence[str], weight: float) -> Mutation:
    start, _ = _rows(site, [before])
    indent = site.source.indent_of(before.lineno)
    text = "".join(f"{indent}{row}{newline_of(site.source)}" for row in rows)
    return site.edit([TextEdit(start=start, end=start, text=text)], before, "guard", weight)


def _step(site: Site, root: FunctionNode) -> str:
    """One level of indentation as the unit writes it."""
    outer = site.source.indent_of(root.lineno)
    return site.source.indent_of(root.body[0].lineno).removeprefix(outer)


def _guards(site: Site, root: FunctionNode) -> Iterator[Mutation]:
    body = [s for s in root.body if not _is_docstring(site, s)]
    if not body or not _alone(site, body[0]):
        return
    step = _step(site, root)
    parameters = [a.arg for a in (*root.args.posonlyargs, *root.args.args)]
    parameters = [p for p in parameters if p not in {"self", "cls"}]
    for name in parameters:
        answers = dict.fromkeys((*_likely_returns(site), *_RETURNS[:6], name))
        for text in answers:
            yield _insert(site, body[0], (f"if not {name}:", f"{step}return {text}"), 0.22)
        for test in (
            f"{name} is None",
            f"{name} < 0",
            f"{name} <= 1",
            f"len({name}) <= 1",
            f"len({name}) < 2",
        ):
            for text in [*list(answers)[:4], name]:
                yield _insert(site, body[0], (f"if {test}:", f"{step}return {text}"), 0.06)
        for form in (
            f"abs({name})",
            f"{name}.lower()",
            f"{name}.strip()",
            f"list({name})",
            f"sorted({name})",
            f"{name}[:]",
            f"str({name})",
            f"{name}.replace(' ', '')",
            f"{name} or []",
        ):
            yield _insert(site, body[0], (f"{name} = {form}",), 0.08)
    for node in site.of(ast.For):
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Name)
            and _alone(site, node.body[0])
        ):
            for test in (f"not {node.target.id}", f"{node.target.id} is None"):
                yield _insert(site, node.body[0], (f"if {test}:", f"{step}continue"), 0.08)


def _likely_returns(site: Site) -> list[str]:
    """Short values that the unit returns elsewhere."""
    found: dict[str, None] = {}
    for node in site.of(ast.Return):
        if isinstance(node, ast.Return) and node.value is not None:
            text = site.text(node.value)
            if len(text) <= 12 and not re.search(r"[a-z]\w*\(", text):  # noqa: PLR2004  # short
                found.setdefault(text)
    return list(found)[:4]


def _fall_off(site: Site, root: FunctionNode) -> Iterator[Mutation]:
    """A function that ends without a return gets one."""
    last = root.body[-1]
    if isinstance(last, ast.Return | ast.Raise) or not any(site.of(ast.Return, ast.Yield)):
        values: Sequence[str] = site.names if not isinstance(last, ast.Return | ast.Raise) else ()
    else:
        values = (*site.names, *_RETURNS)
    _, end = _rows(site, [last])
    indent = site.source.indent_of(root.body[0].lineno)
    newline = newline_of(site.source)
    lead = "" if site.source.text[:end].endswith("\n") else newline
    for text in values:
        edit = TextEdit(start=end, end=end, text=f"{lead}{indent}return {text}{newline}")
        yield site.edit([edit], last, "return", 0.35)


def _defaults(site: Site, root: FunctionNode) -> Iterator[Mutation]:
    """A mutable default is shared by all calls; make it new in each."""
    positional = [*root.args.posonlyargs, *root.args.args]
    pairs = list(zip(positional[::-1], root.args.defaults[::-1], strict=False))
    body = [s for s in root.body if not _is_docstring(site, s)]
    if not body:
        return
    step, newline = _step(site, root), newline_of(site.source)
    for arg, default in pairs:
        if isinstance(default, ast.List | ast.Dict | ast.Set | ast.Call):
            text = site.text(default)
            start, _ = _rows(site, [body[0]])
            indent = site.source.indent_of(body[0].lineno)
            rows = (f"if {arg.arg} is None:", f"{step}{arg.arg} = {text}")
            guard = "".join(f"{indent}{row}{newline}" for row in rows)
            edits = [
                TextEdit(
                    start=site.source.start(default), end=site.source.end(default), text="None"
                ),
                TextEdit(start=start, end=start, text=guard),
            ]
            yield site.edit(edits, body[0], "default", 0.4)
