"""Rotations in the words of URDF: roll, pitch and yaw about fixed axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from urdf_usd.converter.robot.rigid import quat_wxyz_from_rpy
from urdf_usd.converter.robot.spatial import rotation_from_quat_wxyz, rpy_from_rotation

if TYPE_CHECKING:
    from urdf_usd.converter.robot.model import Vec3, Vec4

_UNTURNED = (1.0, 0.0, 0.0, 0.0)
_ROUNDING = 2.0**-52
# Most significant digits that a double needs.
_MOST_DIGITS = 17


def rpy_from_quat_wxyz(quat_wxyz: Vec4) -> Vec3:
    """Return the roll, pitch and yaw [rad] that stand for a unit quaternion.

    Of all numbers of digits, the least is taken whose angles give the quaternion back
    to the rounding of a double: 1.5708 stays 1.5708.
    """
    if quat_wxyz == _UNTURNED:
        return 0.0, 0.0, 0.0
    exact = rpy_from_rotation(rotation_from_quat_wxyz(quat_wxyz))
    allowed = max(_ROUNDING, _distance(exact, quat_wxyz))
    for digits in range(1, _MOST_DIGITS):
        roll, pitch, yaw = (float(f"{angle:.{digits}g}") + 0.0 for angle in exact)
        if _distance((roll, pitch, yaw), quat_wxyz) <= allowed:
            return roll, pitch, yaw
    return exact


def _distance(rpy: Vec3, quat_wxyz: Vec4) -> float:
    """Distance of two unit quaternions, whose sign has no meaning."""
    found = quat_wxyz_from_rpy(rpy)
    opposite = tuple(-component for component in found)
    return min(math.dist(found, quat_wxyz), math.dist(opposite, quat_wxyz))
