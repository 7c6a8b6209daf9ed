"""Rigid groups: links connected by fixed joints, and their combined mass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.observation import robot as obs
from urdf_usd.conformance.tolerance import bounds


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
        reach = (bounds.length(end) for part in self.parts for end in (part.center, part.origin))
        welds = max((part.depth for part in self.parts), default=0)
        factor = 3 * bounds.RELATIVE + welds * (bounds.RELATIVE + bounds.PER_JOINT)
        return factor * max(reach, default=0.0) + bounds.ARITHMETIC

    @property
    def inertia_bound(self) -> float:
        """Bound of the rounding of the inertia, relative to its largest moment.

        In m |d|^2, the mass adds u and d twice the error of a centre. The tensor of a part
        adds its storage and the rotations of its fixed joints, and the sum its storage.
        """
        largest = bounds.largest_moment(self.tensor)
        if not largest:
            return bounds.ARITHMETIC
        arm_error = 2 * self.center_bound
        absolute = bounds.inertia_bound(self.tensor) * largest
        for part in self.parts:
            angle = bounds.QUATERNION + part.depth * bounds.PER_JOINT
            absolute += (bounds.RELATIVE + 2 * angle) * bounds.largest_moment(part.tensor)
            arm = bounds.length(part.center - self.center)
            absolute += part.mass * (bounds.RELATIVE * arm**2 + 2 * arm * arm_error)
        return absolute / largest + bounds.ARITHMETIC

    def harmless_moment(self, size: float, total: float) -> float:
        """Return the inertia that may be defaulted for its point masses [kg m^2]."""
        return sum(
            bounds.harmless_moment(part.mass, size, total)
            for part in self.parts
            if bounds.is_pointlike(part.tensor, part.mass, size)
        )


def rigid_groups(
    links: Sequence[str], joints: Sequence[obs.JointObservation]
) -> tuple[tuple[str, ...], ...]:
    """Partition links into groups connected by fixed joints; the head comes first."""
    parent_joint = {joint.child: joint for joint in joints}
    groups: dict[str, list[str]] = {}
    for name in links:
        head = name
        while (joint := parent_joint.get(head)) and joint.type is obs.JointType.FIXED:
            head = joint.parent
        groups.setdefault(head, []).append(name)
    return tuple(
        (head, *(name for name in members if name != head)) for head, members in groups.items()
    )


def masses_of(observation: obs.Observation) -> dict[str, obs.MassProperties | None]:
    """Return the own mass properties of each link."""
    return {link.name: link.mass for link in observation.links}


def tensor_of(values: obs.Vec6) -> NDArray[np.float64]:
    """Return the (3, 3) tensor of (ixx, ixy, ixz, iyy, iyz, izz)."""
    ixx, ixy, ixz, iyy, iyz, izz = values
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def group_masses(
    observation: obs.Observation,
    groups: Sequence[Sequence[str]],
    joints: Sequence[obs.JointObservation],
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
