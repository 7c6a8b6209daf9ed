"""Rules about axes and mimic couplings of joints."""

from __future__ import annotations

import math
from collections.abc import Iterator

from urdf_usd.converter.lint.finding import Breach, Breaches
from urdf_usd.converter.lint.subject import MeasuredRobot, UrdfDocument, type_of
from urdf_usd.converter.robot.model import (
    UNLIMITED,
    Continuous,
    JointKind,
    Prismatic,
    Range,
    Revolute,
)
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.reader import Node

_DIRECTED = frozenset({"revolute", "continuous", "prismatic", "planar"})
# Tolerance for rounded unit vectors, such as 0.58 0.58 0.58.
_LENGTH_SLACK = 0.01
# Tolerance as a fraction of the mimic joint's range.
_RANGE_SLACK = 0.01


def axis_not_normalised(document: UrdfDocument) -> Breaches:
    """Axes of moving joints whose length is not 1; the parser reports zero."""
    for axis, joint in unnormalised_axes(document):
        length = math.hypot(*axis[g.AXIS_XYZ])
        message = f"the axis of joint {joint[g.NAME]!r} has length {length:.4g}"
        yield Breach(message, axis.location)


def unnormalised_axes(document: UrdfDocument) -> Iterator[tuple[Node, Node]]:
    """Yield axes whose length is neither 0 nor 1, with their joints."""
    for joint in document.joints:
        axis = joint.first(g.AXIS)
        if axis is None or type_of(joint) not in _DIRECTED:
            continue
        length = math.hypot(*axis[g.AXIS_XYZ])
        if length > 0.0 and abs(length - 1.0) > _LENGTH_SLACK:
            yield axis, joint


def axis_implicit(document: UrdfDocument) -> Breaches:
    """Moving joints without axis."""
    for joint in document.joints:
        if type_of(joint) in _DIRECTED and joint.first(g.AXIS) is None:
            message = f"joint {joint[g.NAME]!r} is {type_of(joint)} and has no <axis>"
            yield Breach(message, joint.location)


def mimic_beyond_range(measured: MeasuredRobot) -> Breaches:
    """Mimic joints that the range of their leader takes outside their own range."""
    kinds = {joint.name: joint.kind for joint in measured.robot.joints}
    for joint in measured.robot.joints:
        own, mimic = _range(joint.kind), joint.mimic
        if mimic is None or own is None or own.lower >= own.upper:
            continue
        leader = _range(kinds[mimic.joint])
        if leader is None or leader.lower > leader.upper or not mimic.multiplier:
            continue
        ends = [mimic.multiplier * end + mimic.offset for end in _ends(leader)]
        slack = _RANGE_SLACK * (own.upper - own.lower)
        if min(ends) < own.lower - slack or max(ends) > own.upper + slack:
            message = (
                f"joint {joint.name!r} may move from {own.lower:.4g} to "
                f"{own.upper:.4g}, and follows {mimic.joint!r} from {min(ends):.4g} "
                f"to {max(ends):.4g}"
            )
            yield Breach(message, joint.location)


def zero_multiplier(document: UrdfDocument) -> Breaches:
    """Mimic couplings with multiplier zero."""
    for joint in document.joints:
        mimic = joint.first(g.MIMIC)
        if mimic and mimic[g.MULTIPLIER] == 0.0:
            leader = mimic[g.LEADER]
            message = f"joint {joint[g.NAME]!r} follows {leader!r} times zero"
            yield Breach(message, mimic.location)


def _range(kind: JointKind) -> Range | None:
    match kind:
        case Revolute(_, allowed) | Prismatic(_, allowed):
            return allowed
        case Continuous():
            return UNLIMITED
        case _:
            return None


def _ends(allowed: Range) -> tuple[float, float]:
    return allowed.lower, allowed.upper
