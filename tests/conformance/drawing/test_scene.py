"""Scenes of the 3D view, compared with solids and kinematics; distances of link frames."""

from __future__ import annotations

import base64
import math

import numpy as np
import pytest
import trimesh
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from urdf_usd.conformance.checks.kinematics import angles
from urdf_usd.conformance.descriptions import sampling_plan
from urdf_usd.conformance.drawing.scene import (
    agreements,
    build_model,
    coarsen,
    draw_scene,
    inertia_ellipsoid,
    link_errors,
    shares,
)
from urdf_usd.conformance.engines.reference import draw_shapes, observe_robot
from urdf_usd.conformance.observation.robot import (
    Frames,
    JointObservation,
    JointType,
    LinkObservation,
    MassProperties,
    Observation,
)
from urdf_usd.converter.robot.spatial import inertia_values, rotation_about
from urdf_usd.converter.urdf.parse import parse
from urdf_usd.corpus import resolve_robot
from urdf_usd.reports.records.scene import (
    Affine,
    MotionKind,
    SceneMesh,
    SceneModel,
)


def _matrix(rows: Affine) -> NDArray[np.float64]:
    return np.vstack([np.reshape(rows, (3, 4)), [0.0, 0.0, 0.0, 1.0]])


def _points(mesh: SceneMesh) -> NDArray[np.float64]:
    steps = np.frombuffer(base64.b64decode(mesh.positions), "<u2").reshape(-1, 3)
    points: NDArray[np.float64] = np.array(mesh.origin) + steps * np.array(mesh.step)
    return points


def _faces(mesh: SceneMesh) -> NDArray[np.integer]:
    kind = "<u4" if mesh.wide else "<u2"
    return np.frombuffer(base64.b64decode(mesh.indices), kind).reshape(-1, 3)


