"""A robot is unchanged after conversion to USD and export to URDF."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from pxr import Usd, UsdUtils, UsdValidation

from tests.converter.strategies import any_scale
from tests.converter.usd.authored import asset_options
from urdf_usd.conformance.export.assets import read_usd
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


def _values(inertial: m.Inertial) -> tuple[np.ndarray, ...]:
    turn = rotation_from_quat_wxyz(inertial.origin.quat_wxyz)
    tensor = turn @ inertia_tensor(inertial.inertia) @ turn.T
    return np.array(inertial.mass), np.array(inertial.origin.position), tensor


def _assert_same_inertial(one: m.Inertial | None, other: m.Inertial | None) -> None:
    """Compare to float32; absent is not zero."""
    if one is None or other is None:
        assert one is other
        return
    for expected, actual in zip(_values(one), _values(other), strict=True):
        slack = _SINGLE * float(np.linalg.norm(expected)) + 1e-36
        np.testing.assert_allclose(actual, expected, atol=slack, rtol=0)


def _numbers(kind: m.JointKind) -> tuple[m.Vec3, tuple[float, float]]:
    """Return axis and limits, also of joints that have none."""
    bounds = getattr(kind, "range", m.UNLIMITED)
    return getattr(kind, "axis", (0.0, 0.0, 0.0)), (bounds.lower, bounds.upper)


def _without_shapes(robot: m.Robot) -> m.Robot:
    links = tuple(structs.replace(link, visuals=(), collisions=()) for link in robot.links)
    return structs.replace(robot, links=links)


@given(
    any_scale(),
    st.sampled_from(BodyNesting),
    st.sampled_from(m.BaseOption),
    st.sampled_from(Profile),
    st.booleans(),
)
def test_robot_is_equal_after_urdf_usd_urdf(
    robot: m.Robot, nesting: BodyNesting, base: m.BaseOption, profile: Profile, merge: bool
) -> None:
    # Names exactly, numbers to float32, masses link by link; the asset is valid.
    tree = build_tree(robot)
    with tempfile.TemporaryDirectory() as folder:
        usd, urdf = Path(folder, asset_name(robot)), Path(folder, "again.urdf")
        bodies = assign_bodies(tree, base, merge_fixed=merge)
        write_asset(robot, tree, bodies, Path(folder), asset_options(nesting, profile))
        validators = UsdValidation.ValidationRegistry().GetOrLoadAllValidators()
        errors = UsdValidation.ValidationContext(validators).Validate(Usd.Stage.Open(str(usd)))
        layers, _, unresolved = UsdUtils.ComputeAllDependencies(str(usd))
        reading, bare = (read_usd(usd, shapes=shapes).robot for shapes in (True, False))
        urdf.write_bytes(write(reading))
        again = parse(urdf).robot

    assert [f"{e.GetName()}: {e.GetMessage()}" for e in errors] == []
    assert unresolved == []
    assert all(layer.realPath.startswith(folder) for layer in layers)
    assert _without_shapes(bare) == _without_shapes(reading)
    assert again.name == robot.name
    rest, rest_again = (rest_transforms(build_tree(one)) for one in (robot, again))
    size = max(float(np.abs(place[:3, 3]).max()) for place in rest.values()) or 1.0
    links = {link.name: link for link in again.links}
    # A fixed base gets a world link, unless the robot has one.
    added = {"world", "world_"} if base is m.BaseOption.FIXED else set()
    assert set(links) - added <= {link.name for link in robot.links}
    for link in robot.links:
        # REP 158 forbids tensors, so that links within a body lose theirs.
        if profile is not Profile.ROS:
            _assert_same_inertial(link.inertial, links[link.name].inertial)
        for shape, found in zip(link.shapes, links[link.name].shapes, strict=True):
            assert type(found.geometry) is type(shape.geometry)
            far = 1e-12 * float(np.abs(shape.origin.position).max())
            assert found.origin.position == pytest.approx(shape.origin.position, abs=far)
            aligned = abs(np.dot(found.origin.quat_wxyz, shape.origin.quat_wxyz))
            assert aligned == pytest.approx(1.0, abs=1e-12)
        # Smaller values are zero in float32.
        relative = np.linalg.inv(rest_again[tree.root]) @ rest_again[link.name]
        np.testing.assert_allclose(
            relative[:3, 3], rest[link.name][:3, 3], atol=_SINGLE * size + 1e-36, rtol=0
        )
        np.testing.assert_allclose(relative[:3, :3], rest[link.name][:3, :3], atol=_SINGLE)
    joints = {joint.name: joint for joint in again.joints}
    for joint in robot.joints:
        same = joints[joint.name]
        for field in ("parent", "child", "effort", "velocity", "dynamics", "mimic"):
            assert getattr(same, field) == getattr(joint, field)
        kinds = {type(same.kind), type(joint.kind)}
        assert len(kinds) == 1 or kinds == {m.Revolute, m.Continuous}
        (axis, limits), (axis_again, limits_again) = map(_numbers, (joint.kind, same.kind))
        assert axis_again == pytest.approx(axis, abs=1e-6)
        assert limits_again == pytest.approx(limits, rel=_SINGLE, abs=1e-36)


@pytest.mark.parametrize("name", ["nan", "inf", "-Infinity", "1e999"])
def test_numeric_names_are_read_back(tmp_path: Path, name: str) -> None:
    robot = m.Robot("robot", (m.Link(name),), ())
    tree = build_tree(robot)
    write_asset(robot, tree, assign_bodies(tree), tmp_path)

    (link,) = read_usd(tmp_path / asset_name(robot)).robot.links

    assert link.name == name
