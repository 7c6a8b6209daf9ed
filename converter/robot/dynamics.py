"""Forward kinematics and equations of motion over many configurations: M(q) u' + b(q, u) = forces.

Algorithms after R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008: recursive
Newton-Euler (section 5.3, table 5.1) for b, composite rigid bodies (section 6.2, table 6.2) for M.
All spatial vectors are in coordinates of the root link's frame, about its origin, angular first.

The root is floating: the first six degrees of freedom are three translations along the axes of
the world, then three rotations about its own axes. Velocities u of joints are displacement rates
in the child's frame at zero and angular velocities about axes of the child. A planar joint has
three displacement rates, of which the part along its normal has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import (
    inertia_tensor,
    rest_poses,
    rotate_inertia,
    rotation_about,
    rotations_from_quats_wxyz,
    shift_inertia,
    transform_from_pose,
)
from urdf_usd.converter.robot.topology import Tree, build_tree

Matrix: TypeAlias = "NDArray[np.float64]"

ROOT = ""
"""Used as the joint name of the free motion of the root link."""

GRAVITY: m.Vec3 = (0.0, 0.0, -9.81)
"""[m/s^2], in the root's frame."""


def degrees_of_freedom(robot: m.Robot) -> tuple[str, ...]:
    """Name the joint of each degree of freedom, in the order of the equations."""
    tree = build_tree(robot)
    joints = (tree.parent_joint[name] for name in tree.links[1:])
    names = (name for joint in joints for name in [joint.name] * width(joint.kind))
    return (*[ROOT] * width(m.Floating()), *names)


def width(kind: m.JointKind) -> int:
    if isinstance(kind, m.Generic):
        return len(kind.axes)
    return {m.Fixed: 0, m.Spherical: 3, m.Planar: 4, m.Floating: 6}.get(type(kind), 1)


def equations_of_motion(
    robot: m.Robot,
    positions: Mapping[str, Matrix],
    velocities: Mapping[str, Matrix],
    gravity: m.Vec3 = GRAVITY,
) -> tuple[Matrix, Matrix]:
    """Return inertia matrices, and the forces that hold all accelerations at zero.

    Args:
        positions: (K, d) positions per moving joint, see :func:`motion`.
        velocities: (K, width) velocities per moving joint; joints left out are at rest.
        gravity: [m/s^2], in the root's frame.

    Returns:
        (K, n, n) joint-space inertia matrices, and (K, n) forces: gravity, Coriolis and
        centrifugal forces, where the root link itself is at rest.

    Raises:
        SourceError: The robot is not a tree.
        KeyError: A moving joint has no position.
    """
    tree = build_tree(robot)
    transforms = link_transforms(robot, positions)
    count = len(transforms[tree.root])
    # By link that moves in its parent: motions along axes that are fixed in the parent, about
    # axes that are fixed in the child, both together (K, 6, width), and their columns.
    freedoms: dict[str, tuple[Matrix, Matrix, Matrix, slice]] = {}
    size = 0
    for name in tree.links:
        joint = tree.parent_joint.get(name)
        kind = joint.kind if joint else m.Floating()
        if not width(kind):
            continue
        at_zero = transforms[name]
        if joint:
            at_zero = transforms[joint.parent] @ transform_from_pose(joint.origin)
        columns = slice(size, size + width(kind))
        slides, turns = _motions(kind, at_zero, transforms[name])
        freedoms[name] = slides, turns, np.concatenate([slides, turns], axis=2), columns
        size = columns.stop
    parents = {name: joint.parent for name, joint in tree.parent_joint.items()}
    inertias = {name: _spatial_inertia(tree.link[name], transforms[name]) for name in tree.links}

    matrices = np.zeros((count, size, size))
    composite = dict(inertias)
    for name in reversed(tree.links):
        if name in freedoms:
            *_, motions, columns = freedoms[name]
            forces = composite[name] @ motions
            above: str | None = name
            while above is not None:
                if above in freedoms:
                    *_, others, rows = freedoms[above]
                    block = np.swapaxes(others, 1, 2) @ forces
                    matrices[:, rows, columns] = block
                    matrices[:, columns, rows] = np.swapaxes(block, 1, 2)
                above = parents.get(above)
        if name in parents:
            composite[parents[name]] = composite[parents[name]] + composite[name]
    # Diagonal blocks are symmetric up to rounding.
    matrices = (matrices + np.swapaxes(matrices, 1, 2)) / 2

    still = np.zeros((count, 6))
    velocity = {tree.root: still}
    # Gravity as an upward acceleration of the root (Featherstone, section 5.3).
    acceleration = {tree.root: still - np.array([0.0, 0.0, 0.0, *gravity])}
    for name in tree.links[1:]:
        before = after = velocity[parents[name]]
        added = still
        given = velocities.get(tree.parent_joint[name].name)
        if name in freedoms and given is not None:
            slides, turns, _, _ = freedoms[name]
            split = slides.shape[2]
            slide, turn = _apply(slides, given[:, :split]), _apply(turns, given[:, split:])
            after = before + slide + turn
            # Each axis moves with the link that it is fixed in.
            added = _cross_motion(before, slide) + _cross_motion(after, turn)
        velocity[name] = after
        acceleration[name] = acceleration[parents[name]] + added
    # One call for all links.
    spatial, moving, driven = (
        np.concatenate([values[name] for name in tree.links])
        for values in (inertias, velocity, acceleration)
    )
    # The rate of change of momentum, with forces that move with the links.
    momentum, angular, linear = _apply(spatial, moving), moving[:, :3], moving[:, 3:]
    turning = _cross(angular, momentum[:, :3]) + _cross(linear, momentum[:, 3:])
    each = _apply(spatial, driven)
    each += np.concatenate([turning, _cross(angular, momentum[:, 3:])], axis=1)
    needed = dict(zip(tree.links, np.split(each, len(tree.links)), strict=True))
    bias = np.zeros((count, size))
    for name in reversed(tree.links):
        if name in freedoms:
            *_, motions, columns = freedoms[name]
            bias[:, columns] = _apply(np.swapaxes(motions, 1, 2), needed[name])
        if name in parents:
            needed[parents[name]] = needed[parents[name]] + needed[name]
    return matrices, bias


