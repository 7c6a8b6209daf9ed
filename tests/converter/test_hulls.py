"""Convex hulls and volumes inside them, compared with trimesh."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import trimesh
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from urdf_usd.converter.hulls import (
    convex_hull,
    fills_hull,
    least_hull,
    volume_within,
)
from urdf_usd.converter.robot.solids import mesh_solid

_BOX = trimesh.creation.box((0.2, 3.0, 0.7)).vertices
_BALL = trimesh.creation.icosphere(4, 0.3).vertices


@pytest.mark.parametrize(("points", "part"), [(_BOX, 1 / 3), (_BALL, 0.16)])
def test_inner_volume_of_boxes_and_spheres(
    points: np.ndarray[tuple[int, int], np.dtype[np.float64]], part: float
) -> None:
    """At any position and orientation."""
    turn = Rotation.from_euler("xyz", (0.4, -0.5, 0.6))
    placed = np.array((3.0, -2.0, 1.0)) + turn.apply(points)
    volume = trimesh.convex.convex_hull(placed).volume

    assert volume_within(placed) == pytest.approx(part * volume, rel=0.05)
    assert convex_hull(placed)[1] == pytest.approx(volume, rel=0.02)


@pytest.mark.parametrize("count", [4, 9, 200])
def test_inner_volume_is_at_most_that_of_the_hull(count: int) -> None:
    """Four points are their own hull."""
    cloud = np.random.default_rng(count).normal(size=(count, 3)) * (0.3, 0.02, 0.1)
    volume = trimesh.convex.convex_hull(cloud).volume

    within = volume_within(cloud)

    assert 0.0 < within <= volume * (1.0 + 1e-9)
    if count == 4:
        assert within == pytest.approx(volume)


def test_inner_volume_of_coplanar_points_is_zero() -> None:
    """In an oblique plane."""
    plane = np.array([[0, 0, 0], [1, 0, 1], [0, 2, 1], [1, 2, 2], [3, 1, 3.5]])

    assert volume_within(plane) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("backwards", [False, True])
@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), depth=st.floats(0.0, 1.0))
def test_share_of_the_hull_is_that_of_trimesh(seed: int, depth: float, *, backwards: bool) -> None:
    """A polyhedron around the origin, with random dents."""
    random = np.random.default_rng(seed)
    sphere = trimesh.creation.icosphere(1, 0.3)
    dents = 1.0 - depth * random.random((len(sphere.vertices), 1)) ** 4
    points = sphere.vertices * dents + (3.0, -2.0, 1.0)
    mesh = trimesh.Trimesh(points, sphere.faces, process=False)
    share = mesh.volume / mesh.convex_hull.volume
    faces = sphere.faces[:, ::-1] if backwards else sphere.faces
    surface = points, np.full(len(faces), 3), faces.ravel()

    assert fills_hull(*surface, share - 1e-6)
    assert not fills_hull(*surface, share + 1e-6)


def test_convex_surface_needs_no_hull(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scipy takes longer to import than most robots take to convert."""
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)
    sphere = trimesh.creation.icosphere(2)

    assert fills_hull(sphere.vertices, np.full(320, 3), sphere.faces.ravel(), 0.999)


@settings(max_examples=200, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(4, 60),
    digits=st.integers(0, 3),
    stretch=st.floats(1e-3, 1e3),
)
def test_least_hull_is_no_larger_than_that_of_scipy(
    seed: int, count: int, digits: int, stretch: float
) -> None:
    """Also of points on a grid, of which many are in a plane, or equal."""
    random = np.random.default_rng(seed)
    points = random.normal(size=(count, 3)).round(digits) * (1.0, 1.0, stretch) + 5.0
    assume(np.linalg.matrix_rank(points - points[0], tol=1e-9) == 3)
    exact = ConvexHull(points).volume

    least = least_hull(points)

    assert least <= exact * (1.0 + 1e-9)
    assert least >= 0.3 * exact


@pytest.mark.parametrize("count", [20, 400])
def test_concave_surface_needs_no_hull(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two balls at a distance, of few and of many points."""
    ball = trimesh.creation.icosphere(0 if count == 20 else 3)
    beside = ball.copy()
    beside.apply_translation((4.0, 0.0, 0.0))
    points = np.concatenate([ball.vertices, beside.vertices])
    faces = np.concatenate([ball.faces, beside.faces + len(ball.vertices)])
    monkeypatch.setitem(sys.modules, "scipy.spatial", None)

    assert not fills_hull(points, np.full(len(faces), 3), faces.ravel(), 0.95)


def test_open_surface_fills_what_its_faces_enclose() -> None:
    """Half of a cube, around the middle of its points."""
    cube = trimesh.creation.box((1.0, 1.0, 1.0))
    faces = cube.faces[:6]
    enclosed = mesh_solid(cube.vertices, np.full(6, 3), faces.ravel()).volume

    assert fills_hull(cube.vertices, np.full(6, 3), faces.ravel(), enclosed - 1e-9)
    assert not fills_hull(cube.vertices, np.full(6, 3), faces.ravel(), enclosed + 1e-9)


def test_flat_surface_fills_its_hull() -> None:
    """Both are empty."""
    square = np.array([[0, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1.0]])

    assert fills_hull(square, np.array([4]), np.arange(4), 0.95)
