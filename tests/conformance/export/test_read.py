"""Robots are read from stages of other tools."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdGeom, UsdPhysics

from tests.converter.usd.scenes import (
    Array,
    Scene,
    joint_of,
    link_of,
    pose_of,
    rules_of,
)
from urdf_usd.conformance.export.reading import read_stage, read_usd
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.robot.model import Fixed, Link, Prismatic, Sphere


def test_units_and_scale_are_converted_to_si() -> None:
    """Of poses, shapes, masses, limits, forces, damping; above and on the body."""
    scene = Scene(length=0.01, mass=0.001)
    UsdGeom.Xformable(scene.stage.GetDefaultPrim()).AddScaleOp().Set(Gf.Vec3f(2.0))
    scene.body("/r/a", mass=500.0)
    body = scene.body("/r/b", (10.0, 0.0, 0.0), mass=500.0)
    UsdGeom.Xformable(body).AddScaleOp().Set(Gf.Vec3f(3.0))
    UsdGeom.Sphere.Define(scene.stage, "/r/b/ball").CreateRadiusAttr(5.0)
    slide = scene.joint(
        UsdPhysics.PrismaticJoint,
        "/r/slide",
        ("/r/a", "/r/b"),
        Axis="X",
        LocalPos0=Gf.Vec3f(10, 0, 0),
        LowerLimit=-20.0,
        UpperLimit=30.0,
    )
    drive = UsdPhysics.DriveAPI.Apply(slide.GetPrim(), "linear")
    drive.CreateMaxForceAttr(2000.0)
    slide.GetPrim().CreateAttribute("newton:damping", Sdf.ValueTypeNames.Float).Set(4.0)

    reading = scene.read()

    link, joint = link_of(reading, "b"), joint_of(reading, "slide")
    assert link.inertial is not None
    assert link.inertial.mass == pytest.approx(0.5)
    # 0.01 units, scaled by six, in centimetres.
    assert link.inertial.origin.position[0] == pytest.approx(0.01 * 6 * 0.01)
    assert np.trace(_tensor(link)) == pytest.approx(0.9 * 0.001 * 0.01**2)
    ball = link.visuals[0].geometry
    assert isinstance(ball, Sphere)
    assert ball.radius == pytest.approx(5.0 * 6 * 0.01)
    assert joint.origin.position == pytest.approx((0.2, 0.0, 0.0))
    assert isinstance(joint.kind, Prismatic)
    assert joint.kind.range.lower == pytest.approx(-0.2)
    assert joint.kind.range.upper == pytest.approx(0.3)
    assert joint.effort == pytest.approx(2000.0 * 0.001 * 0.01)
    assert joint.dynamics is not None
    assert joint.dynamics.damping == pytest.approx(4.0 * 0.001)


def _tensor(link: Link) -> Array:
    assert link.inertial is not None
    ixx, ixy, ixz, iyy, iyz, izz = link.inertial.inertia
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


@pytest.mark.parametrize("fixed", [True, False])
def test_y_up_stage_is_rotated_to_z_up(*, fixed: bool) -> None:
    """Up in the stage is up in the URDF."""
    scene = Scene(up="Y")
    scene.body("/r/a")
    scene.body("/r/b", (0.1, 0.5, 0.2))
    hinge = {"LocalPos0": Gf.Vec3f(0.1, 0.5, 0.2), "Axis": "X"}
    scene.joint(UsdPhysics.RevoluteJoint, "/r/hinge", ("/r/a", "/r/b"), **hinge)
    if fixed:
        scene.joint(UsdPhysics.FixedJoint, "/r/base", (None, "/r/a"))

    reading = scene.read()

    place = pose_of(reading, "b", hinge=0.0)[:3, 3]
    assert place == pytest.approx((0.1, -0.2, 0.5))
    # Its axis, X of the stage, is X of the world.
    tip = pose_of(reading, "b", hinge=0.3)[:3, :3] @ (1.0, 0.0, 0.0)
    assert tip == pytest.approx((1.0, 0.0, 0.0))


@pytest.mark.parametrize("fixed", [True, False])
def test_robot_rotated_into_a_y_up_stage_is_not_rotated_again(*, fixed: bool) -> None:
    """Its own frames are Z up, as in the original URDF."""
    scene = Scene(up="Y")
    UsdGeom.Xformable(scene.stage.GetDefaultPrim()).AddRotateXOp().Set(-90.0)
    scene.body("/r/a")
    scene.body("/r/b", (0.1, 0.5, 0.2))
    hinge = {"LocalPos0": Gf.Vec3f(0.1, 0.5, 0.2), "Axis": "X"}
    scene.joint(UsdPhysics.RevoluteJoint, "/r/hinge", ("/r/a", "/r/b"), **hinge)
    if fixed:
        half = 0.5**0.5
        turned = {"LocalRot0": Gf.Quatf(half, -half, 0.0, 0.0)}
        scene.joint(UsdPhysics.FixedJoint, "/r/base", (None, "/r/a"), **turned)

    reading = scene.read()

    place = pose_of(reading, "b", hinge=0.0)[:3, 3]
    assert place == pytest.approx((0.1, 0.5, 0.2))


def test_fixed_base_has_a_world_link() -> None:
    """At the joint's pose relative to the default prim."""
    scene = Scene()
    UsdGeom.Xformable(scene.stage.GetDefaultPrim()).AddTranslateOp().Set(Gf.Vec3d(5, 6, 7))
    scene.body("/r/world", (0.0, 0.0, 1.0))
    scene.joint(UsdPhysics.PrismaticJoint, "/r/rail", (None, "/r/world"), LocalPos0=(5, 6, 8))

    reading = scene.read()

    rail = joint_of(reading, "rail")
    assert (rail.parent, rail.child) == ("world_", "world")
    assert rail.origin.position == pytest.approx((0.0, 0.0, 1.0))
    assert link_of(reading, "world_").inertial is None


