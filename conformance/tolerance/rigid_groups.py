"""Rigid groups: links connected by fixed joints, and their combined mass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import (
    JointObservation,
    JointType,
    MassProperties,
    Observation,
    Vec6,
)
from urdf_usd.conformance.tolerance.bounds import (
    ARITHMETIC,
    PER_JOINT,
    QUATERNION,
    RELATIVE,
    Tolerance,
    inertia_bound,
    largest_moment,
    length,
)

_IDENTITY = np.eye(3)


class LinkMass(Struct, frozen=True, eq=False):
    """Mass of one link of a group, in the frame of the group's head, its first link.

    Attributes:
        mass: [kg].
        center: (3,) centre of mass [m].
        tensor: (3, 3) inertia about the centre of mass [kg m^2].
        origin: (3,) origin of the link [m].
        depth: Number of fixed joints between the head and the link.
    """

    mass: float
    center: NDArray[np.float64]
    tensor: NDArray[np.float64]
    origin: NDArray[np.float64]
    depth: int


class GroupMass(Struct, frozen=True, eq=False):
    """Mass of a whole group, in the frame of its head.

    Attributes:
        mass: [kg].
        center: (3,) centre of mass [m]; the head's origin if there is no mass.
        tensor: (3, 3) inertia about the centre of mass [kg m^2].
        parts: Masses of its links.
    """

    mass: float
    center: NDArray[np.float64]
    tensor: NDArray[np.float64]
    parts: tuple[LinkMass, ...]


def rigid_groups(
    links: Sequence[str], joints: Sequence[JointObservation]
) -> tuple[tuple[str, ...], ...]:
    """Partition links into groups connected by fixed joints; the head comes first."""
    parent_joint = {joint.child: joint for joint in joints}
    groups: dict[str, list[str]] = {}
    for name in links:
        path = [name]
        while (joint := parent_joint.get(path[-1])) and joint.type is JointType.FIXED:
            path.append(joint.parent)
        groups.setdefault(path[-1], []).append(name)
    return tuple(
        (head, *(name for name in members if name != head)) for head, members in groups.items()
    )


def masses_of(observation: Observation) -> dict[str, MassProperties | None]:
    """Return the own mass properties of each link."""
    return {link.name: link.mass for link in observation.links}


def unread_masses(
    links: Iterable[str], expected: Observation, actual: Observation
) -> tuple[str, ...]:
    """Name the links whose mass one side states, and the other does not read."""
    unread: set[str] = set()
    for one, other in ((expected, actual), (actual, expected)):
        stated = masses_of(one)
        unread |= {name for name in other.unread_masses if (mass := stated.get(name)) and mass.mass}
    return tuple(name for name in links if name in unread)


def differing_links(
    links: Sequence[str],
    ours: Mapping[str, MassProperties | None],
    theirs: Mapping[str, MassProperties | None],
    tolerance: Tolerance,
    aspects: Sequence[str],
) -> tuple[str, ...]:
    """Name the links whose own mass properties differ.

    Args:
        links: Links that are summed.
        ours: Mass properties on the first side.
        theirs: Mass properties on the second side.
        tolerance: Largest differences of equal values.
        aspects: Which of ``mass``, ``center`` and ``inertia`` enter the sum.
    """
    return tuple(
        name
        for name in links
        if any(_differs(ours.get(name), theirs.get(name), tolerance, aspect) for aspect in aspects)
    )


def _differs(
    ours: MassProperties | None,
    theirs: MassProperties | None,
    tolerance: Tolerance,
    aspect: str,
) -> bool:
    here = ours.mass if ours else 0.0
    there = theirs.mass if theirs else 0.0
    if aspect == "mass":
        return abs(here - there) > tolerance.mass * here
    if ours is None or theirs is None or not (here and there):
        return False
    if aspect == "center":
        return math.dist(ours.center, theirs.center) > tolerance.position
    if ours.inertia is None or theirs.inertia is None:
        return ours.inertia is not theirs.inertia
    scale = max(map(abs, ours.inertia))
    return math.dist(ours.inertia, theirs.inertia) > tolerance.inertia * scale


def tensor_of(values: Vec6) -> NDArray[np.float64]:
    """Return the (3, 3) tensor of (ixx, ixy, ixz, iyy, iyz, izz)."""
    ixx, ixy, ixz, iyy, iyz, izz = values
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def group_masses(
    reading: Observation,
    groups: Sequence[Sequence[str]],
    joints: Sequence[JointObservation],
) -> tuple[GroupMass | None, ...]:
    """Combine the masses of each group by the parallel axis theorem.

    Args:
        reading: Observation with masses and frames; its first configuration is used.
        groups: Rigid groups, the head first.
        joints: All joints.

    Returns:
        One per group; None if a required mass or frame is not stated.
    """
    if reading.frames is None:
        return (None,) * len(groups)
    masses = masses_of(reading)
    parent = {joint.child: joint.parent for joint in joints}
    poses = dict(
        zip(
            reading.frames.links,
            zip(reading.frames.positions[0], reading.frames.rotations[0], strict=True),
            strict=True,
        )
    )
    return tuple(_group_mass(group, masses, parent, poses) for group in groups)


def _group_mass(
    group: Sequence[str],
    masses: Mapping[str, MassProperties | None],
    parent: Mapping[str, str],
    poses: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> GroupMass | None:
    head = group[0]
    parts = []
    for name in group:
        properties = masses.get(name)
        if properties is None or not properties.mass:
            continue
        if properties.inertia is None or name not in poses or head not in poses:
            return None
        start, turned = poses[head]
        place, attitude = poses[name]
        turn = turned.T
        origin = turn @ (place - start)
        rotation = turn @ attitude
        parts.append(
            LinkMass(
                mass=properties.mass,
                center=origin + rotation @ np.asarray(properties.center),
                tensor=rotation @ tensor_of(properties.inertia) @ rotation.T,
                origin=origin,
                depth=_welds(head, name, parent),
            )
        )
    return _sum(tuple(parts))


def _welds(head: str, link: str, parent: Mapping[str, str]) -> int:
    """Count the fixed joints between a group's head and one of its links."""
    depth = 0
    while link != head and link in parent:
        link = parent[link]
        depth += 1
    return depth


