"""Building of poses and axes from nodes."""

from __future__ import annotations

import math

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import IDENTITY, Pose, Vec3
from urdf_usd.converter.robot.rigid import quat_wxyz_from_rpy
from urdf_usd.converter.urdf.grammar import ORIGIN, QUAT_XYZW, RPY, XYZ
from urdf_usd.converter.urdf.reader import Node

# Rotations that differ by less are equal up to rounding to four digits [rad].
_SAME_ANGLE = 1e-3


def build_origin(parent: Node, notes: list[Diagnostic]) -> Pose:
    """Build the pose of the ``<origin>`` of a node; identity without one."""
    node = parent.first(ORIGIN)
    if node is None:
        return IDENTITY
    quat_xyzw = node[QUAT_XYZW]
    if quat_xyzw is None:
        return Pose(node[XYZ], quat_wxyz_from_rpy(node[RPY]))
    unit = normalise(quat_xyzw)
    if RPY.name in node.written:
        # Most parsers only read rpy, and urdfdom refuses files with both.
        turned = quat_wxyz_from_rpy(node[RPY])
        if unit and _alike(turned, unit):
            message = "origin has both rpy and quat_xyzw, which agree"
            notes.append(Diagnostic("rotation-repeated", message, node.location))
        else:
            message = "origin has both rpy and quat_xyzw, which disagree"
            notes.append(Diagnostic("rotation-conflict", message, node.location))
        return Pose(node[XYZ], turned)
    if unit is None:
        message = "quat_xyzw of <origin> is zero; read as no rotation"
        notes.append(Diagnostic("number-invalid", message, node.location))
        return Pose(node[XYZ])
    x, y, z, w = unit
    return Pose(node[XYZ], (w, x, y, z))


def _alike(quat_wxyz: tuple[float, ...], unit_xyzw: tuple[float, ...]) -> bool:
    """Return whether quaternions are equal up to rounding in the file."""
    w, x, y, z = quat_wxyz
    cosine = sum(a * b for a, b in zip((x, y, z, w), unit_xyzw, strict=True))
    return abs(cosine) > math.cos(_SAME_ANGLE / 2)


def unit_axis(axis: Vec3) -> Vec3 | None:
    """Return the unit vector of a vector; None if it is zero."""
    unit = normalise(axis)
    return (unit[0], unit[1], unit[2]) if unit else None


def normalise(vector: tuple[float, ...]) -> tuple[float, ...] | None:
    """Divide a vector by its length; None if it is zero.

    Exact for coordinate axes, without overflow or underflow: the vector is first scaled
    by a power of two.
    """
    _, exponent = math.frexp(max(map(abs, vector)))
    scaled = [math.ldexp(component, -exponent) for component in vector]
    length = math.hypot(*scaled)
    if length == 0.0:
        return None
    # Adding zero turns -0.0 into 0.0.
    return tuple(component / length + 0.0 for component in scaled)
