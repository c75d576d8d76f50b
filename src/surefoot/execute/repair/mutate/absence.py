"""Mutations that tell `None` from what is merely empty: Python's truth takes `None`, `0`, `""` and `[]` alike."""

import ast
import re
from collections.abc import Iterator

from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.source import FunctionNode, TextEdit


def absence_mutations(site: Site) -> Iterator[Mutation]:
    """All mutations of this module."""
    optional = _optional(site.root) if isinstance(site.root, FunctionNode) else ()
    for node in site.nodes:
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield from _truths(site, test)
                yield from _excepted(site, test, optional)
            case ast.comprehension(ifs=tests):
                for test in tests:
                    yield from _truths(site, test)
            case ast.BoolOp(op=ast.Or(), values=[(ast.Name() | ast.Attribute()) as first, second]):
                yield from _fallback(site, node, first, second)
            case _:
                pass


def _truths(site: Site, test: ast.expr) -> Iterator[Mutation]:
    """`not x` becomes `x is None`, `x` becomes `x is not None`, wherever a condition asks for the truth of a name."""
    match test:
        case ast.BoolOp(values=values):
            for value in values:
                yield from _truths(site, value)
        case ast.UnaryOp(op=ast.Not(), operand=(ast.Name() | ast.Attribute()) as asked):
            yield _compared(site, test, f"{site.text(asked)} is None", 0.5)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            yield from _truths(site, inner)
        case ast.Name() | ast.Attribute():
            yield _compared(site, test, f"{site.text(test)} is not None", 0.4)
        case _:
            pass


def _compared(site: Site, node: ast.expr, text: str, weight: float) -> Mutation:
    """A comparison in a condition's place; it binds closer than all that stands around it there."""
    edit = TextEdit(start=site.source.start(node), end=site.source.end(node), text=text)
    return site.edit([edit], node, "absence", weight)


def _excepted(site: Site, test: ast.expr, optional: tuple[str, ...]) -> Iterator[Mutation]:
    """A condition on a parameter that may be left out no longer holds, or always holds, when it is."""
    text = site.text(test)
    joined = f"({text})" if isinstance(test, ast.BoolOp | ast.IfExp) else text
    for name in optional:
        if re.search(rf"\b{re.escape(name)}\b", text):
            yield site.replace(test, f"{name} is not None and {joined}", "absence", 0.4)
            yield site.replace(test, f"{name} is None or {joined}", "absence", 0.3)


def _fallback(
    site: Site, node: ast.BoolOp, first: ast.expr, second: ast.expr
) -> Iterator[Mutation]:
    """`x or y` becomes `y if x is None else x`."""
    told, other = site.text(first), site.text(second)
    yield site.replace(node, f"{other} if {told} is None else {told}", "absence", 0.25)


def _optional(root: FunctionNode) -> tuple[str, ...]:
    """Parameters that are `None` unless given."""
    positional = [*root.args.posonlyargs, *root.args.args]
    first = len(positional) - len(root.args.defaults)
    pairs = [
        *zip(positional[first:], root.args.defaults, strict=True),
        *zip(root.args.kwonlyargs, root.args.kw_defaults, strict=True),
    ]
    return tuple(a.arg for a, d in pairs if isinstance(d, ast.Constant) and d.value is None)
