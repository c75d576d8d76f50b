"""Tests of the base that a change deletes, skips or weakens.

A test is kept when its decorators, its parameters and each of its statements are still there, in their order and at
their depth; statements may be added, as long as none of them can end the test early. That is stricter than a reading of
assertions would be: an input that is set to what the test expects weakens it without touching an `assert`.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from surefoot.findings.gaming.told import Contents, Told, is_python
from surefoot.syntax import dumped, tree_of, written

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_SKIPS: Final = frozenset(
    {
        "skip",
        "skipif",
        "skipIf",
        "skipUnless",
        "skipTest",
        "SkipTest",
        "xfail",
        "expectedFailure",
        "importorskip",
        "exit",
        "_exit",
    }
)
_ASSERTS: Final = ("assert", "raises", "warns", "fail", "expect", "should")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Module:
    tests: Mapping[str, "_Test"]
    support: Mapping[str, str]
    """Everything else, by what it defines."""
    skips: int
    """Outside tests: module marks, fixtures and hooks that skip."""
    rebound: frozenset[str]
    """Names that statements outside functions assign or delete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    node: _Function
    decorators: tuple[str, ...]
    """Its own and its classes', as source."""

    @property
    def dump(self) -> str:
        return "\n".join((*self.decorators, dumped(self.node.args), *_dumps(self.node.body)))


def weakened_tests(contents: Contents, test_paths: frozenset[str]) -> Iterator[Told]:
    """What happened to tests that the base had; `test_paths` says which of the changed files hold tests."""
    paths = sorted(path for path in contents if path in test_paths and is_python(path))
    after = {path: _module(contents[path][1]) for path in paths}
    moved = {
        (name, test.dump)
        for path in paths
        for name, test in _tests_of(after[path]).items()
        if name not in _tests_of(_module(contents[path][0]))
    }
    for path in paths:
        before = _module(contents[path][0])
        if before is not None:
            yield from _compare(path, before, after[path], moved)


def _tests_of(module: _Module | None) -> Mapping[str, _Test]:
    return module.tests if module else {}


def _compare(
    path: str, before: _Module, after: _Module | None, moved: set[tuple[str, str]]
) -> Iterator[Told]:
    for name, test in before.tests.items():
        kept = _tests_of(after).get(name)
        if kept is not None:
            difference = _difference(test, kept)
            if difference is not None:
                rule, what = difference
                yield Told(rule=rule, file=path, line=kept.node.lineno, message=f"{name}: {what}")
        elif (name, test.dump) not in moved:
            yield Told(rule="deleted-test", file=path, message=f"{name}: the test is gone")
    if after is not None:
        yield from _compare_rest(path, before, after)


def _compare_rest(path: str, before: _Module, after: _Module) -> Iterator[Told]:
    if after.skips > before.skips:
        yield Told(rule="skipped-test", file=path, message="a mark, fixture or hook skips tests")
    heads = {name.partition(".")[0] for name in before.tests} | {"__test__", "collect_ignore"}
    for name in sorted((after.rebound - before.rebound) & heads):
        yield Told(rule="skipped-test", file=path, message=f"{name} is assigned or deleted")
    for name, text in before.support.items():
        now = after.support.get(name)
        # An import that went away breaks the tests that used it; one from elsewhere does not.
        if now != text and not (now is None and name.startswith("import ")):
            yield Told(
                rule="test-support-changed",
                file=path,
                message=f"{name}, which tests rest on, changed",
            )


def _difference(before: _Test, after: _Test) -> tuple[str, str] | None:
    """(rule, what) that tells best how the test was weakened; None when it is kept."""
    if _skips(after) > _skips(before):
        return "skipped-test", "a skip was added"
    lost = set(_cases(before)) - set(_cases(after))
    if lost:
        return "removed-test-cases", f"{len(lost)} cases are gone"
    if _ends(after.node) > _ends(before.node):
        return "skipped-test", "a way to end early was added"
    if not _contains(_assertions(after.node.body), _assertions(before.node.body)):
        return "weakened-test", "an assertion is gone, changed or guarded"
    changed = _other(before, after)
    return ("changed-test", changed) if changed else None


def _other(before: _Test, after: _Test) -> str:
    if before.decorators != after.decorators and not _only_more_cases(before, after):
        return "its decorators changed"
    if dumped(before.node.args) != dumped(after.node.args):
        return "its parameters changed"
    if not _contains(_dumps(after.node.body), _dumps(before.node.body)):
        return "its steps changed"
    return ""


def _only_more_cases(before: _Test, after: _Test) -> bool:
    """Whether the decorators differ in nothing but added parametrised cases; lost ones were told before."""
    return _without_cases(before) == _without_cases(after)


def _without_cases(test: _Test) -> list[str]:
    return [
        text.partition("(")[0] + (repr(dumped(names)) if (names := _first_argument(text)) else "")
        if "parametrize" in text
        else text
        for text in test.decorators
    ]


def _first_argument(decorator: str) -> ast.expr | None:
    tree = tree_of(decorator)
    statement = tree.body[0] if tree and tree.body else None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return next(iter(statement.value.args), None)
    return None


def _dumps(body: Sequence[ast.stmt]) -> tuple[str, ...]:
    return tuple(dumped(statement) for statement in _without_docstring(body))


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    first = body[0] if body else None
    is_text = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body


