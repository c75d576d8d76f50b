"""What goes over the wire of an OpenAI-compatible endpoint."""

import json
from typing import Any

import pytest

from surefoot.models.wire import response_format

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
