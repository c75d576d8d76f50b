"""What a mechanical fix is made of, and how a finding's place is found in the syntax tree."""

import ast
import io
import tokenize
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from surefoot.execute.source import FunctionNode, Source, TextEdit
from surefoot.values import Finding

NodeT = TypeVar("NodeT", bound=ast.expr | ast.stmt | ast.excepthandler)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """One way to mend one finding in its file."""

    name: str
    """The same for the same way, so that a file's findings are mended alike."""
    edits: tuple[TextEdit, ...]
    is_safe: bool
    """Whether the program does what it did, but for what the finding is about; only such go into auto_fix_safe."""
    prior: float
    """How likely it is what a person would have written, 0..1; decides between ways that pass alike."""
    description: str


Rewriter: TypeAlias = Callable[[Source, Finding], Iterator[Rewrite]]


def place(source: Source, finding: Finding) -> int:
    """Character offset of the finding, whose column counts characters from 1."""
    line = min(max(finding.line, 1), len(source.starts) - 1)
    return source.starts[line - 1] + max(finding.column - 1, 0)


def around(source: Source, kind: type[NodeT], offset: int) -> Iterator[NodeT]:
    """Nodes of a kind that contain an offset, the innermost first."""
    found = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, kind) and source.start(node) <= offset < source.end(node)
    ]
    return iter(sorted(found, key=lambda node: source.end(node) - source.start(node)))


def function_around(source: Source, offset: int) -> FunctionNode | None:
    """The innermost function that contains an offset."""
    found = [n for n in functions(source) if source.start(n) <= offset < source.end(n)]
    return min(found, key=lambda node: source.end(node) - source.start(node), default=None)


def functions(source: Source) -> Iterator[FunctionNode]:
    """All functions of the file, those inside others too."""
    return (node for node in ast.walk(source.tree) if isinstance(node, FunctionNode))


def own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Nodes of a function's own scope: what functions and classes inside it hold is left out."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef):
            stack.extend(ast.iter_child_nodes(node))


def names(node: ast.AST) -> frozenset[str]:
    """Every identifier in a node that is a variable's there, read or bound."""
    read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return bound([node]) | read


def bound(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names that nodes bind, unbind or declare, those of the scopes inside them, too."""
    return frozenset(name for node in nodes for n in ast.walk(node) for name in binds(n))


def binds(node: ast.AST) -> Iterator[str]:
    """Names that a node by itself binds, unbinds or declares."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=asname):
            yield asname or name.partition(".")[0]
        case ast.Global(names=declared) | ast.Nonlocal(names=declared):
            yield from declared
        case (
            ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.MatchMapping(rest=str(name))
        ):
            yield name
        case _:
            pass


def stands_alone(source: Source, node: ast.stmt) -> bool:
    """Whether no other code shares the statement's lines."""
    before = source.text[source.starts[node.lineno - 1] : source.start(node)]
    after = source.text[source.end(node) : source.starts[node.end_lineno or node.lineno]]
    return not before.strip() and not after.strip().strip(";").partition("#")[0].strip()


def removal(source: Source, node: ast.stmt, block: list[ast.stmt]) -> TextEdit:
    """Take out the lines of a statement; the last one of a block leaves a `pass`."""
    if len(block) == 1:
        return TextEdit(start=source.start(node), end=source.end(node), text="pass")
    start, end = source.starts[node.lineno - 1], source.starts[node.end_lineno or node.lineno]
    return TextEdit(start=start, end=end, text="")


def blocks_of(source: Source) -> Iterator[list[ast.stmt]]:
    """All statement lists of the file."""
    for node in ast.walk(source.tree):
        for _, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value


def colon_of(source: Source, node: FunctionNode) -> int | None:
    """Offset of the colon that ends a function's signature."""
    start = source.start(node)
    depth = 0
    reader = io.StringIO(source.text[start : source.end(node)])
    try:
        for token in tokenize.generate_tokens(reader.readline):
            if token.string in {"(", "[", "{"}:
                depth += 1
            elif token.string in {")", "]", "}"}:
                depth -= 1
            elif token.string == ":" and depth == 0:
                row, column = token.start
                line = node.lineno + row - 1
                return source.starts[line - 1] + column if row > 1 else start + column
    except (tokenize.TokenError, SyntaxError):
        return None
    return None


def defaults_of(function: FunctionNode | None) -> Iterator[tuple[ast.arg, ast.expr]]:
    """Parameters that have a default, with it."""
    if function is None:
        return
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    if arguments.defaults:
        yield from zip(positional[-len(arguments.defaults) :], arguments.defaults, strict=True)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield argument, default


def has_future_annotations(source: Source) -> bool:
    """Whether annotations are not evaluated, so that any syntax may stand in them."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in source.tree.body
    )
