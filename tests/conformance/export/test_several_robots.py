"""Stages with several robots, and with bodies that no joint holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from pxr import Usd, UsdGeom, UsdPhysics

from tests.converter.usd.scenes import Scene, rules_of
from urdf_usd.cli.main import main
from urdf_usd.conformance.export.reading import StageReading, read_stage, read_usd
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import StageError


def _pair(scene: Scene, path: str, *, fixed: bool, marked: bool = True) -> None:
    """Add a base with an arm, below a prim that is perhaps an articulation root."""
    prim = UsdGeom.Xform.Define(scene.stage, path).GetPrim()
    scene.body(f"{path}/base")
    arm = scene.body(f"{path}/arm")
    UsdGeom.Cube.Define(scene.stage, arm.GetPath().AppendChild("box"))
    scene.joint(UsdPhysics.RevoluteJoint, f"{path}/hinge", (f"{path}/base", f"{path}/arm"))
    if fixed:
        scene.joint(UsdPhysics.FixedJoint, f"{path}/weld", (None, f"{path}/base"))
    if marked:
        UsdPhysics.ArticulationRootAPI.Apply(prim)


@pytest.fixture(params=[True, False], ids=["fixed", "floating"])
def two_robots(request: pytest.FixtureRequest) -> Scene:
    """Two articulations with links of the same names, and a free body."""
    scene = Scene()
    for path in ("/r/one", "/r/two"):
        _pair(scene, path, fixed=request.param)
    scene.body("/r/crate")
    return scene


def _read(scene: Scene, root: str) -> StageReading:
    return read_stage(scene.stage, root=root)


def test_several_articulations_are_listed(two_robots: Scene) -> None:
    """With the option that chooses one."""
    listed = r"2 robots; .*--root PATH: /r/one \(2 bodies\), /r/two \(2 bodies\)"
    with pytest.raises(StageError, match=listed):
        two_robots.read()


@pytest.mark.parametrize("root", ["/r/two", "/r/two/arm", "/r/two/hinge"])
def test_named_robot_is_read_alone(two_robots: Scene, root: str) -> None:
    """By its root, a body or a joint; its names need no numbers."""
    reading = _read(two_robots, root)

    assert reading.robot.name == "two"
    assert {link.name for link in reading.robot.links} - {"world"} == {"base", "arm"}
    assert {joint.name for joint in reading.robot.joints} - {"weld"} == {"hinge"}
    assert rules_of(reading) == []
    assert list(reading.robot.links[-1].visuals)


def test_body_with_a_body_below_it_can_be_named() -> None:
    """As the message lists it, without a joint between the two."""
    scene = Scene()
    scene.body("/r/box")
    scene.body("/r/box/lid")

    reading = _read(scene, "/r/box")

    assert [link.name for link in reading.robot.links] == ["box"]


def test_free_body_is_a_robot_that_can_be_named(two_robots: Scene) -> None:
    """Of one link."""
    robot = _read(two_robots, "/r/crate").robot

    assert robot.name == "crate"
    assert [link.name for link in robot.links] == ["crate"]


@pytest.mark.parametrize(
    ("root", "message"),
    [
        ("/r", r"/r holds 3 robots; choose one with --root PATH: /r/one \(2 bodies\)"),
        ("/r/three", "the stage has no prim /r/three"),
        ("two", "the stage has no prim two"),
        ("/", "the stage has no prim /,"),
        ("/r/light", r"/r/light belongs to no robot; the stage holds /r/one"),
    ],
)
def test_name_that_belongs_to_no_robot_is_refused(
    two_robots: Scene, root: str, message: str
) -> None:
    """With the robots of the stage."""
    UsdGeom.Xform.Define(two_robots.stage, "/r/light")

    with pytest.raises(StageError, match=message):
        _read(two_robots, root)


def test_robots_below_one_articulation_root_are_listed_by_their_bodies() -> None:
    """The root does not tell them apart."""
    scene = Scene()
    for path in ("/r/one", "/r/two"):
        _pair(scene, path, fixed=False, marked=False)
    UsdPhysics.ArticulationRootAPI.Apply(scene.stage.GetPrimAtPath("/r"))

    with pytest.raises(StageError, match=r"/r/one/base \(2 bodies\), /r/two/base"):
        scene.read()
    assert _read(scene, "/r/two/base").robot.name == "two"


def test_free_bodies_alone_are_listed() -> None:
    """One is read, since there is no choice; several are as many robots."""
    scene = Scene()
    scene.body("/r/crate")
    assert [link.name for link in scene.read().robot.links] == ["crate"]

    scene.body("/r/ball")
    with pytest.raises(StageError, match=r"/r/crate \(1 body\), /r/ball \(1 body\)"):
        scene.read()
    assert _read(scene, "/r/ball").robot.name == "ball"


def test_free_body_next_to_an_articulation_is_reported_with_the_option() -> None:
    """The articulation is read."""
    scene = Scene()
    _pair(scene, "/r/one", fixed=False)
    scene.body("/r/crate")

    reading = scene.read()

    assert len(reading.robot.links) == 2
    (found,) = reading.diagnostics
    assert found.rule == "stage-loose-body"
    assert "--root /r/crate" in found.message


def test_robot_outside_the_default_prim_can_be_named() -> None:
    """Its shapes are read as well."""
    scene = Scene()
    _pair(scene, "/r/one", fixed=False)
    UsdGeom.Xform.Define(scene.stage, "/other")
    _pair(scene, "/other/two", fixed=False)

    assert scene.read().robot.name == "r"
    reading = _read(scene, "/other/two")
    assert reading.robot.name == "two"
    assert len(reading.robot.links[-1].visuals) == 1


def test_bodies_at_the_world_are_one_robot_without_several_articulations() -> None:
    """As of a robot with two arms."""
    scene = Scene()
    for path in ("/r/one", "/r/two"):
        _pair(scene, path, fixed=True, marked=False)

    assert len(scene.read().robot.joints) == 4


def test_converted_robot_with_several_articulations_is_one_robot(
    tmp_path: Path,
) -> None:
    """A conversion marks one for each arm at the world; two references are two."""
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
