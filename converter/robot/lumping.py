"""Mass properties of links that fixed joints weld, taken together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from urdf_usd.converter.robot.inertia_bounds import SMALLEST
from urdf_usd.converter.robot.rigid import (
    compose,
    inverse,
    placed,
    shifted_inertia,
    turned_inertia,
)

if TYPE_CHECKING:
    from urdf_usd.converter.robot.model import Inertial, Link, Pose, Vec3, Vec6
    from urdf_usd.converter.robot.topology import Tree


def has_mass(link: Link) -> bool:
    """Say whether a link has a mass that float32 tells from zero."""
    return link.mass > SMALLEST


def size_at_rest(tree: Tree, rest: dict[str, Pose]) -> float:
    """Return the largest distance of a link or centre of mass from the root [m].

    It is 1 where all are at the root.

    Args:
        tree: The robot.
        rest: Where its links are while all joints are at zero, by name.
    """
    points = []
    for name, pose in rest.items():
        points.append(pose.position)
        if inertial := tree.link[name].inertial:
            points.append(placed(pose, inertial.origin.position))
    return max(math.hypot(*point) for point in points) or 1.0


def lumped_inertial(
    tree: Tree, rest: dict[str, Pose], head: str, members: list[str]
) -> tuple[float, Vec3, Vec6]:
    """Combine the inertials of welded links, of which one at least has mass.

    Args:
        tree: The robot.
        rest: Where its links are while all joints are at zero, by name.
        head: The link in whose frame the result is.
        members: The links, in tree order.

    Returns:
        Mass [kg], centre of mass [m], and (ixx, ixy, ixz, iyy, iyz, izz) about it along
        the axes of the head [kg m^2].
    """
    massive = {
        name: inertial
        for name in members
        if has_mass(tree.link[name]) and (inertial := tree.link[name].inertial)
    }
    to_head = inverse(rest[head])
    parts = [
        _mass_properties(
            inertial,
            inertial.origin
            if name == head
            else compose(compose(to_head, rest[name]), inertial.origin),
        )
        for name, inertial in massive.items()
    ]
    if len(parts) == 1:
        return parts[0]
    mass = sum(part_mass for part_mass, _, _ in parts)
    x, y, z = (
        sum(part_mass * point[axis] for part_mass, point, _ in parts) / mass + 0.0
        for axis in range(3)
    )
    shifted = (
        shifted_inertia(inertia, part_mass, (point[0] - x, point[1] - y, point[2] - z))
        for part_mass, point, inertia in parts
    )
    ixx, ixy, ixz, iyy, iyz, izz = map(sum, zip(*shifted, strict=True))
    return mass, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz)


def _mass_properties(inertial: Inertial, origin: Pose) -> tuple[float, Vec3, Vec6]:
    """Return mass, centre and inertia of a part whose inertial frame lies there."""
    x, y, z = (c + 0.0 for c in origin.position)
    return (
        inertial.mass,
        (x, y, z),
        turned_inertia(inertial.inertia, origin.quat_wxyz),
    )
