"""Spanning trees of the graph of bodies, with joints in either direction."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.usd.reader.spanning import (
    WORLD,
    Edge,
    TreeEdge,
    components,
    spanning_tree,
)


def test_joints_are_followed_forwards_first() -> None:
    """Even if a reversed joint is authored first."""
    edges = [Edge("b", "a"), Edge("a", "c"), Edge("c", "b")]

    tree = spanning_tree("a", edges)

    assert tree == (
        TreeEdge(1, "a", "c", backwards=False),
        TreeEdge(2, "c", "b", backwards=False),
    )


def test_reversed_joint_is_followed_backwards() -> None:
    """The child is then its body0."""
    tree = spanning_tree("a", [Edge("b", "a")])

    assert tree == (TreeEdge(0, "a", "b", backwards=True),)


def test_joint_that_closes_a_loop_is_used_last() -> None:
    """Only if no other joint leads to a body."""
    edges = [Edge("a", "b", closes=True), Edge("a", "c"), Edge("c", "b")]

    assert [tree_edge.index for tree_edge in spanning_tree("a", edges)] == [1, 2]
    assert [tree_edge.index for tree_edge in spanning_tree("a", edges[:1])] == [0]


def test_bodies_fixed_to_the_world_are_connected() -> None:
    """But the world is not a body."""
    edges = [Edge(WORLD, "a"), Edge("b", WORLD), Edge("c", "d")]

    assert components("abcde", edges) == [
        frozenset("ab"),
        frozenset("cd"),
        frozenset("e"),
    ]


_NODES = st.sampled_from([WORLD, *"abcdef"])
_EDGES = st.lists(st.builds(Edge, _NODES, _NODES, st.booleans()), max_size=12)


@given(_EDGES)
def test_tree_has_one_edge_per_body(edges: list[Edge]) -> None:
    """Each from a body that was reached before."""
    for part in components("abcdef", edges):
        held = any(WORLD in (e.first, e.second) and {e.first, e.second} & part for e in edges)
        root = WORLD if held else min(part)
        reached = {root}
        for tree_edge in spanning_tree(root, edges):
            assert tree_edge.parent in reached
            assert tree_edge.child not in reached
            edge = edges[tree_edge.index]
            ends = (edge.first, edge.second)
            assert (tree_edge.parent, tree_edge.child) == (
                ends[::-1] if tree_edge.backwards else ends
            )
            reached.add(tree_edge.child)
        assert part <= reached
