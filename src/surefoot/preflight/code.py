"""A project's Python sources: parsed when asked for, with their scopes, and where a module's file is."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple, TypeAlias

from surefoot.syntax import tree_of

MOST_BYTES: Final = 2_000_000
"""A larger file is data, or generated."""

_WORD: Final = re.compile(r"\w+")

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definition: TypeAlias = Function | ast.ClassDef
Block: TypeAlias = ast.Module | Definition
BLOCKS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Imported(NamedTuple):
    """A name that an import binds."""

    module: str
    """Absolute dotted name."""
    name: str | None
    """What is taken from the module; None is the module itself."""


class Parameter(NamedTuple):
    """A name that a call binds."""

    function: Function
    name: str


class Element(NamedTuple):
    """A name that a loop binds to each element of an expression."""

    of: ast.expr


class Untold(NamedTuple):
    """A name that stands for what is not followed, e.g. a part of a value, or what a lambda is given."""

    by: ast.AST
    """What binds it."""


Bound: TypeAlias = ast.expr | Definition | Imported | Parameter | Element | Untold


class Seen(NamedTuple):
    """Something bound, and the scope in which it is to be read."""

    what: Bound
    scope: "Scope"


class Scope:
    """A module, class or function with the names that its own statements bind; or a comprehension or lambda in one."""

    def __init__(self, file: str, node: Block, parent: "Scope | None") -> None:
        self.file = file
        self.node = node
        """Of a comprehension or lambda that of the scope around it."""
        self.parent = parent
        self.names: defaultdict[str, list[Seen]] = defaultdict(list)
        self.grown: defaultdict[str, list[tuple[ast.expr, bool]]] = defaultdict(list)
        """What is added to a list: an expression, and whether it is itself a list."""

    def bind(self, name: str, what: Bound, scope: "Scope | None" = None) -> None:
        """Note one more thing that a name stands for; `scope` is where it is to be read, this one if left out."""
        self.names[name].append(Seen(what, scope or self))

    def lookup(self, name: str) -> tuple["Scope", list[Seen]] | None:
        """The scope that binds a name as seen from here, by Python's rules, and what it binds it to."""
        scope: Scope | None = self
        while scope is not None:
            visible = scope is self or not isinstance(scope.node, ast.ClassDef)
            if visible and name in scope.names:
                return scope, scope.names[name]
            scope = scope.parent
        return None

    @property
    def block(self) -> "Scope":
        """The module, class or function itself, of a comprehension or lambda the one around it."""
        scope = self
        while scope.parent is not None and scope.parent.node is scope.node:
            scope = scope.parent
        return scope

    @property
    def owner(self) -> "Scope | None":
        """The class whose method this is."""
        parent = self.block.parent
        return parent if parent is not None and isinstance(parent.node, ast.ClassDef) else None


class Source:
    """One parsed file."""

    def __init__(self, file: str, tree: ast.Module) -> None:
        self.file = file
        self.tree = tree
        self.scopes: dict[Block, Scope] = {}
        self.calls: list[tuple[ast.Call, Scope]] = []
        self.decorated: list[tuple[Definition, Scope]] = []
        """Definitions with decorators, with the scope around them."""
        self.imported: set[str] = set()
        """First names of the modules that it imports."""
        _Reader(self).read()

    @property
    def scope(self) -> Scope:
        """The module's own scope."""
        return self.scopes[self.tree]


