"""Mutations that use again what a unit sets or takes and nowhere reads: in the place of an operand that got lost."""

import ast
from collections.abc import Iterator

from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.repair.unread import unread
from surefoot.execute.source import FunctionNode, expression_of

_CONDITIONS = {"or": 0.5, "and": 0.5}
_NUMBERS = {"+": 0.3, "-": 0.2, "*": 0.2}
_SHORT = 60


def idle_mutations(site: Site) -> Iterator[Mutation]:
    """For a name `y` that nothing reads, `f(x)` becomes `f(x) or f(y)` and `f(x) and f(y)`, `x` becomes `x + y`."""
    if not isinstance(site.root, FunctionNode):
        return
    for idle in sorted(unread(site.root)):
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
