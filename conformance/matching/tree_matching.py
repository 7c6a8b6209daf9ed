"""Matching of two unlabelled trees of rigid groups at the least cost.

Children of a pair are paired so that the cost of their subtrees is least. Costs prefer
matching as many nodes as possible, then equal types, then equal positions, so that a
single error does not change the matching of the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct, field
from scipy.optimize import linear_sum_assignment

from urdf_usd.conformance.observation.robot import JointType, Vec3

Pairs = tuple[tuple[int, int], ...]

# Costs of a pair. Positions and directions cost at most 1 each.
_UNMATCHED = 3.0
_OTHER_TYPE = 4.0
_OTHER_RANGE = 0.5
_MASS = 1e-3
# Costs that differ by less are equal: rounding to float32, accumulated along a tree.
EQUAL_COST = 2e-5


class TreeNode(Struct, frozen=True):
    """A rigid group, and the joint to its parent.

    Attributes:
        parent: Index of the parent; None at the root.
        type: Type of the joint.
        motion: The same, with interchangeable types as one.
        point: Origin of the joint in the parent's frame, in lengths of the robot.
        axis: Unit vector likewise; None if it has none.
        mass: Of all links [kg].
    """

    parent: int | None
    type: JointType | None = None
    motion: object = None
    point: Vec3 = (0.0, 0.0, 0.0)
    axis: Vec3 | None = None
    mass: float = 0.0


class TreeMatch(Struct, frozen=True):
    """The best match of two trees.

    Attributes:
        pairs: Indices of matched nodes, parents first.
        alike: Those pairs that have equally good alternatives.
        cost: Total cost.
    """

    pairs: Pairs = ()
    alike: frozenset[tuple[int, int]] = frozenset()
    cost: float = math.inf


class _Choice(Struct):
    """The best pairing of the children of a pair, and its cost."""

    cost: float
    pairs: Pairs = ()
    alike: frozenset[tuple[int, int]] = field(default_factory=frozenset)


def match_trees(
    expected: Sequence[TreeNode],
    actual: Sequence[TreeNode],
    roots: tuple[int, int],
    may_match: Callable[[int, int], bool],
) -> TreeMatch:
    """Pair the nodes of two trees.

    Args:
        expected: Nodes of one tree.
        actual: Nodes of the other.
        roots: Their roots; nodes not below these are unmatched.
        may_match: Whether a pair is possible at all.
    """
    ours, theirs = _children(expected), _children(actual)
    sizes = _sizes(expected), _sizes(actual)
    order = [roots]
    for a, b in order:
        order += ((c, d) for c in ours[a] for d in theirs[b] if may_match(c, d))
    choices: dict[tuple[int, int], _Choice] = {}
    for a, b in reversed(order):
        alone = (
            [_UNMATCHED * sizes[0][child] for child in ours[a]],
            [_UNMATCHED * sizes[1][child] for child in theirs[b]],
        )
        costs = [
            [
                choices[c, d].cost + _distance(expected[c], actual[d])
                if (c, d) in choices
                else one + other
                for d, other in zip(theirs[b], alone[1], strict=True)
            ]
            for c, one in zip(ours[a], alone[0], strict=True)
        ]
        choices[a, b] = _choose(ours[a], theirs[b], costs, alone)
    pairs = [roots]
    alike: set[tuple[int, int]] = set()
    for pair in pairs:
        chosen = [each for each in choices[pair].pairs if each in choices]
        alike.update(choices[pair].alike.intersection(chosen))
        pairs += chosen
    start, end = roots
    missed = len(expected) - sizes[0][start] + len(actual) - sizes[1][end]
    cost = choices[roots].cost + _UNMATCHED * missed
    cost += mass_distance(expected[start].mass, actual[end].mass)
    return TreeMatch(tuple(pairs), frozenset(alike), cost)


def assign(
    costs: Sequence[Sequence[float]], alone: tuple[Sequence[float], Sequence[float]]
) -> tuple[Pairs, frozenset[tuple[int, int]], float]:
    """Pair rows and columns at the least cost; in order where costs are equal.

    Args:
        costs: (n, m) of each pair.
        alone: (n) and (m) costs of unpaired rows and columns.

    Returns:
        Pairs in the order of rows, those of them with equally good alternatives, and
        the total cost.
    """
    count, others = len(alone[0]), len(alone[1])
    size = max(count, others)
    full = np.zeros((size, size))
    full[:count, others:] = np.asarray(alone[0])[:, np.newaxis]
    full[count:, :others] = np.asarray(alone[1])[np.newaxis]
    if count and others:
        full[:count, :others] = costs
    rows, columns = linear_sum_assignment(full)
    chosen = [int(column) for column in columns]
    alike: set[int] = set()
    for one, other in combinations(range(size), 2):
        first, second = chosen[one], chosen[other]
        change = (full[one, second] + full[other, first]) - (full[one, first] + full[other, second])
        if change <= EQUAL_COST:
            alike |= {one, other}
            if first > second:
                chosen[one], chosen[other] = second, first
    pairs = tuple((row, chosen[row]) for row in range(count) if chosen[row] < others)
    total = float(full[rows, chosen].sum())
    return pairs, frozenset(pair for pair in pairs if pair[0] in alike), total


def _choose(
    ours: Sequence[int],
    theirs: Sequence[int],
    costs: Sequence[Sequence[float]],
    alone: tuple[Sequence[float], Sequence[float]],
) -> _Choice:
    if not ours or not theirs:
        return _Choice(sum(alone[0]) + sum(alone[1]))
    pairs, alike, cost = assign(costs, alone)
    named = {pair: (ours[pair[0]], theirs[pair[1]]) for pair in pairs}
    return _Choice(cost, tuple(named.values()), frozenset(named[pair] for pair in alike))


def _distance(expected: TreeNode, actual: TreeNode) -> float:
    """Cost of matching two nodes, without their subtrees."""
    cost = min(1.0, math.dist(expected.point, actual.point))
    if expected.motion != actual.motion:
        cost += _OTHER_TYPE
    elif expected.type != actual.type:
        cost += _OTHER_RANGE
    if expected.axis is not None and actual.axis is not None:
        cost += math.dist(expected.axis, actual.axis) / 2.0
    return cost + mass_distance(expected.mass, actual.mass)


def mass_distance(expected: float, actual: float) -> float:
    """Cost of different masses: small, to decide between otherwise equal matches."""
    total = expected + actual
    return _MASS * abs(expected - actual) / total if total > 0.0 else 0.0


def _children(nodes: Sequence[TreeNode]) -> Mapping[int, list[int]]:
    children: dict[int, list[int]] = {index: [] for index in range(len(nodes))}
    for index, node in enumerate(nodes):
        if node.parent is not None:
            children[node.parent].append(index)
    return children


def _sizes(nodes: Sequence[TreeNode]) -> list[int]:
    """Return the sizes of the subtrees; parents come first."""
    sizes = [1] * len(nodes)
    for index in reversed(range(len(nodes))):
        parent = nodes[index].parent
        if parent is not None:
            sizes[parent] += sizes[index]
    return sizes
