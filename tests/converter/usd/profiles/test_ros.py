"""Conventions of REP 158, on a robot with every feature of an asset."""

from __future__ import annotations

from math import sqrt
from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdPhysics

from tests.converter.usd.whole_robot import write_whole_robot
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.options import Layout
from urdf_usd.converter.robot.model import BaseOption

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
