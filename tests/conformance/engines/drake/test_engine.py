"""Observations of Drake, and its deviations from the URDF."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from tests.conformance.engines import oblique_arm
from tests.conformance.engines.deviation_files import (
    AXIS,
    ORIGIN,
    TURN,
    hinge,
    last_pose,
    observe,
)
from tests.conformance.engines.oblique_arm import request, rotation_about
from tests.conformance.engines.optional_engines import installed
from urdf_usd.conformance.engines.drake import DrakeEngine
from urdf_usd.conformance.engines.protocol import AbstentionError
from urdf_usd.conformance.observation.robot import JointType, Observation


def _observe(name: str, folder: Path, **positions: object) -> Observation:
    return observe(installed(DrakeEngine()), name, folder, **positions)


def test_planar_joint_moves_in_its_oblique_plane(tmp_path: Path) -> None:
    """Displacement in the joint frame first, then the turn about the axis."""
    axis = np.array(AXIS)
    shift = 0.7 * np.cross(axis, [1, 0, 0]) - 0.3 * np.cross(axis, [0, 0, 1])
    observation = _observe("planar-joint", tmp_path, hinge=[[0, 0, 0, 0], [*shift, -0.8]])
    position, rotation = last_pose(observation, "arm")

    assert hinge(observation).type is JointType.PLANAR
    np.testing.assert_allclose(position, ORIGIN + TURN @ shift, atol=1e-14)
    np.testing.assert_allclose(rotation, TURN @ rotation_about(AXIS, -0.8), atol=1e-14)


def test_child_of_a_floating_joint_has_no_frame(tmp_path: Path) -> None:
    """The floating joint has no name in Drake's model, so its child has no frame."""
    observation = _observe(
        "floating-joint", tmp_path, hinge=[[0, 0, 0, 1, 0, 0, 0], [1, 2, 3, 1, 0, 0, 0]]
    )

    assert observation.joints == ()
    assert observation.root == "world"
    assert observation.frames is not None
    assert observation.frames.links == ("world",)
    assert any("floating" in note for note in observation.notes)


def test_reversed_limits_do_not_crash_the_process(tmp_path: Path) -> None:
    """The reversed limits are removed from the copy, with a note."""
    observation = _observe("reversed-limits", tmp_path)
    joint = hinge(observation)

    assert (joint.lower, joint.upper) == (-math.inf, math.inf)
    assert any("hinge" in note for note in observation.notes)


def test_root_named_world_keeps_name_mass_and_pose(tmp_path: Path) -> None:
    """Without the renamed copy, Drake discards the mass of a link named ``world``."""
    robot = oblique_arm.URDF.replace('"base"', '"world"')
    observation = installed(DrakeEngine()).observe(
        request(tmp_path, robot, shoulder=oblique_arm.SHOULDER, elbow=oblique_arm.ELBOW)
    )
    world = next(link for link in observation.links if link.name == "world")
    positions, _ = oblique_arm.expected_frames()

    assert observation.root == "world"
    assert world.mass is not None
    assert world.mass.mass == 7.5
    np.testing.assert_allclose(last_pose(observation, "tip")[0], positions[-1, -1], atol=1e-13)
    assert any("renamed" in note for note in observation.notes)


def test_invalid_mimic_does_not_reject_the_file(tmp_path: Path) -> None:
    """Drake refuses the unprepared file."""
    assert hinge(_observe("missing-mimic-leader", tmp_path)).mimic is None


def test_warning_of_the_engine_becomes_a_note(tmp_path: Path) -> None:
    """The warning is not printed to standard error."""
    observation = _observe("joint-friction", tmp_path)

    assert any("Drake warns" in note and "friction" in note for note in observation.notes)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("number-count", "Expected 3 values for attribute xyz"),
        ("spherical-limits", "unrecognized type: 'spherical'"),
        ("two-roots", "2 root links"),
    ],
)
def test_refusal_gives_the_reason_of_the_engine(name: str, reason: str, tmp_path: Path) -> None:
    """The line number of the prepared copy is removed."""
    with pytest.raises(AbstentionError, match=reason) as abstention:
        _observe(name, tmp_path)

    assert "literal-string" not in str(abstention.value)
