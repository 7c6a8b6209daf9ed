"""Rotations, and measures of surfaces and solids, against trimesh, formulas and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.engines.usd_observations import Array, pose
from urdf_usd.conformance.engines import surfaces
from urdf_usd.conformance.engines.statements import (
    matrices,
    matrices_of_xyzw,
    quats_wxyz,
    rigid_part,
    transforms,
)
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
    faces = np.array([(0, 1, 2)])

    assert mesh_surface(np.zeros((3, 3)), faces[:0], np.eye(4)) is None
    assert mesh_surface(np.full((3, 3), np.nan), faces, np.eye(4)) is None
    assert primitive_surface(ShapeKind.SPHERE, (math.inf,), np.eye(4)) is None


def test_polygons_are_triangulated_as_fans() -> None:
    counts, corners = np.array([3, 2, 5]), np.arange(10) * 10

    assert fans(counts, corners).tolist() == [[0, 10, 20], [50, 60, 70], [50, 70, 80], [50, 80, 90]]
    assert fans(np.array([3, 3]), corners[:6]).tolist() == [[0, 10, 20], [30, 40, 50]]


@given(st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.sampled_from([-1.0, 1.0]))
def test_scaled_cylinder_keeps_its_kind(across: float, along: float, sign: float) -> None:
    transform = OBLIQUE @ np.diag([sign * across, across, along, 1.0])
    kind, size, rigid = stretched(ShapeKind.CYLINDER, (0.5, 2.0), transform)

    assert kind is ShapeKind.CYLINDER
    assert size == pytest.approx((0.5 * across, 2.0 * along))
    np.testing.assert_allclose(rigid[:3, :3].T @ rigid[:3, :3], np.eye(3), atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "transform"),
    [
        (ShapeKind.CYLINDER, np.diag((1.0, 1.1, 1.0, 1.0))),
        # An ellipsoid is not a sphere.
        (ShapeKind.SPHERE, np.diag((1.0, 1.0, 1.1, 1.0))),
        (ShapeKind.CAPSULE, np.diag((1.0, 1.0, 1.1, 1.0))),
        (ShapeKind.BOX, np.diag((1.0, 0.0, 1.0, 1.0))),
        # The edges of a sheared box are not at right angles.
        (ShapeKind.BOX, np.eye(4) + 0.3 * np.eye(4, k=1)),
    ],
)
def test_shear_or_non_uniform_scale_changes_the_kind(kind: ShapeKind, transform: Array) -> None:
    assert stretched(kind, (1.0, 1.0, 1.0), transform)[0] is ShapeKind.OTHER


def test_ellipsoid_has_the_area_of_a_sphere_and_of_a_spheroid() -> None:
    sphere = surfaces.ellipsoid_surface(np.array([0.3, 0.3, 0.3]), np.eye(4))
    assert (sphere.area, sphere.volume) == pytest.approx(
        (4 * math.pi * 0.09, 4 / 3 * math.pi * 0.027)
    )
    # Oblate: 2 pi a^2 (1 + (1 - e^2) / e artanh e).
    e = math.sqrt(1 - 0.2**2 / 0.5**2)
    area = 2 * math.pi * 0.5**2 * (1 + (1 - e**2) / e * math.atanh(e))
    assert surfaces.ellipsoid_surface(np.array([0.5, 0.5, 0.2]), np.eye(4)).area == pytest.approx(
        area
    )


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
def test_solid_agrees_with_its_mesh(
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
    faces = np.array([(0, 1, 2)])[: len(points)]
    assert surfaces.enclosed_solid(points, faces, np.eye(4)) is surfaces.EMPTY


def test_several_solids_are_one() -> None:
    """By the parallel axis theorem."""
    other = trimesh.creation.box((0.2, 0.4, 0.6))
    place = pose((1.0, 2.0, -3.0), (0.1, 0.1, 0.7, 0.7))
    other.apply_transform(place)
    both = trimesh.creation.box((1, 2, 3)) + other

    small = surfaces.box(np.array((0.1, 0.2, 0.3))).placed(place)
    _agrees(surfaces.joined([surfaces.box(np.array((0.5, 1.0, 1.5))), small]), both)


_TURN = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]


def test_quaternions_have_either_order_and_any_length() -> None:
    np.testing.assert_allclose(matrices((2, 0, 0, 2)), _TURN, atol=1e-15)
    np.testing.assert_allclose(matrices_of_xyzw((0, 0, 2, 2)), _TURN, atol=1e-15)
    np.testing.assert_allclose(quats_wxyz(_TURN), np.array((1, 0, 0, 1)) / np.sqrt(2))
    table = matrices(np.ones((2, 5, 4)))
    assert table.shape == (2, 5, 3, 3)
    assert quats_wxyz(table).shape == (2, 5, 4)


@pytest.mark.parametrize("quat", [(0, 0, 0, 0), (np.nan, 0, 0, 1)])
def test_quaternion_that_is_none_is_no_rotation(quat: tuple[float, ...]) -> None:
    found = matrices([quat, (1, 0, 0, 0)])

    assert np.isnan(found[0]).all()
    np.testing.assert_array_equal(found[1], np.eye(3))


_NUMBERS = st.floats(-10, 10)


@given(
    st.lists(_NUMBERS, min_size=4, max_size=4).filter(lambda quat: np.linalg.norm(quat) > 1e-3),
    st.lists(_NUMBERS, min_size=3, max_size=3),
    st.sampled_from([1.0, -1.0]),
)
def test_rigid_part_excludes_scale(quat: list[float], position: list[float], sign: float) -> None:
    rigid = transforms(matrices(quat), position)
    scaled = rigid @ np.diag((sign * 0.5, sign * 2.0, sign * 3.0, 1.0))

    np.testing.assert_allclose(rigid_part(scaled), rigid, atol=1e-12)
