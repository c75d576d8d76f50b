"""argparse: parsers, subparsers, argument groups and parents."""

import ast
from collections.abc import Iterator
from typing import Final

from surefoot.preflight.code import Code, Scope
from surefoot.preflight.commands.graph import CommandGraph, Spec
from surefoot.preflight.flow import At, Flow, keyword, last_name

_GROUPS: Final = frozenset({"add_argument_group", "add_mutually_exclusive_group"})
_TEXT: Final = r"\bargparse\b|\.(?:add_parser|add_argument)\("


class ArgparseReader:
    """Fills a graph with what a project makes of argparse."""

    def __init__(self, code: Code, flow: Flow, graph: CommandGraph) -> None:
        self._code = code
        self._flow = flow
        self._graph = graph

    def read(self) -> None:
        """Read every file that mentions it: parsers, then what hangs on them, then parents."""
        if not self._code.imports("argparse"):
            return
        sources = tuple(self._code.matching(_TEXT))
        calls = [(call, scope) for source in sources for call, scope in source.calls]
        for call, scope in calls:
            outside = self._flow.external(call.func, scope) or ""
            if outside == "argparse.ArgumentParser":
                self._make(At(call, scope), call, keyword(call, "prog", 0))
            elif last_name(call.func) == "add_parser" and isinstance(call.func, ast.Attribute):
                self._make(At(call, scope), call, None)
                self._graph.specs[At(call, scope)].is_inner = True
        for call, scope in calls:
            if isinstance(call.func, ast.Attribute):
                self._use(call, call.func, scope)
        for call, scope in calls:
            self._parents(At(call, scope), call)

    def _make(self, at: At, call: ast.Call, prog: ast.expr | None) -> None:
        name = self._flow.text(prog, at.scope) or ""
        spec = Spec(framework="argparse", at=at, name=name)
        given = keyword(call, "add_help")
        if not (isinstance(given, ast.Constant) and given.value is False):
            spec.options = {"-h", "--help"}
        self._graph.specs[at] = spec

    def _parsers(self, node: ast.expr, scope: Scope) -> Iterator[At]:
        """The parsers that an expression may be, groups of arguments counting as their parser."""
        for value in self._flow.values(node, scope):
            if value in self._graph.specs:
                yield value
                continue
            made = value.node.func if isinstance(value.node, ast.Call) else None
            if isinstance(made, ast.Attribute) and made.attr in _GROUPS:
                yield from self._parsers(made.value, value.scope)

    def _use(self, call: ast.Call, function: ast.Attribute, scope: Scope) -> None:
        if function.attr == "add_argument":
            for parser in self._parsers(function.value, scope):
                self._graph.specs[parser].options |= set(self._names(call, scope))
        elif function.attr == "add_parser":
            for value in self._flow.values(function.value, scope):
                made = value.node
                if isinstance(made, ast.Call) and last_name(made.func) == "add_subparsers":
                    self._sub(made, value.scope, At(call, scope), call)

    def _sub(self, subparsers: ast.Call, where: Scope, at: At, call: ast.Call) -> None:
        if not isinstance(subparsers.func, ast.Attribute):
            return
        names = self._flow.texts(keyword(call, "name", 0), at.scope)
        if not names:
            self._graph.cannot_read(at, "the subcommand's name is computed")
        aliases = keyword(call, "aliases")
        found = self._flow.elements(aliases, at.scope)[0] if aliases is not None else []
        more = [self._flow.text(a.node, a.scope) for a in found if isinstance(a.node, ast.expr)]
        for parser in self._parsers(subparsers.func.value, where):
            self._graph.specs[parser].is_group = True
            for name in (*names, *(alias for alias in more if alias)):
                self._graph.children[parser][name] = at

    def _names(self, call: ast.Call, scope: Scope) -> Iterator[str]:
        action = keyword(call, "action")
        is_both = action is not None and last_name(action) == "BooleanOptionalAction"
        for argument in call.args:
            for text in self._flow.texts(argument, scope):
                if text.startswith("-"):
                    yield text
                    if is_both and text.startswith("--"):
                        yield f"--no-{text[2:]}"

    def _parents(self, at: At, call: ast.Call) -> None:
        parents = keyword(call, "parents")
        if at not in self._graph.specs or parents is None:
            return
        found, whole = self._flow.elements(parents, at.scope)
        if not whole:
            self._graph.cannot_read(at, "the parents are computed")
        for parent in found:
            if isinstance(parent.node, ast.expr):
                for parser in self._parsers(parent.node, parent.scope):
                    self._graph.specs[at].options |= self._graph.specs[parser].options
