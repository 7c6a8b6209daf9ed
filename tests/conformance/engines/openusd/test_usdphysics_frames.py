"""Link frames of the USD engine; expected values are products of known transforms.

Quaternions in the stages have exact cosines: (0.8, 0.6, 0, 0) rotates by acos(0.28).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.engines.usd_observations import (
    DATA,
    Array,
    body,
    joint,
    joint_named,
    observe_stage,
    placed,
    pose,
    rotation_about,
    stage,
)
from urdf_usd.conformance.engines.openusd.transforms import (
    inverses,
    rigid_part,
    rotations,
    separation,
    transforms,
    turns,
)
from urdf_usd.conformance.observation.robot import Base, JointType

# Rounding of the stages' float32 quaternions over a few joints.
CLOSE = 5e-7
ELBOW, SLIDE, WRIST = [[0.0], [0.7]], [[0.0], [0.11]], [[0.0], [-1.3]]

# A plane whose normal is oblique in the child's frame: the joint's Z axis, rotated by
# (0.8, 0.6, 0, 0), is (0, -0.96, 0.28) there.
PLANE = """
    point3f physics:localPos0 = (0.1, 0.2, 0.3)
    quatf physics:localRot0 = (0.8, 0.6, 0, 0)
    quatf physics:localRot1 = (0.8, 0.6, 0, 0)
"""
NORMAL = np.array((0.0, -0.96, 0.28))


def limits(ranges: dict[str, tuple[str, str]]) -> str:
    """Return the limit attributes of degrees of freedom."""
    return "\n".join(
        f"    float limit:{freedom}:physics:low = {low}\n"
        f"    float limit:{freedom}:physics:high = {high}"
        for freedom, (low, high) in ranges.items()
    )


def six(ranges: dict[str, tuple[str, str]], content: str = "") -> str:
    """Return the text of two bodies and an untyped joint."""
    schemas = [f"PhysicsLimitAPI:{freedom}" for freedom in ranges]
    text = joint("PhysicsJoint", "six", content + limits(ranges), schemas=schemas)
    return body("a") + body("b") + text


LOCKED = ("1", "-1")
IN_PLANE = {"transZ": LOCKED, "rotX": LOCKED, "rotY": LOCKED}


def test_frames_follow_the_joints_of_a_nested_asset() -> None:
    arm = observe_stage(
        DATA / "nested_arm.usda", {"elbow": ELBOW, "slide": SLIDE, "wrist_turn": WRIST}
    )

    for k in (0, 1):
        base = pose((0.1, 0.2, 0.3), (0.8, 0.6, 0, 0))
        tool = base @ pose((0.4, -0.3, 0.2), (0.8, 0, 0, 0.6))
        bent = rotation_about((0.28, 0, -0.96), ELBOW[k][0])
        upper = tool @ pose((0.5, 0.1, -0.2), (0.5, 0.5, 0.5, 0.5)) @ bent
        slid = pose((0.05, 0.06, 0.07), (0.8, 0, 0, -0.6)) @ pose((0, 0, SLIDE[k][0]))
        slider = upper @ slid
        wrist = slider @ pose((0, 0, 0.2)) @ rotation_about((0, 1, 0), WRIST[k][0])
        expected = {
            "world": np.eye(4),
            "base-link": base,
            "tool": tool,
            "upper": upper,
            "slider": slider,
            "wrist": wrist,
        }
        for link, transform in expected.items():
            np.testing.assert_allclose(placed(arm, link, k), transform, atol=CLOSE)


def test_axis_is_in_the_child_frame() -> None:
    """The elbow's X axis, rotated by localRot1."""
    elbow = joint_named(observe_stage(DATA / "nested_arm.usda"), "elbow")

    assert elbow.axis == pytest.approx((0.28, 0, -0.96), abs=CLOSE)


def test_frames_follow_the_joints_of_a_flat_asset() -> None:
    """With the child as body0, a positive position rotates the other way."""
    cart = observe_stage(DATA / "flat_cart.usda", {"tilt": [[0.0], [0.4]]})
    pole = pose((1, 0, 0.5)) @ rotation_about((0, 1, 0), -0.4)

    np.testing.assert_allclose(placed(cart, "pole", 1), pole, atol=CLOSE)
    tip = pole @ pose((0, 0, 0.75))
    np.testing.assert_allclose(placed(cart, "tip", 1), tip, atol=CLOSE)
    assert joint_named(cart, "tilt").axis == pytest.approx((0, -1, 0))


