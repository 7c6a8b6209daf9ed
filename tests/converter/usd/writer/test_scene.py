"""A physics scene goes with the robot if it is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Usd, UsdPhysics

from tests.converter.usd.authored import author
from tests.converter.usd.profiles.joints_of_two_kinds import TURN
from urdf_usd.converter.robot.model import Joint


def _scenes(stage: Usd.Stage) -> list[UsdPhysics.Scene]:
    return [UsdPhysics.Scene(p) for p in stage.Traverse() if p.IsA(UsdPhysics.Scene)]


def test_gravity_pulls_down_at_its_usual_rate(tmp_path: Path) -> None:
    """As explicit numbers, in m/s^2 along Z."""
    stage = author(tmp_path, Joint("j", "a", "b", TURN), scene=True)

    (scene,) = _scenes(stage)
    assert tuple(scene.GetGravityDirectionAttr().Get()) == (0, 0, -1)
    assert scene.GetGravityMagnitudeAttr().Get() == pytest.approx(9.81)


def test_scene_is_part_of_the_robots_physics(tmp_path: Path) -> None:
    """Within the default prim, so that a reference brings it along."""
    stage = author(tmp_path, Joint("j", "a", "b", TURN), scene=True)
    other = Usd.Stage.CreateInMemory()
    prim = other.DefinePrim("/world/robot")
    prim.GetReferences().AddReference(stage.GetRootLayer().identifier)

    (scene,) = _scenes(other)
    assert scene.GetPath() == "/world/robot/Physics/PhysicsScene"
    layers = [spec.layer.GetDisplayName() for spec in scene.GetPrim().GetPrimStack()]
    assert layers == ["Physics.usda"]


def test_without_being_asked_there_is_none(tmp_path: Path) -> None:
    """A robot that is referenced ten times would bring ten."""
    stage = author(tmp_path, Joint("j", "a", "b", TURN))

    assert _scenes(stage) == []


def test_a_joint_of_that_name_keeps_it(tmp_path: Path) -> None:
    """Names of the robot are looked for; that of the scene is not."""
    stage = author(tmp_path, Joint("PhysicsScene", "a", "b", TURN), scene=True)

    (scene,) = _scenes(stage)
    assert scene.GetPath() == "/r/Physics/PhysicsScene_1"
    assert stage.GetPrimAtPath("/r/Physics/PhysicsScene").IsA(UsdPhysics.RevoluteJoint)
