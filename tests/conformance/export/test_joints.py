"""Joints of other tools are read as URDF joints, wherever their frames are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pxr import Gf, UsdGeom, UsdPhysics
from scipy.spatial.transform import Rotation

from tests.converter.usd.scenes import (
    TURN,
    Array,
    Scene,
    joint_of,
    link_of,
    pose_of,
    quat,
    rules_of,
)
from urdf_usd.converter.robot.model import (
    Continuous,
    Fixed,
    Floating,
    JointKind,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
)


def test_joint_away_from_the_child_origin_moves_the_link_frame() -> None:
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b", (0.3, 0.2, 0.0))
    cube = UsdGeom.Cube.Define(scene.stage, "/r/b/box")
    cube.AddTranslateOp().Set(Gf.Vec3d(0.1, 0.0, 0.0))
    scene.body("/r/c", (0.3, 0.2, 0.5))
    scene.joint(
        UsdPhysics.RevoluteJoint,
        "/r/hinge",
        ("/r/a", "/r/b"),
        Axis="Z",
        LocalPos0=Gf.Vec3f(0.1, 0.2, 0.0),
        LocalPos1=Gf.Vec3f(-0.2, 0.0, 0.0),
    )
    scene.joint(UsdPhysics.FixedJoint, "/r/weld", ("/r/b", "/r/c"), LocalPos0=Gf.Vec3f(0, 0, 0.5))

    reading = scene.read()

    assert rules_of(reading) == ["joint-moved"]
    hinge, weld = joint_of(reading, "hinge"), joint_of(reading, "weld")
    assert hinge.origin.position == pytest.approx((0.1, 0.2, 0.0))
    assert weld.origin.position == pytest.approx((0.2, 0.0, 0.5))
    (visual,) = link_of(reading, "b").visuals
    assert visual.origin.position == pytest.approx((0.3, 0.0, 0.0))
    inertial = link_of(reading, "b").inertial
    assert inertial is not None
    assert inertial.origin.position == pytest.approx((0.21, -0.02, 0.03))
    # A quarter turn about (0.1, 0.2) moves the box from x = 0.4 to y = 0.5.
    turned = pose_of(reading, "b", hinge=math.pi / 2) @ (*visual.origin.position, 1.0)
    assert turned[:3] == pytest.approx((0.1, 0.5, 0.0))


def test_prismatic_and_fixed_joints_keep_the_link_frame() -> None:
    scene = Scene()
    for path in ("/r/a", "/r/b", "/r/c"):
        scene.body(path)
    apart = {"LocalPos1": Gf.Vec3f(0.2, 0.3, 0.4)}
    scene.joint(UsdPhysics.PrismaticJoint, "/r/slide", ("/r/a", "/r/b"), **apart)
    scene.joint(UsdPhysics.FixedJoint, "/r/weld", ("/r/a", "/r/c"), **apart)

    reading = scene.read()

    assert rules_of(reading) == []
    for name in ("slide", "weld"):
        assert joint_of(reading, name).origin.position == pytest.approx((-0.2, -0.3, -0.4))


def test_swapped_bodies_negate_the_axis_and_keep_positions() -> None:
    """The child is body0, so the joint moves in the opposite direction."""
    forwards, backwards = Scene(), Scene()
    sides = {
        "LocalPos0": Gf.Vec3f(0.1, 0.2, 0.3),
        "LocalRot0": quat(TURN),
        "LocalPos1": Gf.Vec3f(-0.3, 0.1, 0.2),
        "LocalRot1": quat(TURN * TURN),
    }
    swapped = {f"{name[:-1]}{1 - int(name[-1])}": pose for name, pose in sides.items()}
    limits = {"Axis": "Y", "LowerLimit": -30.0, "UpperLimit": 60.0}
    for scene, ends, frames in (
        (forwards, ("/r/a", "/r/b"), sides),
        (backwards, ("/r/b", "/r/a"), swapped),
    ):
        scene.body("/r/a")
        scene.body("/r/b")
        scene.joint(UsdPhysics.FixedJoint, "/r/base", ("/r", "/r/a"))
        scene.joint(UsdPhysics.RevoluteJoint, "/r/hinge", ends, **frames, **limits)

    one, other = forwards.read(), backwards.read()

    for reading in (one, other):
        hinge = joint_of(reading, "hinge")
        assert (hinge.parent, hinge.child) == ("a", "b")
        assert isinstance(hinge.kind, Revolute)
        assert hinge.kind.range.lower == pytest.approx(math.radians(-30))
        assert hinge.kind.range.upper == pytest.approx(math.radians(60))
    # Position q of the swapped joint is the inverse motion, which is that of -q.
    np.testing.assert_allclose(
        pose_of(one, "b", hinge=0.4), pose_of(other, "b", hinge=-0.4), atol=1e-6
    )


def _limit(joint: UsdPhysics.Joint, **axes: tuple[float, float]) -> None:
    for axis, (low, high) in axes.items():
        api = UsdPhysics.LimitAPI.Apply(joint.GetPrim(), axis)
        api.CreateLowAttr(low)
        api.CreateHighAttr(high)


_LOCK = (1.0, -1.0)
_AXES = ("transX", "transY", "transZ", "rotX", "rotY", "rotZ")


@pytest.mark.parametrize(
    ("free", "kind"),
    [
        ({}, Fixed()),
        ({"rotY": (-90.0, 45.0)}, Revolute),
        ({"rotZ": None}, Continuous),
        ({"transX": (-0.5, 0.25)}, Prismatic),
        ({"transX": None, "transY": None, "rotZ": None}, Planar),
        ({"rotX": None, "rotY": None, "rotZ": None}, Spherical()),
        (dict.fromkeys(_AXES), Floating()),
    ],
)
def test_generic_joints_are_classified_by_their_degrees_of_freedom(
    free: dict[str, tuple[float, float] | None], kind: JointKind | type[JointKind]
) -> None:
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b")
    joint = scene.joint(
        UsdPhysics.Joint, "/r/j", ("/r/a", "/r/b"), LocalRot0=quat(TURN), LocalRot1=quat(TURN)
    )
    _limit(joint, **{axis: _LOCK for axis in _AXES if axis not in free})
    _limit(joint, **{axis: value for axis, value in free.items() if value})

    found = scene.read().robot.joints[0].kind

    assert found == kind if not isinstance(kind, type) else isinstance(found, kind)
    if isinstance(found, Revolute | Prismatic | Continuous | Planar):
        column = "XYZ".index("Z" if len(free) > 1 else next(iter(free))[-1])
        assert found.axis == pytest.approx(tuple(TURN.as_matrix()[:, column]), abs=1e-6)
    if isinstance(found, Revolute):
        assert found.range.lower == pytest.approx(-math.pi / 2)
    if isinstance(found, Prismatic):
        assert (found.range.lower, found.range.upper) == (-0.5, 0.25)


_FRAMES = (
    ((0.1, -0.2, 0.3), Rotation.from_euler("xyz", (0.4, 0.2, -0.6))),
    ((-0.3, 0.1, 0.2), Rotation.from_euler("xyz", (-0.5, 0.9, 0.3))),
)


def _d6(free: dict[str, tuple[float, float] | None], *, backwards: bool) -> Scene:
    """Return two bodies with a D6 joint that has oblique frames in both."""
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b")
    (place0, turn0), (place1, turn1) = _FRAMES
    joint = scene.joint(
        UsdPhysics.Joint,
        "/r/j",
        ("/r/a", "/r/b"),
        LocalPos0=Gf.Vec3f(*place0),
        LocalRot0=quat(turn0),
        LocalPos1=Gf.Vec3f(*place1),
        LocalRot1=quat(turn1),
    )
    _limit(joint, **{axis: _LOCK for axis in _AXES if axis not in free})
    _limit(joint, **{axis: value for axis, value in free.items() if value})
    if backwards:
        # Keeps b the child of another joint, so that j is followed from b to a.
        UsdPhysics.ArticulationRootAPI.Apply(scene.stage.GetPrimAtPath("/r/b"))
        scene.joint(UsdPhysics.FixedJoint, "/r/base", (None, "/r/b"))
    return scene


def _matrix(place: tuple[float, float, float], turn: Rotation) -> Array:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turn.as_matrix(), place
    return matrix


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize(
    "free",
    [
        {"rotX": (-30.0, 60.0), "rotY": (-90.0, 45.0)},
        {"transY": (-0.5, 0.25), "rotY": None},
        {"transX": None, "transZ": (-1.0, 2.0), "rotY": (-10.0, 20.0)},
        {"rotX": (-30.0, 60.0), "rotY": (-90.0, 45.0), "rotZ": None},
        dict.fromkeys(_AXES, (-1.0, 2.0)),
    ],
    ids=["universal", "cylindrical", "planar", "spherical", "six"],
)
def test_joint_of_several_axes_becomes_a_chain(
    free: dict[str, tuple[float, float] | None], *, backwards: bool
) -> None:
    """The motion from frame 0 to frame 1 is T(x, y, z) Rx Ry Rz, whatever the root."""
    reading = _d6(free, backwards=backwards).read()

    values = {axis: 0.1 + 0.15 * index for index, axis in enumerate(free)}
    displacement = [values.get(f"trans{axis}", 0.0) for axis in "XYZ"]
    angles = [values.get(f"rot{axis}", 0.0) for axis in "XYZ"]
    motion = _matrix((0, 0, 0), Rotation.from_euler("XYZ", angles))
    motion[:3, 3] = displacement
    frame0, frame1 = (_matrix(*frame) for frame in _FRAMES)
    expected = frame0 @ motion @ np.linalg.inv(frame1)
    if backwards:
        expected = np.linalg.inv(expected)
    child, root = ("a", "b") if backwards else ("b", "a")
    positions = {f"j_{axis}": value for axis, value in values.items()}
    chain = [joint.name for joint in reading.robot.joints if joint.name != "base"]
    assert chain == [f"j_{axis}" for axis in (reversed(free) if backwards else free)]
    found = np.linalg.inv(pose_of(reading, root, **positions)) @ pose_of(
        reading, child, **positions
    )
    # Link frames move to joints, in the orientation of their bodies.
    np.testing.assert_allclose(found[:3, :3], expected[:3, :3], atol=1e-6)
    center = link_of(reading, child).inertial
    other = link_of(reading, root).inertial
    assert center
    assert other
    offset = np.array([0.01, -0.02, 0.03]) - center.origin.position
    moved = np.array([0.01, -0.02, 0.03]) - other.origin.position
    place = found @ [*(-offset), 1.0]
    np.testing.assert_allclose(place[:3] + moved, expected[:3, 3], atol=1e-6)
    for axis, limits in free.items():
        kind = joint_of(reading, f"j_{axis}").kind
        unit = math.radians(1.0) if axis.startswith("rot") else 1.0
        if limits is None and axis.startswith("rot"):
            assert isinstance(kind, Continuous)
        else:
            assert isinstance(kind, Revolute | Prismatic)
            low, high = limits or (-math.inf, math.inf)
            assert kind.range.lower == pytest.approx(low * unit)
            assert kind.range.upper == pytest.approx(high * unit)
    assert set(rules_of(reading)) <= {"joint-split", "joint-moved"}


def test_links_of_a_chain_have_no_mass() -> None:
    """It is stated, because PyBullet assumes 1 kg for a link without <inertial>."""
    reading = _d6({"rotX": (-30.0, 60.0), "rotY": None}, backwards=False).read()

    inertial = link_of(reading, "j_rotX_link").inertial
    assert inertial
    assert (inertial.mass, inertial.inertia) == (0.0, (0.0,) * 6)


def test_efforts_of_a_chain_are_those_of_its_axes() -> None:
    scene = _d6({"rotX": (-30.0, 60.0), "rotY": None}, backwards=False)
    prim = scene.stage.GetPrimAtPath("/r/j")
    UsdPhysics.DriveAPI.Apply(prim, "rotX").CreateMaxForceAttr(7.0)
    UsdPhysics.DriveAPI.Apply(prim, "rotY").CreateMaxForceAttr(9.0)

    reading = scene.read()

    efforts = [joint_of(reading, f"j_rot{axis}").effort for axis in "XY"]
    assert efforts == [7.0, 9.0]


def test_names_of_a_chain_are_unique() -> None:
    scene = _d6({"rotX": (-30.0, 60.0), "rotY": None}, backwards=False)
    scene.body("/r/j_rotX_link")
    scene.joint(UsdPhysics.RevoluteJoint, "/r/j_rotY", ("/r/a", "/r/j_rotX_link"))

    reading = scene.read()

    assert sorted(joint.name for joint in reading.robot.joints) == ["j_rotX", "j_rotY", "j_rotY_2"]
    names = {link.name for link in reading.robot.links}
    assert names == {"a", "b", "j_rotX_link", "j_rotX_link_2"}


@pytest.mark.parametrize("primary", ["X", "Y", "Z"])
def test_cone_limit_becomes_limits_of_two_axes(primary: str) -> None:
    """Angle 0 tilts the primary axis towards the next axis, angle 1 to the other."""
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b")
    cone = {"ConeAngle0Limit": 30.0, "ConeAngle1Limit": 40.0, "Axis": primary}
    scene.joint(UsdPhysics.SphericalJoint, "/r/ball", ("/r/a", "/r/b"), **cone)

    reading = scene.read()

    next_axis, other = ("XYZ"[("XYZ".index(primary) + step) % 3] for step in (1, 2))
    tilt = joint_of(reading, f"ball_rot{other}").kind
    assert isinstance(tilt, Revolute)
    assert tilt.range.upper == -tilt.range.lower == pytest.approx(math.radians(30.0))
    turned = Rotation.from_rotvec(0.1 * np.array(tilt.axis))
    axes = dict(zip("XYZ", np.eye(3), strict=True))
    assert turned.apply(axes[primary]) @ axes[next_axis] == pytest.approx(math.sin(0.1))
    wide = joint_of(reading, f"ball_rot{next_axis}").kind
    assert isinstance(wide, Revolute)
    assert wide.range.upper == -wide.range.lower == pytest.approx(math.radians(40.0))
    assert isinstance(joint_of(reading, f"ball_rot{primary}").kind, Continuous)
    assert rules_of(reading) == ["joint-limit-approximated", "joint-split"]


def test_reversed_limits_lock_a_joint() -> None:
    scene = Scene()
    scene.body("/r/a")
    scene.body("/r/b")
    locked = {"LowerLimit": 1.0, "UpperLimit": -1.0}
    scene.joint(UsdPhysics.RevoluteJoint, "/r/j", ("/r/a", "/r/b"), **locked)

    assert scene.read().robot.joints[0].kind == Fixed()
