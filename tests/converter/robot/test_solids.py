"""Mass properties of solids, and primitives that are fitted to points, compared with trimesh."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from trimesh.proximity import closest_point_naive

from urdf_usd.converter.robot import solids
from urdf_usd.converter.robot.model import Box, Capsule, Cylinder, Sphere
from urdf_usd.converter.robot.spatial import transform_from_pose

# Off the origin and rotated, so that no cross term is zero.
_PLACE = np.eye(4)
_PLACE[:3, :3] = Rotation.from_euler("xyz", (0.3, -0.7, 1.1)).as_matrix()
_PLACE[:3, 3] = (0.4, -0.5, 0.6)


def _assert_like(solid: solids.Solid, mesh: trimesh.Trimesh, rel: float) -> None:
    assert solid.volume == pytest.approx(mesh.volume, rel=rel)
    np.testing.assert_allclose(solid.center, mesh.center_mass, atol=rel)
    inertia = mesh.moment_inertia
    np.testing.assert_allclose(solid.inertia, inertia, atol=rel * float(np.abs(inertia).max()))


Primitive = Box | Sphere | Cylinder | Capsule


def _mesh_of(shape: Primitive, count: int = 64) -> trimesh.Trimesh:
    mesh: trimesh.Trimesh
    match shape:
        case Box(size):
            mesh = trimesh.creation.box(size)
        case Sphere(radius):
            mesh = trimesh.creation.icosphere(5 if count > 64 else 4, radius)
        case Cylinder(radius, length):
            mesh = trimesh.creation.cylinder(radius, length, sections=2 * count)
        case Capsule(radius, length):
            mesh = trimesh.creation.capsule(length, radius, count=(count, count))
    return mesh


_SHAPES = (Box((0.3, 0.2, 0.7)), Sphere(0.35), Cylinder(0.2, 0.9), Capsule(0.15, 0.6))


@pytest.mark.parametrize("shape", _SHAPES)
def test_mass_properties_of_primitives_match_fine_meshes(shape: Primitive) -> None:
    _assert_like(solids.primitive_solid(shape), _mesh_of(shape, 256), rel=2e-3)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", _SHAPES)
def test_points_of_a_primitive_are_fitted_by_that_primitive(
    shape: Primitive, *, turned: bool
) -> None:
    placed = _mesh_of(shape)
    if turned:
        placed.apply_transform(_PLACE)

    fit = solids.fit_primitive(np.asarray(placed.vertices))

    assert fit is not None
    assert type(fit.shape) is type(shape)
    for found, own in zip(structs.astuple(fit.shape), structs.astuple(shape), strict=True):
        assert np.sort(np.ravel(found)) == pytest.approx(np.sort(np.ravel(own)), rel=5e-3)
    assert fit.distance < 2e-3
    assert abs(fit.volume_error) < 1e-2
    mesh = _mesh_of(fit.shape).apply_transform(transform_from_pose(fit.pose))
    np.testing.assert_allclose(mesh.bounds, placed.bounds, atol=3e-3)


def test_distance_of_a_fit_is_that_of_the_surfaces() -> None:
    corners = np.array([(1.0, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])

    fit = solids.fit_primitive(corners)

    assert fit is not None
    # Nearest points of each surface from the vertices of the other one.
    mesh = _mesh_of(fit.shape).apply_transform(transform_from_pose(fit.pose))
    hull = trimesh.convex.convex_hull(corners)
    apart = max(
        float(closest_point_naive(one, other.vertices)[1].max())  # type: ignore[no-untyped-call]  # trimesh annotates part
        for one, other in ((mesh, hull), (hull, mesh))
    )
    # Over finitely many directions the distance is at most a little smaller.
    assert fit.distance == pytest.approx(apart, rel=0.02)


@given(st.integers(0, 2**32 - 1))
def test_mass_properties_of_hulls_match_trimesh(seed: int) -> None:
    points = np.random.default_rng(seed).normal((3.0, -2.0, 1.0), size=(12, 3))

    _assert_like(solids.hull_solid(points), trimesh.convex.convex_hull(points), rel=1e-9)


def test_mesh_solid_does_not_depend_on_face_orientation() -> None:
    outer, inner = trimesh.creation.box((1, 1, 1)), trimesh.creation.box((1, 0.4, 0.4))
    for part in (outer, inner):
        part.apply_transform(_PLACE)
    inner.invert()
    points = np.vstack([outer.vertices, inner.vertices])
    faces = np.vstack([outer.faces, inner.faces + len(outer.vertices)])
    reference = trimesh.Trimesh(points, faces, process=False)
    counts = np.full(len(faces), 3, dtype=np.int32)

    _assert_like(solids.mesh_solid(points, counts, faces.ravel()), reference, rel=1e-9)
    backwards = solids.mesh_solid(points, counts, faces[:, ::-1].ravel())
    _assert_like(backwards, reference, rel=1e-9)


def test_flat_solids_are_empty_and_have_no_fit() -> None:
    flat = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])

    assert solids.fit_primitive(flat) is None
    assert solids.hull_solid(flat) is solids.EMPTY
    assert solids.mesh_solid(flat[:3], np.array([3]), np.arange(3)) is solids.EMPTY


def _arrays(
    mesh: trimesh.Trimesh,
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return a mesh in which no two triangles share a point, as in STL files."""
    points = np.asarray(mesh.triangles, dtype=np.float64).reshape(-1, 3)
    return points, np.full(len(mesh.faces), 3), np.arange(3 * len(mesh.faces))


