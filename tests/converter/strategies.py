"""Hypothesis strategies for robots: any tree, every joint type, nothing symmetric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from msgspec import structs

from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Collision,
    Continuous,
    Cylinder,
    Dynamics,
    Fixed,
    Floating,
    Geometry,
    Inertial,
    Joint,
    JointKind,
    Link,
    Mimic,
    Planar,
    Pose,
    Prismatic,
    Range,
    Revolute,
    Robot,
    Sphere,
    Spherical,
    Vec3,
    Visual,
)
from urdf_usd.converter.robot.spatial import inertia_values, quat_wxyz_from_rpy

_ANGLES = st.floats(-np.pi, np.pi)
_LENGTHS = st.floats(-0.8, 0.8)
_SIZES = st.floats(1e-3, 1.0)


def _triple(value: st.SearchStrategy[float]) -> st.SearchStrategy[Vec3]:
    return st.tuples(value, value, value)


def rotations() -> st.SearchStrategy[Vec3]:
    """Draw roll, pitch and yaw [rad]."""
    return _triple(_ANGLES)


def poses() -> st.SearchStrategy[Pose]:
    """Draw poses within about a metre."""
    quats = rotations().map(quat_wxyz_from_rpy)
    return st.builds(Pose, position=_triple(_LENGTHS), quat_wxyz=quats)


def axes() -> st.SearchStrategy[Vec3]:
    """Draw unit vectors: coordinate axes of both signs, and oblique ones."""
    units = [tuple(float(c) for c in row) for row in (*np.eye(3), *-np.eye(3))]
    oblique = _triple(st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 0.1)
    return st.one_of(st.sampled_from(units), oblique.map(_unit))


def _unit(vector: Vec3) -> Vec3:
    x, y, z = (float(c) for c in np.asarray(vector) / np.linalg.norm(vector))
    return x, y, z


@st.composite
def inertials(draw: st.DrawFn) -> Inertial:
    """Draw inertials of real bodies: point masses in a rotated frame."""
    masses = np.array(draw(st.tuples(*[st.floats(0.05, 3.0)] * 4)))
    points = np.array(draw(st.tuples(*[_triple(st.floats(-0.3, 0.3))] * 4)))
    points = points - masses @ points / masses.sum()
    tensor = np.eye(3) * 1e-3
    for mass, point in zip(masses, points, strict=True):
        tensor += mass * (point @ point * np.eye(3) - np.outer(point, point))
    return Inertial(float(masses.sum()), draw(poses()), inertia_values(tensor))


def kinds() -> st.SearchStrategy[JointKind]:
    """Draw every joint type."""
    limits = st.tuples(st.floats(-6, 6), st.floats(-6, 6)).map(
        lambda pair: Range(min(pair), max(pair))
    )
    return st.one_of(
        st.builds(Revolute, axis=axes(), range=limits),
        st.builds(Continuous, axis=axes()),
        st.builds(Prismatic, axis=axes(), range=limits),
        st.builds(Planar, axis=axes()),
        st.just(Fixed()),
        st.just(Floating()),
        st.just(Spherical()),
    )


_SHAPES = st.one_of(
    st.builds(Box, size=_triple(_SIZES)),
    st.builds(Cylinder, radius=_SIZES, length=_SIZES),
    st.builds(Capsule, radius=_SIZES, length=_SIZES),
    st.builds(Sphere, radius=_SIZES),
)


@st.composite
def robots(draw: st.DrawFn, *, massless: bool = True, most_links: int = 7) -> Robot:
    """Whole robots; links and joints in random order, with awkward names.

    Args:
        draw: Source of choices.
        massless: Whether some links have no inertial.
        most_links: Largest number of links.
    """
    count = draw(st.integers(1, most_links))
    names = draw(
        st.lists(
            st.text(st.characters(codec="utf-8", categories=("L", "N", "P")), min_size=1)
            | st.sampled_from(["world", "1st", "a/b", "a b", "a_b", "Geometry"]),
            min_size=2 * count,
            max_size=2 * count,
            unique=True,
        )
    )
    link_names, joint_names = names[:count], names[count:]
    inertial = st.none() | inertials() if massless else inertials()
    links = [
        Link(
            name,
            draw(inertial),
            tuple(
                draw(
                    st.lists(
                        st.builds(Visual, name=st.none(), origin=poses(), geometry=_SHAPES),
                        max_size=2,
                    )
                )
            ),
            tuple(
                draw(
                    st.lists(
                        st.builds(Collision, name=st.none(), origin=poses(), geometry=_SHAPES),
                        max_size=2,
                    )
                )
            ),
        )
        for name in link_names
    ]
    joints: list[Joint] = []
    for child in range(1, count):
        kind = draw(kinds())
        joints.append(
            Joint(
                joint_names[child],
                link_names[draw(st.integers(0, child - 1))],
                link_names[child],
                kind,
                draw(poses()),
                effort=draw(st.none() | st.floats(0, 1e3)),
                velocity=draw(st.none() | st.floats(0, 1e2)),
                dynamics=draw(st.none() | st.builds(Dynamics, st.floats(0, 10), st.floats(0, 10))),
                mimic=draw(_mimics(joints, kind)),
            )
        )
    return Robot(
        draw(st.sampled_from(["robot", "my robot", "7dof", "Ω"])),
        tuple(draw(st.permutations(links))),
        tuple(draw(st.permutations(joints))),
    )


def scaled(robot: Robot, length: float, mass: float) -> Robot:
    """Return a robot whose metres and kilograms are larger or smaller.

    Args:
        robot: The robot.
        length: Factor of every length.
        mass: Factor of every mass.
    """

    def moved(pose: Pose) -> Pose:
        x, y, z = (length * c for c in pose.position)
        return structs.replace(pose, position=(x, y, z))

    def grown(geometry: Geometry) -> Geometry:
        match geometry:
            case Box((x, y, z)):
                return Box((length * x, length * y, length * z))
            case Sphere(radius):
                return Sphere(length * radius)
            case Cylinder(radius, height):
                return Cylinder(length * radius, length * height)
            case Capsule(radius, height):
                return Capsule(length * radius, length * height)
            case _:
                return geometry

    def heavier(inertial: Inertial) -> Inertial:
        ixx, ixy, ixz, iyy, iyz, izz = (mass * length**2 * value for value in inertial.inertia)
        tensor = (ixx, ixy, ixz, iyy, iyz, izz)
        return Inertial(mass * inertial.mass, moved(inertial.origin), tensor)

    def reaching(kind: JointKind) -> JointKind:
        if not isinstance(kind, Prismatic):
            return kind
        lower, upper = length * kind.range.lower, length * kind.range.upper
        return structs.replace(kind, range=Range(lower, upper))

    return structs.replace(
        robot,
        links=tuple(
            structs.replace(
                link,
                inertial=link.inertial and heavier(link.inertial),
                visuals=tuple(
                    structs.replace(v, origin=moved(v.origin), geometry=grown(v.geometry))
                    for v in link.visuals
                ),
                collisions=tuple(
                    structs.replace(c, origin=moved(c.origin), geometry=grown(c.geometry))
                    for c in link.collisions
                ),
            )
            for link in robot.links
        ),
        joints=tuple(
            structs.replace(joint, origin=moved(joint.origin), kind=reaching(joint.kind))
            for joint in robot.joints
        ),
    )


def with_bare_frames(robot: Robot, choices: Sequence[int]) -> Robot:
    """Return a robot in which some massless links say so by zeros.

    Args:
        robot: The robot.
        choices: Indices of links; those with a mass stay as they are.
    """
    nothing = Inertial(0.0, Pose(), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    links = tuple(
        structs.replace(link, inertial=nothing)
        if index in choices and link.inertial is None
        else link
        for index, link in enumerate(robot.links)
    )
    return structs.replace(robot, links=links)


def any_scale(**options: bool) -> st.SearchStrategy[Robot]:
    """Robots of insects' and of ships' size, with frames of either kind.

    Args:
        options: As of :func:`robots`.
    """
    powers = st.integers(-9, 9).map(lambda power: 2.0**power)
    indices = st.lists(st.integers(0, 6), max_size=3)
    return st.builds(scaled, robots(**options), powers, powers).flatmap(
        lambda robot: indices.map(lambda chosen: with_bare_frames(robot, chosen))
    )


def _mimics(joints: list[Joint], kind: JointKind) -> st.SearchStrategy[Mimic | None]:
    single = (Revolute, Continuous, Prismatic)
    leaders = [joint.name for joint in joints if isinstance(joint.kind, single)]
    if not leaders or not isinstance(kind, single):
        return st.none()
    return st.none() | st.builds(
        Mimic, st.sampled_from(leaders), st.floats(-3, 3), st.floats(-1, 1)
    )
