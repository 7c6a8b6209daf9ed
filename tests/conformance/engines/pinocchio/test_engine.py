"""Observations of Pinocchio, and its deviations from the URDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines.deviation_files import (
    AXIS,
    FLOATING,
    ORIGIN,
    TURN,
    assert_floating_pose,
    hinge,
    last_pose,
    observe,
)
from tests.conformance.engines.oblique_arm import request, rotation_about
from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.pinocchio import PinocchioEngine
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.observation.robot import JointType, Observation


def _observe(name: str, folder: Path, **positions: object) -> Observation:
    return observe(installed(PinocchioEngine()), name, folder, **positions)


def test_welded_links_are_reported_as_one_body(tmp_path: Path) -> None:
    """Under the link at the head of the rigid group; the others are frames."""
    robot = """<robot name="r">
    <link name="base"/>
    <link name="a"><inertial><mass value="2"/><inertia ixx="1" ixy="0" ixz="0"
      iyy="1" iyz="0" izz="1"/></inertial></link>
    <link name="b"><inertial><mass value="6"/><inertia ixx="1" ixy="0" ixz="0"
      iyy="1" iyz="0" izz="1"/></inertial></link>
    <joint name="first" type="fixed"><parent link="base"/><child link="a"/></joint>
    <joint name="second" type="fixed"><origin xyz="0.4 0.8 -1.2"/>
      <parent link="a"/><child link="b"/></joint>
    </robot>"""
    observation = installed(PinocchioEngine()).observe(request(tmp_path, robot))
    bodies = {link.name: link.body for link in observation.links}
    head = next(link for link in observation.links if link.name == "base").mass

    assert bodies == {"base": "base", "a": "base", "b": "base"}
    assert head is not None
    assert head.mass == 8
    assert head.center == pytest.approx((0.3, 0.6, -0.9))
    assert [link.name for link in observation.links if link.mass] == ["base"]


def test_world_is_no_body(tmp_path: Path) -> None:
    """The mass of what is fixed to it is stated for that link, in its frame."""
    robot = """<robot name="r">
    <link name="world"/>
    <link name="a"><inertial><origin xyz="0.1 0 0"/><mass value="2"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/></inertial></link>
    <joint name="fixed" type="fixed"><origin xyz="1 2 3" rpy="0.5 0 1.5"/>
      <parent link="world"/><child link="a"/></joint>
    </robot>"""
    observation = installed(PinocchioEngine()).observe(request(tmp_path, robot))
    links = {link.name: link for link in observation.links}

    assert links["world"].mass is None
    assert links["world"].body is None
    assert links["a"].body == "a"
    mass = links["a"].mass
    assert mass is not None
    assert mass.mass == 2
    assert mass.center == pytest.approx((0.1, 0.0, 0.0))
    assert mass.inertia == pytest.approx((1.0, 0.0, 0.0, 2.0, 0.0, 2.5), abs=1e-12)


def test_continuous_joint_turns_by_its_angle(tmp_path: Path) -> None:
    """Pinocchio's coordinates are cosine and sine."""
    observation = _observe("continuous-with-bounds", tmp_path, hinge=[0.0, 2.5])
    joint = hinge(observation)
    expected = TURN @ rotation_about(AXIS, 2.5)

    assert joint.type is JointType.CONTINUOUS
    assert (joint.lower, joint.upper) == (None, None)
    np.testing.assert_allclose(last_pose(observation, "arm")[1], expected, atol=1e-14)


def test_floating_joint_starts_at_its_origin(tmp_path: Path) -> None:
    """Displacement, then the quaternion, both in the joint frame."""
    observation = _observe("floating-joint", tmp_path, hinge=FLOATING)

    assert hinge(observation).type is JointType.FLOATING
    assert_floating_pose(observation, atol=1e-14)


def test_planar_joint_moves_in_the_xy_plane(tmp_path: Path) -> None:
    """Independent of its axis."""
    observation = _observe("planar-joint", tmp_path, hinge=[[0, 0, 0, 0], [0.7, -0.3, 0.4, -0.8]])
    position, rotation = last_pose(observation, "arm")

    np.testing.assert_allclose(position, ORIGIN + TURN @ [0.7, -0.3, 0], atol=1e-14)
    np.testing.assert_allclose(rotation, TURN @ rotation_about((0, 0, 1), -0.8), atol=1e-14)


@pytest.mark.parametrize("name", ["absent-effort", "absent-limit"])
def test_placeholder_for_a_missing_effort_is_not_reported(name: str, tmp_path: Path) -> None:
    """Pinocchio refuses the unprepared file."""
    observation = _observe(name, tmp_path)
    joint = hinge(observation)

    assert (joint.effort, joint.velocity) == (None, None)
    assert any("hinge" in note for note in observation.notes)


def test_limits_with_a_missing_effort_are_reported(tmp_path: Path) -> None:
    """They are the values of the file."""
    joint = hinge(_observe("absent-effort", tmp_path))

    assert (joint.lower, joint.upper) == (-1, 2)


def test_origin_quaternion_is_read(tmp_path: Path) -> None:
    """0.6 k + 0.8: a rotation about z, with cosine 0.28 and sine 0.96."""
    rotation = last_pose(_observe("quaternion-origin", tmp_path), "arm")[1]

    turn = np.array([[0.28, -0.96, 0.0], [0.96, 0.28, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(rotation, turn, atol=1e-14)


@pytest.mark.parametrize(
    "inertial",
    ['<mass value="2"/>', '<mass value="2"/><inertia ixx="1" iyy="1" izz="1"/>'],
)
def test_placeholder_for_a_missing_inertia_is_not_reported(inertial: str, tmp_path: Path) -> None:
    """Mass and centre of mass of the rigid group are those of the file."""
    robot = f"""<robot name="r"><link name="a"><inertial>{inertial}</inertial></link>
    </robot>"""
    link = installed(PinocchioEngine()).observe(request(tmp_path, robot)).links[0]

    assert link.mass is not None
    assert link.mass.mass == 2
    assert link.mass.inertia is None


@pytest.mark.parametrize("element", ["<mimic/>", "<safety_controller/>", "<dynamics/>"])
def test_incomplete_element_of_a_joint_does_not_reject_the_file(
    element: str, tmp_path: Path
) -> None:
    """Pinocchio refuses each of the unprepared files."""
    robot = f"""<robot name="r"><link name="a"/><link name="b"/>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/>{element}
    </joint></robot>"""
    observation = installed(PinocchioEngine()).observe(request(tmp_path, robot))

    assert [joint.name for joint in observation.joints] == ["j"]
    assert any("left out" in note for note in observation.notes)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("number-punctuation", "Unable to parse component \\[0.07,\\]"),
        ("spherical-limits", "no known type \\[spherical\\]"),
        ("two-roots", "Two root links found"),
    ],
)
def test_refusal_gives_the_reason_of_the_engine(name: str, reason: str, tmp_path: Path) -> None:
    """Source positions in urdfdom are removed."""
    with pytest.raises(AbstentionError, match=reason) as abstention:
        _observe(name, tmp_path)

    assert ".cpp" not in str(abstention.value)
