"""Anchors: the places outside a plan that its claims hang on, `path` or `path.py::Class.method`, or NEW."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from surefoot.preflight.code import BLOCKS, Code, Definition, Imported, Scope, Source
from surefoot.preflight.markdown import spans

_ANCHOR: Final = re.compile(
    r"(?P<path>[\w./@+-]+?)(?:::(?P<symbol>[A-Za-z_][\w.]*))?(?P<new>\s*:?\s*\[NEW\])?$"
)
_NEW: Final = re.compile(r"\[NEW\]|(?<!\w)NEW(?!\w)")
_NEW_BEHIND: Final = re.compile(r"`([^`]+)`\s*[\[(]?NEW(?!\w)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """One anchor as it is written."""

    path: str
    symbol: str
    is_new: bool

    @property
    def told(self) -> str:
        """`path::symbol`."""
        return f"{self.path}::{self.symbol}" if self.symbol else self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A definition that an anchor names."""

    file: str
    symbol: str
    node: Definition
    scope: Scope
    """The scope around it."""
    source: Source

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.node.lineno}"

    @property
    def owner(self) -> ast.ClassDef | None:
        """The class that it is a method of."""
        node = self.scope.node
        return node if isinstance(node, ast.ClassDef) else None


def anchors_in(text: str) -> tuple[Anchor, ...]:
    """The anchors among the code spans of a line; NEW behind a span marks it, NEW elsewhere marks all of them."""
    marked = {behind.strip() for behind in _NEW_BEHIND.findall(text)}
    every_new = not marked and bool(_NEW.search(re.sub(r"`[^`]*`", "", text)))
    found = []
    for span in spans(text):
        match = _ANCHOR.fullmatch(span)
        if match and ("/" in match["path"] or "." in match["path"]):
            is_new = every_new or span in marked or bool(match["new"])
            found.append(Anchor(path=match["path"], symbol=match["symbol"] or "", is_new=is_new))
    return tuple(found)


def wrong_with(anchor: Anchor, code: Code) -> str | None:
    """Why an anchor does not hold, in words; None when it does."""
    path = code.root / anchor.path
    inside = path.resolve().is_relative_to(code.root.resolve())
    if not inside:
        return f"`{anchor.told}` leads out of the repository"
    if anchor.is_new:
        exists = _is_there(path) if not anchor.symbol else find(anchor, code) is not None
        return f"`{anchor.told}` is marked NEW, but it is there" if exists else None
    if not _is_there(path):
        return f"there is no `{anchor.path}`"
    if not anchor.symbol or find(anchor, code) is not None:
        return None
    return f"`{anchor.path}` does not define `{anchor.symbol}`{_elsewhere(anchor, code)}"


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # longer than a name can be
        return False


def find(anchor: Anchor, code: Code) -> Found | None:
    """The definition that an anchor names; of several (overloads, branches), the last."""
    source = code.source(anchor.path)
    if source is None or not anchor.symbol:
        return None
    scope = source.scope
    node: Definition | None = None
    for part in anchor.symbol.split("."):
        scope = source.scopes[node] if node is not None else scope
        defined = [s.what for s in scope.names.get(part, ()) if isinstance(s.what, BLOCKS)]
        if not defined:
            return None
        node = defined[-1]
    if node is None:
        return None
    return Found(file=anchor.path, symbol=anchor.symbol, node=node, scope=scope, source=source)


def _elsewhere(anchor: Anchor, code: Code) -> str:
    """Where a name comes from that a file only imports."""
    source = code.source(anchor.path)
    first = anchor.symbol.partition(".")[0]
    for seen in source.scope.names.get(first, ()) if source else ():
        if isinstance(seen.what, Imported):
            return f"; it imports it from `{seen.what.module}`"
    if source is None:
        return ", or is not Python that can be read"
    return ""
