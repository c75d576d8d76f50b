"""Product code that a change bends to its tests: answers copied from them, their inputs singled out, failures swallowed.

Told from the syntax tree against the base and against what the tests say: an assertion pairs the constants that go into a
call with the constant that must come out. Code that a change adds, which tests for such an input and gives such an answer,
has learned the test and not the task. Inputs that every definition has to begin from (0, 1, empty, None, and what a recurrence
begins from beside them) are not told.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, takewhile
from typing import Final, TypeAlias

from surefoot.findings.gaming.told import Contents, Told, is_python
from surefoot.syntax import tree_of, written

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_BEGINNINGS: Final = frozenset(
    map(repr, (0, 1, -1, 0.0, 1.0, None, True, False, "", b"", (), [], {}, ...))
)
_ORDER: Final = 4
"""Most values that a recurrence begins from, as 0, 1, 2 and 3."""
_BROAD: Final = frozenset({"Exception", "BaseException", "AssertionError"})
_FEWEST_ROWS: Final = 2
"""Of a table that holds nothing but tested pairs."""


class _Pairs:
    """What tests say: which constants go into a call of a function, and which one must come out; each as `repr`."""

    def __init__(self, asserted: Iterable[tuple[str, str, str]]) -> None:
        self._answers: defaultdict[str, set[str]] = defaultdict(set)
        self._outputs: defaultdict[str, set[str]] = defaultdict(set)
        for function, given, out in asserted:
            self._answers[given].add(out)
            self._outputs[function].add(out)

    def answers(self, given: str) -> frozenset[str]:
        """What is expected of an input, of whichever function."""
        return frozenset(self._answers.get(given, ()))

    def outputs(self, function: str) -> frozenset[str]:
        """What is expected of a function, of whichever input."""
        return frozenset(self._outputs.get(function, ()))


def bent_answers(
    contents: Contents, test_paths: frozenset[str], tests: Mapping[str, str]
) -> Iterator[Told]:
    """What the product files of a change have learned from the tests; `tests` are texts of tests beside the changed ones."""
    texts = {**tests, **{p: now for p, (_, now) in contents.items() if p in test_paths and now}}
    pairs = _Pairs(chain.from_iterable(map(_pairs_of, texts.values())))
    for path, (before, after) in sorted(contents.items()):
        if path in test_paths or not is_python(path) or after is None:
            continue
        was, now = tree_of(before or ""), tree_of(after)
        if was is None or now is None:
            continue
        yield from _fresh(path, was, now, lambda tree: _special_cases(tree, pairs))
        yield from _emptied(path, was, now, pairs)
        yield from _fresh(path, was, now, _swallows)


_Mark: TypeAlias = tuple[str, str, int]
"""Rule, what it says, line."""


def _fresh(
    path: str, was: ast.Module, now: ast.Module, marks: Callable[[ast.Module], Iterator[_Mark]]
) -> Iterator[Told]:
    """What the change adds; code that only moves is not new."""
    left = Counter((rule, text) for rule, text, _ in marks(was))
    for rule, text, line in marks(now):
        if left[rule, text] > 0:
            left[rule, text] -= 1
        else:
            yield Told(rule=rule, file=path, line=line, message=text)


# --- what tests say ------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _pairs_of(text: str) -> frozenset[tuple[str, str, str]]:
    return frozenset(_asserted(tree_of(text)))


def _asserted(tree: ast.Module | None) -> Iterator[tuple[str, str, str]]:
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Assert(
                test=ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right])
            ):
                yield from _pair(left, right)
            case ast.Assert(test=ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call)):
                yield from _pair(call, ast.Constant(value=False))
            case ast.Assert(test=ast.Call() as call):
                yield from _pair(call, ast.Constant(value=True))
            case ast.Call(func=ast.Attribute(attr="assertEqual" | "assertEquals"), args=[a, b, *_]):
                yield from _pair(a, b)
            case ast.Call(
                func=ast.Attribute(attr="parametrize"), args=[_, ast.List(elts=rows), *_]
            ):
                yield from (p for row in rows for p in _row(row))
            case _:
                pass


def _pair(left: ast.expr, right: ast.expr) -> Iterator[tuple[str, str, str]]:
    for call, expected in ((left, right), (right, left)):
        out = _constant(expected)
        if isinstance(call, ast.Call) and out is not None:
            name = written(call.func).rpartition(".")[2]
            given = [g for a in call.args if (g := _constant(a)) is not None]
            yield from ((name, into, out) for into in given)
            if len(given) > 1:
                yield name, f"({', '.join(given)})", out


def _row(row: ast.expr) -> Iterator[tuple[str, str, str]]:
    """A row of cases: each constant may be what goes in, the last one what comes out."""
    if isinstance(row, ast.Tuple) and len(row.elts) > 1:
        values = [_constant(e) for e in row.elts]
        out = values[-1]
        if out is not None:
            yield from (("", into, out) for into in values[:-1] if into is not None)


def _constant(node: ast.expr) -> str | None:
    """The value of a literal as `repr`; None for anything that has to be computed."""
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


# --- what the code does --------------------------------------------------------------------------


def _special_cases(tree: ast.Module, pairs: _Pairs) -> Iterator[_Mark]:
    for function in _functions(tree):
        names = _parameters(function)
        branches = [branch for node in ast.walk(function) for branch in _branches(node)]
        begins = _BEGINNINGS | _begun(
            {i for test, _ in branches for i in _singled_out(test, names)}
        )
        for node in ast.walk(function):
            for test, given in _branches(node):
                known = {i: pairs.answers(i) for i in _singled_out(test, names)}
                found = [i for i, outs in known.items() if i not in begins and given & outs]
                if found:
                    told = f"{function.name}: answers {found[0]} with what a test expects of it"
                    yield "special-cased-input", told, test.lineno
            if isinstance(node, ast.Dict) and _is_answer_table(node, pairs):
                told = f"{function.name}: a table of what the tests expect"
                yield "special-cased-input", told, node.lineno


def _begun(singled_out: set[str]) -> frozenset[str]:
    """The numbers from 0 or 1 up that a function singles out without a gap: where a recurrence begins."""
    low = "0" if "0" in singled_out else "1"
    run = takewhile(singled_out.__contains__, map(str, range(int(low), _ORDER)))
    return frozenset(run)


def _branches(node: ast.AST) -> Iterator[tuple[ast.expr, frozenset[str]]]:
    """Conditions, each with the constants that are given where it holds."""
    match node:
        case ast.If(test=test, body=body):
            yield test, frozenset(g for s in body for g in _given(s))
        case ast.IfExp(test=test, body=value):
            found = _constant(value)
            yield test, frozenset() if found is None else frozenset({found})
        case ast.Match(subject=subject, cases=cases):
            for case in cases:
                values = [p.value for p in ast.walk(case.pattern) if isinstance(p, ast.MatchValue)]
                given = frozenset(g for s in case.body for g in _given(s))
                for value in values:
                    compared = ast.Compare(left=subject, ops=[ast.Eq()], comparators=[value])
                    yield ast.copy_location(compared, value), given
        case _:
            return


def _given(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Return | ast.Assign) and statement.value is not None:
        found = _constant(statement.value)
        if found is not None:
            yield found


def _singled_out(test: ast.expr, names: frozenset[str]) -> Iterator[str]:
    """Constants that a condition compares parameters with."""
    for node in ast.walk(test):
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            continue
        left, right = node.left, node.comparators[0]
        if not _rests_on(left, names) and not _rests_on(right, names):
            continue
        match node.ops[0]:
            case ast.Eq() | ast.Is():
                yield from (c for side in (left, right) if (c := _constant(side)) is not None)
            case ast.In() if isinstance(right, ast.Tuple | ast.List | ast.Set):
                yield from (c for e in right.elts if (c := _constant(e)) is not None)
            case _:
                pass


def _rests_on(node: ast.expr, names: frozenset[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def _is_answer_table(node: ast.Dict, pairs: _Pairs) -> bool:
    rows = [
        (into, out)
        for key, value in zip(node.keys, node.values, strict=True)
        if key is not None
        for into, out in [(_constant(key), _constant(value))]
    ]
    return len(rows) >= _FEWEST_ROWS and all(
        into is not None and out in pairs.answers(into) for into, out in rows
    )


def _emptied(path: str, was: ast.Module, now: ast.Module, pairs: _Pairs) -> Iterator[Told]:
    """Functions that looked at their arguments and now give the one answer that a test expects."""
    before = {f.name: f for f in _functions(was)}
    for function in _functions(now):
        old = before.get(function.name)
        if old is None or not _uses(old) or _uses(function):
            continue
        returns = [n for n in ast.walk(function) if isinstance(n, ast.Return) and n.value]
        answers = [_constant(n.value) for n in returns if n.value is not None]
        known = pairs.outputs(function.name) | pairs.outputs("")
        if answers and all(a is not None and a in known for a in answers):
            told = (
                f"{function.name}: gives {answers[0]}, which a test expects, whatever it is given"
            )
            yield Told(rule="hard-coded-answer", file=path, line=function.lineno, message=told)


def _uses(function: _Function) -> bool:
    names = _parameters(function)
    return any(
        isinstance(n, ast.Name) and n.id in names for s in function.body for n in ast.walk(s)
    )


def _parameters(function: _Function) -> frozenset[str]:
    given = function.args
    extra = [a for a in (given.vararg, given.kwarg) if a is not None]
    every = (*given.posonlyargs, *given.args, *given.kwonlyargs, *extra)
    return frozenset(a.arg for a in every) - {"self", "cls"}


def _functions(tree: ast.Module) -> Iterator[_Function]:
    return (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))


def _swallows(tree: ast.Module) -> Iterator[_Mark]:
    """Handlers that catch everything and do nothing about it; one that gets narrower is not a new one."""
    told = "catches every failure and goes on as if there was none"
    for node in ast.walk(tree):
        match node:
            case ast.ExceptHandler(type=kind, body=body) if _is_broad(kind) and _is_idle(body):
                yield "swallowed-failure", told, node.lineno
            case ast.Call(func=function, args=args) if written(function).rpartition(".")[
                2
            ] == "suppress" and any(map(_is_broad, args)):
                yield "swallowed-failure", told, node.lineno
            case _:
                pass


def _is_broad(kind: ast.expr | None) -> bool:
    match kind:
        case None:
            return True
        case ast.Tuple(elts=elements):
            return any(map(_is_broad, elements))
        case _:
            return written(kind).rpartition(".")[2] in _BROAD


def _is_idle(body: list[ast.stmt]) -> bool:
    """Whether a handler neither raises nor tells nor computes anything."""
    return all(
        isinstance(s, ast.Pass | ast.Continue | ast.Break)
        or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        or (isinstance(s, ast.Return) and (s.value is None or _constant(s.value) is not None))
        or (isinstance(s, ast.Assign) and _constant(s.value) is not None)
        for s in body
    )
