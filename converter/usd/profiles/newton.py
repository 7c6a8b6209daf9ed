"""Schemas of Newton (newton-usd-schemas). Angles are in degrees."""

from __future__ import annotations

from pxr import Sdf, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Mimic
from urdf_usd.converter.usd.profiles.joint_attributes import (
    DEGREES,
    AxisJoint,
    JointAttribute,
    author_couplings,
    axis_joints,
    damping,
    friction,
    schema_values,
    write_drive,
    write_schema,
)
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import KINDS, apply, relate, write

_JOINT_ATTRIBUTES = (
    JointAttribute("newton:damping", damping, 1 / DEGREES),
    JointAttribute("newton:friction", friction),
    # Zero is not allowed by the schema; many URDFs write zero for "unknown".
    JointAttribute("newton:velocityLimit", lambda joint: joint.velocity, DEGREES, positive=True),
)


def author_inertias(physics: Sdf.Layer, prims: Prims) -> None:
    """Author inertia tensors in double precision, along the axes of the link."""
    for body in prims.bodies.bodies:
        prim = physics.GetPrimAtPath(prims.link[body.link])
        xx, xy, xz, yy, yz, zz = body.inertia
        apply(prim, "NewtonMassAPI")
        tensor = Vt.DoubleArray([xx, yy, zz, xy, xz, yz])
        write(prim, "newton:inertia", tensor, KINDS.DoubleArray)


def author_newton(physics: Sdf.Layer, prims: Prims) -> tuple[Diagnostic, ...]:
    """Apply Newton's schemas to joints; report lost couplings."""
    joints = axis_joints(physics, prims)
    for own in joints:
        # Newton reads the effort limit from the drive.
        write_drive(own)
        # Also without values, to state that they are absent.
        write_schema(own.prim, "NewtonJointAPI", schema_values(_JOINT_ATTRIBUTES, own))
    return author_couplings(joints, "NewtonMimicAPI", _coefficients, _author_mimic)


def _coefficients(own: AxisJoint, leader: AxisJoint, mimic: Mimic) -> tuple[float, float] | None:
    """Return offset and factor, which have no unit: both joints must be of the same type."""
    alike = own.is_angular == leader.is_angular
    return (mimic.offset * own.unit, mimic.multiplier) if alike else None


def _author_mimic(own: AxisJoint, leader: AxisJoint, numbers: tuple[float, float]) -> None:
    values = dict(zip(("newton:mimicCoef0", "newton:mimicCoef1"), numbers, strict=True))
    write_schema(own.prim, "NewtonMimicAPI", values)
    relate(own.prim, "newton:mimicJoint", leader.prim.path)
