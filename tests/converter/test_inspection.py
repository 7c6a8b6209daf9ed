"""Extents of meshes and links, compared with formulas and trimesh."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import trimesh

from urdf_usd.converter.inspection import Bounds, LinkExtent, measure_link, measure_meshes
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import quat_wxyz_from_rpy

_TURNED = m.Pose((0.1, -0.2, 0.3), quat_wxyz_from_rpy((0.4, -0.5, 0.6)))
_ONES = (1.0, 1.0, 1.0)
_SHAPES: dict[str, tuple[m.Geometry, trimesh.Trimesh]] = {
    "box": (m.Box((0.3, 0.2, 0.1)), trimesh.creation.box((0.3, 0.2, 0.1))),
    "sphere": (m.Sphere(0.3), trimesh.creation.icosphere(5, 0.3)),
    "cylinder": (m.Cylinder(0.1, 0.5), trimesh.creation.cylinder(0.1, 0.5, sections=500)),
    "capsule": (m.Capsule(0.1, 0.5), trimesh.creation.capsule(0.5, 0.1, count=[200, 200])),
}


def _turned_bounds(mesh: trimesh.Trimesh) -> np.ndarray:
    """Bound a mesh at the place ``_TURNED``, with trimesh's own rotations."""
    matrix = trimesh.transformations.euler_matrix(0.4, -0.5, 0.6, "sxyz")  # type: ignore[no-untyped-call]  # trimesh annotates part
    matrix[:3, 3] = _TURNED.position
    return np.array(mesh.copy().apply_transform(matrix).bounds)


def _extent(*shapes: m.Visual | m.Collision, inertial: m.Inertial | None = None) -> LinkExtent:
    visuals = tuple(shape for shape in shapes if isinstance(shape, m.Visual))
    collisions = tuple(shape for shape in shapes if isinstance(shape, m.Collision))
    link = m.Link("a", inertial, visuals, collisions)
    found = measure_link(link, measure_meshes(m.Robot("r", (link,), ())).by_path)
    assert found is not None
    return found


@pytest.mark.parametrize("name", _SHAPES)
def test_extent_of_a_primitive_in_its_link(name: str) -> None:
    # With a rotated origin; volumes of round shapes are accurate to 3 %.
    geometry, reference = _SHAPES[name]
    if name == "capsule":
        # trimesh begins its capsule at the centre of one cap.
        reference = reference.copy().apply_translation(-reference.bounds.mean(axis=0))

    extent = _extent(m.Visual(None, _TURNED, geometry))

    bounds = _turned_bounds(reference)
    assert extent.bounds.lower == pytest.approx(bounds[0], abs=1e-4)
    assert extent.bounds.upper == pytest.approx(bounds[1], abs=1e-4)
    assert extent.hull_volume == pytest.approx(reference.volume, rel=0.03)


def test_hull_of_two_boxes_is_larger_than_both() -> None:
    # Two cubes of one metre, two metres apart, span a box of 3 m^3.
    cubes = (m.Collision(None, m.Pose((x, 0.0, 0.0)), m.Box((1, 1, 1))) for x in (0, 2))

    assert _extent(*cubes).hull_volume == pytest.approx(3.0)


def test_reach_is_measured_from_the_centre_of_mass() -> None:
    inertial = m.Inertial(1.0, m.Pose((0.1, 0.0, 0.0)), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0))
    shape = m.Collision(None, m.Pose((0.2, 0.0, 0.0)), m.Box((0.2, 0.4, 0.6)))

    assert _extent(shape, inertial=inertial).reach == pytest.approx(math.hypot(0.2, 0.2, 0.3))


def _shown(path: Path, scale: m.Vec3 = _ONES, origin: m.Pose = _TURNED) -> m.Visual:
    return m.Visual(None, origin, m.MeshFile(path.name, str(path), scale))


def test_mesh_is_measured_at_every_scale(tmp_path: Path) -> None:
    # Compared with the same operations of trimesh.
    file, torus = tmp_path / "m.stl", trimesh.creation.torus(0.3, 0.1)
    torus.export(file)

    extent = _extent(_shown(file, (1.0, 2.0, -0.5)), _shown(file))

    stretched = torus.copy().apply_scale((1.0, 2.0, -0.5))
    both = np.stack([_turned_bounds(torus), _turned_bounds(stretched)])
    assert extent.bounds.lower == pytest.approx(both[:, 0].min(axis=0), abs=1e-3)
    assert extent.bounds.upper == pytest.approx(both[:, 1].max(axis=0), abs=1e-3)


def test_hull_of_a_round_mesh_is_simplified(tmp_path: Path) -> None:
    # Its volume is accurate to 2 %, its size to 0.5 %.
    file, ball = tmp_path / "m.stl", trimesh.creation.icosphere(6, 0.5)
    ball.export(file)
    visual = _shown(file, (1.0, 0.1, 1.0))

    extent = _extent(visual)

    (mesh,) = measure_meshes(m.Robot("r", (m.Link("a", visuals=(visual,)),), ())).by_path.values()
    assert len(mesh.hull) < 2500 < 40_000 < len(ball.vertices)
    assert mesh.triangles == len(ball.faces)
    assert extent.hull_volume == pytest.approx(4.0 / 3.0 * math.pi * 0.5**3 * 0.1, rel=0.02)
    bounds = _turned_bounds(ball.copy().apply_scale((1.0, 0.1, 1.0)))
    assert extent.bounds.size == pytest.approx(bounds[1] - bounds[0], rel=5e-3)


def test_flat_mesh_has_bounds_and_no_volume(tmp_path: Path) -> None:
    plane = trimesh.Trimesh([[0, 0, 0], [3, 0, 0], [3, 2, 0], [0, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    plane.export(tmp_path / "m.stl")

    extent = _extent(_shown(tmp_path / "m.stl", origin=m.Pose()))

    assert extent.hull_volume == 0.0
    assert extent.bounds == Bounds((0.0, 0.0, 0.0), (3.0, 2.0, 0.0))


def test_very_large_mesh_causes_no_warning(tmp_path: Path) -> None:
    lines = ["v 0 0 0", "v 1e38 0 0", "v 0 1e38 0", "v 0 0 1e38"]
    faces = ["f 1 2 3", "f 1 2 4", "f 1 3 4", "f 2 3 4"]
    (tmp_path / "m.obj").write_text("\n".join([*lines, *faces]))

    assert not math.isfinite(_extent(_shown(tmp_path / "m.obj", (1e300, 1, 1))).bounds.diagonal)


def test_unreadable_mesh_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "m.stl").write_bytes(b"nonsense")
    visuals = (_shown(tmp_path / "m.stl"), _shown(tmp_path / "m.stl", (2.0, 2.0, 2.0)))
    link = m.Link("a", visuals=visuals)

    meshes = measure_meshes(m.Robot("r", (link,), ()))

    assert [diagnostic.rule for diagnostic in meshes.diagnostics] == ["mesh-unreadable"]
    assert measure_link(link, meshes.by_path) is None


@pytest.mark.parametrize(
    ("point", "distance"),
    [((0.5, 1.0, 1.5), 0.0), ((1.0, 2.0, 3.0), 0.0), ((4.0, 6.0, 2.0), 5.0)],
)
def test_distance_of_a_point_from_a_box(point: m.Vec3, distance: float) -> None:
    # Zero inside; otherwise that to the nearest point of the box.
    assert Bounds((0.0, 0.0, 0.0), (1.0, 2.0, 3.0)).distance(point) == distance
