"""Schemas of MuJoCo (mjcPhysics), in a layer of their own. Angles are in radians.

They are not part of OpenUSD; names are those of the plugin in mujoco-usd-converter.
Newer versions of it replace ``mjc:damping``, ``mjc:frictionloss``, ``mjc:armature`` and
the coefficients of couplings by attributes of Newton, and keep to read them; SimReady
forbids the attributes of Newton in an asset for MuJoCo (RV.011).
"""

from __future__ import annotations

from math import isfinite

from pxr import Sdf, Usd, UsdGeom, UsdPhysics, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.simulation.resolution import Simulation
from urdf_usd.converter.usd.profiles.joint_schemas import (
    EFFORT,
    MUJOCO,
    AxisJoint,
    author_couplings,
    axis_joints,
    schema_values,
)
from urdf_usd.converter.usd.writer import specs

# MuJoCo refuses an empty range, so that a limit of zero is the smallest normal float32,
# also that of the drive: Newton's importer takes the smaller limit.
_NO_EFFORT = 2.0**-126
# MuJoCo refuses equal limits as well. They are apart by at least four units in the last
# place of float32, of which conversions to radians round away one.
_RELATIVE_RANGE, _LEAST_RANGE = 2.0**-21, 2.0**-120
# Numbers of the gains of an actuator.
_GAINS = 10
_KINDS = {
    float: specs.KINDS.Double,
    str: specs.KINDS.Token,
    Vt.DoubleArray: specs.KINDS.DoubleArray,
}


def author_mujoco(
    layer: Sdf.Layer,
    physics: Sdf.Layer,
    stage: Usd.Stage,
    prims: specs.Prims,
    simulation: Simulation | None,
) -> tuple[Diagnostic, ...]:
    """Write MuJoCo's schemas of joints and colliders, and an actuator per joint.

    Returns:
        Diagnostics about couplings and settings that the schemas cannot represent.
    """
    joints = axis_joints(physics, prims)
    settings = simulation or Simulation()
    armatures = dict(settings.armatures)
    for own in joints:
        spec = specs.over(layer, own.prim.path)
        # Also without values: its actuators must have a joint of MuJoCo.
        specs.apply(spec, "MjcJointAPI")
        values = schema_values(MUJOCO, own)
        for effort in schema_values(EFFORT, own).values():
            bound = effort or _NO_EFFORT
            values |= {"mjc:actuatorfrcrange:min": -bound, "mjc:actuatorfrcrange:max": bound}
        if own.joint.name in armatures:
            values["mjc:armature"] = armatures[own.joint.name]
        for name, value in values.items():
            _write(spec, name, value)
        if own.joint.effort == 0.0:
            specs.write(spec, f"drive:{own.axis}:physics:maxForce", _NO_EFFORT)
        lower, upper = own.limits
        # Reversed limits, whose meaning is another for each simulator, are kept.
        if lower == upper and isfinite(lower):
            apart = max(abs(lower) * _RELATIVE_RANGE, _LEAST_RANGE)
            specs.write(spec, "physics:upperLimit", lower + apart)

    def author_mimic(own: AxisJoint, leader: AxisJoint, numbers: tuple[float, float]) -> None:
        spec = specs.over(layer, own.prim.path)
        specs.apply(spec, "MjcEqualityJointAPI")
        specs.relate(spec, "mjc:target", leader.prim.path)
        for name, value in zip(("mjc:coef0", "mjc:coef1"), numbers, strict=True):
            _write(spec, name, value)

    # Numbers of position = coef0 + coef1 * leader [rad or m].
    lost = author_couplings(
        joints,
        "MjcEqualityJointAPI",
        lambda _own, _leader, mimic: (mimic.offset, mimic.multiplier),
        author_mimic,
    )
    _author_actuators(layer, stage, prims, joints, settings)
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            spec = specs.over(layer, prim.GetPath())
            specs.apply(spec, "MjcCollisionAPI")
            name, hull = "physics:approximation", UsdPhysics.Tokens.convexHull
            attribute = prim.GetAttribute(name)
            is_mesh = prim.IsA(UsdGeom.Mesh) and attribute.HasAuthoredValue()
            if is_mesh and attribute.Get() != hull:
                # MuJoCo collides with convex hulls of meshes, whatever the attribute says.
                specs.write(spec, name, hull)
    if settings.self_collision is False:
        message = "self_collision is not written: MuJoCo has no such setting"
        lost = (*lost, Diagnostic("description-lost", message))
    return lost


def _author_actuators(
    layer: Sdf.Layer,
    stage: Usd.Stage,
    prims: specs.Prims,
    joints: list[AxisJoint],
    settings: Simulation,
) -> None:
    """Write an actuator per joint: its control is a force, or a target of its drive.

    The effort limit is that of the joint. A control of zero is no force, so that an
    actuator without drive changes nothing.
    """
    drives = {drive.joint: drive for drive in settings.drives}
    taken = stage.GetPrimAtPath(prims.physics).GetAllChildrenNames()
    names = specs.sibling_names([f"{own.prim.name}_actuator" for own in joints], taken)
    for own, name in zip(joints, names, strict=True):
        spec = specs.define(layer, prims.physics.AppendChild(name), "MjcActuator")
        specs.relate(spec, "mjc:target", own.prim.path)
        drive = drives.get(own.joint.name)
        if drive is None or not (drive.stiffness or drive.damping):
            continue
        bias = (0.0, 0.0 - drive.stiffness, 0.0 - drive.damping)
        for key, values in (("gain", (drive.stiffness or drive.damping,)), ("bias", bias)):
            padded = [*values, *(0.0,) * (_GAINS - len(values))]
            _write(spec, f"mjc:{key}Prm", Vt.DoubleArray(padded))
        _write(spec, "mjc:biasType", "affine")


def _write(spec: Sdf.PrimSpec, name: str, value: float | str | Vt.DoubleArray) -> None:
    specs.write(spec, name, value, _KINDS[type(value)], specs.UNIFORM)
