"""Masses, couplings and joints that a URDF does not imply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.joint_attributes import applied_schemas
from urdf_usd.conformance.engines.openusd.settings.parts import Parts
from urdf_usd.conformance.engines.openusd.stage import urdf_name
from urdf_usd.conformance.observation.robot import (
    SettingKind,
    UnimpliedSetting,
)

# Attributes of masses, which concern bodies and their colliders alone.
_MASSES = (
    "physics:mass",
    "physics:density",
    "physics:centerOfMass",
    "physics:diagonalInertia",
    "physics:principalAxes",
    "newton:inertia",
)
# That of MuJoCo includes that of Newton.
_COUPLINGS = frozenset({"NewtonMimicAPI", "MjcEqualityJointAPI"})


def free_joints(parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield enabled joints between bodies that hold nothing.

    Newton reads neither the mass nor the pose of the body behind such a joint.
    """
    for path, joint in parts.physics.joints.items():
        if (
            isinstance(joint, UsdPhysics.D6JointDesc)
            and joint.jointEnabled
            and {str(joint.body0), str(joint.body1)} <= parts.physics.bodies.keys()
            and not any(limit.second.enabled for limit in joint.jointLimits)
        ):
            yield UnimpliedSetting(
                SettingKind.JOINT,
                f"joint {urdf_name(parts.physics.stage.GetPrimAtPath(path))}",
                "it is enabled, and holds no coordinate",
                "disabled",
                "enabled",
            )


def untypical_couplings(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield joints without a single coordinate that Newton would couple."""
    joints: Mapping[str, object] = parts.physics.joints
    for prim in every:
        if (
            _COUPLINGS.isdisjoint(applied_schemas(prim))
            or prim.IsA(UsdPhysics.RevoluteJoint)
            or prim.IsA(UsdPhysics.PrismaticJoint)
            or prim.GetAttribute("newton:mimicEnabled").Get() is False
        ):
            continue
        names = ("newton:mimicJoint", "mjc:target")
        targets = [one for n in names for one in prim.GetRelationship(n).GetTargets()]
        if targets and str(targets[0]) in joints:
            yield UnimpliedSetting(
                SettingKind.JOINT,
                parts.subject(prim),
                f"it mimics {targets[0].name}, and has not exactly one coordinate",
                "no coupling",
                "a coupling",
            )


def masses_without_body(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield masses of prims that have none, such as frames of massless links."""
    for prim in every:
        if (
            not prim.HasAPI(UsdPhysics.MassAPI)
            or prim.HasAPI(UsdPhysics.RigidBodyAPI)
            or prim.HasAPI(UsdPhysics.CollisionAPI)
        ):
            continue
        definition = prim.GetPrimDefinition()
        for name in _MASSES:
            attribute = prim.GetAttribute(name)
            if not (attribute and attribute.HasAuthoredValue()):
                continue
            value, fallback = (
                attribute.Get(),
                definition.GetAttributeFallbackValue(name),
            )
            if value != fallback and value is not None:
                yield UnimpliedSetting(
                    SettingKind.BODY,
                    parts.subject(prim),
                    f"{name} of {prim.GetName()}, which is no body, is {value}",
                    "none",
                    str(value),
                )
