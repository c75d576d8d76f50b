"""Which routes are read from an application; nothing of it runs."""

from pathlib import Path

from surefoot.preflight import Code, take_inventory


def read(root: Path, **files: str) -> dict[str, set[str]]:
    """The methods of each path that is served."""
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
    found = take_inventory(Code(root, [f"{name}.py" for name in files]))
    return {route.path: set(route.methods) for route in found.routes}


def test_a_view_of_flask_has_the_methods_that_it_names_or_inherits(tmp_path: Path) -> None:
    """`methods` of a class counts before its functions, and those of its bases count with its own."""
    base = """
from flask.views import MethodView
class Base(MethodView):
    def get(self): ...
"""
    app = """
from flask import Flask
from flask.views import View
from base import Base
app = Flask(__name__, static_folder=None)
class Form(View):
    methods = ["GET", "POST"]
    def dispatch_request(self): ...
class Small(Form): ...
class Plain(View):
    def dispatch_request(self): ...
class Item(Base):
    def post(self): ...
app.add_url_rule("/form", view_func=Form.as_view("form"))
app.add_url_rule("/small", view_func=Small.as_view("small"))
app.add_url_rule("/plain", view_func=Plain.as_view("plain"))
app.add_url_rule("/item", view_func=Item.as_view("item"))
"""
    assert read(tmp_path, app=app, base=base) == {
        "/form": {"GET", "HEAD", "OPTIONS", "POST"},
        "/small": {"GET", "HEAD", "OPTIONS", "POST"},
        "/plain": {"GET", "HEAD", "OPTIONS"},
        "/item": {"GET", "HEAD", "OPTIONS", "POST"},
    }


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    """What such a file serves is not known, which is said where a route is missed."""
    (tmp_path / "app.py").write_text("from flask import Flask\napp = Flask(__name__)\n")
    (tmp_path / "old.py").write_bytes("# coding: latin-1\nname = 'caf\xe9'\n".encode("latin-1"))
    found = take_inventory(Code(tmp_path, ["app.py", "old.py"]))
    assert [note.told for note in found.unread] == ["old.py:1: the file cannot be read as Python"]


def test_an_endpoint_of_starlette_inherits_methods(tmp_path: Path) -> None:
    """A function of a base answers, too."""
    app = """
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.routing import Route
class Base(HTTPEndpoint):
    async def get(self, request): ...
class Item(Base):
    async def post(self, request): ...
app = Starlette(routes=[Route("/item", Item)])
"""
    assert read(tmp_path, app=app) == {"/item": {"GET", "HEAD", "POST"}}


def test_includes_of_django_inside_one_another_make_one_path(tmp_path: Path) -> None:
    """One slash stands between two prefixes."""
    urls = """
from django.urls import include, path
inner = [path("ping/", ping), path("", home)]
urlpatterns = [path("api/", include([path("v1/", include(inner)), path("", include(inner))]))]
"""
    assert read(tmp_path, settings='ROOT_URLCONF = "urls"\n', urls=urls) == {
        "/api/v1/ping/": {"*"},
        "/api/v1/": {"*"},
        "/api/ping/": {"*"},
        "/api/": {"*"},
    }
