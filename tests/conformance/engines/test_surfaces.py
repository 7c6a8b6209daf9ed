"""Measurements of surfaces, compared with trimesh, formulas and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.engines.usd_observations import Array, pose
from urdf_usd.conformance.engines.surfaces import fans, mesh_surface, primitive_surface, stretched
from urdf_usd.conformance.observation.shapes import DIRECTIONS, ShapeKind, Surface

OBLIQUE = pose((0.3, -0.7, 0.2), (0.5, -0.1, 0.7, 0.5))
MESHES = {
    ShapeKind.BOX: ((0.2, 0.5, 0.3), trimesh.creation.box((0.2, 0.5, 0.3))),
    ShapeKind.SPHERE: ((0.4,), trimesh.creation.icosphere(6, 0.4)),
    ShapeKind.CYLINDER: ((0.3, 0.8), trimesh.creation.cylinder(0.3, 0.8, sections=512)),
    ShapeKind.CAPSULE: ((0.3, 0.8), trimesh.creation.capsule(0.8, 0.3, (256, 256))),
}


def _measured(mesh: trimesh.Trimesh, transform: Array) -> Surface:
    surface = mesh_surface(mesh.vertices, mesh.faces, transform)
    assert surface is not None
    return surface


def test_directions_cover_the_unit_sphere() -> None:
    """Every direction is within 13 degrees of one of them."""
    towards = np.array(DIRECTIONS)
    probes = np.random.default_rng(1).normal(size=(2000, 3))
    probes /= np.linalg.norm(probes, axis=1, keepdims=True)

    np.testing.assert_allclose(np.linalg.norm(towards, axis=1), 1.0, atol=1e-15)
    assert len(set(DIRECTIONS)) == 134
    assert (probes @ towards.T).max(axis=1).min() > math.cos(math.radians(13))


@pytest.mark.parametrize("kind", MESHES, ids=str)
def test_primitives_measure_as_their_meshes(kind: ShapeKind) -> None:
    """Meshes are inscribed in round shapes, within 0.1 %."""
    size, mesh = MESHES[kind]
    mesh = mesh.copy()
    if kind is ShapeKind.CAPSULE:
        # trimesh's capsule starts at the origin.
        mesh.apply_translation(-mesh.bounds.mean(axis=0))
    analytic = primitive_surface(kind, size, OBLIQUE)
    meshed = _measured(mesh, OBLIQUE)

    assert analytic is not None
    np.testing.assert_allclose(analytic.support, meshed.support, atol=1e-3)
    np.testing.assert_allclose(analytic.center, meshed.center, atol=1e-3)
    assert analytic.area == pytest.approx(meshed.area, rel=1e-3)
    assert analytic.volume == pytest.approx(meshed.volume, rel=1e-3)


def test_mesh_measures_agree_with_trimesh() -> None:
    """Area, volume, bounds and centroid, far from the origin and rotated."""
    mesh = trimesh.creation.annulus(0.2, 0.5, 0.3)
    placed = mesh.copy()
    placed.apply_transform(OBLIQUE)
    surface = _measured(mesh, OBLIQUE)

    assert surface.area == pytest.approx(placed.area, rel=1e-12)
    assert surface.volume == pytest.approx(placed.volume, rel=1e-12)
    np.testing.assert_allclose((surface.lower, surface.upper), placed.bounds)
    np.testing.assert_allclose(surface.center, placed.centroid, atol=1e-12)
    np.testing.assert_allclose(surface.oriented_area, 0.0, atol=1e-12)
    sides = np.linalg.norm(np.diff(placed.triangles[:, [0, 1, 2, 0]], axis=1), axis=2)
    assert surface.edges == pytest.approx(sides.sum())
    assert surface.triangles == len(mesh.faces)


def test_area_vectors_of_an_open_surface_are_summed() -> None:
    """A single triangle, counter-clockwise seen from above."""
    points = np.array([(0.0, 0, 5), (2, 0, 5), (0, 3, 5), (9, 9, 9)])
    surface = mesh_surface(points, np.array([(0, 1, 2)]), np.eye(4))

    assert surface is not None
    assert surface.oriented_area == pytest.approx((0.0, 0.0, 3.0))
    assert surface.volume == pytest.approx(5.0)
    # The point that no face uses does not count.
    assert surface.upper == (2.0, 3.0, 5.0)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_triangles_degenerate_in_float32_are_ignored(scale: float) -> None:
    """Independent of their size in the link's frame."""
    points = np.array([(700.0, 0, 1), (700.00001, 0, 1), (0, 900, 1), (0, 0, 1)])
    faces = np.array([(0, 1, 2), (3, 0, 2), (1, 3, 0)])
    surface = mesh_surface(points, faces, np.diag([scale, scale, scale, 1.0]) @ OBLIQUE)

    assert surface is not None
    assert surface.triangles == 1


def test_invalid_surfaces_are_not_measured() -> None:
    """No faces, and points that are not finite."""
    faces = np.array([(0, 1, 2)])

    assert mesh_surface(np.zeros((3, 3)), faces[:0], np.eye(4)) is None
    assert mesh_surface(np.full((3, 3), np.nan), faces, np.eye(4)) is None
    assert primitive_surface(ShapeKind.SPHERE, (math.inf,), np.eye(4)) is None


def test_polygons_are_triangulated_as_fans() -> None:
    """A triangle, an empty polygon and a pentagon."""
    counts, corners = np.array([3, 2, 5]), np.arange(10) * 10

    assert fans(counts, corners).tolist() == [[0, 10, 20], [50, 60, 70], [50, 70, 80], [50, 80, 90]]
    assert fans(np.array([3, 3]), corners[:6]).tolist() == [[0, 10, 20], [30, 40, 50]]


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.sampled_from([-1.0, 1.0]))
def test_scaled_cylinder_keeps_its_kind(across: float, along: float, sign: float) -> None:
    """A unit cylinder in a scaled frame is a cylinder of another size."""
    transform = OBLIQUE @ np.diag([sign * across, across, along, 1.0])
    kind, size, rigid = stretched(ShapeKind.CYLINDER, (0.5, 2.0), transform)

    assert kind is ShapeKind.CYLINDER
    assert size == pytest.approx((0.5 * across, 2.0 * along))
    np.testing.assert_allclose(rigid[:3, :3].T @ rigid[:3, :3], np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "scale"),
    [
        (ShapeKind.CYLINDER, (1.0, 1.1, 1.0)),
        (ShapeKind.SPHERE, (1.0, 1.0, 1.1)),
        (ShapeKind.CAPSULE, (1.0, 1.0, 1.1)),
        (ShapeKind.BOX, (1.0, 0.0, 1.0)),
    ],
)
def test_non_uniform_scale_changes_the_kind(
    kind: ShapeKind, scale: tuple[float, float, float]
) -> None:
    """An ellipsoid is not a sphere."""
    transform = np.diag([*scale, 1.0])

    assert stretched(kind, (1.0, 1.0), transform)[0] is ShapeKind.OTHER


def test_sheared_box_is_a_mesh() -> None:
    """Its edges are not at right angles."""
    sheared = np.eye(4)
    sheared[0, 1] = 0.3

    assert stretched(ShapeKind.BOX, (1.0, 1.0, 1.0), sheared)[0] is ShapeKind.OTHER
