"""Observations of PyBullet, and its deviations from the URDF."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines.deviation_files import (
    AXIS,
    ORIGIN,
    TURN,
    hinge,
    last_pose,
    observe,
)
from tests.conformance.engines.oblique_arm import (
    URDF,
    configurations,
    request,
    rotation_about,
)
from urdf_usd.conformance.engines.protocol import AbstentionError, Available, Request
from urdf_usd.conformance.engines.pybullet import PybulletEngine
from urdf_usd.conformance.observation.robot import JointType, Observation, Quantity


def _observe(name: str, folder: Path, **positions: object) -> Observation:
    return observe(PybulletEngine(), name, folder, **positions)


def test_version_is_available_without_a_robot() -> None:
    """PyBullet is not imported for it."""
    assert isinstance(PybulletEngine().availability(), Available)


def test_link_without_inertial_has_a_mass_of_one_kilogram(tmp_path: Path) -> None:
    """The mass is reported as PyBullet's default."""
    observation = _observe("massless-link", tmp_path)
    arm = observation.links[1].mass

    assert arm is not None
    assert arm.mass == 1
    assert arm.inertia == pytest.approx((1, 0, 0, 1, 0, 1))
    assert observation.invented == ("arm",)


def test_world_link_without_inertial_has_no_mass(tmp_path: Path) -> None:
    """The only name without PyBullet's default mass."""
    observation = _observe("floating-joint", tmp_path)

    assert observation.links[0].name == "world"
    assert observation.links[0].mass is None
    assert observation.invented == ()


def test_implausible_inertia_is_read_as_zero(tmp_path: Path) -> None:
    """A + B < C; the value is reported as read."""
    arm = _observe("implausible-inertia", tmp_path).links[1].mass

    assert arm is not None
    assert arm.mass == 2
    assert arm.inertia == (0, 0, 0, 0, 0, 0)


def test_small_products_of_inertia_are_lost(tmp_path: Path) -> None:
    """PyBullet's diagonalisation stops at 1e-5 of the trace."""
    base = _observe("small-products", tmp_path).links[0].mass

    assert base is not None
    assert base.inertia is not None
    assert base.inertia == pytest.approx((1, 5e-6, 3.5e-6, 2, -2.5e-6, 2.5), abs=5.5e-5)
    assert base.inertia[2] == pytest.approx(0, abs=1e-9)
    assert base.inertia[4] == pytest.approx(0, abs=1e-9)


def test_continuous_joint_keeps_its_limits(tmp_path: Path) -> None:
    """PyBullet reads it as a revolute joint."""
    joint = hinge(_observe("continuous-with-bounds", tmp_path))

    assert joint.type is JointType.REVOLUTE
    assert (joint.lower, joint.upper) == (-1, 2)


@pytest.mark.parametrize("name", ["reversed-limits", "absent-bounds"])
def test_reversed_limits_are_unlimited(name: str, tmp_path: Path) -> None:
    """In PyBullet, lower > upper means unlimited; absent limits are 0 and -1."""
    joint = hinge(_observe(name, tmp_path))

    assert joint.type is JointType.CONTINUOUS
    assert (joint.lower, joint.upper) == (-math.inf, math.inf)
    assert joint.note is not None


@pytest.mark.parametrize(("name", "upper"), [("zero-range", 0), ("upper-bound-alone", 1.5)])
def test_absent_lower_bound_is_zero(name: str, upper: float, tmp_path: Path) -> None:
    """As the specification requires."""
    joint = hinge(_observe(name, tmp_path))

    assert joint.type is JointType.REVOLUTE
    assert (joint.lower, joint.upper) == (0, upper)


def test_placeholder_limit_is_not_reported(tmp_path: Path) -> None:
    """PyBullet refuses a revolute joint without limits."""
    observation = _observe("absent-limit", tmp_path, hinge=[0.0, 0.5])
    joint = hinge(observation)
    expected = TURN @ rotation_about(AXIS, 0.5)

    assert joint.type is JointType.REVOLUTE
    assert (joint.lower, joint.upper, joint.effort, joint.velocity) == (None,) * 4
    assert joint.axis == pytest.approx(AXIS)
    assert any("hinge" in note for note in observation.notes)
    np.testing.assert_allclose(last_pose(observation, "arm")[1], expected, atol=1e-14)


def test_absent_effort_and_velocity_are_zero(tmp_path: Path) -> None:
    """Reported as read, with a note."""
    joint = hinge(_observe("absent-effort", tmp_path))

    assert (joint.effort, joint.velocity) == (0, 0)
    assert joint.note is not None


