"""Efforts, velocities, damping, friction and couplings come from schemas, then ``urdf:``."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from pxr import Sdf

from tests.converter.usd.authored import author, chain
from urdf_usd.conformance.export.files import export
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot.model import Mimic


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


# Followers of a joint of the same type, of another type, and of a follower.
_JOINTS = """\
<joint name="turn" type="revolute"><parent link="a"/><child link="b"/>
  <axis xyz="0 0 1"/><limit lower="-1" upper="2" effort="12.5" velocity="1"/>
  <dynamics damping="0.7" friction="0.3"/></joint>
<joint name="slide" type="prismatic"><parent link="b"/><child link="c"/>
  <axis xyz="1 0 0"/><limit lower="0" upper="0.5" effort="40" velocity="1"/>
  <dynamics damping="5" friction="0"/>
  <mimic joint="turn" multiplier="0.25" offset="0.1"/></joint>
<joint name="spin" type="continuous"><parent link="c"/><child link="d"/>
  <axis xyz="0 1 0"/><limit effort="0" velocity="1"/>
  <mimic joint="turn" multiplier="-2" offset="0.5"/></joint>
<joint name="locked" type="revolute"><parent link="d"/><child link="e"/>
  <axis xyz="0 1 0"/><limit lower="0" upper="0" effort="3" velocity="1"/></joint>
"""
_VALUES = {
    "limit": ("lower", "upper", "effort"),
    "dynamics": ("damping", "friction"),
    "mimic": ("multiplier", "offset", "joint"),
}


def _values(urdf: Path) -> dict[str, dict[str, float]]:
    """Return the numbers of the joints, and the joint that each follows."""
    found: dict[str, dict[str, float]] = {}
    for joint in ET.parse(urdf).getroot().findall("joint"):
        numbers = found[joint.get("name", "")] = {}
        for tag, names in _VALUES.items():
            element = joint.find(tag)
            for name in names:
                text = None if element is None else element.get(name)
                if text is not None and name == "joint":
                    numbers[f"follows {text}"] = 1.0
                elif text is not None:
                    numbers[name] = float(text)
    return found


def test_export_of_the_variant_for_mujoco_has_the_values_of_the_urdf(tmp_path: Path) -> None:
    """Of its schemas alone, without data of the conversion and drives."""
    links = "".join(
        f'<link name="{name}"><inertial><mass value="1"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        for name in "abcde"
    )
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(f'<robot name="r">{links}{_JOINTS}</robot>')
    asset = convert(urdf, tmp_path / "usd", ConvertOptions(physics_variants=True)).root_layer
    for file in asset.parent.rglob("*.usda"):
        layer = Sdf.Layer.FindOrOpen(str(file))
        paths: list[Sdf.Path] = []
        layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
        for path in paths:
            if path.IsPropertyPath() and path.name.startswith(("urdf:", "drive:")):
                prim = layer.GetPrimAtPath(path.GetPrimPath())
                prim.RemoveProperty(layer.GetPropertyAtPath(path))
        layer.Save()

    export(asset, tmp_path / "again.urdf", variants=(VariantChoice("Physics", "mujoco"),))

    # The schema has no value for friction that the URDF does not state.
    again, original = _values(tmp_path / "again.urdf"), _values(urdf)
    assert again == {name: pytest.approx(one) for name, one in original.items()}
