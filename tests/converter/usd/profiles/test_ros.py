"""Conventions of REP 158, on a robot with every feature of an asset."""

from __future__ import annotations

from math import inf, sqrt
from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdPhysics, UsdShade

from tests.converter.usd.authored import applied, author, authored_values
from tests.converter.usd.profiles.joint_samples import TURN
from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import Layout
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.robot.model import Continuous, Joint, Mimic

ROBOT = "/whole_robot"
_ROS = ConvertOptions(profile=Profile.ROS, base=BaseOption.FIXED)

_TWO_LINKS = """<robot name="two">
  <link name="base"><inertial><mass value="2"/>
    <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
  <link name="tool"><inertial><origin xyz="0.01 -0.02 0.03"/><mass value="0.5"/>
    <inertia ixx="0.03" ixy="0.005" ixz="0" iyy="0.04" iyz="0" izz="0.05"/></inertial>
  </link>
  <joint name="weld" type="fixed"><origin xyz="0.1 0 0" rpy="0 0 0.5"/>
    <parent link="base"/><child link="tool"/></joint>
</robot>
"""


@pytest.fixture
def asset(tmp_path: Path) -> Path:
    """Root layer of the whole robot with a fixed base."""
    return convert(write_whole_robot(tmp_path), tmp_path / "usd", _ROS).root_layer


def _layer(asset: Path, name: str) -> Sdf.Layer:
    return Sdf.Layer.FindOrOpen(str(asset.parent / "payload" / name))


def _joints(stage: Usd.Stage) -> dict[str, Usd.Prim]:
    prims = stage.GetPrimAtPath(f"{ROBOT}/Physics").GetChildren()
    return {p.GetName(): p for p in prims if p.IsA(UsdPhysics.Joint)}


def test_links_and_joints_are_loaded_without_payloads(asset: Path) -> None:
    """Section 1.2.3: payloads have only meshes and materials."""
    bare = Usd.Stage.Open(str(asset), Usd.Stage.LoadNone)
    whole = Usd.Stage.Open(str(asset))

    def kinematics(stage: Usd.Stage) -> list[str]:
        return [
            str(prim.GetPath())
            for prim in stage.Traverse()
            if prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.IsA(UsdPhysics.Joint)
        ]

    assert len(kinematics(bare)) == 8
    assert sorted(kinematics(bare)) == sorted(kinematics(whole))
    visual = f"{ROBOT}/Geometry/torso/visual"
    assert bare.GetPrimAtPath(visual).HasPayload()
    assert not bare.GetPrimAtPath(visual).GetAttribute("points").Get()
    assert len(whole.GetPrimAtPath(visual).GetAttribute("points").Get()) == 4


def test_physics_layer_has_core_schemas_only(asset: Path) -> None:
    """Section 1.4: those of vendors are in layers of their own."""

    def contents(name: str) -> tuple[set[str], set[str]]:
        layer = _layer(asset, name)
        paths: list[Sdf.Path] = []
        layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
        prims = [layer.GetPrimAtPath(path) for path in paths if path.IsPrimPath()]
        names = {name for prim in prims for name in prim.properties.keys()}  # noqa: SIM118  a view of specs
        listed = {s for p in prims for s in p.GetInfo("apiSchemas").prependedItems}
        return {name.partition(":")[0] for name in names}, listed

    spaces, schemas = contents("Physics.usda")
    assert spaces == {"physics", "drive", "material"}
    assert all(s.startswith(("Physics", "MaterialBinding")) for s in schemas)
    assert contents("Newton.usda") == ({"newton"}, {"NewtonJointAPI"})
    assert contents("Ros.usda") == ({"ros"}, {"RosFrameAPI"})
    assert contents("Extensions.usda")[1] == set()


def test_joints_have_their_ros_names(asset: Path) -> None:
    """Section 2.10, also the joint that the URDF does not have."""
    stage = Usd.Stage.Open(str(asset))

    names = {
        name: prim.GetAttribute("ros:joint:name").Get() for name, prim in _joints(stage).items()
    }
    assert names == {
        "shoulder": "shoulder",
        "elbow": "elbow",
        "rail": "rail",
        "base_anchor": "base_anchor",
    }
    assert (
        stage.GetPrimAtPath(f"{ROBOT}/Geometry/torso/upper_arm/_2nd_arm/tool")
        .GetAttribute("ros:frame:id")
        .Get()
        == "tool"
    )


def test_fixed_base_is_held_by_no_body(asset: Path) -> None:
    """Section 1.3, Robot Anchors; the reader takes it for the world."""
    stage = Usd.Stage.Open(str(asset))
    anchor = _joints(stage)["base_anchor"]

    assert not anchor.GetRelationship("physics:body0").GetTargets()
    assert read_usd(asset).robot.name == "whole robot"


def test_continuous_joint_has_infinite_limits(asset: Path) -> None:
    """Section 1.3 requires limits; its checker does so of continuous joints, too."""
    stage = Usd.Stage.Open(str(asset))
    elbow = UsdPhysics.RevoluteJoint(_joints(stage)["elbow"])

    assert elbow.GetLowerLimitAttr().Get() == -inf
    assert elbow.GetUpperLimitAttr().Get() == inf
    kinds = {joint.name: joint.kind for joint in read_usd(asset).robot.joints}
    assert isinstance(kinds["elbow"], Continuous)