def _bracket() -> trimesh.Trimesh:
    """Return a concave solid: an L, rotated and off the origin."""
    outline = [(0, 0), (0.4, 0), (0.4, 0.1), (0.1, 0.1), (0.1, 0.5), (0, 0.5)]
    triangles = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    mesh = trimesh.creation.extrude_triangulation(np.array(outline), triangles, 0.2)
    mesh.apply_transform(_PLACE)
    return mesh


def test_closed_mesh_is_its_own_solid() -> None:
    mesh = _bracket()

    solid, is_hull = solids.solid_of_mesh(*_arrays(mesh))

    assert not is_hull
    _assert_like(solid, mesh, rel=1e-7)
    assert solid.volume < 0.9 * mesh.convex_hull.volume


def test_mesh_with_a_hole_is_the_solid_of_its_convex_hull() -> None:
    mesh = _bracket()
    points, counts, indices = _arrays(mesh)

    solid, is_hull = solids.solid_of_mesh(points, counts[1:], indices[3:])

    assert is_hull
    assert not solids.is_closed(points, counts[1:], indices[3:])
    _assert_like(solid, mesh.convex_hull, rel=1e-7)


@pytest.mark.parametrize("backwards", [False, True])
@given(seed=st.integers(0, 2**32 - 1), depth=st.floats(0.0, 1.0))
def test_share_of_the_hull_is_that_of_trimesh(seed: int, depth: float, *, backwards: bool) -> None:
    random = np.random.default_rng(seed)
    sphere = trimesh.creation.icosphere(1, 0.3)
    dents = 1.0 - depth * random.random((len(sphere.vertices), 1)) ** 4
    points = sphere.vertices * dents + (3.0, -2.0, 1.0)
    mesh = trimesh.Trimesh(points, sphere.faces, process=False)
    share = mesh.volume / mesh.convex_hull.volume
    faces = sphere.faces[:, ::-1] if backwards else sphere.faces
    surface = points, np.full(len(faces), 3), faces.ravel()

    assert solids.fills_hull(*surface, share - 1e-6)
    assert not solids.fills_hull(*surface, share + 1e-6)


def test_flat_surface_fills_its_hull() -> None:
    square = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1.0]])

    assert solids.fills_hull(square, np.array([4]), np.arange(4), 0.95)
