"""The optional physics scene."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd, UsdPhysics

from tests.converter.usd.authored import author
from tests.converter.usd.profiles.joint_samples import TURN
from urdf_usd.converter.robot.model import Joint


def _scenes(stage: Usd.Stage) -> list[UsdPhysics.Scene]:
    return [UsdPhysics.Scene(p) for p in stage.Traverse() if p.IsA(UsdPhysics.Scene)]


def test_gravity_is_explicit(tmp_path: Path) -> None:
    """Direction, and magnitude in m/s^2."""
    stage = author(tmp_path, Joint("j", "a", "b", TURN), scene=True)

    (scene,) = _scenes(stage)
    assert tuple(scene.GetGravityDirectionAttr().Get()) == (0, 0, -1)
    assert scene.GetGravityMagnitudeAttr().Get() == pytest.approx(9.81)


def test_scene_is_below_the_default_prim(tmp_path: Path) -> None:
    """In the physics layer, so that a reference includes it."""
    stage = author(tmp_path, Joint("j", "a", "b", TURN), scene=True)
    other = Usd.Stage.CreateInMemory()
    prim = other.DefinePrim("/world/robot")
    prim.GetReferences().AddReference(stage.GetRootLayer().identifier)

    (scene,) = _scenes(other)
    assert scene.GetPath() == "/world/robot/Physics/PhysicsScene"
    layers = [spec.layer.GetDisplayName() for spec in scene.GetPrim().GetPrimStack()]
    assert layers == ["Physics.usda"]


def test_no_scene_by_default(tmp_path: Path) -> None:
    """Each reference to the robot would add another one."""
    stage = author(tmp_path, Joint("j", "a", "b", TURN))

    assert _scenes(stage) == []


def test_joint_keeps_the_name_of_the_scene(tmp_path: Path) -> None:
    """The scene gets a number."""
    stage = author(tmp_path, Joint("PhysicsScene", "a", "b", TURN), scene=True)

    (scene,) = _scenes(stage)
    assert scene.GetPath() == "/r/Physics/PhysicsScene_1"
    assert stage.GetPrimAtPath("/r/Physics/PhysicsScene").IsA(UsdPhysics.RevoluteJoint)
