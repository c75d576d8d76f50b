"""What is said of and by an MCP server, in values of ours."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A tool, as its server describes it; nothing of it is checked."""

    name: str
    description: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a tool answered."""

    text: str
    is_error: bool


class McpRefusalError(Exception):
    """A server answered with an error, which is its right."""


class McpTroubleError(Exception):
    """A server died, hangs or does not keep to the protocol."""
