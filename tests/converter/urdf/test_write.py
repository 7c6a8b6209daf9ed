"""Written files are read as the same robot, by this project and by engines."""

from __future__ import annotations

import math
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from msgspec import structs
from scipy.spatial.transform import Rotation

from tests.converter.strategies import customs, robots
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import quat_wxyz_from_rpy
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.converter.urdf.write import rpy_from_quat_wxyz, write

OBLIQUE = m.Pose((0.1, -0.2, 0.3), quat_wxyz_from_rpy((0.4, -0.5, 0.6)))


def _again(robot: m.Robot) -> m.Robot:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "robot.urdf")
        file.write_bytes(write(robot))
        return parse(file).robot


def _pair(kind: m.JointKind, **fields: object) -> m.Robot:
    joint = m.Joint("joint", "a", "b", kind, OBLIQUE)
    links = (m.Link("a"), m.Link("b"))
    return m.Robot("pair", links, (structs.replace(joint, **fields),))


def _angle(first: m.Vec4, second: m.Vec4) -> float:
    """Return the angle between two rotations, by scipy."""
    one, two = (Rotation.from_quat(q, scalar_first=True) for q in (first, second))
    return float((one.inv() * two).magnitude())


def _poses(robot: m.Robot) -> list[m.Pose]:
    poses = [joint.origin for joint in robot.joints]
    for link in robot.links:
        poses += [shape.origin for shape in link.shapes]
        poses += [link.inertial.origin] if link.inertial else []
    return poses


def _unplaced(robot: m.Robot) -> m.Robot:
    """Remove values that are equal only up to rounding: rotations and axes."""
    still = m.Pose()
    links = tuple(
        structs.replace(
            link,
            inertial=link.inertial and structs.replace(link.inertial, origin=still),
            visuals=tuple(structs.replace(v, origin=still) for v in link.visuals),
            collisions=tuple(structs.replace(c, origin=still) for c in link.collisions),
        )
        for link in robot.links
    )
    joints = tuple(
        structs.replace(
            joint,
            origin=still,
            kind=structs.replace(joint.kind, axis=(1.0, 0.0, 0.0))
            if isinstance(joint.kind, m.Revolute | m.Continuous | m.Prismatic | m.Planar)
            else joint.kind,
        )
        for joint in robot.joints
    )
    return structs.replace(robot, links=links, joints=joints)


@given(robots())
def test_written_robot_is_read_back(robot: m.Robot) -> None:
    # Every number exactly; rotations and unit vectors to double precision.
    again = _again(robot)

    assert _unplaced(again) == _unplaced(robot)
    for pose, pose_again in zip(_poses(robot), _poses(again), strict=True):
        assert pose_again.position == pose.position
        assert _angle(pose.quat_wxyz, pose_again.quat_wxyz) < 4e-15
    for joint, joint_again in zip(robot.joints, again.joints, strict=True):
        axis = getattr(joint.kind, "axis", (0.0, 0.0, 0.0))
        axis_again = getattr(joint_again.kind, "axis", (0.0, 0.0, 0.0))
        assert axis_again == pytest.approx(axis, abs=4e-16)


@given(
    st.floats(-math.pi, math.pi),
    st.sampled_from([math.pi / 2, -math.pi / 2]),
    st.floats(-1e-6, 1e-6) | st.floats(-1e-15, 1e-15),
    st.floats(-math.pi, math.pi),
)
def test_rotations_at_gimbal_lock_keep_all_digits(
    roll: float, pitch: float, off: float, yaw: float
) -> None:
    quat = quat_wxyz_from_rpy((roll, pitch + off, yaw))

    again = Rotation.from_euler("xyz", rpy_from_quat_wxyz(quat))

    assert _angle(tuple(again.as_quat(scalar_first=True)), quat) < 4e-15


@pytest.mark.parametrize("rpy", [(1.5708, 0.0, 0.0), (0.1, -0.2, 3.14159), (0.0, 1.57, 0.0)])
def test_round_angles_are_read_back_exactly(rpy: m.Vec3) -> None:
    assert rpy_from_quat_wxyz(quat_wxyz_from_rpy(rpy)) == rpy


_UP: m.Vec3 = (0.0, 0.0, 1.0)
_RANGE = m.Range(-1.0, 2.0)
_FAR = repr(float(np.finfo(np.float32).max))


@pytest.mark.parametrize(
    ("robot", "limit"),
    [
        # An unlimited rotation is a continuous joint.
        *(
            (_pair(kind, effort=3.0), {"effort": "3"})
            for kind in (m.Continuous(_UP), m.Revolute(_UP, m.UNLIMITED))
        ),
        # ROS and Drake refuse inf; an absent bound means zero: that is the largest float32.
        (
            _pair(m.Prismatic(_UP, m.Range(-0.25, math.inf))),
            {"lower": "-0.25", "upper": _FAR},
        ),
        (_pair(m.Prismatic(_UP, m.UNLIMITED)), {"lower": f"-{_FAR}", "upper": _FAR}),
        # Absent values are omitted, zeros are written.
        (_pair(m.Revolute(_UP, _RANGE)), {"lower": "-1", "upper": "2"}),
        (_pair(m.Revolute(_UP, _RANGE), effort=0.0), {"lower": "-1", "upper": "2", "effort": "0"}),
        (_pair(m.Fixed()), None),
    ],
)
def test_limits_are_written_as_readers_understand_them(
    robot: m.Robot, limit: dict[str, str] | None
) -> None:
    found = etree.fromstring(write(robot)).find("joint/limit")

    assert (None if found is None else dict(found.items())) == limit


