"""Limits, ratings, dynamics and soft limits of joints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from urdf_usd.converter.lint.finding import Breach
from urdf_usd.converter.lint.subject import type_of
from urdf_usd.converter.robot.model import Prismatic
from urdf_usd.converter.urdf import grammar as g

if TYPE_CHECKING:
    from collections.abc import Iterator

    from urdf_usd.converter.lint.finding import Breaches
    from urdf_usd.converter.lint.subject import MeasuredRobot, UrdfDocument
    from urdf_usd.converter.urdf.reader import Node

_FULL_TURN = 2.0 * math.pi
# 6.2832 and 6.3 are full turns that were rounded.
_TURN_SLACK = 0.02
_ROTATING = frozenset({"revolute"})
_SLIDING = frozenset({"prismatic"})
_RANGED = _ROTATING | _SLIDING
_DRIVEN = _RANGED | {"continuous"}
# No joint turns by such angles in radians, and many do in degrees.
_DEGREES = range(30, 361, 5)
# Round numbers stand for "unlimited" as well.
_ROUND = 100
# How much farther than the robot's span a joint may travel.
_TRAVEL = 100.0
_SOFT_SLACK = 1e-6


def without_rating(document: UrdfDocument) -> Breaches:
    """Limits that lack what urdfdom up to 1.1 demands of any joint's limit."""
    for joint, limit in _limits(document):
        absent = [a.name for a in (g.EFFORT, g.VELOCITY) if a.name not in limit.written]
        if absent:
            message = (
                f"the limit of {_describe(joint)} has no {' and no '.join(absent)}"
            )
            yield Breach(message, limit.location)


def zero_effort(document: UrdfDocument) -> Breaches:
    """Joints with a range, not led by another one, whose motor has no force."""
    for joint, limit in _limits(document, _RANGED):
        if limit[g.EFFORT] == 0.0 and not joint.first(g.MIMIC):
            yield Breach(f"{_describe(joint)} has effort 0", limit.location)


def zero_velocity(document: UrdfDocument) -> Breaches:
    """Joints, not led by another one, that may not move."""
    for joint, limit in _limits(document, _DRIVEN):
        if limit[g.VELOCITY] == 0.0 and not joint.first(g.MIMIC):
            yield Breach(f"{_describe(joint)} has velocity 0", limit.location)


def negative_rating(document: UrdfDocument) -> Breaches:
    """Magnitudes with a sign."""
    for joint, limit in _limits(document):
        for attribute in (g.EFFORT, g.VELOCITY):
            value = limit[attribute]
            if value is not None and value < 0.0:
                message = f"{_describe(joint)} has {attribute.name} {value:g}"
                yield Breach(message, limit.location)


def empty_range(document: UrdfDocument) -> Breaches:
    """Joints that may move by nothing."""
    for joint, limit in _bounded(document, _RANGED):
        if limit[g.LOWER] == limit[g.UPPER]:
            message = f"{_describe(joint)} may move from {limit[g.LOWER]:g} to the same"
            yield Breach(message, limit.location)


def zero_outside(document: UrdfDocument) -> Breaches:
    """Ranges that do not hold the position where tools begin."""
    for joint, limit in _bounded(document, _RANGED):
        lower, upper = limit[g.LOWER], limit[g.UPPER]
        if 0.0 < lower < upper or lower < upper < 0.0:
            message = f"{_describe(joint)} may move from {lower:g} to {upper:g}"
            yield Breach(message, limit.location)


def limits_in_degrees(document: UrdfDocument) -> Breaches:
    """Bounds such as 90 or -170, which are angles in degrees and none in radians."""
    for joint, limit in _bounded(document, _ROTATING):
        if _in_degrees(limit):
            lower, upper = limit[g.LOWER], limit[g.UPPER]
            message = f"{_describe(joint)} may turn from {lower:g} to {upper:g} rad"
            yield Breach(message, limit.location)


