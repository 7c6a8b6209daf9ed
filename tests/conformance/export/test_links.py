"""Masses of links from custom attributes, which add up to that of their body."""

from __future__ import annotations

import numpy as np
import pytest

from urdf_usd.conformance.export.links import adds_up
from urdf_usd.converter.robot.model import Inertial, Pose

_UNIT = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
_PLACE = Pose((0.1, -0.2, 0.05))


@pytest.mark.parametrize(
    ("body", "parts", "expected"),
    [
        # Links at one position, whose centres balance up to rounding with a lever of zero.
        (Inertial(0.1, Pose(), (2.0, 0.0, 0.0, 2.0, 0.0, 2.0)), 2, True),
        (Inertial(0.1, Pose(), (2.0, 0.0, 0.0, 2.0, 0.0, 2.0)), 1, False),
        # A head of 1.3 kg with an inertia of 1e-20 kg m^2 of either sign was replaced.
        (
            Inertial(1.3, _PLACE, (6e-7, 0.0, 0.0, 6e-7, 0.0, 6e-7)),
            Inertial(1.3, _PLACE, (1e-20, 0.0, 0.0, -1e-20, 0.0, 0.0)),
            True,
        ),
        (
            Inertial(1.3, _PLACE, (6e-7, 0.0, 0.0, 6e-7, 0.0, 6e-7)),
            Inertial(1.3, _PLACE, (1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)),
            False,
        ),
    ],
)
def test_inertials_of_links_add_up_to_that_of_the_body(
    body: Inertial, parts: int | Inertial, *, expected: bool
) -> None:
    place = np.eye(4)
    place[1, 3] = -3.469447e-18
    links = [(Inertial(0.05, Pose(), _UNIT), frame) for frame in (np.eye(4), place)]
    if isinstance(parts, Inertial):
        links, parts = [(parts, np.eye(4))], 1

    assert adds_up(body, links[:parts], robot_mass=65.0) is expected