def test_length_of_a_prismatic_axis_scales_the_displacement(tmp_path: Path) -> None:
    """The axis is (0, 0, 2)."""
    observation = _observe("axis-length", tmp_path, hinge=[0.0, 0.3])

    assert hinge(observation).axis == pytest.approx((0, 0, 1))
    np.testing.assert_allclose(
        last_pose(observation, "arm")[0], ORIGIN + TURN @ [0, 0, 0.6], atol=1e-14
    )


def test_planar_joint_is_offset_by_the_centre_of_mass(tmp_path: Path) -> None:
    """Reported as read, and only at zero."""
    observation = _observe("planar-joint", tmp_path)

    assert hinge(observation).type is JointType.PLANAR
    np.testing.assert_allclose(
        last_pose(observation, "arm")[0], ORIGIN - TURN @ [0.1, 0.2, 0.3], atol=1e-14
    )


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        ("planar-joint", [[0, 0, 0, 0], [0.1, 0.2, 0, 0.5]]),
        ("floating-joint", [[0, 0, 0, 1, 0, 0, 0], [0.1, 0.2, 0.3, 0, 1, 0, 0]]),
    ],
)
def test_frames_below_a_joint_that_cannot_be_set_are_not_reported(
    name: str, positions: list[list[float]], tmp_path: Path
) -> None:
    """PyBullet cannot be put in the requested configuration."""
    observation = _observe(name, tmp_path, hinge=positions)

    assert observation.frames is not None
    assert observation.frames.links == (observation.root,)
    assert any("cannot set joint hinge" in note for note in observation.notes)


def test_floating_joint_is_read_as_fixed(tmp_path: Path) -> None:
    """Reported as read."""
    assert hinge(_observe("floating-joint", tmp_path)).type is JointType.FIXED


def test_spherical_joint_takes_its_quaternion(tmp_path: Path) -> None:
    """Scalar first, about link axes; PyBullet: scalar last, about inertial axes."""
    angle = 0.9
    quat_wxyz = [math.cos(angle / 2), *(math.sin(angle / 2) * np.array(AXIS))]
    observation = _observe("spherical-limits", tmp_path, hinge=[[1, 0, 0, 0], quat_wxyz])

    position, rotation = last_pose(observation, "arm")

    assert hinge(observation).type is JointType.SPHERICAL
    np.testing.assert_allclose(position, ORIGIN, atol=1e-14)
    np.testing.assert_allclose(rotation, TURN @ rotation_about(AXIS, angle), atol=1e-14)


@pytest.mark.parametrize(
    ("name", "position"),
    [("number-punctuation", (0.07, -0.5, 0.6)), ("number-count", (0.4, -0.5, 0.6))],
)
def test_malformed_vectors_are_read(name: str, position: tuple[float, ...], tmp_path: Path) -> None:
    """PyBullet splits at spaces and reads the first three numbers."""
    assert last_pose(_observe(name, tmp_path), "arm")[0] == pytest.approx(position)


def test_origin_quaternion_is_ignored(tmp_path: Path) -> None:
    """PyBullet supports URDF 1.0 only."""
    rotation = last_pose(_observe("quaternion-origin", tmp_path), "arm")[1]

    np.testing.assert_allclose(rotation, np.eye(3), atol=1e-15)


def test_first_of_two_axes_is_read(tmp_path: Path) -> None:
    """As for other repeated elements."""
    assert hinge(_observe("repeated-axis", tmp_path)).axis == pytest.approx(AXIS)