@pytest.mark.parametrize(
    ("schemas", "subjects"),
    [((), ["joint six"]), (("PhysxJointAPI",), []), (("NewtonJointAPI",), ["joint six"])],
)
def test_child_in_body0_is_a_setting_unless_the_asset_is_for_physx(
    schemas: tuple[str, ...], subjects: list[str], tmp_path: Path
) -> None:
    """Newton 1.8 refuses it: "Reversed joints are not supported"."""
    moving = joint("PhysicsRevoluteJoint", "six", "", ("b", "a"), schemas)
    root = body("a", schemas=("PhysicsArticulationRootAPI",))
    reading = observe_stage(stage(tmp_path, root + body("b") + moving))

    found = [one.subject for one in reading.unexpected or () if "body0" in one.message]
    assert found == subjects


def test_planar_joint_moves_in_its_plane_and_rotates_about_its_normal(tmp_path: Path) -> None:
    in_plane = np.cross(NORMAL, (1.0, 0.0, 0.0)) * 0.3 + np.array((0.2, 0, 0))
    requested = [[*(in_plane + 0.5 * NORMAL), 0.6]]
    reading = observe_stage(stage(tmp_path, six(IN_PLANE, PLANE)), {"six": requested})

    assert joint_named(reading, "six").type is JointType.PLANAR
    assert joint_named(reading, "six").axis == pytest.approx(tuple(NORMAL), abs=CLOSE)
    expected = pose((0.1, 0.2, 0.3)) @ pose(in_plane) @ rotation_about(NORMAL, 0.6)
    np.testing.assert_allclose(placed(reading, "b", 0), expected, atol=CLOSE)


def test_planar_displacement_is_that_of_the_child_origin(tmp_path: Path) -> None:
    apart = "    point3f physics:localPos1 = (0.3, 0.1, 0)\n"
    requested = [[0.2, -0.1, 0.0, 0.6]]
    reading = observe_stage(stage(tmp_path, six(IN_PLANE, apart)), {"six": requested})

    start = pose((-0.3, -0.1, 0))
    expected = start @ pose((0.2, -0.1, 0)) @ rotation_about((0, 0, 1), 0.6)
    np.testing.assert_allclose(placed(reading, "b", 0), expected, atol=CLOSE)


@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        ({}, JointType.FLOATING),
        (dict.fromkeys(("transX", "transY", "transZ"), LOCKED), JointType.SPHERICAL),
        (IN_PLANE, JointType.PLANAR),
        (IN_PLANE | {"transX": ("-inf", "inf")}, JointType.PLANAR),
        (IN_PLANE | {"transX": LOCKED, "transY": LOCKED}, JointType.CONTINUOUS),
        (
            IN_PLANE | {"transX": LOCKED, "transY": ("0", "0"), "rotZ": ("-90", "45")},
            JointType.REVOLUTE,
        ),
        (IN_PLANE | {"transX": LOCKED, "rotZ": LOCKED}, JointType.PRISMATIC),
        (IN_PLANE | {"transX": LOCKED, "transY": LOCKED, "rotZ": LOCKED}, JointType.FIXED),
    ],
)
def test_untyped_joint_is_classified_by_its_degrees_of_freedom(
    tmp_path: Path, ranges: dict[str, tuple[str, str]], expected: JointType
) -> None:
    reading = observe_stage(stage(tmp_path, six(ranges)))

    assert joint_named(reading, "six").type is expected


def test_infinite_limits_do_not_lock(tmp_path: Path) -> None:
    """Some writers author inf to -inf as a lock; OpenUSD reads it as free."""
    meant = dict.fromkeys(IN_PLANE, ("inf", "-inf"))
    reading = observe_stage(stage(tmp_path, six(meant)))

    assert joint_named(reading, "six").type is JointType.FLOATING


def test_degrees_of_freedom_without_a_urdf_type_are_noted(tmp_path: Path) -> None:
    reading = observe_stage(stage(tmp_path, six(IN_PLANE | {"rotZ": LOCKED})))

    assert reading.joints == ()
    assert "joint six is not stated: it leaves TransX, TransY free" in reading.notes


