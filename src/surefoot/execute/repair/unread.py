"""What a function has and no longer uses: a change that leaves such names has lost something on its way."""

import ast
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from surefoot.execute.repair.settled import settled
from surefoot.execute.source import CodeUnit, FunctionNode, Source, docstring_of, last_name, node_of
from surefoot.syntax import docstring_ids, docstring_node

_SEES_ALL: Final = frozenset({"locals", "vars", "eval", "exec"})
"""Calls that read names without naming them."""
_TELLS_ANY: Final = frozenset({"ord", "re", "string"})
"""Names with which any kind of characters may be told."""
_SIGN: Final = re.compile(r"""(?<!\w)(['"`])([^\w\s'"`])\1(?!\w)""")
"""A sign by itself in quotes, as a docstring names what delimits sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Characters:
    """A kind of characters that docstrings name and code tells from others."""

    named: str
    """What a docstring's word for them begins with."""
    asked: frozenset[str]
    """Methods of a text that ask for them, or make them."""
    are: Callable[[str], bool]
    """Whether all characters of a text are of this kind."""

    def are_asked_in(self, function: FunctionNode) -> bool:
        """Whether a function calls such a method."""
        return any(
            isinstance(n, ast.Attribute) and n.attr in self.asked for n in ast.walk(function)
        )

    def are_told_in(self, function: FunctionNode) -> bool:
        """Whether a function tells them from others, in whatever way but by the words of its docstring."""
        docstring = docstring_node(function)
        return self.are_asked_in(function) or any(
            (isinstance(n, ast.Name) and n.id in _TELLS_ANY)
            or (isinstance(n, ast.Constant) and isinstance(n.value, str) and self.are(n.value))
            for n in ast.walk(function)
            if n is not docstring
        )


_KINDS: Final = (
    _Characters(
        named="digit", asked=frozenset({"isdigit", "isdecimal", "isnumeric"}), are=str.isdigit
    ),
    _Characters(
        named="upper",
        asked=frozenset({"isupper", "istitle", "upper", "title", "capitalize", "swapcase"}),
        are=str.isupper,
    ),
    _Characters(
        named="lower",
        asked=frozenset({"islower", "istitle", "lower", "casefold", "swapcase"}),
        are=str.islower,
    ),
)


def unread(function: FunctionNode) -> frozenset[str]:
    """Parameters, and names that are set, of which nothing in a function reads the value.

    Names that a `with` or an unpacking sets, and that a loop over a `range` counts with, often are not, and not counted.
    """
    found, read = _had(function)
    if read & _SEES_ALL or function.name.startswith("__"):
        return frozenset()
    return frozenset(n for n in found - read if not n.startswith("_"))


def dropped(before: Source, after: Source, unit: CodeUnit | None) -> frozenset[str]:
    """Names that a unit had and read before, and still has and reads nowhere after a change; imports of the file likewise."""
    was, now = node_of(before, unit), node_of(after, unit)
    if was is None or now is None:
        return frozenset()
    found, read = _had(was)
    had, has = _inner(was), _inner(now)
    inner = {name for name, idle in has.items() if idle > had.get(name, idle)}
    own = unread(now) & found & read
    return own | inner | (_imported(before) & _imported(after, used=False))


def idles(before: Source, after: Source, unit: CodeUnit | None) -> bool:
    """Whether something of a unit does nothing after a change: a name that is dropped, a condition that no argument decides, or a statement that is cut off.

    Likewise a kind of characters that the docstring names, for which a text was asked, and which is told from others no more,
    and signs that it names beside one that is told, and that are told nowhere.
    """
    was, now = node_of(before, unit), node_of(after, unit)
    if was is None or now is None:
        return False
    idle = dropped(before, after, unit) or settled(was, now) or _is_forgotten(was, now)
    return bool(idle) or _cut_off(now) > _cut_off(was) or _is_unheeded(now, after)


def _is_forgotten(was: FunctionNode, now: FunctionNode) -> bool:
    """Whether a function asked for digits, say, of which its docstring speaks, and no longer does."""
    docstring = docstring_node(was)
    words = str(docstring.value).lower().split() if docstring is not None else ()
    named = [k for k in _KINDS if any(word.lstrip("('\"").startswith(k.named) for word in words)]
    return any(k.are_asked_in(was) and not k.are_told_in(now) for k in named)


