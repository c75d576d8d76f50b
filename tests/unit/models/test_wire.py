"""What goes over the wire of an OpenAI-compatible endpoint."""

import json
from typing import Any

import pytest

from surefoot.models.wire import response_format, without_key

CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
OPEN = {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        (OPEN, False),
        ({**CLOSED, "required": []}, False),
        ({**CLOSED, "properties": {"a": OPEN}}, False),
        ({**CLOSED, "properties": {"a": {"type": "array", "items": OPEN}}}, False),
        ({**CLOSED, "$defs": {"Step": CLOSED}}, True),
        ({**CLOSED, "$defs": {"Step": OPEN}}, False),
        ({**CLOSED, "properties": {"a": {"anyOf": [{"type": "null"}, OPEN]}}}, False),
    ],
)
def test_only_a_closed_schema_is_asked_for_strictly(
    schema: dict[str, Any], *, strict: bool
) -> None:
    """Providers refuse a request that is strict about an object which may have other fields."""
    asked: Any = response_format("tool call", json.dumps(schema))
    assert asked["json_schema"] == {"name": "tool_call", "strict": strict, "schema": schema}


@pytest.mark.parametrize("whole", ["bad key {}", "status 401: '{}'", "bad key {}...; use another"])
@pytest.mark.parametrize("left", [64, 63, 22, 10])
def test_no_part_of_a_key_is_left_in_a_message(whole: str, left: int) -> None:
    """Also where the text was shortened within it, and whatever was written behind."""
    key = "0123456789abcdef" * 4
    assert without_key(whole.format(key[:left]), key) == whole.format("***")
    assert without_key("begins with 01234567", key) == "begins with 01234567"
    assert without_key(f"{key} and {key[:30]}", key) == "*** and ***"
