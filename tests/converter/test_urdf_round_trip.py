"""A robot is unchanged after conversion to USD and export to URDF."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.converter.strategies import any_scale
from tests.converter.usd.authored import asset_options
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.options import BodyNesting, Profile
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.bodies import assign_bodies
from urdf_usd.converter.robot.dynamics import rest_transforms
from urdf_usd.converter.robot.spatial import inertia_tensor, rotation_from_quat_wxyz
from urdf_usd.converter.robot.topology import build_tree
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.write import write
from urdf_usd.converter.usd.writer.asset import asset_name
from urdf_usd.converter.usd.writer.layouts import write_asset

# Seven joints with float32 frames, or a sum of seven masses.
_SINGLE = 3e-6


def _exported(
    robot: m.Robot,
    nesting: BodyNesting,
    base: m.BaseOption,
    profile: Profile,
    *,
    merge: bool,
) -> m.Robot:
    tree = build_tree(robot)
    body_assignment = assign_bodies(tree, base, merge_fixed=merge)
    with tempfile.TemporaryDirectory() as folder:
        write_asset(robot, tree, body_assignment, Path(folder), asset_options(nesting, profile))
        urdf = Path(folder, "again.urdf")
        urdf.write_bytes(write(read_usd(Path(folder, asset_name(robot))).robot))
        return parse(urdf).robot


def _size(robot: m.Robot) -> float:
    rest = rest_transforms(build_tree(robot))
    return max(float(np.abs(place[:3, 3]).max()) for place in rest.values()) or 1.0


def _axis(kind: m.JointKind) -> m.Vec3 | tuple[()]:
    return () if isinstance(kind, m.Fixed | m.Floating | m.Generic | m.Spherical) else kind.axis


def _limits(kind: m.JointKind) -> tuple[float, float]:
    if isinstance(kind, m.Revolute | m.Prismatic):
        return kind.range.lower, kind.range.upper
    return -np.inf, np.inf


def _tensor(inertial: m.Inertial) -> NDArray[np.float64]:
    turn = rotation_from_quat_wxyz(inertial.origin.quat_wxyz)
    tensor: NDArray[np.float64] = turn @ inertia_tensor(inertial.inertia) @ turn.T
    return tensor


def _assert_same_inertial(one: m.Inertial | None, other: m.Inertial | None) -> None:
    """Compare to float32; absent is not zero."""
    if one is None or other is None:
        assert one is other
        return
    assert other.mass == pytest.approx(one.mass, rel=_SINGLE)
    place = np.array(one.origin.position)
    slack = _SINGLE * float(np.linalg.norm(place)) + 1e-36
    assert other.origin.position == pytest.approx(one.origin.position, abs=slack)
    expected = _tensor(one)
    slack = _SINGLE * float(np.abs(expected).max())
    np.testing.assert_allclose(_tensor(other), expected, atol=slack, rtol=0)


# REP 158 forbids tensors, so that links within a body lose theirs.
_KEEPING = tuple(profile for profile in Profile if profile is not Profile.ROS)


@given(
    any_scale(),
    st.sampled_from(BodyNesting),
    st.sampled_from(m.BaseOption),
    st.sampled_from(_KEEPING),
    st.booleans(),
)
def test_robot_is_equal_after_urdf_usd_urdf(
    robot: m.Robot,
    nesting: BodyNesting,
    base: m.BaseOption,
    profile: Profile,
    merge: bool,
) -> None:
    # Names exactly, numbers to float32, masses link by link.
    again = _exported(robot, nesting, base, profile, merge=merge)

    assert again.name == robot.name
    links = {link.name: link for link in again.links}
    added = set(links) - {link.name for link in robot.links}
    if base is m.BaseOption.FIXED:
        # A fixed base gets a world link, unless the robot has one.
        added -= {"world", "world_"}
    assert not added
    for link in robot.links:
        _assert_same_inertial(link.inertial, links[link.name].inertial)
        assert len(links[link.name].shapes) == len(link.shapes)
    joints = {joint.name: joint for joint in again.joints}
    for joint in robot.joints:
        found = joints[joint.name]
        assert (found.parent, found.child) == (joint.parent, joint.child)
        alike = {m.Revolute, m.Continuous}
        assert type(found.kind) is type(joint.kind) or (
            {type(found.kind), type(joint.kind)} <= alike
        )
        assert _axis(found.kind) == pytest.approx(_axis(joint.kind), abs=1e-6)
        assert _limits(found.kind) == pytest.approx(_limits(joint.kind), rel=_SINGLE, abs=1e-36)
        assert (found.effort, found.velocity) == (joint.effort, joint.velocity)
        assert found.dynamics == joint.dynamics
        assert found.mimic == joint.mimic
    rest, rest_again = (rest_transforms(build_tree(one)) for one in (robot, again))
    root = build_tree(robot).root
    # Smaller values are zero in float32.
    reach = _SINGLE * _size(robot) + 1e-36
    for link in robot.links:
        relative = np.linalg.inv(rest_again[root]) @ rest_again[link.name]
        place = rest[link.name]
        np.testing.assert_allclose(relative[:3, 3], place[:3, 3], atol=reach, rtol=0)
        np.testing.assert_allclose(relative[:3, :3], place[:3, :3], atol=_SINGLE)
