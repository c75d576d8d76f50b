"""Tests that a change adds and that cannot fail: every assertion is true whatever the code does."""

import ast
from collections.abc import Iterator
from typing import TypeAlias

from surefoot.findings.gaming.told import Contents, Told, is_python
from surefoot.syntax import dumped, tree_of, written

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def trivial_tests(contents: Contents, test_paths: frozenset[str]) -> Iterator[Told]:
    """New tests without an assertion that could fail; one that only calls the code may still see it raise."""
    for path in sorted(p for p in contents if p in test_paths and is_python(p)):
        before, after = contents[path]
        known = {t.name for t in _tests(before)}
        for test in _tests(after):
            if test.name not in known and _is_trivial(test):
                told = f"{test.name}: passes whatever the code does"
                yield Told(rule="trivial-test", file=path, line=test.lineno, message=told)


def _tests(text: str | None) -> Iterator[_Function]:
    tree = tree_of(text) if text is not None else None
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test"
        ):
            yield node


def _is_trivial(test: _Function) -> bool:
    asserts = [n for n in ast.walk(test) if isinstance(n, ast.Assert)]
    if asserts:
        guarded = {id(n) for n in ast.walk(test) if _swallows(n) for n in ast.walk(n)}
        idle = all(_always_true(a.test) or id(a) in guarded for a in asserts)
        return idle and not _other_checks(test)
    return not any(
        isinstance(n, ast.Call | ast.Await | ast.Raise | ast.Attribute) for n in _inside(test)
    )


def _inside(test: _Function) -> Iterator[ast.AST]:
    return (n for statement in test.body for n in ast.walk(statement))


def _other_checks(test: _Function) -> bool:
    """Whether something beside `assert` can fail it: unittest's methods, `raises`, `fail`."""
    calls = [n for n in _inside(test) if isinstance(n, ast.Call)]
    names = [written(c.func).rpartition(".")[2].lower() for c in calls]
    return any(name.startswith(("assert", "raises", "warns", "fail", "expect")) for name in names)


def _swallows(node: ast.AST) -> bool:
    """A `try` that takes the failed assertion away."""
    return isinstance(node, ast.Try) and any(
        (h.type is None or written(h.type) in {"Exception", "BaseException", "AssertionError"})
        and not any(isinstance(n, ast.Raise) for s in h.body for n in ast.walk(s))
        for h in node.handlers
    )


def _always_true(test: ast.expr) -> bool:
    match test:
        case ast.BoolOp(op=op, values=values):
            decides = any if isinstance(op, ast.Or) else all
            return decides(map(_always_true, values))
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return not value
        case ast.Compare(
            left=left, ops=[ast.Eq() | ast.Is() | ast.LtE() | ast.GtE()], comparators=[right]
        ):
            return _still(left) and dumped(left) == dumped(right)
        case _:
            return _is_true(test)


def _is_true(value: ast.expr) -> bool:
    match value:
        case ast.Constant(value=constant):
            return bool(constant)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements)
        case _:
            return isinstance(value, ast.JoinedStr | ast.Lambda)


def _still(node: ast.expr) -> bool:
    """Whether evaluating it twice gives the same: `f() == f()` may be a test of `f`."""
    return not any(isinstance(n, ast.Call | ast.Await) for n in ast.walk(node))
