"""The smallest URDFs on which an engine departs from the specification, as read.

All share a base link, an arm, and a joint ``hinge`` at :data:`ORIGIN`, turned by
:data:`TURN`; axes are :data:`AXIS` unless the file is about the axis.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tests.conformance.engines.oblique_arm import request, rotation_rpy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from urdf_usd.conformance.engines.protocol import Engine
    from urdf_usd.conformance.observation.robot import JointObservation, Observation

FOLDER = Path(__file__).parents[2] / "data/deviations"
ORIGIN = np.array([0.4, -0.5, 0.6])
TURN = rotation_rpy(0.3, -0.2, 0.1)
AXIS = (0.48, 0.6, 0.64)


def text(name: str) -> str:
    """The URDF of that name."""
    return (FOLDER / f"{name}.urdf").read_text()


def observe(
    engine: Engine, name: str, folder: Path, **positions: object
) -> Observation:
    """Ask an engine about a file, with positions per joint."""
    return engine.observe(request(folder, text(name), **positions))


def hinge(observation: Observation) -> JointObservation:
    """What is said about the joint that every file has."""
    return next(joint for joint in observation.joints if joint.name == "hinge")


def last_pose(
    observation: Observation, link: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Position and rotation of a link at the last configuration."""
    frames = observation.frames
    assert frames is not None
    column = frames.links.index(link)
    position: NDArray[np.float64] = frames.positions[-1, column]
    rotation: NDArray[np.float64] = frames.rotations[-1, column]
    return position, rotation
