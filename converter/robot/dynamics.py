"""Equations of motion of a robot over many configurations: M(q) u' + b(q, u) = forces.

Algorithms after R. Featherstone, "Rigid Body Dynamics Algorithms", Springer 2008: the
recursive Newton-Euler algorithm (section 5.3, table 5.1) for b, the composite rigid
body algorithm (section 6.2, table 6.2) for M. All spatial vectors are in coordinates of
the root link's frame, about its origin, angular part first, so that no transforms
between links are needed.

The root is floating: the first six degrees of freedom are three translations along the
axes of the world, then three rotations about its own axes. For a robot with a fixed
base, these are dropped. Velocities u of joints are
displacement rates in the joint's frame (the child's frame at zero) and angular
velocities about axes of the child. A planar joint has three displacement rates, of
which the part along its normal has no effect, so that no basis of the plane is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias, assert_never

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.converter.robot.kinematics import link_transforms
from urdf_usd.converter.robot.model import (
    Continuous,
    Fixed,
    Floating,
    Generic,
    JointKind,
    Link,
    Planar,
    Prismatic,
    Revolute,
    Robot,
    Spherical,
    Vec3,
)
from urdf_usd.converter.robot.spatial import (
    inertia_tensor,
    rotate_inertia,
    shift_inertia,
    transform_from_pose,
)
from urdf_usd.converter.robot.topology import Tree, build_tree

Matrix: TypeAlias = "NDArray[np.float64]"

ROOT = ""
"""Used as the joint name of the free motion of the root link."""

GRAVITY: Vec3 = (0.0, 0.0, -9.81)
"""[m/s^2], in the root's frame."""


class _Freedom(Struct, frozen=True, eq=False):
    """The free motion of one link relative to its parent."""

    translations: Matrix  # (K, 6, a) motions along axes that are fixed in the parent
    rotations: Matrix  # (K, 6, b) motions about axes that are fixed in the child
    motions: Matrix  # (K, 6, a + b) the motion subspace: both, in this order
    columns: slice  # their indices among the degrees of freedom


class _Mechanism(Struct, frozen=True, eq=False):
    """A robot at K configurations, all in the root's frame."""

    tree: Tree  # the robot
    freedoms: Mapping[str, _Freedom]  # by link that moves in its parent; in tree order
    inertias: Mapping[str, Matrix]  # (K, 6, 6) spatial inertia by link
    names: tuple[str, ...]  # (n) joint of each degree of freedom
    count: int  # k


def degrees_of_freedom(robot: Robot) -> tuple[str, ...]:
    """Name the joint of each degree of freedom, in the order of the equations.

    Raises:
        SourceError: The robot is not a tree.
    """
    tree = build_tree(robot)
    joints = (tree.parent_joint[name] for name in tree.links[1:])
    names = (name for joint in joints for name in [joint.name] * width(joint.kind))
    return (*[ROOT] * width(Floating()), *names)


def width(kind: JointKind) -> int:
    """Return the number of velocities of a joint."""
    match kind:
        case Fixed():
            return 0
        case Revolute() | Continuous() | Prismatic():
            return 1
        case Spherical():
            return 3
        case Planar():
            return 4
        case Floating():
            return 6
        case Generic(axes):
            return len(axes)
    assert_never(kind)


def equations_of_motion(
    robot: Robot, positions: Mapping[str, Matrix], velocities: Mapping[str, Matrix]
) -> tuple[Matrix, Matrix]:
    """Return :func:`inertia_matrices` and :func:`bias_forces`, in half the time."""
    mechanism = _mechanism(robot, positions)
    return _inertia_matrices(mechanism), _bias_forces(mechanism, velocities, GRAVITY)


def inertia_matrices(robot: Robot, positions: Mapping[str, Matrix]) -> Matrix:
    """Return the (K, n, n) joint-space inertia matrices.

    Args:
        robot: A robot that is a tree.
        positions: (K, d) positions per moving joint, see
            :func:`urdf_usd.converter.robot.kinematics.motion`.

    Raises:
        SourceError: The robot is not a tree.
        KeyError: A moving joint has no position.
    """
    return _inertia_matrices(_mechanism(robot, positions))


