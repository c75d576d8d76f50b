"""What code does in the stories that tests tell of it, told again with other literals.

A method is called on an object that no literal writes down, so there are no inputs to make up for it; but the tests build
such objects. A story is a test's body in which each assertion became a look at what it asserts; its variations change
literals on the way. What candidates that pass all known tests give in them tells the candidates apart. The idea is that
of test amplification: Danglot et al., "An approach and benchmark to detect behavioral changes of commits in continuous
integration" (2020). Pure and deterministic by seed; stories are run by a probe.
"""

import ast
import copy
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from surefoot.execute.repair.examples import is_literal, rows_of
from surefoot.execute.repair.localise import function_of
from surefoot.execute.source import FunctionNode, Source, last_name, unit_nodes
from surefoot.syntax import parse

LOOK: Final = "__look"
"""Name of the function that a story hands each thing to look at, as a function without arguments."""
_MOST_LINES: Final = 40
_MOST_STORIES: Final = 12
_TRIES: Final = 20
_WAITS: Final = (ast.Await, ast.Yield, ast.YieldFrom, ast.AsyncFor, ast.AsyncWith)
_RAISES: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex", "warns", "assertWarns"})
_LEFT_AND_RIGHT: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A function `story()` to be run in the namespace of a test file."""

    path: str
    """The test file."""
    text: str
    steady: bool
    """Its test passes on the unchanged code."""


def stories_of(
    sources: Iterable[Source],
    names: Collection[str],
    *,
    failing: Iterable[str],
    seed: int,
    count: int,
) -> tuple[Story, ...]:
    """At most `count` stories in which tests name one of `names`: as they stand, then with other literals.

    Args:
        sources: Test files.
        names: Functions, or classes of methods that are not called by their names.
        failing: Ids of the tests that fail on the unchanged code.
        seed: Of the variations.
        count: Stories.
    """
    bad = {function_of(test) for test in failing}
    told = [
        (Story(path=s.path, text=_text(body, names), steady=(s.path, test) not in bad), body)
        for s in sources
        for test, body in _bodies(s, names)
    ][:_MOST_STORIES]
    chance = random.Random(seed)  # noqa: S311  # inputs, not secrets
    found = {story: None for story, _ in told}
    for _ in range(count * _TRIES if told else 0):
        if len(found) >= count:
            break
        story, body = chance.choice(told)
        for _ in range(chance.choice((1, 1, 2))):
            body = _varied(body, names, chance)
        found.setdefault(replace(story, text=_text(body, names)))
    return tuple(found)[:count]


def _bodies(source: Source, names: Collection[str]) -> Iterator[tuple[str, list[ast.stmt]]]:
    """Names and bodies of tests that name one of `names` and need nothing but what their file holds."""
    for unit, node in unit_nodes(source):
        named = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
        named |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        whole = not any(isinstance(n, _WAITS) for n in ast.walk(node))
        short = unit.last_line - unit.first_line <= _MOST_LINES
        if unit.name.startswith("test") and not named.isdisjoint(names) and whole and short:
            yield from ((unit.name, body) for body in _given(node) if _is_free(body, names))


def _given(node: FunctionNode) -> Iterator[list[ast.stmt]]:
    """A test's body for the first and the last row of its table; none where it wants a fixture."""
    wanted = {a.arg for a in node.args.args} - {"self"}
    rows = rows_of(node)
    for row in rows if len(rows) == 1 else (rows[0], rows[-1]):
        if wanted <= set(row):
            given: list[ast.stmt] = [
                ast.Assign(targets=[ast.Name(id=key, ctx=ast.Store())], value=row[key])
                for key in sorted(wanted)
            ]
            yield copy.deepcopy([*given, *node.body])


def _is_free(body: Sequence[ast.stmt], names: Collection[str]) -> bool:
    """Whether the story that a body tells reads nothing of its test's object: what `setUp` gave that is not there."""
    return not _reads_self(parse(_text(body, names)))


