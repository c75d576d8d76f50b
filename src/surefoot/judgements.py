"""What a round is held against before it may be called done: boundaries it changed, decision gates, mutants of its lines."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from surefoot.values import EventId

GateId: TypeAlias = Literal["G1", "G2", "G3", "G4", "G5"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Boundary:
    """A place where one part of the product relies on another, which a round changed."""

    kind: Literal["signature", "gone", "call", "claim"]
    """A public signature that changed; one that is gone; a new call into another module; a claimed route or command."""
    place: str
    """`file:line`; of what is gone, where it was."""
    contract: str
    """What the two sides agree on, from the syntax tree."""
    problem: str = ""
    """What breaks it; empty when it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionGate:
    """One of G1 to G5 (SPEC B9)."""

    gate: GateId
    asks: str
    passed: bool
    reason: str
    events: tuple[EventId, ...] = ()
    """The records that it rests on."""


MutantEnd: TypeAlias = Literal["killed", "hangs", "survived", "unclear"]
"""A test fails; the tests no longer end; all of them pass; the tests gave no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A small wrong change of a line that a run changed, and whether the tests notice it."""

    file: str
    line: int
    """1-based, as in the tree that was judged."""
    operator: str
    """The family of the change, e.g. `compare`."""
    patch: str
    """Unified diff against that tree."""
    ended: MutantEnd
    by: tuple[str, ...] = ()
    """Ids of tests that fail on it, as far as they were run."""

    @property
    def is_noticed(self) -> bool:
        """Whether somebody who runs the tests would see it."""
        return self.ended in ("killed", "hangs")