def _inertia_matrices(mechanism: _Mechanism) -> Matrix:
    tree = mechanism.tree
    size = len(mechanism.names)
    matrices = np.zeros((mechanism.count, size, size))
    composite = dict(mechanism.inertias)
    for name in reversed(tree.links):
        parent = _parent(tree, name)
        own = mechanism.freedoms.get(name)
        if own:
            forces = composite[name] @ own.motions
            for other in _freedoms_up_from(name, mechanism):
                block = np.swapaxes(other.motions, 1, 2) @ forces
                matrices[:, other.columns, own.columns] = block
                matrices[:, own.columns, other.columns] = np.swapaxes(block, 1, 2)
        if parent is not None:
            composite[parent] = composite[parent] + composite[name]
    # Diagonal blocks are symmetric up to rounding.
    symmetric: Matrix = (matrices + np.swapaxes(matrices, 1, 2)) / 2
    return symmetric


def _freedoms_up_from(link: str, mechanism: _Mechanism) -> Iterator[_Freedom]:
    above: str | None = link
    while above is not None:
        if above in mechanism.freedoms:
            yield mechanism.freedoms[above]
        above = _parent(mechanism.tree, above)


def bias_forces(
    robot: Robot,
    positions: Mapping[str, Matrix],
    velocities: Mapping[str, Matrix],
    gravity: Vec3 = GRAVITY,
) -> Matrix:
    """Return the (K, n) forces that hold all accelerations at zero.

    Gravity, Coriolis and centrifugal forces; the root link itself is at rest.

    Args:
        robot: A robot that is a tree.
        positions: As for :func:`inertia_matrices`.
        velocities: (K, width) velocities per moving joint; joints left out are at rest.
        gravity: [m/s^2], in the root's frame.

    Raises:
        SourceError: The robot is not a tree.
        KeyError: A moving joint has no position.
    """
    return _bias_forces(_mechanism(robot, positions), velocities, gravity)


def _bias_forces(mechanism: _Mechanism, velocities: Mapping[str, Matrix], gravity: Vec3) -> Matrix:
    tree = mechanism.tree
    still = np.zeros((mechanism.count, 6))
    velocity = {tree.root: still}
    # Gravity as an upward acceleration of the root (Featherstone, section 5.3).
    acceleration = {tree.root: still - np.array([0.0, 0.0, 0.0, *gravity])}
    for name in tree.links[1:]:
        joint, own = tree.parent_joint[name], mechanism.freedoms.get(name)
        before = velocity[joint.parent]
        after, added = before, still
        given = velocities.get(joint.name)
        if own and given is not None:
            split = own.translations.shape[2]
            slide = _apply(own.translations, given[:, :split])
            turn = _apply(own.rotations, given[:, split:])
            after = before + slide + turn
            # Each axis moves with the link that it is fixed in.
            added = _cross_motion(before, slide) + _cross_motion(after, turn)
        velocity[name] = after
        acceleration[name] = acceleration[joint.parent] + added
    # One call for all links.
    inertias, moving, driven = (
        np.concatenate([held[name] for name in tree.links])
        for held in (mechanism.inertias, velocity, acceleration)
    )
    each = _apply(inertias, driven) + _cross_force(moving, _apply(inertias, moving))
    forces = dict(zip(tree.links, np.split(each, len(tree.links)), strict=True))
    bias = np.zeros((mechanism.count, len(mechanism.names)))
    for name in reversed(tree.links):
        own = mechanism.freedoms.get(name)
        if own:
            bias[:, own.columns] = _apply(np.swapaxes(own.motions, 1, 2), forces[name])
        parent = _parent(tree, name)
        if parent is not None:
            forces[parent] = forces[parent] + forces[name]
    return bias


def _parent(tree: Tree, link: str) -> str | None:
    joint = tree.parent_joint.get(link)
    return joint.parent if joint else None


def _mechanism(robot: Robot, positions: Mapping[str, Matrix]) -> _Mechanism:
    tree = build_tree(robot)
    transforms = link_transforms(robot, positions)
    count = len(transforms[tree.root])
    freedoms = {}
    start = 0
    for name in tree.links:
        joint = tree.parent_joint.get(name)
        kind = joint.kind if joint else Floating()
        if not width(kind):
            continue
        at_zero = transforms[name]
        if joint:
            at_zero = transforms[joint.parent] @ transform_from_pose(joint.origin)
        end = start + width(kind)
        freedoms[name] = _freedom(kind, at_zero, transforms[name], slice(start, end))
        start = end
    return _Mechanism(
        tree=tree,
        freedoms=freedoms,
        inertias={name: _spatial_inertia(tree.link[name], transforms[name]) for name in tree.links},
        names=degrees_of_freedom(robot),
        count=count,
    )


