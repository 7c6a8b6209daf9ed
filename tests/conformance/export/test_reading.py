"""Robots read from a USD, apart from what stored stages show, see ``test_stored``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from pxr import Usd, UsdGeom

from tests.converter.meshes.gltf_files import triangle
from tests.converter.usd.authored import author, chain
from tests.converter.usd.scenes import link_of
from tests.converter.usd.textured_meshes import png, robot, visual
from urdf_usd.cli.main import main
from urdf_usd.conformance.export.links import adds_up
from urdf_usd.conformance.export.reading import read_stage, read_usd
from urdf_usd.converter import Profile, convert
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.robot.model import Inertial, Mimic, Pose

_STAGES = Path(__file__).parents[2] / "data/usd/stages/robots_of_stages_export.json"


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


def test_command_lists_robots_and_exports_the_named_one(tmp_path: Path) -> None:
    """Exit code 2 without a name."""
    usd, urdf = tmp_path / "r.usda", str(tmp_path / "out/two.urdf")
    stages = json.loads(_STAGES.read_text(encoding="utf-8"))
    usd.write_text("\n".join(stages["name_of_no_single_robot_is_refused 1"]["stage"]))

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


_UNIT = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)
_PLACE = Pose((0.1, -0.2, 0.05))


@pytest.mark.parametrize(
    ("body", "parts", "expected"),
    [
        # Links at one position, whose centres balance up to rounding with a lever of zero.
        (Inertial(0.1, Pose(), (2.0, 0.0, 0.0, 2.0, 0.0, 2.0)), 2, True),
        (Inertial(0.1, Pose(), (2.0, 0.0, 0.0, 2.0, 0.0, 2.0)), 1, False),
        # A head of 1.3 kg with an inertia of 1e-20 kg m^2 of either sign was replaced.
        (
            Inertial(1.3, _PLACE, (6e-7, 0.0, 0.0, 6e-7, 0.0, 6e-7)),
            Inertial(1.3, _PLACE, (1e-20, 0.0, 0.0, -1e-20, 0.0, 0.0)),
            True,
        ),
        (
            Inertial(1.3, _PLACE, (6e-7, 0.0, 0.0, 6e-7, 0.0, 6e-7)),
            Inertial(1.3, _PLACE, (1e-3, 0.0, 0.0, 1e-3, 0.0, 1e-3)),
            False,
        ),
    ],
)
def test_inertials_of_links_add_up_to_that_of_the_body(
    body: Inertial, parts: int | Inertial, *, expected: bool
) -> None:
    place = np.eye(4)
    place[1, 3] = -3.469447e-18
    links = [(Inertial(0.05, Pose(), _UNIT), frame) for frame in (np.eye(4), place)]
    if isinstance(parts, Inertial):
        links, parts = [(parts, np.eye(4))], 1

    assert adds_up(body, links[:parts], robot_mass=65.0) is expected


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
