"""Frames, limits, urdf attributes and articulation roots of authored joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pxr import UsdPhysics
from scipy.spatial.transform import Rotation

from tests.converter.usd.authored import author
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.options import BodyNesting
from urdf_usd.converter.robot import model as m

_TURN = Rotation.from_euler("xyz", (0.3, -0.4, 0.5))
_OBLIQUE: m.Vec3 = (2 / 7, -3 / 7, -6 / 7)


def _pose(position: m.Vec3, rotation: Rotation = _TURN) -> m.Pose:
    w, x, y, z = rotation.as_quat(scalar_first=True)
    quat: m.Vec4 = (w, x, y, z)
    return m.Pose(position, quat)


_NEARLY_Z = 1.0 / np.hypot(1.0, 7.8e-4)


@pytest.mark.parametrize(
    "axis",
    [
        _OBLIQUE,
        (0.0, 0.0, -1.0),
        (0.0, 1.0, 0.0),
        # Not snapped to Z: that would turn the joint by 780 microradians.
        (7.8e-4 * _NEARLY_Z, 0.0, _NEARLY_Z),
    ],
)
def test_joint_frames_state_axis_and_origin(tmp_path: Path, axis: m.Vec3) -> None:
    """The axis token rotated by localRot1 is the axis; both frames meet at zero."""
    origin = _pose((0.1, -0.2, 0.3))
    stage = author(tmp_path, m.Joint("j", "a", "b", m.Continuous(axis), origin))

    joint = UsdPhysics.RevoluteJoint.Get(stage, "/r/Physics/j")
    frames = []
    for quat in (joint.GetLocalRot0Attr().Get(), joint.GetLocalRot1Attr().Get()):
        parts = (quat.GetReal(), *quat.GetImaginary())
        frames.append(Rotation.from_quat(parts, scalar_first=True))
    token = np.eye(3)["XYZ".index(joint.GetAxisAttr().Get())]
    np.testing.assert_allclose(frames[1].apply(token), axis, atol=1e-7)
    meeting = frames[0] * frames[1].inv()
    np.testing.assert_allclose(meeting.as_matrix(), _TURN.as_matrix(), atol=2e-7)
    np.testing.assert_allclose(joint.GetLocalPos0Attr().Get(), origin.position)
    assert tuple(joint.GetLocalPos1Attr().Get()) == (0, 0, 0)


def test_joint_frame_minimises_rounding(tmp_path: Path) -> None:
    """Less than half an ulp of a float32 quaternion, 3e-8."""
    random = np.random.default_rng(7)
    for number in range(5):
        axis = random.normal(size=3)
        x, y, z = (float(c) for c in axis / np.linalg.norm(axis))
        turn = Rotation.random(rng=random)
        folder = tmp_path / str(number)
        folder.mkdir()
        joint = m.Joint("j", "a", "b", m.Continuous((x, y, z)), _pose((0, 0, 1), turn))

        author(folder, joint)
        again = read_usd(folder / "r.usda").robot.joints[0]

        stored = Rotation.from_quat(again.origin.quat_wxyz, scalar_first=True)
        assert (stored * turn.inv()).magnitude() < 2e-8
        assert isinstance(again.kind, m.Continuous)
        np.testing.assert_allclose(again.kind.axis, (x, y, z), atol=2e-8)


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
@pytest.mark.parametrize("nesting", BodyNesting)
def test_articulation_root_depends_on_joints_and_base(
    tmp_path: Path,
    nesting: BodyNesting,
    joint: m.Joint,
    massless: str,
    base: str,
    roots: list[str],
) -> None:
    """That of a fixed base is an ancestor of its joint to the world."""
    stage = author(tmp_path, joint, massless=massless, base=m.BaseOption(base), nesting=nesting)

    marked = [
        str(prim.GetPath())
        for prim in stage.Traverse()
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI)
    ]
    assert marked == roots


def test_openusd_reads_a_fixed_base_as_fixed(tmp_path: Path) -> None:
    """The reported root is the joint to the world, not the body."""
    joint = m.Joint("j", "a", "b", m.Continuous(_OBLIQUE))
    stage = author(tmp_path, joint, base=m.BaseOption.FIXED)

    parsed = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])

    (articulation,) = parsed[UsdPhysics.ObjectType.Articulation][1]
    assert articulation.rootPrims == ["/r/Physics/base_anchor"]
