"""Mass properties of convex hulls, against formulas and trimesh."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from tests.conformance.engines.usd_observations import pose
from urdf_usd.conformance.engines.hulls import hull_properties

# Points in single precision: three lengths, each twice.
SINGLE = 6 * 2.0**-24


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("points", [5, 60, 3000])
def test_hull_of_scattered_points_agrees_with_trimesh(points: int, size: float) -> None:
    """Also far from the origin, oblique to the axes, and thin."""
    cloud = np.random.default_rng(points).normal(size=(points, 3)) * (1.0, 0.5, 0.02)
    place = pose((3.0, -2.0, 1.0), (0.1, 0.1, 0.7, 0.7))
    cloud = size * (cloud @ place[:3, :3].T + place[:3, 3])

    hull = hull_properties(cloud)

    expected = trimesh.convex.convex_hull(cloud)
    length = expected.extents.max()
    assert hull is not None
    # The rounding of a point counts relative to the thickness.
    assert hull.volume == pytest.approx(expected.volume, rel=SINGLE * 50)
    np.testing.assert_allclose(hull.center, expected.center_mass, atol=SINGLE * length)
    np.testing.assert_allclose(
        hull.inertia,
        expected.moment_inertia,
        atol=SINGLE * 50 * expected.volume * length**2,
    )


def test_hull_of_a_box_has_the_moments_of_a_box() -> None:
    """Density one: V (b^2 + c^2) / 12."""
    corners = trimesh.creation.box((1.0, 2.0, 3.0)).vertices

    hull = hull_properties(np.array(corners))

    assert hull is not None
    assert hull.volume == pytest.approx(6.0)
    np.testing.assert_allclose(hull.inertia, np.diag([6.5, 5.0, 2.5]), atol=1e-6)


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
    """No error either."""
    with np.errstate(over="ignore"):
        assert hull_properties(points) is None
