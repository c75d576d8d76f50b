"""Mutations of operators, operands, conditions, constants, indices and slices."""

import ast
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeVar

from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.source import TextEdit

_COMPARE: Final[Mapping[type[ast.cmpop], tuple[str, str]]] = {
    ast.Lt: ("<", r"<(?!=)"),
    ast.LtE: ("<=", r"<="),
    ast.Gt: (">", r">(?!=)"),
    ast.GtE: (">=", r">="),
    ast.Eq: ("==", r"=="),
    ast.NotEq: ("!=", r"!="),
    ast.In: ("in", r"\bin\b"),
    ast.NotIn: ("not in", r"\bnot\s+in\b"),
    ast.Is: ("is", r"\bis\b"),
    ast.IsNot: ("is not", r"\bis\s+not\b"),
}
_COMPARE_SWAPS: Final[Mapping[str, Mapping[str, float]]] = {
    "<": {"<=": 0.9, ">": 0.7, ">=": 0.6, "==": 0.25, "!=": 0.25},
    "<=": {"<": 0.9, ">=": 0.7, ">": 0.6, "==": 0.25, "!=": 0.2},
    ">": {">=": 0.9, "<": 0.7, "<=": 0.6, "==": 0.25, "!=": 0.25},
    ">=": {">": 0.9, "<=": 0.7, "<": 0.6, "==": 0.25, "!=": 0.2},
    "==": {"!=": 0.8, "<=": 0.3, ">=": 0.3, "<": 0.25, ">": 0.25, "in": 0.1},
    "!=": {"==": 0.8, "<": 0.35, ">": 0.35, "<=": 0.2, ">=": 0.2},
    "in": {"not in": 0.8, "==": 0.1},
    "not in": {"in": 0.8},
    "is": {"is not": 0.8, "==": 0.3},
    "is not": {"is": 0.8, "!=": 0.3},
}
_MEMBER: Final = {"==": "in", "!=": "not in"}
_BINARY: Final[Mapping[type[ast.operator], tuple[str, str]]] = {
    ast.Add: ("+", r"\+"),
    ast.Sub: ("-", r"-"),
    ast.Mult: ("*", r"\*(?!\*)"),
    ast.Div: ("/", r"/(?!/)"),
    ast.FloorDiv: ("//", r"//"),
    ast.Mod: ("%", r"%"),
    ast.Pow: ("**", r"\*\*"),
    ast.BitAnd: ("&", r"&"),
    ast.BitOr: ("|", r"\|"),
    ast.BitXor: ("^", r"\^"),
    ast.LShift: ("<<", r"<<"),
    ast.RShift: (">>", r">>"),
}
_BINARY_SWAPS: Final[Mapping[str, Mapping[str, float]]] = {
    "+": {"-": 0.75, "*": 0.45, "//": 0.1, "%": 0.1},
    "-": {"+": 0.75, "*": 0.25, "/": 0.15, "//": 0.15, "%": 0.15},
    "*": {"/": 0.5, "+": 0.5, "//": 0.45, "**": 0.45, "-": 0.25, "%": 0.15},
    "/": {"//": 0.7, "*": 0.6, "%": 0.35, "-": 0.15},
    "//": {"/": 0.7, "%": 0.6, "*": 0.45, "-": 0.1},
    "%": {"//": 0.65, "/": 0.35, "*": 0.25, "+": 0.1, "-": 0.1},
    "**": {"*": 0.65, "+": 0.15, "//": 0.1},
    "&": {"|": 0.7, "^": 0.4, "-": 0.1},
    "|": {"&": 0.7, "^": 0.4, "+": 0.1},
    "^": {"&": 0.5, "|": 0.6, "**": 0.4},
    "<<": {">>": 0.7},
    ">>": {"<<": 0.7},
}
_ORDERED: Final = frozenset({"-", "/", "//", "%", "**", "+", "<<", ">>"})
_INT_LIMIT: Final = 10**6
_AROUND: Final = 40
"""Constants before one, and as many behind it, of which it may have been meant to be another: all of a function of usual size."""
_SHORT: Final = 40
_Place = TypeVar("_Place", tuple[ast.Constant, int], tuple[ast.Constant, str])
_ALL_AT_ONCE: Final = 0.4
"""Part of its weight that a change keeps which is made in several places at once."""


