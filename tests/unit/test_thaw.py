"""What a run depends on is read back as it was, also by a version that knows more settings."""

import json
from dataclasses import replace
from typing import Any

from surefoot.codec import canonical, encode
from surefoot.request import Frozen, Request, thaw
from surefoot.settings import Settings, parse_settings
from surefoot.values import Issue

FROZEN = Frozen(settings=Settings(), request=Request(issue=Issue(source="audit")))


def test_it_is_what_was_stored() -> None:
    """Forging is on where nothing else was said."""
    assert thaw(encode(FROZEN)) == FROZEN
    assert FROZEN.settings.tools.forge


def test_a_run_from_before_tools_were_forged_goes_on_without_them() -> None:
    """It asked no model for a shape, so its replay and its resumption do not, either."""
    old: dict[str, Any] = json.loads(encode(FROZEN))
    for name in set(old["settings"]["tools"]) - {"mcp"}:
        del old["settings"]["tools"][name]
    tools = thaw(canonical(old)).settings.tools
    assert not tools.forge
    assert not tools.capture


def test_a_run_from_before_mutants_goes_on_without_them() -> None:
    """It measured no strength, so its replay and its resumption do not, either."""
    old: dict[str, Any] = json.loads(encode(FROZEN))
    del old["settings"]["test"]["mutants"]
    assert thaw(canonical(old)).settings.test.mutants is None
    assert FROZEN.settings.test.mutants == 12


def test_every_setting_is_read_back_as_it_was_written() -> None:
    """A card of a model and servers of tools and of a language with all that they may hold; a run that has them can be gone on with."""
    card = {"name": "openai/m", "tools": True, "schema": True, "base_url": "http://127.0.0.1:9/v1"}
    server = {"name": "docs", "command": ["docs-server"], "env_names": ["DOCS"]}
    language = {"suffixes": [".php"], "language": "php", "command": ["php-server"]}
    tools = {"mcp": [server], "lsp": [language]}
    settings = parse_settings({"models": {"card": [card]}, "tools": tools})
    frozen = replace(FROZEN, settings=settings)
    assert thaw(encode(frozen)) == frozen
    assert frozen.settings.models.card[0].schema_ is True


def test_nothing_is_a_ceiling_too() -> None:
    """What was asked for goes before the settings, a budget of no money as well."""
    settings = parse_settings({"run": {"budget_usd": 2.0}})
    for asked, given in ((None, 2.0), (0.0, 0.0), (1.5, 1.5)):
        request = replace(FROZEN.request, cost_usd=asked)
        assert Frozen(settings=settings, request=request).overrides.cost_usd == given