class Code:
    """The sources below `root`; `files` are those in which definitions are looked for, e.g. without the tests."""

    def __init__(self, root: Path, files: Sequence[str]) -> None:
        self.root = root
        self.files = tuple(sorted(f for f in files if f.endswith(".py")))
        self._known = frozenset(self.files)
        self._texts: dict[str, str | None] = {}
        self._words: dict[str, frozenset[str]] = {}
        self._sources: dict[str, Source | None] = {}
        self._modules = self._index()

    def text(self, file: str) -> str | None:
        """A file's text; None when it is no readable UTF-8 text file inside the root."""
        if file not in self._texts:
            self._texts[file] = self._read(file)
        return self._texts[file]

    def source(self, file: str) -> Source | None:
        """A parsed file; None when it cannot be read or is not Python that this interpreter reads."""
        if file not in self._sources:
            text = self.text(file)
            tree = None if text is None else tree_of(text)
            self._sources[file] = None if tree is None else Source(file, tree)
        return self._sources[file]

    def mentioning(self, words: Iterable[str]) -> Iterator[Source]:
        """The files whose text holds one of some words, parsed."""
        wanted = frozenset(words)
        for file in self.files:
            source = None if wanted.isdisjoint(self._words_of(file)) else self.source(file)
            if source is not None:
                yield source

    def matching(self, pattern: str) -> Iterator[Source]:
        """The files in whose text a regular expression is found, parsed."""
        sought = re.compile(pattern)
        for file in self.files:
            source = self.source(file) if sought.search(self.text(file) or "") else None
            if source is not None:
                yield source

    def imports(self, package: str) -> bool:
        """Whether any file imports a package from outside the project."""
        return self.module_file(package) is None and any(
            package in source.imported for source in self.mentioning([package])
        )

    def _words_of(self, file: str) -> frozenset[str]:
        if file not in self._words:
            self._words[file] = frozenset(_WORD.findall(self.text(file) or ""))
        return self._words[file]

    def unparsed(self) -> tuple[str, ...]:
        """Files that were needed and could not be read or parsed."""
        without_text = {f for f in self.files if self._texts.get(f, "") is None}
        return tuple(sorted(without_text | {f for f, s in self._sources.items() if s is None}))

    def module_file(self, module: str, importer: str = "") -> str | None:
        """The file of a module by its absolute name; of several, the nearest to the file that imports it."""
        found = self._modules.get(module, ())
        here = PurePosixPath(importer).parts

        def shared(file: str) -> int:
            pairs = zip(here, PurePosixPath(file).parts, strict=False)
            return next((n for n, (a, b) in enumerate(pairs) if a != b), len(here))

        return max(found, key=lambda f: (shared(f), -len(f), f), default=None)

    def module_of(self, file: str) -> str:
        """A file's longest importable name."""
        return ".".join(_dotted(file)[self._first(file) :])

    def _first(self, file: str) -> int:
        """How many leading folders are no packages of the file's own package."""
        parts = PurePosixPath(file).parts[:-1]
        first = len(parts)
        while first and "/".join((*parts[:first], "__init__.py")) in self._known:
            first -= 1
        return first

    def _index(self) -> dict[str, tuple[str, ...]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for file in self.files:
            dotted = _dotted(file)
            # A package is imported by its whole name; folders above it may or may not be on the path.
            for start in range(min(self._first(file), len(dotted) - 1) + 1):
                found[".".join(dotted[start:])].append(file)
        return {name: tuple(files) for name, files in found.items()}

    def _read(self, file: str) -> str | None:
        path = self.root / file
        try:
            inside = path.resolve().is_relative_to(self.root.resolve())
            if not inside or not path.is_file() or path.stat().st_size > MOST_BYTES:
                return None
            return path.read_text("utf-8")
        except (OSError, UnicodeDecodeError, ValueError):
            return None


def _dotted(file: str) -> tuple[str, ...]:
    parts = PurePosixPath(file).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


class _Reader:
    """Walks a file once and notes its scopes, calls and decorated definitions."""

    def __init__(self, source: Source) -> None:
        self._source = source
        is_package = PurePosixPath(source.file).name == "__init__.py"
        self._package = _dotted(source.file) if is_package else _dotted(source.file)[:-1]

    def read(self) -> None:
        """Fill the source, in the order in which it is written.

        What is left to visit is kept in a list: sums and chains of `elif` are nested deeper than functions can be.
        """
        tree = self._source.tree
        scope = self._source.scopes[tree] = Scope(self._source.file, tree, None)
        left: list[tuple[ast.AST, Scope]] = [(s, scope) for s in reversed(tree.body)]
        while left:
            left += reversed([*self._visit(*left.pop())])

    def _visit(self, node: ast.AST, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
        """Note a node; what is within it, with the scopes."""
        if isinstance(node, BLOCKS):
            return self._define(node, scope)
        if isinstance(node, (*_COMPREHENSIONS, ast.Lambda)):
            return self._enclose(node, scope)
        if isinstance(node, ast.Call):
            self._source.calls.append((node, scope))
            _grow(node, scope)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            self._import(node, scope)
        else:
            _bind(node, scope)
        return ((child, scope) for child in ast.iter_child_nodes(node))

    def _define(self, node: Definition, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
        scope.bind(node.name, node)
        if node.decorator_list:
            self._source.decorated.append((node, scope))
        inner = self._source.scopes[node] = Scope(self._source.file, node, scope)
        if isinstance(node, FUNCTIONS):
            for argument in parameters(node.args):
                inner.bind(argument.arg, Parameter(node, argument.arg))
            outside: list[ast.AST] = [*node.decorator_list, node.args]
        else:
            outside = [*node.decorator_list, *node.bases, *node.keywords]
        yield from ((part, scope) for part in outside)
        yield from ((statement, inner) for statement in node.body)

    def _enclose(self, node: ast.expr, scope: Scope) -> Iterator[tuple[ast.AST, Scope]]:
        """A comprehension or lambda: what it binds is seen in it alone, but for the first iterable and the defaults."""
        inner = Scope(self._source.file, scope.node, scope)
        parts: list[ast.AST] = []
        outside: ast.AST | None = None
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.arguments):
                for argument in parameters(child):
                    inner.bind(argument.arg, Untold(child))
                outside = child
            elif isinstance(child, ast.comprehension):
                _bind_target(child.target, Untold(child), inner)
                outside = outside or child.iter
                parts += ast.iter_child_nodes(child)
                continue
            parts.append(child)
        return ((part, scope if part is outside else inner) for part in parts)

    def _import(self, node: ast.Import | ast.ImportFrom, scope: Scope) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                whole = alias.name if alias.asname else top
                self._source.imported.add(top)
                scope.bind(alias.asname or whole, Imported(whole, None))
            return
        module = node.module or ""
        if node.level:
            above = self._package[: len(self._package) - (node.level - 1)]
            module = ".".join([*above, *([module] if module else [])])
        self._source.imported.add(module.partition(".")[0])
        for alias in node.names:
            scope.bind(alias.asname or alias.name, Imported(module, alias.name))


def parameters(a: ast.arguments) -> list[ast.arg]:
    """All parameters in the order of the signature."""
    starred = [x for x in (a.vararg,) if x], [x for x in (a.kwarg,) if x]
    return [*a.posonlyargs, *a.args, *starred[0], *a.kwonlyargs, *starred[1]]


def _bind(node: ast.AST, scope: Scope) -> None:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            _bind_target(target, node.value, scope)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        _bind_target(node.target, node.value, scope)
    elif isinstance(node, ast.NamedExpr):
        scope.block.bind(node.target.id, node.value, scope)
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        scope.grown[node.target.id].append((node.value, True))
    elif isinstance(node, ast.For | ast.AsyncFor):
        is_name = isinstance(node.target, ast.Name)
        _bind_target(node.target, Element(node.iter) if is_name else Untold(node), scope)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        _bind_target(node.optional_vars, node.context_expr, scope)
    else:
        name = _caught(node)
        if name is not None:
            scope.bind(name, Untold(node))


def _caught(node: ast.AST) -> str | None:
    """The name under which an error is caught, or a part of a pattern."""
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return node.name
    return node.rest if isinstance(node, ast.MatchMapping) else None


def _bind_target(target: ast.expr, value: Bound, scope: Scope) -> None:
    if isinstance(target, ast.Name):
        scope.bind(target.id, value)
    elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        owner = scope.owner
        if owner is not None and target.value.id == "self":
            # A method's `self.x = …` is seen from every method: kept in the class, with the method it was written in.
            owner.bind(f"self.{target.attr}", value, scope)
    elif isinstance(target, ast.Starred):
        _bind_target(target.value, Untold(target), scope)
    elif isinstance(target, ast.Tuple | ast.List):
        for one, part in zip(target.elts, _parts(target, value), strict=True):
            _bind_target(one, part, scope)


def _parts(target: ast.Tuple | ast.List, value: Bound) -> Sequence[Bound]:
    """What each target of an unpacking is bound to, as far as the value is written out."""
    written = value.elts if isinstance(value, ast.Tuple | ast.List) else []
    is_starred = any(isinstance(e, ast.Starred) for e in (*target.elts, *written))
    if is_starred or len(written) != len(target.elts):
        return [Untold(target)] * len(target.elts)
    return written


def _grow(call: ast.Call, scope: Scope) -> None:
    function = call.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return
    if function.attr in {"append", "extend"} and len(call.args) == 1:
        scope.block.grown[function.value.id].append((call.args[0], function.attr == "extend"))
