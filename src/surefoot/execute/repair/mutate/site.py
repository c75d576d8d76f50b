"""What the mutation operators work on: one unit of a file, its names, and edits that fit their place."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from surefoot.execute.source import (
    CodeUnit,
    FunctionNode,
    Placed,
    Source,
    TextEdit,
    blocks,
    node_of,
    unit_nodes,
)
from surefoot.syntax import docstring_node

_ATOM = re.compile(r"[\w.]+|[\w.]*\([^()]*\)|[\w.]*\[[^\[\]]*\]|'[^']*'|\"[^\"]*\"")
_BINDS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.Compare,
    ast.BoolOp,
    ast.Attribute,
    ast.Starred,
    ast.Await,
    ast.IfExp,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One small change of a unit, as edits of its file."""

    edits: tuple[TextEdit, ...]
    operator: str
    """The family, e.g. `compare`, `offset`, `name`."""
    line: int
    """1-based line of the file that it changes first; of an import, the one that reads what it binds."""
    weight: float
    """How plausible a bug is that this undoes, 0..1, wherever it stands."""
    note: str
    """What becomes what, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A unit (or the statements of a module outside its functions) ready to be mutated."""

    source: Source
    unit: CodeUnit | None
    """None for the module's own statements."""
    root: FunctionNode | ast.Module
    parents: Mapping[int, ast.AST] = field(repr=False)
    nodes: tuple[ast.AST, ...] = field(repr=False)
    """All nodes of the unit in order of place, docstrings left out."""
    names: tuple[str, ...]
    """Variables that the unit can read: parameters, locals, then the module's own."""
    attributes: tuple[str, ...]
    """Names used as `self.name` in the class."""

    def parent(self, node: ast.AST) -> ast.AST:
        """The node around a node."""
        return self.parents[id(node)]

    def text(self, node: Placed) -> str:
        """A node's source."""
        return self.source.segment(node)

    def replace(self, node: Placed, text: str, operator: str, weight: float) -> Mutation:
        """Put `text` in a node's place, in parentheses where the place needs them."""
        return self.edit([self.put(node, text)], node, operator, weight)

    def put(self, node: Placed, text: str) -> TextEdit:
        """The edit of `replace`, for a mutation that is made of several."""
        start, end = self.source.start(node), self.source.end(node)
        return TextEdit(start=start, end=end, text=self._fit(node, text))

    def edit(
        self, edits: Sequence[TextEdit], node: Placed, operator: str, weight: float
    ) -> Mutation:
        """A mutation made of several edits, told of as the first one."""
        old = " ".join(self.source.text[edits[0].start : edits[0].end].split())
        new = " ".join(edits[0].text.split())
        note = f"{old[:60]} -> {new[:60]}" if old else f"insert {new[:60]}"
        return Mutation(
            edits=tuple(edits), operator=operator, line=node.lineno, weight=weight, note=note
        )

    def _fit(self, node: Placed, text: str) -> str:
        parent = self.parents.get(id(node))
        inner = isinstance(parent, _BINDS) or (
            (isinstance(parent, ast.Subscript) and parent.value is node)
            or (isinstance(parent, ast.Call) and parent.func is node)
        )
        if not inner or _ATOM.fullmatch(text):
            return text
        start, end = self.source.start(node), self.source.end(node)
        around = self.source.text[start - 1 : start] + self.source.text[end : end + 1]
        return text if around == "()" else f"({text})"

    def of(self, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
        """The unit's nodes of some kinds."""
        return (node for node in self.nodes if isinstance(node, kinds))

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that holds an expression."""
        here: ast.AST | None = node
        while here is not None and not isinstance(here, ast.stmt):
            here = self.parents.get(id(here))
        return here

    def is_repeated(self, statement: ast.stmt) -> bool:
        """Whether a statement stands in a loop of the unit."""
        here: ast.AST | None = statement
        while here is not None and not isinstance(here, ast.For | ast.AsyncFor | ast.While):
            here = self.parents.get(id(here))
        return here is not None

    def block_of(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that a statement stands in."""
        around = self.parents[id(statement)]
        return next((b for b in blocks(around) if any(s is statement for s in b)), [statement])


def site_of(source: Source, unit: CodeUnit | None) -> Site | None:
    """The site of a unit, or of the module's own statements; None when the file has no such unit."""
    root: FunctionNode | ast.Module | None = source.tree
    if unit is not None:
        root = node_of(source, unit)
    if root is None:
        return None
    parents: dict[int, ast.AST] = {}
    nodes = tuple(_walk(root, parents))
    return Site(
        source=source,
        unit=unit,
        root=root,
        parents=parents,
        nodes=nodes,
        names=_names(source, root, nodes),
        attributes=_attributes(source, unit),
    )


def _walk(root: ast.AST, parents: dict[int, ast.AST]) -> Iterator[ast.AST]:
    """Nodes below `root`, outer ones first; a module's functions are units of their own."""
    for child in ast.iter_child_nodes(root):
        parents[id(child)] = root
        if isinstance(root, ast.Expr) and child is docstring_node(parents.get(id(root), root)):
            continue
        if isinstance(child, FunctionNode) and _outside_functions(child, parents):
            continue
        if isinstance(child, ast.FormattedValue | ast.JoinedStr) or _is_annotation(root, child):
            continue
        yield child
        yield from _walk(child, parents)


def _is_annotation(node: ast.AST, child: ast.AST) -> bool:
    return child is getattr(node, "annotation", None) or child is getattr(node, "returns", None)


def _outside_functions(node: ast.AST, parents: dict[int, ast.AST]) -> bool:
    here: ast.AST | None = node
    while here is not None:
        here = parents.get(id(here))
        if isinstance(here, FunctionNode | ast.Lambda):
            return False
        if isinstance(here, ast.Module):
            return True
    return False


def _names(
    source: Source, root: FunctionNode | ast.Module, nodes: Sequence[ast.AST]
) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in nodes:
        if isinstance(node, ast.arg):
            found.setdefault(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.setdefault(node.id)
    if root is not source.tree:
        own = {n.id for n in nodes if isinstance(n, ast.Name)}
        found.update(dict.fromkeys(n for n in _module_names(source.tree) if n in own))
    return tuple(n for n in found if n not in {"self", "cls", "_"})


def _module_names(tree: ast.Module) -> Iterator[str]:
    for statement in tree.body:
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else [statement.target]
            if isinstance(statement, ast.AnnAssign)
            else []
        )
        yield from (t.id for t in targets if isinstance(t, ast.Name))


def _attributes(source: Source, unit: CodeUnit | None) -> tuple[str, ...]:
    if unit is None or unit.class_name is None:
        return ()
    found: dict[str, None] = {}
    for other, node in unit_nodes(source):
        if other.class_name == unit.class_name:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Attribute) and _is_self(inner.value):
                    found.setdefault(inner.attr)
    return tuple(found)


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in {"self", "cls"}
