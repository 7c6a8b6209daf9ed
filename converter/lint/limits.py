"""Rules about limits, effort, velocity, dynamics and soft limits of joints."""

from __future__ import annotations

import math
from collections.abc import Iterator

from urdf_usd.converter.lint.finding import Breach, Breaches
from urdf_usd.converter.lint.subject import MeasuredRobot, UrdfDocument, type_of
from urdf_usd.converter.robot.model import Prismatic
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.reader import Node

_FULL_TURN = 2.0 * math.pi
# 6.2832 and 6.3 are full turns that were rounded.
_TURN_SLACK = 0.02
_ROTATING = frozenset({"revolute"})
_SLIDING = frozenset({"prismatic"})
_RANGED = _ROTATING | _SLIDING
_DRIVEN = _RANGED | {"continuous"}
# Limits that are common in degrees and implausible in radians.
_DEGREES = range(30, 361, 5)
# Multiples of this usually mean "unlimited".
_ROUND = 100
# Largest travel of a prismatic joint, as a multiple of the robot's span.
_TRAVEL = 100.0
_SOFT_SLACK = 1e-6


def without_rating(document: UrdfDocument) -> Breaches:
    """Limits without effort or velocity, which urdfdom requires up to URDF 1.1."""
    for joint, limit in _limits(document):
        absent = [a.name for a in (g.EFFORT, g.VELOCITY) if a.name not in limit.written]
        if absent:
            message = f"the limit of {_describe(joint)} has no {' and no '.join(absent)}"
            yield Breach(message, limit.location)


def zero_effort(document: UrdfDocument) -> Breaches:
    """Revolute and prismatic joints with effort zero, except mimic joints."""
    for joint, limit in _limits(document, _RANGED):
        if limit[g.EFFORT] == 0.0 and not joint.first(g.MIMIC):
            yield Breach(f"{_describe(joint)} has effort 0", limit.location)


def zero_velocity(document: UrdfDocument) -> Breaches:
    """Joints with velocity zero, except mimic joints."""
    for joint, limit in _limits(document, _DRIVEN):
        if limit[g.VELOCITY] == 0.0 and not joint.first(g.MIMIC):
            yield Breach(f"{_describe(joint)} has velocity 0", limit.location)


def empty_range(document: UrdfDocument) -> Breaches:
    """Joints with equal limits."""
    for joint, limit in _bounded(document, _RANGED):
        if limit[g.LOWER] == limit[g.UPPER]:
            message = f"{_describe(joint)} has lower and upper {limit[g.LOWER]:g}"
            yield Breach(message, limit.location)


def zero_outside(document: UrdfDocument) -> Breaches:
    """Ranges that do not contain zero."""
    for joint, limit in _bounded(document, _RANGED):
        lower, upper = limit[g.LOWER], limit[g.UPPER]
        if 0.0 < lower < upper or lower < upper < 0.0:
            message = f"{_describe(joint)} has a range from {lower:g} to {upper:g}"
            yield Breach(message, limit.location)


def limits_in_degrees(document: UrdfDocument) -> Breaches:
    """Limits such as 90 or -170, which are probably in degrees."""
    for joint, limit in _bounded(document, _ROTATING):
        if _in_degrees(limit):
            lower, upper = limit[g.LOWER], limit[g.UPPER]
            message = f"{_describe(joint)} may turn from {lower:g} to {upper:g} rad"
            yield Breach(message, limit.location)


def several_turns(document: UrdfDocument) -> Breaches:
    """Limits of more than a full turn, unless they look like degrees."""
    for joint, limit in _bounded(document, _ROTATING):
        bounds = [b for b in (limit[g.LOWER], limit[g.UPPER]) if math.isfinite(b)]
        largest = max(map(abs, bounds), default=0.0)
        if largest > _FULL_TURN + _TURN_SLACK and not _in_degrees(limit):
            turns = largest / _FULL_TURN
            message = f"{_describe(joint)} may turn {turns:.3g} times around"
            yield Breach(message, limit.location)


def long_travel(measured: MeasuredRobot) -> Breaches:
    """Prismatic joints with implausible travel, probably in millimetres."""
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


def incomplete_safety(document: UrdfDocument) -> Breaches:
    """Safety controllers without k_velocity, which urdfdom requires."""
    for joint in document.joints:
        safety = joint.first(g.SAFETY_CONTROLLER)
        if safety and g.K_VELOCITY.name not in safety.written:
            message = f"the safety controller of {_describe(joint)} has no k_velocity"
            yield Breach(message, safety.location)


def soft_limit_outside(document: UrdfDocument) -> Breaches:
    """Soft limits outside the range."""
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


def _bounded(document: UrdfDocument, types: frozenset[str]) -> Iterator[tuple[Node, Node]]:
    """Yield joints of some types that have both limits."""
    for joint, limit in _limits(document, types):
        if {g.LOWER.name, g.UPPER.name} <= limit.written:
            yield joint, limit


def _in_degrees(limit: Node) -> bool:
    bounds = [abs(bound) for bound in (limit[g.LOWER], limit[g.UPPER]) if bound]
    return bool(bounds) and all(bound in _DEGREES and bound % _ROUND for bound in bounds)


def _describe(joint: Node) -> str:
    return f"joint {joint[g.NAME]!r}"
