"""Mimic joints are read from schemas and custom attributes; chains are restored."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pxr import Sdf, Usd, UsdPhysics

from tests.converter.usd.authored import author
from tests.converter.usd.profiles.joint_samples import chain
from tests.converter.usd.scenes import Scene, joint_of
from urdf_usd.conformance.export.reading import read_stage
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import Mimic

DEGREE = math.pi / 180
TURN, SLIDE = UsdPhysics.RevoluteJoint, UsdPhysics.PrismaticJoint


def _read_mimic(
    kinds: tuple[type[UsdPhysics.Joint], type[UsdPhysics.Joint]], length: float = 1.0
) -> Mimic | None:
    """Return the mimic of a joint with PhysX's schema."""
    scene = Scene(length=length)
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    # PhysX couples revolute joints with limits alone.
    limits = {"LowerLimit": -1.0, "UpperLimit": 1.0}
    scene.joint(kinds[0], "/r/lead", ("/r/a", "/r/b"), **limits)
    prim = scene.joint(kinds[1], "/r/it", ("/r/b", "/r/c"), **limits).GetPrim()
    prim.AddAppliedSchema("PhysxMimicJointAPI:rotX")
    prefix = "physxMimicJoint:rotX"
    prim.CreateRelationship(f"{prefix}:referenceJoint").SetTargets(["/r/lead"])
    for name, value in (("gearing", 0.5), ("offset", 30.0)):
        prim.CreateAttribute(f"{prefix}:{name}", Sdf.ValueTypeNames.Float).Set(value)
    return joint_of(scene.read(), "it").mimic


@pytest.mark.parametrize(
    ("kinds", "multiplier", "offset"),
    [
        ((TURN, TURN), -0.5, -30 * DEGREE),
        ((SLIDE, SLIDE), -0.5, -0.3),
        ((TURN, SLIDE), -0.5 * 0.01 / DEGREE, -0.3),
        ((SLIDE, TURN), -0.5 * DEGREE / 0.01, -30 * DEGREE),
    ],
)
def test_physx_mimic_has_opposite_signs(
    kinds: tuple[type[UsdPhysics.Joint], type[UsdPhysics.Joint]],
    multiplier: float,
    offset: float,
) -> None:
    """In degrees, and in the stage's unit of length: centimetres."""
    mimic = _read_mimic(kinds, length=0.01)

    assert mimic is not None
    assert mimic.joint == "lead"
    assert (mimic.multiplier, mimic.offset) == pytest.approx((multiplier, offset))


@pytest.mark.parametrize("profile", Profile)
def test_mimic_chain_is_restored(tmp_path: Path, profile: Profile) -> None:
    """Although schemas refer to the first joint of the chain."""
    stage = author(tmp_path, *chain(), profile=profile)
    joints = {joint.name: joint for joint in read_stage(stage).robot.joints}

    assert joints["second"].mimic == Mimic("first", -0.5, 0.1)
    assert joints["third"].mimic == Mimic("second", 0.8, -0.2)


def test_edited_schema_has_priority_over_the_original_chain(tmp_path: Path) -> None:
    """Simulators read the schema."""
    stage = author(tmp_path, *chain(), profile=Profile.GENERIC)
    prim: Usd.Prim = stage.GetPrimAtPath("/r/Physics/third")
    prim.GetAttribute("newton:mimicCoef1").Set(0.75)
    joints = {joint.name: joint for joint in read_stage(stage).robot.joints}
    mimic = joints["third"].mimic

    assert mimic is not None
    assert (mimic.joint, mimic.multiplier) == ("first", 0.75)


def test_disabled_mimic_is_not_read(tmp_path: Path) -> None:
    """The custom attributes of the conversion are used."""
    stage = author(tmp_path, *chain(), profile=Profile.GENERIC)
    prim: Usd.Prim = stage.GetPrimAtPath("/r/Physics/second")
    prim.GetRelationship("newton:mimicJoint").SetTargets(["/r/Physics/third"])
    prim.GetAttribute("newton:mimicEnabled").Set(False)
    joints = {joint.name: joint for joint in read_stage(stage).robot.joints}

    assert joints["second"].mimic == Mimic("first", -0.5, 0.1)
