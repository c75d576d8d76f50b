"""Hand-written specs as canonical JSON, and parameters that a schema has let through, with their types."""

from collections.abc import Mapping
from typing import Literal

from surefoot import codec
from surefoot.values import ToolOutcome, ToolSpec


def spec(
    name: str,
    purpose: str,
    effect: Literal["read", "write", "run"],
    *,
    parameters: Mapping[str, object],
    required: tuple[str, ...],
    example: Mapping[str, object],
) -> ToolSpec:
    """A spec from plain data.

    The schema is one flat object: providers with native tool calls refuse `oneOf` and the like at the top, so what
    depends on several parameters is for the tool to say.
    """
    schema = {
        "type": "object",
        "properties": parameters,
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(
        name=name,
        purpose=purpose,
        schema=codec.canonical(schema).decode(),
        effect=effect,
        example=codec.canonical(example).decode(),
    )


def text(parameters: Mapping[str, object], name: str) -> str | None:
    """A string parameter, or None when it was not given."""
    value = parameters.get(name)
    return value if isinstance(value, str) else None


def number(parameters: Mapping[str, object], name: str) -> int | None:
    """An integer parameter, or None when it was not given; JSON Schema calls 3.0 an integer too."""
    value = parameters.get(name)
    return int(value) if isinstance(value, int | float) else None


def flag(parameters: Mapping[str, object], name: str) -> bool:
    """A boolean parameter, false when it was not given."""
    return parameters.get(name) is True


def failed(error: object, *, output: str = "") -> ToolOutcome:
    """The outcome of a call that did not do what it was for."""
    return ToolOutcome(ok=False, output=output, error=str(error))
