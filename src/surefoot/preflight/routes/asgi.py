"""FastAPI and Starlette: routes by decorator, by call and by list, routers and mounted applications."""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from surefoot.preflight.code import BLOCKS, Code, Definition, Scope
from surefoot.preflight.flow import At, Flow, keyword
from surefoot.preflight.routes.graph import Graph, Leaf, Sub, defined_methods, may_be_path

_TOPS: Final = frozenset({"fastapi", "starlette"})
_NODES: Final[Mapping[str, bool]] = {
    "FastAPI": True,
    "Starlette": True,
    "APIRouter": False,
    "Router": False,
}
"""Whether a server can be given it as it is."""
_SHORT: Final = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "trace"})
_ADDING: Final[Mapping[str, str]] = {
    "api_route": "fastapi",
    "add_api_route": "fastapi",
    "route": "starlette",
    "add_route": "starlette",
    "websocket": "websocket",
    "websocket_route": "websocket",
    "add_websocket_route": "websocket",
    "add_api_websocket_route": "websocket",
}
_GET: Final = frozenset({"GET"})
_INCLUDING: Final = frozenset({"include_router", "mount"})
_TEXT: Final = r"\b(?:fastapi|starlette)\b|\.(?:add_\w*route|include_router|mount)\(|@[\w.]+\.\w+\("


