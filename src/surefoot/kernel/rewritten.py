"""Which tests a change of test files rewrote, by id (SPEC B3).

A person's yes to a changed test file is a yes to the tests that read otherwise afterwards, not to all that stand beside
them. A test reads otherwise when its function does, its class outside of other tests, or whatever of the same file it
names: constants, helpers, fixtures, imports, what they name in turn, and what pytest calls for every test unasked. Files
that are not Python cannot be told apart in this way; there the whole file is what was looked at.
"""

import ast
import builtins
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Final, TypeAlias

from surefoot.syntax import decoded, dumped, tree_of, written
from surefoot.values import Diff, TreeId

Texts: TypeAlias = Mapping[str, tuple[str | None, str | None]]
"""Changed test files before and after; None where one is not there or not text."""

_UNASKED: Final = (
    "*",
    "pytestmark",
    "pytest_",
    "setup",
    "teardown",
    "setUp",
    "tearDown",
    "__test__",
    "load_tests",
)
"""How names begin that matter to every test of a module without being named; a star stands for names that nobody lists."""

_REACHES: Final = frozenset(
    {"globals", "locals", "vars", "setattr", "delattr", "exec", "eval", "compile", "__import__"}
)
"""Builtins by which an assignment may do something else than to assign."""

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Import: TypeAlias = ast.Import | ast.ImportFrom


def rewritten(collected: Collection[str], texts: Texts) -> frozenset[str]:
    """Those of `collected` that the change took away or made read otherwise."""
    found: set[str] = set()
    for path, (before, after) in texts.items():
        mine = [t for t in collected if t.partition("::")[0] == path]
        was, now = (_read(path, text) for text in (before, after))
        if was is None or now is None:
            found.update(mine)
        else:
            found.update(t for t in mine if was.sense(_names(t)) != now.sense(_names(t)))
    return frozenset(found)


def extended(texts: Texts) -> frozenset[str]:
    """Paths of test files to which a change only adds: all that stood there reads as before, and so does what is called unasked."""
    return frozenset(path for path, (before, after) in texts.items() if _adds(path, before, after))


def grown_in(
    diff: Diff,
    read: Callable[[TreeId, str], bytes | None],
    is_test_path: Callable[[str], bool],
) -> frozenset[str]:
    """Test files that a change brings or only adds to; `read` gives a file of a tree."""
    tests = [f for f in diff.files if is_test_path(f.path)]
    kept = [f.path for f in tests if f.status == "M"]
    texts = {p: both_of(diff, p, read) for p in kept}
    return extended(texts) | {f.path for f in tests if f.status == "A"}


def text_of(data: bytes | None) -> str | None:
    """A file's text, which can be written back as it is; None when it is not there or not UTF-8."""
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return None


def source_of(path: str, data: bytes | None) -> str | None:
    """A file's text as what runs it reads it, for whoever only looks; None when it is not there or not text.

    Python is read by the encoding that it declares. Of other languages all that matters is ASCII, which reads the same in
    nearly every encoding: what is not UTF-8 and has no null byte is taken for Latin-1.
    """
    if data is None:
        return None
    if path.endswith((".py", ".pyi")):
        return decoded(data)
    text = text_of(data)
    return data.decode("latin-1") if text is None and b"\0" not in data else text


def both_of(
    diff: Diff, path: str, read: Callable[[TreeId, str], bytes | None]
) -> tuple[str | None, str | None]:
    """A file's text before and after a change, as `source_of`; `read` gives a file of a tree."""
    return source_of(path, read(diff.before, path)), source_of(path, read(diff.after, path))


def _adds(path: str, before: str | None, after: str | None) -> bool:
    was, now = _read(path, before), _read(path, after)
    if was is None or now is None or was.called_unasked != now.called_unasked:
        return False
    if was.doing != now.doing:
        return False
    return all(was.sense(place) == now.sense(place) for place in was.places())


def _names(test_id: str) -> tuple[str, ...]:
    """Classes and function of a test, without its parameters."""
    return tuple(test_id.partition("[")[0].split("::")[1:])


