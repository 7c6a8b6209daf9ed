"""Minimal URDFs on which engines deviate, and helpers for their observations.

All share a base link, an arm, and a joint ``hinge`` at :data:`ORIGIN`, turned by
:data:`TURN`; axes are :data:`AXIS` unless the file is about the axis.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.conformance.engines.oblique_arm import request, rotation_rpy
from urdf_usd.conformance.engines.protocol import Engine
from urdf_usd.conformance.observation.robot import JointObservation, Observation

FOLDER = Path(__file__).parents[2] / "data/deviations"
ORIGIN = np.array([0.4, -0.5, 0.6])
TURN = rotation_rpy(0.3, -0.2, 0.1)
AXIS = (0.48, 0.6, 0.64)
# A displacement, a unit quaternion wxyz, and its matrix by the textbook formula.
SHIFT = np.array([0.3, -0.2, 0.9])
QUAT_WXYZ = (0.5, -0.1, 0.7, 0.5)
QUAT_MATRIX = np.array([[-0.48, -0.64, 0.6], [0.36, 0.48, 0.8], [-0.8, 0.6, 0.0]])
# Coordinates of a floating joint: zero, then that displacement and rotation.
FLOATING = ((0, 0, 0, 1, 0, 0, 0), (*SHIFT, *QUAT_WXYZ))


def text(name: str) -> str:
    """Return the URDF of a name."""
    return (FOLDER / f"{name}.urdf").read_text()


def observe(engine: Engine, name: str, folder: Path, **positions: object) -> Observation:
    """Run an engine on a file, with positions per joint."""
    return engine.observe(request(folder, text(name), **positions))


def hinge(observation: Observation) -> JointObservation:
    """Return the joint ``hinge``."""
    return next(joint for joint in observation.joints if joint.name == "hinge")


def last_pose(
    observation: Observation, link: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return position and rotation of a link at the last configuration."""
    frames = observation.frames
    assert frames is not None
    column = frames.links.index(link)
    position: NDArray[np.float64] = frames.positions[-1, column]
    rotation: NDArray[np.float64] = frames.rotations[-1, column]
    return position, rotation
