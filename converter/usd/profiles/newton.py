"""Schemas of Newton (newton-usd-schemas). Angles are in degrees."""

from __future__ import annotations

from pxr import Sdf, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Mimic
from urdf_usd.converter.usd.profiles.joint_attributes import (
    DEGREES,
    JointAttribute,
    author_couplings,
    damping,
    friction,
    is_revolute,
    schema_values,
    single_axis_joints,
    write_drive,
    write_schema,
)
from urdf_usd.converter.usd.writer.float32 import fits_float32
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import apply, relate, write_new

_JOINT_ATTRIBUTES = (
    JointAttribute("newton:damping", damping, 1 / DEGREES),
    JointAttribute("newton:friction", friction),
    # Zero is not allowed by the schema; many URDFs write zero for "unknown".
    JointAttribute("newton:velocityLimit", lambda joint: joint.velocity, DEGREES, positive=True),
)


def author_newton(physics: Sdf.Layer, prims: Prims) -> tuple[Diagnostic, ...]:
    """Apply Newton's schemas to joints and bodies; report lost couplings."""
    _author_inertias(physics, prims)
    return author_newton_joints(physics, prims)


def author_newton_joints(physics: Sdf.Layer, prims: Prims) -> tuple[Diagnostic, ...]:
    """Apply Newton's schemas to joints; report lost couplings."""
    joints = single_axis_joints(physics, prims)
    for prim, joint in joints:
        # Newton reads the effort limit from the drive.
        write_drive(prim, joint)
        # Also without values, to state that they are absent.
        values = schema_values(_JOINT_ATTRIBUTES, joint, angular=is_revolute(prim))
        write_schema(prim, "NewtonJointAPI", values)
    return author_couplings(joints, "NewtonMimicAPI", _can_couple, _author_mimic)


def _can_couple(prim: Sdf.PrimSpec, leader: Sdf.PrimSpec, mimic: Mimic) -> bool:
    """Return whether the schema can represent a coupling.

    Its coefficients have no unit, so that both joints must be of the same type.
    """
    alike = prim.typeName == leader.typeName
    return alike and fits_float32(mimic.multiplier) and fits_float32(_offset(prim, mimic))


def _offset(prim: Sdf.PrimSpec, mimic: Mimic) -> float:
    return mimic.offset * DEGREES if is_revolute(prim) else mimic.offset


def _author_mimic(prim: Sdf.PrimSpec, leader: Sdf.PrimSpec, mimic: Mimic) -> None:
    values = {
        "newton:mimicCoef0": _offset(prim, mimic),
        "newton:mimicCoef1": mimic.multiplier,
    }
    write_schema(prim, "NewtonMimicAPI", values)
    relate(prim, "newton:mimicJoint", leader.path)


def _author_inertias(physics: Sdf.Layer, prims: Prims) -> None:
    """Author inertia tensors in double precision, along the axes of the link."""
    for body in prims.bodies.bodies:
        prim = physics.GetPrimAtPath(prims.link[body.link])
        xx, xy, xz, yy, yz, zz = body.inertia
        apply(prim, "NewtonMassAPI")
        tensor = Vt.DoubleArray([xx, yy, zz, xy, xz, yz])
        write_new(prim, "newton:inertia", Sdf.ValueTypeNames.DoubleArray, tensor)
