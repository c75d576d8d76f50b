"""Types as they are written: when two spellings are one type, and when a value of one may be given for another."""

import ast
from collections.abc import Mapping
from typing import Final

from surefoot.preflight.flow import last_name
from surefoot.syntax import dumped, expression_of, written

_ANYTHING: Final = frozenset({"Any", "object"})
_CAPITALS: Final = {
    "Dict": "dict",
    "List": "list",
    "Tuple": "tuple",
    "Set": "set",
    "FrozenSet": "frozenset",
    "Type": "type",
    "Text": "str",
}
_WIDER: Final[Mapping[str, frozenset[str]]] = {
    "bool": frozenset({"int", "float", "complex"}),
    "int": frozenset({"float", "complex"}),
    "float": frozenset({"complex"}),
    "list": frozenset({"MutableSequence", "Sequence", "Collection", "Iterable", "Reversible"}),
    "tuple": frozenset({"Sequence", "Collection", "Iterable", "Reversible"}),
    "str": frozenset({"Sequence", "Collection", "Iterable"}),
    "dict": frozenset({"MutableMapping", "Mapping", "Collection", "Iterable"}),
    "set": frozenset({"MutableSet", "AbstractSet", "Set", "Collection", "Iterable"}),
    "frozenset": frozenset({"AbstractSet", "Set", "Collection", "Iterable"}),
    "Sequence": frozenset({"Collection", "Iterable", "Reversible"}),
    "Mapping": frozenset({"Collection", "Iterable"}),
    "Iterator": frozenset({"Iterable"}),
    "Generator": frozenset({"Iterator", "Iterable"}),
    "PosixPath": frozenset({"Path", "PurePath"}),
    "Path": frozenset({"PurePath"}),
}


def normal(text: str) -> str | None:
    """A type in one spelling, without quotes, module names and the order of a union; None when it is no type."""
    node = expression_of(text)
    return None if node is None else _told(node)


def agree(left: str, right: str) -> bool:
    """Whether two texts are the same type."""
    told = normal(left)
    if told is None:
        # What is computed, as `conint(gt=0)` or `Float[Array, "3 4"]`, is compared as code.
        return _is_same_code(left, right)
    return told == normal(right)


def fits(source: str, target: str) -> bool:
    """Whether a value of one type may be given where another is expected, as far as builtin types tell."""
    given, wanted = normal(source), normal(target)
    if given is None or wanted is None:
        return _is_same_code(source, target)
    return _fits(given, wanted)


def _is_same_code(left: str, right: str) -> bool:
    one, other = expression_of(left), expression_of(right)
    return one is not None and other is not None and dumped(one) == dumped(other)


def _fits(given: str, wanted: str) -> bool:
    if given == wanted or wanted in _ANYTHING or given == "Any":
        return True
    wanted_parts, given_parts = _union(wanted), _union(given)
    if len(given_parts) > 1 or len(wanted_parts) > 1:
        return all(any(_fits(g, w) for w in wanted_parts) for g in given_parts)
    return _narrow(given, wanted)


def _narrow(given: str, wanted: str) -> bool:
    """One type that is no union against another."""
    g_name, g_args = _split(given)
    w_name, w_args = _split(wanted)
    if g_name == "Literal":
        return all(_literal_fits(part, w_name) for part in g_args)
    if g_name == w_name and g_name in {"list", "set", "dict"}:
        return not w_args  # invariant, and not equal
    is_wider = g_name == w_name or w_name in _WIDER.get(g_name, frozenset())
    return is_wider and (not w_args or _arguments_fit(g_name, g_args, w_name, w_args))


def _arguments_fit(g_name: str, g_args: list[str], w_name: str, w_args: list[str]) -> bool:
    if g_name == "str":
        return w_args == ["str"]
    if g_name == "tuple" and w_name != "tuple":
        parts = g_args[:1] if g_args[1:] == ["..."] else g_args
        return bool(parts) and all(_fits(part, w_args[0]) for part in parts)
    return bool(g_args) and all(_fits(a, w) for a, w in zip(g_args, w_args, strict=False))


def _literal_fits(value: str, wanted: str) -> bool:
    node = expression_of(value)
    return isinstance(node, ast.Constant) and type(node.value).__name__ == wanted


def _union(text: str) -> list[str]:
    node = expression_of(text)
    return [text] if node is None else [written(part) for part in _parts(node)]


def _split(text: str) -> tuple[str, list[str]]:
    node = expression_of(text)
    if isinstance(node, ast.Subscript):
        inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return written(node.value), [written(part) for part in inner]
    return text, []


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return [*_parts(node.left), *_parts(node.right)]
    return [node]


def _told(node: ast.expr) -> str | None:
    if isinstance(node, ast.BinOp):
        return _joined([_told(part) for part in _parts(node)])
    if isinstance(node, ast.Attribute | ast.Name):
        name = last_name(node)
        return _CAPITALS.get(name, name)
    if isinstance(node, ast.Constant):
        return _constant(node)
    if isinstance(node, ast.Subscript):
        return _subscript(node)
    return _list(node) if isinstance(node, ast.List) else None


def _list(node: ast.List) -> str | None:
    """A callable's parameters."""
    inner = [_told(part) for part in node.elts]
    known = [part for part in inner if part is not None]
    return f"[{', '.join(known)}]" if len(known) == len(inner) else None


def _constant(node: ast.Constant) -> str | None:
    if node.value is None:
        return "None"
    if node.value is ...:
        return "..."
    return normal(node.value) if isinstance(node.value, str) else None


def _subscript(node: ast.Subscript) -> str | None:
    name = _told(node.value)
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Literal":
        return f"Literal[{', '.join(sorted(written(part) for part in inner))}]"
    if name == "Annotated":
        return _told(inner[0])
    told = [_told(part) for part in inner]
    if name == "Optional":
        return _joined([*told, "None"])
    if name == "Union":
        return _joined(told)
    known = [part for part in told if part is not None]
    return f"{name}[{', '.join(known)}]" if name and len(known) == len(told) else None


def _joined(parts: list[str | None]) -> str | None:
    known = {one for part in parts if part is not None for one in _union(part)}
    return None if None in parts else " | ".join(sorted(known))
