"""Who may touch which paths at the same time: first come, first served, and nobody holds while waiting for another.

A claim counts as the subtree below its fixed part, the components before the first with a wildcard: `src/a/*.py` is
`src/a` and all below it, `src/a.py` that one file, `**/x.py` the whole repository. Two claims overlap when one subtree
lies in the other. That is wider than what the globs match (`src/*_a.py` and `src/*_b.py` overlap), never narrower.

The rest is a queue a directory, with the four modes of hierarchical locking (Gray et al. 1976): a claim on `a/b` is
noted at its ancestors, too, so that each is compared with what it meets and never with every other claim. A node joins
all its queues at once, so all queues agree on who came first: the first that waits can only wait for nodes that wait
for none, and no circle can form. The cost of a claim is its depth.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from surefoot.errors import UsageError
from surefoot.nodes import Node, NodeId

_WILD = frozenset("*?[{\\")


# What a node does at a directory itself, and somewhere below it; plain bits, since they are looked at for every node.
_READ: Final = 1
_WRITE: Final = 2
_READ_BELOW: Final = 4
_WRITE_BELOW: Final = 8


def subtree(claim: str) -> str:
    """The path below which a claim lies; empty for the whole repository.

    Raises:
        UsageError: The claim does not lie inside the repository.
    """
    parts = [part for part in claim.split("/") if part not in {"", "."}]
    if claim.startswith("/") or ".." in parts or not claim:
        raise UsageError(
            f"the claim {claim!r} is no path inside the repository; "
            "name it relative to the repository's root, without `..`"
        )
    fixed: list[str] = []
    for part in parts:
        if _WILD.intersection(part):
            break
        fixed.append(part)
    return "/".join(fixed)


def overlap(one: str, other: str) -> bool:
    """Whether two claims may mean the same path; if in doubt, yes."""
    a, b = subtree(one), subtree(other)
    return _lies_in(a, b) or _lies_in(b, a)


def _lies_in(path: str, root: str) -> bool:
    return not root or path == root or path.startswith(f"{root}/")


@dataclass(slots=True)
class _Place:
    """A directory or file that somebody claims."""

    held: dict[int, int] = field(default_factory=dict)
    """How many nodes hold it in each mode."""
    waiting: deque[tuple[NodeId, int]] = field(default_factory=deque)

    def is_free_for(self, mode: int) -> bool:
        return not any(_clash(mode, held) for held in self.held)


def _clash(one: int, other: int) -> bool:
    """Below a directory two nodes may still miss each other; that is decided further down."""
    return bool(
        (one | other) & _WRITE
        or (one & _READ and other & _WRITE_BELOW)
        or (other & _READ and one & _WRITE_BELOW)
    )


class Claims:
    """The claims of the nodes that run or are next; not thread-safe."""

    def __init__(self) -> None:
        self._places: dict[str, _Place] = {}
        self._modes: dict[NodeId, Mapping[str, int]] = {}
        """In which mode each node that has entered claims which path."""
        self._pending: dict[NodeId, int] = {}
        """How many places each node that waits still lacks."""

    def enter(self, node: Node) -> bool:
        """Queue for all claims of a node; whether it holds them now. It holds them until it leaves."""
        modes = self._modes[node.node_id] = _modes(node)
        lacks = 0
        for path, mode in modes.items():
            place = self._places.setdefault(path, _Place())
            if place.waiting or not place.is_free_for(mode):
                place.waiting.append((node.node_id, mode))
                lacks += 1
            else:
                place.held[mode] = place.held.get(mode, 0) + 1
        if lacks:
            self._pending[node.node_id] = lacks
        return not lacks

    def leave(self, node: Node) -> tuple[NodeId, ...]:
        """Give up the claims of a node that holds them; those that hold all of theirs now."""
        freed: list[NodeId] = []
        for path, mode in self._modes.pop(node.node_id).items():
            place = self._places[path]
            place.held[mode] -= 1
            if not place.held[mode]:
                del place.held[mode]
            freed += self._hand_on(place)
            if not place.held and not place.waiting:
                del self._places[path]
        return tuple(freed)

    def _hand_on(self, place: _Place) -> Iterable[NodeId]:
        while place.waiting and place.is_free_for(place.waiting[0][1]):
            node_id, mode = place.waiting.popleft()
            place.held[mode] = place.held.get(mode, 0) + 1
            self._pending[node_id] -= 1
            if not self._pending[node_id]:
                del self._pending[node_id]
                yield node_id


def _modes(node: Node) -> Mapping[str, int]:
    """In which mode a node claims each path and each directory above it."""
    modes: dict[str, int] = {}
    for claims, here, below in (
        (node.reads, _READ, _READ_BELOW),
        (node.writes, _WRITE, _WRITE_BELOW),
    ):
        for path in map(subtree, claims):
            modes[path] = modes.get(path, here) | here
            while path:
                path = path.rpartition("/")[0]  # noqa: PLW2901  # walks up to the root
                modes[path] = modes.get(path, below) | below
    return modes
