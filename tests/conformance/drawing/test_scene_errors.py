"""Largest distances of link frames between engines."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.checks.kinematics import angles
from urdf_usd.conformance.drawing.scene import agreements, link_errors
from urdf_usd.conformance.observation.robot import Frames

_TURN = Rotation.from_euler("xyz", [0.4, -1.1, 2.3])


def _frames(links: tuple[str, ...], shift: float = 0.0, turn: float = 0.0) -> Frames:
    """Place links at oblique poses in two configurations; the last may be displaced."""
    count = len(links)
    positions = np.arange(2.0 * count * 3).reshape(2, count, 3) / 7.0
    rotations = np.tile(_TURN.as_matrix(), (2, count, 1, 1))
    positions[1, -1, 1] += shift
    axis = np.array([0.48, 0.6, 0.64])
    rotations[1, -1] = (_TURN * Rotation.from_rotvec(turn * axis)).as_matrix()
    return Frames(links, positions, rotations)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.5, 3.0, math.pi])
def test_small_angles_keep_their_digits(angle: float) -> None:
    turned = (_TURN * Rotation.from_rotvec([0.0, angle, 0.0])).as_matrix()
    found = float(angles(_TURN.as_matrix(), turned))
    assert found == pytest.approx(angle, rel=1e-6, abs=1e-15)


def test_errors_are_listed_by_link_and_configuration() -> None:
    first = _frames(("hand", "arm"), shift=0.25, turn=0.125)
    plain = _frames(("hand", "arm"))
    second = Frames(
        ("arm", "extra", "hand"),
        plain.positions[:, [1, 0, 0]],
        plain.rotations[:, [1, 0, 0]],
    )
    errors = link_errors(first, second, ("zero", "upper"))
    assert errors is not None
    assert errors.links == ("hand", "arm")
    assert errors.configurations == ("zero", "upper")
    assert errors.positions == ((0.0, 0.0), (0.0, 0.25))
    assert errors.rotations == ((0.0, 0.0), (0.0, 0.125))


def test_errors_that_are_not_finite_are_nan() -> None:
    second = _frames(("hand", "arm"), shift=math.inf)
    errors = link_errors(_frames(("hand", "arm")), second, ("zero", "upper"))
    assert errors is not None
    assert errors.positions == ((0.0, 0.0), (0.0, None))


def test_every_pair_of_engines_is_compared_once() -> None:
    names = ("base", "hand")
    frames = {
        "reference": _frames(names),
        "engine": _frames(names, shift=0.5),
        "other": _frames(("elsewhere",)),
        "usd": _frames(names),
    }
    found = {one.engines: (one.position, one.link) for one in agreements(frames)}
    assert found == {
        ("reference", "engine"): (0.5, "hand"),
        ("reference", "usd"): (0.0, None),
        ("engine", "usd"): (0.5, "hand"),
    }
