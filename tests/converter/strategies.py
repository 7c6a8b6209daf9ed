"""Hypothesis strategies for robots: any tree, every joint type, nothing symmetric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import inertia_values, quat_wxyz_from_rpy


def _triple(bound: float) -> st.SearchStrategy[m.Vec3]:
    return st.tuples(*[st.floats(-bound, bound)] * 3)


def rotations() -> st.SearchStrategy[m.Vec3]:
    return _triple(np.pi)


def poses(length: float = 1.0) -> st.SearchStrategy[m.Pose]:
    """Draw poses within about a length [m]."""
    quats = rotations().map(quat_wxyz_from_rpy)
    return st.builds(m.Pose, position=_triple(0.8 * length), quat_wxyz=quats)


def axes() -> st.SearchStrategy[m.Vec3]:
    """Draw unit vectors: coordinate axes of both signs, and oblique ones."""
    units = [tuple(float(c) for c in row) for row in (*np.eye(3), *-np.eye(3))]
    oblique = _triple(1).filter(lambda v: np.linalg.norm(v) > 0.1)
    return st.one_of(st.sampled_from(units), oblique.map(_unit))


def _unit(vector: m.Vec3) -> m.Vec3:
    x, y, z = (float(c) for c in np.asarray(vector) / np.linalg.norm(vector))
    return x, y, z


@st.composite
def inertials(draw: st.DrawFn, length: float = 1.0, mass: float = 1.0) -> m.Inertial:
    """Draw inertials of real bodies: point masses in a rotated frame."""
    masses = mass * np.array(draw(st.tuples(*[st.floats(0.05, 3.0)] * 4)))
    points = np.array(draw(st.tuples(*[_triple(0.3 * length)] * 4)))
    points = points - masses @ points / masses.sum()
    tensor = np.eye(3) * 1e-3 * mass * length**2
    for one, point in zip(masses, points, strict=True):
        tensor += one * (point @ point * np.eye(3) - np.outer(point, point))
    return m.Inertial(float(masses.sum()), draw(poses(length)), inertia_values(tensor))


def _ranges(bound: float) -> st.SearchStrategy[m.Range]:
    bounds = st.tuples(*[st.floats(-bound, bound)] * 2)
    return bounds.map(lambda pair: m.Range(min(pair), max(pair)))


def _kinds(length: float) -> st.SearchStrategy[m.JointKind]:
    return st.one_of(
        st.builds(m.Revolute, axis=axes(), range=_ranges(6)),
        st.builds(m.Continuous, axis=axes()),
        st.builds(m.Prismatic, axis=axes(), range=_ranges(6 * length)),
        st.builds(m.Planar, axis=axes()),
        *(st.just(kind()) for kind in (m.Fixed, m.Floating, m.Spherical)),
    )


@st.composite
def robots(
    draw: st.DrawFn,
    *,
    massless: bool = True,
    length: float = 1.0,
    mass: float = 1.0,
    bare: bool = False,
) -> m.Robot:
    """Whole robots; links and joints in random order, with awkward names.

    Args:
        draw: Source of choices.
        massless: Whether some links have no inertial.
        length: Unit of every length [m].
        mass: Unit of every mass [kg].
        bare: Whether some links have an inertial of zeros.
    """
    count = draw(st.integers(1, 7))
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
    inertial: st.SearchStrategy[m.Inertial | None] = inertials(length, mass)
    if massless:
        inertial = st.none() | inertial
    if bare:
        inertial |= st.just(m.Inertial(0.0, m.Pose(), (0.0,) * 6))
    size = st.floats(1e-3 * length, length)
    geometry = st.one_of(
        st.builds(m.Box, size=st.tuples(size, size, size)),
        st.builds(m.Cylinder, radius=size, length=size),
        st.builds(m.Capsule, radius=size, length=size),
        st.builds(m.Sphere, radius=size),
    )
    shape = {"name": st.none(), "origin": poses(length), "geometry": geometry}
    visuals = st.lists(st.builds(m.Visual, **shape), max_size=2).map(tuple)
    collisions = st.lists(st.builds(m.Collision, **shape), max_size=2).map(tuple)
    links = [m.Link(name, draw(inertial), draw(visuals), draw(collisions)) for name in link_names]
    joints: list[m.Joint] = []
    for child in range(1, count):
        kind = draw(_kinds(length))
        joint = m.Joint(
            joint_names[child],
            link_names[draw(st.integers(0, child - 1))],
            link_names[child],
            kind,
            draw(poses(length)),
            effort=draw(st.none() | st.floats(0, 1e3)),
            velocity=draw(st.none() | st.floats(0, 1e2)),
            dynamics=draw(st.none() | st.builds(m.Dynamics, st.floats(0, 10), st.floats(0, 10))),
            mimic=draw(_mimics(joints, kind)),
        )
        joints.append(joint)
    return m.Robot(
        draw(st.sampled_from(["robot", "my robot", "7dof", "Ω"])),
        tuple(draw(st.permutations(links))),
        tuple(draw(st.permutations(joints))),
    )


def any_scale() -> st.SearchStrategy[m.Robot]:
    """Robots of insects' and of ships' size, with frames of either kind."""
    powers = st.integers(-9, 9).map(lambda power: 2.0**power)
    return st.tuples(powers, powers).flatmap(
        lambda units: robots(bare=True, length=units[0], mass=units[1])
    )


def _mimics(joints: list[m.Joint], kind: m.JointKind) -> st.SearchStrategy[m.Mimic | None]:
    single = (m.Revolute, m.Continuous, m.Prismatic)
    leaders = [joint.name for joint in joints if isinstance(joint.kind, single)]
    if not leaders or not isinstance(kind, single):
        return st.none()
    return st.none() | st.builds(
        m.Mimic, st.sampled_from(leaders), st.floats(-3, 3), st.floats(-1, 1)
    )


def customs(
    names: Sequence[str], texts: st.SearchStrategy[str], *within: tuple[str, ...]
) -> st.SearchStrategy[m.Custom]:
    """Draw attributes and elements that are not URDF, also of elements inside the owner."""
    tags, paths = st.sampled_from(names), st.sampled_from([(), *within])
    attributes = st.dictionaries(tags, texts, max_size=2).map(lambda found: tuple(found.items()))
    plain = (tags, attributes, texts.map(str.strip))
    element = st.recursive(
        st.builds(m.XmlElement, *plain),
        lambda inner: st.builds(m.XmlElement, *plain, st.lists(inner, max_size=3).map(tuple)),
        max_leaves=4,
    )
    owned = st.dictionaries(st.tuples(tags, paths), texts, max_size=3).map(
        lambda found: tuple(
            m.CustomAttribute(tag, text, path) for (tag, path), text in found.items()
        )
    )
    elements = st.lists(st.builds(m.CustomElement, element, paths), max_size=3).map(tuple)
    return st.builds(m.Custom, owned, elements)
