"""Links, joints and robots of stages of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tests.converter.usd.scenes import TURN as OBLIQUE
from tests.converter.usd.scenes import Scene, joint_of, link_of, pose_of, quat, rules_of
from urdf_usd.cli.main import main
from urdf_usd.conformance.export.reading import StageReading, read_stage, read_usd
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.robot.model import Fixed, Prismatic, Sphere
from urdf_usd.converter.robot.spatial import inertia_tensor

TURN, WELD, ROPE = UsdPhysics.RevoluteJoint, UsdPhysics.FixedJoint, UsdPhysics.DistanceJoint
_EXCLUDED = {"ExcludeFromArticulation": True}
_OFF = {"JointEnabled": False}
# Bodies; joints by type, ends and attributes, "." for the world; the articulation root; the
# tree; and rules of what is reported.
_TREES: dict[str, tuple[str, list[tuple[type, str, dict[str, Any]]], str, list[str], list[str]]] = {
    "root is the child of no joint": (
        "abc",
        [(TURN, "cb", {}), (TURN, "ba", {})],
        "",
        ["cb", "ba"],
        [],
    ),
    "articulation root decides between two": (
        "abc",
        [(TURN, "ab", {}), (TURN, "cb", {})],
        "c",
        ["ba", "cb"],
        [],
    ),
    "joints are followed forwards first": (
        "abc",
        [(TURN, "ba", {}), (TURN, "ac", {}), (TURN, "cb", {})],
        "",
        ["ac", "cb"],
        ["joint-loop-opened"],
    ),
    "loop is opened at the excluded joint": (
        "abc",
        [(TURN, "ac", _EXCLUDED), (TURN, "ab", {}), (TURN, "bc", {})],
        "",
        ["ab", "bc"],
        ["joint-loop-opened"],
    ),
    "joints without effect are omitted": (
        "ab",
        [(TURN, "ab", {}), (WELD, "ab", _OFF), (ROPE, "ab", {}), (TURN, "aa", {})],
        "",
        ["ab"],
        ["joint-disabled", "joint-not-urdf", "joint-not-urdf"],
    ),
    "bodies without joints are omitted": (
        "xab",
        [(TURN, "ab", {})],
        "",
        ["ab"],
        ["stage-loose-body"],
    ),
    "base at the world": ("ab", [(WELD, ".a", {}), (TURN, "ab", {})], "", ["world a", "ab"], []),
}


@pytest.mark.parametrize("name", _TREES)
def test_tree_of_joints(name: str) -> None:
    bodies, joints, root, expected, rules = _TREES[name]
    scene = Scene()
    for body in bodies:
        scene.body(f"/r/{body}")
    for index, (kind, ends, attributes) in enumerate(joints):
        first, second = (None if end == "." else f"/r/{end}" for end in ends)
        scene.joint(kind, f"/r/j{index}", (first, second), **attributes)
    if root:
        UsdPhysics.ArticulationRootAPI.Apply(scene.stage.GetPrimAtPath(f"/r/{root}"))

    reading = scene.read()

    assert [
        f"{one.parent} {one.child}" if len(one.parent) > 1 else one.parent + one.child
        for one in reading.robot.joints
    ] == expected
    assert sorted(rules_of(reading)) == rules


def test_units_and_scale_are_converted_to_si() -> None:
    scene = Scene(length=0.01, mass=0.001)
    UsdGeom.Xformable(scene.stage.GetDefaultPrim()).AddScaleOp().Set(Gf.Vec3f(2.0))
    scene.body("/r/a", mass=500.0)
    body = scene.body("/r/b", (10.0, 0.0, 0.0), mass=500.0)
    UsdGeom.Xformable(body).AddScaleOp().Set(Gf.Vec3f(3.0))
    UsdGeom.Sphere.Define(scene.stage, "/r/b/ball").CreateRadiusAttr(5.0)
    limits = {"LowerLimit": -20.0, "UpperLimit": 30.0}
    place = {"Axis": "X", "LocalPos0": Gf.Vec3f(10, 0, 0)}
    slide = scene.joint(UsdPhysics.PrismaticJoint, "/r/slide", ("/r/a", "/r/b"), **place, **limits)
    UsdPhysics.DriveAPI.Apply(slide.GetPrim(), "linear").CreateMaxForceAttr(2000.0)
    slide.GetPrim().CreateAttribute("newton:damping", Sdf.ValueTypeNames.Float).Set(4.0)

    reading = scene.read()

    link, joint = link_of(reading, "b"), joint_of(reading, "slide")
    assert link.inertial is not None
    assert link.inertial.mass == pytest.approx(0.5)
    # 0.01 units, scaled by six, in centimetres.
    assert link.inertial.origin.position[0] == pytest.approx(0.01 * 6 * 0.01)
    trace = np.trace(inertia_tensor(link.inertial.inertia))
    assert trace == pytest.approx(0.9 * 0.001 * 0.01**2)
    ball = link.visuals[0].geometry
    assert isinstance(ball, Sphere)
    assert ball.radius == pytest.approx(5.0 * 6 * 0.01)
    assert joint.origin.position == pytest.approx((0.2, 0.0, 0.0))
    assert isinstance(joint.kind, Prismatic)
    assert (joint.kind.range.lower, joint.kind.range.upper) == pytest.approx((-0.2, 0.3))
    assert joint.effort == pytest.approx(2000.0 * 0.001 * 0.01)
    assert joint.dynamics is not None
    assert joint.dynamics.damping == pytest.approx(4.0 * 0.001)


@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("is_fixed", [False, True])
def test_up_in_a_y_up_stage_is_up_in_the_urdf(*, is_turned: bool, is_fixed: bool) -> None:
    scene = Scene(up="Y")
    if is_turned:
        UsdGeom.Xformable(scene.stage.GetDefaultPrim()).AddRotateXOp().Set(-90.0)
    scene.body("/r/a")
    scene.body("/r/b", (0.1, 0.5, 0.2))
    hinge = {"LocalPos0": Gf.Vec3f(0.1, 0.5, 0.2), "Axis": "X"}
    scene.joint(TURN, "/r/hinge", ("/r/a", "/r/b"), **hinge)
    if is_fixed:
        half = 0.5**0.5
        turn = Gf.Quatf(half, -half, 0.0, 0.0) if is_turned else Gf.Quatf(1.0)
        scene.joint(WELD, "/r/base", (None, "/r/a"), LocalRot0=turn)

    reading = scene.read()

    place = pose_of(reading, "b", hinge=0.0)[:3, 3]
    assert place == pytest.approx((0.1, 0.5, 0.2) if is_turned else (0.1, -0.2, 0.5))
    # Its axis, X of the stage, is X of the world.
    tip = pose_of(reading, "b", hinge=0.3)[:3, :3] @ (1.0, 0.0, 0.0)
    assert tip == pytest.approx((1.0, 0.0, 0.0))


@pytest.mark.parametrize("seen", [True, False])
@pytest.mark.parametrize("shapes", [True, False])
def test_only_an_empty_world_link_is_the_world(*, seen: bool, shapes: bool) -> None:
    scene = Scene()
    prim = scene.body("/r/world", mass=None)
    if seen:
        UsdGeom.Sphere.Define(scene.stage, prim.GetPath().AppendChild("ball"))
    scene.joint(WELD, "/r/weld", (None, "/r/world"))

    robot = read_stage(scene.stage, shapes=shapes).robot

    assert [link.name for link in robot.links] == ["world_"] * seen + ["world"]


@pytest.mark.parametrize("anchor", [None, "/r", "/r/stand"])
@pytest.mark.parametrize("name", ["a", "world"])
def test_base_pose_follows_the_frame_of_its_joint(anchor: str | None, name: str) -> None:
    scene = Scene()
    whole = UsdGeom.Xformable(scene.stage.GetDefaultPrim())
    whole.AddTranslateOp().Set(Gf.Vec3d(5, 6, 7))
    whole.AddRotateXOp().Set(90.0)
    stand = UsdGeom.Xform.Define(scene.stage, "/r/stand")
    stand.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.4))
    scene.body(f"/r/{name}", (0.1, 0.2, 0.7))
    # In the world, Y of the robot points up, and its Z points along -Y.
    place = {None: (5.1, 5.3, 7.2), "/r": (0.1, 0.2, 0.7), "/r/stand": (0.1, 0.2, 0.3)}
    half = 0.5**0.5
    turn = Gf.Quatf(half, half, 0.0, 0.0) if anchor is None else Gf.Quatf(1.0)
    frame = {"LocalPos0": place[anchor], "LocalRot0": turn}
    scene.joint(UsdPhysics.PrismaticJoint, "/r/rail", (anchor, f"/r/{name}"), **frame)

    reading = scene.read()

    rail = joint_of(reading, "rail")
    assert (rail.parent, rail.child) == ("world_" if name == "world" else "world", name)
    assert rail.origin.position == pytest.approx((0.1, 0.2, 0.7))
    assert abs(rail.origin.quat_wxyz[0]) == pytest.approx(1.0)
    assert link_of(reading, rail.parent).inertial is None


def test_joint_at_a_static_collider_is_a_joint_to_the_world() -> None:
    """A collider without a body is static; its scale applies to the joint frame.

    The anchor is the joint's local position through OpenUSD's own transform.
    """
    scene = Scene(length=0.01)
    post = UsdGeom.Cube.Define(scene.stage, "/r/post")
    post.AddTranslateOp().Set(Gf.Vec3d(20.0, -30.0, 50.0))
    post.AddOrientOp().Set(quat(OBLIQUE))
    post.AddScaleOp().Set(Gf.Vec3f(0.5, 2.0, 3.0))
    UsdPhysics.CollisionAPI.Apply(post.GetPrim())
    scene.body("/r/arm")
    local = Gf.Vec3f(4.0, 5.0, -6.0)
    scene.joint(TURN, "/r/hinge", ("/r/post", "/r/arm"), Axis="Z", LocalPos0=local)
    anchor = UsdGeom.XformCache().GetLocalToWorldTransform(post.GetPrim())

    reading = scene.read()

    hinge = joint_of(reading, "hinge")
    assert (hinge.parent, hinge.child) == ("world", "arm")
    place = [0.01 * along for along in anchor.Transform(Gf.Vec3d(local))]
    assert hinge.origin.position == pytest.approx(place, rel=1e-6)
    expected = tuple(OBLIQUE.as_quat(scalar_first=True).tolist())
    assert hinge.origin.quat_wxyz == pytest.approx(expected, abs=1e-6)
    assert "stage-loose-shape" in rules_of(reading)


@pytest.mark.parametrize(
    ("target", "rule", "joints"),
    [
        # As in OpenUSD's parser, the world.
        ("/r/misspelt", "joint-target-missing", ["weld"]),
        ("/r/off", "joint-body-outside", []),
        ("/r/kind", "joint-body-outside", []),
        ("/r/over", "joint-body-outside", []),
        ("/table", "joint-body-outside", []),
    ],
)
def test_joint_at_a_body_that_is_absent_is_reported(
    target: str, rule: str, joints: list[str]
) -> None:
    scene = Scene()
    for path in ("/r/arm", "/r/off", "/r/kind", "/r/over", "/table"):
        scene.body(path)
    scene.stage.GetPrimAtPath("/r/off").SetActive(False)
    scene.stage.GetPrimAtPath("/r/kind").SetSpecifier(Sdf.SpecifierClass)
    scene.stage.GetPrimAtPath("/r/over").SetSpecifier(Sdf.SpecifierOver)
    scene.joint(WELD, "/r/weld", (target, "/r/arm"))

    reading = scene.read()

    assert rules_of(reading) == [rule]
    assert "/r/weld" in reading.diagnostics[0].message
    assert target in reading.diagnostics[0].message
    assert [joint.name for joint in reading.robot.joints] == joints


def test_repeated_names_are_numbered() -> None:
    scene = Scene()
    scene.body("/r/arm")
    scene.body("/r/arm/arm")
    scene.body("/r/x").SetDisplayName("arm\x01")
    scene.joint(WELD, "/r/j1", ("/r/arm", "/r/arm/arm"))
    scene.joint(WELD, "/r/j2", ("/r/arm", "/r/x"))

    reading = scene.read()

    assert [link.name for link in reading.robot.links] == ["arm", "arm_2", "arm_"]
    assert rules_of(reading) == ["stage-name-changed"] * 2


def test_stage_without_default_prim_is_read_as_a_whole(tmp_path: Path) -> None:
    scene = Scene()
    with pytest.raises(StageError, match="no rigid body"):
        scene.read()
    with pytest.raises(StageError, match="cannot be opened"):
        read_usd(tmp_path / "absent.usda")
    scene.body("/elsewhere")
    scene.stage.ClearDefaultPrim()

    reading = scene.read()

    assert reading.robot.name == "robot"
    assert [link.name for link in reading.robot.links] == ["elsewhere"]


def test_xforms_with_a_link_name_are_links() -> None:
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


def _arm(scene: Scene, path: str, *, fixed: bool, marked: bool = True) -> None:
    """Add a base with an arm, below a prim that is perhaps an articulation root."""
    prim = UsdGeom.Xform.Define(scene.stage, path).GetPrim()
    scene.body(f"{path}/base")
    arm = scene.body(f"{path}/arm")
    UsdGeom.Cube.Define(scene.stage, arm.GetPath().AppendChild("box"))
    scene.joint(TURN, f"{path}/hinge", (f"{path}/base", f"{path}/arm"))
    if fixed:
        scene.joint(WELD, f"{path}/weld", (None, f"{path}/base"))
    if marked:
        UsdPhysics.ArticulationRootAPI.Apply(prim)


@pytest.fixture(params=[True, False], ids=["fixed", "floating"])
def two_robots(request: pytest.FixtureRequest) -> Scene:
    """Two articulations with links of the same names, and a free body."""
    scene = Scene()
    for path in ("/r/one", "/r/two"):
        _arm(scene, path, fixed=request.param)
    scene.body("/r/crate")
    return scene


def _read(scene: Scene, root: str) -> StageReading:
    return read_stage(scene.stage, root=root)


@pytest.mark.parametrize("root", ["/r/two", "/r/two/arm", "/r/two/hinge", "/r/crate"])
def test_named_robot_is_read_alone(two_robots: Scene, root: str) -> None:
    reading = _read(two_robots, root)

    is_crate = root == "/r/crate"
    links, joints = ({"crate"}, set()) if is_crate else ({"base", "arm"}, {"hinge"})
    assert reading.robot.name == ("crate" if is_crate else "two")
    assert {link.name for link in reading.robot.links} - {"world"} == links
    assert {joint.name for joint in reading.robot.joints} - {"weld"} == joints
    assert rules_of(reading) == []
    assert bool(reading.robot.links[-1].visuals) is not is_crate


@pytest.mark.parametrize(
    ("root", "message"),
    [
        (None, r"2 robots; .*--root PATH: /r/one \(2 bodies\), /r/two \(2 bodies\)"),
        ("/r", r"/r holds 3 robots; choose one with --root PATH: /r/one \(2 bodies\)"),
        ("/r/three", "the stage has no prim /r/three"),
        ("two", "the stage has no prim two"),
        ("/", "the stage has no prim /,"),
        ("/r/light", r"/r/light belongs to no robot; the stage holds /r/one"),
    ],
)
def test_name_of_no_single_robot_is_refused(
    two_robots: Scene, root: str | None, message: str
) -> None:
    UsdGeom.Xform.Define(two_robots.stage, "/r/light")

    with pytest.raises(StageError, match=message):
        read_stage(two_robots.stage, root=root)


def test_robots_without_articulation_roots_of_their_own_are_listed_by_bodies() -> None:
    scene = Scene()
    for path in ("/r/one", "/r/two"):
        _arm(scene, path, fixed=False, marked=False)
    UsdPhysics.ArticulationRootAPI.Apply(scene.stage.GetPrimAtPath("/r"))
    listed = r"2 robots; .*: /r/one/base \(2 bodies\), /r/two/base \(2"
    with pytest.raises(StageError, match=listed):
        scene.read()
    assert _read(scene, "/r/two/base").robot.name == "two"

    scene.stage.GetPrimAtPath("/r").RemoveAPI(UsdPhysics.ArticulationRootAPI)
    with pytest.raises(StageError, match=listed):
        scene.read()
    UsdPhysics.ArticulationRootAPI.Apply(scene.stage.GetPrimAtPath("/r/two/base"))
    assert len(scene.read().robot.links) == 2


def test_free_bodies_alone_are_listed() -> None:
    scene = Scene()
    scene.body("/r/crate")
    assert [link.name for link in scene.read().robot.links] == ["crate"]

    # Without a joint between the two.
    scene.body("/r/crate/lid")
    with pytest.raises(StageError, match=r"/r/crate \(1 body\), /r/crate/lid \(1 body\)"):
        scene.read()
    assert [link.name for link in _read(scene, "/r/crate").robot.links] == ["crate"]


def test_robot_outside_the_default_prim_can_be_named() -> None:
    scene = Scene()
    _arm(scene, "/r/one", fixed=False)
    UsdGeom.Xform.Define(scene.stage, "/other")
    _arm(scene, "/other/two", fixed=False)

    assert scene.read().robot.name == "r"
    reading = _read(scene, "/other/two")
    assert reading.robot.name == "two"
    assert len(reading.robot.links[-1].visuals) == 1


def test_bodies_at_the_world_are_one_robot_without_several_articulations() -> None:
    scene = Scene()
    for path in ("/r/one", "/r/two"):
        _arm(scene, path, fixed=True, marked=False)
    scene.body("/r/crate")

    reading = scene.read()

    assert len(reading.robot.joints) == 4
    (found,) = (one for one in reading.diagnostics if one.rule == "stage-loose-body")
    assert "--root /r/crate" in found.message


def test_converted_robot_with_several_articulations_is_one_robot(tmp_path: Path) -> None:
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/><inertia ixx="1" ixy="0" '
        'ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        for name in ("a", "b", "c")
    )
    joints = "".join(
        f'<joint name="{kind}_{child}" type="{kind}"><parent link="world"/>'
        f'<child link="{child}"/></joint>'
        for child, kind in (("a", "continuous"), ("b", "continuous"), ("c", "floating"))
    )
    urdf = tmp_path / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="world"/>{links}{joints}</robot>')

    usd = convert(urdf, tmp_path / "usd").root_layer

    assert len(read_usd(usd).robot.joints) == 3
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    for path in ("/one", "/two"):
        stage.DefinePrim(path).GetReferences().AddReference(str(usd))
    with pytest.raises(StageError, match="2 robots"):
        read_stage(stage)
    robot = read_stage(stage, root="/two").robot
    assert robot.name == "two"
    assert len(robot.joints) == 3


def test_command_lists_robots_and_exports_the_named_one(two_robots: Scene, tmp_path: Path) -> None:
    """Exit code 2 without a name."""
    usd, urdf = str(tmp_path / "r.usda"), str(tmp_path / "out/two.urdf")
    two_robots.stage.Export(usd)

    refused = CliRunner().invoke(main, ["export", usd, urdf])
    written = CliRunner().invoke(main, ["export", usd, urdf, "--root", "/r/two"])

    assert refused.exit_code == 2
    # Of click 8.1, `stderr` is not captured apart.
    shown = " ".join(refused.output.split())
    assert "--root PATH: /r/one (2 bodies), /r/two (2 bodies)" in shown
    assert written.exit_code == 0
    assert '<robot name="two">' in Path(urdf).read_text()
