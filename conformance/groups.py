"""Rigid groups: links that fixed joints weld, and their mass taken together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from conformance.observation import JointType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from conformance.observation import (
        Frames,
        JointObservation,
        MassProperties,
        Observation,
        Vec6,
    )
    from conformance.tolerance import Tolerance


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Mass of one link of a group, in the frame of the group's head.

    Attributes:
        mass: [kg].
        center: (3,) centre of mass [m].
        tensor: (3, 3) inertia about the centre of mass [kg m^2].
        origin: (3,) origin of the link [m].
        depth: Number of welds between the head and the link.
    """

    mass: float
    center: NDArray[np.float64]
    tensor: NDArray[np.float64]
    origin: NDArray[np.float64]
    depth: int


@dataclass(frozen=True, slots=True, eq=False)
class Lump:
    """Mass of a whole group, in the frame of its head.

    Attributes:
        mass: [kg].
        center: (3,) centre of mass [m]; the head's origin if there is no mass.
        tensor: (3, 3) inertia about the centre of mass [kg m^2].
        parts: What it consists of.
    """

    mass: float
    center: NDArray[np.float64]
    tensor: NDArray[np.float64]
    parts: tuple[Part, ...]


def rigid_groups(
    links: Sequence[str], joints: Sequence[JointObservation]
) -> tuple[tuple[str, ...], ...]:
    """Partition links into groups welded by fixed joints; the head comes first."""
    parent_joint = {joint.child: joint for joint in joints}
    groups: dict[str, list[str]] = {}
    for name in links:
        path = [name]
        while (joint := parent_joint.get(path[-1])) and joint.type is JointType.FIXED:
            path.append(joint.parent)
        groups.setdefault(path[-1], []).append(name)
    return tuple(
        (head, *(name for name in members if name != head))
        for head, members in groups.items()
    )


def weld_depths(
    group: Sequence[str], joints: Sequence[JointObservation]
) -> dict[str, int]:
    """Count the welds between a group's head and each of its links."""
    parent = {joint.child: joint.parent for joint in joints}
    depths = {}
    for name in group:
        depth, at = 0, name
        while at != group[0]:
            at = parent[at]
            depth += 1
        depths[name] = depth
    return depths


def masses_of(observation: Observation) -> dict[str, MassProperties | None]:
    """Return what each link has of its own."""
    return {link.name: link.mass for link in observation.links}


def departing(
    links: Sequence[str],
    ours: Mapping[str, MassProperties | None],
    theirs: Mapping[str, MassProperties | None],
    tolerance: Tolerance,
    aspects: Sequence[str],
) -> tuple[str, ...]:
    """Name the links whose own mass properties make a sum depart.

    Args:
        links: Links that are summed.
        ours: Mass properties on the first side.
        theirs: Mass properties on the second side.
        tolerance: What counts as equal.
        aspects: Which of ``mass``, ``center`` and ``inertia`` enter the sum.
    """
    return tuple(
        name
        for name in links
        if any(
            _departs(ours.get(name), theirs.get(name), tolerance, aspect)
            for aspect in aspects
        )
    )


def _departs(
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


def lump(
    masses: Mapping[str, MassProperties | None],
    depths: Mapping[str, int],
    frames: Frames,
) -> Lump | None:
    """Take the masses of a group together, by the parallel axis theorem.

    Args:
        masses: Mass per link, in the link's own frame; None where there is none.
        depths: The links of the group, the head first with depth zero.
        frames: Placement of the links; the first configuration counts.

    Returns:
        None if a mass or a placement that is needed is not stated.
    """
    column = {name: index for index, name in enumerate(frames.links)}
    head = next(iter(depths))
    parts = []
    for name, depth in depths.items():
        properties = masses.get(name)
        if properties is None or not properties.mass:
            continue
        if properties.inertia is None or name not in column or head not in column:
            return None
        turn = frames.rotations[0, column[head]].T
        origin = turn @ (
            frames.positions[0, column[name]] - frames.positions[0, column[head]]
        )
        rotation = turn @ frames.rotations[0, column[name]]
        parts.append(
            Part(
                mass=properties.mass,
                center=origin + rotation @ np.asarray(properties.center),
                tensor=rotation @ tensor_of(properties.inertia) @ rotation.T,
                origin=origin,
                depth=depth,
            )
        )
    return _sum(tuple(parts))


def _sum(parts: tuple[Part, ...]) -> Lump:
    mass = sum(part.mass for part in parts)
    if not mass:
        return Lump(0.0, np.zeros(3), np.zeros((3, 3)), parts)
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
    tensor = np.zeros((3, 3))
    for part in parts:
        arm = part.center - center
        tensor += part.tensor + part.mass * (
            float(arm @ arm) * np.eye(3) - np.outer(arm, arm)
        )
    return Lump(mass, center, tensor, parts)
