"""The table of exported USDs of others."""

from __future__ import annotations

from pathlib import Path

from pxr import UsdPhysics

from tests.converter.usd.scenes import Scene
from tests.tools.consumers.foreign import Outcome, outcome, page


def _saved(scene: Scene, folder: Path) -> Path:
    usd = folder / "scene.usda"
    scene.stage.Export(str(usd))
    return usd


def test_first_robot_of_several_is_exported(tmp_path: Path) -> None:
    scene = Scene()
    for pair in ("ab", "cd"):
        first, second = (f"/r/{name}" for name in pair)
        UsdPhysics.ArticulationRootAPI.Apply(scene.body(first))
        scene.body(second)
        scene.joint(UsdPhysics.RevoluteJoint, f"/r/{pair}", (first, second))

    found = outcome("scene", _saved(scene, tmp_path), tmp_path / "out", None)

    assert found == Outcome("scene", 2, 2, joints=1, mujoco=1, notes=("`--root /r/a`",))


def test_stage_without_robot_is_counted_but_not_listed(tmp_path: Path) -> None:
    empty = outcome("new/empty", _saved(Scene(), tmp_path), tmp_path / "out", None)
    other = Outcome("new/other", 0, joints=3, physx=2, mujoco=3)

    text = page([empty, other])

    assert "Of 2 files, 1 have no rigid body (1 of new)." in text
    assert "report degrees of freedom of 1; 1 differ." in text
    assert "`new/other`" in text
    assert "`new/empty`" not in text
