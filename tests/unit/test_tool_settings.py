"""`[[tools.mcp]]` and `[[tools.lsp]]` in `surefoot.toml`."""

import os
from pathlib import Path

import pytest

from surefoot.errors import SettingsError
from surefoot.project import Places, open_project
from surefoot.settings import parse_settings
from surefoot.testing.repository import ScratchRepository

SERVER = {"name": "shop", "command": ["shop-server", "--stdio"], "env_names": ["SHOP_KEY"]}
TEXT = """
[[tools.mcp]]
name = "shop"
command = ["shop-server", "--stdio"]
"""


def test_a_server_works_only_after_trust(tmp_path: Path) -> None:
    """A repository that brings its own server has it run for nobody who did not say so."""
    user = ScratchRepository.create(tmp_path, os.environ["PATH"])
    user.commit({"surefoot.toml": TEXT})
    places = Places(state=tmp_path / "state", cache=tmp_path / "cache")
    project = open_project(user.root, places)
    assert project.untrusted == ("tools.mcp",)
    assert project.settings.tools.mcp == ()
    project.trust()
    (server,) = open_project(user.root, places).settings.tools.mcp
    assert (server.name, server.command) == ("shop", ("shop-server", "--stdio"))


@pytest.mark.parametrize(
    ("servers", "error"),
    [
        ([{**SERVER, "name": "a.b"}], "tools.mcp.0.name = 'a.b'"),
        ([{**SERVER, "command": []}], "tools.mcp.0.command"),
        ([{**SERVER, "url": "http://x"}], "tools.mcp.0.url"),
        ([SERVER, SERVER], "two servers have one name: shop, shop"),
    ],
)
def test_a_server_that_cannot_be_meant(servers: object, error: str) -> None:
    """The message names the key."""
    with pytest.raises(SettingsError, match=error.replace("[", r"\\[")):
        parse_settings({"tools": {"mcp": servers}})


LANGUAGE = {"suffixes": [".php"], "language": "php", "command": ["phpactor", "language-server"]}
LSP_TEXT = """
[[tools.lsp]]
suffixes = [".php", ".PHTML"]
language = "php"
command = ["phpactor", "language-server"]
"""


def test_a_language_server_works_only_after_trust(tmp_path: Path) -> None:
    """A repository that names a command as one has it run for nobody who did not say so."""
    user = ScratchRepository.create(tmp_path, os.environ["PATH"])
    user.commit({"surefoot.toml": LSP_TEXT})
    places = Places(state=tmp_path / "state", cache=tmp_path / "cache")
    project = open_project(user.root, places)
    assert project.untrusted == ("tools.lsp",)
    assert project.settings.tools.lsp == ()
    project.trust()
    (server,) = open_project(user.root, places).settings.tools.lsp
    assert server.suffixes == (".php", ".phtml")
    assert (server.language, server.command) == ("php", ("phpactor", "language-server"))


@pytest.mark.parametrize(
    ("servers", "error"),
    [
        ([{**LANGUAGE, "suffixes": ["php"]}], "tools.lsp.0.suffixes.0 = 'php': .* like '.php'"),
        ([{**LANGUAGE, "suffixes": [".blade.php"]}], "tools.lsp.0.suffixes.0 = '.blade.php'"),
        ([{**LANGUAGE, "suffixes": [""]}], "tools.lsp.0.suffixes.0 = ''"),
        ([{**LANGUAGE, "suffixes": []}], "tools.lsp.0.suffixes = "),
        ([{**LANGUAGE, "language": ""}], "tools.lsp.0.language = ''"),
        ([{**LANGUAGE, "command": []}], "tools.lsp.0.command"),
        ([{**LANGUAGE, "env_names": ["X"]}], "tools.lsp.0.env_names"),
        ([LANGUAGE, {**LANGUAGE, "suffixes": [".PHP"]}], "name once: .php"),
    ],
)
def test_a_language_server_that_cannot_be_meant(servers: object, error: str) -> None:
    """The message names the key and what it takes."""
    with pytest.raises(SettingsError, match=error):
        parse_settings({"tools": {"lsp": servers}})
