"""Mass properties of bodies: lumping, principal axes, and added inertia."""

from __future__ import annotations

import math
from functools import lru_cache

from urdf_usd.converter.robot import spatial
from urdf_usd.converter.robot.model import Inertial, Link, Pose, Vec3, Vec4, Vec6
from urdf_usd.converter.robot.spatial import (
    compose,
    invert_pose,
    rotate_inertia,
    shift_inertia,
    transform_point,
)
from urdf_usd.converter.robot.topology import Tree

# Inertia added to a point mass m of a robot of size L, as a fraction of m L^2.
INVENTED_INERTIA = 5e-7
# The least of it [kg m^2], unless that exceeds the same fraction of the mass of the
# robot times L^2. Newton 1.8 replaces moments below 1e-10 kg m^2 by 1e-6 kg m^2, which
# changes the inertia of the links that the point mass is fixed to.
_LEAST_INERTIA = 2e-10
# A smaller fraction of m L^2 is a rounded zero: the inertia of a body thirty million
# times smaller than the robot.
NEGLIGIBLE_INERTIA = 1e-15
# Moment added to a thin rod about its axis, as a fraction of its largest moment: a
# fiftieth of the engineering tolerance. Newton raises moments below a millionth.
INVENTED_MOMENT = 2e-6
# A smaller fraction of the largest moment is rounding, of either sign.
_ROUNDING = 1e-12
# The smallest positive float32 rounds this up to itself, and anything less to zero.
SMALLEST = 2.0**-150
# A robot of less has no size from which a harmless inertia follows [m].
_NANOMETRE = 1e-9
# Moments of a valid tensor satisfy A + B >= C; text rounds each of them.
_TRIANGLE_SLACK = 1e-4


def usable_inertia(
    inertia: Vec6, mass: float, *, size: float, total: float
) -> tuple[Vec6, tuple[tuple[str, str], ...]]:
    """Return inertia with positive moments about all axes.

    A zero means "compute it" to some consumers of USD, and is refused by others.
    Physically impossible inertia is kept.

    Args:
        inertia: (ixx, ixy, ixz, iyy, iyz, izz) about the centre of mass [kg m^2].
        mass: [kg].
        size: Of the robot [m].
        total: Mass of the robot [kg].

    Returns:
        The inertia, and diagnostics about it: pairs of a rule and a text that continues
        "link NAME".
    """
    moments, quat_wxyz = principal_inertia(inertia)
    largest = max(abs(moment) for moment in moments)
    if is_negligible(largest, mass, size):
        least = min(_LEAST_INERTIA, INVENTED_INERTIA * total * (size * size))
        moment = max(INVENTED_INERTIA * mass * (size * size), least)
        text = f"has {mass:.6g} kg and no inertia; it received {moment:.3g} kg m^2"
        return (moment, 0, 0, moment, 0, moment), (("inertia-regularised", text),)
    changes: tuple[tuple[str, str], ...] = ()
    none = max(SMALLEST, _ROUNDING * largest)
    if abs(min(moments)) <= none:
        floor = max(INVENTED_MOMENT * largest, 2 * SMALLEST)
        a, b, c = (moment if moment > none else floor for moment in moments)
        moments = a, b, c
        inertia = rotate_inertia((a, 0.0, 0.0, b, 0.0, c), quat_wxyz)
        text = f"has no inertia about an axis; it received {floor:.3g} kg m^2 there"
        changes = (("inertia-regularised", text),)
    if problem := _implausible(moments):
        text = f"has principal moments {problem}"
        changes = (*changes, ("inertia-implausible", text))
    return inertia, changes


def is_negligible(moment: float, mass: float, size: float) -> bool:
    """Return whether the largest moment of a body is a rounded zero.

    Args:
        moment: Its size [kg m^2].
        mass: [kg].
        size: Of the robot [m].
    """
    return moment <= max(SMALLEST, NEGLIGIBLE_INERTIA * mass * (size * size))


def _implausible(moments: Vec3) -> str | None:
    a, b, c = sorted(moments)
    text = ", ".join(f"{moment:.4g}" for moment in (a, b, c))
    if a <= 0:
        return f"{text}, which are not all positive"
    if a + b < c * (1 - _TRIANGLE_SLACK):
        return f"{text}, which break A + B >= C"
    return None


def has_mass(link: Link) -> bool:
    """Return whether a link has a mass that is not zero in float32."""
    return link.mass > SMALLEST


def size_at_rest(tree: Tree, rest: dict[str, Pose]) -> float:
    """Return the largest distance of a link or centre of mass from the root [m].

    1 if all are within a nanometre of the root, from which no inertia follows.

    Args:
        tree: The robot.
        rest: Where its links are while all joints are at zero, by name.
    """
    points = []
    for name, pose in rest.items():
        points.append(pose.position)
        if inertial := tree.link[name].inertial:
            points.append(transform_point(pose, inertial.origin.position))
    largest = max(math.hypot(*point) for point in points)
    return largest if largest > _NANOMETRE else 1.0


def lumped_inertial(
    tree: Tree, rest: dict[str, Pose], head: str, members: list[str]
) -> tuple[float, Vec3, Vec6]:
    """Combine the inertials of links fixed to each other; at least one has mass.

    Args:
        tree: The robot.
        rest: Where its links are while all joints are at zero, by name.
        head: The link whose frame the result is expressed in.
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
    to_head = invert_pose(rest[head])
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
        shift_inertia(inertia, part_mass, (point[0] - x, point[1] - y, point[2] - z))
        for part_mass, point, inertia in parts
    )
    ixx, ixy, ixz, iyy, iyz, izz = map(sum, zip(*shifted, strict=True))
    return mass, (x, y, z), (ixx, ixy, ixz, iyy, iyz, izz)


def _mass_properties(inertial: Inertial, origin: Pose) -> tuple[float, Vec3, Vec6]:
    """Return mass, centre and inertia of a part with a given inertial frame."""
    x, y, z = (c + 0.0 for c in origin.position)
    return (
        inertial.mass,
        (x, y, z),
        rotate_inertia(inertial.inertia, origin.quat_wxyz),
    )


# Relative error of a rotated tensor, with margin.
_PRODUCT_ROUNDING = 2.0**-48


def principal_inertia(inertia: Vec6) -> tuple[Vec3, Vec4]:
    """Diagonalise inertia; diagonal inertia keeps its values and their order.

    Products of inertia within rounding count as zero: otherwise the principal axes of a
    symmetric body would be noise.

    Returns:
        The three principal moments [kg m^2], and the quaternion wxyz that turns vectors
        along the principal axes into the frame of the inertia.
    """
    ixx, ixy, ixz, iyy, iyz, izz = inertia
    rounding = _PRODUCT_ROUNDING * max(abs(ixx), abs(iyy), abs(izz))
    if max(abs(ixy), abs(ixz), abs(iyz)) <= rounding:
        return (ixx + 0.0, iyy + 0.0, izz + 0.0), (1.0, 0.0, 0.0, 0.0)
    return _diagonalised((ixx, ixy + 0.0, ixz + 0.0, iyy, iyz + 0.0, izz))


# The inertia of a body is diagonalised to be checked, and again to be written.
@lru_cache(maxsize=1024)
def _diagonalised(inertia: Vec6) -> tuple[Vec3, Vec4]:
    # Imported here because half of all robots need no numpy.

    moments, axes = spatial.diagonalise_inertia(spatial.inertia_tensor(inertia))
    return moments, spatial.quat_wxyz_from_rotation(axes)
