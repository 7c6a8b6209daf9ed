"""Schemas of MuJoCo, in the variant of the physics for it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pxr import Usd, UsdPhysics

from tests.converter.usd.authored import applied
from urdf_usd.converter import ConvertOptions, convert
from urdf_usd.converter.conversion import with_description
from urdf_usd.converter.simulation.description import load_description

_LINK = """<link name="{}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  <collision><geometry><sphere radius="0.1"/></geometry></collision></link>"""
_URDF = f"""<robot name="r">{"".join(map(_LINK.format, "abcde"))}
  <joint name="turn" type="revolute"><parent link="a"/><child link="b"/>
    <limit lower="-1" upper="2" effort="7" velocity="3"/>
    <dynamics damping="0.5" friction="0.25"/></joint>
  <joint name="slide" type="prismatic"><parent link="b"/><child link="c"/>
    <limit lower="-1" upper="2" effort="9" velocity="3"/>
    <dynamics damping="0.75"/>
    <mimic joint="turn" multiplier="0.5" offset="0.125"/></joint>
  <joint name="weak" type="revolute"><parent link="c"/><child link="d"/>
    <limit lower="-1" upper="2" effort="0" velocity="3"/>
    <mimic joint="slide" multiplier="-2" offset="0.75"/></joint>
  <joint name="turn_actuator" type="continuous"><parent link="d"/>
    <child link="e"/></joint>
</robot>"""
_DRIVES = """[[joints]]
match = "turn"
stiffness = 30
damping = 4
armature = 0.25
[[joints]]
match = "turn_actuator"
damping = 2
"""


def _stage(folder: Path, text: str = "") -> Usd.Stage:
    urdf = folder / "r.urdf"
    urdf.write_text(_URDF)
    options = ConvertOptions(physics_variants=True)
    if text:
        (folder / "r.toml").write_text(text)
        options = with_description(options, load_description(folder / "r.toml"))
    stage = Usd.Stage.Open(str(convert(urdf, folder / "usd", options).root_layer))
    physics = stage.GetDefaultPrim().GetVariantSet("Physics")
    physics.SetVariantSelection("mujoco")
    return stage


def _values(stage: Usd.Stage, name: str) -> dict[str, Any]:
    """Return the attributes of a joint or an actuator that MuJoCo's schemas have."""
    prim = stage.GetPrimAtPath(f"/r/Physics/{name}")
    return {
        attribute.GetName(): attribute.Get()
        for attribute in prim.GetAuthoredAttributes()
        if attribute.GetName().startswith("mjc:")
    }


def test_values_of_joints_are_per_radian(tmp_path: Path) -> None:
    """As in MJCF, also of a joint whose limits are in degrees."""
    stage = _stage(tmp_path)

    assert _values(stage, "turn") == {
        "mjc:actuatorfrcrange:max": 7.0,
        "mjc:actuatorfrcrange:min": -7.0,
        "mjc:damping": 0.5,
        "mjc:frictionloss": 0.25,
    }
    assert "MjcJointAPI" in applied(stage.GetPrimAtPath("/r/Physics/turn_actuator"))


def test_effort_of_zero_is_a_range_that_mujoco_accepts(tmp_path: Path) -> None:
    """It refuses an empty one; Newton takes the smaller of range and drive."""
    stage = _stage(tmp_path)

    values = _values(stage, "weak")
    drive = UsdPhysics.DriveAPI.Get(stage.GetPrimAtPath("/r/Physics/weak"), "angular")
    least = math.ldexp(1.0, -126)
    assert values["mjc:actuatorfrcrange:max"] == least
    assert values["mjc:actuatorfrcrange:min"] == -least
    assert drive.GetMaxForceAttr().Get() == least


