"""Convex hulls and volumes inside them, compared with trimesh."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

from urdf_usd.converter.hulls import convex_hull, volume_within

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
