"""What makes nodes a graph that can be executed, and in which order its nodes could go."""

from collections import deque
from collections.abc import Container, Mapping, Sequence

from surefoot.errors import UsageError
from surefoot.kernel.claims import subtree
from surefoot.nodes import Node, NodeId


def in_order(nodes: Sequence[Node], *, known: Container[NodeId] = ()) -> list[Node]:
    """The nodes, each behind those of them that it waits for; `known` are there already and wait for none of them.

    Raises:
        UsageError: An id is there twice, a need is unknown, nodes wait for each other in a circle, or a claim lies
            outside the repository.
    """
    new = _by_id(nodes, known)
    missing = dict.fromkeys(new, 0)
    followers: dict[NodeId, list[NodeId]] = {}
    for node in nodes:
        for other in (*node.needs, *node.after):
            if other in new:
                missing[node.node_id] += 1
                followers.setdefault(other, []).append(node.node_id)
    free = deque(node_id for node_id, count in missing.items() if not count)
    order: list[Node] = []
    while free:
        node_id = free.popleft()
        order.append(new[node_id])
        for follower in followers.get(node_id, ()):
            missing[follower] -= 1
            if not missing[follower]:
                free.append(follower)
    if len(order) < len(new):
        raise UsageError(f"nodes wait for each other in a circle: {_circle(new, missing)}; cut it")
    return order


def chains(order: Sequence[Node]) -> Mapping[NodeId, int]:
    """How many nodes, one behind the other, wait for each; `order` as from `in_order`."""
    heights: dict[NodeId, int] = {}
    for node in reversed(order):
        height = heights.setdefault(node.node_id, 0)
        for other in (*node.needs, *node.after):
            heights[other] = max(heights.get(other, 0), height + 1)
    return heights


def _by_id(nodes: Sequence[Node], known: Container[NodeId]) -> dict[NodeId, Node]:
    new: dict[NodeId, Node] = {}
    for node in nodes:
        if node.node_id in new or node.node_id in known:
            raise UsageError(f"node {node.node_id!r} is there twice; give each an id of its own")
        new[node.node_id] = node
    for node in nodes:
        for claim in (*node.reads, *node.writes):
            subtree(claim)
        for need in node.needs:
            if need not in new and need not in known:
                raise UsageError(
                    f"node {node.node_id!r} needs {need!r}, which is not in the graph; "
                    "add it or drop the need"
                )
    return new


def _circle(nodes: Mapping[NodeId, Node], missing: Mapping[NodeId, int]) -> str:
    """One circle among the nodes that still miss something."""
    at = next(node_id for node_id, count in missing.items() if count)
    path: dict[NodeId, None] = {}
    while at not in path:
        path[at] = None
        node = nodes[at]
        at = next(other for other in (*node.needs, *node.after) if missing.get(other))
    walked = list(path)
    return " -> ".join([*walked[walked.index(at) :], at])
