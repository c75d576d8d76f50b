"""Conditions that no argument decides: somebody meant another name in what they are computed from, or another number."""

import ast
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from surefoot.execute.source import FunctionNode

_PURE: Final = frozenset(
    {
        "abs", "all", "any", "bool", "chr", "float", "int", "len", "max", "min", "ord", "round", "str", "sum",
    }
)  # fmt: skip
"""Functions that give the same value for the same, one that nothing can change."""
_PLAIN: Final = (ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp)
_MADE_OF: Final = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def settled(before: FunctionNode, after: FunctionNode) -> frozenset[str]:
    """Tests of `if`, `while` and conditional expressions of a changed function that its constants alone decide, as text.

    A test of names that are set to plain constants is a switch, and meant, where they were that before, or new. What is
    computed is not. Nor is a comparison with a number that a remainder or a length never reaches, or always. Only what is
    certain is told: values that nothing can change, read in ways that are known.
    """
    bound, bound_before = _bound(after), _bound(before)
    pure = _PURE - bound.keys()
    known = _constants(after, bound, pure)
    was = _constants(before, bound_before, _PURE - bound_before.keys())
    return _out_of_reach(after, pure) | frozenset(
        ast.unparse(node.test)
        for node in ast.walk(after)
        if isinstance(node, ast.If | ast.While | ast.IfExp)
        and (read := _names(node.test, ast.Load) & known.keys())
        and _reads_constants(node.test, known, pure)
        and (
            _computes(node.test)
            or any(known[n] or (n in bound_before and was.get(n, True)) for n in read)
        )
    )


def _out_of_reach(function: FunctionNode, pure: Collection[str]) -> frozenset[str]:
    """Comparisons of a remainder or a length with a number by which they always end alike, as text."""
    return frozenset(
        ast.unparse(node)
        for node in ast.walk(function)
        if isinstance(node, ast.Compare)
        and len(node.ops) == 1
        and _ends_alike(node.left, node.ops[0], node.comparators[0], pure)
    )


def _ends_alike(left: ast.expr, op: ast.cmpop, right: ast.expr, pure: Collection[str]) -> bool:
    """Whether a comparison with a number gives the same for all that what is compared can be."""
    reach, number = _reach(left, pure), _number(right)
    if reach is None or number is None:
        return False
    least, most = reach
    match op:
        case ast.Eq() | ast.NotEq():
            return not least <= number <= most or least == most
        case ast.Lt() | ast.GtE():
            return number <= least or number > most
        case ast.Gt() | ast.LtE():
            return number < least or number >= most
        case _:
            return False


def _reach(node: ast.expr, pure: Collection[str]) -> tuple[float, float] | None:
    """The least and the largest value of a remainder or a length; None for anything else."""
    match node:
        case ast.BinOp(left=divided, op=ast.Mod(), right=divisor):
            number = _number(divisor)
            if number is None or number <= 0:
                return None
            whole = isinstance(number, int) and _is_whole(divided, pure)
            return 0, number - 1 if whole else math.nextafter(number, 0)
        case ast.Call(func=ast.Name(id="len")) if "len" in pure:
            return 0, math.inf
        case _:
            return None


def _is_whole(node: ast.expr, pure: Collection[str]) -> bool:
    """Whether an expression is a whole number, for certain."""
    match node:
        case ast.Call(func=ast.Name(id="int" | "len" | "ord" as name)):
            return name in pure
        case _:
            return False