def test_floating_joint_moves_its_body(tmp_path: Path) -> None:
    text = """
        bool physics:jointEnabled = false
        point3f physics:localPos0 = (0.1, 0.2, 0.3)
        quatf physics:localRot0 = (0.8, 0.6, 0, 0)
        custom uniform string urdf:joint:type = "floating"
    """
    content = body("a") + body("b") + joint("PhysicsJoint", "loose", text)
    requested = [[0.4, 0.5, 0.6, 0.8, 0.0, 0.6, 0.0]]
    reading = observe_stage(stage(tmp_path, content), {"loose": requested})

    expected = (
        pose((0.1, 0.2, 0.3), (0.8, 0.6, 0, 0))
        @ pose((0.4, 0.5, 0.6))
        @ pose(wxyz=(0.8, 0, 0.6, 0))
    )
    np.testing.assert_allclose(placed(reading, "b", 0), expected, atol=CLOSE)


def test_floating_body_starts_where_it_is_authored(tmp_path: Path) -> None:
    marked = """
        double3 xformOp:translate = (0.1, 0.2, 0.3)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        custom uniform string urdf:joint:name = "loose"
        custom uniform string urdf:joint:type = "floating"
        custom uniform string urdf:joint:parent = "a"
    """
    path = stage(tmp_path, body("a") + body("b", marked))
    reading = observe_stage(path, {"loose": [[0.4, 0.5, 0.6, 0.8, 0.0, 0.6, 0.0]]})

    expected = pose((0.5, 0.7, 0.9), (0.8, 0, 0.6, 0))
    np.testing.assert_allclose(placed(reading, "b", 0), expected, atol=CLOSE)


def test_spherical_joint_rotates_the_child_about_its_anchor(tmp_path: Path) -> None:
    text = """
        point3f physics:localPos1 = (0, 0, 0.25)
        quatf physics:localRot0 = (0.8, 0.6, 0, 0)
        quatf physics:localRot1 = (0.8, 0.6, 0, 0)
    """
    content = body("a") + body("b") + joint("PhysicsSphericalJoint", "ball", text)
    reading = observe_stage(stage(tmp_path, content), {"ball": [[0.8, 0.0, 0.6, 0.0]]})

    expected = pose(wxyz=(0.8, 0, 0.6, 0)) @ pose((0, 0, -0.25))
    np.testing.assert_allclose(placed(reading, "b", 0), expected, atol=CLOSE)


def test_joint_frames_determine_poses_instead_of_body_transforms(tmp_path: Path) -> None:
    moved = """
        double3 xformOp:translate = (0.003, 0, 0.504)
        quatf xformOp:orient = (0.8, 0, 0, 0.6)
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:orient"]
    """
    hinge = "    point3f physics:localPos0 = (0, 0, 0.5)\n"
    content = body("a") + body("b", moved) + joint("PhysicsFixedJoint", "glue", hinge)
    reading = observe_stage(stage(tmp_path, content))

    np.testing.assert_allclose(placed(reading, "b", 0), pose((0, 0, 0.5)), atol=CLOSE)
    (gap,) = reading.assembly
    assert gap.joint == "glue"
    assert gap.position == pytest.approx(0.005)
    assert gap.rotation == pytest.approx(np.arccos(0.28), abs=CLOSE)
    assert "joints with a gap: 1, worst glue (0.005 m, 1.29 rad)" in reading.notes


def test_consistent_assets_have_no_assembly_gap() -> None:
    """Body transforms match the joint frames within float32."""
    for name in ("nested_arm.usda", "flat_cart.usda"):
        gaps = observe_stage(DATA / name).assembly
        assert gaps
        assert all(max(gap.position, gap.rotation) < CLOSE for gap in gaps)


def test_lengths_of_a_stage_in_centimetres_become_metres(tmp_path: Path) -> None:
    text = """
        point3f physics:localPos0 = (10, 20, 30)
        uniform token physics:axis = "Y"
        float physics:lowerLimit = -5
    """
    tip = 'def Xform "tip"\n{\n    double3 xformOp:translate = (0, 0, 75)\n'
    tip += '    uniform token[] xformOpOrder = ["xformOp:translate"]\n}\n'
    content = body("a") + body("b", tip) + joint("PhysicsPrismaticJoint", "rail", text)
    path = stage(tmp_path, content, 'metersPerUnit = 0.01\n    upAxis = "Y"')
    reading = observe_stage(path, {"rail": [[0.5]]})

    np.testing.assert_allclose(placed(reading, "tip", 0), pose((0.1, 0.7, 1.05)), atol=CLOSE)
    assert joint_named(reading, "rail").lower == pytest.approx(-0.05)


