"""Forward kinematics of a robot for many configurations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import (
    rest_poses,
    rotation_about,
    rotation_from_quat_wxyz,
    transform_from_pose,
)
from urdf_usd.converter.robot.topology import Tree, build_tree

Matrix: TypeAlias = "NDArray[np.float64]"


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
            motions[:, :3, :3] = _rotations(positions[:, 3:])
            motions[:, :3, 3] = positions[:, :3]
        case m.Spherical():
            motions[:, :3, :3] = _rotations(positions)
        case m.Generic():
            raise TypeError("joints of several axes have to be chains")
        case _:
            assert_never(kind)
    return motions


def _rotations(quats_wxyz: Matrix) -> Matrix:
    return np.array([rotation_from_quat_wxyz(_quat(row)) for row in quats_wxyz])


def _quat(row: Matrix) -> m.Vec4:
    w, x, y, z = (float(value) for value in row)
    return w, x, y, z


def link_transforms(robot: m.Robot, positions: Mapping[str, Matrix]) -> dict[str, Matrix]:
    """Return the transforms of all links for K configurations.

    Args:
        positions: (K, d) positions per moving joint, see :func:`motion`; mimic joints
            are given like all others. With no joint at all, K is 1.

    Returns:
        (K, 4, 4) transforms by link name, link to root.

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
    """Return the transforms of all links with all joints at zero.

    Returns:
        (4, 4) transforms by link name, link to root.
    """
    return {name: transform_from_pose(pose) for name, pose in rest_poses(tree).items()}
