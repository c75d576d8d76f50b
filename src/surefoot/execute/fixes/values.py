"""Fixes of default arguments, comparisons, imports of packages and YAML loading."""

import ast
from collections.abc import Iterator
from typing import Final

from surefoot.execute.fixes.rewrite import (
    Rewrite,
    around,
    binds,
    defaults_of,
    function_around,
    has_future_annotations,
    own_nodes,
    place,
)
from surefoot.execute.source import FunctionNode, Source, TextEdit, newline_of
from surefoot.syntax import docstring_node
from surefoot.values import Finding

_READERS: Final = frozenset(
    {"all", "any", "bool", "dict", "enumerate", "frozenset", "len", "list", "max", "min", "print"}
    | {"repr", "reversed", "set", "sorted", "str", "sum", "tuple", "zip"}
)
"""Built-ins that read a collection and keep nothing of it."""
_LOADERS: Final = frozenset(
    {"Loader", "FullLoader", "UnsafeLoader", "SafeLoader"}
    | {"CLoader", "CFullLoader", "CUnsafeLoader", "CSafeLoader"}
)
"""Loaders of yaml but for `BaseLoader`, for which every scalar is a text."""
_FROZEN: Final = {"[]": "()", "list()": "()", "set()": "frozenset()"}


def mutable_default(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """A default that all calls share is made anew by each, or becomes one that cannot change."""
    at = place(source, finding)
    function = function_around(source, at)
    pair = next((p for p in defaults_of(function) if source.start(p[1]) == at), None)
    if function is None or pair is None:
        return
    argument, default = pair
    uses = [n for n in own_nodes(function.body) if isinstance(n, ast.Name) and n.id == argument.arg]
    is_read = _is_flat(default) and _only_read(function, argument.arg)
    text = source.segment(default)
    guard = _guard(source, function, argument, text)
    if guard is not None:
        yield Rewrite(
            name="none-default",
            edits=(*guard, _put(source, default, "None")),
            # With nobody who changes or keeps it, shared and fresh are the same.
            is_safe=is_read and (argument.annotation is None or has_future_annotations(source)),
            prior=0.8,
            description=f"`{argument.arg}` gets a fresh {text} on each call",
        )
    frozen = _FROZEN.get(text)
    if frozen is not None and argument.annotation is None and uses:
        yield Rewrite(
            name="frozen-default",
            edits=(_put(source, default, frozen),),
            is_safe=False,
            prior=0.5,
            description=f"`{argument.arg}` defaults to {frozen}, which cannot change",
        )


def _is_flat(default: ast.expr) -> bool:
    """Whether the collection holds constants only, so that nobody can change what is in it either."""
    return not any(
        isinstance(node, ast.List | ast.Dict | ast.Set | ast.Call) and node is not default
        for node in ast.walk(default)
    )


def _guard(
    source: Source, function: FunctionNode, argument: ast.arg, text: str
) -> tuple[TextEdit, ...] | None:
    """The edits beside the default itself; None when they cannot be placed or would change a None."""
    name = argument.arg
    if any(_compares_none(node, name) for node in ast.walk(function)):
        return None
    body = function.body[1:] if docstring_node(function) else function.body
    if not body:
        return None
    first = min([body[0].lineno, *(d.lineno for d in getattr(body[0], "decorator_list", ()))])
    at = source.starts[first - 1]
    indent = source.indent_of(first)
    if source.text[at : source.start(body[0])].strip() and first == body[0].lineno:
        return None
    newline = newline_of(source)
    step = indent[len(source.indent_of(function.lineno)) :] or "    "
    lines = f"{indent}if {name} is None:{newline}{indent}{step}{name} = {text}{newline}"
    edits = [TextEdit(start=at, end=at, text=lines)]
    annotation = argument.annotation
    if isinstance(annotation, ast.Constant):
        return None
    shown = "" if annotation is None else source.segment(annotation)
    if annotation is not None and "None" not in shown and "Optional" not in shown:
        end = source.end(annotation)
        edits.append(TextEdit(start=end, end=end, text=" | None"))
    return tuple(edits)


def _compares_none(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Compare)
        and any(
            isinstance(side, ast.Name) and side.id == name
            for side in (node.left, *node.comparators)
        )
        and any(
            isinstance(side, ast.Constant) and side.value is None
            for side in (node.left, *node.comparators)
        )
    )


def _only_read(function: FunctionNode, name: str) -> bool:
    """Whether each use of the name looks at the collection and neither changes it nor hands it on."""
    parents = {id(c): p for p in ast.walk(function) for c in ast.iter_child_nodes(p)}
    uses = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name]
    return all(_reads(node, parents[id(node)]) for node in uses)


