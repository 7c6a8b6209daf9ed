"""Mass properties of solids, compared with trimesh."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from urdf_usd.converter.robot.model import Box, Capsule, Cylinder, Sphere
from urdf_usd.converter.robot.solids import (
    EMPTY,
    Solid,
    hull_solid,
    mesh_solid,
    primitive_solid,
)

# Off the origin and rotated, so that no cross term is zero.
_PLACE = np.eye(4)
_PLACE[:3, :3] = Rotation.from_euler("xyz", (0.3, -0.7, 1.1)).as_matrix()
_PLACE[:3, 3] = (0.4, -0.5, 0.6)


def _assert_like(solid: Solid, mesh: trimesh.Trimesh, rel: float) -> None:
    assert solid.volume == pytest.approx(mesh.volume, rel=rel)
    np.testing.assert_allclose(solid.center, mesh.center_mass, atol=rel)
    inertia = mesh.moment_inertia
    np.testing.assert_allclose(
        solid.inertia, inertia, atol=rel * float(np.abs(inertia).max())
    )


@pytest.mark.parametrize(
    ("shape", "mesh"),
    [
        (Box((0.3, 0.2, 0.7)), trimesh.creation.box((0.3, 0.2, 0.7))),
        (Sphere(0.35), trimesh.creation.icosphere(5, 0.35)),
        (Cylinder(0.2, 0.9), trimesh.creation.cylinder(0.2, 0.9, sections=512)),
        (Capsule(0.2, 0.5), trimesh.creation.capsule(0.5, 0.2, count=(256, 256))),
    ],
)
def test_mass_properties_of_primitives_match_fine_meshes(
    shape: Box | Sphere | Cylinder | Capsule, mesh: trimesh.Trimesh
) -> None:
    """Within the error of the tessellation."""
    _assert_like(primitive_solid(shape), mesh, rel=2e-3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_mass_properties_of_hulls_match_trimesh(seed: int) -> None:
    """Random points, far from the origin."""
    points = np.random.default_rng(seed).normal((3.0, -2.0, 1.0), size=(12, 3))

    _assert_like(hull_solid(points), trimesh.convex.convex_hull(points), rel=1e-9)


def test_mesh_solid_does_not_depend_on_face_orientation() -> None:
    """A box with a tunnel."""
    outer, inner = trimesh.creation.box((1, 1, 1)), trimesh.creation.box((1, 0.4, 0.4))
    for part in (outer, inner):
        part.apply_transform(_PLACE)
    inner.invert()
    points = np.vstack([outer.vertices, inner.vertices])
    faces = np.vstack([outer.faces, inner.faces + len(outer.vertices)])
    reference = trimesh.Trimesh(points, faces, process=False)
    counts = np.full(len(faces), 3, dtype=np.int32)

    _assert_like(mesh_solid(points, counts, faces.ravel()), reference, rel=1e-9)
    backwards = mesh_solid(points, counts, faces[:, ::-1].ravel())
    _assert_like(backwards, reference, rel=1e-9)


def test_mesh_solid_of_quadrilaterals() -> None:
    """A box of six quadrilaterals."""
    x, y, z = np.meshgrid([0.0, 0.2], [0.0, 0.3], [0.0, 0.5], indexing="ij")
    points = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    quads = [
        (0, 1, 3, 2),
        (4, 6, 7, 5),
        (0, 4, 5, 1),
        (2, 3, 7, 6),
        (0, 2, 6, 4),
        (1, 5, 7, 3),
    ]

    solid = mesh_solid(points, np.full(6, 4), np.array(quads).ravel())

    expected = primitive_solid(Box((0.2, 0.3, 0.5)))
    assert solid.volume == pytest.approx(expected.volume)
    np.testing.assert_allclose(solid.center, (0.1, 0.15, 0.25))
    np.testing.assert_allclose(solid.inertia, expected.inertia, atol=1e-15)


def test_flat_solids_are_empty() -> None:
    """Points in a plane, a single triangle."""
    flat = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])

    assert hull_solid(flat) is EMPTY
    assert mesh_solid(flat[:3], np.array([3]), np.arange(3)) is EMPTY