def test_first_of_two_inertials_is_read(tmp_path: Path) -> None:
    """Unlike MuJoCo, PyBullet accepts such a file."""
    parts = [
        f"""<inertial><mass value="{mass}"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
        for mass in (2, 5)
    ]
    urdf = f'<robot name="r"><link name="a">{"".join(parts)}</link></robot>'
    link = PybulletEngine().observe(request(tmp_path, urdf)).links[0]

    assert link.mass is not None
    assert link.mass.mass == 2


def test_robot_without_a_name_is_read(tmp_path: Path) -> None:
    """PyBullet refuses the unprepared file; the added name is not reported."""
    urdf = URDF.replace('<robot name="oblique_arm">', "<robot>")
    observation = PybulletEngine().observe(request(tmp_path, urdf))

    assert observation.robot is None
    assert len(observation.links) == 4


def test_refusal_gives_the_output_of_the_engine(tmp_path: Path) -> None:
    """The exception has no reason; PyBullet prints it to standard error."""
    urdf = URDF.replace('type="revolute"', 'type="sideways"')

    with pytest.raises(AbstentionError, match="sideways") as abstention:
        PybulletEngine().observe(request(tmp_path, urdf))

    assert "\n" not in str(abstention.value)
    assert "BulletUrdfImporter" not in str(abstention.value)


def test_nothing_is_printed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Neither the banner of the import nor warnings of the importer."""
    _observe("massless-link", tmp_path)
    sys.stdout.flush()

    assert capfd.readouterr() == ("", "")


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    """PyBullet's own cache would return the former robot of that path."""
    path = request(tmp_path, URDF)
    PybulletEngine().observe(path)
    path = request(tmp_path, URDF.replace('value="7.5"', 'value="9.5"'))
    base = PybulletEngine().observe(path).links[0].mass

    assert base is not None
    assert base.mass == 9.5


def test_observations_are_independent_of_former_robots(tmp_path: Path) -> None:
    """All are loaded into one world, including those that PyBullet refuses partway."""
    first = PybulletEngine().observe(request(tmp_path, URDF))
    _observe("planar-joint", tmp_path)
    with pytest.raises(AbstentionError):
        PybulletEngine().observe(
            request(tmp_path, URDF.replace('type="revolute"', 'type="sideways"'))
        )
    again = PybulletEngine().observe(request(tmp_path, URDF))

    assert again.links == first.links
    assert again.joints == first.joints
    assert first.frames is not None
    assert again.frames is not None
    np.testing.assert_array_equal(again.frames.positions, first.frames.positions)
    np.testing.assert_array_equal(again.frames.rotations, first.frames.rotations)


def test_long_lines_are_read(tmp_path: Path) -> None:
    """PyBullet breaks lines after 1023 characters, within a word."""
    urdf = " ".join(URDF.split())
    assert len(urdf) > 1023

    assert len(PybulletEngine().observe(request(tmp_path, urdf)).links) == 4


def test_long_robot_is_read_without_frames(tmp_path: Path) -> None:
    """PyBullet reports the poses of at most 128 links."""
    count = 140
    inertial = """<inertial><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>"""
    links = [f'<link name="l{i}">{inertial}</link>' for i in range(count)]
    joints = [
        f"""<joint name="j{i}" type="fixed"><parent link="l{i}"/>
        <child link="l{i + 1}"/></joint>"""
        for i in range(count - 1)
    ]
    urdf = f'<robot name="r">{"".join(links + joints)}</robot>'
    observation = PybulletEngine().observe(request(tmp_path, urdf))

    assert len(observation.links) == count
    assert observation.frames is None
    assert Quantity.FRAMES not in observation.states
    assert any("no poses" in note for note in observation.notes)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'<robot name="r"><link name="a"></robot>', "not well-formed XML"),
        (b"", "not XML"),
        (b"robot:\n  link: a\n", "not"),
        (b"<sdf/>", "root element is sdf"),
    ],
)
def test_text_that_is_not_urdf_is_refused(content: bytes, reason: str, tmp_path: Path) -> None:
    """PyBullet is not called."""
    path = tmp_path / "robot.urdf"
    path.write_bytes(content)

    with pytest.raises(AbstentionError, match=reason):
        PybulletEngine().observe(Request(str(path), configurations()))


def test_missing_file_is_refused(tmp_path: Path) -> None:
    """With the operating system's message."""
    path = str(tmp_path / "absent.urdf")

    with pytest.raises(AbstentionError, match="No such file"):
        PybulletEngine().observe(Request(path, configurations()))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('<?xml version="1.0"?>', '<?xml version="0.0"?>'),
        ('<?xml version="1.0"?>', '<?xml version="1"?>'),
        ('<?xml version="1.0"?>', '\n\n<?xml version="1.0"?>'),
        ('<link name="tip"/>', '<xacro:property name="a"/><link name="tip"/>'),
        ('<link name="tip"/>', '<!-- a -- b --><link name="tip"/>'),
        ("</robot>\n", "</robot>\n\0"),
    ],
)
def test_harmless_xml_errors_are_repaired(before: str, after: str, tmp_path: Path) -> None:
    """No element is ambiguous, and other engines accept the file; a note is added."""
    urdf = URDF.replace(before, after)
    assert urdf != URDF
    observation = PybulletEngine().observe(request(tmp_path, urdf))

    assert len(observation.links) == 4
    assert any("The copy leaves out" in note for note in observation.notes)
    assert observation.links[0].mass is not None
    assert observation.links[0].mass.mass == 7.5


def test_zero_axis_leaves_out_poses(tmp_path: Path) -> None:
    """PyBullet states quaternions that are not a number below such a joint."""
    text = """<robot name="r"><link name="a"/><link name="b"/>
      <joint name="j" type="revolute"><parent link="a"/><child link="b"/>
        <axis xyz="0 0 0"/><limit lower="0" upper="0"/></joint></robot>"""
    path = tmp_path / "robot.urdf"
    path.write_text(text)

    observation = PybulletEngine().observe(Request(str(path), configurations()))

    assert observation.frames is None
    assert any("not finite" in note for note in observation.notes)