def _motions(kind: m.JointKind, at_zero: Matrix, transforms: Matrix) -> tuple[Matrix, Matrix]:
    """Return the (K, 6, a) translations and (K, 6, b) rotations of a joint in the root's frame."""
    none, every = np.zeros((3, 0)), np.eye(3)
    match kind:
        case m.Revolute() | m.Continuous():
            along, about = none, np.array([kind.axis]).T
        case m.Prismatic():
            along, about = np.array([kind.axis]).T, none
        case m.Planar():
            along, about = every - np.outer(kind.axis, kind.axis), np.array([kind.axis]).T
        case m.Generic():
            raise TypeError("joints of several axes have to be chains")
        case _:
            along, about = every if isinstance(kind, m.Floating) else none, every
    slides, axes = at_zero[:, :3, :3] @ along, transforms[:, :3, :3] @ about
    moments = _cross(transforms[:, :3, 3, None], axes)
    translations = np.concatenate([np.zeros_like(slides), slides], axis=1)
    return translations, np.concatenate([axes, moments], axis=1)


def _spatial_inertia(link: m.Link, transforms: Matrix) -> Matrix:
    """Return the (K, 6, 6) inertia of a link, with (K, 4, 4) frames, about the root's origin."""
    if not link.inertial or not link.inertial.mass:
        return np.zeros((len(transforms), 6, 6))
    mass, origin = link.inertial.mass, link.inertial.origin
    # First about the link's own origin, where it does not depend on the configuration.
    turned = rotate_inertia(link.inertial.inertia, origin.quat_wxyz)
    center = np.asarray(origin.position)
    own = np.zeros((6, 6))
    own[:3, :3] = inertia_tensor(shift_inertia(turned, mass, origin.position))
    own[:3, 3:] = mass * _skew(center)
    own[3:, :3] = own[:3, 3:].T
    own[3:, 3:] = mass * np.eye(3)
    # Transforms of motions from the root's frame to the link's.
    turn = np.swapaxes(transforms[:, :3, :3], 1, 2)
    to_link = np.zeros((len(transforms), 6, 6))
    to_link[:, :3, :3] = to_link[:, 3:, 3:] = turn
    to_link[:, 3:, :3] = -turn @ _skew(transforms[:, :3, 3])
    product: Matrix = np.swapaxes(to_link, 1, 2) @ own @ to_link
    return product


