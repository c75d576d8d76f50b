"""Mutations that use again what a unit sets or takes and nowhere reads: in the place of an operand that got lost."""

import ast
from collections.abc import Iterator

from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.repair.unread import unread
from surefoot.execute.source import FunctionNode, TextEdit, last_name
from surefoot.syntax import expression_of

_CONDITIONS = {"or": 0.5, "and": 0.5}
_ASKED = {"and": 0.5, "and not": 0.3, "or": 0.2}
_NUMBERS = {"+": 0.3, "-": 0.2, "*": 0.2}
_SORTING = {"sorted", "min", "max", "sort"}
_SHORT = 60


def idle_mutations(site: Site) -> Iterator[Mutation]:
    """For a name `y` that nothing reads, `f(x)` becomes `f(x) or f(y)` and `f(x) and f(y)`, `x` becomes `x + y`.

    For an inner function `g` that nothing calls, `sorted(x)` becomes `sorted(x, key=g)`, `x` becomes `g(x)`, and the condition
    `x > y` becomes `x > y and g(x)`.
    """
    if not isinstance(site.root, FunctionNode):
        return
    inner = {n.name for n in site.of(ast.FunctionDef) if isinstance(n, ast.FunctionDef)}
    for idle in sorted(unread(site.root)):
        if idle in inner:
            yield from _uses(site, idle)
            continue
        known_from = _last_set(site, idle)
        for node in site.of(ast.Call, ast.Compare, ast.Name):
            if (
                not isinstance(node, ast.expr)
                or node.lineno <= known_from
                or _is_called(site, node)
            ):
                continue
            if isinstance(node, ast.Name):
                yield from _joined(site, node, idle)
            elif len(site.text(node)) <= _SHORT:
                yield from _twins(site, node, idle)


def _uses(site: Site, function: str) -> Iterator[Mutation]:
    """Places that may have lost an inner function: an order, and values that are read."""
    for node in site.nodes:
        match node:
            case ast.Call(func=asked, keywords=[]) if last_name(asked) in _SORTING:
                end = site.source.end(node) - 1
                more = f"{', ' * bool(node.args)}key={function}"
                yield site.edit([TextEdit(start=end, end=end, text=more)], node, "idle", 0.5)
            case (ast.Name() | ast.Subscript()) as read if _is_read(site, read):
                yield site.replace(read, f"{function}({site.text(read)})", "idle", 0.4)
            case ast.If(test=test) | ast.While(test=test) | ast.comprehension(ifs=[test]) if (
                _outside(site, node)
            ):
                yield from _asked(site, test, function)
            case ast.comprehension(ifs=[], target=ast.Name(id=each)) if _outside(site, node):
                end = site.source.end(node.iter)
                asks = TextEdit(start=end, end=end, text=f" if {function}({each})")
                yield site.edit([asks], node.iter, "idle", 0.5)
            case _:
                pass


def _is_read(site: Site, node: ast.Name | ast.Subscript) -> bool:
    return isinstance(node.ctx, ast.Load) and not _is_called(site, node) and _outside(site, node)


def _asked(site: Site, test: ast.expr, function: str) -> Iterator[Mutation]:
    """A condition that asks a function, too, of each thing that it looks at: a name, or an item or attribute of one."""
    text = site.text(test)
    kept = f"({text})" if isinstance(test, ast.BoolOp | ast.IfExp | ast.NamedExpr) else text
    things = (n for n in ast.walk(test) if isinstance(n, ast.Name | ast.Subscript | ast.Attribute))
    for thing in dict.fromkeys(site.text(n) for n in things if not _is_called(site, n)):
        for said, weight in _ASKED.items():
            yield site.replace(test, f"{kept} {said} {function}({thing})", "idle", weight)


def _outside(site: Site, node: ast.AST) -> bool:
    """Whether a node stands in no inner function."""
    here = site.parent(node)
    while here is not site.root and not isinstance(here, FunctionNode):
        here = site.parent(here)
    return here is site.root


def _last_set(site: Site, name: str) -> int:
    """The line from which on a name has its last value."""
    stores = (n for n in site.of(ast.Name) if isinstance(n, ast.Name) and n.id == name)
    return max((n.lineno for n in stores), default=0)


def _is_called(site: Site, node: ast.expr) -> bool:
    around = site.parent(node)
    return isinstance(around, ast.Call) and around.func is node


def _joined(site: Site, node: ast.Name, idle: str) -> Iterator[Mutation]:
    if isinstance(node.ctx, ast.Load):
        for symbol, weight in _NUMBERS.items():
            yield site.replace(node, f"{node.id} {symbol} {idle}", "idle", weight)


def _twins(site: Site, node: ast.expr, idle: str) -> Iterator[Mutation]:
    """A condition joined with itself as it reads with the name in the place of each of its own."""
    text = site.text(node)
    tree = expression_of(text) if text.isascii() and "\n" not in text else None
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)} if tree else set()
    for inner in ast.walk(tree) if tree else ():
        if isinstance(inner, ast.Name) and id(inner) not in called:
            twin = f"{text[: inner.col_offset]}{idle}{text[inner.end_col_offset :]}"
            for word, weight in _CONDITIONS.items():
                yield site.replace(node, f"{text} {word} {twin}", "idle", weight)
