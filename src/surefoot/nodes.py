"""The vocabulary of a graph that is executed: nodes, what they wait for, what they touch, how they end.

Frozen values, as in `values`; a plan compiles into such a graph, whatever its nodes do.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

NodeId = NewType("NodeId", str)


class NodeKind(StrEnum):
    """What a node does (SPEC C3)."""

    UNIT = "unit"
    HOOK = "hook"
    SUBAGENT = "subagent"
    TEAM_WORKER = "team-worker"
    VERIFICATION = "verification"
    REPROCESS = "reprocess"


class NodeOutcome(StrEnum):
    """How a node ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It never ran, because something that it needs did not succeed."""
    REPLACED = "replaced"
    """Others do its work now: the nodes that it added. Who needs it needs each of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a node may use, or has used."""

    tokens: int = 0
    """Prompt and completion together."""
    cost_usd: float = 0.0
    iterations: int = 0


NOTHING = Cost()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One piece of work in a graph."""

    node_id: NodeId
    kind: NodeKind
    needs: tuple[NodeId, ...] = ()
    """Must have succeeded; else this one is skipped."""
    after: tuple[NodeId, ...] = ()
    """Must have ended, however they did; one that is not in the graph is no constraint."""
    reads: tuple[str, ...] = ()
    """Paths or globs inside the repository that nobody may write meanwhile."""
    writes: tuple[str, ...] = ()
    """Paths or globs that nobody may read or write meanwhile."""
    reserve: Cost = NOTHING
    """The most that it may use; it starts only when the budget holds that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """All nodes that a schedule starts with."""

    nodes: tuple[Node, ...]
