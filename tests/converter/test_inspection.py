"""Extents of meshes, links and robots, compared with formulas and trimesh."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import trimesh

from urdf_usd.converter.inspection import (
    Bounds,
    measure_link,
    measure_meshes,
)
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import quat_wxyz_from_rpy

TURNED = m.Pose((0.1, -0.2, 0.3), quat_wxyz_from_rpy((0.4, -0.5, 0.6)))
SHAPES: dict[str, tuple[m.Geometry, trimesh.Trimesh]] = {
    "box": (m.Box((0.3, 0.2, 0.1)), trimesh.creation.box((0.3, 0.2, 0.1))),
    "sphere": (m.Sphere(0.3), trimesh.creation.icosphere(5, 0.3)),
    "cylinder": (
        m.Cylinder(0.1, 0.5),
        trimesh.creation.cylinder(0.1, 0.5, sections=500),
    ),
    "capsule": (
        m.Capsule(0.1, 0.5),
        trimesh.creation.capsule(0.5, 0.1, count=[200, 200]),
    ),
}


def turned_bounds(
    mesh: trimesh.Trimesh,
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Bound a mesh at the place ``TURNED``, with trimesh's own rotations."""
    euler_matrix = cast("Any", trimesh.transformations.euler_matrix)
    matrix = euler_matrix(0.4, -0.5, 0.6, "sxyz")
    matrix[:3, 3] = TURNED.position
    return np.array(mesh.copy().apply_transform(matrix).bounds)


@pytest.mark.parametrize("name", SHAPES)
def test_extent_of_a_primitive_in_its_link(name: str) -> None:
    # With a rotated origin; volumes of round shapes are accurate to 3 %.
    geometry, reference = SHAPES[name]
    if name == "capsule":
        # trimesh begins its capsule at the centre of one cap.
        reference = reference.copy().apply_translation(-reference.bounds.mean(axis=0))

    extent = measure_link(m.Link("a", visuals=(m.Visual(None, TURNED, geometry),)), {})

    assert extent is not None
    bounds = turned_bounds(reference)
    assert extent.bounds.lower == pytest.approx(bounds[0], abs=1e-4)
    assert extent.bounds.upper == pytest.approx(bounds[1], abs=1e-4)
    assert extent.hull_volume == pytest.approx(reference.volume, rel=0.03)


def test_hull_of_two_boxes_is_larger_than_both() -> None:
    # Two cubes of one metre, two metres apart, span a box of 3 m^3.
    cubes = tuple(m.Collision(None, m.Pose((x, 0.0, 0.0)), m.Box((1, 1, 1))) for x in (0, 2))

    extent = measure_link(m.Link("a", collisions=cubes), {})

    assert extent is not None
    assert extent.hull_volume == pytest.approx(3.0)


