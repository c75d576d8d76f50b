"""TOML that a repository holds, for those who look something up in it: what cannot be read says nothing."""

import tomllib
from pathlib import Path

from surefoot.plain_files import read_plain


def read_toml(path: Path) -> dict[str, object]:
    """A TOML file's content; empty when it is missing or broken (its own tools will say so)."""
    try:
        return parse_toml(read_plain(path).decode())
    except (OSError, UnicodeDecodeError):
        return {}


def parse_toml(text: str) -> dict[str, object]:
    """What a text holds; empty when it is broken, or nested deeper than can be read."""
    try:
        return tomllib.loads(text)
    except (
        ValueError,
        RecursionError,
    ):  # a TOMLDecodeError is a ValueError; so is a number too long
        return {}


def table(content: object, *keys: str) -> dict[str, object]:
    """The table at a path of keys; empty when something else is there."""
    for key in keys:
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, dict) else {}