def several_turns(document: UrdfDocument) -> Breaches:
    """Bounds beyond a full turn, unless they look like degrees."""
    for joint, limit in _bounded(document, _ROTATING):
        bounds = [b for b in (limit[g.LOWER], limit[g.UPPER]) if math.isfinite(b)]
        largest = max(map(abs, bounds), default=0.0)
        if largest > _FULL_TURN + _TURN_SLACK and not _in_degrees(limit):
            turns = largest / _FULL_TURN
            message = f"{_describe(joint)} may turn {turns:.3g} times around"
            yield Breach(message, limit.location)


def long_travel(measured: MeasuredRobot) -> Breaches:
    """Slides that go far beyond the robot, as millimetres do."""
    for joint in measured.robot.joints:
        if not isinstance(joint.kind, Prismatic):
            continue
        bounds = (joint.kind.range.lower, joint.kind.range.upper)
        largest = max(map(abs, filter(math.isfinite, bounds)), default=0.0)
        if largest > _TRAVEL * measured.span > 0.0:
            message = (
                f"joint {joint.name!r} travels up to {largest:g} m; "
                f"the robot's joints span {measured.span:.3g} m"
            )
            yield Breach(message, joint.location)


def negative_dynamics(document: UrdfDocument) -> Breaches:
    """Friction that pushes."""
    for joint in document.joints:
        dynamics = joint.first(g.DYNAMICS)
        for attribute in (g.DAMPING, g.FRICTION) if dynamics else ():
            value = dynamics[attribute] if dynamics else None
            if dynamics and value is not None and value < 0.0:
                message = f"{_describe(joint)} has {attribute.name} {value:g}"
                yield Breach(message, dynamics.location)


def incomplete_safety(document: UrdfDocument) -> Breaches:
    """Safety controllers without the one attribute that urdfdom demands."""
    for joint in document.joints:
        safety = joint.first(g.SAFETY_CONTROLLER)
        if safety and g.K_VELOCITY.name not in safety.written:
            message = f"the safety controller of {_describe(joint)} has no k_velocity"
            yield Breach(message, safety.location)


def soft_limit_outside(document: UrdfDocument) -> Breaches:
    """Soft limits that the hard ones come before."""
    for joint, limit in _bounded(document, _RANGED):
        safety = joint.first(g.SAFETY_CONTROLLER)
        lower, upper = limit[g.LOWER], limit[g.UPPER]
        for attribute in (g.SOFT_LOWER_LIMIT, g.SOFT_UPPER_LIMIT):
            soft = safety[attribute] if safety else None
            if safety is None or soft is None or lower >= upper:
                continue
            if not lower - _SOFT_SLACK <= soft <= upper + _SOFT_SLACK:
                message = (
                    f"{_describe(joint)} has {attribute.name} {soft:g} "
                    f"and a range from {lower:g} to {upper:g}"
                )
                yield Breach(message, safety.location)


def _limits(
    document: UrdfDocument, types: frozenset[str] | None = None
) -> Iterator[tuple[Node, Node]]:
    for joint in document.joints:
        limit = joint.first(g.LIMIT)
        if limit and (types is None or type_of(joint) in types):
            yield joint, limit


def _bounded(
    document: UrdfDocument, types: frozenset[str]
) -> Iterator[tuple[Node, Node]]:
    """Joints of some types whose limits state both bounds."""
    for joint, limit in _limits(document, types):
        if {g.LOWER.name, g.UPPER.name} <= limit.written:
            yield joint, limit


def _in_degrees(limit: Node) -> bool:
    bounds = [abs(bound) for bound in (limit[g.LOWER], limit[g.UPPER]) if bound]
    return bool(bounds) and all(
        bound in _DEGREES and bound % _ROUND for bound in bounds
    )


def _describe(joint: Node) -> str:
    return f"joint {joint[g.NAME]!r}"
