"""The exceptions that leave a function by its own `raise`."""

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.preflight.code import BLOCKS, Function
from surefoot.preflight.flow import last_name
from surefoot.syntax import written


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """One way out."""

    name: str
    """Of the exception's class, or the expression where no class can be read from it."""
    line: int


def raised_by(function: Function) -> tuple[Raised, ...]:
    """The public exceptions that a function's own statements raise and do not catch, in order, each name once.

    What the functions that it calls raise is not seen; private classes (`_Name`) are left out.
    """
    assigned = {
        target.id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    found: dict[str, Raised] = {}
    for node, names in _raises(function.body, (), assigned):
        for name in names:
            if not name.startswith("_"):
                found.setdefault(name, Raised(name=name, line=node.lineno))
    return tuple(found.values())


def _raises(
    body: list[ast.stmt],
    caught: tuple[ast.ExceptHandler, ...],
    assigned: dict[str, ast.Call],
) -> Iterator[tuple[ast.Raise, tuple[str, ...]]]:
    """Each `raise` with what it raises; `caught` are the handlers around it, the innermost first."""
    for statement in body:
        if isinstance(statement, ast.Raise):
            yield statement, _names(statement.exc, caught, assigned)
        elif isinstance(statement, ast.Try | ast.TryStar):
            yield from _tried(statement, caught, assigned)
        elif not isinstance(statement, BLOCKS):
            for inner in _bodies(statement):
                yield from _raises(inner, caught, assigned)


def _tried(
    statement: ast.Try | ast.TryStar,
    outside: tuple[ast.ExceptHandler, ...],
    assigned: dict[str, ast.Call],
) -> Iterator[tuple[ast.Raise, tuple[str, ...]]]:
    for node, names in _raises(statement.body, outside, assigned):
        leaving = tuple(n for n in names if not _is_caught(n, statement.handlers))
        if leaving:
            yield node, leaving
    for handler in statement.handlers:
        yield from _raises(handler.body, (handler, *outside), assigned)
    yield from _raises(statement.orelse, outside, assigned)
    yield from _raises(statement.finalbody, outside, assigned)


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse"):
        inner = getattr(statement, name, None)
        if inner:
            yield inner
    for case in getattr(statement, "cases", ()):
        yield case.body


def _names(
    raised: ast.expr | None,
    caught: tuple[ast.ExceptHandler, ...],
    assigned: dict[str, ast.Call],
) -> tuple[str, ...]:
    if raised is None:
        return _handled(caught[0]) if caught else ()
    if isinstance(raised, ast.Name):
        for handler in caught:
            if handler.name == raised.id:
                return _handled(handler)
        if raised.id in assigned:
            return (_class_name(assigned[raised.id]),)
        return (raised.id,)
    return (_class_name(raised),)


def _class_name(raised: ast.expr) -> str:
    made = raised.func if isinstance(raised, ast.Call) else raised
    return last_name(made) or written(made)


def _handled(handler: ast.ExceptHandler) -> tuple[str, ...]:
    kind = handler.type
    if kind is None:
        return ("BaseException",)
    return tuple(last_name(one) for one in (kind.elts if isinstance(kind, ast.Tuple) else [kind]))


def _is_caught(name: str, handlers: list[ast.ExceptHandler]) -> bool:
    return any(_is_kind(name, kind) for handler in handlers for kind in _handled(handler))


def _is_kind(name: str, kind: str) -> bool:
    """Whether an exception is of a kind, as far as names and Python's own classes tell."""
    if kind in {name, "BaseException"}:
        return True
    given, wanted = getattr(builtins, name, None), getattr(builtins, kind, None)
    if not isinstance(given, type):
        return kind == "Exception"
    return isinstance(wanted, type) and issubclass(given, wanted)
