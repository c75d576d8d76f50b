"""Mutations that import what a unit reads and nobody binds: a module of the standard library, or a name that one has."""

import ast
import builtins
import importlib
import symtable
import sys
from collections.abc import Iterator
from typing import Final

from surefoot.execute.repair.graft import import_edit
from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.source import Source

_BUILT_IN: Final = frozenset({*dir(builtins), "__file__", "__name__", "__path__", "__spec__"})
_MODULES: Final = (
    "math", "collections", "itertools", "functools", "typing", "re", "string", "datetime", "operator", "copy", "random",
    "heapq", "bisect", "decimal", "fractions", "statistics", "pathlib", "dataclasses", "enum", "abc", "contextlib",
    "collections.abc", "json", "time", "textwrap", "hashlib", "secrets", "uuid", "os", "os.path",
)  # fmt: skip
"""Those whose names people import by themselves, the likeliest first."""
_MOST: Final = 3
"""Modules tried for one name."""


def import_mutations(site: Site) -> Iterator[Mutation]:
    """All mutations of this module. Each stands outside of the unit, and changes what it does: a name that was unbound is bound."""
    missing = _unbound(site.source)
    if not missing:
        return
    # Annotations and defaults count: they are read when the function is made.
    named = (n for n in ast.walk(site.root) if isinstance(n, ast.Name) and n.id in missing)
    for name, node in {n.id: n for n in sorted(named, key=_from_the_end)}.items():
        for place, text in enumerate(_imports_of(name)):
            edit = import_edit(site.source, [text])
            yield site.edit([edit], node, "import", 0.9 * 0.8**place)


def _from_the_end(node: ast.Name) -> tuple[int, int]:
    return -node.lineno, -node.col_offset


def _unbound(source: Source) -> frozenset[str]:
    """Names that code of a file reads as global ones and that nothing binds; none where it imports whatever a module has."""
    try:
        top = symtable.symtable(source.text, source.path, "exec")
    except SyntaxError:  # what only a compiler refuses, such as a `return` outside of functions
        return frozenset()
    stars = (n for n in ast.walk(source.tree) if isinstance(n, ast.ImportFrom))
    if any(alias.name == "*" for n in stars for alias in n.names):
        return frozenset()
    read: set[str] = set()
    bound = {s.get_name() for s in top.get_symbols() if _is_bound(s)}
    for table in _tables(top):
        for symbol in table.get_symbols():
            if symbol.is_global() or table is top:
                read.update([symbol.get_name()] if symbol.is_referenced() else [])
                bound.update([symbol.get_name()] if _is_bound(symbol) else [])
    return frozenset(read - bound - _BUILT_IN)


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _tables(top: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield top
    for child in top.get_children():
        yield from _tables(child)


def _imports_of(name: str) -> tuple[str, ...]:
    """Statements that bind a name as the standard library has it, the likeliest first."""
    whole = [f"import {name}"] if name in sys.stdlib_module_names else []
    homes = [m for m in _MODULES if name in _public(m)][:_MOST]
    return (*whole, *(f"from {home} import {name}" for home in homes))


def _public(module: str) -> frozenset[str]:
    found = importlib.import_module(module)
    names = getattr(found, "__all__", None) or [n for n in dir(found) if not n.startswith("_")]
    return frozenset(names)
