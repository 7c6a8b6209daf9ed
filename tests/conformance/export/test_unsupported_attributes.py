"""Attributes that UsdPhysics lacks are read from schemas of simulators."""

from __future__ import annotations

import math

import pytest
from pxr import Sdf, UsdPhysics

from tests.converter.usd.scenes import Scene, joint_of, rules_of
from urdf_usd.converter.robot.model import (
    Joint,
)


def test_newton_mimic_is_read() -> None:
    """The offset is in degrees; the leader has its URDF name."""
    scene = Scene()
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    leader = scene.joint(UsdPhysics.RevoluteJoint, "/r/one", ("/r/a", "/r/b"))
    leader.GetPrim().SetDisplayName("lead er")
    prim = scene.joint(UsdPhysics.RevoluteJoint, "/r/two", ("/r/b", "/r/c")).GetPrim()
    prim.AddAppliedSchema("NewtonMimicAPI")
    prim.CreateRelationship("newton:mimicJoint").SetTargets(["/r/one"])
    prim.CreateAttribute("newton:mimicCoef0", Sdf.ValueTypeNames.Float).Set(90.0)
    prim.CreateAttribute("newton:mimicCoef1", Sdf.ValueTypeNames.Float).Set(-0.5)

    mimic = joint_of(scene.read(), "two").mimic

    assert mimic
    assert (mimic.joint, mimic.multiplier) == ("lead er", -0.5)
    assert mimic.offset == pytest.approx(math.pi / 2)


def test_edited_schema_has_priority_over_custom_attributes() -> None:
    """Simulators read the schema."""
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b")
    prim = scene.joint(UsdPhysics.RevoluteJoint, "/r/j", ("/r/a", "/r/b")).GetPrim()
    kinds = Sdf.ValueTypeNames
    limit = prim.CreateAttribute("newton:velocityLimit", kinds.Float)
    prim.CreateAttribute("urdf:limit:velocity", kinds.Double).Set(1.2)

    limit.Set(math.degrees(1.2))
    kept = scene.read().robot.joints[0].velocity
    limit.Set(math.degrees(3.4))
    edited = scene.read().robot.joints[0].velocity

    assert kept == 1.2
    assert edited == pytest.approx(3.4)


def test_drive_max_force_is_the_effort_and_gains_are_dropped() -> None:
    """URDF has no gains; an infinite force is no limit."""
    scene = Scene()
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    for name, ends, force in (
        ("weak", ("/r/a", "/r/b"), 12.5),
        ("strong", ("/r/b", "/r/c"), math.inf),
    ):
        joint = scene.joint(UsdPhysics.RevoluteJoint, f"/r/{name}", ends)
        drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular")
        drive.CreateMaxForceAttr(force)
        drive.CreateStiffnessAttr(100.0)

    reading = scene.read()

    assert joint_of(reading, "weak").effort == 12.5
    assert joint_of(reading, "strong").effort is None
    assert rules_of(reading) == ["joint-drive-dropped"]


@pytest.mark.parametrize(
    ("bias", "rules"),
    [(("affine", [0.0, -9.0, 0.0]), ["joint-drive-dropped"]), (None, [])],
)
def test_servos_of_mujoco_are_reported_and_motors_are_not(
    bias: tuple[str, list[float]] | None, rules: list[str]
) -> None:
    """The force of a motor is its control alone."""
    scene = Scene()
    for path in ("/r/a", "/r/b"):
        scene.body(path)
    joint = scene.joint(UsdPhysics.RevoluteJoint, "/r/j", ("/r/a", "/r/b"))
    actuator = scene.stage.DefinePrim("/r/j_actuator", "MjcActuator")
    actuator.CreateRelationship("mjc:target").AddTarget(joint.GetPath())
    if bias is not None:
        kind, values = bias
        types = Sdf.ValueTypeNames
        actuator.CreateAttribute("mjc:biasType", types.Token).Set(kind)
        actuator.CreateAttribute("mjc:biasPrm", types.DoubleArray).Set(values)

    assert rules_of(scene.read()) == rules


def test_springs_of_mujoco_are_reported() -> None:
    """They are drives with a constant target."""
    scene = Scene()
    for path in ("/r/a", "/r/b"):
        scene.body(path)
    joint = scene.joint(UsdPhysics.RevoluteJoint, "/r/j", ("/r/a", "/r/b")).GetPrim()
    joint.CreateAttribute("mjc:stiffness", Sdf.ValueTypeNames.Double).Set(3.0)

    assert rules_of(scene.read()) == ["joint-drive-dropped"]


def _speaking(kind: type[UsdPhysics.Joint], schemas: tuple[str, ...], **numbers: float) -> Joint:
    """Read a joint with schema attributes; two underscores represent a colon."""
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b")
    prim = scene.joint(kind, "/r/j", ("/r/a", "/r/b")).GetPrim()
    for schema in schemas:
        prim.AddAppliedSchema(schema)
    for name, value in numbers.items():
        name_in_full = name.replace("__", ":")
        prim.CreateAttribute(name_in_full, Sdf.ValueTypeNames.Float).Set(value)
    return scene.read().robot.joints[0]


def test_physx_axis_values_have_priority_and_are_in_degrees() -> None:
    """Over those of the joint."""
    joint = _speaking(
        UsdPhysics.RevoluteJoint,
        ("PhysxJointAPI", "PhysxJointAxisAPI:angular"),
        physxJoint__maxJointVelocity=10.0,
        physxJointAxis__angular__maxJointVelocity=90.0,
        physxJointAxis__angular__viscousFrictionCoefficient=0.02,
        physxJointAxis__angular__dynamicFrictionEffort=0.5,
        physxJoint__jointFriction=0.9,
    )

    assert joint.velocity == pytest.approx(math.pi / 2)
    assert joint.dynamics is not None
    assert joint.dynamics.damping == pytest.approx(0.02 * 180 / math.pi)
    assert joint.dynamics.friction == 0.5


def test_prismatic_values_are_in_metres() -> None:
    """PhysX's joint schema may have the velocity alone."""
    joint = _speaking(
        UsdPhysics.PrismaticJoint, ("PhysxJointAPI",), physxJoint__maxJointVelocity=0.75
    )

    assert joint.velocity == 0.75
    assert joint.dynamics is None


def test_schema_fallbacks_are_not_read() -> None:
    """NewtonJointAPI has zero for values that are not authored."""
    joint = _speaking(UsdPhysics.RevoluteJoint, ("NewtonJointAPI",))

    assert joint.dynamics is None
    assert joint.velocity is None
