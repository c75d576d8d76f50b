"""What a change to product code adds that only makes sense against the test runner, told from the syntax tree.

Code under test runs in the process that judges it. The probe and its parent notice most ways to lie about a test; this
rule is for the rest: code that reaches for the runner, for other code's frames and cells, or for the interpreter's own
switches, and objects that call themselves equal to everything. See docs/explanation/verification.md.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from surefoot.syntax import tree_of


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MODULES: Final = _words("""
    _ctypes _pytest _testcapi _testinternalcapi atexit builtins cffi code codeop ctypes doctest faulthandler gc
    importlib.abc importlib.machinery importlib.util marshal pdb pluggy pytest runpy site sitecustomize unittest
    usercustomize
    """)
"""Importing one of these, or anything inside it."""

NAMES: Final = _words("""
    __main__ importlib.invalidate_caches importlib.reload inspect.currentframe inspect.getinnerframes
    inspect.getouterframes inspect.stack inspect.trace linecache.cache os._exit os.abort os.dup os.dup2 os.execl
    os.execle os.execlp os.execlpe os.execv os.execve os.execvp os.execvpe os.fdopen os.fork os.forkpty os.kill
    os.killpg os.posix_spawn os.posix_spawnp os.register_at_fork signal.alarm signal.pthread_kill
    signal.raise_signal signal.setitimer signal.signal sys._current_frames sys._getframe sys.addaudithook
    sys.argv sys.displayhook sys.excepthook sys.meta_path sys.modules sys.monitoring sys.orig_argv sys.path
    sys.path_hooks sys.path_importer_cache sys.setprofile sys.settrace sys.unraisablehook threading.setprofile
    threading.settrace traceback.walk_stack types.CodeType types.FunctionType
    """)
"""Using one of these names of a module."""

ATTRIBUTES: Final = _words("""
    __builtins__ __class__ __closure__ __code__ __defaults__ __globals__ __kwdefaults__ __loader__ __subclasses__
    ag_frame cell_contents co_code cr_frame f_back f_builtins f_code f_globals f_locals gi_frame tb_frame tb_next
    """)
"""Using an attribute of this name, of anything; `__class__` only when it is assigned."""

CALLS: Final = frozenset({"__import__", "breakpoint", "compile", "eval", "exec", "globals"})
TEXTS: Final = (
    "_pytest",
    "conftest",
    "pluggy",
    "pytest_",
    "pytest.",
    "sitecustomize",
    "usercustomize",
)
EXACT: Final = frozenset({"pytest", "_exit", "_getframe", "settrace", "setprofile", "meta_path"})
IMPORTER: Final = "importlib.import_module"
READERS: Final = frozenset({"operator.attrgetter", "operator.methodcaller"})
"""What reads attributes that a text names."""
COMPARISONS: Final = _words("""
    __bool__ __contains__ __eq__ __ge__ __gt__ __instancecheck__ __le__ __lt__ __ne__ __subclasscheck__
    """)
EQUALITIES: Final = frozenset({"__eq__", "__ne__"})


def suspicious(before: str | None, after: str) -> tuple[str, ...]:
    """What `after` has more of than `before` (None: the file is new), each with its line; empty is innocent.

    Meant for product files; tests may import what they like.
    """
    new = _marks(after)
    if new is None:
        return ("cannot be read as Python, so it cannot be checked",)
    old = Counter(mark for mark, _line in _marks(before or "") or ())
    counts = Counter(mark for mark, _line in new)
    first = dict(reversed(new))
    return tuple(
        f"{mark} (line {first[mark]})" for mark in sorted(counts) if counts[mark] > old[mark]
    )


def _marks(source: str) -> list[tuple[str, int]] | None:
    tree = tree_of(source)
    if tree is None:
        return None
    seen = _Names(tree)
    found: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        found += [(mark, getattr(node, "lineno", 0)) for mark in seen.marks(node)]
    return sorted(found, key=lambda mark: mark[1])


class _Names:
    """What the names of one file stand for, as far as its imports say."""

    def __init__(self, tree: ast.Module) -> None:
        self._imported: dict[str, str] = {}
        self._documents: set[int] = set()
        self._classes: dict[int, str] = {}
        """The class that a function stands in."""
        for node in ast.walk(tree):
            self._learn(node)
        given = [pair for node in ast.walk(tree) for pair in _given(node)]
        defaults = [pair for node in ast.walk(tree) for pair in _defaults(node)]
        while new := {**self._known(given), **self._known(defaults, whole=True)}:
            self._imported.update(new)

    def _learn(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    top = alias.name.partition(".")[0]
                    self._imported[alias.asname or top] = alias.name if alias.asname else top
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    self._imported[alias.asname or alias.name] = f"{module}.{alias.name}"
            case ast.ClassDef(name=name, body=body):
                self._classes.update({id(inner): name for inner in body})
            case ast.Expr(value=ast.Constant(value=str()) as text):
                # A docstring, or a remark in the form of a string: nobody can use it.
                self._documents.add(id(text))
            case _:
                pass

    def marks(self, node: ast.AST) -> Iterator[str]:
        """What one node shows."""
        match node:
            case ast.Import() | ast.ImportFrom():
                yield from _import_marks(node)
            case ast.Attribute():
                yield from self._attribute_marks(node)
            case ast.Name(id=name, ctx=ast.Load()):
                if name in {"__builtins__", "__loader__"} or self._imported.get(name) in NAMES:
                    yield f"uses {self._imported.get(name, name)}"
            case ast.Call():
                yield from self._call_marks(node)
            case ast.Constant(value=str(text)) if id(node) not in self._documents:
                yield from _text_marks(text)
            case ast.BinOp(op=ast.Add()) | ast.JoinedStr():
                yield from _text_marks(_joined(node) or "")
            case ast.FunctionDef(name=name):
                yield from _comparison_marks(name, node, self._classes.get(id(node), ""))
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as function):
                yield from _comparison_marks(name, function, "")
            case _:
                pass

    def _attribute_marks(self, node: ast.Attribute) -> Iterator[str]:
        writes = not isinstance(node.ctx, ast.Load)
        name = self._dotted(node)
        if name in NAMES:
            yield f"uses {name}"
        elif node.attr in ATTRIBUTES and (node.attr != "__class__" or writes):
            yield f"uses .{node.attr}"
        if writes and (owner := self._dotted(node.value)) is not None:
            yield f"replaces {owner}.{node.attr}"

    def _call_marks(self, node: ast.Call) -> Iterator[str]:
        reader = self._dotted(node.func)
        if reader == IMPORTER or (isinstance(node.func, ast.Name) and node.func.id == "__import__"):
            yield from _loading_marks(node)
        if reader in READERS and any(
            isinstance(a, _COMPUTED) and _joined(a) is None for a in node.args
        ):
            yield f"calls {reader}() with a computed name"
        match node.func:
            case ast.Name(id=name) if name in CALLS:
                yield f"calls {name}()"
            case ast.Name(id="getattr" | "setattr" | "delattr" | "vars" as name) if node.args:
                owner = self._dotted(node.args[0])
                fixed = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
                if owner is not None and (name != "getattr" or not fixed):
                    yield f"calls {name}() on {owner}"
                if fixed and str(ast.literal_eval(node.args[1])) in ATTRIBUTES:
                    yield f"uses .{ast.literal_eval(node.args[1])}"
            case _:
                pass

    def _known(
        self, given: Iterable[tuple[str, ast.AST]], *, whole: bool = False
    ) -> dict[str, str]:
        """Names that are new ones for an import; with `whole` only for a module, as defaults are classes to be set up, too."""
        found = {n: self._module(value) for n, value in given if n not in self._imported}
        return {n: m for n, m in found.items() if m is not None and not (whole and "." in m)}

    def _module(self, node: ast.AST) -> str | None:
        """What another name for an import is one for; of what a module has only those that matter when they are called."""
        name = self._dotted(node)
        return name if not isinstance(node, ast.Attribute) or name in {IMPORTER, *READERS} else None

    def _dotted(self, node: ast.AST) -> str | None:
        """The dotted name of something imported; None for anything else."""
        match node:
            case ast.Name(id=name):
                return self._imported.get(name)
            case ast.Attribute(value=value, attr=attr):
                owner = self._dotted(value)
                return None if owner is None else f"{owner}.{attr}"
            case ast.Call(func=func) if self._dotted(func) == IMPORTER:
                return _loaded(node)
            case _:
                return None


def _import_marks(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif node.level or node.module is None:
        return
    else:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        yield from _module_marks(name)
        parts = name.split(".")
        if parts[-1] == "*" and {"sys", "os"} & set(parts):
            yield f"imports everything of {parts[0]}"


def _module_marks(name: str) -> Iterator[str]:
    parts = name.split(".")
    prefixes = {".".join(parts[: n + 1]) for n in range(len(parts))}
    for module in sorted(prefixes & (MODULES | NAMES)):
        yield f"imports {module}"


def _given(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Names and what they are given, one by one."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _paired(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _paired(target, value)
        case ast.NamedExpr(target=target, value=value):
            yield from _paired(target, value)
        case _:
            pass


def _defaults(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node, ast.arguments):
        names = [a.arg for a in (*node.posonlyargs, *node.args)]
        yield from zip(reversed(names), reversed(node.defaults), strict=False)
        named = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        yield from ((a.arg, value) for a, value in named if value is not None)


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case (
            (ast.Tuple(elts=left) | ast.List(elts=left)),
            (ast.Tuple(elts=right) | ast.List(elts=right)),
        ) if len(left) == len(right):
            for inner, given in zip(left, right, strict=True):
                yield from _paired(inner, given)
        case _:
            pass


def _loaded(node: ast.Call) -> str | None:
    """The module that a call imports by a written name; None where that is computed, or relative."""
    named = [k.value for k in node.keywords if k.arg == "name"]
    name = _joined((*node.args[:1], *named)[0]) if node.args or named else None
    return None if name is None or name.startswith(".") else name


def _loading_marks(node: ast.Call) -> Iterator[str]:
    name = _loaded(node)
    if name is not None:
        yield from _module_marks(name)
    elif not _is_inside_package(node):
        yield f"calls {IMPORTER}() with a computed name"


_TOPS: Final = frozenset(name.partition(".")[0] for name in MODULES | NAMES)


def _is_inside_package(node: ast.Call) -> bool:
    """Whether what is imported lies in a package that is written out, or in the file's own, as plugins do."""
    match node:
        case ast.Call(args=[name, ast.Name(id="__name__" | "__package__")]):
            return _begins(name).startswith(".")
        case ast.Call(args=[name], keywords=[]):
            top, dot, _ = _begins(name).partition(".")
            return bool(top and dot) and top not in _TOPS
        case ast.Call(args=[name], keywords=[ast.keyword(arg="package", value=value)]):
            own = isinstance(value, ast.Name) and value.id in {"__name__", "__package__"}
            return own and _begins(name).startswith(".")
        case _:
            return False