def test_reach_is_measured_from_the_centre_of_mass() -> None:
    inertial = m.Inertial(1.0, m.Pose((0.1, 0.0, 0.0)), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    shape = m.Collision(None, m.Pose((0.2, 0.0, 0.0)), m.Box((0.2, 0.4, 0.6)))

    extent = measure_link(m.Link("a", inertial, collisions=(shape,)), {})

    assert extent is not None
    assert extent.reach == pytest.approx(math.hypot(0.2, 0.2, 0.3))


def mesh_robot(path: Path, *scales: tuple[float, float, float]) -> m.Robot:
    """Return a robot that shows one mesh at some scales."""
    visuals = tuple(
        m.Visual(None, TURNED, m.MeshFile("m.stl", str(path), scale)) for scale in scales
    )
    return m.Robot("r", (m.Link("a", visuals=visuals),), ())


def test_mesh_is_measured_once_for_all_scales(tmp_path: Path) -> None:
    # Compared with the same operations of trimesh.
    torus = trimesh.creation.torus(0.3, 0.1)
    torus.export(tmp_path / "m.stl")
    robot = mesh_robot(tmp_path / "m.stl", (1.0, 2.0, -0.5), (1.0, 1.0, 1.0))

    meshes = measure_meshes(robot)
    extent = measure_link(robot.links[0], meshes.by_path)

    assert [one.triangles for one in meshes.by_path.values()] == [len(torus.faces)]
    assert extent is not None
    stretched = torus.copy().apply_scale((1.0, 2.0, -0.5))
    both = np.stack([turned_bounds(torus), turned_bounds(stretched)])
    assert extent.bounds.lower == pytest.approx(both[:, 0].min(axis=0), abs=1e-3)
    assert extent.bounds.upper == pytest.approx(both[:, 1].max(axis=0), abs=1e-3)


def test_hull_of_a_round_mesh_is_simplified(tmp_path: Path) -> None:
    # Its volume is accurate to 2 %, its size to 0.5 %.
    ball = trimesh.creation.icosphere(6, 0.5)
    assert len(ball.vertices) > 40_000
    ball.export(tmp_path / "m.stl")
    robot = mesh_robot(tmp_path / "m.stl", (1.0, 0.1, 1.0))

    meshes = measure_meshes(robot)
    extent = measure_link(robot.links[0], meshes.by_path)

    (hull,) = (one.hull for one in meshes.by_path.values())
    assert len(hull) < 2500
    assert extent is not None
    expected = 4.0 / 3.0 * math.pi * 0.5**3 * 0.1
    assert extent.hull_volume == pytest.approx(expected, rel=0.02)
    bounds = turned_bounds(ball.copy().apply_scale((1.0, 0.1, 1.0)))
    assert extent.bounds.size == pytest.approx(bounds[1] - bounds[0], rel=5e-3)


def test_flat_mesh_has_bounds_and_no_volume(tmp_path: Path) -> None:
    plane = trimesh.Trimesh([[0, 0, 0], [3, 0, 0], [3, 2, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    plane.export(tmp_path / "m.stl")
    path = str(tmp_path / "m.stl")
    visual = m.Visual(None, m.Pose(), m.MeshFile("m.stl", path))
    robot = m.Robot("r", (m.Link("a", visuals=(visual,)),), ())

    extent = measure_link(robot.links[0], measure_meshes(robot).by_path)

    assert extent is not None
    assert extent.hull_volume == 0.0
    assert extent.bounds == Bounds((0.0, 0.0, 0.0), (3.0, 2.0, 0.0))


def test_very_large_mesh_causes_no_warning(tmp_path: Path) -> None:
    lines = ["v 0 0 0", "v 1e38 0 0", "v 0 1e38 0", "v 0 0 1e38"]
    faces = ["f 1 2 3", "f 1 2 4", "f 1 3 4", "f 2 3 4"]
    (tmp_path / "m.obj").write_text("\n".join([*lines, *faces]))
    robot = mesh_robot(tmp_path / "m.obj", (1e300, 1.0, 1.0))

    extent = measure_link(robot.links[0], measure_meshes(robot).by_path)

    assert extent is not None
    assert not math.isfinite(extent.bounds.diagonal)


def test_unreadable_mesh_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "m.stl").write_bytes(b"nonsense")
    robot = mesh_robot(tmp_path / "m.stl", (1.0, 1.0, 1.0), (2.0, 2.0, 2.0))

    meshes = measure_meshes(robot)

    assert [diagnostic.rule for diagnostic in meshes.diagnostics] == ["mesh-unreadable"]
    assert measure_link(robot.links[0], meshes.by_path) is None


@pytest.mark.parametrize(
    ("point", "distance"),
    [((0.5, 1.0, 1.5), 0.0), ((1.0, 2.0, 3.0), 0.0), ((4.0, 6.0, 2.0), 5.0)],
)
def test_distance_of_a_point_from_a_box(point: tuple[float, float, float], distance: float) -> None:
    # Zero inside; otherwise that to the nearest point of the box.
    assert Bounds((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)).distance(point) == distance