@pytest.mark.parametrize("at", [0.0, 1.5, -1.5])
@pytest.mark.parametrize(("kind", "unit"), [("revolute", math.radians(1.0)), ("prismatic", 1.0)])
def test_equal_limits_are_a_range_that_mujoco_accepts(
    tmp_path: Path, at: float, kind: str, unit: float
) -> None:
    """It refuses an empty one; the joint stays locked within a millionth."""
    urdf = tmp_path / "r.urdf"
    links = "".join(map(_LINK.format, "ab"))
    urdf.write_text(
        f'<robot name="r">{links}<joint name="j" type="{kind}"><parent link="a"/>'
        f'<child link="b"/><limit lower="{at}" upper="{at}" effort="1" velocity="1"/>'
        "</joint></robot>"
    )
    options = ConvertOptions(physics_variants=True)
    stage = Usd.Stage.Open(str(convert(urdf, tmp_path / "usd", options).root_layer))
    limits = {}
    for variant in ("newton", "mujoco"):
        physics = stage.GetDefaultPrim().GetVariantSet("Physics")
        physics.SetVariantSelection(variant)
        prim = stage.GetPrimAtPath("/r/Physics/j")
        names = ("physics:lowerLimit", "physics:upperLimit")
        limits[variant] = [prim.GetAttribute(name).Get() for name in names]

    # As Newton's importer stores them: in radians, as normal numbers of float32.
    lower, upper = (np.float32(limit * unit) for limit in limits["mujoco"])
    assert limits["newton"][0] == limits["newton"][1] == limits["mujoco"][0]
    assert np.float32(2.0**-126) <= upper - lower <= 1e-6 * max(abs(at), 1e-9)


def test_coupling_of_a_translation_with_a_rotation_is_in_metres(
    tmp_path: Path,
) -> None:
    """And that of a chain leads to its start: -2 (0.5 x + 0.125) + 0.75."""
    stage = _stage(tmp_path)

    for name, offset, multiplier in (("slide", 0.125, 0.5), ("weak", 0.5, -1.0)):
        prim = stage.GetPrimAtPath(f"/r/Physics/{name}")
        assert "MjcEqualityJointAPI" in applied(prim)
        assert _values(stage, name)["mjc:coef0"] == offset
        assert _values(stage, name)["mjc:coef1"] == multiplier
        (leader,) = prim.GetRelationship("mjc:target").GetTargets()
        assert str(leader) == "/r/Physics/turn"


def test_every_joint_has_an_actuator_without_gains(tmp_path: Path) -> None:
    """Its name avoids those of joints; its control is a force."""
    stage = _stage(tmp_path)

    targets = {
        prim.GetName(): str(prim.GetRelationship("mjc:target").GetTargets()[0])
        for prim in stage.Traverse()
        if prim.GetTypeName() == "MjcActuator"
    }
    assert targets == {
        "turn_actuator_1": "/r/Physics/turn",
        "slide_actuator": "/r/Physics/slide",
        "weak_actuator": "/r/Physics/weak",
        "turn_actuator_actuator": "/r/Physics/turn_actuator",
    }
    assert not any(_values(stage, name) for name in targets)


def test_actuators_have_the_gains_of_drives(tmp_path: Path) -> None:
    """Force = gain * control + bias, with a position or a velocity as control."""
    stage = _stage(tmp_path, _DRIVES)

    position = _values(stage, "turn_actuator_1")
    velocity = _values(stage, "turn_actuator_actuator")
    assert position["mjc:biasType"] == velocity["mjc:biasType"] == "affine"
    assert list(position["mjc:gainPrm"]) == [30.0, *[0.0] * 9]
    assert list(position["mjc:biasPrm"]) == [0.0, -30.0, -4.0, *[0.0] * 7]
    assert list(velocity["mjc:gainPrm"]) == [2.0, *[0.0] * 9]
    assert list(velocity["mjc:biasPrm"]) == [0.0, 0.0, -2.0, *[0.0] * 7]
    assert _values(stage, "turn")["mjc:armature"] == 0.25
    assert _values(stage, "slide_actuator") == {}


def test_every_collider_has_the_schema(tmp_path: Path) -> None:
    """Colliders alone."""
    stage = _stage(tmp_path)

    having = [prim for prim in stage.Traverse() if "MjcCollisionAPI" in applied(prim)]
    assert len(having) == 5
    assert all(prim.HasAPI(UsdPhysics.CollisionAPI) for prim in having)


def test_other_variants_have_no_schemas_of_mujoco(tmp_path: Path) -> None:
    """Nor actuators."""
    stage = _stage(tmp_path, _DRIVES)

    for variant in ("newton", "physx", "physics", "none"):
        physics = stage.GetDefaultPrim().GetVariantSet("Physics")
        physics.SetVariantSelection(variant)
        for prim in stage.Traverse():
            names = (*applied(prim), prim.GetTypeName(), *prim.GetPropertyNames())
            assert not [name for name in names if name.lower().startswith("mjc")]
