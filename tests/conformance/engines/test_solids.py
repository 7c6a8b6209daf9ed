"""Volumes and inertias of solids, against trimesh and formulas."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from tests.conformance.engines.usd_observations import pose
from urdf_usd.conformance.engines import surfaces

# Meshes inscribed in round solids: with 256 sections, up to 3e-4 less volume.
ROUND = 1e-3
CONE = trimesh.creation.cone(0.3, 2.0, sections=256)
CONE.apply_translation((0, 0, -1.0))


def _agrees(solid: surfaces.Solid, mesh: trimesh.Trimesh, tolerance: float = 1e-9) -> None:
    size = solid.volume ** (1 / 3)
    assert solid.volume == pytest.approx(mesh.volume, rel=tolerance)
    np.testing.assert_allclose(solid.center, mesh.center_mass, atol=max(tolerance, 1e-9) * size)
    scale = max(tolerance, 1e-9) * solid.volume * size**2
    np.testing.assert_allclose(solid.inertia, mesh.moment_inertia, atol=scale)


@pytest.mark.parametrize(
    ("solid", "mesh", "tolerance"),
    [
        (surfaces.box(np.array((0.5, 1.0, 1.5))), trimesh.creation.box((1, 2, 3)), 1e-12),
        (surfaces.sphere(0.7), trimesh.creation.icosphere(6, 0.7), ROUND),
        (surfaces.cylinder(0.3, 1.0, 2), trimesh.creation.cylinder(0.3, 2.0, sections=256), ROUND),
        (
            surfaces.capsule(0.3, 1.0, 2),
            trimesh.creation.capsule(2.0, 0.3, count=(256, 256)),
            ROUND,
        ),
        (surfaces.cone(0.3, 1.0, 2), CONE, ROUND),
    ],
    ids=["box", "sphere", "cylinder", "capsule", "cone"],
)
def test_primitive_agrees_with_its_mesh(
    solid: surfaces.Solid, mesh: trimesh.Trimesh, tolerance: float
) -> None:
    _agrees(solid, mesh, tolerance)


@pytest.mark.parametrize("build", [surfaces.cylinder, surfaces.capsule, surfaces.cone])
@pytest.mark.parametrize(("axis", "order"), [(0, [2, 1, 0]), (1, [0, 2, 1])])
def test_axis_permutes_the_moments(build: type, axis: int, order: list[int]) -> None:
    upright, turned = build(0.3, 1.0, 2), build(0.3, 1.0, axis)

    np.testing.assert_array_equal(np.diag(turned.inertia), np.diag(upright.inertia)[order])
    np.testing.assert_array_equal(turned.center, upright.center[order])


def _bracket() -> trimesh.Trimesh:
    """Return a concave solid, far from the origin and oblique to its axes."""
    profile = [(0, 0), (2, 0), (2, 0.5), (0.5, 0.5), (0.5, 1.5), (0, 1.5)]
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    mesh = trimesh.creation.extrude_triangulation(np.array(profile), faces, 0.75)
    mesh.apply_transform(pose((10.0, -20.0, 30.0), (0.1, 0.1, 0.7, 0.7)))
    return mesh


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("turn", [1, -1])
def test_closed_mesh_counts_itself_and_an_open_one_its_hull(size: float, turn: int) -> None:
    """PhysX uses the hull of an open one (ovphysx 0.7)."""
    mesh = _bracket()
    mesh.vertices *= size
    faces = mesh.faces[:, ::turn]

    _agrees(surfaces.enclosed_solid(mesh.vertices, faces, np.eye(4)), mesh)
    _agrees(surfaces.enclosed_solid(mesh.vertices, faces[1:], np.eye(4)), mesh.convex_hull)


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("points", [5, 60, 3000])
def test_hull_of_scattered_points_agrees_with_trimesh(points: int, size: float) -> None:
    """Also far from the origin, oblique to the axes, and thin."""
    cloud = np.random.default_rng(points).normal(size=(points, 3)) * (1.0, 0.5, 0.02)
    place = pose((3.0, -2.0, 1.0), (0.1, 0.1, 0.7, 0.7))
    cloud = size * (cloud @ place[:3, :3].T + place[:3, 3])

    _agrees(surfaces.convex_hull(cloud), trimesh.convex.convex_hull(cloud), 1e-7)


@pytest.mark.parametrize(
    "points",
    [
        np.zeros((0, 3)),
        np.ones((7, 3)),
        np.eye(3),
        np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (2, 5, 0)], float),
        np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, np.nan)], float),
        np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, np.inf)], float),
        np.array([(-1e308, 0, 0), (1e308, 0, 0), (0, 1, 0), (0, 0, 1)], float),
    ],
    ids=["none", "one", "three", "plane", "nan", "infinite", "overflow"],
)
def test_points_without_volume_have_no_hull(points: np.ndarray) -> None:
    assert surfaces.convex_hull(points) is surfaces.EMPTY


def test_flat_mesh_is_no_solid() -> None:
    flat = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], np.float64)

    assert surfaces.enclosed_solid(flat, np.array([(0, 1, 2)]), np.eye(4)) is surfaces.EMPTY


def test_several_solids_are_one() -> None:
    """By the parallel axis theorem."""
    other = trimesh.creation.box((0.2, 0.4, 0.6))
    place = pose((1.0, 2.0, -3.0), (0.1, 0.1, 0.7, 0.7))
    other.apply_transform(place)
    both = trimesh.creation.box((1, 2, 3)) + other

    small = surfaces.box(np.array((0.1, 0.2, 0.3))).placed(place)
    _agrees(surfaces.joined([surfaces.box(np.array((0.5, 1.0, 1.5))), small]), both)