def _reads_self(node: ast.AST) -> bool:
    """Whether some code reads a `self` that it is not given by itself, as a method of a class within is."""
    if isinstance(node, FunctionNode) and any(a.arg == "self" for a in node.args.args):
        return False
    return (isinstance(node, ast.Name) and node.id == "self") or any(
        map(_reads_self, ast.iter_child_nodes(node))
    )


def _text(body: Sequence[ast.stmt], names: Collection[str]) -> str:
    """The story that a body tells."""
    looking = _Looking(names)
    rows = [looking.visit(s) for s in copy.deepcopy(list(body))]
    story = parse("def story(): pass").body[0]
    if isinstance(story, ast.FunctionDef):
        story.body = rows
    return ast.unparse(ast.fix_missing_locations(story))


class _Looking(ast.NodeTransformer):
    """Assertions become looks, expected errors become silence, and each call of the code in question is looked at."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        match node.test:
            case ast.Compare(left=left, comparators=comparators):
                return self._looked([left, *comparators])
            case test:
                return self._looked([test])

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        call = node.value
        if isinstance(call, ast.Call) and last_name(call.func).startswith("assert") and call.args:
            return self._looked(call.args[:_LEFT_AND_RIGHT])
        self.generic_visit(node)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:
        calls = [i.context_expr for i in node.items if isinstance(i.context_expr, ast.Call)]
        self.generic_visit(node)
        if any(last_name(c.func) in _RAISES for c in calls):
            quiet = ast.ExceptHandler(
                type=ast.Name(id="Exception", ctx=ast.Load()), name=None, body=[ast.Pass()]
            )
            return ast.Try(body=node.body, handlers=[quiet], orelse=[], finalbody=[])
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        return self._look(node) if last_name(node.func) in self._names else node

    def _looked(self, sides: Sequence[ast.expr]) -> ast.stmt:
        """A look at each side that the test does not write down itself."""
        seen = [self._look(self.visit(side)) for side in sides if not is_literal(ast.unparse(side))]
        return ast.Expr(value=ast.Tuple(elts=list(seen), ctx=ast.Load()))

    def _look(self, value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Call) and last_name(value.func) == LOOK:
            return value
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        look = ast.Name(id=LOOK, ctx=ast.Load())
        return ast.Call(func=look, args=[ast.Lambda(args=nothing, body=value)], keywords=[])


def _varied(
    body: Sequence[ast.stmt], names: Collection[str], chance: random.Random
) -> list[ast.stmt]:
    """The body with one literal of a call or an index changed, or a last argument left out, where there is one."""
    changed = copy.deepcopy(list(body))
    places: list[tuple[ast.AST, ast.Constant | None]] = []
    for statement in changed:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and last_name(node.func) not in _RAISES:
                # What is asked of the code in question is varied twice as often as what leads to it.
                weight = 2 if last_name(node.func) in names else 1
                given = [*node.args, *(k.value for k in node.keywords)]
                inner = [c for g in given for c in ast.walk(g) if isinstance(c, ast.Constant)]
                places.extend((node, c) for c in inner for _ in range(weight))
                if node.args and weight > 1:
                    places.append((node, None))
            elif isinstance(node, ast.Subscript | ast.Assign):
                part = node.slice if isinstance(node, ast.Subscript) else node.value
                inner = [c for c in ast.walk(part) if isinstance(c, ast.Constant)]
                places.extend((node, c) for c in inner)
    node, constant = chance.choice(places or [(ast.Pass(), None)])
    if constant is not None:
        constant.value = _other(constant.value, chance)
    elif isinstance(node, ast.Call):
        node.args.pop()
    return changed


def _other(value: object, chance: random.Random) -> str | int | float | bool | bytes | None:
    """A value of the same kind beside one."""
    match value:
        case bool():
            return not value
        case int():
            return chance.choice([value + 1, value - 1, 0, -value, -1, value + 2])
        case float():
            return chance.choice([value + 0.5, value - 0.5, 0.0, -value])
        case str():
            return chance.choice([value[:-1], value[1:], value + value[:1], value[::-1], "", "x"])
        case bytes():
            return chance.choice([value[:-1], value[1:], value[::-1], b""])
        case _:
            return chance.choice([0, 1])
