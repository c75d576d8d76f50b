"""Edits that search from the other end: they find the last of several places that fit, where the unchanged code finds the first."""

import ast
from collections.abc import Iterator
from typing import Final

from surefoot.execute.repair.mutate.site import Mutation, Site, site_of
from surefoot.execute.source import CodeUnit, Source, TextEdit

_WEIGHT: Final = 0.2
_METHODS: Final = {"find": "rfind", "rfind": "find", "index": "rindex", "rindex": "index"}


def turned(source: Source, unit: CodeUnit | None) -> Iterator[Mutation]:
    """Each loop of a unit, and each method that searches a text, the other way around."""
    site = site_of(source, unit)
    if site is None:
        return
    for node in site.nodes:
        match node:
            case ast.For(iter=given):
                yield site.replace(given, _reversed(site, given), "direction", _WEIGHT)
            case ast.Call(func=ast.Attribute(attr=name) as method) if name in _METHODS:
                end = source.end(method)
                edit = TextEdit(start=end - len(name), end=end, text=_METHODS[name])
                yield site.edit([edit], method, "direction", _WEIGHT)
            case _:
                pass


def _reversed(site: Site, given: ast.expr) -> str:
    text = site.text(given)
    match given:
        case ast.Call(func=ast.Name(id="reversed"), args=[inner], keywords=[]):
            return site.text(inner)
        case ast.Tuple() if not text.startswith("("):
            return f"reversed(({text}))"
        case (
            ast.Call(func=ast.Name(id="range"))
            | ast.Tuple()
            | ast.Name()
            | ast.Attribute()
            | ast.Subscript()
        ):
            return f"reversed({text})"
        case _:
            return f"reversed(list({text}))"