def test_colliders_have_a_contact_material(asset: Path) -> None:
    """Section 1.3.4; primitives are no approximation (1.3.1)."""
    stage = Usd.Stage.Open(str(asset))
    colliders = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.CollisionAPI)]

    assert len(colliders) == 5
    for prim in colliders:
        binding = UsdShade.MaterialBindingAPI(prim).GetDirectBinding("physics")
        material = UsdPhysics.MaterialAPI(binding.GetMaterial().GetPrim())
        assert material.GetStaticFrictionAttr().Get() == 0.5
        assert material.GetDynamicFrictionAttr().Get() == 0.5
        assert material.GetRestitutionAttr().Get() == 0
        expected = "convexHull" if prim.GetTypeName() == "Mesh" else "none"
        assert prim.GetAttribute("physics:approximation").Get() == expected


def test_purpose_of_colliders_is_explicit(tmp_path: Path) -> None:
    """Section 1.3.1; also of the groups of a mesh, whose parent states it."""
    face = "f 1 2 3\nf 1 3 4\nf 1 4 2\nf 2 4 3\n"
    points = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "part.obj").write_text(f"{points}o left\n{face}o right\n{face}")
    urdf = tmp_path / "r.urdf"
    urdf.write_text(
        '<robot name="r"><link name="a"><collision><geometry>'
        '<mesh filename="part.obj"/></geometry></collision><collision><geometry>'
        '<sphere radius="1"/></geometry></collision></link></robot>'
    )
    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd", _ROS).root_layer))
    colliders = [p for p in stage.Traverse() if p.HasAPI(UsdPhysics.CollisionAPI)]

    assert len(colliders) == 3
    assert {p.GetAttribute("purpose").Get() for p in colliders} == {"guide"}


def test_coupling_is_in_the_neutral_schema(tmp_path: Path) -> None:
    """Section 4.2.2; the offset is in degrees, the unit of the joint."""
    leader = Joint("turn", "a", "b", TURN)
    mimic = Mimic("turn", -2.0, 0.5)
    follower = Joint("follow", "a", "c", TURN, mimic=mimic)

    stage = author(tmp_path, leader, follower, profile=Profile.ROS)

    prim = stage.GetPrimAtPath("/r/Physics/follow")
    assert "ExtendedPhysicsMimicAPI" in applied(prim)
    assert authored_values(prim, "ext_physics") == {
        "ext_physics:mimic:multiplier": -2.0,
        "ext_physics:mimic:offset": pytest.approx(28.64788975654116),
    }
    leaders = prim.GetRelationship("ext_physics:mimic:joint").GetTargets()
    assert leaders == ["/r/Physics/turn"]


def test_assets_have_no_inertia_as_six_values(asset: Path) -> None:
    """Section 1.3 allows principal moments and axes alone."""
    stage = Usd.Stage.Open(str(asset))
    for prim in stage.Traverse():
        assert not prim.HasAttribute("newton:inertia")
        assert not prim.HasAttribute("urdf:inertial:inertia")


def test_inertias_of_merged_links_are_kept_by_their_axes(tmp_path: Path) -> None:
    """In the layer of custom data; they are read back as the URDF states them."""
    urdf = tmp_path / "two.urdf"
    urdf.write_text(_TWO_LINKS)
    options = ConvertOptions(profile=Profile.ROS, merge_fixed=True)
    asset = convert(urdf, tmp_path / "usd", options).root_layer

    layer = _layer(asset, "Extensions.usda")
    prim = layer.GetPrimAtPath("/two/Geometry/base/tool")
    moments = prim.attributes["urdf:inertial:diagonalInertia"].default
    # Roots of (0.03 - m)(0.04 - m) - 0.005^2, and 0.05.
    root = sqrt(0.005**2 + 0.005**2)
    expected = (0.035 - root, 0.035 + root, 0.05)
    assert sorted(moments) == pytest.approx(expected, rel=1e-12)
    links = {link.name: link for link in read_usd(asset).robot.links}
    inertial = links["tool"].inertial
    assert inertial is not None
    assert inertial.mass == 0.5
    assert inertial.origin.position == (0.01, -0.02, 0.03)
    assert inertial.inertia == pytest.approx((0.03, 0.005, 0.0, 0.04, 0.0, 0.05), abs=1e-16)


@pytest.mark.parametrize("layout", [Layout.SINGLE, Layout.USDZ])
def test_layouts_without_layers_are_refused(layout: Layout) -> None:
    """The profile prescribes layers."""
    with pytest.raises(ValueError, match="prescribes layers"):
        ConvertOptions(profile=Profile.ROS, layout=layout)


def test_earlier_conversion_is_replaced(asset: Path, tmp_path: Path) -> None:
    """Its additional layers are known."""
    again = convert(tmp_path / "whole.urdf", asset.parent)

    assert again.root_layer == asset
    assert not (asset.parent / "payload/Ros.usda").exists()
