"""Export of USD assets as URDF files, and robots read from a USD, besides ``test_stored``."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
from click.testing import CliRunner
from pxr import Usd, UsdGeom, UsdUtils

from tests.conformance.engines.test_stored import FILES, stored_stage
from tests.conformance.runs import tree
from tests.converter.meshes.gltf_files import triangle
from tests.converter.usd.authored import author, chain
from tests.converter.usd.scenes import link_of
from tests.converter.usd.textured_meshes import png, robot, source, surface, visual
from urdf_usd.cli.program import main
from urdf_usd.conformance.export.assets import export, read_stage, read_usd
from urdf_usd.conformance.export.links import adds_up
from urdf_usd.converter import ConversionError, Profile, convert
from urdf_usd.converter.diagnostics import AuthoringError, StageError
from urdf_usd.converter.robot.model import Inertial, MeshFile, Mimic, Pose, Robot
from urdf_usd.converter.urdf.parse import parse

_ROBOT = """<robot name="r"><link name="base">
<inertial><origin xyz="0.01 0.02 0.03"/><mass value="2.5"/>
<inertia ixx="0.2" ixy="0.01" ixz="0.02" iyy="0.3" iyz="0.03" izz="0.4"/></inertial>
<visual><origin xyz="0.1 0.2 0.3" rpy="0.1 -0.2 0.3"/>
<geometry><mesh filename="part.stl" scale="0.5 2 3"/></geometry>
<material name="rust"><color rgba="0.6 0.3 0.1 0.5"/></material></visual>
<collision><geometry><mesh filename="part.stl"/></geometry></collision>
<collision name="tip"><geometry><mesh filename="tip.stl"/></geometry></collision>
</link></robot>"""


@pytest.fixture
def asset(tmp_path: Path) -> Path:
    """Root layer of a robot with two meshes, one of them used twice."""
    source = tmp_path / "source"
    source.mkdir()
    trimesh.creation.box((0.1, 0.2, 0.3)).export(source / "part.stl")
    trimesh.creation.icosphere(2, 0.1).export(source / "tip.stl")
    (source / "r.urdf").write_text(_ROBOT)
    return convert(source / "r.urdf", tmp_path / "asset").root_layer


def test_urdf_is_exported_with_its_meshes(asset: Path, tmp_path: Path) -> None:
    written = export(asset, tmp_path / "out/r.urdf")
    before = tree(tmp_path / "out")
    export(asset, tmp_path / "out/r.urdf")

    assert written.urdf == tmp_path / "out/r.urdf"
    assert written.diagnostics == ()
    assert {*before} == {"r.urdf", "meshes/base_visual.obj", "meshes/base_tip.obj"}
    assert tree(tmp_path / "out") == before
    parsed = parse(written.urdf)
    assert parsed.diagnostics == ()
    (link,) = parsed.robot.links
    part, again, _ = (shape.geometry for shape in link.shapes)
    assert isinstance(part, MeshFile)
    assert isinstance(again, MeshFile)
    assert part.uri == again.uri == "meshes/base_visual.obj"
    assert (part.scale, again.scale) == ((0.5, 2.0, 3.0), (1.0, 1.0, 1.0))
    assert part.path
    box = trimesh.load_mesh(part.path)
    np.testing.assert_allclose(box.extents, (0.1, 0.2, 0.3), rtol=1e-6)
    material = link.visuals[0].material
    assert material
    assert material.name == "rust"
    assert material.rgba == pytest.approx((0.6, 0.3, 0.1, 0.5), abs=1e-6)


@pytest.mark.parametrize("file", ["r.urdf", "meshes/base_tip.obj"])
def test_other_files_are_replaced_only_with_force(asset: Path, tmp_path: Path, file: str) -> None:
    mine = tmp_path / "out" / file
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")

    with pytest.raises(AuthoringError, match=r"was not written by an export of r\.urdf"):
        export(asset, tmp_path / "out/r.urdf")

    assert tree(tmp_path / "out") == {file: b"mine"}
    export(asset, tmp_path / "out/r.urdf", force=True)
    assert mine.read_text() != "mine"


def test_meshes_of_another_export_are_not_replaced(asset: Path, tmp_path: Path) -> None:
    export(asset, tmp_path / "out/one.urdf")
    before = tree(tmp_path / "out")

    with pytest.raises(AuthoringError, match=r"out/meshes/base_visual.obj and 1 more"):
        export(asset, tmp_path / "out/two.urdf")

    assert tree(tmp_path / "out") == before


def test_failed_export_leaves_the_folder_unchanged(asset: Path, tmp_path: Path) -> None:
    (tmp_path / "out/r.urdf").mkdir(parents=True)

    with pytest.raises(AuthoringError, match="cannot be written"):
        export(asset, tmp_path / "out/r.urdf", force=True)

    assert [path.name for path in (tmp_path / "out").rglob("*")] == ["r.urdf"]


def test_export_of_an_unreadable_usd_creates_no_folder(tmp_path: Path) -> None:
    (tmp_path / "bad.usda").write_text("#usda 1.0\n")

    with pytest.raises(StageError):
        export(tmp_path / "bad.usda", tmp_path / "out/r.urdf")
    with pytest.raises(ConversionError):
        export(tmp_path / "absent.usd", tmp_path / "out/r.urdf")

    assert not (tmp_path / "out").exists()


def test_names_with_hyphens_give_valid_xml_comments(asset: Path, tmp_path: Path) -> None:
    for name in ("a--b.urdf", "c-"):
        export(asset, tmp_path / name / name)
        export(asset, tmp_path / name / name)

        assert parse(tmp_path / name / name).diagnostics == ()


_CUSTOM_URDF = """<robot name="r" version="1.0" xmlns:x="http://x" xmlns:drake="http://d"
x:flavour="s">
<material name="grey" x:gloss="0.3"><color rgba="0.5 0.25 0.75 1"/></material>
<material name="unused"><color rgba="1 0 0 1"/></material>
<link name="a" type="chassis"><inertial><origin xyz="0.1 0.2 0.3"/>
<mass value="2" unit="kg"/>
<inertia ixx="3" iyy="4" izz="5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial>
<visual><geometry><box size="1 2 3" subdivide="4"/></geometry><material name="grey"/>
<x:shadow cast="no">maybe</x:shadow></visual>
<collision name="c" group="1"><geometry><sphere radius="1"/></geometry>
<drake:proximity_properties><drake:mu value="0.4"/></drake:proximity_properties>
</collision><contact><lateral_friction value="0.9"/></contact></link>
<link name="b"><inertial><mass value="1"/>
<inertia ixx="3" iyy="4" izz="5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial></link>
<link name="f"/><joint name="j" type="continuous" driven="yes"><parent link="a"/>
<child link="b"/><axis xyz="0 0.6 0.8"/>
<limit effort="3" velocity="4" lower="-1" upper="2" acceleration="9" soft="1"/>
<encoder ticks="4096"/></joint><joint name="w" type="fixed" note="n">
<parent link="b"/><child link="f"/><axis xyz="1 2 3"/><weld/></joint>
<transmission name="t"><type>transmission_interface/SimpleTransmission</type>
<joint name="j"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
<actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator>
</transmission><gazebo><plugin filename="lib.so" name="p"><ns>/x</ns></plugin></gazebo>
<gazebo reference="b"><mu1>0.7</mu1></gazebo><gazebo reference="w"><keep>1</keep>
</gazebo><ros2_control name="c" type="system"><hardware><plugin>mock</plugin></hardware>
<joint name="j"><command_interface name="position"/></joint></ros2_control></robot>"""


def _custom(robot: Robot) -> list[tuple[list[str], list[str]]]:
    """Custom data of all owners; neither attributes nor siblings have an order in USD."""
    shapes = [shape for link in robot.links for shape in link.shapes]
    return [
        (sorted(map(repr, one.custom.attributes)), sorted(map(repr, one.custom.elements)))
        for one in (robot, *robot.links, *shapes, *robot.joints)
    ]


def test_custom_data_is_exported_at_its_owner(tmp_path: Path) -> None:
    source = tmp_path / "r.urdf"
    source.write_text(_CUSTOM_URDF)

    asset = convert(source, tmp_path / "asset").root_layer
    again = parse(export(asset, tmp_path / "again.urdf").urdf)

    assert _custom(again.robot) == _custom(parse(source).robot)
    assert "error" not in {d.severity for d in again.diagnostics}


def _textured(folder: Path) -> Path:
    """Write a link with a mesh whose colour is an image."""
    (folder / "image.png").write_bytes(png(50))
    (folder / "r.usda").write_text(stored_stage("textures_export"))
    return folder / "r.usda"


def test_texture_is_written_and_converted_back(tmp_path: Path) -> None:
    """Its coordinates are in the stored stages."""
    written = export(_textured(tmp_path), tmp_path / "out/r.urdf")

    assert written.diagnostics == ()
    (shape,) = parse(written.urdf).robot.links[0].visuals
    assert shape.material
    assert shape.material.name == "skin"
    assert shape.material.texture_path
    assert Path(shape.material.texture_path).read_bytes() == png(50)
    stage = Usd.Stage.Open(str(convert(written.urdf, tmp_path / "usd").root_layer))
    meshes = Usd.PrimRange(stage.GetDefaultPrim(), Usd.TraverseInstanceProxies())
    (prim,) = (one for one in meshes if one.IsA(UsdGeom.Mesh))
    image, _ = source(surface(prim), "diffuseColor")
    assert Path(image.GetInput("file").Get().resolvedPath).read_bytes() == png(50)


def test_second_export_replaces_its_own_textures_alone(tmp_path: Path) -> None:
    usd = _textured(tmp_path)
    export(usd, tmp_path / "out/r.urdf")

    export(usd, tmp_path / "out/r.urdf")

    (image,) = (tmp_path / "out/meshes").glob("*.png")
    image.write_bytes(png(51))
    with pytest.raises(AuthoringError, match=r"image_\w+\.png was not written"):
        export(usd, tmp_path / "out/r.urdf")


def test_texture_in_a_package_is_written(tmp_path: Path) -> None:
    package = tmp_path / "r.usdz"
    assert UsdUtils.CreateNewUsdzPackage(str(_textured(tmp_path)), str(package))

    written = export(package, tmp_path / "out/r.urdf")

    assert written.diagnostics == ()
    (image,) = (tmp_path / "out/meshes").glob("*.png")
    assert image.read_bytes() == png(50)


@pytest.mark.parametrize("image", [b"GIF89a", None])
def test_texture_without_image_is_left_out(tmp_path: Path, image: bytes | None) -> None:
    usd = _textured(tmp_path)
    (tmp_path / "image.png").unlink()
    if image is not None:
        (tmp_path / "image.png").write_bytes(image)

    written = export(usd, tmp_path / "out/r.urdf")

    assert [one.rule for one in written.diagnostics] == ["texture-dropped"]
    assert "<texture" not in written.urdf.read_text()


def _exported(folder: Path, closing: str, axis: str) -> Path:
    """Export a square of four bars of 1 m, closed by a joint of a type."""
    text = stored_stage("export_loops_export")
    former, joint = 'def PhysicsRevoluteJoint "closing"\n    {', f'def {closing} "closing"\n    {{'
    assert former in text
    own = f'\n        uniform token physics:axis = "{axis}"'
    (folder / "r.usda").write_text(text.replace(former, joint + own * bool(axis)))
    return export(folder / "r.usda", folder / "out/r.urdf", loops=True).urdf


@pytest.mark.parametrize(
    ("closing", "axis", "constraints", "moves"),
    [
        ("PhysicsRevoluteJoint", "Z", 2, 1),
        ("PhysicsSphericalJoint", "", 1, 1),
        ("PhysicsFixedJoint", "", 1, 0),
    ],
)
def test_mujoco_closes_the_loop(
    closing: str,
    axis: str,
    constraints: int,
    moves: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # MuJoCo writes its warning about the empty prefix to a file there.
    monkeypatch.chdir(tmp_path)
    urdf = _exported(tmp_path, closing, axis)

    assert mujoco.MjModel.from_xml_path(str(urdf)).nq == 3
    model = mujoco.MjModel.from_xml_path(str(urdf.with_suffix(".mjcf")))

    assert (model.nq, model.neq) == (3, constraints)
    state = mujoco.MjData(model)
    mujoco.mj_forward(model, state)
    np.testing.assert_allclose(state.efc_pos, 0.0, atol=1e-6)
    jacobian = np.zeros((state.nefc, model.nv))
    jacobian[:] = state.efc_J.reshape(jacobian.shape)
    assert model.nv - np.linalg.matrix_rank(jacobian, tol=1e-6) == moves


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
    two = read_stage(stage, root="/two").robot
    assert (two.name, len(two.joints)) == ("two", 3)


def test_command_lists_robots_and_exports_the_named_one(tmp_path: Path) -> None:
    """Exit code 2 without a name."""
    usd, urdf = tmp_path / "r.usda", str(tmp_path / "out/two.urdf")
    case = FILES["robots_of_stages_export"]["name_of_no_single_robot_is_refused 1"]
    usd.write_text("\n".join(case["stage"]))

    refused = CliRunner().invoke(main, ["export", str(usd), urdf])
    written = CliRunner().invoke(main, ["export", str(usd), urdf, "--root", "/r/two"])

    assert refused.exit_code == 2
    # Of click 8.1, `stderr` is not captured apart.
    shown = " ".join(refused.output.split())
    assert "--root PATH: /r/one (2 bodies), /r/two (2 bodies)" in shown
    assert written.exit_code == 0
    assert '<robot name="two">' in Path(urdf).read_text()


@pytest.mark.parametrize("profile", Profile)
def test_mimic_chain_is_restored_unless_a_schema_was_edited(
    tmp_path: Path, profile: Profile
) -> None:
    """Schemas refer to the first joint of the chain; simulators read the schema."""
    stage = author(tmp_path, *chain(), profile=profile)

    def mimics() -> dict[str, Mimic | None]:
        return {joint.name: joint.mimic for joint in read_stage(stage).robot.joints}

    before = mimics()
    assert before["second"] == Mimic("first", -0.5, 0.1)
    assert before["third"] == Mimic("second", 0.8, -0.2)
    third = stage.GetPrimAtPath("/r/Physics/third")
    if profile is Profile.GENERIC:
        third.GetAttribute("newton:mimicCoef1").Set(0.75)
        edited = mimics()["third"]
        assert edited is not None
        assert (edited.joint, edited.multiplier) == ("first", 0.75)
        third.GetAttribute("newton:mimicEnabled").Set(False)
        assert mimics()["third"] == before["third"]


_PLACE = Pose((0.1, -0.2, 0.05))


def _inertial(mass: float, xx: float, yy: float, zz: float, place: Pose = _PLACE) -> Inertial:
    return Inertial(mass, place, (xx, 0.0, 0.0, yy, 0.0, zz))


@pytest.mark.parametrize(
    ("body", "parts", "expected"),
    [
        # Links at one position, whose centres balance up to rounding with a lever of zero.
        (_inertial(0.1, 2, 2, 2, Pose()), [_inertial(0.05, 1, 1, 1, Pose())] * 2, True),
        (_inertial(0.1, 2, 2, 2, Pose()), [_inertial(0.05, 1, 1, 1, Pose())], False),
        # A head of 1.3 kg with an inertia of 1e-20 kg m^2 of either sign was replaced.
        (_inertial(1.3, 6e-7, 6e-7, 6e-7), [_inertial(1.3, 1e-20, -1e-20, 0.0)], True),
        (_inertial(1.3, 6e-7, 6e-7, 6e-7), [_inertial(1.3, 1e-3, 1e-3, 1e-3)], False),
    ],
)
def test_inertials_of_links_add_up_to_that_of_the_body(
    body: Inertial, parts: list[Inertial], *, expected: bool
) -> None:
    place = np.eye(4)
    place[1, 3] = -3.469447e-18
    links = list(zip(parts, (np.eye(4), place), strict=False))

    assert adds_up(body, links, robot_mass=65.0) is expected


def test_every_lost_texture_is_reported_once(tmp_path: Path) -> None:
    document = triangle(pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    for shade, name in enumerate(("skin", "glow", "data")):
        image = document.view(png(shade))
        document.add("images", {"bufferView": image, "name": name})
        document.add("textures", {"source": shade})
    about = document.root["materials"][0]
    about |= {"emissiveTexture": {"index": 1}, "emissiveFactor": [1, 1, 1]}
    about["pbrMetallicRoughness"]["metallicRoughnessTexture"] = {"index": 2}
    (tmp_path / "part.glb").write_bytes(document.glb())
    conversion, _ = robot(tmp_path, visual("part.glb"))

    reading = read_usd(conversion.root_layer)

    (dropped,) = (d for d in reading.diagnostics if d.rule == "texture-dropped")
    lost = sorted(re.findall(r"Textures/(\w+)\.png", dropped.message))
    assert lost == ["data", "glow"]
    (kept,) = reading.textures.values()
    assert kept.reference.endswith("skin.png")


def test_first_vertex_colour_is_the_colour(tmp_path: Path) -> None:
    document = triangle(pbrMetallicRoughness={"baseColorFactor": [0.5, 1, 1, 1]})
    colors = np.tile(np.array([[0.42808228, 0.25, 1]], "<f4"), (3, 1))
    primitive = document.root["meshes"][0]["primitives"][0]
    primitive["attributes"]["COLOR_0"] = document.accessor(colors)
    (tmp_path / "part.glb").write_bytes(document.glb())
    conversion, _ = robot(tmp_path, visual("part.glb"))

    reading = read_usd(conversion.root_layer)

    material = link_of(reading, "a").visuals[0].material
    assert material
    # Half of 0.428 in linear light is 0.214, which is 0.5 in sRGB (IEC 61966-2-1).
    assert material.rgba is not None
    assert material.rgba[0] == pytest.approx(0.5, abs=1e-6)