def _skew(vectors: Matrix) -> Matrix:
    """Return (..., 3, 3) matrices that cross (..., 3) vectors with others."""
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    skew = np.zeros((*vectors.shape, 3))
    skew[..., 0, 1], skew[..., 0, 2] = -z, y
    skew[..., 1, 0], skew[..., 1, 2] = z, -x
    skew[..., 2, 0], skew[..., 2, 1] = -y, x
    return skew


def _apply(matrices: Matrix, vectors: Matrix) -> Matrix:
    product: Matrix = np.einsum("kij,kj->ki", matrices, vectors)
    return product


def _cross_motion(velocity: Matrix, motion: Matrix) -> Matrix:
    angular, linear = velocity[:, :3], velocity[:, 3:]
    turning = _cross(angular, motion[:, 3:]) + _cross(linear, motion[:, :3])
    return np.concatenate([_cross(angular, motion[:, :3]), turning], axis=1)


def _cross(a: Matrix, b: Matrix) -> Matrix:
    """Return products of (K, 3, ...) vectors; numpy's own take three times as long."""
    return np.stack(
        [
            a[:, 1] * b[:, 2] - a[:, 2] * b[:, 1],
            a[:, 2] * b[:, 0] - a[:, 0] * b[:, 2],
            a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0],
        ],
        axis=1,
    )


# Forward kinematics


def motion(kind: m.JointKind, positions: Matrix) -> Matrix:
    """Return the (K, 4, 4) motions of a joint, in the child's frame at zero.

    Args:
        positions: (K, d) with d = 1 for one axis [rad or m]; 4 for planar
            (displacement in the joint frame [m], angle [rad]); 7 for floating
            (displacement, quaternion wxyz); 4 for spherical (quaternion wxyz); 0 for
            fixed.
    """
    motions = np.tile(np.eye(4), (len(positions), 1, 1))
    match kind:
        case m.Fixed():
            pass
        case m.Revolute() | m.Continuous():
            motions[:, :3, :3] = rotation_about(kind.axis, positions[:, 0])
        case m.Prismatic():
            motions[:, :3, 3] = positions[:, :1] * np.asarray(kind.axis)
        case m.Planar():
            motions[:, :3, :3] = rotation_about(kind.axis, positions[:, 3])
            motions[:, :3, 3] = positions[:, :3]
        case m.Floating():
            motions[:, :3, :3] = rotations_from_quats_wxyz(positions[:, 3:])
            motions[:, :3, 3] = positions[:, :3]
        case m.Spherical():
            motions[:, :3, :3] = rotations_from_quats_wxyz(positions)
        case m.Generic():
            raise TypeError("joints of several axes have to be chains")
    return motions


def link_transforms(robot: m.Robot, positions: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """Return the (K, 4, 4) transforms of all links to the root for K configurations.

    ``positions`` are (K, d) per moving joint, also per mimic joint, see :func:`motion`. With no
    joint at all, K is 1.

    Raises:
        SourceError: The robot is not a tree.
        KeyError: A moving joint has no position.
    """
    tree = build_tree(robot)
    count = len(next(iter(positions.values()))) if positions else 1
    transforms = {tree.root: np.tile(np.eye(4), (count, 1, 1))}
    still = np.zeros((count, 0))
    for name in tree.links[1:]:
        joint = tree.parent_joint[name]
        given = still if isinstance(joint.kind, m.Fixed) else positions[joint.name]
        origin = transform_from_pose(joint.origin)
        transforms[name] = transforms[joint.parent] @ origin @ motion(joint.kind, given)
    return transforms


def rest_transforms(tree: Tree) -> dict[str, Matrix]:
    """Return the (4, 4) transforms of all links to the root, with all joints at zero."""
    return {name: transform_from_pose(pose) for name, pose in rest_poses(tree).items()}
