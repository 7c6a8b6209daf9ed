"""Volumes and inertias of solids, against trimesh and against each other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import trimesh
from urdf_usd.conformance.engines.hulls import (
    HullProperties,
    Integrals,
    enclosed_solid,
    hull_properties,
)

from tests.conformance.engines.usd_observations import pose
from urdf_usd.conformance.engines.openusd.masses import box, capsule, cone, cylinder, sphere

# Meshes inscribed in round solids: with 256 sections, up to 3e-4 less volume.
ROUND = 1e-3
# Hulls are those of points in single precision: three lengths, each twice.
SINGLE = 6 * 2.0**-24


def agrees(solid: HullProperties | Integrals, mesh: trimesh.Trimesh, tolerance: float) -> None:
    """Assert that a solid has the mass properties that trimesh finds for a mesh."""
    size = solid.volume ** (1 / 3)
    assert solid.volume == pytest.approx(mesh.volume, rel=tolerance)
    np.testing.assert_allclose(solid.center, mesh.center_mass, atol=max(tolerance, 1e-9) * size)
    np.testing.assert_allclose(
        solid.inertia, mesh.moment_inertia, atol=max(tolerance, 1e-9) * solid.volume * size**2
    )


def test_box_agrees_with_its_mesh() -> None:
    agrees(box(np.array((0.5, 1.0, 1.5))), trimesh.creation.box((1, 2, 3)), 1e-12)


def test_sphere_agrees_with_its_mesh() -> None:
    agrees(sphere(0.7), trimesh.creation.icosphere(6, 0.7), ROUND)


def test_cylinder_agrees_with_its_mesh() -> None:
    mesh = trimesh.creation.cylinder(0.3, 2.0, sections=256)
    agrees(cylinder(0.3, 1.0, 2), mesh, ROUND)


def test_capsule_agrees_with_its_mesh() -> None:
    mesh = trimesh.creation.capsule(2.0, 0.3, count=(256, 256))
    agrees(capsule(0.3, 1.0, 2), mesh, ROUND)


def test_cone_agrees_with_its_mesh() -> None:
    mesh = trimesh.creation.cone(0.3, 2.0, sections=256)
    mesh.apply_translation((0, 0, -1.0))
    agrees(cone(0.3, 1.0, 2), mesh, ROUND)


@pytest.mark.parametrize("build", [cylinder, capsule, cone])
@pytest.mark.parametrize("axis", [0, 1])
def test_axis_permutes_the_moments(
    build: Callable[[float, float, int], HullProperties], axis: int
) -> None:
    upright, turned = build(0.3, 1.0, 2), build(0.3, 1.0, axis)
    order = [2, 1, 0] if axis == 0 else [0, 2, 1]

    np.testing.assert_array_equal(np.diag(turned.inertia), np.diag(upright.inertia)[order])
    np.testing.assert_array_equal(turned.center, upright.center[order])


def bracket() -> trimesh.Trimesh:
    """Return a concave solid, far from the origin and oblique to its axes."""
    profile = [(0, 0), (2, 0), (2, 0.5), (0.5, 0.5), (0.5, 1.5), (0, 1.5)]
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    mesh = trimesh.creation.extrude_triangulation(np.array(profile), faces, 0.75)
    mesh.apply_transform(pose((10.0, -20.0, 30.0), (0.1, 0.1, 0.7, 0.7)))
    return mesh


@pytest.mark.parametrize("turn", [1, -1])
def test_concave_mesh_agrees_with_trimesh(turn: int) -> None:
    mesh = bracket()
    solid = enclosed_solid(mesh.vertices, mesh.faces[:, ::turn], np.eye(4))

    assert solid is not None
    agrees(solid, mesh, 1e-9)


def test_open_mesh_has_the_mass_of_its_hull() -> None:
    """It encloses no volume; PhysX uses the hull (ovphysx 0.7)."""
    mesh = bracket()
    solid = enclosed_solid(mesh.vertices, mesh.faces[1:], np.eye(4))

    assert solid is not None
    agrees(solid, mesh.convex_hull, 1e-9)


def test_hull_of_a_concave_mesh_is_its_convex_hull() -> None:
    mesh = bracket()
    solid = hull_properties(np.array(mesh.vertices))

    assert solid is not None
    agrees(solid, mesh.convex_hull, SINGLE)
    assert solid.volume > 1.2 * mesh.volume


def test_flat_solids_are_empty() -> None:
    flat = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], np.float64)

    assert hull_properties(flat) is None
    assert hull_properties(flat[:2]) is None
    assert enclosed_solid(flat, np.array([(0, 1, 2)]), np.eye(4)) is None
