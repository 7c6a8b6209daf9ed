"""Rounding of the frames of joints, and articulation roots."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pxr import UsdPhysics
from scipy.spatial.transform import Rotation

from tests.converter.usd.authored import author
from urdf_usd.conformance.export.assets import read_usd
from urdf_usd.converter.robot import model as m


def test_joint_frame_minimises_rounding(tmp_path: Path) -> None:
    """Less than half an ulp of a float32 quaternion, 3e-8."""
    random = np.random.default_rng(7)
    for number in range(5):
        axis = random.normal(size=3)
        x, y, z = (float(c) for c in axis / np.linalg.norm(axis))
        turn = Rotation.random(rng=random)
        origin = m.Pose((0.0, 0.0, 1.0), tuple(turn.as_quat(scalar_first=True).tolist()))
        folder = tmp_path / str(number)
        folder.mkdir()
        author(folder, m.Joint("j", "a", "b", m.Continuous((x, y, z)), origin))

        again = read_usd(folder / "r.usda").robot.joints[0]

        stored = Rotation.from_quat(again.origin.quat_wxyz, scalar_first=True)
        assert (stored * turn.inv()).magnitude() < 2e-8
        assert isinstance(again.kind, m.Continuous)
        np.testing.assert_allclose(again.kind.axis, (x, y, z), atol=2e-8)


_OBLIQUE: m.Vec3 = (2 / 7, -3 / 7, -6 / 7)


@pytest.mark.parametrize(
    ("joint", "massless", "base", "roots"),
    [
        (m.Joint("j", "a", "b", m.Continuous(_OBLIQUE)), "", "auto", ["/r/Geometry/a"]),
        (m.Joint("j", "a", "b", m.Continuous(_OBLIQUE)), "", "fixed", ["/r"]),
        (m.Joint("j", "a", "b", m.Continuous(_OBLIQUE)), "a", "fixed", ["/r"]),
        (m.Joint("j", "world", "b", m.Fixed()), "world", "auto", []),
        (m.Joint("j", "a", "b", m.Floating()), "", "auto", []),
        (m.Joint("j", "a", "b", m.Fixed()), "b", "auto", []),
    ],
)
def test_articulation_root_depends_on_joints_and_base(
    tmp_path: Path,
    joint: m.Joint,
    massless: str,
    base: str,
    roots: list[str],
) -> None:
    """That of a fixed base is an ancestor of its joint to the world."""
    stage = author(tmp_path, joint, massless=massless, base=m.BaseOption(base))

    marked = [
        str(prim.GetPath())
        for prim in stage.Traverse()
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI)
    ]
    assert marked == roots