def _read(path: str, text: str | None) -> "_File | None":
    if text is None or not path.endswith(".py"):
        return None
    tree = tree_of(text)
    return None if tree is None else _File.of(tree)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """A test file by the names that its statements bind."""

    bound: Mapping[str, tuple[ast.stmt, ...]]
    unasked: tuple[ast.stmt, ...]
    doing: tuple[str, ...]
    """The code that may do more than to define something when the file is read."""

    @classmethod
    def of(cls, tree: ast.Module) -> "_File":
        bound: dict[str, tuple[ast.stmt, ...]] = {}
        unasked: list[ast.stmt] = []
        for statement in tree.body:
            names = set(_bound(statement))
            for name in names:
                bound[name] = (*bound.get(name, ()), statement)
            unnamed = not names and not _says_nothing(statement)
            if unnamed or any(n.startswith(_UNASKED) for n in names) or _is_autouse(statement):
                unasked.append(statement)
        imported = {n for s in ast.walk(tree) if isinstance(s, _Import) for n in _bound(s)}
        doing = tuple(map(dumped, _doing(tree.body, imported)))
        return cls(bound=bound, unasked=tuple(unasked), doing=doing)

    @property
    def called_unasked(self) -> tuple[str, ...]:
        """The code that matters to every test without being named."""
        return tuple(dumped(statement) for statement in self.unasked)

    def places(self) -> Iterator[tuple[str, ...]]:
        """Where something is defined, each as the names that lead there; classes are gone into."""
        left: list[tuple[tuple[str, ...], ast.stmt]] = [
            ((name,), statement) for name, found in self.bound.items() for statement in found
        ]
        while left:
            names, statement = left.pop()
            inside = statement.body if isinstance(statement, ast.ClassDef) else []
            inner = [((*names, name), s) for s in inside for name in _bound(s)]
            if not inner:
                yield names
            left += inner

    def sense(self, names: tuple[str, ...]) -> frozenset[str]:
        """All code that says what a test does; empty when it is not there."""
        own = self._own(names)
        if not own:
            return frozenset()
        left: list[ast.AST] = [*own, *self.unasked]
        seen: set[str] = set()
        known: set[str] = {names[0]}
        while left:
            node = left.pop()
            seen.add(dumped(node))
            for name in set(_used(node)) - known:
                known.add(name)
                left += self.bound.get(name, ())
        return frozenset(seen)

    def _own(self, names: tuple[str, ...]) -> list[ast.AST]:
        """The test's function and the rest of its classes; of what is not written out here, what stands for it."""
        if not names:
            return []
        places: list[ast.stmt] = list(self.bound.get(names[0], ()))
        own: list[ast.AST] = []
        for name in names[1:]:
            inner = [s for c in places if isinstance(c, ast.ClassDef) for s in c.body]
            own += [_head(c) if isinstance(c, ast.ClassDef) else c for c in places]
            places = [s for s in inner if name in _bound(s)]
        return own + list(places)


def _head(node: ast.ClassDef) -> ast.ClassDef:
    """A class without its tests and the classes inside it."""
    head = copy(node)
    head.body = [s for s in node.body if not isinstance(s, ast.ClassDef) and not _is_test(s)]
    return head


def _doing(body: Sequence[ast.stmt], imported: Collection[str]) -> Iterator[ast.stmt]:
    """Statements that do more than to define, import and assign to plain names, in classes and conditions, too."""
    for statement in body:
        if isinstance(statement, ast.ClassDef):
            yield from _doing(statement.body, imported)
        elif isinstance(statement, ast.If) and not _is_calm(statement.test, imported):
            yield statement
        elif isinstance(statement, ast.If | ast.Try):
            handlers = statement.handlers if isinstance(statement, ast.Try) else []
            last = statement.finalbody if isinstance(statement, ast.Try) else []
            inner = [*statement.body, *(s for h in handlers for s in h.body), *statement.orelse]
            yield from _doing([*inner, *last], imported)
        elif not _defines(statement, imported):
            yield statement


def _defines(statement: ast.stmt, imported: Collection[str]) -> bool:
    if isinstance(statement, _Function | _Import) or _says_nothing(statement):
        return True
    if not isinstance(statement, ast.Assign | ast.AnnAssign):
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    names = all(isinstance(t, ast.Name) for t in targets)
    return names and _is_calm(statement, imported)


def _is_calm(node: ast.AST, imported: Collection[str]) -> bool:
    """Whether all that is called in it makes a value, and nothing is set on the way."""
    doing = (ast.Call, ast.Await, ast.NamedExpr)
    return all(_makes(n, imported) for n in ast.walk(node) if isinstance(n, doing))


def _makes(node: ast.AST, imported: Collection[str]) -> bool:
    """Whether a call makes a value: of a builtin, of something imported, of what a module has; as all of `pytest.mark` does."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func
    if isinstance(name, ast.Name):
        return name.id in imported or (hasattr(builtins, name.id) and name.id not in _REACHES)
    if written(name).startswith("pytest.mark."):
        return True
    module = name.value if isinstance(name, ast.Attribute) else None
    return isinstance(module, ast.Name) and module.id in imported


def _says_nothing(statement: ast.stmt) -> bool:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_text or isinstance(statement, ast.Pass)


def _is_test(statement: ast.stmt) -> bool:
    is_test = isinstance(statement, _Function) and statement.name.startswith("test")
    return is_test and not _is_autouse(statement)


def _is_autouse(statement: ast.stmt) -> bool:
    return isinstance(statement, _Function) and any(
        isinstance(node, ast.keyword) and node.arg == "autouse"
        for decorator in statement.decorator_list
        for node in ast.walk(decorator)
    )


def _bound(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement binds where it stands, or may bind for all when it is called."""
    if isinstance(statement, _Function | ast.ClassDef):
        yield statement.name
        for node in ast.walk(statement):
            if isinstance(node, ast.NamedExpr):
                yield node.target.id
            elif isinstance(node, ast.Global):
                yield from node.names
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            yield node.id
        elif isinstance(node, _Function | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _used(node: ast.AST) -> Iterator[str]:
    """Names that code uses; fixtures are parameters, or strings."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.arg):
            yield inner.arg
        elif isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value