def test_scale_of_a_body_scales_its_joint_positions(tmp_path: Path) -> None:
    """As in OpenUSD's parser: local positions are in the scaled space."""
    scaled = """
        float3 xformOp:scale = (2, 2, 2)
        uniform token[] xformOpOrder = ["xformOp:scale"]
    """
    hinge = "    point3f physics:localPos0 = (0, 0, 0.5)\n"
    content = body("a", scaled) + body("b") + joint("PhysicsFixedJoint", "g", hinge)
    reading = observe_stage(stage(tmp_path, content))

    np.testing.assert_allclose(placed(reading, "b", 0), pose((0, 0, 1)), atol=CLOSE)


numbers = st.floats(-10, 10)
quats = st.tuples(numbers, numbers, numbers, numbers).filter(
    lambda quat: np.linalg.norm(quat) > 1e-3
)
positions = st.tuples(numbers, numbers, numbers)


@given(quats, positions)
def test_inverse_undoes_a_transform(quat: tuple[float, ...], position: tuple[float, ...]) -> None:
    rigid = transforms(rotations(quat), position)

    np.testing.assert_allclose(rigid @ inverses(rigid), np.eye(4), atol=1e-12)


@given(quats, positions, st.sampled_from([1.0, -1.0]))
def test_rigid_part_excludes_scale(
    quat: tuple[float, ...], position: tuple[float, ...], sign: float
) -> None:
    rigid = transforms(rotations(quat), position)
    scaled: Array = rigid @ np.diag((sign * 0.5, sign * 2.0, sign * 3.0, 1.0))

    np.testing.assert_allclose(rigid_part(scaled), rigid, atol=1e-12)


@given(st.integers(0, 2), st.floats(0, np.pi))
def test_separation_returns_distance_and_angle(axis: int, angle: float) -> None:
    first = pose((0.1, 0.2, 0.3), (0.8, 0.6, 0, 0))
    second = first @ transforms(turns(axis, np.array([angle]))[0], (0, 0.3, 0.4))

    assert separation(first, second) == pytest.approx((0.5, angle), abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("PhysicsRevoluteJoint", [[0.1, 0.2, 0.3, 0.4]]),
        ("PhysicsFixedJoint", [[]]),
        ("PhysicsDistanceJoint", [[0.5]]),
    ],
)
def test_joint_with_unexpected_coordinates_stays_at_zero(
    tmp_path: Path, kind: str, rows: list[list[float]]
) -> None:
    hinge = "    point3f physics:localPos0 = (0, 0, 0.5)\n"
    content = body("a") + body("b") + joint(kind, "it", hinge)
    reading = observe_stage(stage(tmp_path, content), {"it": rows})

    np.testing.assert_allclose(placed(reading, "b", 0), pose((0, 0, 0.5)), atol=CLOSE)


def test_limits_on_a_plane_are_noted(tmp_path: Path) -> None:
    reading = observe_stage(stage(tmp_path, six(IN_PLANE | {"transX": ("-1", "2")})))

    assert joint_named(reading, "six").type is JointType.PLANAR
    assert joint_named(reading, "six").note == "some of its free axes have limits"


def test_joint_at_a_static_collider_is_anchored_at_its_pose(tmp_path: Path) -> None:
    post = """
    def Cube "post" (prepend apiSchemas = ["PhysicsCollisionAPI"])
    {
        double3 xformOp:translate = (1, 2, 3)
        quatf xformOp:orient = (0.8, 0.6, 0, 0)
        float3 xformOp:scale = (2, 2, 2)
        uniform token[] xformOpOrder = [
            "xformOp:translate", "xformOp:orient", "xformOp:scale"
        ]
    }
    """
    held = joint(
        "PhysicsFixedJoint",
        "hold",
        "    point3f physics:localPos0 = (0.1, 0.2, 0.3)",
        ("post", "a"),
    )
    reading = observe_stage(stage(tmp_path, post + body("a") + held))

    assert reading.base is Base.FIXED
    (gap,) = reading.assembly
    expected = pose((1, 2, 3), (0.8, 0.6, 0, 0)) @ pose((0.2, 0.4, 0.6))
    assert gap.position == pytest.approx(np.linalg.norm(expected[:3, 3]), abs=1e-6)
    assert not any("does not exist" in note for note in reading.notes)