def expression_mutations(site: Site) -> Iterator[Mutation]:
    """All mutations of this module."""
    for node in site.nodes:
        yield from _of_operator(site, node)
        yield from _of_other(site, node)
    yield from _offsets(site)
    yield from _repeated(site)


def _of_operator(site: Site, node: ast.AST) -> Iterator[Mutation]:
    match node:
        case ast.Compare():
            yield from _compare(site, node)
        case ast.BoolOp():
            yield from _boolean(site, node)
        case ast.UnaryOp():
            yield from _unary(site, node)
        case ast.BinOp():
            yield from _binary(site, node)
        case _:
            pass


def _of_other(site: Site, node: ast.AST) -> Iterator[Mutation]:
    match node:
        case ast.IfExp():
            yield from _conditional(site, node)
        case ast.Constant():
            yield from _constant(site, node)
        case ast.Subscript():
            yield from _subscript(site, node)
        case ast.comprehension():
            yield from _comprehension(site, node)
        case ast.If() | ast.While():
            yield from _condition(site, node.test)
        case _:
            pass


def operator_place(
    site: Site, left: ast.expr, right: ast.expr, pattern: str
) -> tuple[int, int] | None:
    """Where the operator between two operands stands."""
    start, end = site.source.end(left), site.source.start(right)
    between = re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), site.source.text[start:end])
    found = re.search(pattern, between)
    return None if found is None else (start + found.start(), start + found.end())


def _compare(site: Site, node: ast.Compare) -> Iterator[Mutation]:
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        symbol, pattern = _COMPARE[type(op)]
        place = operator_place(site, left, right, pattern)
        if place is not None:
            for other, weight in _COMPARE_SWAPS[symbol].items():
                edit = TextEdit(start=place[0], end=place[1], text=other)
                yield site.edit([edit], node, "compare", weight)
            for pair in _joined(right) if symbol in _MEMBER else ():
                start, end = site.source.start(right), site.source.end(right)
                edits = [
                    TextEdit(start=place[0], end=place[1], text=_MEMBER[symbol]),
                    TextEdit(start=start, end=end, text=repr(pair)),
                ]
                yield site.edit(edits, node, "extend", 0.25)
            if symbol in {"in", "not in"} and len(node.ops) == 1:
                yield site.replace(
                    node, f"{site.text(right)} {symbol} {site.text(left)}", "operands", 0.3
                )
        left = right


def _joined(asked: ast.expr) -> Iterator[tuple[object, object]]:
    """A constant with each of its neighbours: what was asked for stays, and another value joins it."""
    match asked:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() as number):
            yield from ((number, number + 1), (number - 1, number))
        case ast.Constant(value=str() as text) if text != text.swapcase():
            yield (text, text.swapcase())
        case _:
            pass


def _boolean(site: Site, node: ast.BoolOp) -> Iterator[Mutation]:
    symbol, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    edits = []
    for left, right in zip(node.values, node.values[1:], strict=False):
        place = operator_place(site, left, right, rf"\b{symbol}\b")
        if place is not None:
            edits.append(TextEdit(start=place[0], end=place[1], text=other))
    if edits:
        yield site.edit(edits, node, "boolean", 0.75)
    for index, value in enumerate(node.values):
        rest = [site.text(v) for i, v in enumerate(node.values) if i != index]
        yield site.replace(node, f" {symbol} ".join(rest), "boolean", 0.4)
        yield site.replace(value, f"not ({site.text(value)})", "negate", 0.3)


def _unary(site: Site, node: ast.UnaryOp) -> Iterator[Mutation]:
    if isinstance(node.op, ast.Not):
        # A comparison has another sign for that; few write a `not` around one.
        compares = isinstance(node.operand, ast.Compare | ast.BoolOp)
        yield site.replace(node, site.text(node.operand), "negate", 0.9 if compares else 0.7)
    elif isinstance(node.op, ast.USub | ast.Invert):
        yield site.replace(node, site.text(node.operand), "negate", 0.5)