def test_masses_are_computed_without_reading_shapes() -> None:
    """A ball with the density of water."""
    scene = Scene()
    scene.body("/r/a", mass=None)
    ball = UsdGeom.Sphere.Define(scene.stage, "/r/a/ball")
    ball.CreateRadiusAttr(0.1)
    UsdPhysics.CollisionAPI.Apply(ball.GetPrim())

    inertial = link_of(read_stage(scene.stage, shapes=False), "a").inertial

    assert inertial is not None
    assert inertial.mass == pytest.approx(1000.0 * 4.0 / 3.0 * np.pi * 0.1**3)


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("shapes", [True, False])
def test_only_an_empty_world_link_is_the_world(*, seen: bool, shapes: bool) -> None:
    """With and without shapes."""
    scene = Scene()
    prim = scene.body("/r/world", mass=None)
    if seen:
        UsdGeom.Sphere.Define(scene.stage, prim.GetPath().AppendChild("ball"))
    scene.joint(UsdPhysics.FixedJoint, "/r/weld", (None, "/r/world"))

    robot = read_stage(scene.stage, shapes=shapes).robot

    assert [link.name for link in robot.links] == ["world_"] * seen + ["world"]


@pytest.mark.parametrize("anchor", [None, "/r", "/r/stand"])
def test_base_pose_follows_the_frame_of_its_joint(
    anchor: str | None,
) -> None:
    """A robot that is placed and rotated as a whole, relative to any prim."""
    scene = Scene()
    whole = UsdGeom.Xformable(scene.stage.GetDefaultPrim())
    whole.AddTranslateOp().Set(Gf.Vec3d(5, 6, 7))
    whole.AddRotateXOp().Set(90.0)
    stand = UsdGeom.Xform.Define(scene.stage, "/r/stand")
    stand.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.4))
    scene.body("/r/a", (0.1, 0.2, 0.7))
    # In the world, Y of the robot points up, and its Z points along -Y.
    place = {None: (5.1, 5.3, 7.2), "/r": (0.1, 0.2, 0.7), "/r/stand": (0.1, 0.2, 0.3)}
    half = 0.5**0.5
    turn = Gf.Quatf(half, half, 0.0, 0.0) if anchor is None else Gf.Quatf(1.0)
    scene.joint(
        UsdPhysics.PrismaticJoint,
        "/r/rail",
        (anchor, "/r/a"),
        LocalPos0=place[anchor],
        LocalRot0=turn,
    )

    rail = joint_of(scene.read(), "rail")

    assert rail.origin.position == pytest.approx((0.1, 0.2, 0.7))
    assert abs(rail.origin.quat_wxyz[0]) == pytest.approx(1.0)


def test_root_is_the_body_without_a_parent_joint() -> None:
    """In any order; an articulation root only decides between several."""
    scene = Scene()
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    scene.joint(UsdPhysics.RevoluteJoint, "/r/one", ("/r/c", "/r/b"))
    scene.joint(UsdPhysics.RevoluteJoint, "/r/two", ("/r/b", "/r/a"))

    assert [(j.parent, j.child) for j in scene.read().robot.joints] == [
        ("c", "b"),
        ("b", "a"),
    ]


def test_articulation_root_decides_between_two_roots() -> None:
    """The other one becomes a child, by a joint that is reversed."""
    scene = Scene()
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    scene.joint(UsdPhysics.RevoluteJoint, "/r/one", ("/r/a", "/r/b"))
    scene.joint(UsdPhysics.RevoluteJoint, "/r/two", ("/r/c", "/r/b"))
    UsdPhysics.ArticulationRootAPI.Apply(scene.stage.GetPrimAtPath("/r/c"))

    found = {j.name: (j.parent, j.child) for j in scene.read().robot.joints}

    assert found == {"one": ("b", "a"), "two": ("c", "b")}