def _begins(node: ast.expr) -> str:
    """The written text that a computed one begins with."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(op=ast.Add(), left=left):
            return _begins(left)
        case ast.JoinedStr(values=[first, *_]):
            return _begins(first)
        case _:
            return ""


def _text_marks(text: str) -> Iterator[str]:
    low = text.lower()
    for mark in TEXTS:
        if mark in low:
            yield f"holds the text {mark!r}"
    if text in EXACT or text in ATTRIBUTES or set(text.split(".")) & (ATTRIBUTES - {"__class__"}):
        yield f"holds the text {text!r}"
    if low.endswith((".pth", ".pyc")) or low.startswith("/proc/"):
        yield f"holds the path {text!r}"


_COMPUTED: Final = (ast.BinOp, ast.JoinedStr, ast.Call)


def _joined(node: ast.AST) -> str | None:
    """A text that is put together of written ones; None where it is more than that."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            parts = [_joined(left), _joined(right)]
        case ast.JoinedStr(values=values):
            parts = [_joined(value) for value in values]
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return _joined(value)
        case _:
            return None
    known = [part for part in parts if part is not None]
    return "".join(known) if len(known) == len(parts) else None


def _comparison_marks(name: str, function: ast.FunctionDef | ast.Lambda, cls: str) -> Iterator[str]:
    """What is said of a comparison that comes out the same whatever is compared; one that asks for its own kind tells."""
    if name not in COMPARISONS:
        return
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    if "NotImplemented" in used or any(isinstance(n, ast.Raise) for n in ast.walk(function)):
        return
    if not used & set(names):
        yield f"defines a {name} that does not look at anything"
    elif name in EQUALITIES and not used & {*names[:1], cls, "super"}:
        yield f"defines a {name} that does not look at itself"
