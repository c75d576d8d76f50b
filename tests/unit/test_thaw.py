"""What a run depends on is read back as it was, also by a version that knows more settings."""

import json
from typing import Any

from surefoot.assembly import Frozen, Request, thaw
from surefoot.codec import canonical, encode
from surefoot.settings import Settings
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
