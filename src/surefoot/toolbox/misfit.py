"""Why parameters do not fit a tool's schema: one exact sentence that a model can act on."""

import json
import re
from collections.abc import Mapping
from typing import Final

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from referencing.exceptions import Unresolvable

from surefoot.toolbox.bounds import named
from surefoot.values import ToolSpec

_VALUE_CHARACTERS: Final = 80
_MESSAGE_CHARACTERS: Final = 300
_FIRST: Final = ("additionalProperties", "required", "type")
"""A name that does not exist says most: it is often why another one is missing."""
_EXPECTED: Final[Mapping[str, str]] = {
    "enum": "one of {}",
    "const": "exactly {}",
    "minimum": "{} or more",
    "maximum": "{} or less",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "pattern": "a match of {}",
    "type": "the type {}",
}


INAPPLICABLE: Final = (Unresolvable, RecursionError, ArithmeticError, ValueError, re.error)
"""What a schema raises that was found to be one and cannot be applied to a value."""


def flaw_of(schema: Mapping[str, object]) -> str:
    """Why a value is no JSON Schema; empty when it is one. Its patterns can be compiled, which takes more than that they look so."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        return error.message
    except (RecursionError, ArithmeticError, ValueError, re.error) as error:
        return str(error)
    return ""


def misfit(
    spec: ToolSpec, validator: Draft202012Validator, parameters: Mapping[str, object]
) -> str | None:
    """What is wrong with the parameters of a call, or None when they fit."""
    try:
        errors = sorted(validator.iter_errors(parameters), key=_rank)
    except INAPPLICABLE as error:
        reason = type(error).__name__
        return f"the schema of {spec.name!r} cannot be applied ({reason}); use another tool"
    if not errors:
        return None
    return f"{spec.name}: {_said(errors[0])}; for example {spec.example}"


def _rank(error: ValidationError) -> tuple[int, int, str, str]:
    rule = str(error.validator)
    order = _FIRST.index(rule) if rule in _FIRST else len(_FIRST)
    return len(error.absolute_path), order, error.json_path, rule


def _said(error: ValidationError) -> str:
    rule, value, given = str(error.validator), error.validator_value, error.instance
    place = error.json_path.removeprefix("$").removeprefix(".")
    where = f"parameter {named(place)}" if place else "the parameters"
    if rule == "additionalProperties" and value is False and isinstance(given, dict):
        return _unknown(error, given, where if place else "")
    if rule == "required" and isinstance(given, dict) and isinstance(value, list):
        missing = next(str(name) for name in value if name not in given)
        inside = f" in {where}" if place else ""
        kind = _kind(error.schema, missing)
        return f"parameter {named(missing)} is missing{inside}; expected {kind}"
    expected = _EXPECTED.get(rule)
    if expected is not None:
        return f"{where} is {_shown(given)}; expected {expected.format(_listed(value))}"
    return f"{where} is {_shown(given)}; {error.message[-_MESSAGE_CHARACTERS:]}"


def _unknown(error: ValidationError, given: Mapping[str, object], inside: str) -> str:
    schema = error.schema if isinstance(error.schema, dict) else {}
    known = schema.get("properties", {})
    required = schema.get("required", ())
    extra = next((name for name in given if name not in known), "")
    takes = ", ".join(f"{name} (required)" if name in required else name for name in known)
    where = f" in {inside}" if inside else ""
    return f"there is no parameter {named(extra)}{where}; it takes {takes or 'none'}"


def _kind(schema: object, name: str) -> str:
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    about = properties.get(name) if isinstance(properties, dict) else None
    kind = about.get("type") if isinstance(about, dict) else None
    return f"the type {_listed(kind)}" if kind else "it"


def _listed(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_shown(item) for item in value)
    return value if isinstance(value, str) else _shown(value)


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _VALUE_CHARACTERS else f"{text[:_VALUE_CHARACTERS]}..."
