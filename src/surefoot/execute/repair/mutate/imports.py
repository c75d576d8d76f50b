"""Mutations that import what a unit reads and nobody binds: a module of the standard library, or a name that one has."""

import ast
import builtins
import importlib
import symtable
import sys
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from surefoot.execute.repair.graft import import_edit
from surefoot.execute.repair.mutate.site import Mutation, Site
from surefoot.execute.source import Source

_BUILT_IN: Final = frozenset({*dir(builtins), "__file__", "__name__", "__path__", "__spec__"})
_MODULES: Final = (
    "math", "collections", "itertools", "functools", "collections.abc", "typing", "re", "string", "datetime", "operator",
    "copy", "random", "heapq", "bisect", "decimal", "fractions", "statistics", "pathlib", "dataclasses", "enum", "abc",
    "contextlib", "json", "time", "textwrap", "hashlib", "secrets",
)  # fmt: skip
"""Those whose names people import by themselves, the likeliest first."""
_MOST: Final = 3
"""Ways tried to import one name."""
_WEIGHT: Final = 0.9
_NEXT: Final = 0.8
"""What each further way to import a name keeps of that."""


def import_mutations(site: Site) -> Iterator[Mutation]:
    """All mutations of this module. Each stands at the beginning of the file, and is told of as the line that reads the name.

    Where several names are missing, none of their imports mends anything by itself, so that all of them at once are one, too.
    """
    missing = _unbound(site.source.text, site.source.path)
    if not missing or _takes_all(site.source):
        return
    reads = [n for n in ast.walk(site.root) if isinstance(n, ast.Name) and n.id in missing]
    first: dict[str, ast.Name] = {}
    for node in sorted(reads, key=lambda n: (n.lineno, n.col_offset)):
        first.setdefault(node.id, node)
    ways = {name: found for name in first if (found := _imports_of(name, _attributes(site, name)))}
    for name, statements in ways.items():
        for place, statement in enumerate(statements):
            edit = import_edit(site.source, [statement])
            yield site.edit([edit], first[name], "import", _WEIGHT * _NEXT**place)
    if len(ways) > 1:
        edit = import_edit(site.source, [statements[0] for statements in ways.values()])
        yield site.edit([edit], first[next(iter(ways))], "import", _WEIGHT)


def _attributes(site: Site, name: str) -> frozenset[str]:
    """What a unit reads of a name; empty where it reads the name itself."""
    nodes = list(ast.walk(site.root))
    of = [n for n in nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    read = [n.attr for n in of if isinstance(n.value, ast.Name) and n.value.id == name]
    whole = sum(isinstance(n, ast.Name) and n.id == name for n in nodes)
    return frozenset(read) if len(read) == whole else frozenset()


def _takes_all(source: Source) -> bool:
    """Whether a file imports whatever some module has."""
    imports = (n for n in ast.walk(source.tree) if isinstance(n, ast.ImportFrom))
    return any(alias.name == "*" for n in imports for alias in n.names)


@lru_cache(maxsize=64)
def _unbound(text: str, path: str) -> frozenset[str]:
    """Names that code of a file reads as global ones and that no statement binds by name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the patient's code, and none of ours
            top = symtable.symtable(text, path, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # What only a compiler refuses, such as a `return` outside of functions, or code too deep for it.
        return frozenset()
    tables = [top, *_inner(top)]
    known = [s for table in tables for s in table.get_symbols() if s.is_global() or table is top]
    read = {s.get_name() for s in known if s.is_referenced()}
    bound = {s.get_name() for s in known if s.is_assigned() or s.is_imported() or s.is_namespace()}
    return frozenset(read - bound - _BUILT_IN)


def _inner(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _inner(child)


def _imports_of(name: str, attributes: frozenset[str]) -> tuple[str, ...]:
    """Statements that bind a name as the standard library has it, the likeliest first; `attributes` are what is read of it."""
    whole = []
    if attributes and name in sys.stdlib_module_names:
        # Of a module that is none of these nothing is looked up: some do things when they are imported.
        has_all = name not in _MODULES or attributes <= _names_of(name)
        whole += [f"import {name}"] * has_all
    homes = [m for m in _MODULES if name in _public(m)]
    return (*whole, *(f"from {home} import {name}" for home in homes))[:_MOST]


def _names_of(module: str) -> frozenset[str]:
    return frozenset(dir(importlib.import_module(module)))


@lru_cache(maxsize=len(_MODULES))
def _public(module: str) -> frozenset[str]:
    """Names that a module has for others."""
    told = getattr(importlib.import_module(module), "__all__", None)
    return frozenset(told or (n for n in _names_of(module) if n[:1] != "_"))
