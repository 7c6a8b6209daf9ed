"""Matching of links and joints without names by the structure of the robot.

The rigid groups of both trees are matched first, then the links within each pair of
groups by their poses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.matching.rigid_trees import (
    TURNING,
    Group,
    Member,
    RobotTree,
    actual_tree,
    expected_tree,
)
from urdf_usd.conformance.matching.tree_matching import (
    EQUAL_COST,
    TreeMatch,
    assign,
    mass_distance,
    match_trees,
)
from urdf_usd.conformance.observation.named_prims import Matches, NamedPrims
from urdf_usd.conformance.observation.robot import JointType, Observation

Array: TypeAlias = NDArray[np.float64]

# Distance from a link's pose, relative to the robot's length, beyond which an Xform is
# another frame, or only holds geometry.
_ELSEWHERE = 1e-4
# Cost of an unmatched link or body: more than any distance.
_ALONE = 3.0
# An Xform with shapes is more likely to hold geometry than to be a link.
_OTHER_CONTENT = 1e-3
# Number of prims of the base that are tried as the frame of the root link.
_STARTS = 16


def match_by_tree(
    expected: Observation, prims: NamedPrims, links: Matches, joints: Matches
) -> frozenset[str]:
    """Match the remaining links and joints by the structure of the robot.

    Existing matches are kept, and restrict new ones. If there are none, joints of
    different types may match if everything else fits.

    Args:
        expected: Observation of the URDF; its first configuration is zero.
        prims: Candidates in the USD.
        links: Matches of links, extended in place.
        joints: Matches of joints, likewise.

    Returns:
        Paths of prims that are one of several equivalent matches.
    """
    ours = expected_tree(expected)
    theirs = actual_tree(prims, links, ours.length)
    tree_match, start, end = _best(ours, theirs, links, joints)
    alike: set[str] = set()
    for one, other in tree_match.pairs:
        here, there = ours.groups[one], theirs.groups[other]
        if here.joint and there.joint and joints.is_unmatched(here.joint, there.joint):
            joints.add(here.joint, there.joint)
            if (one, other) in tree_match.alike:
                alike |= {there.joint}
        frames = (
            (start, end)
            if (one, other) == tree_match.pairs[0]
            else (ours.frame(here), theirs.frame(there))
        )
        matched, unsure, _ = _within(ours, theirs, (here, there), frames, links)
        for name, path in matched:
            links.add(name, path)
            if (one, other) in tree_match.alike or name in unsure:
                alike |= {path}
    return frozenset(alike)


def _best(
    ours: RobotTree, theirs: RobotTree, links: Matches, joints: Matches
) -> tuple[TreeMatch, Array, Array]:
    """Match the trees for all pairs of roots; return the best match and both frames.

    A base without mass may be part of the world in a USD, and any prim of the base may
    have the frame of the root link. No match is returned if several fit equally.
    """
    lenient = not links.path_of and not joints.path_of

    def compatible(one: int, other: int) -> bool:
        return _compatible(ours.groups[one], theirs.groups[other], links, joints)

    def may_match(one: int, other: int) -> bool:
        types = {ours.groups[one].type, theirs.groups[other].type}
        return compatible(one, other) and (lenient or len(types) == 1 or TURNING.issuperset(types))

    fits: list[tuple[float, TreeMatch, Array, Array]] = []
    for one, other in product(_starts(ours), _starts(theirs)):
        if not compatible(one, other):
            continue
        pair = ours.groups[one], theirs.groups[other]
        start = ours.frame(pair[0])
        expected = ours.nodes(one, start)
        for end in _ends(theirs, pair[1]):
            actual = theirs.nodes(other, end)
            tree_match = match_trees(expected, actual, (one, other), may_match)
            _, _, cost = _within(ours, theirs, pair, (start, end), links)
            fits.append((tree_match.cost + cost, tree_match, start, end))
    fits.sort(key=lambda fit: fit[0])
    rivals = {fit[1].pairs[0] for fit in fits if fit[0] - fits[0][0] < EQUAL_COST}
    return fits[0][1:] if len(rivals) == 1 else (TreeMatch(), np.eye(4), np.eye(4))


def _starts(side: RobotTree) -> Iterator[int]:
    """Yield the groups that may be the root of the robot.

    The child of a floating joint of a massless root may be the robot, and the root the
    world. Groups of Xforms without child joints may hold geometry, unless there is no
    body at all.
    """
    bodies = {name for name, member in side.members.items() if not member.is_frame}
    carrying = {group.parent for group in side.groups}
    for index, group in enumerate(side.groups):
        if bodies.isdisjoint(group.members) and bodies and index not in carrying:
            continue
        above = None if group.parent is None else side.groups[group.parent]
        if above is None or (
            above.parent is None and above.mass == 0.0 and group.type is JointType.FLOATING
        ):
            yield index


def _ends(theirs: RobotTree, group: Group) -> list[Array]:
    poses = {
        np.round(pose, 6).tobytes(): pose
        for pose in (
            theirs.frame(group),
            *(np.array(theirs.members[path].pose) for path in group.members),
        )
    }
    return list(poses.values())[:_STARTS]


def _within(
    ours: RobotTree,
    theirs: RobotTree,
    pair: tuple[Group, Group],
    frames: tuple[Array, Array],
    links: Matches,
) -> tuple[list[tuple[str, str]], frozenset[str], float]:
    """Match members of two groups by pose; return ambiguous ones, and the cost.

    Bodies match at any pose, Xforms only at the pose of a link.
    """
    names = [name for name in pair[0].members if name not in links.path_of]
    paths = [path for path in pair[1].members if path not in links.name_of]
    costs = [
        [
            _member_cost(ours.members[name], theirs.members[path], frames, ours.length)
            for path in paths
        ]
        for name in names
    ]
    pairs, alike, cost = assign(costs, ([_ALONE] * len(names), [_ALONE] * len(paths)))
    kept = [pair for pair in pairs if costs[pair[0]][pair[1]] < 2.0 * _ALONE]
    return (
        [(names[row], paths[column]) for row, column in kept],
        frozenset(names[row] for row, column in kept if (row, column) in alike),
        cost,
    )


def _member_cost(link: Member, prim: Member, frames: tuple[Array, Array], length: float) -> float:
    """Cost of matching a prim with a link of the same group.

    Args:
        link: Of the URDF.
        prim: Of the USD.
        frames: (4, 4) of the group on both sides.
        length: Of the robot [m].
    """
    here, there = (
        np.linalg.inv(frame) @ np.array(member.pose)
        for frame, member in zip(frames, (link, prim), strict=True)
    )
    place = min(1.0, math.dist(here[:3, 3], there[:3, 3]) / length)
    # The chord between the axes of two frames is 2.8 at half a turn.
    turn = float(np.linalg.norm(here[:3, :3] - there[:3, :3])) / 2.0 / math.sqrt(2.0)
    is_drawing = prim.has_shapes and not link.has_shapes
    if prim.is_frame and (is_drawing or place + turn > _ELSEWHERE):
        return 2.0 * _ALONE
    content = _OTHER_CONTENT * (link.has_shapes != prim.has_shapes)
    return place + turn + content + mass_distance(link.mass, prim.mass)


def _compatible(here: Group, there: Group, links: Matches, joints: Matches) -> bool:
    """Whether no existing match separates two groups."""
    if here.joint and there.joint and not joints.compatible(here.joint, there.joint):
        return False
    known = {links.path_of[name] for name in here.members if name in links.path_of}
    names = {links.name_of[path] for path in there.members if path in links.name_of}
    return known <= set(there.members) and names <= set(here.members)
