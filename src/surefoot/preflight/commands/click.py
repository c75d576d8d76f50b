"""Click: commands, groups and options by decorator, `add_command`, decorators that a project makes of options."""

import ast
from collections.abc import Iterator
from typing import Final

from surefoot.preflight.code import FUNCTIONS, Code, Function, Scope
from surefoot.preflight.commands.graph import CommandGraph, Spec
from surefoot.preflight.flow import At, Flow, keyword, own_nodes

_MAKERS: Final = frozenset({"command", "group"})
_READY: Final = {
    "version_option": "--version",
    "confirmation_option": "--yes",
    "password_option": "--password",
    "help_option": "--help",
}
_SUFFIXES: Final = ("-command", "-cmd", "-group", "-grp")
_TEXT: Final = r"\bclick\b|\.(?:command|group|add_command)\("
_ROUNDS: Final = 8
"""A group is known before what is decorated with it; deeper nesting than this is not followed."""


class ClickReader:
    """Fills a graph with what a project makes of Click."""

    def __init__(self, code: Code, flow: Flow, graph: CommandGraph) -> None:
        self._code = code
        self._flow = flow
        self._graph = graph

    def read(self) -> None:
        """Read every file that mentions it, or hangs commands on a group of such a file."""
        if not self._code.imports("click"):
            return
        sources = tuple(self._code.matching(_TEXT))
        for _ in range(_ROUNDS):
            before = len(self._graph.specs)
            for source in sources:
                for definition, scope in source.decorated:
                    if isinstance(definition, FUNCTIONS):
                        self._decorated(At(definition, scope), definition)
            if len(self._graph.specs) == before:
                break
        for source in sources:
            for call, scope in source.calls:
                if isinstance(call.func, ast.Attribute) and call.func.attr == "add_command":
                    self._add(call, call.func, scope)

    def _decorated(self, at: At, function: Function) -> None:
        if at in self._graph.specs:
            return
        for decorator in function.decorator_list:
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            name = last = made.attr if isinstance(made, ast.Attribute) else ""
            parents = self._groups(made.value, at.scope) if isinstance(made, ast.Attribute) else []
            if not parents:
                outside = self._flow.external(made, at.scope) or ""
                last = outside.rpartition(".")[2] if outside.startswith("click.") else ""
            if last not in _MAKERS:
                continue
            given = keyword(decorator, "name", 0) if isinstance(decorator, ast.Call) else None
            name_given = self._flow.text(given, at.scope) if given is not None else None
            name = name_given or command_name(function.name)
            if given is not None and name_given is None:
                self._graph.cannot_read(at, "the command's name is computed")
            spec = Spec(framework="click", at=at, name=name, is_group=last == "group")
            spec.options = {"--help", *self._options(function, at.scope)}
            if isinstance(decorator, ast.Call):
                spec.help_names = help_names(self._flow, decorator, at.scope)
            self._graph.specs[at] = spec
            for parent in parents:
                self._graph.children[parent][name] = at

    def _groups(self, node: ast.expr, scope: Scope) -> list[At]:
        found = []
        for value in self._flow.values(node, scope):
            spec = self._graph.specs.get(value)
            if spec is not None and spec.framework == "click":
                found.append(value)
        return found

    def _add(self, call: ast.Call, function: ast.Attribute, scope: Scope) -> None:
        for group in self._groups(function.value, scope):
            inner = keyword(call, "cmd", 0)
            found = self._groups(inner, scope) if inner is not None else []
            if not found:
                self._graph.cannot_read(At(call, scope), "which command is added is computed")
            given = keyword(call, "name", 1)
            for one in found:
                name = self._flow.text(given, scope) if given is not None else None
                self._graph.children[group][name or self._graph.specs[one].name] = one

    def _options(self, function: Function, scope: Scope) -> Iterator[str]:
        for decorator in function.decorator_list:
            yield from self._option(decorator, scope)

    def _option(self, decorator: ast.expr, scope: Scope) -> Iterator[str]:
        """The options that a decorator gives: Click's own, one kept under a name, or a function of the project's."""
        call, where = decorator, scope
        if not isinstance(decorator, ast.Call) or not self._outside(decorator, scope):
            target = decorator.func if isinstance(decorator, ast.Call) else decorator
            for value in self._flow.values(target, scope):
                if isinstance(value.node, FUNCTIONS):
                    yield from self._of_function(value)
                elif isinstance(value.node, ast.Call):
                    call, where = value.node, value.scope
            if isinstance(decorator, ast.Call):
                yield from self._passed(decorator, scope)
        if isinstance(call, ast.Call):
            yield from self._names(call, where)

    def _passed(self, decorator: ast.Call, scope: Scope) -> Iterator[str]:
        """The options that a project's decorator is given to put on, one by one or in a list."""
        for argument in decorator.args:
            inner = argument.value if isinstance(argument, ast.Starred) else argument
            for at in (At(inner, scope), *self._flow.elements(inner, scope)[0]):
                for value in (
                    self._flow.values(at.node, at.scope) if isinstance(at.node, ast.expr) else ()
                ):
                    if isinstance(value.node, ast.Call):
                        yield from self._names(value.node, value.scope)

    def _outside(self, call: ast.Call, scope: Scope) -> bool:
        return (self._flow.external(call.func, scope) or "").startswith("click.")

    def _of_function(self, function: At) -> Iterator[str]:
        source = self._code.source(function.scope.file)
        if source is None or not isinstance(function.node, FUNCTIONS):
            return
        inner = source.scopes[function.node]
        for node in own_nodes(function.node):
            # A wrapper that it makes and gives back has decorators of its own.
            calls = node.decorator_list if isinstance(node, FUNCTIONS) else [node]
            for call in calls:
                if isinstance(call, ast.Call):
                    yield from self._names(call, inner)

    def _names(self, call: ast.Call, scope: Scope) -> Iterator[str]:
        outside = self._flow.external(call.func, scope) or ""
        kind = outside.rpartition(".")[2] if outside.startswith("click.") else ""
        if kind != "option" and kind not in _READY:
            return
        texts = [self._flow.text(argument, scope) for argument in call.args]
        names = [t for t in texts if t is not None and t.lstrip().startswith(("-", "/"))]
        for name in names:
            yield from (part.strip() for part in name.replace(";", "/").split("/") if part.strip())
        if not names and kind in _READY:
            yield _READY[kind]


def help_names(flow: Flow, call: ast.Call, scope: Scope) -> frozenset[str] | None:
    """The `help_option_names` of a call's `context_settings`; None where it gives none."""
    given = keyword(call, "context_settings")
    for value in flow.values(given, scope) if given is not None else ():
        names = _of_settings(value.node)
        found = flow.elements(names, value.scope)[0] if names is not None else []
        texts = [flow.text(at.node, at.scope) for at in found if isinstance(at.node, ast.expr)]
        if any(texts):
            return frozenset(text for text in texts if text)
    return None


def _of_settings(settings: ast.AST) -> ast.expr | None:
    """What `{…}` or `dict(…)` has under `help_option_names`."""
    if isinstance(settings, ast.Call):
        return keyword(settings, "help_option_names")
    if not isinstance(settings, ast.Dict):
        return None
    pairs = zip(settings.keys, settings.values, strict=True)
    return next(
        (v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "help_option_names"),
        None,
    )


def command_name(function: str) -> str:
    """The name that Click (8.2 and later) gives a command without one."""
    name = function.lower().replace("_", "-")
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix) or name
    return name
