"""What a round is held against before it may be called done: the boundaries it changed, and the decision gates."""

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
