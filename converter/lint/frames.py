"""Rules about origins: distances and rotations."""

from __future__ import annotations

import math
from collections.abc import Iterator

from urdf_usd.converter.diagnostics import Location
from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.lint.finding import Breach, Breaches
from urdf_usd.converter.lint.subject import UrdfDocument
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.reader import Node

# Larger distances between connected frames are implausible [m].
_FAR = 25.0
_FULL_TURN = 2.0 * math.pi
# 6.2832 and 6.3 are full turns that were rounded.
_TURN_SLACK = 0.02
_RIGHT_ANGLE = math.pi / 2.0
# Errors of rounded right angles, such as 1.57 and 3.14 [rad].
_RIGHT, _ROUNDED = 1e-5, 2e-3
_LENGTH_SLACK = 1e-3


def far_origin(document: UrdfDocument) -> Breaches:
    """Origins at implausible distances, probably in millimetres."""
    for owner, origin in _origins(document):
        distance = math.hypot(*origin[g.XYZ])
        if distance > _FAR:
            yield Breach(f"the origin of {owner} is {distance:.4g} m away", origin.location)


def more_than_a_turn(document: UrdfDocument) -> Breaches:
    """Angles of more than a full turn, probably in degrees."""
    for owner, origin in _origins(document):
        angles = origin[g.RPY]
        largest = max(angles, key=abs)
        if abs(largest) > _FULL_TURN + _TURN_SLACK:
            message = f"the origin of {owner} is turned by {largest:g} rad"
            yield Breach(message, origin.location)


def rounded_right_angle(document: UrdfDocument) -> Breaches:
    """Rounded right angles, each value once."""
    places: dict[float, list[Location]] = {}
    for _, origin in _origins(document):
        for angle in origin[g.RPY]:
            if _is_rounded_right_angle(angle):
                places.setdefault(abs(angle), []).append(origin.location)
    for angle, locations in places.items():
        error = abs(angle - round(angle / _RIGHT_ANGLE) * _RIGHT_ANGLE)
        message = (
            f"rpy has {angle:g}, which is {math.degrees(error):.2g} deg off "
            f"a right angle ({times(len(locations))})"
        )
        yield Breach(message, locations[0])


def quaternion_not_normalised(document: UrdfDocument) -> Breaches:
    """Quaternions whose length is not 1; the parser reports zero."""
    for owner, origin, length in unnormalised_quaternions(document):
        message = f"the quaternion of {owner} has length {length:.4g}"
        yield Breach(message, origin.location)


def unnormalised_quaternions(
    document: UrdfDocument,
) -> Iterator[tuple[str, Node, float]]:
    """Yield owner, node and length of quaternions whose length is neither 0 nor 1."""
    for owner, origin in _origins(document):
        length = math.hypot(*(origin[g.QUAT_XYZW] or ()))
        if length > 0.0 and abs(length - 1.0) > _LENGTH_SLACK:
            yield owner, origin, length


def _is_rounded_right_angle(angle: float) -> bool:
    turns = round(angle / _RIGHT_ANGLE)
    return turns != 0 and _RIGHT < abs(angle - turns * _RIGHT_ANGLE) < _ROUNDED


def _origins(document: UrdfDocument) -> Iterator[tuple[str, Node]]:
    """Yield all origins with a description of their owners."""
    for link in document.links:
        for part in (g.INERTIAL, g.VISUAL, g.COLLISION):
            for node in link.all(part):
                origin = node.first(g.ORIGIN)
                if origin:
                    yield f"the {part.tag} of link {link[g.NAME]!r}", origin
    for joint in document.joints:
        origin = joint.first(g.ORIGIN)
        if origin:
            yield f"joint {joint[g.NAME]!r}", origin