def _contains(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    """Whether `shorter` is in `longer`, in its order."""
    rest = iter(longer)
    return all(item in rest for item in shorter)


def _skips(test: _Test) -> int:
    inside = sum(_is_skip(node) for node in ast.walk(test.node))
    above = sum(
        _is_skip(node)
        for text in test.decorators
        for node in ast.walk(tree_of(text) or ast.Module(body=[], type_ignores=[]))
    )
    return inside + above


def _is_skip(node: ast.AST) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr in _SKIPS) or (
        isinstance(node, ast.Name) and node.id in _SKIPS
    )


def _cases(test: _Test) -> Iterator[str]:
    """Elements of the lists that the test is parametrised with."""
    for text in test.decorators:
        tree = tree_of(text)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Call) and written(node.func).endswith("parametrize"):
                for argument in [*node.args, *(k.value for k in node.keywords)]:
                    if isinstance(argument, ast.List | ast.Tuple | ast.Set):
                        yield from (dumped(element) for element in argument.elts)


def _ends(function: _Function) -> int:
    return sum(isinstance(n, ast.Return | ast.Raise) for n in _own_nodes(function.body))


def _own_nodes(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes that run when the function does, without those of functions inside it."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))


def _assertions(body: Sequence[ast.stmt], guard: str = "") -> tuple[str, ...]:
    """Assertions in order, each with what stands around it."""
    found: list[str] = []
    for statement in body:
        if isinstance(statement, ast.Assert):
            found.append(f"{guard}{dumped(statement.test)}")
        elif isinstance(statement, ast.Expr) and _is_assertion(statement.value):
            found.append(f"{guard}{dumped(statement.value)}")
        else:
            found += _nested(statement, guard)
    return tuple(found)


def _nested(statement: ast.stmt, guard: str) -> Iterator[str]:
    head = f"{guard}{_head(statement)}/"
    if isinstance(statement, ast.With | ast.AsyncWith):
        yield from (
            f"{guard}{dumped(item.context_expr)}"
            for item in statement.items
            if _is_assertion(item.context_expr)
        )
    for name in ("body", "orelse", "finalbody"):
        inner = getattr(statement, name, None)
        if isinstance(inner, list):
            yield from _assertions(inner, f"{head}{name}/")
    for handler in getattr(statement, "handlers", ()):
        yield from _assertions(handler.body, f"{head}except/")


def _head(statement: ast.stmt) -> str:
    """What decides whether the statements inside run."""
    match statement:
        case ast.If(test=test) | ast.While(test=test):
            return f"if {dumped(test)}"
        case ast.For(iter=source) | ast.AsyncFor(iter=source):
            return f"for {dumped(source)}"
        case ast.With(items=items) | ast.AsyncWith(items=items):
            return f"with {[dumped(i) for i in items]}"
        case ast.Try(handlers=handlers):
            return f"try {[dumped(h) for h in handlers]}"
        case _:
            return type(statement).__name__


def _is_assertion(value: ast.expr) -> bool:
    if isinstance(value, ast.Await):
        value = value.value
    if not isinstance(value, ast.Call):
        return False
    name = written(value.func).rpartition(".")[2].lower()
    return name.startswith(_ASSERTS)


def _module(text: str | None) -> _Module | None:
    tree = tree_of(text) if text is not None else None
    if tree is None:
        return None
    tests: dict[str, _Test] = {}
    support: dict[str, str] = {}
    _collect(tree.body, ("", ()), tests, support)
    inside = sum(_is_skip(node) for test in tests.values() for node in ast.walk(test.node))
    return _Module(
        tests=tests,
        support=support,
        skips=sum(_is_skip(node) for node in ast.walk(tree)) - inside,
        rebound=frozenset(_rebound(tree.body)),
    )


def _collect(
    body: Sequence[ast.stmt],
    above: tuple[str, tuple[str, ...]],
    tests: dict[str, _Test],
    support: dict[str, str],
) -> None:
    """Sort what a body defines into tests and the rest; `above` is the classes' names and decorators."""
    prefix, decorators = above
    for statement in _without_docstring(body):
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{statement.name}"
            if statement.name.startswith("test"):
                own = tuple(written(d) for d in statement.decorator_list)
                tests[name] = _Test(node=statement, decorators=(*decorators, *own))
            else:
                support[f"{name}()"] = dumped(statement)
        elif isinstance(statement, ast.ClassDef):
            own = tuple(written(node) for node in (*statement.decorator_list, *statement.bases))
            inner = (f"{prefix}{statement.name}.", (*decorators, *own))
            _collect(statement.body, inner, tests, support)
        else:
            support.update((f"{prefix}{key}", value) for key, value in _statement(statement))


def _statement(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    """A statement outside functions as (name, content); one that binds nothing is named by its text."""
    match statement:
        case ast.Import(names=names):
            yield from ((f"import {alias.asname or alias.name}", alias.name) for alias in names)
        case ast.ImportFrom(module=module, names=names, level=level):
            for alias in names:
                source = f"{'.' * level}{module or ''}:{alias.name}"
                yield f"import {alias.asname or alias.name}", source
        case ast.Assign(targets=targets):
            for target in targets:
                yield written(target), dumped(statement.value)
        case ast.AnnAssign(target=target, value=value):
            yield written(target), dumped(value) if value else ""
        case ast.Pass():
            return
        case _:
            yield f"`{written(statement)[:60]}`", dumped(statement)


def _rebound(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        for node in () if _defines(statement) else ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
                yield node.id


def _defines(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