def _binary(site: Site, node: ast.BinOp) -> Iterator[Mutation]:
    if type(node.op) not in _BINARY:
        return
    symbol, pattern = _BINARY[type(node.op)]
    place = operator_place(site, node.left, node.right, pattern)
    if place is None:
        return
    for other, weight in _BINARY_SWAPS[symbol].items():
        edit = TextEdit(start=place[0], end=place[1], text=other)
        yield site.edit([edit], node, "arithmetic", weight)
    text = site.source.text
    left = text[site.source.start(node) : place[0]].strip()
    right = text[place[1] : site.source.end(node)].strip()
    if symbol in _ORDERED and left != right:
        yield site.replace(node, f"{right} {symbol} {left}", "operands", 0.45)
    yield site.replace(node, left, "operands", 0.4)
    yield site.replace(node, right, "operands", 0.35)


def _conditional(site: Site, node: ast.IfExp) -> Iterator[Mutation]:
    body, test, other = site.text(node.body), site.text(node.test), site.text(node.orelse)
    yield site.replace(node, f"{other} if {test} else {body}", "operands", 0.45)
    yield site.replace(node, body, "condition", 0.3)
    yield site.replace(node, other, "condition", 0.3)
    yield from _condition(site, node.test)


def _condition(site: Site, test: ast.expr) -> Iterator[Mutation]:
    text = site.text(test)
    if not isinstance(test, ast.Compare) or len(test.ops) > 1:
        yield site.replace(test, f"not ({text})", "negate", 0.45)
    for name in site.names:
        if re.search(rf"\b{re.escape(name)}\b", text) is None:
            yield site.replace(test, f"{text} and {name}", "condition", 0.08)
            yield site.replace(test, f"{text} and not {name}", "condition", 0.06)
        elif isinstance(test, ast.Compare | ast.Call) and name != text:
            yield site.replace(test, f"{text} and {name}", "condition", 0.05)
    yield from _twin_conditions(site, test)
    for other in _conditions(site):
        if other != text:
            joined = f"({text})" if isinstance(test, ast.BoolOp) else text
            yield site.replace(test, f"{joined} and {other}", "condition", 0.1)
            yield site.replace(test, f"{joined} or {other}", "condition", 0.1)


def _twin_conditions(site: Site, test: ast.expr) -> Iterator[Mutation]:
    """A condition on one of two names such as `first1` and `first2` joined with the same one on the other."""
    text = site.text(test)
    read = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    joined = f"({text})" if isinstance(test, ast.BoolOp) else text
    for name in sorted(read.intersection(site.names)):
        for other in site.names:
            if other not in read and _are_twins(name, other):
                twin = re.sub(rf"\b{re.escape(name)}\b", other, joined)
                yield site.replace(test, f"{joined} or {twin}", "condition", 0.3)
                yield site.replace(test, f"{joined} and {twin}", "condition", 0.3)


def _are_twins(one: str, other: str) -> bool:
    """Whether two names differ in nothing but a number at their end."""
    return one.rstrip(string.digits) == other.rstrip(string.digits)


def _conditions(site: Site) -> list[str]:
    """Simple conditions that occur in the unit."""
    found = {
        site.text(node): None
        for node in site.of(ast.Compare)
        if isinstance(node, ast.Compare) and len(site.text(node)) < _SHORT
    }
    return list(found)[:6]


def _comprehension(site: Site, node: ast.comprehension) -> Iterator[Mutation]:
    for test in node.ifs:
        yield from _condition(site, test)
        head = site.source.text[: site.source.start(test)]
        found = re.search(r"\s*\bif\s*\(?\s*$", head)
        if found is not None and not found[0].rstrip().endswith("("):
            edit = TextEdit(start=found.start(), end=site.source.end(test), text="")
            yield site.edit([edit], test, "condition", 0.3)
    if not node.ifs and isinstance(node.target, ast.Name):
        end = site.source.end(node.iter)
        for weight, text in ((0.2, f" if {node.target.id}"), (0.08, f" if not {node.target.id}")):
            edit = TextEdit(start=end, end=end, text=text)
            yield site.edit([edit], node.iter, "condition", weight)


def _constant(site: Site, node: ast.Constant) -> Iterator[Mutation]:
    value = node.value
    if isinstance(site.parent(node), ast.Expr):
        return
    if isinstance(value, bool):
        yield site.replace(node, str(not value), "constant", 0.7)
    elif value is None:
        for text in ("[]", "0", "''", "False"):
            yield site.replace(node, text, "constant", 0.12)
    elif isinstance(value, int):
        yield from _integer(site, node, value)
    elif isinstance(value, float):
        for text in (repr(value * 10), repr(value / 10), "0.0", "1.0", "0.5", repr(-value)):
            yield site.replace(node, text, "constant", 0.15)
    elif isinstance(value, str):
        yield from _string(site, node, value)


