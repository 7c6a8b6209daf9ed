"""The layer of simulation settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd, UsdPhysics

from tests.converter.simulation.robots import write_description, write_urdf
from urdf_usd.converter.conversion import convert, with_description
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import BodyNesting, ConvertOptions, Profile
from urdf_usd.converter.robot.model import Base
from urdf_usd.converter.simulation.description import load_description

_TEXT = """\
base = "fixed"
self_collision = false
[[joints]]
match = "*"
stiffness = 400
damping = 40
armature = 0.1
limit_stiffness = 5e4
[[joints]]
match = "slide"
control = "velocity"
target = 0.2
[pose.joints]
hinge = 0.5
"""


def _options(folder: Path, **options: object) -> ConvertOptions:
    description = load_description(write_description(folder, _TEXT))
    return with_description(ConvertOptions(**options), description)  # type: ignore[arg-type]


def test_description_chooses_base_and_profile(tmp_path: Path) -> None:
    """Options other than the defaults override it."""
    text = 'base = "floating"\nprofile = "physx"'
    description = load_description(write_description(tmp_path, text))

    found = with_description(ConvertOptions(), description)
    own = with_description(ConvertOptions(profile=Profile.ROS), description)

    assert (found.base.value, found.profile) == (Base.FLOATING.value, Profile.PHYSX)
    assert own.profile is Profile.ROS
    with pytest.raises(ConversionError, match=r"robot\.toml:2:1: .*nested"):
        with_description(ConvertOptions(bodies=BodyNesting.NESTED), description)


def test_profile_without_schemas_reports_what_it_leaves_out(tmp_path: Path) -> None:
    """Every effort limit is in a drive, as some joints have one."""
    options = _options(tmp_path, profile=Profile.USDPHYSICS)
    conversion = convert(write_urdf(tmp_path), tmp_path / "out", options)

    lost = [one for one in conversion.diagnostics if one.rule == "description-lost"]
    assert [one.message.split()[0] for one in lost] == [
        "armature",
        "limit_stiffness",
        "self_collision",
    ]
    stage = Usd.Stage.Open(str(conversion.root_layer))
    follower = stage.GetPrimAtPath("/two/Physics/follower")
    drive = UsdPhysics.DriveAPI.Get(follower, "linear")
    assert drive.GetMaxForceAttr().Get() == 20.0
    assert drive.GetStiffnessAttr().Get() == 0.0


def test_settings_in_disabled_variants_are_reported(tmp_path: Path) -> None:
    """The variant has them: its attribute is read after selecting it."""
    options = _options(tmp_path, profile=Profile.SIMREADY, physics_variants=True)
    conversion = convert(write_urdf(tmp_path), tmp_path / "out", options)

    rule = "description-variants"
    found = [one.message for one in conversion.diagnostics if one.rule == rule]
    assert [message.split()[0] for message in found] == [
        "armature",
        "limit_stiffness",
        "self_collision",
    ]
    stage = Usd.Stage.Open(str(conversion.root_layer))
    hinge = stage.GetPrimAtPath("/two/Physics/hinge")
    assert not hinge.GetAttribute("newton:armature")
    stage.GetDefaultPrim().GetVariantSet("Newton").SetVariantSelection("Enabled")
    hinge = stage.GetPrimAtPath("/two/Physics/hinge")
    assert hinge.GetAttribute("newton:armature").Get() == pytest.approx(0.1)
