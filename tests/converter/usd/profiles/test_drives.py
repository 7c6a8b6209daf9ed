"""Drives of the profiles of simulators."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import UsdPhysics

from tests.converter.usd.authored import author
from tests.converter.usd.profiles.joint_samples import EFFORT, sliding, turning
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import Joint


@pytest.mark.parametrize("profile", [Profile.GENERIC, Profile.PHYSX])
@pytest.mark.parametrize(
    ("joints", "axis"),
    [((turning(),), "angular"), ((turning(), sliding()), "linear")],
)
def test_effort_is_the_maximum_force_of_a_drive_without_gains(
    tmp_path: Path, profile: Profile, joints: tuple[Joint, ...], axis: str
) -> None:
    """The schemas of both simulators have no effort; they read UsdPhysics' drive."""
    stage = author(tmp_path, *joints, profile=profile)
    prim = stage.GetPrimAtPath(f"/r/Physics/{joints[-1].name}")

    drive = UsdPhysics.DriveAPI.Get(prim, axis)

    assert drive.GetMaxForceAttr().Get() == EFFORT
    assert drive.GetStiffnessAttr().Get() == 0.0
    assert drive.GetDampingAttr().Get() == 0.0
