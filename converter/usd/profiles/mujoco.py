"""Schemas of MuJoCo (mjcPhysics), in a layer of their own. Angles are in radians.

They are not part of OpenUSD; names are those of the plugin in mujoco-usd-converter.
Newer versions of it replace ``mjc:damping``, ``mjc:frictionloss``, ``mjc:armature`` and
the coefficients of couplings by attributes of Newton, and keep to read them; SimReady
forbids the attributes of Newton in an asset for MuJoCo (RV.011).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from pxr import Sdf, Usd, UsdGeom, UsdPhysics, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import Joint, Mimic
from urdf_usd.converter.simulation.sources import JointDrive, Simulation
from urdf_usd.converter.usd.profiles.joint_attributes import (
    JointAttribute,
    author_couplings,
    axis_instance,
    damping,
    friction,
    is_revolute,
    position_limits,
    schema_values,
    single_axis_joints,
)
from urdf_usd.converter.usd.writer.float32 import LEAST_RANGE, fits_float32
from urdf_usd.converter.usd.writer.prims import Prims, sibling_names
from urdf_usd.converter.usd.writer.specs import apply, define, over, relate, write_new

_DAMPING_AND_FRICTION = (
    JointAttribute("mjc:damping", damping),
    JointAttribute("mjc:frictionloss", friction),
)
_RANGE = "mjc:actuatorfrcrange"
_EFFORT = (JointAttribute(_RANGE, lambda joint: joint.effort),)
# MuJoCo refuses an empty range, so that a limit of zero is the smallest normal float32,
# also that of the drive: Newton's importer takes the smaller limit.
_NO_EFFORT = 2.0**-126
# MuJoCo refuses equal limits as well.
_RELATIVE_RANGE = 2.0**-21
# Numbers of the gains of an actuator.
_GAINS = 10


def author_mujoco(
    layer: Sdf.Layer,
    physics: Sdf.Layer,
    stage: Usd.Stage,
    prims: Prims,
    simulation: Simulation | None,
) -> tuple[Diagnostic, ...]:
    """Write MuJoCo's schemas of joints and colliders, and an actuator per joint.

    Args:
        layer: Layer that gets overs and actuators.
        physics: The layer that defines the joints.
        stage: The asset with UsdPhysics.
        prims: The robot.
        simulation: Settings of a robot description file, if there is one.

    Returns:
        Diagnostics about couplings and settings that the schemas cannot represent.
    """
    joints = single_axis_joints(physics, prims)
    settings = simulation or Simulation()
    armatures = dict(settings.armatures)
    for prim, joint in joints:
        spec = over(layer, prim.path)
        _author_joint(spec, joint, armatures.get(joint.name))
        if joint.effort == 0.0:
            force = f"drive:{axis_instance(angular=is_revolute(prim))}:physics:maxForce"
            write_new(spec, force, Sdf.ValueTypeNames.Float, _NO_EFFORT)
        _separate_limits(spec, prim)

    def author_mimic(prim: Sdf.PrimSpec, leader: Sdf.PrimSpec, mimic: Mimic) -> None:
        # position = coef0 + coef1 * leader, in radians or metres.
        spec = over(layer, prim.path)
        apply(spec, "MjcEqualityJointAPI")
        relate(spec, "mjc:target", leader.path)
        for name, value in (("coef0", mimic.offset), ("coef1", mimic.multiplier)):
            _write(spec, f"mjc:{name}", Sdf.ValueTypeNames.Double, value)

    lost = author_couplings(
        joints,
        "MjcEqualityJointAPI",
        lambda _prim, _leader, mimic: fits_float32(mimic.multiplier) and fits_float32(mimic.offset),
        author_mimic,
    )
    drives = {drive.joint: drive for drive in settings.drives}
    prim_of = {joint.name: prim for prim, joint in joints}
    _author_actuators(layer, stage, prims, prim_of, drives)
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            _author_collider(layer, prim)
    if settings.self_collision is False:
        message = "self_collision is not written: MuJoCo has no such setting"
        lost = (*lost, Diagnostic("description-lost", message))
    return lost


def _author_joint(spec: Sdf.PrimSpec, joint: Joint, armature: float | None) -> None:
    # Also without values: its actuators must have a joint of MuJoCo.
    apply(spec, "MjcJointAPI")
    values = schema_values(_DAMPING_AND_FRICTION, joint, angular=True)
    for effort in schema_values(_EFFORT, joint, angular=True).values():
        bound = effort or _NO_EFFORT
        values |= {f"{_RANGE}:min": -bound, f"{_RANGE}:max": bound}
    if armature is not None:
        values["mjc:armature"] = armature
    for name, value in values.items():
        _write(spec, name, Sdf.ValueTypeNames.Double, value)


def _separate_limits(spec: Sdf.PrimSpec, prim: Sdf.PrimSpec) -> None:
    """Give a joint with equal limits a range that MuJoCo accepts.

    Reversed limits, whose meaning is another for each simulator, are kept.
    """
    lower, upper = position_limits(prim)
    if lower == upper and isfinite(lower):
        apart = max(abs(lower) * _RELATIVE_RANGE, LEAST_RANGE)
        kind = Sdf.ValueTypeNames.Float
        write_new(spec, "physics:upperLimit", kind, lower + apart)


def _author_actuators(
    layer: Sdf.Layer,
    stage: Usd.Stage,
    prims: Prims,
    prim_of: Mapping[str, Sdf.PrimSpec],
    drives: Mapping[str, JointDrive],
) -> None:
    """Write an actuator per joint: its control is a force, or a target of its drive.

    The effort limit is that of the joint. A control of zero is no force, so that an
    actuator without drive changes nothing.
    """
    taken = stage.GetPrimAtPath(prims.physics).GetAllChildrenNames()
    names = sibling_names([f"{p.name}_actuator" for p in prim_of.values()], taken)
    for (joint, prim), name in zip(prim_of.items(), names, strict=True):
        spec = define(layer, prims.physics.AppendChild(name), "MjcActuator")
        relate(spec, "mjc:target", prim.path)
        drive = drives.get(joint)
        if drive is None or not (drive.stiffness or drive.damping):
            continue
        gain = drive.stiffness or drive.damping
        bias = (0.0, 0.0 - drive.stiffness, 0.0 - drive.damping)
        kind = Sdf.ValueTypeNames.DoubleArray
        _write(spec, "mjc:gainPrm", kind, _padded(gain))
        _write(spec, "mjc:biasPrm", kind, _padded(*bias))
        _write(spec, "mjc:biasType", Sdf.ValueTypeNames.Token, "affine")


def _padded(*values: float) -> Vt.DoubleArray:
    return Vt.DoubleArray([*values, *(0.0,) * (_GAINS - len(values))])


def _author_collider(layer: Sdf.Layer, prim: Usd.Prim) -> None:
    spec = over(layer, prim.GetPath())
    apply(spec, "MjcCollisionAPI")
    name = UsdPhysics.Tokens.physicsApproximation
    hull = UsdPhysics.Tokens.convexHull
    attribute = prim.GetAttribute(name)
    is_mesh = prim.IsA(UsdGeom.Mesh) and attribute.HasAuthoredValue()
    if is_mesh and attribute.Get() != hull:
        # MuJoCo collides with convex hulls of meshes, whatever the attribute says.
        _write(spec, name, Sdf.ValueTypeNames.Token, hull)


def _write(spec: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName, value: object) -> None:
    write_new(spec, name, kind, value, Sdf.VariabilityUniform)
