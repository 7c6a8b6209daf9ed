"""Which prims stand for links and joints whose names are lost: the shape of the robot.

The branches of its tree are paired first, and then the links that are welded together
in each pair, by their places.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from conformance.observation import JointType
from conformance.rigid_trees import (
    TURNING,
    Group,
    Member,
    Side,
    actual_side,
    expected_side,
)
from conformance.tree_matching import (
    ALIKE,
    TreeMatch,
    assign,
    mass_distance,
    match_trees,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from conformance.named_prims import Matches, NamedPrims
    from conformance.observation import Observation

    Array: TypeAlias = NDArray[np.float64]

# How far from the place of a link, in lengths of the robot, a frame is another, or a
# folder of geometry.
_ELSEWHERE = 1e-4
# What it costs to find nothing for a link, or for a body: more than any place.
_ALONE = 3.0
# A folder holds what is drawn of a link, a frame that is a link seldom does.
_OTHER_CONTENT = 1e-3
# Frames that are tried as the one that the base has in the URDF.
_STARTS = 16


def match_lost(
    expected: Observation, prims: NamedPrims, links: Matches, joints: Matches
) -> frozenset[str]:
    """Match links and joints by the shape of the robot, where names do not tell.

    What is matched already stays as it is, and keeps others from being matched against
    it. Where nothing is, joints of other types are taken for each other if all else
    fits.

    Args:
        expected: What the URDF says; its first frames are those at rest.
        prims: What the USD has.
        links: What is known of links; what is found is added.
        joints: Likewise of joints.

    Returns:
        Paths of what stands for one of several that are alike.
    """
    lenient = not links.path_of and not joints.path_of
    ours = expected_side(expected)
    theirs = actual_side(prims, links, ours.length)

    def may_match(one: int, other: int) -> bool:
        here, there = ours.groups[one], theirs.groups[other]
        return _agree(here, there, links, joints) and (
            lenient
            or here.type == there.type
            or TURNING.issuperset({here.type, there.type})
        )

    found, start, end = _best(ours, theirs, may_match)
    alike: set[str] = set()
    for one, other in found.pairs:
        here, there = ours.groups[one], theirs.groups[other]
        if here.joint and there.joint and joints.is_open(here.joint, there.joint):
            joints.add(here.joint, there.joint)
            if (one, other) in found.alike:
                alike |= {there.joint}
        frames = (
            (start, end)
            if here.joint is None or there.joint is None
            else (ours.frame(here), theirs.frame(there))
        )
        matched, unsure = _within(ours, theirs, (here, there), frames, links)
        for name, path in matched:
            links.add(name, path)
            if (one, other) in found.alike or name in unsure:
                alike |= {path}
    return frozenset(alike)


def _best(
    ours: Side, theirs: Side, may_match: Callable[[int, int], bool]
) -> tuple[TreeMatch, Array, Array]:
    """Try where the robots may begin; return how they fit, and both frames there.

    A base without mass may be the world's in a USD, and any prim of the base may have
    the frame that the URDF gives it. Nothing is guessed where several fit alike.
    """
    fits: list[tuple[TreeMatch, Array, Array]] = []
    for one in _starts(ours):
        start = ours.frame(ours.groups[one])
        expected = ours.branches(one, start)
        for other, group in enumerate(theirs.groups):
            if not _is_start(theirs, other) or not may_match(one, other):
                continue
            for end in _ends(theirs, group):
                found = match_trees(
                    expected, theirs.branches(other, end), (one, other), may_match
                )
                fits.append((found, start, end))
    fits.sort(key=lambda fit: fit[0].cost)
    if not fits or any(
        fit[0].cost - fits[0][0].cost < ALIKE and fit[0].pairs[0] != fits[0][0].pairs[0]
        for fit in fits
    ):
        return TreeMatch(), np.eye(4), np.eye(4)
    return fits[0]


def _starts(ours: Side) -> Iterator[int]:
    """Yield the groups that a USD may have at its base.

    One that floats off a frame without mass is the robot, and the frame is the world.
    """
    for index, group in enumerate(ours.groups):
        above = None if group.parent is None else ours.groups[group.parent]
        if above is None or (
            above.parent is None
            and above.mass == 0.0
            and group.type is JointType.FLOATING
        ):
            yield index


def _is_start(theirs: Side, index: int) -> bool:
    """Whether a robot may begin at a group.

    Frames that nothing hangs on may be folders, unless there is nothing but frames.
    """
    bodies = {name for name, member in theirs.members.items() if not member.is_frame}
    return theirs.groups[index].parent is None and (
        any(group.parent == index for group in theirs.groups)
        or not bodies
        or not bodies.isdisjoint(theirs.groups[index].members)
    )


def _ends(theirs: Side, group: Group) -> list[Array]:
    poses = {
        np.round(pose, 6).tobytes(): pose
        for pose in (
            theirs.frame(group),
            *(np.array(theirs.members[path].pose) for path in group.members),
        )
    }
    return list(poses.values())[:_STARTS]


def _within(
    ours: Side,
    theirs: Side,
    pair: tuple[Group, Group],
    frames: tuple[Array, Array],
    links: Matches,
) -> tuple[list[tuple[str, str]], frozenset[str]]:
    """Pair what is open of two groups by place; return also what is unsure of that.

    Bodies are paired whatever their place, frames only where links are.
    """
    names = [name for name in pair[0].members if name not in links.path_of]
    paths = [path for path in pair[1].members if path not in links.name_of]
    costs = [
        [
            _unlikeness(ours.members[name], theirs.members[path], frames, ours.length)
            for path in paths
        ]
        for name in names
    ]
    pairs, alike, _ = assign(costs, ([_ALONE] * len(names), [_ALONE] * len(paths)))
    kept = [pair for pair in pairs if costs[pair[0]][pair[1]] < 2.0 * _ALONE]
    return (
        [(names[row], paths[column]) for row, column in kept],
        frozenset(names[row] for row, column in kept if (row, column) in alike),
    )


def _unlikeness(
    link: Member, prim: Member, frames: tuple[Array, Array], length: float
) -> float:
    """What it costs to take a prim for a link of the same group.

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
    if prim.is_frame and place + turn > _ELSEWHERE:
        return 2.0 * _ALONE
    content = _OTHER_CONTENT * (link.has_shapes != prim.has_shapes)
    return place + turn + content + mass_distance(link.mass, prim.mass)


def _agree(here: Group, there: Group, links: Matches, joints: Matches) -> bool:
    """Whether nothing that is known keeps two groups apart."""
    if here.joint and there.joint and not joints.agree(here.joint, there.joint):
        return False
    known = {links.path_of[name] for name in here.members if name in links.path_of}
    names = {links.name_of[path] for path in there.members if path in links.name_of}
    return known <= set(there.members) and names <= set(here.members)
