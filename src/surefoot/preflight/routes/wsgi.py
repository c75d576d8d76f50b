"""Flask: routes by decorator and by call, class-based views, blueprints inside blueprints."""

import ast
from typing import Final

from surefoot.preflight.code import Code, Definition, Scope
from surefoot.preflight.flow import At, Flow, keyword, last_name
from surefoot.preflight.routes.graph import Graph, Leaf, Sub, defined_methods, may_be_path

_SHORT: Final = frozenset({"get", "post", "put", "patch", "delete"})
_VIEWS: Final = _SHORT | {"head", "options", "trace"}
_USES: Final = _SHORT | {"route", "add_url_rule", "register_blueprint"}
_TEXT: Final = r"\bflask\b|\.(?:add_url_rule|register_blueprint)\(|@[\w.]+\.\w+\("


class FlaskReader:
    """Fills a graph with what a project makes of Flask."""

    def __init__(self, code: Code, flow: Flow, graph: Graph) -> None:
        self._code = code
        self._flow = flow
        self._graph = graph

    def read(self) -> None:
        """Read every file that mentions it, nodes first."""
        if not self._code.imports("flask"):
            return
        sources = tuple(self._code.matching(_TEXT))
        for source in sources:
            for call, scope in source.calls:
                self._make(At(call, scope), call)
        for source in sources:
            decorators = {
                decorator: definition
                for definition, _ in source.decorated
                for decorator in definition.decorator_list
            }
            for call, scope in source.calls:
                if isinstance(call.func, ast.Attribute):
                    self._use(call, call.func, scope, decorators.get(call))

    def _make(self, at: At, call: ast.Call) -> None:
        name = self._flow.external(call.func, at.scope) or ""
        kind = name.rpartition(".")[2] if name.partition(".")[0] == "flask" else ""
        if kind == "Blueprint":
            given = keyword(call, "url_prefix", 5)
            prefix = "" if given is None or _is_none(given) else self._flow.text(given, at.scope)
            self._graph.add(at, "flask", is_app=False, prefix=prefix)
            self._static(at, call, is_app=False)
        elif kind == "Flask":
            self._graph.add(at, "flask", is_app=True)
            self._static(at, call, is_app=True)

    def _static(self, at: At, call: ast.Call, *, is_app: bool) -> None:
        """The files that Flask serves by itself."""
        folder = keyword(call, "static_folder", 2)
        if (folder is None and not is_app) or (folder is not None and _is_none(folder)):
            return
        given = keyword(call, "static_url_path", 1 if is_app else 3)
        if given is not None and not _is_none(given):
            url = self._flow.text(given, at.scope)
        else:
            told = "static" if folder is None else self._flow.text(folder, at.scope)
            url = None if told is None else "/" + told.rstrip("/").rpartition("/")[2]
        path = None if url is None else url.rstrip("/") + "/<path:filename>"
        methods = frozenset({"GET", "HEAD", "OPTIONS"})
        self._graph.pieces[at].append(Leaf(path=path, methods=methods, at=at))

    def _use(
        self, call: ast.Call, function: ast.Attribute, scope: Scope, decorated: Definition | None
    ) -> None:
        if function.attr not in _USES:
            return
        if function.attr in _SHORT and not may_be_path(keyword(call, "rule", 0)):
            return
        for node in self._flow.values(function.value, scope):
            if self._graph.framework.get(node) != "flask":
                continue
            if function.attr == "register_blueprint":
                self._register(node, call, scope)
            else:
                self._add(node, call, scope, decorated)

    def _register(self, node: At, call: ast.Call, scope: Scope) -> None:
        blueprint = keyword(call, "blueprint", 0)
        values = self._flow.values(blueprint, scope) if blueprint is not None else ()
        found = [v for v in values if self._graph.framework.get(v) == "flask"]
        if not found:
            self._graph.cannot_read(At(call, scope), "which blueprint is registered is computed")
        given = keyword(call, "url_prefix")
        prefix = None if given is None or _is_none(given) else self._flow.text(given, scope)
        if prefix is None and given is not None and not _is_none(given):
            self._graph.cannot_read(At(call, scope), "the prefix is computed")
            return
        for inner in found:
            sub = Sub(prefix=prefix, node=inner, at=At(call, scope), instead=True)
            self._graph.pieces[node].append(sub)

    def _add(self, node: At, call: ast.Call, scope: Scope, decorated: Definition | None) -> None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        path = self._flow.text(keyword(call, "rule", 0), scope)
        is_short = name in _SHORT
        methods = frozenset({name.upper()}) if is_short else self._methods(call, scope)
        methods |= {"OPTIONS"} | ({"HEAD"} if "GET" in methods else frozenset())
        self._graph.pieces[node].append(
            Leaf(path=path, methods=methods, at=At(decorated or call, scope))
        )

    def _methods(self, call: ast.Call, scope: Scope) -> frozenset[str]:
        given = keyword(call, "methods")
        if given is not None and not _is_none(given):
            found, whole = self._flow.elements(given, scope)
            names = [
                self._flow.text(at.node, at.scope) for at in found if isinstance(at.node, ast.expr)
            ]
            if not whole or None in names:
                self._graph.cannot_read(At(call, scope), "the methods are computed")
            return frozenset(n.upper() for n in names if n)
        return self._of_view(keyword(call, "view_func", 2), scope) or frozenset({"GET"})

    def _of_view(self, view: ast.expr | None, scope: Scope) -> frozenset[str]:
        """The methods of `SomeView.as_view(…)`: those that a class names, else those that it or a base defines."""
        if view is None:
            return frozenset()
        made = {v.node for v in self._flow.values(view, scope)} | {view}
        for call in made:
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
                continue
            for value in self._flow.values(call.func.value, scope):
                if isinstance(value.node, ast.ClassDef):
                    return self._of_class(value)
        return frozenset()

    def _of_class(self, view: At) -> frozenset[str]:
        classes = self._flow.lineage(view)
        for given, scope in ((g, c.scope) for c in classes for g in _class_values(c, "methods")):
            found, whole = self._flow.elements(given, scope)
            names = [
                self._flow.text(a.node, a.scope) for a in found if isinstance(a.node, ast.expr)
            ]
            if not whole or None in names:
                self._graph.cannot_read(view, "the methods are computed")
            return frozenset(n.upper() for n in names if n)
        return defined_methods(classes, _VIEWS)


def _class_values(at: At, name: str) -> list[ast.expr]:
    """What a class's own statements assign to a name."""
    body = at.node.body if isinstance(at.node, ast.ClassDef) else []
    found: list[ast.expr] = []
    for statement in body:
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, ast.AnnAssign):
            targets = [statement.target]
        else:
            continue
        if statement.value is not None and any(last_name(t) == name for t in targets):
            found.append(statement.value)
    return found


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
