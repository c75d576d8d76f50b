"""Mutations of names, attributes, calls and their arguments."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Final

from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.source import TextEdit, last_name

_BUILTINS: Final = (
    ("min", "max", "sum", "sorted"),
    ("any", "all"),
    ("sum", "len", "max", "min"),
    ("sorted", "reversed", "list", "set", "tuple"),
    ("round", "int", "float", "abs"),
    ("str", "repr", "chr", "ord"),
    ("floor", "ceil"),
    ("list", "tuple", "set", "dict", "frozenset"),
    ("bin", "hex", "oct"),
    ("isinstance", "issubclass"),
    ("zip", "enumerate", "map", "filter"),
)
_METHODS: Final = (
    ("append", "extend", "insert", "add", "appendleft"),
    ("add", "discard", "remove", "update"),
    ("lower", "upper", "title", "capitalize", "swapcase", "casefold"),
    ("strip", "lstrip", "rstrip"),
    ("startswith", "endswith"),
    ("find", "rfind", "index", "rindex", "count"),
    ("split", "rsplit", "splitlines", "partition", "rpartition"),
    ("partition", "rpartition"),
    ("isalpha", "isdigit", "isalnum", "isupper", "islower", "isspace", "isnumeric", "isdecimal"),
    ("pop", "get", "remove", "popleft", "setdefault"),
    ("keys", "values", "items"),
    ("union", "intersection", "difference", "symmetric_difference"),
    ("issubset", "issuperset", "isdisjoint"),
    ("sort", "reverse"),
    ("ljust", "rjust", "center", "zfill"),
    ("bit_length", "bit_count"),
    ("encode", "decode"),
    ("fullmatch", "match", "search"),
)
_WHOLE_WORD: Final[Mapping[str, tuple[str, ...]]] = {
    "lstrip": ("removeprefix",),
    "rstrip": ("removesuffix",),
    "strip": ("removeprefix", "removesuffix"),
}
"""What was meant by a call that takes off single characters, in any order, when it is given a word (ruff's B005)."""
_WRAPS: Final[Mapping[str, float]] = {
    "len({})": 0.2,
    "abs({})": 0.25,
    "sorted({})": 0.25,
    "int({})": 0.25,
    "str({})": 0.25,
    "list({})": 0.15,
    "set({})": 0.2,
    "sum({})": 0.12,
    "max({})": 0.12,
    "min({})": 0.12,
    "float({})": 0.1,
    "round({})": 0.1,
    "tuple({})": 0.1,
    "bool({})": 0.08,
    "list(reversed({}))": 0.08,
    "{}.lower()": 0.2,
    "{}.upper()": 0.12,
    "{}.strip()": 0.2,
    "{}.split()": 0.12,
    "{}.copy()": 0.12,
    "{}[::-1]": 0.2,
}
_ITERATIONS: Final[Mapping[str, float]] = {
    "sorted({})": 0.25,
    "reversed({})": 0.2,
    "set({})": 0.15,
    "sorted(set({}))": 0.1,
    "{}[1:]": 0.2,
    "{}[:-1]": 0.2,
    "{}[::-1]": 0.15,
    "{}.items()": 0.12,
    "{}.values()": 0.12,
    "{}.split()": 0.1,
    "range(len({}))": 0.1,
    "enumerate({})": 0.1,
    "list({})": 0.12,
}
_TYPES: Final = ("int", "str", "float", "bool", "list", "tuple", "dict", "set")
_MOST_READS: Final = 4
"""Places of a name in one statement of which two at a time are changed."""
_ONCE: Final = ("filter", "map", "zip", "reversed", "iter")
_EXCEPTIONS: Final = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "Exception",
)


def call_mutations(site: Site) -> Iterator[Mutation]:
    """All mutations of this module."""
    for node in site.nodes:
        match node:
            case ast.Call():
                yield from _call(site, node)
            case ast.Attribute():
                yield from _attribute(site, node)
            case ast.Name():
                yield from _name(site, node)
            case _:
                pass
    yield from _wraps(site)
    yield from _called_elsewhere(site)
    yield from _bounds(site)
    yield from _listed(site)
    yield from _twice(site)


