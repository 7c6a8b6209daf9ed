"""Primitives that are fitted to points of known shapes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation
from trimesh.proximity import closest_point_naive

from urdf_usd.converter.robot.model import Box, Capsule, Cylinder, Sphere
from urdf_usd.converter.robot.solids import Fit, fit_primitive
from urdf_usd.converter.robot.spatial import transform_from_pose

_PLACE = np.eye(4)
_PLACE[:3, :3] = Rotation.from_euler("xyz", (0.3, -0.7, 1.1)).as_matrix()
_PLACE[:3, 3] = (0.4, -0.5, 0.6)


def _mesh_of(fit: Fit) -> trimesh.Trimesh:
    mesh: trimesh.Trimesh
    match fit.shape:
        case Box(size):
            mesh = trimesh.creation.box(size)
        case Sphere(radius):
            mesh = trimesh.creation.icosphere(3, radius)
        case Cylinder(radius, length):
            mesh = trimesh.creation.cylinder(radius, length, sections=256)
        case Capsule(radius, length):
            mesh = trimesh.creation.capsule(length, radius, count=(128, 128))
    mesh.apply_transform(transform_from_pose(fit.pose))
    return mesh


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("mesh", "kind", "sizes"),
    [
        (trimesh.creation.box((0.3, 0.2, 0.7)), Box, [0.2, 0.3, 0.7]),
        (trimesh.creation.icosphere(4, 0.35), Sphere, [0.35]),
        (trimesh.creation.cylinder(0.2, 0.9, sections=96), Cylinder, [0.2, 0.9]),
        (trimesh.creation.capsule(0.6, 0.15, count=(48, 48)), Capsule, [0.15, 0.6]),
    ],
    ids=["box", "sphere", "cylinder", "capsule"],
)
def test_points_of_a_primitive_are_fitted_by_that_primitive(
    mesh: trimesh.Trimesh, kind: type, sizes: list[float], *, turned: bool
) -> None:
    placed = mesh.copy()
    if turned:
        placed.apply_transform(_PLACE)

    fit = fit_primitive(np.asarray(placed.vertices))

    assert fit is not None
    assert isinstance(fit.shape, kind)
    match fit.shape:
        case Box(size):
            found = sorted(size)
        case Sphere(radius):
            found = [radius]
        case Cylinder(radius, length) | Capsule(radius, length):
            found = [radius, length]
    assert found == pytest.approx(sizes, rel=5e-3)
    assert fit.distance < 2e-3
    assert abs(fit.volume_error) < 1e-2
    np.testing.assert_allclose(_mesh_of(fit).bounds, placed.bounds, atol=3e-3)


def test_distance_is_that_of_the_surfaces() -> None:
    corners = np.array([(1.0, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)])

    fit = fit_primitive(corners)

    assert fit is not None
    # Nearest points of each surface from the vertices of the other one.
    mesh, hull = _mesh_of(fit), trimesh.convex.convex_hull(corners)
    apart = max(
        float(closest_point_naive(one, other.vertices)[1].max())  # type: ignore[no-untyped-call]  # trimesh annotates part
        for one, other in ((mesh, hull), (hull, mesh))
    )
    # Over finitely many directions the distance is at most a little smaller.
    assert fit.distance == pytest.approx(apart, rel=0.02)


def test_flat_points_have_no_fit() -> None:
    assert fit_primitive(np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)])) is None