def _is_unheeded(function: FunctionNode, source: Source) -> bool:
    """Whether a docstring names '.', '?' and '!', say, of which its function tells some, and two or more are told nowhere in the file."""
    signs = {sign for _, sign in _SIGN.findall(docstring_of(function))}
    # The other one of two may be told by an `else`.
    if not signs or not _told(signs, function) or _had(function)[1] & _TELLS_ANY:
        return False
    return len(signs - _told(signs, source.tree)) > 1


def _told(signs: Iterable[str], root: ast.AST) -> set[str]:
    """Those of some signs that stand in a text of the code, but for its docstrings."""
    docstrings = docstring_ids(root)
    texts = [
        n.value
        for n in ast.walk(root)
        if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in docstrings
    ]
    return {sign for sign in signs if any(sign in text for text in texts)}


def _cut_off(function: FunctionNode) -> int:
    """Statements that stand behind one which always leaves their block; but for a `yield`, which says what the function is."""
    blocks = (
        block
        for node in ast.walk(function)
        for _, block in ast.iter_fields(node)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt)
    )
    behind = itertools.chain.from_iterable(
        itertools.islice(itertools.dropwhile(_goes_on, block), 1, None) for block in blocks
    )
    return sum(not _yields(statement) for statement in behind)


def _yields(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in ast.walk(statement))


def _goes_on(statement: ast.stmt) -> bool:
    """Whether what stands behind a statement may be reached from it."""
    match statement:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return False
        case ast.If(body=body, orelse=[_, *_] as others):
            return all(map(_goes_on, body)) or all(map(_goes_on, others))
        case _:
            return True


def taken_in_vain(before: Source, after: Source, unit: CodeUnit | None) -> str | None:
    """A parameter that a unit takes since a change, and reads nowhere, or not before it sets it; None when there is none."""
    was, now = node_of(before, unit), node_of(after, unit)
    if was is None or now is None or _had(now)[1] & _SEES_ALL or now.name.startswith("__"):
        return None
    fresh = sorted(_parameters(now) - _parameters(was) - {"self", "cls"})
    return next((name for name in fresh if _is_vain(now, name)), None)


def _is_vain(function: FunctionNode, name: str) -> bool:
    for statement in function.body:
        named = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name]
        if named:
            sets = isinstance(statement, ast.Assign | ast.AnnAssign)
            return sets and not any(isinstance(n.ctx, ast.Load) for n in named)
    return True


def _parameters(function: FunctionNode | ast.Lambda) -> frozenset[str]:
    arguments = function.args
    named = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return frozenset(a.arg for a in named)


def _inner(function: FunctionNode) -> dict[str, int]:
    """Names that comprehensions and functions within a function have for themselves, and how many of these read theirs nowhere.

    A name of the same spelling elsewhere is another one, so that reading that uses none of these.
    """
    idle: dict[str, int] = {}
    for node in ast.walk(function):
        taken = _taken(node) if node is not function else frozenset()
        read = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_read(n)}
        for name in taken:
            idle[name] = idle.get(name, 0) + (not read & {name, *_SEES_ALL})
    return idle


def _taken(node: ast.AST) -> frozenset[str]:
    """The names that a scope takes from what it goes over or is called with."""
    match node:
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            over = (g for g in node.generators if not _counts(g.iter))
            return frozenset(g.target.id for g in over if isinstance(g.target, ast.Name))
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            return _parameters(node)
        case _:
            return frozenset()


def _is_read(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def _imported(source: Source, *, used: bool = True) -> frozenset[str]:
    """Names that a file imports anywhere, and reads or reads not."""
    imports = (n for n in ast.walk(source.tree) if isinstance(n, ast.Import | ast.ImportFrom))
    names = {(a.asname or a.name).partition(".")[0] for node in imports for a in node.names}
    read = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
    return frozenset(n for n in names if (n in read) is used)


def _had(function: FunctionNode) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a function takes or sets one by one, and those that it reads."""
    had = set(_parameters(function))
    read: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets):
                had.update(t.id for t in targets if isinstance(t, ast.Name))
            case (
                ast.For(target=ast.Name(id=name), iter=over)
                | ast.comprehension(target=ast.Name(id=name), iter=over)
            ) if not _counts(over):
                had.add(name)
            case ast.FunctionDef(name=name) if node is not function:
                had.add(name)
            case ast.AnnAssign(target=ast.Name(id=name)) | ast.NamedExpr(target=ast.Name(id=name)):
                had.add(name)
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                read.update(names)
            case _:
                pass
    return frozenset(had - {"self", "cls"}), frozenset(read)


def _counts(over: ast.expr) -> bool:
    """Whether a loop only counts."""
    return isinstance(over, ast.Call) and last_name(over.func) == "range"