def _sphere(rings: int) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Return a unit sphere of triangles that share no points."""
    across = np.linspace(0.0, np.pi, rings + 1)
    around = np.linspace(0.0, 2 * np.pi, 2 * rings + 1)
    theta, phi = np.meshgrid(across, around, indexing="ij")
    x, y = np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi)
    # Points at the seam and the poles are equal up to the last digit.
    grid = np.round(np.stack([x, y, np.cos(theta)], axis=-1), 12) + 0.0
    a, b = grid[:-1, :-1], grid[1:, :-1]
    c, d = grid[1:, 1:], grid[:-1, 1:]
    corners = np.concatenate(
        [np.stack(side, axis=2).reshape(-1, 3) for side in ((a, b, c), (a, c, d))]
    )
    return corners, np.arange(len(corners)).reshape(-1, 3)


def test_inertia_of_an_ellipsoid_is_drawn_as_the_ellipsoid() -> None:
    mass, squares = 2.5, np.array([0.1, 0.25, 0.4]) ** 2
    turn = rotation_about((0.6, 0.0, 0.8), np.array([0.7]))[0]
    moments = mass / 5 * (squares.sum() - squares)
    inertia = inertia_values(turn @ np.diag(moments) @ turn.T)
    drawn = inertia_ellipsoid(MassProperties(mass, (1.0, 2.0, 3.0), inertia))
    assert drawn is not None
    matrix = _matrix(drawn)
    expected = turn @ np.diag(squares) @ turn.T
    np.testing.assert_allclose(matrix[:3, :3] @ matrix[:3, :3].T, expected, atol=1e-12)
    np.testing.assert_allclose(matrix[:3, 3], (1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    "inertia", [None, (0.0,) * 6, (1.0, 0.0, 0.0, 0.1, 0.0, 0.1), (math.nan,) * 6]
)
def test_physically_impossible_inertia_is_not_drawn(
    inertia: tuple[float, float, float, float, float, float] | None,
) -> None:
    assert inertia_ellipsoid(MassProperties(1.0, (0.0, 0.0, 0.0), inertia)) is None


def test_mesh_within_its_budget_is_not_simplified() -> None:
    corners, faces = _sphere(8)
    mesh = coarsen(corners, faces, 10_000, {})
    assert mesh is not None
    # Triangles at the poles have two corners at one point.
    assert (mesh.triangles, mesh.drawn) == (256, 224)
    assert len(_points(mesh)) == 7 * 16 + 2
    radii = np.linalg.norm(_points(mesh), axis=1)
    np.testing.assert_allclose(radii, 1.0, atol=2e-5)


def test_simplified_box_keeps_its_faces() -> None:
    box = trimesh.creation.box((2.0, 1.2, 0.4))
    for _ in range(5):
        box = box.subdivide()
    turn = rotation_about((0.6, 0.64, 0.48), np.array([0.7]))[0]
    mesh = coarsen(box.vertices @ turn.T, box.faces, 1500, {})
    assert mesh is not None
    assert mesh.drawn <= 1500 < mesh.triangles
    beyond = np.max(abs(_points(mesh) @ turn) - [1.0, 0.6, 0.2], axis=1)
    np.testing.assert_allclose(beyond, 0.0, atol=1e-4)
    a, b, c = (_points(mesh)[_faces(mesh)[:, corner]] for corner in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
    assert area == pytest.approx(2 * (2 * 1.2 + 2 * 0.4 + 1.2 * 0.4), rel=1e-3)


def test_mesh_without_area_is_not_drawn() -> None:
    assert coarsen(np.ones((3, 3)), np.array([[0, 1, 2]]), 9, {}) is None


def test_mesh_is_equal_whatever_its_merged_points_and_rounding() -> None:
    corners, faces = _sphere(8)
    known: dict[bytes, SceneMesh] = {}
    first = coarsen(corners[faces].reshape(-1, 3), np.arange(faces.size).reshape(-1, 3), 9, known)
    assert coarsen(corners.astype(np.float32), faces, 9, known) is first
    assert coarsen(corners + 1.0, faces, 9, known) != first


def test_budget_is_divided_among_meshes_that_are_not_small() -> None:
    assert shares([300, 8_000, 12_000], 10_000) == [300, 3940, 5911]
    assert shares([300, 800], 10_000) == [300, 800]


@pytest.mark.parametrize("source", ["pybullet:r2d2.urdf", "pybullet:cartpole.urdf"])
def test_joints_of_a_scene_move_links_like_the_kinematics(source: str) -> None:
    robot_source = resolve_robot(source)
    packages = {name: str(place) for name, place in robot_source.packages}
    robot = parse(str(robot_source.path), packages=packages).robot
    spec = observe_robot(robot, configurations := sampling_plan(robot))
    assert spec.frames is not None
    frames = {"reference": spec.frames}
    drawings = {"urdf": draw_shapes(robot)}
    scene = draw_scene(drawings, {"urdf": spec}, frames, configurations)
    (model,) = scene.models
    for row, configuration in enumerate(scene.configurations):
        poses = _poses(model, configuration.positions)
        for column, link in enumerate(spec.frames.links):
            expected = spec.frames.positions[row, column]
            np.testing.assert_allclose(poses[link][:3, 3], expected, atol=1e-12)


def _poses(
    model: SceneModel, positions: dict[str, tuple[float, ...]]
) -> dict[str, NDArray[np.float64]]:
    poses = {model.root: np.eye(4)}
    for joint in model.joints:
        assert joint.anchor == (0.0, 0.0, 0.0)
        moved = np.eye(4)
        for motion, value in zip(joint.motions, positions.get(joint.name, ()), strict=True):
            if motion.kind is MotionKind.TURN:
                moved[:3, :3] = rotation_about(motion.axis, np.array([value]))[0]
            else:
                moved[:3, 3] = np.array(motion.axis) * value
        poses[joint.child] = poses[joint.parent] @ _matrix(joint.rest) @ moved
    return poses


def test_sliders_have_finite_limits() -> None:
    joint = JointObservation(
        *("elbow", JointType.REVOLUTE, "a", "b", -math.inf, 1e16), axis=(0.0, 0.6, 0.8)
    )
    links = (LinkObservation("a"), LinkObservation("b"))
    frames = Frames(("a", "b"), np.zeros((1, 2, 3)), np.tile(np.eye(3), (1, 2, 1, 1)))
    spec = Observation("reference", "arm", "a", frozenset(), links, (joint,), frames)
    (motion,) = build_model("urdf", spec, {}, {}).joints[0].motions
    assert (motion.lower, motion.upper) == (-math.pi, math.pi)


_TURN = Rotation.from_euler("xyz", [0.4, -1.1, 2.3])


def _frames(links: tuple[str, ...], shift: float = 0.0, turn: float = 0.0) -> Frames:
    """Place links at oblique poses in two configurations; the last may be displaced."""
    count = len(links)
    positions = np.arange(2.0 * count * 3).reshape(2, count, 3) / 7.0
    rotations = np.tile(_TURN.as_matrix(), (2, count, 1, 1))
    positions[1, -1, 1] += shift
    axis = np.array([0.48, 0.6, 0.64])
    rotations[1, -1] = (_TURN * Rotation.from_rotvec(turn * axis)).as_matrix()
    return Frames(links, positions, rotations)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-4, 0.5, 3.0, math.pi])
def test_small_angles_keep_their_digits(angle: float) -> None:
    turned = (_TURN * Rotation.from_rotvec([0.0, angle, 0.0])).as_matrix()
    found = float(angles(_TURN.as_matrix(), turned))
    assert found == pytest.approx(angle, rel=1e-6, abs=1e-15)


def test_errors_are_listed_by_link_and_configuration() -> None:
    first = _frames(("hand", "arm"), shift=0.25, turn=0.125)
    plain = _frames(("hand", "arm"))
    second = Frames(
        ("arm", "extra", "hand"),
        plain.positions[:, [1, 0, 0]],
        plain.rotations[:, [1, 0, 0]],
    )
    errors = link_errors(first, second, ("zero", "upper"))
    assert errors is not None
    assert errors.links == ("hand", "arm")
    assert errors.configurations == ("zero", "upper")
    assert errors.positions == ((0.0, 0.0), (0.0, 0.25))
    assert errors.rotations == ((0.0, 0.0), (0.0, 0.125))
    infinite = link_errors(plain, _frames(("hand", "arm"), shift=math.inf), ("zero", "upper"))
    assert infinite is not None
    assert infinite.positions == ((0.0, 0.0), (0.0, None))


def test_every_pair_of_engines_is_compared_once() -> None:
    names = ("base", "hand")
    frames = {
        "reference": _frames(names),
        "engine": _frames(names, shift=0.5),
        "other": _frames(("elsewhere",)),
        "usd": _frames(names),
    }
    found = {one.engines: (one.position, one.link) for one in agreements(frames)}
    assert found == {
        ("reference", "engine"): (0.5, "hand"),
        ("reference", "usd"): (0.0, None),
        ("engine", "usd"): (0.5, "hand"),
    }
