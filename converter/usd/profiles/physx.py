"""Schemas of PhysX (Omniverse Physics). Angles are in degrees.

They are not part of OpenUSD; names are those declared by ``physxSchema`` and
``physxSchemaAddition``. ``physxJoint:jointFriction`` is not used: it is a coefficient
of the joint's constraint force, unlike the friction of URDF.
"""

from __future__ import annotations

from math import isfinite

from pxr import Sdf

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Joint, Mimic
from urdf_usd.converter.usd.profiles.joint_attributes import (
    DEGREES,
    JointAttribute,
    author_couplings,
    axis_instance,
    damping,
    friction,
    is_revolute,
    position_limits,
    schema_values,
    single_axis_joints,
    write_drive,
    write_schema,
)
from urdf_usd.converter.usd.writer.float32 import fits_float32
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import relate, write_new

# Zero would lock the joint; many URDFs write zero for "unknown".
_VELOCITY = JointAttribute("maxJointVelocity", lambda joint: joint.velocity, DEGREES, positive=True)
_PASSIVE = (
    # URDF does not distinguish static and dynamic friction.
    JointAttribute("staticFrictionEffort", friction),
    JointAttribute("dynamicFrictionEffort", friction),
    JointAttribute("viscousFrictionCoefficient", damping, 1 / DEGREES),
)


def author_physx(physics: Sdf.Layer, prims: Prims) -> tuple[Diagnostic, ...]:
    """Apply PhysX's schemas to joints; report lost couplings."""
    joints = single_axis_joints(physics, prims)
    for prim, joint in joints:
        write_drive(prim, joint)
        _author_joint(prim, joint)
    return author_couplings(joints, "PhysxMimicJointAPI", _can_couple, _author_mimic)


def _author_joint(prim: Sdf.PrimSpec, joint: Joint) -> None:
    angular = is_revolute(prim)
    # Read by PhysX before ovphysx 0.7; also without values, to state that they are
    # absent.
    speed = schema_values((_VELOCITY,), joint, angular=angular)
    values = {f"physxJoint:{name}": value for name, value in speed.items()}
    write_schema(prim, "PhysxJointAPI", values)
    on_axis = speed | schema_values(_PASSIVE, joint, angular=angular)
    if on_axis:
        axis = axis_instance(angular=angular)
        # PhysxJointAPI was removed with ovphysx 0.7; before, it was ignored for an axis
        # with a schema.
        values = {f"physxJointAxis:{axis}:{n}": v for n, v in on_axis.items()}
        write_schema(prim, f"PhysxJointAxisAPI:{axis}", values)


def _can_couple(prim: Sdf.PrimSpec, leader: Sdf.PrimSpec, mimic: Mimic) -> bool:
    """Return whether PhysX accepts a coupling: revolute joints need limits."""
    numbers = _coefficients(prim, leader, mimic)
    return _is_bounded(prim) and _is_bounded(leader) and all(map(fits_float32, numbers))


def _is_bounded(prim: Sdf.PrimSpec) -> bool:
    return not is_revolute(prim) or all(map(isfinite, position_limits(prim)))


def _coefficients(prim: Sdf.PrimSpec, leader: Sdf.PrimSpec, mimic: Mimic) -> tuple[float, float]:
    """Gearing and offset of ``position + gearing * leader + offset = 0``."""
    follower_unit = DEGREES if is_revolute(prim) else 1.0
    leader_unit = DEGREES if is_revolute(leader) else 1.0
    return (
        -mimic.multiplier * follower_unit / leader_unit,
        -mimic.offset * follower_unit + 0.0,
    )


def _author_mimic(prim: Sdf.PrimSpec, leader: Sdf.PrimSpec, mimic: Mimic) -> None:
    axis = _axis(prim)
    gearing, offset = _coefficients(prim, leader, mimic)
    prefix = f"physxMimicJoint:{axis}"
    values = {f"{prefix}:gearing": gearing, f"{prefix}:offset": offset}
    write_schema(prim, f"PhysxMimicJointAPI:{axis}", values)
    relate(prim, f"{prefix}:referenceJoint", leader.path)
    name, kind = f"{prefix}:referenceJointAxis", Sdf.ValueTypeNames.Token
    write_new(prim, name, kind, _axis(leader), Sdf.VariabilityUniform)


def _axis(prim: Sdf.PrimSpec) -> str:
    """Return the axis name of a joint; ``rot`` also for prismatic joints."""
    return f"rot{prim.attributes['physics:axis'].default}"