def _number(node: ast.expr) -> float | None:
    """A number that is written down, with its sign."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case _:
            return None


def _constants(
    function: FunctionNode, bound: Mapping[str, int], pure: Collection[str]
) -> Mapping[str, bool]:
    """Names that are set once, by a statement that is always reached, to what is made of constants; whether that is computed."""
    lent = _lent(function, pure)
    known: dict[str, bool] = {}
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                pass
            case _:
                continue
        if bound[name] != 1 or (name in lent and not _is_unchanging(value, pure)):
            continue
        if _is_flat(value) or _reads_constants(value, known, pure):
            known[name] = _computes(value) or any(
                known[n] for n in _names(value, ast.Load) & known.keys()
            )
    return known


def _bound(function: FunctionNode) -> Counter[str]:
    """How often a function binds each name, in whatever way; one of another scope twice."""
    found = Counter[str]()
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                found[name] += 1
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ):
                found[name] += 1
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                found[name] += 1
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                found[name] += 1
            case ast.alias(name=name, asname=other):
                found[other or name.partition(".")[0]] += 1
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                found.update(2 * names)
            case _:
                pass
    return found


def _is_unchanging(value: ast.expr, pure: Collection[str]) -> bool:
    """Whether what an expression gives is no list or the like, for certain."""
    match value:
        case ast.Constant() | ast.Compare() | ast.UnaryOp():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in pure
        case _:
            return False


def _is_flat(value: ast.expr) -> bool:
    """Whether an expression is a list, tuple or set of plain constants, of which only the whole can be changed."""
    match value:
        case ast.List(elts=items) | ast.Tuple(elts=items) | ast.Set(elts=items):
            return all(isinstance(item, ast.Constant) for item in items)
        case _:
            return False


def _lent(function: FunctionNode, pure: Collection[str]) -> frozenset[str]:
    """Names that are read otherwise than to look into what they hold: whoever gets that may change it."""
    looked: set[int] = set()
    for node in ast.walk(function):
        looked.update(id(n) for n in _looked_into(node, pure))
    return frozenset(
        n.id
        for n in ast.walk(function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in looked
    )


def _looked_into(node: ast.AST, pure: Collection[str]) -> Iterator[ast.expr]:
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[held]):
            yield held
        case ast.Subscript(value=held, ctx=ast.Load()):
            yield held
        case ast.comprehension(iter=held):
            yield held
        case ast.Call(func=ast.Name(id=name), args=args) if name in pure:
            yield from args
        case _:
            pass


def _reads_constants(node: ast.AST, known: Collection[str], pure: Collection[str]) -> bool:
    """Whether an expression is made of constants, known names, and what is certain to give the same for the same."""
    parts: Iterable[ast.AST]
    match node:
        case ast.Constant():
            parts = ()
        case ast.Name(id=name, ctx=ast.Load()):
            return name in known
        case ast.Subscript(value=held, slice=place, ctx=ast.Load()):
            parts = (held, place)
        case ast.Call(
            func=ast.Name(id="len"), args=[ast.ListComp(generators=[one])], keywords=[]
        ) if "len" in pure:
            # However many it has, what they are says nothing of that.
            counted = ast.ListComp(elt=ast.Constant(value=0), generators=[one])
            return _reads_constants(counted, known, pure)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in pure:
            parts = args
        case ast.Call(func=ast.Attribute(value=held), args=args, keywords=[]):
            parts = (held, *args)
        case (
            ast.ListComp(elt=item, generators=[one]) | ast.GeneratorExp(elt=item, generators=[one])
        ):
            if not _reads_constants(one.iter, known, pure):
                return False
            known, parts = {*known, *_names(one.target, ast.Store)}, (item, *one.ifs)
        case _ if isinstance(node, _PLAIN):
            parts = (n for n in ast.iter_child_nodes(node) if not isinstance(n, _MADE_OF))
        case _:
            return False
    return all(_reads_constants(part, known, pure) for part in parts)


def _computes(value: ast.expr) -> bool:
    """Whether an expression calls or picks something."""
    return any(isinstance(n, ast.Call | ast.Subscript) for n in ast.walk(value))


def _names(node: ast.expr, used: type[ast.expr_context]) -> frozenset[str]:
    """Names that an expression reads (`ast.Load`) or binds (`ast.Store`)."""
    names = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return frozenset(n.id for n in names if isinstance(n.ctx, used))
