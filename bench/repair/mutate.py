"""Seeded mutants: one to three operators at once, each at a place of its own in the body of a right solution."""

import ast
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from bench.repair.tasks import Task

Edit: TypeAlias = Callable[[Any], ast.AST]
"""From a node, whose kind its operator has looked at, to what stands in its place."""

HOW_MANY: Final = (1, 2, 2, 3)
"""Drawn with equal chance, so that three mutants of four have two operators or more."""

_COMPARISONS: Final[Mapping[type[ast.cmpop], Sequence[type[ast.cmpop]]]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: Final[Mapping[type[ast.operator], Sequence[type[ast.operator]]]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add, ast.FloorDiv),
    ast.Div: (ast.FloorDiv, ast.Mult),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
}
_TWINS: Final = {"min": "max", "max": "min", "any": "all", "all": "any", "upper": "lower"} | {
    "lower": "upper", "isupper": "islower", "islower": "isupper", "append": "extend"
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One place in a body and one thing that could be done to it."""

    index: int
    """Of the node in the order of `ast.walk` over the body."""
    operator: str
    edit: Edit


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A task's function with operators applied to its body."""

    source: str
    operators: tuple[str, ...]
    parts: tuple[str, ...]
    """The same with only one of the operators each; empty when there is just one."""


def _comparing(operator: type[ast.cmpop]) -> Edit:
    return lambda n: _set(n, "ops", [operator(), *n.ops[1:]])


def _computing(operator: type[ast.operator]) -> Edit:
    return lambda n: _set(n, "op", operator())


def _reading(name: str) -> Edit:
    return lambda _n: ast.Name(name, ast.Load())


def _compare(node: ast.AST, _names: Sequence[str]) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Compare):
        for other in _COMPARISONS.get(type(node.ops[0]), ()):
            yield "compare", _comparing(other)


def _arithmetic(node: ast.AST, _names: Sequence[str]) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.BinOp | ast.AugAssign):
        for other in _ARITHMETIC.get(type(node.op), ()):
            yield "arithmetic", _computing(other)


def _boolean(node: ast.AST, _names: Sequence[str]) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.BoolOp):
        other = ast.And if isinstance(node.op, ast.Or) else ast.Or
        yield "boolean", lambda n: _set(n, "op", other())
        yield "dropped operand", lambda n: n.values[0]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield "dropped sign", lambda n: n.operand
    if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Constant):
        yield "negated condition", lambda n: _set(n, "test", ast.UnaryOp(ast.Not(), n.test))


def _constant(node: ast.AST, _names: Sequence[str]) -> Iterator[tuple[str, Edit]]:
    if not isinstance(node, ast.Constant):
        return
    if isinstance(node.value, bool):
        yield "boolean constant", lambda n: ast.Constant(not n.value)
    elif isinstance(node.value, int):
        yield "constant + 1", lambda n: ast.Constant(n.value + 1)
        yield "constant - 1", lambda n: ast.Constant(n.value - 1)
    elif node.value == "":
        yield "string constant", lambda _n: ast.Constant(" ")


def _name(node: ast.AST, names: Sequence[str]) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for other in names:
            if other != node.id:
                yield "other variable", _reading(other)
    if isinstance(node, ast.Name) and node.id in _TWINS:
        yield "twin function", lambda n: ast.Name(_TWINS[n.id], ast.Load())
    if isinstance(node, ast.Attribute) and node.attr in _TWINS:
        yield "twin function", lambda n: _set(n, "attr", _TWINS[n.attr])


def _call(node: ast.AST, _names: Sequence[str]) -> Iterator[tuple[str, Edit]]:
    if not isinstance(node, ast.Call):
        return
    if len(node.args) == 2:
        yield "argument order", lambda n: _set(n, "args", n.args[::-1])
    if node.keywords:
        yield "dropped keyword", lambda n: _set(n, "keywords", n.keywords[1:])
    droppable = ("sorted", "abs", "set", "int", "round", "list", "reversed")
    if isinstance(node.func, ast.Name) and node.func.id in droppable and len(node.args) == 1:
        yield "dropped call", lambda n: n.args[0]


def _statement(node: ast.AST, _names: Sequence[str]) -> Iterator[tuple[str, Edit]]:
    if isinstance(node, ast.Break):
        yield "break to continue", lambda _n: ast.Continue()
    if isinstance(node, ast.Continue):
        yield "continue to break", lambda _n: ast.Break()
    if isinstance(node, ast.AugAssign):
        yield "plain assignment", lambda n: ast.Assign([n.target], n.value, lineno=0)
    if isinstance(node, ast.Slice) and node.upper is not None and node.lower is not None:
        yield "dropped slice bound", lambda n: _set(n, "upper", None)


def _set(node: ast.AST, field: str, value: object) -> ast.AST:
    setattr(node, field, value)
    return node


_OPERATORS: Final = (_compare, _arithmetic, _boolean, _constant, _name, _call, _statement)


class _Apply(ast.NodeTransformer):
    """Applies edits bottom up, so that an edit inside another one's node is kept."""

    def __init__(self, edits: Mapping[int, Edit]) -> None:
        self._edits = edits

    def visit(self, node: ast.AST) -> ast.AST:
        edit = self._edits.get(id(node))
        done = self.generic_visit(node)
        return edit(done) if edit else done


def _body(task: Task) -> tuple[list[ast.stmt], list[str]]:
    """The statements after the docstring, and the names that the function binds."""
    tree = ast.parse(task.prompt + task.canonical)
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == task.entry)
    names = {a.arg for a in function.args.args}
    names |= {
        n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return function.body[1:] if documented else function.body, sorted(names)


def sites(task: Task) -> list[Site]:
    """All places of a task's body with all that could be done to them."""
    body, names = _body(task)
    return [
        Site(index=index, operator=operator, edit=edit)
        for index, node in enumerate(ast.walk(ast.Module(body, [])))
        for rule in _OPERATORS
        for operator, edit in rule(node, names)
    ]


def _render(task: Task, chosen: Sequence[Site]) -> str:
    body, _ = _body(task)
    module = ast.Module(body, [])
    nodes = list(ast.walk(module))
    _Apply({id(nodes[s.index]): s.edit for s in chosen}).visit(module)
    text = ast.unparse(ast.fix_missing_locations(module))
    lines = ["    " + line if line else line for line in text.splitlines()]
    return task.prompt.rstrip() + "\n" + "\n".join(lines) + "\n"


def draw(task: Task, chance: random.Random) -> Mutant | None:
    """One mutant; None when this draw gives nothing new (too few places, or the tree is as before)."""
    places = sites(task)
    wanted = chance.choice(HOW_MANY)
    by_operator: dict[str, list[Site]] = {}
    for site in places:
        by_operator.setdefault(site.operator, []).append(site)
    chosen: dict[int, Site] = {}
    for _ in range(8 * wanted if by_operator else 0):
        site = chance.choice(by_operator[chance.choice(sorted(by_operator))])
        chosen.setdefault(site.index, site)
        if len(chosen) == wanted:
            break
    if len(chosen) < wanted:
        return None
    picked = [chosen[index] for index in sorted(chosen)]
    source = _render(task, picked)
    if ast.dump(ast.parse(source)) == ast.dump(ast.parse(_render(task, []))):
        return None
    parts = tuple(_render(task, [site]) for site in picked) if wanted > 1 else ()
    return Mutant(source=source, operators=tuple(s.operator for s in picked), parts=parts)