def _sum(parts: tuple[LinkMass, ...]) -> GroupMass:
    mass = sum(part.mass for part in parts)
    if not mass:
        return GroupMass(0.0, np.zeros(3), np.zeros((3, 3)), parts)
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
    tensor = np.zeros((3, 3))
    for part in parts:
        arm = part.center - center
        tensor += part.tensor + part.mass * (float(arm @ arm) * _IDENTITY - arm[:, None] * arm)
    return GroupMass(mass, center, tensor, parts)


def group_center_bound(parts: Sequence[LinkMass]) -> float:
    """Bound the rounding of a group's centre of mass [m].

    With r the largest distance from the head: each centre, each mass and the storage
    of the sum add u r, each fixed joint adds u r and two quaternions.
    """
    reach = _reach(parts)
    welds = max((part.depth for part in parts), default=0)
    per_weld = RELATIVE + PER_JOINT
    return (3 * RELATIVE + welds * per_weld) * reach + ARITHMETIC


def group_inertia_bound(
    parts: Sequence[LinkMass], center: NDArray[np.float64], tensor: NDArray[np.float64]
) -> float:
    """Bound the rounding of a group's inertia, relative to its largest moment.

    In m |d|^2, the mass adds u and d twice the error of a centre. The tensor of a part
    adds its storage and the rotations of its fixed joints, and the sum its storage.
    """
    largest = largest_moment(tensor)
    if not largest:
        return ARITHMETIC
    arm_error = 2 * group_center_bound(parts)
    absolute = inertia_bound(tensor) * largest
    for part in parts:
        moment = largest_moment(part.tensor)
        angle = QUATERNION + part.depth * PER_JOINT
        absolute += (RELATIVE + 2 * angle) * moment
        arm = length(part.center - center)
        absolute += part.mass * (RELATIVE * arm**2 + 2 * arm * arm_error)
    return absolute / largest + ARITHMETIC


def _reach(parts: Sequence[LinkMass]) -> float:
    return max(
        (length(end) for part in parts for end in (part.center, part.origin)),
        default=0.0,
    )