def _groups(groups: tuple[tuple[str, ...], ...], name: str) -> Iterator[tuple[str, float]]:
    """Relatives of a name, the nearer ones first."""
    seen = {name}
    for group in groups:
        if name in group:
            for rank, other in enumerate(o for o in group if o not in seen):
                yield other, max(0.55 - 0.08 * rank, 0.2)
            seen.update(group)


def _call(site: Site, node: ast.Call) -> Iterator[Mutation]:
    args = node.args
    for left, right in pairwise(args):
        a, b = site.text(left), site.text(right)
        if a != b and not isinstance(left, ast.Starred) and not isinstance(right, ast.Starred):
            edits = [_put(site, left, b), _put(site, right, a)]
            yield site.edit(edits, node, "arguments", 0.4)
    if len(args) == 1 and not node.keywords:
        yield site.replace(node, site.text(args[0]), "call", 0.35)
    for index, arg in enumerate(args):
        if len(args) > 1:
            start = site.source.end(args[index - 1]) if index else site.source.start(arg)
            end = site.source.end(arg) if index else site.source.start(args[1])
            edit = TextEdit(start=start, end=end, text="")
            yield site.edit([edit], node, "arguments", 0.2)
    if isinstance(node.func, ast.Attribute) and not args and not node.keywords:
        yield site.replace(node, site.text(node.func.value), "call", 0.35)
    for keyword in node.keywords:
        start, end = site.source.start(keyword), site.source.end(keyword)
        rest = site.source.text[end:]
        tail = len(rest) - len(rest.lstrip(", ")) if args == [] and len(node.keywords) > 1 else 0
        head = site.source.text[:start].rstrip()
        begin = len(head) - 1 if head.endswith(",") else start
        edit = TextEdit(start=begin, end=end + (0 if begin != start else tail), text="")
        yield site.edit([edit], node, "arguments", 0.3)
    yield from _known_calls(site, node)
    yield from _whole_word(site, node)


def _whole_word(site: Site, node: ast.Call) -> Iterator[Mutation]:
    match node:
        case ast.Call(
            func=ast.Attribute(attr=name), args=[ast.Constant(value=str(word))], keywords=[]
        ) if len(word) > 1 and any(c.isalnum() for c in word):
            end = site.source.end(node.func)
            for meant in _WHOLE_WORD.get(name, ()):
                edit = TextEdit(start=end - len(name), end=end, text=meant)
                yield site.edit([edit], node, "method", 0.8)
        case _:
            pass


def _put(site: Site, node: ast.expr, text: str) -> TextEdit:
    return TextEdit(start=site.source.start(node), end=site.source.end(node), text=text)


def _known_calls(site: Site, node: ast.Call) -> Iterator[Mutation]:
    """Forms of calls whose arguments are often forgotten or one too many."""
    texts = [site.text(a) for a in node.args]
    name = last_name(node.func)
    options = _loops(name, texts) or _methods(name, site.text(node.func), texts)
    if not node.keywords:
        options = options | _orders(name, site.text(node.func), texts)
    for text, weight in options.items():
        yield site.replace(node, text, "call", weight)


def _loops(name: str, args: list[str]) -> dict[str, float]:
    match name, args:
        case "range", [stop]:
            return {
                f"range(1, {stop})": 0.4,
                f"range(1, {stop} + 1)": 0.35,
                f"range(2, {stop})": 0.1,
                f"range({stop} - 1, -1, -1)": 0.2,
            }
        case "range", [start, stop]:
            return {
                f"range({start}, {stop}, 2)": 0.15,
                f"range({stop} - 1, {start} - 1, -1)": 0.15,
                f"range({start}, {stop}, -1)": 0.1,
            }
        case "range", [start, stop, _]:
            return {f"range({start}, {stop})": 0.25}
        case "enumerate", [items]:
            return {f"enumerate({items}, 1)": 0.3}
        case "enumerate", [items, _]:
            return {f"enumerate({items})": 0.3}
        case _:
            return {}


