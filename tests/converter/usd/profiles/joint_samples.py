"""Joints for tests of profiles."""

from __future__ import annotations

from urdf_usd.converter.robot.model import Continuous, Joint, Mimic, Prismatic, Range, Revolute

AXIS = (2 / 7, -3 / 7, -6 / 7)
TURN = Revolute(AXIS, Range(-1.25, 0.75))
SLIDE = Prismatic(AXIS, Range(-0.2, 0.4))
SPIN = Continuous(AXIS)


def chain() -> tuple[Joint, Joint, Joint]:
    """Return three revolute joints, each of which follows the one before."""
    return (
        Joint("first", "a", "b", TURN),
        Joint("second", "b", "c", TURN, mimic=Mimic("first", -0.5, 0.1)),
        Joint("third", "c", "d", TURN, mimic=Mimic("second", 0.8, -0.2)),
    )
