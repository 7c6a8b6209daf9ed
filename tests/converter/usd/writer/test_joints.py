"""Frames, limits, urdf attributes and articulation roots of authored joints."""

from __future__ import annotations

from math import degrees, inf
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdPhysics
from scipy.spatial.transform import Rotation

from tests.converter.usd.authored import applied, author
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.options import BodyNesting, Profile
from urdf_usd.converter.robot.body_options import BaseOption
from urdf_usd.converter.robot.model import (
    Calibration,
    Continuous,
    Dynamics,
    Fixed,
    Floating,
    Joint,
    JointKind,
    Mimic,
    Planar,
    Pose,
    Prismatic,
    Range,
    Revolute,
    SafetyController,
    Vec3,
    Vec4,
)

_TURN = Rotation.from_euler("xyz", (0.3, -0.4, 0.5))
_OBLIQUE: Vec3 = (2 / 7, -3 / 7, -6 / 7)


def _pose(position: Vec3, rotation: Rotation = _TURN) -> Pose:
    w, x, y, z = rotation.as_quat(scalar_first=True)
    quat: Vec4 = (w, x, y, z)
    return Pose(position, quat)


def _get(stage: Usd.Stage, path: str, name: str) -> object:
    return stage.GetPrimAtPath(path).GetAttribute(name).Get()


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
def test_joint_frames_state_axis_and_origin(tmp_path: Path, axis: Vec3) -> None:
    """The axis token rotated by localRot1 is the axis; both frames meet at zero."""
    origin = _pose((0.1, -0.2, 0.3))
    stage = author(tmp_path, Joint("j", "a", "b", Continuous(axis), origin))

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
        joint = Joint("j", "a", "b", Continuous((x, y, z)), _pose((0, 0, 1), turn))

        author(folder, joint)
        again = read_usd(folder / "r.usda").robot.joints[0]

        stored = Rotation.from_quat(again.origin.quat_wxyz, scalar_first=True)
        assert (stored * turn.inv()).magnitude() < 2e-8
        assert isinstance(again.kind, Continuous)
        np.testing.assert_allclose(again.kind.axis, (x, y, z), atol=2e-8)


def test_joint_on_a_frame_connects_its_body(tmp_path: Path) -> None:
    """Of a - frame - b, body0 is a, and localPos0 includes the origin of the frame."""
    stage = author(
        tmp_path,
        Joint("weld", "a", "frame", Fixed(), _pose((1.0, 2.0, 3.0))),
        Joint("j", "frame", "b", Continuous(_OBLIQUE), _pose((0.1, 0.2, 0.3))),
        massless="frame",
    )

    joint = UsdPhysics.Joint.Get(stage, "/r/Physics/j")
    assert joint.GetBody0Rel().GetTargets() == ["/r/Geometry/a"]
    expected = np.array([1.0, 2.0, 3.0]) + _TURN.apply([0.1, 0.2, 0.3])
    np.testing.assert_allclose(joint.GetLocalPos0Attr().Get(), expected, rtol=1e-6)
    assert _get(stage, "/r/Physics/j", "urdf:joint:parent") == "frame"
    assert not stage.GetPrimAtPath("/r/Physics/weld")
    assert _get(stage, "/r/Geometry/a/frame", "urdf:joint:name") == "weld"


@pytest.mark.parametrize(
    ("kind", "lower", "upper"),
    [
        (Revolute(_OBLIQUE, Range(-1.0, 2.0)), degrees(-1.0), degrees(2.0)),
        (Prismatic(_OBLIQUE, Range(-1.0, 2.0)), -1.0, 2.0),
        (Revolute(_OBLIQUE, Range(0.0, 0.0)), 0.0, 0.0),
        (Revolute(_OBLIQUE, Range(2.0, -1.0)), degrees(2.0), degrees(-1.0)),
        (Continuous(_OBLIQUE), -inf, inf),
        (Prismatic(_OBLIQUE, Range(-inf, inf)), -inf, inf),
        (Prismatic(_OBLIQUE, Range(-inf, 0.5)), -inf, 0.5),
        (Revolute(_OBLIQUE, Range(-1e300, 1e300)), -inf, inf),
    ],
)
def test_limits_are_degrees_for_revolute_and_metres_for_prismatic_joints(
    tmp_path: Path, kind: JointKind, lower: float, upper: float
) -> None:
    """Beyond float32 there is no limit."""
    stage = author(tmp_path, Joint("j", "a", "b", kind))

    assert _get(stage, "/r/Physics/j", "physics:lowerLimit") == np.float32(lower)
    assert _get(stage, "/r/Physics/j", "physics:upperLimit") == np.float32(upper)


