"""Fixes of annotations."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import Final

from surefoot.execute.fixes.rewrite import (
    Rewrite,
    colon_of,
    defaults_of,
    functions,
    has_future_annotations,
    own_nodes,
)
from surefoot.execute.source import FunctionNode, Source, TextEdit, newline_of
from surefoot.values import Finding

_IGNORE: Final = re.compile(r"\s*#\s*type:\s*ignore(?:\[[^\]]*\])?[ \t]*(?=#|$)")
_QUOTED: Final = re.compile(r'(?:argument|parameter) "(\w+)"')
_RETURN_ONLY: Final = "return type annotation"


def none_return(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """A function without a value to return says so."""
    if _RETURN_ONLY not in finding.message:
        return
    for node in functions(source):
        if node.lineno != finding.line or node.returns is not None or _gives_value(node):
            continue
        at = colon_of(source, node)
        if at is not None:
            yield Rewrite(
                name="returns-none",
                edits=(TextEdit(start=at, end=at, text=" -> None"),),
                is_safe=True,
                prior=0.9,
                description=f"`{node.name}` is annotated to return None",
            )
        return


def _gives_value(node: FunctionNode) -> bool:
    return any(
        isinstance(inner, ast.Yield | ast.YieldFrom)
        or (isinstance(inner, ast.Return) and inner.value is not None)
        for inner in own_nodes(node.body)
    )


def implicit_optional(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """A parameter that defaults to None is annotated to allow it."""
    found = _none_by_default(source, finding)
    if found is None:
        return
    argument, annotation = found
    start, end = source.start(annotation), source.end(annotation)
    yield Rewrite(
        name="union-none",
        edits=(TextEdit(start=end, end=end, text=" | None"),),
        # Before 3.10 this raises where annotations are evaluated.
        is_safe=has_future_annotations(source) or (source.oldest or (0, 0)) >= (3, 10),
        prior=0.8,
        description=f"`{argument.arg}` may be None: `X | None`",
    )
    wrapped = TextEdit(start=start, end=end, text=f"Optional[{source.segment(annotation)}]")
    yield Rewrite(
        name="optional",
        edits=(*_importing_optional(source), wrapped),
        is_safe=True,
        prior=0.6,
        description=f"`{argument.arg}` may be None: `Optional[X]`",
    )


def _none_by_default(source: Source, finding: Finding) -> tuple[ast.arg, ast.expr] | None:
    quoted = _QUOTED.search(finding.message)
    for argument, default in (p for f in functions(source) for p in defaults_of(f)):
        is_named = quoted is None or quoted.group(1) == argument.arg
        is_none = isinstance(default, ast.Constant) and default.value is None
        if argument.lineno == finding.line and is_named and is_none:
            annotation = argument.annotation
            if annotation is not None and not isinstance(annotation, ast.Constant):
                return argument, annotation
    return None


def _importing_optional(source: Source) -> tuple[TextEdit, ...]:
    """The import that `Optional` needs, before the first statement that is no import of `__future__`."""
    for node in source.tree.body:
        is_typing = isinstance(node, ast.ImportFrom) and node.module == "typing"
        if is_typing and ("Optional", None) in _imported(node):
            return ()
    first = next(n for n in source.tree.body if not _opens(n))
    line = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))])
    at = source.starts[line - 1]
    return (TextEdit(start=at, end=at, text=f"from typing import Optional{newline_of(source)}"),)


def _imported(node: ast.stmt) -> list[tuple[str, str | None]]:
    return [(a.name, a.asname) for a in node.names] if isinstance(node, ast.ImportFrom) else []


def _opens(node: ast.stmt) -> bool:
    """Whether the statement must stay above imports: a docstring, or an import of `__future__`."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def unused_ignore(source: Source, finding: Finding) -> Iterator[Rewrite]:
    """A `type: ignore` that hides nothing goes; what else the comment says stays."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source.text).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    row = source.starts[min(finding.line, len(source.starts) - 1) - 1]
    for token in tokens:
        if token.type != tokenize.COMMENT or token.start[0] != finding.line:
            continue
        if not _IGNORE.search(token.string):
            continue
        start = row + token.start[1]
        kept = _IGNORE.sub("", token.string).lstrip()
        begin = start if kept else row + len(source.text[row:start].rstrip())
        yield Rewrite(
            name="remove-ignore",
            edits=(TextEdit(start=begin, end=start + len(token.string), text=kept),),
            is_safe=True,
            prior=0.9,
            description="a `type: ignore` that hides nothing is removed",
        )
