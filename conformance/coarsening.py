"""Meshes made small enough for a page."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np

from conformance.scene import SceneMesh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_STEPS = 65535
# Meshes that are drawn whole however many there are: a coarse box is no box.
_SPARED = 400


def shares(triangles: Sequence[int], budget: int) -> tuple[int, ...]:
    """Divide a number of triangles among meshes.

    Small meshes stay whole, and all others give up the same part of theirs.

    Args:
        triangles: Number of triangles of each mesh.
        budget: Number that may be drawn in all.

    Returns:
        Number that may be drawn of each; a little more than the budget in all if most
        meshes are small.
    """
    if sum(triangles) <= budget:
        return tuple(triangles)
    spared = sum(count for count in triangles if count <= _SPARED)
    rest = sum(triangles) - spared
    part = max(0.0, budget - spared) / rest if rest else 1.0
    return tuple(
        count if count <= _SPARED else max(_SPARED, int(count * part))
        for count in triangles
    )


def coarsen(
    points: NDArray[np.float64], triangles: NDArray[np.integer], target: int
) -> SceneMesh | None:
    """Draw a mesh with fewer triangles, on a grid of 65536 steps along each axis.

    Args:
        points: (N, 3) [m].
        triangles: (M, 3) indices of points.
        target: Number of triangles that may be drawn.

    Returns:
        The mesh; None if nothing of it can be seen.
    """
    count = len(triangles)
    corners, faces = _welded(np.asarray(points, np.float64), np.asarray(triangles))
    if len(faces) > target:
        # Robots without large meshes do not need it.
        import fast_simplification  # noqa: PLC0415

        corners, faces = fast_simplification.simplify(
            np.ascontiguousarray(corners, np.float32),
            np.ascontiguousarray(faces, np.int32),
            target_count=target,
        )
    if not len(faces):
        return None
    lower = corners.min(axis=0)
    extent = corners.max(axis=0) - lower
    step = np.where(extent > 0, extent, 1.0) / _STEPS
    grid, faces = _welded(np.rint((corners - lower) / step), np.asarray(faces))
    if not len(faces):
        return None
    wide = len(grid) > _STEPS
    x, y, z = lower.tolist()
    u, v, w = step.tolist()
    return SceneMesh(
        positions=_text(grid, "<u2"),
        origin=(float(x), float(y), float(z)),
        step=(float(u), float(v), float(w)),
        indices=_text(faces, "<u4" if wide else "<u2"),
        wide=wide,
        triangles=count,
        drawn=len(faces),
    )


def _welded(
    points: NDArray[np.float64], faces: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Make equal points one, and leave out faces without a surface."""
    unique, place = np.unique(points, axis=0, return_inverse=True)
    joined = place.reshape(-1)[faces]
    a, b, c = joined.T
    return unique, joined[(a != b) & (b != c) & (c != a)]


def _text(values: NDArray[np.generic], kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