@pytest.mark.parametrize("make", [Revolute, Prismatic])
@pytest.mark.parametrize(("lower", "upper"), [(-inf, 0.5), (-0.25, inf)])
def test_limit_on_one_side_is_effective(
    tmp_path: Path, make: type[Revolute | Prismatic], lower: float, upper: float
) -> None:
    """OpenUSD's parser reads an enabled limit with that bound."""
    kind = make(_OBLIQUE, Range(lower, upper))
    stage = author(tmp_path, Joint("j", "a", "b", kind))

    parsed = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
    revolute = parsed.get(UsdPhysics.ObjectType.RevoluteJoint)
    _, (description,) = revolute or parsed[UsdPhysics.ObjectType.PrismaticJoint]
    factor = degrees(1.0) if make is Revolute else 1.0
    assert description.limit.enabled
    stored = [description.limit.lower, description.limit.upper]
    for actual, limit in zip(stored, (lower, upper), strict=True):
        if limit in {inf, -inf}:
            assert abs(actual) > 1e30
        else:
            assert actual == pytest.approx(limit * factor)
    again = read_usd(tmp_path / "r.usda").robot.joints[0].kind
    assert isinstance(again, make)
    assert again.range.lower == pytest.approx(lower)
    assert again.range.upper == pytest.approx(upper)


def test_planar_joint_is_free_in_its_plane(
    tmp_path: Path,
) -> None:
    """OpenUSD's parser: enabled with low above high is locked."""
    stage = author(tmp_path, Joint("j", "a", "b", Planar((0.0, -1.0, 0.0))))

    parsed = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
    (description,) = parsed[UsdPhysics.ObjectType.D6Joint][1]
    locked = {
        pair.first.name
        for pair in description.jointLimits
        if pair.second.enabled and pair.second.lower > pair.second.upper
    }
    free = {p.first.name for p in description.jointLimits if not p.second.enabled}
    assert locked == {"TransY", "RotX", "RotZ"}
    assert free == {"TransX", "TransZ", "RotY"}


def test_usdphysics_profile_has_custom_attributes_in_si_units(tmp_path: Path) -> None:
    """It has no attribute of a simulator's schema."""
    joint = Joint(
        "j",
        "a",
        "b",
        Continuous(_OBLIQUE),
        effort=7.0,
        velocity=3.0,
        dynamics=Dynamics(damping=0.5, friction=0.25),
        safety=SafetyController(1.0, 2.0, -0.5, 0.75),
        calibration=Calibration(rising=0.1, falling=-0.2),
    )
    stage = author(tmp_path, joint, profile=Profile.USDPHYSICS)
    prim = stage.GetPrimAtPath("/r/Physics/j")

    limits = {
        attribute.GetName(): attribute.Get()
        for attribute in prim.GetAttributes()
        if attribute.HasAuthoredValue() and attribute.GetNamespace().split(":")[0] != "physics"
    }
    assert limits == {
        "urdf:joint:type": "continuous",
        "urdf:limit:effort": 7.0,
        "urdf:limit:velocity": 3.0,
        "urdf:dynamics:damping": 0.5,
        "urdf:dynamics:friction": 0.25,
        "urdf:safety_controller:k_velocity": 1.0,
        "urdf:safety_controller:k_position": 2.0,
        "urdf:safety_controller:soft_lower_limit": -0.5,
        "urdf:safety_controller:soft_upper_limit": 0.75,
        "urdf:calibration:rising": 0.1,
        "urdf:calibration:falling": -0.2,
    }
    assert applied(prim) == []