def _orders(name: str, head: str, args: list[str]) -> dict[str, float]:
    """Order and key that a sorting or choosing call lacks."""
    if name not in {"sorted", "sort", "max", "min"}:
        return {}
    lead = "".join(f"{a}, " for a in args)
    options = {f"{head}({lead}key={key})": 0.12 for key in ("len", "abs", "str")}
    if name in {"sorted", "sort"}:
        options[f"{head}({lead}reverse=True)"] = 0.35
    return options


def _methods(name: str, head: str, args: list[str]) -> dict[str, float]:
    match name, args:
        case "get", [key]:
            return {f"{head}({key}, 0)": 0.3, f"{head}({key}, [])": 0.15, f"{head}({key}, '')": 0.1}
        case "pop", []:
            return {f"{head}(0)": 0.3}
        case "split", [_]:
            return {f"{head}()": 0.3}
        case "round", [value]:
            return {f"round({value}, 2)": 0.15, f"int({value})": 0.2}
        case "join", [items]:
            return {f"{head}(map(str, {items}))": 0.2, f"{head}(reversed({items}))": 0.12}
        case _:
            return {}


def _attribute(site: Site, node: ast.Attribute) -> Iterator[Mutation]:
    start = site.source.end(node) - len(node.attr)
    end = site.source.end(node)
    options = dict(_groups(_METHODS, node.attr))
    if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
        called = isinstance(site.parent(node), ast.Call)
        for other in site.attributes:
            options.setdefault(other, 0.15 if called else 0.35)
    options |= dict(_groups(_BUILTINS, node.attr)) if node.attr in {"floor", "ceil"} else {}
    for other, weight in options.items():
        if other != node.attr:
            edit = TextEdit(start=start, end=end, text=other)
            yield site.edit([edit], node, "method", weight)


def _name(site: Site, node: ast.Name) -> Iterator[Mutation]:
    parent = site.parent(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if isinstance(node.ctx, ast.Store):
        if isinstance(parent, ast.Assign | ast.AugAssign):
            yield from _others(site, node, site.names, "target", 0.15)
    elif node.id in site.names:
        yield from _others(site, node, site.names, "name", 0.1 if called else 0.4)
    elif called:
        for other, weight in _groups(_BUILTINS, node.id):
            yield site.replace(node, other, "builtin", weight)
    else:
        for group, weight in ((_TYPES, 0.2), (_EXCEPTIONS, 0.25)):
            if node.id in group:
                yield from _others(site, node, group, "type", weight)
        for other, weight in _groups(_BUILTINS, node.id):
            yield site.replace(node, other, "builtin", weight)


def _twice(site: Site) -> Iterator[Mutation]:
    """One wrong name that is read in two places of a statement: neither half mends it by itself."""
    places: dict[tuple[int, str], list[ast.Name]] = {}
    for node in site.of(ast.Name):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in site.names:
            places.setdefault((id(site.statement(node)), node.id), []).append(node)
    for (_, name), nodes in places.items():
        for pair in combinations(nodes[:_MOST_READS], 2):
            for other in site.names:
                if other != name:
                    edits = [_put(site, node, other) for node in pair]
                    yield site.edit(edits, pair[0], "name", 0.2)


def _others(
    site: Site, node: ast.Name, names: Sequence[str], operator: str, weight: float
) -> Iterator[Mutation]:
    for other in names:
        if other != node.id:
            yield site.replace(node, other, operator, weight)


def _wraps(site: Site) -> Iterator[Mutation]:
    """A call that is missing around a value."""
    for node in site.nodes:
        match node:
            case ast.Return(value=ast.expr() as value):
                yield from _wrapped(site, value, 1.0)
            case ast.Assign(value=value) | ast.AugAssign(value=value):
                yield from _wrapped(site, value, 0.8)
            case ast.Compare(left=left, comparators=[right]):
                yield from _wrapped(site, left, 0.8)
                yield from _wrapped(site, right, 0.7)
            case ast.Call(args=args):
                for arg in args:
                    yield from _wrapped(site, arg, 0.6)
            case ast.BinOp(left=left, right=right):
                yield from _wrapped(site, left, 0.5)
                yield from _wrapped(site, right, 0.5)
            case ast.For(iter=value) | ast.comprehension(iter=value):
                for form, weight in _ITERATIONS.items():
                    yield from _wrap(site, value, form, weight)
            case _:
                pass


def _called_elsewhere(site: Site) -> Iterator[Mutation]:
    """What is computed twice and handed to a call once: the other place may have lost the call.

    A fix often stands in the code already: Barr et al., "The plastic surgery hypothesis" (2014).
    """
    for call in site.nodes:
        match call:
            case ast.Call(func=ast.Name() | ast.Attribute() as asked, args=[given], keywords=[]):
                alike = (
                    node
                    for node in site.nodes
                    if type(node) is type(given)
                    and isinstance(node, ast.BinOp | ast.Call | ast.Subscript)
                    and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
                )
                for node in alike:
                    text, around = site.text(node), site.parent(node)
                    called = isinstance(around, ast.Call) and node in around.args
                    if text == site.text(given) and not called:
                        yield site.replace(node, f"{site.text(asked)}({text})", "call", 0.55)
            case _:
                pass


def _listed(site: Site) -> Iterator[Mutation]:
    """What gives its items once made a list where it gets a name, one such place or all of them, and where it is counted or picked from.

    It is always true, and can be read a second time no more; it has no length, and no places.
    """
    named = [
        node.value for node in site.nodes if isinstance(node, ast.Assign) and _is_once(node.value)
    ]
    groups = [[value] for value in named] + ([named] if len(named) > 1 else [])
    for values in groups:
        edits = [_put(site, value, f"list({site.text(value)})") for value in values]
        yield site.edit(edits, values[0], "call", 0.5)
    for node in site.nodes:
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[value]) | ast.Subscript(value=value) if (
                _is_once(value)
            ):
                edit = _put(site, value, f"list({site.text(value)})")
                yield site.edit([edit], value, "call", 0.9)
            case _:
                pass


