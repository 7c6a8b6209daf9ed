"""Trees are found in graphs of bodies whichever way the joints point."""

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


def test_joints_are_followed_forwards_before_any_is_followed_backwards() -> None:
    """Even where the one that points the other way is written first."""
    edges = [Edge("b", "a"), Edge("a", "c"), Edge("c", "b")]

    tree = spanning_tree("a", edges)

    assert tree == (
        TreeEdge(1, "a", "c", backwards=False),
        TreeEdge(2, "c", "b", backwards=False),
    )


def test_a_joint_against_the_tree_is_followed_backwards() -> None:
    """The child is then the first of its bodies."""
    tree = spanning_tree("a", [Edge("b", "a")])

    assert tree == (TreeEdge(0, "a", "b", backwards=True),)


def test_a_joint_that_closes_a_loop_is_used_last() -> None:
    """And only where nothing else leads to a body."""
    edges = [Edge("a", "b", closes=True), Edge("a", "c"), Edge("c", "b")]

    assert [tree_edge.index for tree_edge in spanning_tree("a", edges)] == [1, 2]
    assert [tree_edge.index for tree_edge in spanning_tree("a", edges[:1])] == [0]


def test_the_world_holds_together_what_is_held_to_it() -> None:
    """But it is no body."""
    edges = [Edge(WORLD, "a"), Edge("b", WORLD), Edge("c", "d")]

    assert components("abcde", edges) == [
        frozenset("ab"),
        frozenset("cd"),
        frozenset("e"),
    ]


_NODES = st.sampled_from([WORLD, *"abcdef"])
_EDGES = st.lists(st.builds(Edge, _NODES, _NODES, st.booleans()), max_size=12)


@given(_EDGES)
def test_a_tree_reaches_every_body_of_its_part_once(edges: list[Edge]) -> None:
    """One edge per body, each from a body that was reached before."""
    for part in components("abcdef", edges):
        held = any(
            WORLD in (e.first, e.second) and {e.first, e.second} & part for e in edges
        )
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
