"""What is read from syntax trees is what the frameworks themselves say, route by route and option by option."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from surefoot.claims import inventory
from surefoot.preflight import Inventory

APPS = Path(__file__).parents[2] / "data" / "apps"
DJANGO_REGEX = {"/^old/(?P<year>[0-9]{4})/$": "/old/{year}/"}


def said_by(script: str, folder: Path, *arguments: str) -> list[Any]:
    """What a framework prints of an application that it has imported."""
    done = subprocess.run(
        [sys.executable, "-B", "-X", "utf8", APPS / script, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def pairs(inventory: Inventory) -> set[tuple[str, str]]:
    return {(method, route.path) for route in inventory.routes for method in route.methods}


@pytest.mark.parametrize(
    ("folder", "kind", "module", "unmounted"),
    [
        ("fastapi_shop", "asgi", "shop.main", ["/forgotten/route"]),
        ("starlette_site", "asgi", "pages", []),
        ("flask_site", "flask", "site_app", ["/lost/never"]),
        ("django_site", "django", "conf", ["/unused/"]),
    ],
)
def test_routes_are_those_of_the_framework(
    folder: str, kind: str, module: str, unmounted: list[str]
) -> None:
    """The same methods and paths, nothing more; what no application includes is told apart; nothing is left unread."""
    real = inventory(APPS / folder)
    said = {
        (method, DJANGO_REGEX.get(path, path))
        for methods, path in said_by("dump_routes.py", APPS / folder, kind, module)
        for method in methods
    }
    assert len(said) > 10
    assert pairs(real) == said
    assert [route.path for route in real.unmounted] == unmounted
    assert real.unread == ()


@pytest.mark.parametrize("kind", ["click", "typer", "argparse"])
def test_commands_are_those_of_the_framework(kind: str) -> None:
    """The same commands with the same options, and no other."""
    folder = APPS / f"{kind}_tool"
    real = inventory(folder)
    said = {tuple(words): options for words, options in said_by("dump_commands.py", folder, kind)}
    assert len(said) > 6
    assert {c.words: sorted(c.options) for c in real.commands} == said
    assert real.unread == ()


def test_what_is_computed_is_told_and_not_served(tmp_path: Path) -> None:
    """A prefix, a path, a list or a method that only running the program would tell is listed, and serves nothing."""
    (tmp_path / "app.py").write_text(
        "import os\n"
        "from fastapi import APIRouter, FastAPI\n"
        "from starlette.routing import Route\n"
        "app = FastAPI(openapi_url=None, routes=make_routes())\n"
        "router = APIRouter(prefix=os.environ['PREFIX'])\n"
        "@router.get('/inner')\n"
        "def inner(): ...\n"
        "app.include_router(router)\n"
        "app.include_router(load('router'))\n"
        "@app.get(os.environ['PATH'])\n"
        "def outer(): ...\n"
    )
    real = inventory(tmp_path)
    assert real.routes == ()
    assert sorted({note.line for note in real.unread}) == [4, 5, 9, 11]


def test_a_file_that_is_no_python_is_told(tmp_path: Path) -> None:
    """What could not be parsed is named where a route is missed."""
    (tmp_path / "app.py").write_text("from flask import Flask\napp = Flask(__name__)\n")
    (tmp_path / "more.py").write_text("import flask\ndef (:\n")
    real = inventory(tmp_path)
    assert [note.told for note in real.unread] == ["more.py:1: the file cannot be read as Python"]
