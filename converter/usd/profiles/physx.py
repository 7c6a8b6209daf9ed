"""Schemas of PhysX (Omniverse Physics). Angles are in degrees.

They are not part of OpenUSD; names are those declared by ``physxSchema`` and
``physxSchemaAddition``. ``physxJoint:jointFriction`` is not used: it is a coefficient
of the joint's constraint force, unlike the friction of URDF.
"""

from __future__ import annotations

from math import isfinite

from pxr import Sdf

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
from urdf_usd.converter.usd.writer.specs import KINDS, UNIFORM, relate, write

# Zero would lock the joint; many URDFs write zero for "unknown".
_VELOCITY = JointAttribute("maxJointVelocity", lambda joint: joint.velocity, DEGREES, positive=True)
_ON_AXIS = (
    _VELOCITY,
    # URDF does not distinguish static and dynamic friction.
    JointAttribute("staticFrictionEffort", friction),
    JointAttribute("dynamicFrictionEffort", friction),
    JointAttribute("viscousFrictionCoefficient", damping, 1 / DEGREES),
)


def author_physx(physics: Sdf.Layer, prims: Prims) -> tuple[Diagnostic, ...]:
    """Apply PhysX's schemas to joints; report lost couplings."""
    joints = axis_joints(physics, prims)
    for own in joints:
        write_drive(own)
        # Read by PhysX before ovphysx 0.7, with which it was removed; ignored for an axis
        # with a schema. Also without values, to state that they are absent.
        write_schema(own.prim, "PhysxJointAPI", schema_values((_VELOCITY,), own), "physxJoint:")
        if values := schema_values(_ON_AXIS, own):
            schema, prefix = f"PhysxJointAxisAPI:{own.axis}", f"physxJointAxis:{own.axis}:"
            write_schema(own.prim, schema, values, prefix)
    return author_couplings(joints, "PhysxMimicJointAPI", _coefficients, _author_mimic)


def _coefficients(own: AxisJoint, leader: AxisJoint, mimic: Mimic) -> tuple[float, float] | None:
    """Return gearing and offset of ``position + gearing * leader + offset = 0``.

    PhysX couples revolute joints only if they have limits.
    """
    for one in (own, leader):
        if one.is_angular and not all(map(isfinite, one.limits)):
            return None
    gearing = -mimic.multiplier * own.unit / leader.unit
    return gearing, -mimic.offset * own.unit + 0.0


def _author_mimic(own: AxisJoint, leader: AxisJoint, numbers: tuple[float, float]) -> None:
    # The name of an axis begins with "rot" also for prismatic joints.
    axes = (one.prim.attributes["physics:axis"].default for one in (own, leader))
    axis, leader_axis = (f"rot{axis}" for axis in axes)
    prefix = f"physxMimicJoint:{axis}:"
    values = dict(zip(("gearing", "offset"), numbers, strict=True))
    write_schema(own.prim, f"PhysxMimicJointAPI:{axis}", values, prefix)
    relate(own.prim, f"{prefix}referenceJoint", leader.prim.path)
    write(own.prim, f"{prefix}referenceJointAxis", leader_axis, KINDS.Token, UNIFORM)