def _freedom(kind: JointKind, at_zero: Matrix, transforms: Matrix, columns: slice) -> _Freedom:
    """Express the motion of a joint in the root's frame.

    Args:
        kind: Kind of joint.
        at_zero: (K, 4, 4) child frame at zero.
        transforms: (K, 4, 4) child frame.
        columns: Indices of the motion among the degrees of freedom.
    """
    still, turned = at_zero[:, :3, :3], transforms[:, :3, :3]
    along = about = np.zeros((3, 0))
    match kind:
        case Fixed():
            pass
        case Revolute() | Continuous():
            about = np.array([kind.axis]).T
        case Prismatic():
            along = np.array([kind.axis]).T
        case Planar():
            along = np.eye(3) - np.outer(kind.axis, kind.axis)
            about = np.array([kind.axis]).T
        case Floating():
            along = about = np.eye(3)
        case Spherical():
            about = np.eye(3)
        case Generic():
            raise TypeError("joints of several axes have to be chains")
        case _:
            assert_never(kind)
    slides, axes = still @ along, turned @ about
    moments = _cross(transforms[:, :3, 3, None], axes)
    translations = np.concatenate([np.zeros_like(slides), slides], axis=1)
    rotations = np.concatenate([axes, moments], axis=1)
    motions = np.concatenate([translations, rotations], axis=2)
    return _Freedom(translations, rotations, motions, columns)


def _spatial_inertia(link: Link, transforms: Matrix) -> Matrix:
    """Return the (K, 6, 6) inertia of a link about the root's origin.

    Zero for a link without mass.

    Args:
        link: The link.
        transforms: (K, 4, 4) its frame in the root's.
    """
    inertia = np.zeros((len(transforms), 6, 6))
    if not link.inertial or not link.inertial.mass:
        return inertia
    mass, origin = link.inertial.mass, link.inertial.origin
    # First about the link's own origin, where it does not depend on the configuration.
    turned = rotate_inertia(link.inertial.inertia, origin.quat_wxyz)
    center = np.asarray(origin.position)
    own = np.zeros((6, 6))
    own[:3, :3] = inertia_tensor(shift_inertia(turned, mass, origin.position))
    own[:3, 3:] = mass * _skew(center)
    own[3:, :3] = own[:3, 3:].T
    own[3:, 3:] = mass * np.eye(3)
    to_link = _motions_to_link(transforms)
    inertia[:] = np.swapaxes(to_link, 1, 2) @ own @ to_link
    return inertia


def _motions_to_link(transforms: Matrix) -> Matrix:
    """Return the (K, 6, 6) transforms of motions from the root's frame to a link's."""
    turn = np.swapaxes(transforms[:, :3, :3], 1, 2)
    result = np.zeros((len(transforms), 6, 6))
    result[:, :3, :3] = result[:, 3:, 3:] = turn
    result[:, 3:, :3] = -turn @ _skew(transforms[:, :3, 3])
    return result


def _skew(vectors: Matrix) -> Matrix:
    """Return (..., 3, 3) matrices that cross (..., 3) vectors with others."""
    x, y, z = vectors[..., 0], vectors[..., 1], vectors[..., 2]
    skew = np.zeros((*vectors.shape, 3))
    skew[..., 0, 1], skew[..., 0, 2] = -z, y
    skew[..., 1, 0], skew[..., 1, 2] = z, -x
    skew[..., 2, 0], skew[..., 2, 1] = -y, x
    return skew


def _apply(matrices: Matrix, vectors: Matrix) -> Matrix:
    """Multiply (K, i, j) matrices by (K, j) vectors."""
    product: Matrix = np.einsum("kij,kj->ki", matrices, vectors)
    return product


def _cross_motion(velocity: Matrix, motion: Matrix) -> Matrix:
    """Return the (K, 6) rate of change of motions that move with a velocity."""
    angular, linear = velocity[:, :3], velocity[:, 3:]
    return np.concatenate(
        [
            _cross(angular, motion[:, :3]),
            _cross(angular, motion[:, 3:]) + _cross(linear, motion[:, :3]),
        ],
        axis=1,
    )


def _cross_force(velocity: Matrix, force: Matrix) -> Matrix:
    """Return the (K, 6) rate of change of forces that move with a velocity."""
    angular, linear = velocity[:, :3], velocity[:, 3:]
    return np.concatenate(
        [
            _cross(angular, force[:, :3]) + _cross(linear, force[:, 3:]),
            _cross(angular, force[:, 3:]),
        ],
        axis=1,
    )


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