def _integer(site: Site, node: ast.Constant, value: int) -> Iterator[Mutation]:
    parent = site.parent(node)
    signed = parent if isinstance(parent, ast.UnaryOp) else None
    for other, weight in _integers(site, node, value):
        if not (signed and other < 0):
            place = signed if signed and isinstance(signed.op, ast.USub) and other == 0 else node
            yield site.replace(place, str(other), "constant", weight)
    if isinstance(parent, ast.Assign | ast.AnnAssign | ast.keyword | ast.arguments):
        for text in ("float('inf')", "float('-inf')", "None"):
            yield site.replace(node, text, "constant", 0.15)


def _integers(site: Site, node: ast.Constant, value: int) -> Iterator[tuple[int, float]]:
    """Which integers one may have been meant to be, each with its weight."""
    ranked = {value + 1: 0.6, value - 1: 0.6}
    for other, weight in ((0, 0.4), (1, 0.4), (2, 0.3), (-1, 0.3), (10, 0.1), (-value, 0.3)):
        ranked.setdefault(other, weight)
    for _, other in _around(node, list(_integer_places(site))):
        ranked.setdefault(other, 0.2)
    ranked.setdefault(value * 2, 0.12)
    ranked.setdefault(value // 2, 0.1)
    if abs(value) < _INT_LIMIT:
        ranked.setdefault(value * 10, 0.08)
    return ((other, weight) for other, weight in ranked.items() if other != value)


def _integer_places(site: Site) -> Iterator[tuple[ast.Constant, int]]:
    """Where integers stand, in order, and which."""
    for node in site.of(ast.Constant):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            yield node, node.value


def _string_places(site: Site) -> Iterator[tuple[ast.Constant, str]]:
    """Where texts stand, in order, and which."""
    for node in site.of(ast.Constant):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node, node.value


def _around(node: ast.Constant, places: Sequence[_Place]) -> Sequence[_Place]:
    """Those places that stand nearest to a constant: each with each other one is too many in a function that is a table."""
    here = next((n for n, place in enumerate(places) if place[0] is node), 0)
    return places[max(here - _AROUND, 0) : here + _AROUND + 1]


def _repeated(site: Site) -> Iterator[Mutation]:
    """An integer that a statement has several times, replaced everywhere in it: `rows[::2] = sorted(rows[::2])`."""
    places: dict[tuple[int, int], list[ast.Constant]] = {}
    for node, value in _integer_places(site):
        if not isinstance(site.parent(node), ast.UnaryOp):
            places.setdefault((id(site.statement(node)), value), []).append(node)
    for (_, value), nodes in places.items():
        for other, weight in _integers(site, nodes[0], value) if len(nodes) > 1 else ():
            edits = [site.put(node, str(other)) for node in nodes]
            yield site.edit(edits, nodes[0], "constant", weight * _ALL_AT_ONCE)


def _string(site: Site, node: ast.Constant, value: str) -> Iterator[Mutation]:
    ranked = {"": 0.35, " ": 0.35}
    for _, other in _around(node, list(_string_places(site))):
        ranked.setdefault(other, 0.2)
    for other, weight in (
        (value.lower(), 0.35),
        (value.upper(), 0.35),
        (value.strip(), 0.3),
        (value[::-1], 0.15),
        (value + " ", 0.12),
        (value + "\n", 0.08),
    ):
        ranked.setdefault(other, weight)
    for other, weight in ranked.items():
        if other != value:
            yield site.replace(node, repr(other), "constant", weight)
    for index in range(min(len(value), 30) if len(value) > 1 else 0):
        yield site.replace(node, repr(value[:index] + value[index + 1 :]), "constant", 0.05)


def _subscript(site: Site, node: ast.Subscript) -> Iterator[Mutation]:
    if isinstance(node.slice, ast.Slice):
        yield from _slice(site, node.slice)
        yield site.replace(node, site.text(node.value), "slice", 0.3)
        return
    index = site.text(node.slice)
    constant = node.slice.value if isinstance(node.slice, ast.Constant) else None
    if type(constant) is int:
        yield site.replace(node.slice, "-1" if constant == 0 else "0", "index", 0.45)
    if isinstance(node.slice, ast.UnaryOp):
        yield site.replace(node.slice, "0", "index", 0.45)
    if isinstance(node.ctx, ast.Load):
        if not isinstance(node.slice, ast.Tuple):
            yield site.replace(node, f"{site.text(node.value)}.get({index})", "guard", 0.15)
            yield site.replace(node, f"{site.text(node.value)}.get({index}, 0)", "guard", 0.2)
        yield site.replace(node, site.text(node.value), "index", 0.15)
    if isinstance(node.slice, ast.Name | ast.BinOp):
        yield site.replace(
            node.slice, f"-{index} - 1" if index.isidentifier() else f"-({index})", "index", 0.1
        )


def _slice(site: Site, node: ast.Slice) -> Iterator[Mutation]:
    lower = site.text(node.lower) if node.lower else ""
    upper = site.text(node.upper) if node.upper else ""
    step = site.text(node.step) if node.step else ""
    ranked: dict[tuple[str, str, str], float] = {
        ("", upper, step): 0.4,
        (lower, "", step): 0.4,
        (lower, upper, ""): 0.35,
        (lower, upper, "-1"): 0.3,
        (upper, lower, step): 0.4,
        (lower or "1", upper, step): 0.25,
        (lower, upper or "-1", step): 0.25,
        (lower, upper, "2"): 0.1,
    }
    if lower.isdigit() and not upper:
        ranked["", f"-{lower}", step] = 0.35
    if upper.startswith("-") and not lower:
        ranked[upper[1:], "", step] = 0.35
    start, end = site.source.start(node), site.source.end(node)
    for (low, high, by), weight in ranked.items():
        if (low, high, by) != (lower, upper, step):
            text = f"{low}:{high}" + (f":{by}" if by else "")
            yield site.edit([TextEdit(start=start, end=end, text=text)], node, "slice", weight)
    for bound in (node.lower, node.upper):
        if bound is not None:
            negated = (
                site.text(bound.operand)
                if isinstance(bound, ast.UnaryOp)
                else f"-{site.text(bound)}"
                if isinstance(bound, ast.Name | ast.Constant)
                else f"-({site.text(bound)})"
            )
            yield site.replace(bound, negated, "slice", 0.3)


def _offsets(site: Site) -> Iterator[Mutation]:
    """`e` becomes `e + 1` and `e - 1` where an off-by-one is at home."""
    for node in site.nodes:
        for value, weight in _numbers(node):
            yield from _offset(site, value, weight)


def _numbers(node: ast.AST) -> list[tuple[ast.expr | None, float]]:  # noqa: PLR0911  # one a kind
    """Expressions directly below a node that may be off by one, and how likely."""
    match node:
        case ast.Subscript(slice=ast.Slice() as part):
            return [(part.lower, 0.4), (part.upper, 0.5)]
        case ast.Subscript(slice=index):
            return [(index, 0.45)]
        case ast.Call(func=ast.Name(id=name), args=args):
            return [(arg, 0.6 if name == "range" else 0.12) for arg in args]
        case ast.Call(args=args):
            return [(arg, 0.12) for arg in args]
        case ast.Compare(comparators=[right]):
            return [(right, 0.3)]
        case ast.Return(value=value):
            return [(value, 0.3)]
        case ast.Assign(value=value) | ast.AugAssign(value=value):
            return [(value, 0.2)]
        case ast.BinOp(left=left, right=right):
            return [(left, 0.12), (right, 0.15)]
        case _:
            return []


_NO_NUMBER: Final = (
    ast.Constant,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.Tuple,
    ast.JoinedStr,
    ast.Compare,
    ast.BoolOp,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.Lambda,
    ast.Starred,
)


def _offset(site: Site, node: ast.expr | None, weight: float) -> Iterator[Mutation]:
    if node is None or isinstance(node, _NO_NUMBER):
        return
    text = site.text(node)
    shifted = re.fullmatch(r"(.*\S)\s*([+-])\s*1", text, re.DOTALL)
    if isinstance(node, ast.BinOp) and shifted is not None:
        other = "-" if shifted[2] == "+" else "+"
        yield site.replace(node, f"{shifted[1]} {shifted[2]} 2", "offset", weight / 2)
        yield site.replace(node, f"{shifted[1]} {other} 1", "offset", weight / 2)
        return
    yield site.replace(node, f"{text} + 1", "offset", weight)
    yield site.replace(node, f"{text} - 1", "offset", weight)
