"""Spanning tree of a graph of bodies and joints.

The joints of a stage need not form a tree nor be directed away from its root; those of
a URDF must.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

# The world as a node; no prim path is empty.
WORLD = ""


class Edge(Struct, frozen=True):
    """A joint between two bodies.

    Attributes:
        first: Body on side 0, or :data:`WORLD`.
        second: Body on side 1, or :data:`WORLD`.
        closes: Whether the joint is marked as closing a loop.
    """

    first: str
    second: str
    closes: bool = False


class TreeEdge(Struct, frozen=True):
    """An edge of the spanning tree, directed away from its root.

    Attributes:
        index: Index of the edge in the graph.
        parent: End nearer to the root.
        child: The other end.
        backwards: Whether the child is the edge's first end.
    """

    index: int
    parent: str
    child: str
    backwards: bool


def components(nodes: Iterable[str], edges: Iterable[Edge]) -> list[frozenset[str]]:
    """Return the connected components of bodies, in the order of nodes.

    Bodies that are jointed to the world are connected; the world itself is not
    included.
    """
    neighbours: dict[str, list[str]] = {node: [] for node in (WORLD, *nodes)}
    for edge in edges:
        neighbours[edge.first].append(edge.second)
        neighbours[edge.second].append(edge.first)
    found: list[frozenset[str]] = []
    seen: set[str] = set()
    for node in neighbours:
        if node in seen or node == WORLD:
            continue
        reached = {node}
        pending = [node]
        while pending:
            for other in neighbours[pending.pop()]:
                if other not in reached:
                    reached.add(other)
                    pending.append(other)
        seen |= reached
        found.append(frozenset(reached - {WORLD}))
    return found


def spanning_tree(root: str, edges: Sequence[Edge]) -> tuple[TreeEdge, ...]:
    """Return a spanning tree from a root.

    Edges in their own direction are preferred to backward ones, and both to those that
    close loops.
    """
    reached = {root}
    tree: list[TreeEdge] = []
    left = list(range(len(edges)))
    while (edge := _next_edge(edges, left, reached)) is not None:
        tree.append(edge)
        left.remove(edge.index)
        reached.add(edge.child)
    return tuple(tree)


def _next_edge(edges: Sequence[Edge], left: Sequence[int], reached: set[str]) -> TreeEdge | None:
    for closes in (False, True):
        for backwards in (False, True):
            for index in left:
                edge = edges[index]
                ends = edge.first, edge.second
                parent, child = reversed(ends) if backwards else ends
                if edge.closes == closes and parent in reached and child not in reached:
                    return TreeEdge(index, parent, child, backwards)
    return None