def _reads(node: ast.Name, parent: ast.AST) -> bool:
    match parent:
        case ast.For(iter=place) | ast.comprehension(iter=place):
            return place is node
        case ast.If(test=place) | ast.While(test=place) | ast.Assert(test=place):
            return place is node
        case ast.Call(func=ast.Name(id=name), args=args):
            return name in _READERS and node in args
        case ast.Compare(ops=ops):
            return all(isinstance(op, ast.In | ast.NotIn) for op in ops)
        case ast.Subscript(value=place, ctx=ast.Load()):
            return place is node
        case _:
            return isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)


def _put(source: Source, node: ast.expr, text: str) -> TextEdit:
    return TextEdit(start=source.start(node), end=source.end(node), text=text)


def none_comparison(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """`== None` becomes `is None`; not the same for a class that overloads equality, such as a column of SQLAlchemy."""
    at = place(source, finding)
    for node in around(source, ast.Compare, at):
        edits: list[TextEdit] = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            edits += _identity(source, left, op, right)
            left = right
        if edits:
            yield Rewrite(
                name="is-none",
                edits=tuple(edits),
                is_safe=False,
                prior=0.8,
                description="comparison with None by identity",
            )
            return


def _identity(source: Source, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Iterator[TextEdit]:
    is_none = any(isinstance(side, ast.Constant) and side.value is None for side in (left, right))
    if not is_none or not isinstance(op, ast.Eq | ast.NotEq):
        return
    word, instead = ("==", "is") if isinstance(op, ast.Eq) else ("!=", "is not")
    start = source.text.find(word, source.end(left), source.start(right))
    if start >= 0:
        yield TextEdit(start=start, end=start + len(word), text=instead)


def reexport(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """An import that a package's `__init__` does not use is said to be for others, or goes."""
    if not source.path.endswith("__init__.py"):
        return
    at = place(source, finding)
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for alias in node.names:
            if source.offset(alias.lineno, alias.col_offset) != at:
                continue
            end = source.offset(alias.end_lineno or alias.lineno, alias.end_col_offset or 0)
            if alias.asname is None and "." not in alias.name:
                yield Rewrite(
                    name="re-export",
                    edits=(TextEdit(start=end, end=end, text=f" as {alias.name}"),),
                    is_safe=True,
                    prior=0.7,
                    description=f"`{alias.name}` is said to be imported for others",
                )
            if len(node.names) == 1 and node.lineno == node.end_lineno:
                start, stop = source.starts[node.lineno - 1], source.starts[node.lineno]
                yield Rewrite(
                    name="remove-import",
                    edits=(TextEdit(start=start, end=stop, text=""),),
                    is_safe=False,
                    prior=0.4,
                    description=f"the import of `{alias.name}` goes; others may have relied on it",
                )
            return


def yaml_load(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """YAML is loaded as plain data.

    Safe in the sense of the finding: documents of plain data load as before, and only those that build
    Python objects, which is what the finding is about, are refused. A loader of the project's own may read
    plain data in its own way, so that leaving it out is not safe.
    """
    at = place(source, finding)
    for node in around(source, ast.Call, at):
        function = node.func
        if not isinstance(function, ast.Attribute) or function.attr != "load" or not node.args:
            continue
        others = [k.arg for k in node.keywords if k.arg != "Loader"]
        if others or isinstance(node.args[0], ast.Starred):
            return
        module, data = source.segment(function.value), source.segment(node.args[0])
        loaders = [*node.args[1:], *(k.value for k in node.keywords)]
        is_safe = all(_is_of_yaml(source, loader, module) for loader in loaders)
        for name, text, prior in (
            ("safe-load", f"{module}.safe_load({data})", 0.8),
            ("safe-loader", f"{module}.load({data}, Loader={module}.SafeLoader)", 0.6),
        ):
            yield Rewrite(
                name=name,
                edits=(_put(source, node, text),),
                is_safe=is_safe,
                prior=prior,
                description="YAML is loaded as plain data, without building Python objects",
            )
        return


def _is_of_yaml(source: Source, loader: ast.expr, module: str) -> bool:
    """Whether a loader is one of yaml's that read plain data as the safe one does."""
    match loader:
        case ast.Attribute(value=owner, attr=name):
            return source.segment(owner) == module and name in _LOADERS
        case ast.Name(id=name):
            nodes = list(ast.walk(source.tree))
            froms = [n for n in nodes if isinstance(n, ast.ImportFrom) and n.module == "yaml"]
            own = [a for n in froms for a in n.names if a.name in _LOADERS]
            binding = [n for n in nodes if name in binds(n)]
            return bool(binding) and all(n in own for n in binding)
        case _:
            return False
