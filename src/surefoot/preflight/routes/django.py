"""Django: URLconfs from the one that the settings name, through `include`."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from surefoot.preflight.code import Code, Scope, Source
from surefoot.preflight.flow import At, Flow, keyword, last_name
from surefoot.preflight.routes.graph import ANY, Graph, Leaf, Sub

_GROUP: Final = re.compile(r"\((?:\?P<(\w+)>)?[^()]*\)")
_META: Final = re.compile(r"[.+*?\[\]()|]")


class DjangoReader:
    """Fills a graph with a project's URLconfs; a list of patterns is a node, and the root one is the application."""

    def __init__(self, code: Code, flow: Flow, graph: Graph) -> None:
        self._code = code
        self._flow = flow
        self._graph = graph

    def read(self) -> None:
        """Read the root URLconfs and what they include, and then every other one."""
        if not self._code.imports("django"):
            return
        for root in dict.fromkeys(self._roots()):
            source = self._code.source(root)
            if source is not None:
                self._module(source, is_app=True)
        for source in self._code.mentioning(["urlpatterns"]):
            self._module(source, is_app=False)

    def _roots(self) -> Iterator[str]:
        """The files that `ROOT_URLCONF` names, in settings or in `settings.configure`."""
        for source in self._code.mentioning(["ROOT_URLCONF"]):
            scope = source.scope
            named = [s.what for s in scope.names.get("ROOT_URLCONF", ())]
            configured = [keyword(call, "ROOT_URLCONF") for call, _ in source.calls]
            for value in (*named, *configured):
                if not isinstance(value, ast.expr):
                    continue
                module = self._flow.text(value, scope)
                file = self._code.module_file(module, source.file) if module else None
                if file is not None:
                    yield file
                else:
                    at = At(value, scope)
                    self._graph.cannot_read(at, "the module that ROOT_URLCONF names is not here")

    def _module(self, source: Source, *, is_app: bool) -> At | None:
        """The node of a module's `urlpatterns`."""
        at = At(source.tree, source.scope)
        bound = source.scope.names.get("urlpatterns")
        if not bound:
            return None
        if at not in self._graph.framework:
            self._graph.add(at, "django", is_app=is_app)
            name = ast.Name(id="urlpatterns", ctx=ast.Load(), lineno=1, col_offset=0)
            self._list(at, name, source.scope)
        return at

    def _list(self, node: At, patterns: ast.expr, scope: Scope) -> None:
        found, whole = self._flow.elements(patterns, scope)
        if not whole:
            self._graph.cannot_read(At(patterns, scope), "a part of the patterns is computed")
        for element in found:
            if not isinstance(element.node, ast.expr):
                continue
            for value in self._flow.values(element.node, element.scope):
                if isinstance(value.node, ast.Call):
                    self._pattern(node, value, value.node)

    def _pattern(self, node: At, at: At, call: ast.Call) -> None:
        kind = last_name(call.func)
        name = self._flow.external(call.func, at.scope) or ""
        if name.partition(".")[0] != "django" or kind not in {"path", "re_path", "url"}:
            self._graph.cannot_read(at, f"what {kind or 'this'} makes of its patterns is computed")
            return
        text = self._flow.text(keyword(call, "route", 0) or keyword(call, "regex", 0), at.scope)
        view = keyword(call, "view", 1)
        if text is not None and kind != "path":
            text = readable(text)
        if isinstance(view, ast.Call) and last_name(view.func) == "include":
            self._include(node, At(view, at.scope), view, text)
        elif isinstance(view, ast.Attribute) and view.attr == "urls":
            # `admin.site.urls` and its like: the library's own patterns.
            prefix = None if text is None else "/" + text.rstrip("/")
            self._graph.pieces[node].append(Sub(prefix=prefix, node=None, at=at))
        else:
            self._graph.pieces[node].append(Leaf(path=_slashed(text), methods=ANY, at=at))

    def _include(self, node: At, at: At, call: ast.Call, text: str | None) -> None:
        what = keyword(call, "arg", 0)
        inner = None if what is None else self._included(what, at)
        if inner is None:
            self._graph.cannot_read(at, "what is included is not in this project, or computed")
            return
        self._graph.pieces[node].append(Sub(prefix=_slashed(text), node=inner, at=at))

    def _included(self, what: ast.expr, at: At) -> At | None:
        """`include("module")`, `include(module)`, `include([…])` or `include((…, name))`."""
        module = self._flow.text(what, at.scope)
        if module is not None:
            file = self._code.module_file(module, at.scope.file)
            source = self._code.source(file) if file else None
            return self._module(source, is_app=False) if source else None
        for value in self._flow.values(what, at.scope):
            inner = value.node
            if isinstance(inner, ast.Module):
                source = self._code.source(value.scope.file)
                return self._module(source, is_app=False) if source else None
            if isinstance(inner, ast.Tuple) and inner.elts:
                return self._included(inner.elts[0], At(inner, value.scope))
            if isinstance(inner, ast.List):
                if value not in self._graph.framework:
                    self._graph.add(value, "django", is_app=False)
                    self._list(value, what, at.scope)
                return value
        return None


def _slashed(text: str | None) -> str | None:
    return None if text is None else "/" + text.lstrip("/")


def readable(pattern: str) -> str | None:
    r"""A regular expression as a path, `^articles/(?P<year>\d+)/$` as `articles/{year}/`; None when it is more than that."""
    text = pattern.removeprefix("^").removesuffix("$").removesuffix(r"\Z")
    path = _GROUP.sub(lambda m: "{" + (m.group(1) or "_") + "}", text)
    path = re.sub(r"\\([-./_])", lambda m: "\0" if m.group(1) == "." else m.group(1), path)
    if "\\" in path or _META.search(path):
        return None
    return path.replace("\0", ".")
