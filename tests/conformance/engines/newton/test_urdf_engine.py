"""What Newton reads in a URDF, where it departs, and what is stated of that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines import oblique_arm
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
from tests.conformance.engines.oblique_arm import request
from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.newton import NewtonEngine
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.observation.robot import (
    SINGLE_PRECISION,
    JointType,
    MimicObservation,
    Observation,
)

_ROUNDING = 20 * SINGLE_PRECISION


def _observe(name: str, folder: Path, **positions: object) -> Observation:
    return observe(installed(NewtonEngine()), name, folder, **positions)


def test_precision_is_single(tmp_path: Path) -> None:
    """Its rounding is no contradiction."""
    assert _observe("zero-effort", tmp_path).precision == SINGLE_PRECISION


def test_absent_effort_and_velocity_are_absent(tmp_path: Path) -> None:
    """The engine sets Newton's default to infinity; Newton's own is a million."""
    joint = hinge(_observe("absent-effort", tmp_path))

    assert (joint.effort, joint.velocity) == (None, None)


def test_coupling_is_read_with_its_numbers(tmp_path: Path) -> None:
    """In double precision, as written."""
    observation = installed(NewtonEngine()).observe(request(tmp_path, oblique_arm.URDF))
    elbow = next(joint for joint in observation.joints if joint.name == "elbow")

    assert elbow.mimic == MimicObservation("shoulder", -0.2, 0.05)


def test_planar_joint_slides_in_its_oblique_plane(tmp_path: Path) -> None:
    """It does not turn."""
    axis = np.array(AXIS)
    shift = 0.7 * np.cross(axis, [1, 0, 0]) - 0.3 * np.cross(axis, [0, 0, 1])
    observation = _observe("planar-joint", tmp_path, hinge=[[0, 0, 0, 0], [*shift, -0.8]])
    position, rotation = last_pose(observation, "arm")

    assert hinge(observation).type is JointType.PLANAR
    np.testing.assert_allclose(position, ORIGIN + TURN @ shift, atol=_ROUNDING)
    np.testing.assert_allclose(rotation, TURN, atol=_ROUNDING)


def test_floating_joint_starts_at_its_origin(tmp_path: Path) -> None:
    """Displacement first, then the quaternion, both in the joint frame."""
    observation = _observe("floating-joint", tmp_path, hinge=FLOATING)

    assert_floating_pose(observation, atol=_ROUNDING)


def test_names_with_slashes_are_kept(tmp_path: Path) -> None:
    """Newton puts the robot's name and a slash before every name."""
    robot = """<robot name="a/b"><link name="a/b/c"/><link name="d"/>
    <joint name="a/j" type="continuous"><parent link="a/b/c"/><child link="d"/></joint>
    </robot>"""
    observation = installed(NewtonEngine()).observe(request(tmp_path, robot))

    assert [link.name for link in observation.links] == ["a/b/c", "d"]
    assert [joint.name for joint in observation.joints] == ["a/j"]
    assert observation.robot == "a/b"


def test_robot_without_a_name_stays_without(tmp_path: Path) -> None:
    """The one that it was given is not stated."""
    robot = '<robot><link name="only"/></robot>'
    observation = installed(NewtonEngine()).observe(request(tmp_path, robot))

    assert observation.robot is None
    assert observation.root == "only"


def test_correction_of_the_engine_becomes_a_note(tmp_path: Path) -> None:
    """It warns that it corrected inertia."""
    observation = _observe("implausible-inertia", tmp_path)

    assert any("Newton warns" in note for note in observation.notes)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("number-punctuation", "could not convert string to float: '0.07,'"),
        ("spherical-limits", "Unsupported joint type: spherical"),
        ("self-mimic", "Cyclic URDF mimic joints"),
    ],
)
def test_refusal_gives_the_reason_of_the_engine(name: str, reason: str, tmp_path: Path) -> None:
    """Whatever kind of error it raises."""
    with pytest.raises(AbstentionError, match=reason):
        _observe(name, tmp_path)
