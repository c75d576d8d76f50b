"""Mutations that let a caller say what a function decides by itself: a constant of its body becomes a parameter."""

import ast
from collections.abc import Iterator

from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.source import FunctionNode, TextEdit

_WEIGHT = 0.9
"""There are few of them, and none passes but where a call gives one argument more than the function takes."""


def parameter_mutations(site: Site) -> Iterator[Mutation]:
    """`def f(x): y = 2; …` becomes `def f(x, y=2): …`, so that calls without it give what they gave."""
    root = site.root
    if not isinstance(root, FunctionNode) or len(root.body) == 1:
        return
    place = _behind_the_last(site, root)
    if place is None:
        return
    for statement in root.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_constant(value):
                gone = _line_of(site, statement)
                if gone is not None:
                    text = f", {name}={site.text(value)}"
                    added = TextEdit(start=place, end=place, text=text)
                    yield site.edit([added, gone], statement, "parameter", _WEIGHT)
            case _:
                pass


def _is_constant(value: ast.expr) -> bool:
    """A default that all calls can share: no list, no dictionary, no set."""
    try:
        found: object = ast.literal_eval(value)
    except (ValueError, TypeError):
        return False
    return isinstance(found, str | bytes | int | float | complex | tuple | None)


def _behind_the_last(site: Site, root: ast.FunctionDef | ast.AsyncFunctionDef) -> int | None:
    """Where one more positional parameter goes; None where the list ends with something else, or is empty."""
    args = root.args
    if args.vararg or args.kwonlyargs or args.kwarg or not args.args:
        return None
    return max(
        site.source.end(args.args[-1]), *(site.source.end(node) for node in args.defaults[-1:]), 0
    )


def _line_of(site: Site, statement: ast.stmt) -> TextEdit | None:
    """A statement's lines, to be taken out; None where it shares them."""
    source = site.source
    start, end = source.start(statement), source.end(statement)
    first = source.text.rfind("\n", 0, start) + 1
    last = source.text.find("\n", end) + 1
    if not last or source.text[first:start].strip() or source.text[end : last - 1].strip():
        return None
    return TextEdit(start=first, end=last, text="")