def test_absent_effort_and_velocity_are_not_authored_and_zero_is(
    tmp_path: Path,
) -> None:
    """Zero is a declaration."""
    stage = author(
        tmp_path,
        Joint("absent", "a", "b", Continuous(_OBLIQUE)),
        Joint("zero", "b", "c", Continuous(_OBLIQUE), effort=0.0, velocity=0.0),
    )

    assert _get(stage, "/r/Physics/absent", "urdf:limit:effort") is None
    assert _get(stage, "/r/Physics/absent", "urdf:limit:velocity") is None
    assert _get(stage, "/r/Physics/zero", "urdf:limit:effort") == 0.0
    assert _get(stage, "/r/Physics/zero", "urdf:limit:velocity") == 0.0


def test_mimic_is_written_as_urdf_attributes(tmp_path: Path) -> None:
    """Names, radians and metres, for all types of joints."""
    slide = Prismatic(_OBLIQUE, Range(-1.0, 1.0))
    stage = author(
        tmp_path,
        Joint("slides", "a", "b", slide, mimic=Mimic("leads", -2.0, 0.5)),
        Joint("leads", "a", "c", Continuous(_OBLIQUE)),
    )

    assert _get(stage, "/r/Physics/slides", "urdf:mimic:joint") == "leads"
    assert _get(stage, "/r/Physics/slides", "urdf:mimic:multiplier") == -2.0
    assert _get(stage, "/r/Physics/slides", "urdf:mimic:offset") == 0.5


@pytest.mark.parametrize(
    ("joint", "massless", "base", "roots"),
    [
        (Joint("j", "a", "b", Continuous(_OBLIQUE)), "", "auto", ["/r/Geometry/a"]),
        (Joint("j", "a", "b", Continuous(_OBLIQUE)), "", "fixed", ["/r"]),
        (Joint("j", "a", "b", Continuous(_OBLIQUE)), "a", "fixed", ["/r"]),
        (Joint("j", "world", "b", Fixed()), "world", "auto", []),
        (Joint("j", "a", "b", Floating()), "", "auto", []),
        (Joint("j", "a", "b", Fixed()), "b", "auto", []),
    ],
)
@pytest.mark.parametrize("nesting", BodyNesting)
def test_articulation_root_depends_on_joints_and_base(
    tmp_path: Path,
    nesting: BodyNesting,
    joint: Joint,
    massless: str,
    base: str,
    roots: list[str],
) -> None:
    """That of a fixed base is an ancestor of its joint to the world."""
    stage = author(tmp_path, joint, massless=massless, base=BaseOption(base), nesting=nesting)

    marked = [
        str(prim.GetPath())
        for prim in stage.Traverse()
        if prim.HasAPI(UsdPhysics.ArticulationRootAPI)
    ]
    assert marked == roots


def test_openusd_reads_a_fixed_base_as_fixed(tmp_path: Path) -> None:
    """The reported root is the joint to the world, not the body."""
    joint = Joint("j", "a", "b", Continuous(_OBLIQUE))
    stage = author(tmp_path, joint, base=BaseOption.FIXED)

    parsed = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])

    (articulation,) = parsed[UsdPhysics.ObjectType.Articulation][1]
    assert articulation.rootPrims == ["/r/Physics/base_anchor"]


def test_floating_joint_is_disabled(tmp_path: Path) -> None:
    """Name and origin are kept, and the child prim is not below its parent."""
    origin = _pose((0.1, 0.2, 0.3))
    stage = author(tmp_path, Joint("free", "a", "b", Floating(), origin))

    assert _get(stage, "/r/Physics/free", "physics:jointEnabled") is False
    assert _get(stage, "/r/Physics/free", "physics:excludeFromArticulation") is True
    moved = stage.GetPrimAtPath("/r/Geometry/b").GetAttribute("xformOp:translate")
    assert tuple(moved.Get()) == origin.position
