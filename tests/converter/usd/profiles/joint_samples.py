"""Joints with distinct values."""

from __future__ import annotations

from urdf_usd.converter.robot.model import (
    Continuous,
    Dynamics,
    Joint,
    Mimic,
    Prismatic,
    Range,
    Revolute,
)

AXIS = (2 / 7, -3 / 7, -6 / 7)
TURN = Revolute(AXIS, Range(-1.25, 0.75))
SLIDE = Prismatic(AXIS, Range(-0.2, 0.4))
SPIN = Continuous(AXIS)
# All values are in SI units.
EFFORT, VELOCITY, DAMPING, FRICTION = 12.5, 3.5, 0.7, 0.3


def turning(name: str = "turn", parent: str = "a", child: str = "b") -> Joint:
    """Return a revolute joint with all values."""
    return Joint(
        name,
        parent,
        child,
        TURN,
        effort=EFFORT,
        velocity=VELOCITY,
        dynamics=Dynamics(DAMPING, FRICTION),
    )


def sliding(name: str = "slide", parent: str = "b", child: str = "c") -> Joint:
    """Return a prismatic joint with all values."""
    return Joint(
        name,
        parent,
        child,
        SLIDE,
        effort=EFFORT,
        velocity=VELOCITY,
        dynamics=Dynamics(DAMPING, FRICTION),
    )


def plain(*, velocity: float | None = None, effort: float | None = None) -> Joint:
    """Return a revolute joint with few values."""
    return Joint("turn", "a", "b", TURN, effort=effort, velocity=velocity)


def chain() -> tuple[Joint, Joint, Joint]:
    """Return three revolute joints, each of which follows the one before."""
    return (
        Joint("first", "a", "b", TURN),
        Joint("second", "b", "c", TURN, mimic=Mimic("first", -0.5, 0.1)),
        Joint("third", "c", "d", TURN, mimic=Mimic("second", 0.8, -0.2)),
    )