def test_unlimited_rotation_and_absent_damping_are_read_back() -> None:
    unlimited = _again(_pair(m.Revolute(_UP, m.UNLIMITED))).joints[0]
    robot = _pair(m.Revolute(_UP, _RANGE), dynamics=m.Dynamics(friction=0.5))

    assert unlimited.kind == m.Continuous(_UP)
    assert _again(robot).joints[0].dynamics == m.Dynamics(None, 0.5)


def test_materials_of_the_same_name_keep_their_colours() -> None:
    geometry = m.MeshFile("meshes/part.obj", None, (0.001, 0.001, -0.002))
    looks = (
        m.Material("paint", (0.25, 0.5, 0.75, 0.5)),
        m.Material("paint", (1.0, 0.0, 0.0, 1.0)),
        m.Material(None, (0.0, 1.0, 0.0, 1.0), "skin.png"),
    )
    visuals = tuple(m.Visual(None, OBLIQUE, geometry, look) for look in looks)
    robot = m.Robot("painted", (m.Link("body", visuals=visuals),), ())

    assert [visual.material for visual in _again(robot).links[0].visuals] == list(looks)


def test_lowest_sufficient_version_is_written() -> None:
    plain = m.Robot("plain", (m.Link("body", m.Inertial(1.0, OBLIQUE, (1, 0, 0, 1, 0, 1))),), ())
    pill = m.Collision(None, OBLIQUE, m.Capsule(0.1, 0.3))
    round_robot = m.Robot("pill", (m.Link("body", collisions=(pill,)),), ())

    jerky = _pair(m.Prismatic((0.0, 0.0, 1.0), m.Range(-0.1, 0.2)), jerk=3.0)

    assert etree.fromstring(write(plain)).get("version") is None
    assert etree.fromstring(write(round_robot)).get("version") == "1.1"
    assert etree.fromstring(write(jerky)).get("version") == "1.2"


_WORDS = st.text(st.characters(exclude_categories=("C", "Z")) | st.just(" "))
_customs = partial(customs, ["foo", "x:y", "a-b", "\u00e9", "_1", "gazebo", "Box"], _WORDS)


@given(
    _customs(),
    _customs(("inertial", "mass")),
    _customs(("geometry", "capsule"), ("origin",)),
    _customs(("limit",), ("dynamics",), ("axis",)),
)
def test_custom_data_is_read_back_from_every_owner(
    robots_own: m.Custom, links: m.Custom, shapes: m.Custom, joints: m.Custom
) -> None:
    shape = m.Collision("c", OBLIQUE, m.Capsule(0.1, 0.3), custom=shapes)
    inertial = m.Inertial(1.0, OBLIQUE, (1, 0, 0, 1, 0, 1))
    kind = m.Revolute(_UP, _RANGE)
    robot = structs.replace(
        _pair(kind, dynamics=m.Dynamics(0.5), custom=joints),
        links=(m.Link("a", inertial, (), (shape,), custom=links), m.Link("b")),
        custom=robots_own,
    )

    again = _again(robot)

    link = again.links[0]
    shape, joint = link.collisions[0], again.joints[0]
    customs = (again.custom, link.custom, shape.custom, joint.custom)
    for found, custom in zip(customs, (robots_own, links, shapes, joints), strict=True):
        mine = [one for one in found.attributes if one.name != "version"]
        assert sorted(mine, key=repr) == sorted(custom.attributes, key=repr)
        elements = sorted(found.elements, key=repr)
        assert elements == sorted(custom.elements, key=repr)


def test_custom_data_cannot_add_urdf_elements() -> None:
    # Custom data of a foreign USD changes neither numbers nor elements.
    attributes = (
        m.CustomAttribute("effort", "7", ("limit",)),
        m.CustomAttribute("rpy", "1 2 3", ("origin",)),
        m.CustomAttribute("type", "fixed"),
        m.CustomAttribute("not a name", "x"),
        m.CustomAttribute("foo", "x", ("mimic",)),
    )
    elements = (
        m.CustomElement(m.XmlElement("mimic", (("joint", "joint"),))),
        m.CustomElement(m.XmlElement("<", ())),
    )
    kind = m.Revolute(_UP, _RANGE)
    robot = _pair(kind, custom=m.Custom(attributes, elements))

    again = _again(robot)

    assert _unplaced(again) == _unplaced(robot)
    assert not again.joints[0].custom