class AsgiReader:
    """Fills a graph with what a project makes of FastAPI and Starlette."""

    def __init__(self, code: Code, flow: Flow, graph: Graph) -> None:
        self._code = code
        self._flow = flow
        self._graph = graph

    def read(self) -> None:
        """Read every file that mentions one of the two, nodes first."""
        if not any(self._code.imports(top) for top in _TOPS):
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
                self._use(call, scope, decorators.get(call))

    def kind(self, at: At) -> str:
        """The class that a call makes an instance of; empty when it is of neither framework."""
        node = at.node
        if not isinstance(node, ast.Call):
            return ""
        name = self._flow.external(node.func, at.scope) or ""
        return name.rpartition(".")[2] if name.partition(".")[0] in _TOPS else ""

    def nodes(self, node: ast.expr, scope: Scope) -> Iterator[At]:
        """The applications and routers that an expression may be; `app.router` counts as its application."""
        if isinstance(node, ast.Attribute) and node.attr == "router":
            yield from self.nodes(node.value, scope)
        for value in self._flow.values(node, scope):
            if value in self._graph.framework:
                yield value

    def _make(self, at: At, call: ast.Call) -> None:
        kind = self.kind(at)
        if kind not in _NODES:
            return
        framework = "fastapi" if kind in {"FastAPI", "APIRouter"} else "starlette"
        given = keyword(call, "prefix") if kind == "APIRouter" else None
        prefix = self._flow.text(given, at.scope) if given is not None else ""
        self._graph.add(at, framework, is_app=_NODES[kind], prefix=prefix)
        position = {"Starlette": 1, "Router": 0}.get(kind)
        routes = keyword(call, "routes", position)
        if routes is not None:
            self._list(at, routes, at.scope)
        if kind == "FastAPI":
            self._built_in(at, call)

    def _built_in(self, at: At, call: ast.Call) -> None:
        """The schema and the pages that FastAPI serves by itself."""
        paths: dict[str, str | None] = {}
        for name, default in (
            ("openapi_url", "/openapi.json"),
            ("docs_url", "/docs"),
            ("redoc_url", "/redoc"),
            ("swagger_ui_oauth2_redirect_url", "/docs/oauth2-redirect"),
        ):
            given = keyword(call, name)
            paths[name] = default if given is None else self._flow.text(given, at.scope)
        if paths["openapi_url"] is None:
            return
        if paths["docs_url"] is None:
            paths["swagger_ui_oauth2_redirect_url"] = None
        for path in paths.values():
            if path is not None:
                leaf = Leaf(path=path, methods=_GET | {"HEAD"}, at=at)
                self._graph.pieces[at].append(leaf)

    def _use(self, call: ast.Call, scope: Scope, decorated: Definition | None) -> None:
        function = call.func
        if not isinstance(function, ast.Attribute):
            return
        name = function.attr
        if name in _INCLUDING:
            for node in self.nodes(function.value, scope):
                self._include(node, call, scope, name)
        elif name in _ADDING or (name in _SHORT and may_be_path(keyword(call, "path", 0))):
            for node in self.nodes(function.value, scope):
                self._add(node, call, scope, decorated)

    def _include(self, node: At, call: ast.Call, scope: Scope, name: str) -> None:
        if name == "mount":
            path = self._flow.text(keyword(call, "path", 0), scope)
            self._sub(node, path, keyword(call, "app", 1), At(call, scope))
            return
        given = keyword(call, "prefix")
        prefix = "" if given is None else self._flow.text(given, scope)
        router = keyword(call, "router", 0)
        found = tuple(self.nodes(router, scope)) if router is not None else ()
        if not found:
            self._graph.cannot_read(At(call, scope), "which router is included is computed")
        for inner in found:
            self._graph.pieces[node].append(Sub(prefix=prefix, node=inner, at=At(call, scope)))

    def _sub(self, node: At, path: str | None, app: ast.expr | None, at: At) -> None:
        prefix = None if path is None else path.rstrip("/")
        found = tuple(self.nodes(app, at.scope)) if app is not None else ()
        for inner in found or (None,):
            self._graph.pieces[node].append(Sub(prefix=prefix, node=inner, at=at))

    def _add(self, node: At, call: ast.Call, scope: Scope, decorated: Definition | None) -> None:
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        endpoint: At | None = At(decorated, scope) if decorated is not None else None
        if endpoint is None:
            given = keyword(call, "endpoint", 1) or keyword(call, "route", 1)
            endpoint = self._definition(given, scope)
        if name in _SHORT:
            methods = frozenset({name.upper()})
        elif _ADDING[name] == "websocket":
            methods = frozenset({"WEBSOCKET"})
        else:
            methods = self._methods(call, scope, endpoint, _ADDING[name])
        path = self._flow.text(keyword(call, "path", 0), scope)
        self._graph.pieces[node].append(
            Leaf(path=path, methods=methods, at=At(decorated or call, scope))
        )

    def _definition(self, node: ast.expr | None, scope: Scope) -> At | None:
        values = self._flow.values(node, scope) if node is not None else ()
        return next((v for v in values if isinstance(v.node, BLOCKS)), None)

    def _methods(
        self, call: ast.Call, scope: Scope, endpoint: At | None, family: str
    ) -> frozenset[str]:
        given = keyword(call, "methods", 2 if family == "starlette" else None)
        is_plain = isinstance(given, ast.Constant) and given.value is None
        if given is not None and not is_plain:
            found, whole = self._flow.elements(given, scope)
            names = [
                self._flow.text(at.node, at.scope) for at in found if isinstance(at.node, ast.expr)
            ]
            known = frozenset(n.upper() for n in names if n)
            if not whole or len(known) < len(found):
                self._graph.cannot_read(At(call, scope), "the methods are computed")
        elif endpoint is not None and isinstance(endpoint.node, ast.ClassDef):
            known = defined_methods(self._flow.lineage(endpoint), _SHORT)
        else:
            known = _GET
        return known | {"HEAD"} if family == "starlette" and "GET" in known else known

    def _list(self, node: At, routes: ast.expr, scope: Scope) -> None:
        """`routes=[Route(…), Mount(…), …]`."""
        found, whole = self._flow.elements(routes, scope)
        if not whole:
            self._graph.cannot_read(At(routes, scope), "the list of routes is computed")
        for element in found:
            self._element(node, element)

    def _element(self, node: At, element: At) -> None:
        if not isinstance(element.node, ast.expr):
            return
        for value in self._flow.values(element.node, element.scope):
            call, scope = value
            kind = self.kind(value)
            if not isinstance(call, ast.Call):
                continue
            if kind in {"Mount", "Host"}:
                self._mount(node, value, call, kind)
            elif kind in {"Route", "APIRoute", "WebSocketRoute", "APIWebSocketRoute"}:
                path = self._flow.text(keyword(call, "path", 0), scope)
                family = "fastapi" if kind.startswith("API") else "starlette"
                endpoint = self._definition(keyword(call, "endpoint", 1), scope)
                methods = self._methods(call, scope, endpoint, family)
                if "WebSocket" in kind:
                    methods = frozenset({"WEBSOCKET"})
                self._graph.pieces[node].append(Leaf(path=path, methods=methods, at=value))
            else:
                self._graph.cannot_read(value, "what kind of route this is cannot be read")

    def _mount(self, node: At, at: At, call: ast.Call, kind: str) -> None:
        scope = at.scope
        path = "" if kind == "Host" else self._flow.text(keyword(call, "path", 0), scope)
        app = keyword(call, "app", 1)
        routes = keyword(call, "routes", 2) if kind == "Mount" else None
        if routes is None:
            self._sub(node, path, app, at)
            return
        self._graph.add(at, "starlette", is_app=False)
        self._list(at, routes, scope)
        prefix = None if path is None else path.rstrip("/")
        self._graph.pieces[node].append(Sub(prefix=prefix, node=at, at=at))
