"""Typer: commands and groups by decorator or by call, options from signatures and their annotations."""

import ast
from collections.abc import Iterator
from typing import Final

from surefoot.preflight.annotations import normal
from surefoot.preflight.code import FUNCTIONS, Code, Function, Scope
from surefoot.preflight.commands.click import help_names
from surefoot.preflight.commands.graph import CommandGraph, Spec
from surefoot.preflight.flow import At, Flow, default_of, keyword, last_name
from surefoot.syntax import expression_of, written

_TEXT: Final = r"\btyper\b|\.(?:command|callback|add_typer)\("
_COMPLETION: Final = frozenset({"--install-completion", "--show-completion"})


class TyperReader:
    """Fills a graph with what a project makes of Typer."""

    def __init__(self, code: Code, flow: Flow, graph: CommandGraph) -> None:
        self._code = code
        self._flow = flow
        self._graph = graph
        self._joined: list[tuple[At, At]] = []
        """Applications with those that are added to them without a name."""

    def read(self) -> None:
        """Read every file that mentions it, applications first."""
        if not self._code.imports("typer"):
            return
        sources = tuple(self._code.matching(_TEXT))
        for source in sources:
            for call, scope in source.calls:
                self._make(At(call, scope), call)
        for source in sources:
            for definition, scope in source.decorated:
                for decorator in definition.decorator_list:
                    if isinstance(decorator, ast.Call):
                        self._use(decorator, scope, At(definition, scope))
        for source in sources:
            for call, scope in source.calls:
                self._called(call, scope)
        self._join()

    def command(self, at: At) -> At | None:
        """The command that a function is when it is given to `typer.run` or to `app.command()`."""
        if not isinstance(at.node, FUNCTIONS):
            return None
        if at not in self._graph.specs:
            spec = Spec(framework="typer", at=at, name=command_name(at.node.name))
            spec.options = {"--help", *self._options(at.node, at.scope)}
            self._graph.specs[at] = spec
        return at

    def is_from_typer(self, node: ast.expr, scope: Scope, name: str) -> bool:
        """Whether an expression is `typer.<name>`."""
        found = self._flow.external(node, scope) or ""
        return found.partition(".")[0] == "typer" and found.rpartition(".")[2] == name

    def _make(self, at: At, call: ast.Call) -> None:
        if not self.is_from_typer(call.func, at.scope, "Typer"):
            return
        name = self._flow.text(keyword(call, "name", 0), at.scope) or ""
        options = {"--help"}
        given = keyword(call, "add_completion")
        if not (isinstance(given, ast.Constant) and given.value is False):
            options |= _COMPLETION
        spec = Spec(framework="typer", at=at, name=name, is_group=True, alone=True)
        spec.options = options
        spec.help_names = help_names(self._flow, call, at.scope)
        self._graph.specs[at] = spec
        callback = keyword(call, "callback")
        if callback is not None:
            self._callback(at, self._function(callback, at.scope))

    def _apps(self, node: ast.expr, scope: Scope) -> Iterator[At]:
        for value in self._flow.values(node, scope):
            spec = self._graph.specs.get(value)
            if spec is not None and spec.framework == "typer" and spec.is_group:
                yield value

    def _called(self, call: ast.Call, scope: Scope) -> None:
        """`app.command("name")(function)` and `app.add_typer(other)`."""
        if _is_command(call.func) and len(call.args) == 1:
            function = self._function(call.args[0], scope)
            if function is not None and isinstance(call.func, ast.Call):
                self._use(call.func, scope, function)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "add_typer":
            for app in self._apps(call.func.value, scope):
                self._add_typer(app, call, scope)

    def _add_typer(self, app: At, call: ast.Call, scope: Scope) -> None:
        inner = keyword(call, "typer_instance", 0)
        found = tuple(self._apps(inner, scope)) if inner is not None else ()
        if not found:
            self._graph.cannot_read(At(call, scope), "which application is added is computed")
        given = keyword(call, "name")
        for one in found:
            spec = self._graph.specs[one]
            name = self._flow.text(given, scope) if given is not None else spec.name
            spec.alone = False
            spec.options -= _COMPLETION
            if name:
                self._graph.children[app][name] = one
            elif given is not None:
                self._graph.cannot_read(At(call, scope), "the group's name is computed")
            else:
                # Without a name, the commands are added to the outer application itself.
                self._graph.specs[app].alone = False
                self._joined.append((app, one))

    def _join(self) -> None:
        """Add the commands of applications without a name to the outer ones, also through several of them."""
        for _ in self._joined:
            for app, one in self._joined:
                self._graph.children[app].update(self._graph.children[one])

    def _use(self, decorator: ast.Call, scope: Scope, decorated: At) -> None:
        function = decorator.func
        if not isinstance(function, ast.Attribute) or function.attr not in {"command", "callback"}:
            return
        for app in self._apps(function.value, scope):
            helps = help_names(self._flow, decorator, scope)
            if function.attr == "callback":
                self._callback(app, decorated)
                self._graph.specs[app].help_names = helps or self._graph.specs[app].help_names
                continue
            node = self.command(decorated)
            if node is None:
                continue
            self._graph.specs[node].help_names = helps
            given = keyword(decorator, "name", 0)
            name = self._graph.specs[node].name
            text = self._flow.text(given, scope) if given is not None else name
            if text is None:
                self._graph.cannot_read(At(decorator, scope), "the command's name is computed")
            else:
                self._graph.children[app][text] = node

    def _callback(self, app: At, function: At | None) -> None:
        if function is not None and isinstance(function.node, FUNCTIONS):
            spec = self._graph.specs[app]
            spec.alone = False
            spec.options |= set(self._options(function.node, function.scope))

    def _function(self, node: ast.expr, scope: Scope) -> At | None:
        return next(
            (v for v in self._flow.values(node, scope) if isinstance(v.node, FUNCTIONS)), None
        )

    def _options(self, function: Function, scope: Scope) -> Iterator[str]:
        args = function.args
        for parameter in (*args.posonlyargs, *args.args, *args.kwonlyargs):
            default = default_of(function, parameter.arg)
            annotation = self._unaliased(parameter.annotation, scope)
            yield from self._parameter(parameter.arg, annotation, default, scope)

    def _unaliased(self, annotation: ast.expr | None, scope: Scope) -> At | None:
        """What an annotation is, through names and quotes."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = expression_of(annotation.value)
        if annotation is None:
            return None
        for value in self._flow.values(annotation, scope):
            if isinstance(value.node, ast.Subscript):
                return value
        return At(annotation, scope)

    def _parameter(
        self, name: str, annotation: At | None, default: ast.expr | None, scope: Scope
    ) -> Iterator[str]:
        kind, extras = _annotated(annotation)
        if last_name(kind) == "Context" if kind is not None else False:
            return
        told: tuple[ast.Call, list[ast.expr]] | None = None
        where = annotation.scope if annotation is not None else scope
        for extra in extras:
            if isinstance(extra, ast.Call):
                told = (extra, extra.args)
        if told is None and isinstance(default, ast.Call):
            told, where = (default, default.args[1:]), scope
        is_flag = kind is not None and _is_bool(kind)
        if told is None:
            if default is not None:
                yield from _default_names(name, is_flag=is_flag)
            return
        call, given = told
        if self.is_from_typer(call.func, where, "Argument"):
            return
        texts = [self._flow.text(one, where) for one in given]
        names = [t for t in texts if t is not None and t.startswith("-")]
        if not names:
            yield from _default_names(name, is_flag=is_flag)
        for one in names:
            yield from (part.strip() for part in one.split("/"))


def _is_command(node: ast.expr) -> bool:
    """Whether something is `….command(…)` or `….callback(…)`."""
    return isinstance(node, ast.Call) and last_name(node.func) in {"command", "callback"}


def _annotated(annotation: At | None) -> tuple[ast.expr | None, list[ast.expr]]:
    """The type and the extras of `Annotated[type, …]`."""
    node = annotation.node if annotation is not None else None
    if isinstance(node, ast.Subscript) and last_name(node.value) == "Annotated":
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return parts[0], parts[1:]
    return (node if isinstance(node, ast.expr) else None), []


def _is_bool(kind: ast.expr) -> bool:
    """`bool`, or what may be left out of it: `bool | None`, `Optional[bool]`."""
    told = normal(written(kind))
    return told is not None and told.removeprefix("None | ").removesuffix(" | None") == "bool"


def _default_names(name: str, *, is_flag: bool) -> Iterator[str]:
    dashed = name.replace("_", "-").lower()
    yield f"--{dashed}"
    if is_flag:
        yield f"--no-{dashed}"


def command_name(function: str) -> str:
    """The name that Typer gives a command without one."""
    return function.lower().replace("_", "-")
