"""Conditions that no argument decides: somebody meant another name in what they are computed from."""

import ast
from collections import Counter
from collections.abc import Mapping
from typing import Final

from surefoot.execute.source import FunctionNode

_PURE: Final = frozenset(
    {
        "abs", "all", "any", "bool", "dict", "enumerate", "float", "int", "len", "list", "max", "min", "ord", "range",
        "reversed", "round", "set", "sorted", "str", "sum", "tuple", "zip",
    }
)  # fmt: skip
"""Functions that give the same for the same and change nothing."""
_COMPUTES: Final = (ast.Call, ast.Subscript, ast.ListComp, ast.SetComp, ast.GeneratorExp)


def settled(before: FunctionNode, after: FunctionNode) -> frozenset[str]:
    """Tests of `if`, `while` and conditional expressions of a changed function that constants alone decide, as text.

    A test of a plain constant is a switch, and meant, where it stood there before: `while True`, and a flag that is set a
    line above. One whose value is computed is not.
    """
    meant = {text for text, is_computed in _settled(before) if not is_computed}
    return frozenset(
        text for text, is_computed in _settled(after) if is_computed or text not in meant
    )


def _settled(function: FunctionNode) -> frozenset[tuple[str, bool]]:
    """Such tests, each with whether what they read is computed."""
    constants = _constants(function)
    return frozenset(
        (ast.unparse(node.test), _is_computed(node.test, constants))
        for node in ast.walk(function)
        if isinstance(node, ast.If | ast.While | ast.IfExp) and _is_settled(node.test, constants)
    )


def _constants(function: FunctionNode) -> Mapping[str, ast.expr]:
    """Names that are set once, by a statement that is always reached, and that nothing can change later, with their values."""
    sets = Counter(
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    )
    sets.update(n.arg for n in ast.walk(function) if isinstance(n, ast.arg))
    changing = _may_change(function)
    return {
        target.id: value
        for statement in function.body
        for target, value in _assigned(statement)
        if sets[target.id] == 1 and target.id not in changing
    }


def _assigned(statement: ast.stmt) -> list[tuple[ast.Name, ast.expr]]:
    match statement:
        case ast.Assign(targets=[ast.Name() as target], value=value):
            return [(target, value)]
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            return [(target, value)]
        case _:
            return []


def _may_change(function: FunctionNode) -> frozenset[str]:
    """Names whose value a method, an item that is set, a function that is not known, or another scope may change."""
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=name)):
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Call(func=asked, args=args, keywords=keywords) if not _is_pure(asked):
                given = [*args, *(k.value for k in keywords)]
                found.update(a.id for a in given if isinstance(a, ast.Name))
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(names)
            case _:
                pass
    return frozenset(found)


def _is_settled(value: ast.expr, constants: Mapping[str, ast.expr]) -> bool:
    """Whether an expression reads nothing but constants and what it binds itself."""
    own = {
        n.id for n in ast.walk(value) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    for node in ast.walk(value):
        match node:
            case ast.NamedExpr() | ast.Await() | ast.Yield() | ast.YieldFrom() | ast.Lambda():
                return False
            case ast.Call(func=ast.Name() as asked) if not _is_pure(asked):
                return False
            case ast.Name(id=name, ctx=ast.Load()) if name not in own | _PURE:
                # Names have values from earlier lines alone, so that this ends; one that names itself is no constant.
                rest = {n: v for n, v in constants.items() if n != name}
                if name not in constants or not _is_settled(constants[name], rest):
                    return False
            case _:
                pass
    return True


def _is_computed(value: ast.expr, constants: Mapping[str, ast.expr]) -> bool:
    """Whether a settled expression, or what a name in it stands for, calls or picks something."""
    if any(isinstance(n, _COMPUTES) for n in ast.walk(value)):
        return True
    named = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)} & set(constants)
    rest = {n: v for n, v in constants.items() if n not in named}
    return any(_is_computed(constants[name], rest) for name in named)


def _is_pure(asked: ast.expr) -> bool:
    return isinstance(asked, ast.Name) and asked.id in _PURE
