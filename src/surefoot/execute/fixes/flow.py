"""Fixes of exception handling, dead statements and unused names."""

import ast
from collections.abc import Iterator
from typing import Final

from surefoot.execute.fixes.rewrite import (
    Rewrite,
    around,
    blocks_of,
    bound,
    function_around,
    names,
    own_nodes,
    place,
    removal,
    stands_alone,
)
from surefoot.execute.source import Source, TextEdit
from surefoot.values import Finding

_TELLING: Final = (
    ast.Yield
    | ast.YieldFrom
    | ast.Await
    | ast.Global
    | ast.Nonlocal
    | ast.Import
    | ast.ImportFrom
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.ClassDef
)
"""What changes the meaning of a function by standing in it, whether it is reached or not."""


def bare_except(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """`except:` says which exceptions it means."""
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ExceptHandler) or node.type or node.lineno != finding.line:
            continue
        at = source.start(node) + len("except")
        for name, is_safe, prior, why in (
            ("BaseException", True, 0.6, "catches exactly what it caught"),
            ("Exception", False, 0.8, "lets an interrupt and an exit through"),
        ):
            yield Rewrite(
                name=f"except-{name}",
                edits=(TextEdit(start=at, end=at, text=f" {name}"),),
                is_safe=is_safe,
                prior=prior,
                description=f"bare except becomes `except {name}`, which {why}",
            )


def raise_from(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """A raise inside a handler says whether the caught exception is its cause."""
    at = place(source, finding)
    node = next(around(source, ast.Raise, at), None)
    handler = next(around(source, ast.ExceptHandler, at), None)
    if node is None or handler is None or node.exc is None or node.cause is not None:
        return
    end = source.end(node)
    name: str | None = handler.name
    naming: tuple[TextEdit, ...] = ()
    if name is None:
        name, naming = _name_for(source, handler)
    elif name in bound(handler.body):
        # What the name stands for at the raise is no longer the exception, or nothing.
        name = None
    if name is not None:
        yield Rewrite(
            name="raise-from-caught",
            edits=(*naming, TextEdit(start=end, end=end, text=f" from {name}")),
            is_safe=True,
            prior=0.8,
            description="the caught exception becomes the cause of the raised one",
        )
    yield Rewrite(
        name="raise-from-none",
        edits=(TextEdit(start=end, end=end, text=" from None"),),
        is_safe=False,
        prior=0.4,
        description="the caught exception is no longer shown",
    )


def _name_for(
    source: Source, handler: ast.ExceptHandler
) -> tuple[str | None, tuple[TextEdit, ...]]:
    """A name for the caught exception that nothing around uses, and the edit that gives it."""
    if handler.type is None:
        return None, ()
    used = names(function_around(source, source.start(handler)) or source.tree)
    name = next((n for n in ("error", "exc", "caught") if n not in used), None)
    colon = source.text.find(":", source.end(handler.type))
    between = source.text[source.end(handler.type) : colon]
    if name is None or colon < 0 or between.strip(" )"):
        return None, ()
    return name, (TextEdit(start=colon, end=colon, text=f" as {name}"),)


def unreachable(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """Statements behind a return, raise, break or continue go, when their mere presence means nothing."""
    for block in blocks_of(source):
        for number, node in enumerate(block[1:], start=1):
            if node.lineno != finding.line or not isinstance(
                block[number - 1], ast.Return | ast.Raise | ast.Break | ast.Continue
            ):
                continue
            dead, last = block[number:], block[-1]
            if not stands_alone(source, node) or not _means_nothing(source, dead):
                return
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            start, end = source.starts[first - 1], source.starts[last.end_lineno or last.lineno]
            yield Rewrite(
                name="remove-unreachable",
                edits=(TextEdit(start=start, end=end, text=""),),
                is_safe=True,
                prior=0.8,
                description=f"{len(dead)} statements that nothing reaches are removed",
            )
            return


def _means_nothing(source: Source, dead: list[ast.stmt]) -> bool:
    """Whether the function is the same without them: a yield makes a generator, an assignment a local name."""
    inside = list(own_nodes(dead))
    if any(isinstance(n, _TELLING) for n in inside):
        return False
    stored = {n.id for n in inside if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    function = function_around(source, source.start(dead[0]))
    if function is None:
        return not stored
    gone = {id(n) for n in inside}
    alive = [n for n in own_nodes(function.body) if isinstance(n, ast.Name) and id(n) not in gone]
    return not stored & {n.id for n in alive if isinstance(n.ctx, ast.Load)}


def unused_variable(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """An assignment that nothing reads goes; its value stays where computing it may do something."""
    at = place(source, finding)
    for block in blocks_of(source):
        for node in block:
            if not isinstance(node, ast.Assign) or not _assigns(source, node, at):
                continue
            target = node.targets[0]
            if not any(_acts(part) for part in ast.walk(node.value)):
                if stands_alone(source, node):
                    yield Rewrite(
                        name="remove-assignment",
                        edits=(removal(source, node, block),),
                        is_safe=True,
                        prior=0.8,
                        description="an assignment that nothing reads is removed",
                    )
                return
            start = source.start(target)
            yield Rewrite(
                name="keep-call",
                edits=(TextEdit(start=start, end=source.start(node.value), text=""),),
                is_safe=False,
                prior=0.7,
                description="the unread name goes, the call stays; its result is freed at once",
            )
            # Another variable of that name, here or in the module, would be overwritten or hidden.
            if f"_{source.segment(target)}" not in names(source.tree):
                yield Rewrite(
                    name="underscore",
                    edits=(TextEdit(start=start, end=start, text="_"),),
                    is_safe=True,
                    prior=0.5,
                    description="the unread name says that it is not read; its value lives as long as before",
                )
            return


def _assigns(source: Source, node: ast.Assign, at: int) -> bool:
    target = node.targets[0]
    # Parentheses around the value would be left open by `keep-call`.
    plain = source.text[source.end(target) : source.start(node.value)].strip() == "="
    return (
        len(node.targets) == 1
        and isinstance(target, ast.Name)
        and plain
        and source.start(target) == at
    )


def _acts(node: ast.AST) -> bool:
    """Whether evaluating the node may run code of somebody; operators are taken for what they look like."""
    return not isinstance(
        node,
        ast.Constant
        | ast.Name
        | ast.List
        | ast.Tuple
        | ast.Dict
        | ast.Set
        | ast.Lambda
        | ast.UnaryOp
        | ast.unaryop
        | ast.BoolOp
        | ast.boolop
        | ast.IfExp
        | ast.expr_context
        | ast.arguments
        | ast.arg,
    )
