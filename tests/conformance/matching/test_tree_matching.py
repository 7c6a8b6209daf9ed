"""Matching of trees without names."""

from __future__ import annotations

import random
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.conformance.matching.tree_matching import TreeNode, assign, match_trees
from urdf_usd.conformance.observation.robot import JointType


def _legs(*points: tuple[float, float, float]) -> list[TreeNode]:
    """Return a trunk with equal legs of two joints at different positions."""
    nodes = [TreeNode(None, mass=9.0)]
    for point in points:
        hip = len(nodes)
        nodes += [
            TreeNode(0, JointType.REVOLUTE, "turns", point, (0.0, 0.6, 0.8), 1.0),
            TreeNode(hip, JointType.REVOLUTE, "turns", (0.0, 0.1, -0.3), (1.0, 0.0, 0.0), 0.5),
        ]
    return nodes


_HIPS = ((0.3, 0.1, 0.0), (0.3, -0.1, 0.0), (-0.3, 0.1, 0.0), (-0.3, -0.1, 0.0))


def test_one_wrong_position_does_not_change_other_matches() -> None:
    """Only one partner remains for it."""
    astray = ((0.9, 0.8, -0.7), *_HIPS[1:])
    found = match_trees(_legs(*_HIPS), _legs(*astray), (0, 0), lambda *_: True)

    assert dict(found.pairs) == {index: index for index in range(9)}
    assert not found.alike


def test_legs_are_matched_by_position_in_any_order() -> None:
    """The order of the file does not matter."""
    for order in permutations(range(4)):
        found = match_trees(
            _legs(*_HIPS), _legs(*(_HIPS[i] for i in order)), (0, 0), lambda *_: True
        )
        assert {(2 * leg + 1, 2 * order.index(leg) + 1) for leg in range(4)} <= set(found.pairs)


def test_equivalent_nodes_are_paired_in_order_and_marked() -> None:
    """Two legs at one position."""
    legs = _legs(_HIPS[0], _HIPS[1], _HIPS[1])
    found = match_trees(legs, legs, (0, 0), lambda *_: True)

    assert dict(found.pairs) == {index: index for index in range(7)}
    assert found.alike == {(3, 3), (5, 5)}


def test_missing_subtree_is_unmatched() -> None:
    """For every leg."""
    found = match_trees(_legs(*_HIPS), _legs(*_HIPS[1:]), (0, 0), lambda *_: True)

    assert set(dict(found.pairs)) == {0, 3, 4, 5, 6, 7, 8}


def test_forbidden_pairs_are_not_matched() -> None:
    """The leg is unmatched, with its subtree."""
    legs = _legs(*_HIPS)
    found = match_trees(legs, legs, (0, 0), lambda one, other: 3 not in {one, other})

    assert {1, 5, 7} <= set(dict(found.pairs))
    assert not {3, 4}.intersection(dict(found.pairs))


def test_long_chain_causes_no_recursion() -> None:
    """Ropes and snakes have thousands of links."""
    rope = [TreeNode(None)] + [
        TreeNode(index, JointType.SPHERICAL, "turns", (0.0, 0.001, 0.0)) for index in range(3000)
    ]
    found = match_trees(rope, rope, (0, 0), lambda *_: True)

    assert len(found.pairs) == 3001


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(
            st.lists(st.floats(0.0, 2.0), min_size=n, max_size=n),
            min_size=1,
            max_size=5,
        )
    ),
    st.randoms(use_true_random=False),
)
def test_assignment_has_the_least_cost(costs: list[list[float]], rng: random.Random) -> None:
    """Compared with all permutations."""
    alone = [3.0 + rng.random() for _ in costs], [3.0 for _ in costs[0]]
    pairs, _, total = assign(costs, alone)

    def price(chosen: tuple[tuple[int, int], ...]) -> float:
        rows, columns = {row for row, _ in chosen}, {column for _, column in chosen}
        return (
            sum(costs[row][column] for row, column in chosen)
            + sum(one for row, one in enumerate(alone[0]) if row not in rows)
            + sum(one for column, one in enumerate(alone[1]) if column not in columns)
        )

    size = max(len(costs), len(costs[0]))
    best = min(
        price(
            tuple(
                (row, column)
                for row, column in enumerate(order)
                if row < len(costs) and column < len(costs[0])
            )
        )
        for order in permutations(range(size))
    )
    # Equal nodes may be exchanged, at a cost below the tolerance of each measure.
    assert abs(price(pairs) - total) < 1e-9
    assert best - 1e-9 <= total <= best + 1e-3
