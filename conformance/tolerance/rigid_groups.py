"""Rigid groups: links connected by fixed joints, and their combined mass."""

from __future__ import annotations

from collections.abc import Sequence

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
    harmless_moment,
    inertia_bound,
    is_pointlike,
    largest_moment,
    length,
)


class _LinkMass(Struct, frozen=True, eq=False):
    """Mass of one link of a group, in the frame of the group's head, its first link."""

    mass: float  # [kg]
    center: NDArray[np.float64]  # (3,) centre of mass [m]
    tensor: NDArray[np.float64]  # (3, 3) inertia about the centre of mass [kg m^2]
    origin: NDArray[np.float64]  # (3,) origin of the link [m]
    depth: int  # number of fixed joints between the head and the link


class GroupMass(Struct, frozen=True, eq=False):
    """Mass of a whole group, in the frame of its head."""

    mass: float  # [kg]
    center: NDArray[np.float64]  # (3,) [m]; the head's origin if there is no mass
    tensor: NDArray[np.float64]  # (3, 3) inertia about the centre of mass [kg m^2]
    parts: tuple[_LinkMass, ...]  # masses of its links

    @property
    def center_bound(self) -> float:
        """Bound of the rounding of the centre of mass [m].

        With r the largest distance from the head: each centre, each mass and the storage of
        the sum add u r, each fixed joint adds u r and two quaternions.
        """
        reach = (length(end) for part in self.parts for end in (part.center, part.origin))
        welds = max((part.depth for part in self.parts), default=0)
        factor = 3 * RELATIVE + welds * (RELATIVE + PER_JOINT)
        return factor * max(reach, default=0.0) + ARITHMETIC

    @property
    def inertia_bound(self) -> float:
        """Bound of the rounding of the inertia, relative to its largest moment.

        In m |d|^2, the mass adds u and d twice the error of a centre. The tensor of a part
        adds its storage and the rotations of its fixed joints, and the sum its storage.
        """
        largest = largest_moment(self.tensor)
        if not largest:
            return ARITHMETIC
        arm_error = 2 * self.center_bound
        absolute = inertia_bound(self.tensor) * largest
        for part in self.parts:
            angle = QUATERNION + part.depth * PER_JOINT
            absolute += (RELATIVE + 2 * angle) * largest_moment(part.tensor)
            arm = length(part.center - self.center)
            absolute += part.mass * (RELATIVE * arm**2 + 2 * arm * arm_error)
        return absolute / largest + ARITHMETIC

    def harmless_moment(self, size: float, total: float) -> float:
        """Return the inertia that may be defaulted for its point masses [kg m^2]."""
        return sum(
            harmless_moment(part.mass, size, total)
            for part in self.parts
            if is_pointlike(part.tensor, part.mass, size)
        )


def rigid_groups(
    links: Sequence[str], joints: Sequence[JointObservation]
) -> tuple[tuple[str, ...], ...]:
    """Partition links into groups connected by fixed joints; the head comes first."""
    parent_joint = {joint.child: joint for joint in joints}
    groups: dict[str, list[str]] = {}
    for name in links:
        head = name
        while (joint := parent_joint.get(head)) and joint.type is JointType.FIXED:
            head = joint.parent
        groups.setdefault(head, []).append(name)
    return tuple(
        (head, *(name for name in members if name != head)) for head, members in groups.items()
    )


def masses_of(observation: Observation) -> dict[str, MassProperties | None]:
    """Return the own mass properties of each link."""
    return {link.name: link.mass for link in observation.links}


def tensor_of(values: Vec6) -> NDArray[np.float64]:
    """Return the (3, 3) tensor of (ixx, ixy, ixz, iyy, iyz, izz)."""
    ixx, ixy, ixz, iyy, iyz, izz = values
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def group_masses(
    observation: Observation,
    groups: Sequence[Sequence[str]],
    joints: Sequence[JointObservation],
) -> tuple[GroupMass | None, ...]:
    """Combine the masses of each group by the parallel axis theorem.

    Args:
        observation: With masses and frames; its first configuration is used.
        groups: Rigid groups, the head first.
        joints: All joints.

    Returns:
        One per group; None if a required mass or frame is not known.
    """
    frames, masses = observation.frames, masses_of(observation)
    if frames is None:
        return (None,) * len(groups)
    parent = {joint.child: joint.parent for joint in joints}
    column = {name: index for index, name in enumerate(frames.links)}
    positions, rotations = frames.positions[0], frames.rotations[0]

    def combined(group: Sequence[str]) -> GroupMass | None:
        head, parts = group[0], []
        for name in group:
            own = masses.get(name)
            if own is None or not own.mass:
                continue
            if own.inertia is None or name not in column or head not in column:
                return None
            turn = rotations[column[head]].T
            origin = turn @ (positions[column[name]] - positions[column[head]])
            rotation = turn @ rotations[column[name]]
            center = origin + rotation @ np.asarray(own.center)
            tensor = rotation @ tensor_of(own.inertia) @ rotation.T
            depth, link = 0, name
            while link != head and link in parent:
                link, depth = parent[link], depth + 1
            parts.append(_LinkMass(own.mass, center, tensor, origin, depth))
        mass = sum(part.mass for part in parts)
        center, tensor = np.zeros(3), np.zeros((3, 3))
        if mass:
            center = sum((part.mass * part.center for part in parts), center) / mass
        for part in parts:
            arm = part.center - center
            tensor += part.tensor + part.mass * (float(arm @ arm) * np.eye(3) - np.outer(arm, arm))
        return GroupMass(mass, center, tensor, tuple(parts))

    return tuple(map(combined, groups))
