"""What the checks of this package say, and the two ways in which they look at a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Contents: TypeAlias = Mapping[str, tuple[str | None, str | None]]
"""Text of each changed file before and after; None where it does not exist or is not text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One way in which a change bought its clean audit."""

    rule: str
    file: str
    line: int = 0
    """In the file as it is after the change; 0 when it points to no line."""
    message: str


def is_python(path: str) -> bool:
    """Whether the path is a Python source."""
    return path.endswith((".py", ".pyi"))


def words(text: str) -> frozenset[str]:
    """The words of a text, which reads better than a list of strings."""
    return frozenset(text.split())
