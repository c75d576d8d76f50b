"""Which tests and auditors run when, by the type of a unit (SPEC C9); one versioned table.

That a tree is complete is always proved by the whole suite; the table says what may refuse it before that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

from surefoot.values import UnitType

LEVELS_VERSION: Final = "levels/1"


class Level(StrEnum):
    """When something is checked."""

    TURN = "turn"
    SLICE = "slice"
    MILESTONE = "milestone"


class Extent(IntEnum):
    """How much is looked at."""

    NONE = 0
    IMPACTED = 1
    """Tests that the change can reach, before all of them decide; findings in files that changed."""
    ALL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What one level asks for."""

    tests: Extent
    audit: Extent
    """Lint, types and security."""


_CODE: Final = {
    Level.TURN: Checks(tests=Extent.IMPACTED, audit=Extent.IMPACTED),
    Level.SLICE: Checks(tests=Extent.ALL, audit=Extent.IMPACTED),
    Level.MILESTONE: Checks(tests=Extent.ALL, audit=Extent.ALL),
}
_WORDS: Final = {
    Level.TURN: Checks(tests=Extent.IMPACTED, audit=Extent.NONE),
    Level.SLICE: Checks(tests=Extent.ALL, audit=Extent.NONE),
    Level.MILESTONE: Checks(tests=Extent.ALL, audit=Extent.ALL),
}
LEVELS: Final[Mapping[UnitType, Mapping[Level, Checks]]] = {
    UnitType.FIX: _CODE,
    UnitType.FEATURE: _CODE,
    UnitType.REFACTOR: _CODE,
    UnitType.TEST: _CODE,
    UnitType.DOCS: _WORDS,
    UnitType.PLAN: _WORDS,
    UnitType.AUDIT: _WORDS,
}


def checks(level: Level, types: Iterable[UnitType]) -> Checks:
    """What a level asks for when units of these types meet: the most that any of them does."""
    wanted = [LEVELS[unit_type][level] for unit_type in types]
    return Checks(
        tests=max((w.tests for w in wanted), default=Extent.ALL),
        audit=max((w.audit for w in wanted), default=Extent.ALL),
    )