def _is_once(value: ast.expr) -> bool:
    """Whether an expression calls what gives its items once."""
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in _ONCE
        case _:
            return False


_CONTAINERS: Final = ast.List | ast.ListComp | ast.Dict | ast.DictComp | ast.Set | ast.SetComp
_TRUTHS: Final = ast.Compare | ast.BoolOp | ast.Constant | ast.Starred | ast.Lambda


def _wrapped(site: Site, value: ast.expr, share: float) -> Iterator[Mutation]:
    if isinstance(value, _TRUTHS):
        return
    for form, weight in _WRAPS.items():
        numeric = form.startswith(("abs", "int", "float", "round"))
        if numeric and isinstance(value, _CONTAINERS | ast.JoinedStr):
            continue
        yield from _wrap(site, value, form, weight * share)


def _wrap(site: Site, value: ast.expr, form: str, weight: float) -> Iterator[Mutation]:
    text = site.text(value)
    if text.startswith(form.partition("{")[0] or "\0"):
        return
    if form.startswith("{") and isinstance(value, ast.BinOp | ast.IfExp | ast.UnaryOp):
        text = f"({text})"
    yield site.replace(value, form.replace("{}", text), "call", weight)


def _bounds(site: Site) -> Iterator[Mutation]:
    """The larger or smaller one of two values where only one is taken: `best = x` for `best = max(best, x)`."""
    stored = [n.id for n in site.of(ast.Name) if isinstance(n, ast.Name) and _is_stored(n)]
    for node in site.of(ast.Assign):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored.count(name) > 1:
                yield from _larger_smaller(site, value, name)
            case _:
                pass
    fields = [
        n for n in site.of(ast.Attribute) if isinstance(n, ast.Attribute) and _is_read(site, n)
    ]
    for field in fields:
        rivals = {site.text(f) for f in fields if f.attr == field.attr} - {site.text(field)}
        for rival in sorted(rivals):
            yield from _larger_smaller(site, field, rival)


def _larger_smaller(site: Site, value: ast.expr, rival: str) -> Iterator[Mutation]:
    for name in ("max", "min"):
        yield site.replace(value, f"{name}({rival}, {site.text(value)})", "bound", 0.2)


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _is_read(site: Site, node: ast.Attribute) -> bool:
    parent = site.parent(node)
    return isinstance(node.ctx, ast.Load) and not (
        isinstance(parent, ast.Call) and parent.func is node
    )
