"""Prints a framework's own table of routes as JSON: `python dump_routes.py KIND MODULE`, run in the application's folder."""

import importlib
import json
import sys
import warnings


def asgi(routes, prefix=""):
    for route in routes:
        kind = type(route).__name__
        inner = getattr(route, "routes", None)
        path = prefix + getattr(route, "path", "")
        if kind == "_IncludedRouter":
            for context in route.effective_route_contexts():
                kind = type(context.original_route).__name__
                methods = ["WEBSOCKET"] if "WebSocket" in kind else sorted(context.methods)
                yield methods, prefix + context.path
        elif kind == "Mount" and inner:
            yield from asgi(inner, path)
        elif kind == "Mount":
            yield ["*"], path + "/{**}"
        elif "WebSocket" in kind:
            yield ["WEBSOCKET"], path
        elif hasattr(route, "methods"):
            methods = route.methods or route.endpoint.__dict__.keys() & {"get", "delete"}
            named = {method.upper() for method in methods}
            yield sorted(named | ({"HEAD"} if route.methods is None else set())), path
        else:
            sys.exit(f"unknown kind of route: {kind}")


def flask(module):
    for rule in module.create_app().url_map.iter_rules():
        yield sorted(rule.methods), rule.rule


def django(patterns, prefix="/"):
    from django.urls import URLResolver

    for pattern in patterns:
        path = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from django(pattern.url_patterns, path)
        else:
            yield ["*"], path


def main():
    warnings.simplefilter("ignore")
    kind, name = sys.argv[1:]
    sys.path.insert(0, "")
    if kind == "django":
        import os

        os.environ["DJANGO_SETTINGS_MODULE"] = name
        import django as library
        from django.urls import get_resolver

        library.setup()
        found = django(get_resolver().url_patterns)
    elif kind == "flask":
        found = flask(importlib.import_module(name))
    else:
        found = asgi(importlib.import_module(name).app.routes)
    print(json.dumps(sorted(found, key=str)))


main()
