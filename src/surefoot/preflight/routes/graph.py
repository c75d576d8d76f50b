"""Applications and routers as a graph: what each serves itself, and what it includes under which prefix."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from surefoot.preflight.code import FUNCTIONS
from surefoot.preflight.flow import At

ANY: Final = frozenset({"*"})
"""Every method."""
DEEPEST: Final = 12
"""Includes inside includes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One path that the program serves."""

    methods: frozenset[str]
    """Upper case; `WEBSOCKET`; `ANY`."""
    path: str
    """With a leading slash, parameters as the framework writes them; `{**}` is whatever follows."""
    framework: str
    file: str
    line: int
    """Where it is declared."""

    @property
    def told(self) -> str:
        """`GET /path`."""
        methods = "" if self.methods == ANY else ",".join(sorted(self.methods)) + " "
        return f"{methods}{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Something that is there and cannot be read without running it."""

    file: str
    line: int
    what: str

    @property
    def told(self) -> str:
        """`file:line: what`."""
        return f"{self.file}:{self.line}: {self.what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    """A route of a node, before the prefixes of whatever includes the node."""

    path: str | None
    """None when it is computed."""
    methods: frozenset[str]
    at: At


@dataclass(frozen=True, slots=True, kw_only=True)
class Sub:
    """A node included in another."""

    prefix: str | None
    node: At | None
    """None is an application that is not read: it serves whatever follows the prefix."""
    at: At
    instead: bool = False
    """The prefix replaces the node's own one (Flask) rather than standing before it."""


Piece: TypeAlias = Leaf | Sub


@dataclass(slots=True)
class Graph:
    """What was found; filled by one reader a framework."""

    framework: dict[At, str] = field(default_factory=dict)
    apps: set[At] = field(default_factory=set)
    """Nodes that a server can be given."""
    own_prefix: dict[At, str | None] = field(default_factory=dict)
    pieces: defaultdict[At, list[Piece]] = field(default_factory=lambda: defaultdict(list))
    unread: list[Unread] = field(default_factory=list)

    def add(self, node: At, framework: str, *, is_app: bool, prefix: str | None = "") -> None:
        """Note a node; `prefix` stands before all that it serves, None when it is computed."""
        self.framework[node] = framework
        self.own_prefix[node] = prefix
        if is_app:
            self.apps.add(node)

    def cannot_read(self, at: At, what: str) -> None:
        """Note something that only running the program would tell."""
        note = Unread(file=at.scope.file, line=line_of(at.node), what=what)
        if note not in self.unread:
            self.unread.append(note)

    def mounted(self) -> tuple[Route, ...]:
        """What the applications serve that no other one includes."""
        inner = {p.node for ps in self.pieces.values() for p in ps if isinstance(p, Sub) and p.node}
        roots = [n for n in self.framework if n in self.apps and n not in inner]
        return _unique(route for root in roots for route in self._served(root, "", 0))

    def unmounted(self) -> tuple[Route, ...]:
        """What routers declare that no application reaches, below their own prefixes only."""
        reached = {(r.file, r.line) for r in self.mounted()}
        every = _unique(route for node in self.framework for route in self._served(node, "", 0))
        return tuple(route for route in every if (route.file, route.line) not in reached)

    def _served(self, node: At, before: str, depth: int) -> Iterator[Route]:
        """What a node serves below its own prefix."""
        yield from self._below(node, before, self.own_prefix[node], depth)

    def _below(self, node: At, before: str, prefix: str | None, depth: int) -> Iterator[Route]:
        if prefix is None:
            self.cannot_read(node, "the prefix is computed; a constant could be read")
            return
        base = before + prefix
        for piece in self.pieces[node]:
            if isinstance(piece, Sub):
                if depth < DEEPEST:
                    yield from self._included(piece, base, self.framework[node], depth)
            elif piece.path is None:
                self.cannot_read(piece.at, "the path is computed; a constant could be read")
            else:
                yield _route(base, piece.path, piece, self.framework[node])

    def _included(self, piece: Sub, base: str, framework: str, depth: int) -> Iterator[Route]:
        if piece.instead and piece.node is not None:
            own = self.own_prefix[piece.node] if piece.prefix is None else piece.prefix
            yield from self._below(piece.node, base, own, depth + 1)
        elif piece.prefix is None:
            self.cannot_read(piece.at, "the prefix is computed; a constant could be read")
        elif piece.node is None:
            leaf = Leaf(path="/{**}", methods=ANY, at=piece.at)
            yield _route(base + piece.prefix, "/{**}", leaf, framework)
        else:
            before = base.rstrip("/") if piece.prefix.startswith("/") else base
            yield from self._served(piece.node, before + piece.prefix, depth + 1)


def _route(base: str, path: str, leaf: Leaf, framework: str) -> Route:
    joined = base.rstrip("/") + "/" + path.lstrip("/") if path else base
    return Route(
        methods=leaf.methods,
        path="/" + joined.lstrip("/"),
        framework=framework,
        file=leaf.at.scope.file,
        line=line_of(leaf.at.node),
    )


def _unique(routes: Iterator[Route]) -> tuple[Route, ...]:
    """Each once, the same path at the same place with its methods together."""
    found: dict[tuple[str, str, int], Route] = {}
    for route in routes:
        key = (route.path, route.file, route.line)
        known = found.get(key)
        methods = route.methods | known.methods if known else route.methods
        found[key] = replace(route, methods=ANY if methods & ANY else methods)
    return tuple(sorted(found.values(), key=lambda r: (r.path, sorted(r.methods), r.file, r.line)))


def defined_methods(classes: Iterable[At], known: Collection[str]) -> frozenset[str]:
    """The methods of HTTP that some classes have a function for, in upper case."""
    bodies = [at.node.body for at in classes if isinstance(at.node, ast.ClassDef)]
    functions = [f for body in bodies for f in body if isinstance(f, FUNCTIONS)]
    return frozenset(f.name.upper() for f in functions if f.name in known)


def may_be_path(node: ast.expr | None) -> bool:
    """Whether an argument can be a path: `values.get("key")` is far more frequent than `app.get("/path")`."""
    text = node.value if isinstance(node, ast.Constant) else "/"
    return node is not None and isinstance(text, str) and text[:1] in {"", "/"}


def line_of(node: ast.AST) -> int:
    """1-based line of a node; a module begins at 1."""
    return int(getattr(node, "lineno", 1))