def test_joints_are_followed_forwards_first() -> None:
    """Even if a reversed joint is authored first."""
    scene = Scene()
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    for name, ends in (("ba", "ba"), ("ac", "ac"), ("cb", "cb")):
        first, second = (f"/r/{end}" for end in ends)
        scene.joint(UsdPhysics.RevoluteJoint, f"/r/{name}", (first, second))

    reading = scene.read()

    assert [(j.parent, j.child) for j in reading.robot.joints] == [("a", "c"), ("c", "b")]
    assert rules_of(reading) == ["joint-loop-opened"]


def test_loop_is_opened_at_the_excluded_joint() -> None:
    """The joint with excludeFromArticulation, which is reported."""
    scene = Scene()
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    revolute = UsdPhysics.RevoluteJoint
    scene.joint(revolute, "/r/ac", ("/r/a", "/r/c"), ExcludeFromArticulation=True)
    scene.joint(revolute, "/r/ab", ("/r/a", "/r/b"))
    scene.joint(revolute, "/r/bc", ("/r/b", "/r/c"))

    reading = scene.read()

    assert [joint.name for joint in reading.robot.joints] == ["ab", "bc"]
    assert rules_of(reading) == ["joint-loop-opened"]


def test_joints_without_effect_are_omitted_with_a_warning() -> None:
    """Disabled, between a body and itself, or of a type that URDF lacks."""
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b")
    scene.joint(UsdPhysics.RevoluteJoint, "/r/j", ("/r/a", "/r/b"))
    scene.joint(UsdPhysics.FixedJoint, "/r/off", ("/r/a", "/r/b"), JointEnabled=False)
    scene.joint(UsdPhysics.DistanceJoint, "/r/rope", ("/r/a", "/r/b"))

    reading = scene.read()

    assert [joint.name for joint in reading.robot.joints] == ["j"]
    assert sorted(rules_of(reading)) == ["joint-disabled", "joint-not-urdf"]


def test_unconnected_bodies_are_omitted() -> None:
    """A ball on the floor is not a link of the arm."""
    scene = Scene()
    for path in ("/r/ball", "/r/a", "/r/b"):
        scene.body(path)
    scene.joint(UsdPhysics.RevoluteJoint, "/r/j", ("/r/a", "/r/b"))

    reading = scene.read()

    assert [link.name for link in reading.robot.links] == ["a", "b"]
    assert rules_of(reading) == ["stage-loose-body"]


def test_two_robots_are_refused() -> None:
    """Unless only one of them is an articulation."""
    scene = Scene()
    for name in "abcd":
        scene.body(f"/r/{name}")
    scene.joint(UsdPhysics.RevoluteJoint, "/r/ab", ("/r/a", "/r/b"))
    scene.joint(UsdPhysics.RevoluteJoint, "/r/cd", ("/r/c", "/r/d"))

    with pytest.raises(StageError, match=r"2 robots; .* --root PATH: /r/a \(2 bodies\), /r/c \(2"):
        scene.read()
    UsdPhysics.ArticulationRootAPI.Apply(scene.stage.GetPrimAtPath("/r/c"))
    assert [link.name for link in scene.read().robot.links] == ["c", "d"]


def test_repeated_names_are_numbered() -> None:
    """Prims in different scopes may have one name; URDF has one list of links."""
    scene = Scene()
    scene.body("/r/arm")
    scene.body("/r/arm/arm")
    scene.body("/r/x").SetDisplayName("arm\x01")
    scene.joint(UsdPhysics.FixedJoint, "/r/j1", ("/r/arm", "/r/arm/arm"))
    scene.joint(UsdPhysics.FixedJoint, "/r/j2", ("/r/arm", "/r/x"))

    reading = scene.read()

    assert [link.name for link in reading.robot.links] == ["arm", "arm_2", "arm_"]
    assert rules_of(reading) == ["stage-name-changed"] * 2


def test_stage_without_default_prim_is_read_as_a_whole() -> None:
    """The robot is named after the stage."""
    scene = Scene()
    scene.body("/elsewhere")
    scene.stage.ClearDefaultPrim()

    reading = scene.read()

    assert reading.robot.name == "robot"
    assert [link.name for link in reading.robot.links] == ["elsewhere"]


def test_empty_and_missing_stages_are_refused(tmp_path: Path) -> None:
    """One has no robot, the other cannot be opened."""
    with pytest.raises(StageError, match="no rigid body"):
        Scene().read()
    with pytest.raises(StageError, match="cannot be opened"):
        read_usd(tmp_path / "absent.usda")


def test_xforms_with_a_link_name_are_links() -> None:
    """Other converters author an Xform for a link without mass."""
    scene = Scene()
    scene.body("/r/a")
    tool = UsdGeom.Xform.Define(scene.stage, "/r/a/tool")
    tool.AddTranslateOp().Set(Gf.Vec3d(0.1, 0.2, 0.3))

    plain = read_stage(scene.stage)
    with_names = read_stage(scene.stage, ["tool", "a", "absent"])

    assert [link.name for link in plain.robot.links] == ["a"]
    (joint,) = with_names.robot.joints
    assert (joint.name, joint.kind, joint.child) == ("tool_joint", Fixed(), "tool")
    assert joint.origin.position == (0.1, 0.2, 0.3)
