"""Python source into syntax trees, from any thread.

CPython before 3.11.8 and 3.12.2 counts the depth of all trees that are being built in one place (gh-106905): two
threads that parse at once break each other now and then with a `SystemError`. Here one parses at a time.
"""

import ast
import io
import threading
import tokenize
import warnings
from collections.abc import Callable
from hashlib import sha256
from typing import Final, Literal, cast, overload

_PARSING: Final = threading.Lock()


MARK: Final = "\ufeff"
"""The byte order mark that a file may begin with, where its text was not decoded without it; no part of its code."""


@overload
def parse(source: str | bytes) -> ast.Module: ...


@overload
def parse(source: str | bytes, mode: Literal["eval"]) -> ast.Expression: ...


def parse(
    source: str | bytes, mode: Literal["exec", "eval"] = "exec"
) -> ast.Module | ast.Expression:
    """The syntax tree; `SyntaxError` for whatever is no Python of this interpreter's version.

    What the compiler would warn of is not said. Places count from behind a byte order mark.
    """
    if isinstance(source, str):
        source = source.removeprefix(MARK)
    try:
        with _PARSING, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, mode=mode)
    except (ValueError, RecursionError, MemoryError) as error:  # a null byte; too deep
        raise SyntaxError(str(error) or type(error).__name__) from error
    return cast("ast.Module | ast.Expression", tree)


def decoded(source: bytes) -> str | None:
    """Python source as text, by the encoding that it declares; None when that is unknown or does not fit."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode("utf-8" if encoding == "utf-8-sig" else encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return None


def tree_of(source: str | bytes) -> ast.Module | None:
    """The syntax tree, or None when the source is no Python."""
    try:
        return parse(source)
    except SyntaxError:
        return None


def expression_of(text: str) -> ast.expr | None:
    """The syntax tree of the one expression that a text holds, or None."""
    try:
        return parse(text.strip(), "eval").body
    except SyntaxError:
        return None


def inner_lines(root: ast.AST) -> frozenset[int]:
    """Lines that begin inside a string literal other than a docstring."""
    docs = docstring_ids(root)
    return frozenset(
        line
        for node in ast.walk(root)
        if isinstance(node, ast.JoinedStr)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
        if id(node) not in docs
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    )


def docstring_node(node: ast.AST) -> ast.Constant | None:
    """The literal that is a node's docstring."""
    if (
        not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module)
        or not node.body
    ):
        return None
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return first.value if isinstance(first.value.value, str) else None
    return None


def docstring_ids(root: ast.AST) -> frozenset[int]:
    """Ids of the literals that are docstrings of a node and of what it holds."""
    return frozenset(
        id(doc) for node in ast.walk(root) if (doc := docstring_node(node)) is not None
    )


def written(node: ast.AST) -> str:
    """A node as Python source; one that is nested too deep for that by its kind and a hash of what it holds."""
    return _told(ast.unparse, node)


def dumped(node: ast.AST) -> str:
    """`ast.dump`, by which equal code is known without its layout; for what is too deep the same as `written`."""
    return _told(ast.dump, node)


def _told(by: Callable[[ast.AST], str], node: ast.AST) -> str:
    try:
        return by(node)
    except RecursionError:  # a sum of a thousand texts, a chain of two hundred calls
        return f"{type(node).__name__} {_hash(node)[:12]}"


def _hash(node: ast.AST) -> str:
    """Of all that a node holds, level by level, as no recursion is needed for that."""
    told = sha256()
    for inner in ast.walk(node):
        told.update(type(inner).__name__.encode())
        for name, value in ast.iter_fields(inner):
            parts = value if isinstance(value, list) else [value]
            own = [repr(part) for part in parts if not isinstance(part, ast.AST)]
            told.update(f" {name} {len(parts)} {own}".encode(errors="surrogatepass"))
    return told.hexdigest()
