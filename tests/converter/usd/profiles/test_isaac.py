"""The robot schema and the layers of Isaac Sim 6.2.

The expected order of links and joints is that which ``isaacsim-robot-schema`` 6.2.0
computes for these robots.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd, UsdGeom, UsdPhysics, UsdShade

from tests.converter.usd.composed import composed
from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import BodyNesting, Layout
from urdf_usd.converter.robot.model import BaseOption

# Two branches in the order left, right; a frame, and a joint to be renamed.
_TREE = """<robot name="tree">
  <link name="base"><inertial><mass value="3"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="left.tip"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="right"><inertial><mass value="1"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"/>
  <joint name="to left" type="continuous">
    <parent link="base"/><child link="left"/></joint>
  <joint name="to_right" type="continuous">
    <parent link="base"/><child link="right"/></joint>
  <joint name="to_tip" type="continuous">
    <parent link="left"/><child link="left.tip"/></joint>
  <joint name="to_tool" type="fixed">
    <parent link="left"/><child link="tool"/></joint>
</robot>
"""
_FREE = """<link name="world"/><joint name="free" type="floating">
  <parent link="world"/><child link="base"/></joint>"""


def test_joints_below_a_frame_are_in_the_order_of_their_body(tmp_path: Path) -> None:
    """A frame with custom data below it is no site."""
    urdf = tmp_path / "tree.urdf"
    frames = """<link name="mount"/><link name="marker"/>
      <joint name="to_mount" type="fixed">
        <parent link="base"/><child link="mount"/></joint>
      <joint name="to_marker" type="fixed">
        <parent link="base"/><child link="marker"/></joint>
      <gazebo reference="marker"><sensor/></gazebo></robot>"""
    content = _TREE.replace('"base"/><child link="left"', '"mount"/><child link="left"')
    urdf.write_text(content.replace("</robot>", frames))
    options = ConvertOptions(profile=Profile.ISAAC, base=BaseOption.FLOATING)
    asset = convert(urdf, tmp_path / "usd", options).root_layer
    stage = Usd.Stage.Open(str(asset))
    robot = stage.GetDefaultPrim()

    def names(relationship: str) -> list[str]:
        return [path.name for path in robot.GetRelationship(relationship).GetTargets()]

    links = ["base", "mount", "right", "left", "tool", "left_tip"]
    assert names("isaac:physics:robotLinks") == links
    assert names("isaac:physics:robotJoints") == ["to_right", "to_left", "to_tip"]


def test_joint_to_a_fixed_root_is_the_first(tmp_path: Path) -> None:
    """It fixes the base in place of an added joint."""
    urdf = tmp_path / "tree.urdf"
    world = """<link name="world"/><joint name="to_world" type="fixed">
      <parent link="world"/><child link="base"/></joint></robot>"""
    urdf.write_text(_TREE.replace("</robot>", world))
    options = ConvertOptions(profile=Profile.ISAAC)
    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd", options).root_layer))
    joints = stage.GetDefaultPrim().GetRelationship("isaac:physics:robotJoints")

    names = [path.name for path in joints.GetTargets()]
    assert names == ["to_world", "to_left", "to_right", "to_tip"]


@pytest.mark.parametrize("world", ["", _FREE])
def test_single_body_has_no_sites(tmp_path: Path, world: str) -> None:
    """Isaac Sim finds sites along joints of articulations alone."""
    urdf = tmp_path / "drone.urdf"
    body = _TREE[_TREE.index('<link name="base">') : _TREE.index('<link name="left">')]
    urdf.write_text(
        f'<robot name="drone">{body}<link name="rotor"/><joint name="j" type="fixed">'
        f'<parent link="base"/><child link="rotor"/></joint>{world}</robot>'
    )
    options = ConvertOptions(profile=Profile.ISAAC)
    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd", options).root_layer))
    links = stage.GetDefaultPrim().GetRelationship("isaac:physics:robotLinks")

    assert [path.name for path in links.GetTargets()] == ["base"]


def _whole(folder: Path, profile: Profile) -> Usd.Stage:
    options = ConvertOptions(profile=profile, bodies=BodyNesting.FLAT)
    urdf = write_whole_robot(folder)
    asset = convert(urdf, folder / f"{profile}", options).root_layer
    return Usd.Stage.Open(str(asset))


@pytest.mark.parametrize(
    ("variant", "profile"), [("physx", Profile.PHYSX), ("newton", Profile.GENERIC)]
)
def test_variants_have_the_physics_of_other_profiles(
    tmp_path: Path, variant: str, profile: Profile
) -> None:
    """Visual meshes are instances; all other prims are the same."""
    stage = _whole(tmp_path, Profile.ISAAC)
    stage.GetDefaultPrim().GetVariantSet("Physics").SetVariantSelection(variant)
    found, expected = composed(stage), composed(_whole(tmp_path, profile))

    # Simulators number joints in this order.
    assert [path for path in found if path in expected] == [
        path for path in expected if path in found
    ]
    instances = {path for path, prim in found.items() if prim["instanceable"]}
    assert instances
    for path, prim in expected.items():
        if any(path.startswith(one) for one in instances):
            continue
        own = {k: v for k, v in found[path].items() if not k.startswith("isaac:")}
        assert own == prim


def test_visual_meshes_are_instances_with_their_materials(tmp_path: Path) -> None:
    """The same points, materials of parts, and of the whole mesh."""
    stage = _whole(tmp_path, Profile.ISAAC)
    plain = _whole(tmp_path, Profile.GENERIC)

    def surfaces(opened: Usd.Stage) -> list[tuple[object, ...]]:
        found: list[tuple[object, ...]] = []
        for prim in opened.Traverse(Usd.TraverseInstanceProxies()):
            if not prim.IsA(UsdGeom.Mesh) or prim.HasAPI(UsdPhysics.CollisionAPI):
                continue
            pose = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0.0)
            bound = [
                _colour(UsdShade.MaterialBindingAPI(part).ComputeBoundMaterial()[0])
                for part in (prim, *prim.GetChildren())
            ]
            points = tuple(UsdGeom.Mesh(prim).GetPointsAttr().Get())
            found.append((points, tuple(map(tuple, pose)), tuple(bound)))
        return found

    assert surfaces(stage) == surfaces(plain)
    assert any(prim.IsInstance() for prim in stage.Traverse())


def _colour(material: UsdShade.Material) -> str:
    """Return what a material consists of, without its path."""
    if not material:
        return ""
    shaders = Usd.PrimRange(material.GetPrim(), Usd.TraverseInstanceProxies())
    return str(
        [
            (prim.GetName(), attribute.GetName(), str(attribute.Get()).rsplit("/")[-1])
            for prim in shaders
            for attribute in prim.GetAttributes()
        ]
    )


def test_conversion_can_be_repeated_in_its_folder(tmp_path: Path) -> None:
    """Other files are not replaced, and layouts without layers are refused."""
    urdf = write_whole_robot(tmp_path)
    options = ConvertOptions(profile=Profile.ISAAC)
    first = convert(urdf, tmp_path / "usd", options).root_layer.parent
    written = {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    convert(urdf, tmp_path / "usd", options)

    assert written == {path: path.read_bytes() for path in first.rglob("*") if path.is_file()}
    convert(urdf, tmp_path / "usd")
    assert not (first / "payloads").exists()
    with pytest.raises(ValueError, match="prescribes layers"):
        ConvertOptions(profile=Profile.ISAAC, layout=Layout.SINGLE)
