"""Decimation of meshes for a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence

import fast_simplification
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.reports.records.scene import SceneMesh

_STEPS = 65535
# Grids on which points are merged before edges are collapsed, which takes fifty times as long, if
# there are more triangles than this, or more than this many times the share remain: edges of
# slivers are not collapsed, as their faces would turn over.
_COARSER = (1024, 512, 256, 128, 64, 32)
_COLLAPSED = 20_000
_LEFT = 3
# Diagonal of a mesh while its edges are collapsed.
_UNITS = 100.0
# Finest grid for three coordinates in one 64-bit integer.
_FINE = 2**21 - 1
# Meshes with at most this many triangles are not decimated.
_SPARED = 400


def shares(triangles: Sequence[int], budget: int) -> tuple[int, ...]:
    """Divide a number of triangles among meshes.

    Small meshes are kept, all others are reduced by the same factor.

    Args:
        triangles: Number of triangles of each mesh.
        budget: Number that may be drawn in all.

    Returns:
        Number of each; a little more than the budget in all if most meshes are small.
    """
    if sum(triangles) <= budget:
        return tuple(triangles)
    spared = sum(count for count in triangles if count <= _SPARED)
    rest = sum(triangles) - spared
    part = max(0.0, budget - spared) / rest if rest else 1.0
    return tuple(
        count if count <= _SPARED else max(_SPARED, int(count * part)) for count in triangles
    )


class MergedMesh(Struct, frozen=True, eq=False):
    """A mesh with merged points."""

    corners: NDArray[np.float64]  # (N, 3) points relative to the bounding box, in [0, 1]
    faces: NDArray[np.integer]  # (M, 3) indices of points, without degenerate faces
    lower: NDArray[np.float64]  # lower corner of the bounding box [m]
    span: NDArray[np.float64]  # its edges [m]; one where it has no extent
    triangles: int  # before merging
    digest: bytes  # equal for equal meshes


def merge_points(points: NDArray[np.floating], triangles: NDArray[np.integer]) -> MergedMesh | None:
    """Merge equal points (N, 3) [m] of triangles (M, 3); None if no face is visible."""
    # In float32, so that a mesh is equal before and after conversion; transposed, which
    # is several times faster in numpy.
    stored = np.asarray(points, np.float32).T.copy()
    if not (len(points) and np.isfinite(stored).all()):
        return None
    lower = stored.min(axis=1).astype(np.float64)
    extent = stored.max(axis=1) - lower
    span = np.where(extent > 0, extent, 1.0)
    places, faces = _joined((stored.T - lower) / span, triangles, _FINE)
    if not len(faces):
        return None
    digest = hashlib.sha256()
    for array in (places, faces.astype(np.int32), lower, span):
        digest.update(np.ascontiguousarray(array).data)
    merged = _at(places, _FINE)
    return MergedMesh(merged, faces, lower, span, len(triangles), digest.digest())


def coarsen(mesh: MergedMesh, target: int) -> SceneMesh | None:
    """Decimate a mesh, on a grid of 65536 steps along each axis.

    Args:
        mesh: The mesh.
        target: Number of triangles that may be drawn; three times as many for meshes
            that can hardly be decimated.

    Returns:
        The mesh; None if it has no visible face.
    """
    corners, faces = mesh.corners, mesh.faces
    if len(faces) > target:
        for steps in (_FINE, *_COARSER):
            corners, faces = _merged(mesh.corners, mesh.faces, steps)
            if len(faces) <= _COLLAPSED:
                corners, faces = _collapsed(mesh, corners, faces, target)
            if len(faces) <= _LEFT * target:
                break
    grid, faces = _merged(corners, faces, _STEPS)
    if not len(faces):
        return None
    wide = len(grid) > _STEPS
    x, y, z = mesh.lower.tolist()
    u, v, w = (mesh.span / _STEPS).tolist()
    return SceneMesh(
        positions=_text(np.rint(grid * _STEPS), "<u2"),
        origin=(x, y, z),
        step=(u, v, w),
        indices=_text(faces, "<u4" if wide else "<u2"),
        wide=wide,
        triangles=mesh.triangles,
        drawn=len(faces),
    )


def _collapsed(
    mesh: MergedMesh,
    corners: NDArray[np.float64],
    faces: NDArray[np.integer],
    target: int,
) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Collapse edges, which keeps the shape better than merging points on a grid."""
    # With the true aspect ratio, which affects the choice of edges, and in a unit in
    # which the first passes collapse only edges of flat parts.
    unit = np.linalg.norm(mesh.span) / _UNITS
    coarse, remaining = fast_simplification.simplify(
        np.ascontiguousarray(corners * (mesh.span / unit), np.float32),
        np.ascontiguousarray(faces, np.int32),
        target_count=target,
    )
    return np.clip(coarse * (unit / mesh.span), 0.0, 1.0), remaining


def _merged(
    points: NDArray[np.float64], faces: NDArray[np.integer], steps: int
) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Snap points in [0, 1] to a grid, merge equal ones, and remove degenerate faces."""
    cells, faces = _joined(points, faces, steps)
    return _at(cells, steps), faces


def _joined(
    points: NDArray[np.float64], faces: NDArray[np.integer], steps: int
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Do so, and return each point's grid coordinates as one integer."""
    # One integer sorts many times faster than three columns.
    x, y, z = np.rint(points.T * steps).astype(np.int64)
    keys, indices = np.unique((x << 42) | (y << 21) | z, return_inverse=True)
    joined = np.take(indices, faces)
    a, b, c = joined.T
    # For rows, three times as fast as a mask.
    return keys, np.compress((a != b) & (b != c) & (c != a), joined, axis=0)


def _at(places: NDArray[np.int64], steps: int) -> NDArray[np.float64]:
    columns = np.stack([places >> 42, (places >> 21) & _FINE, places & _FINE])
    corners: NDArray[np.float64] = columns.T / steps
    return corners


def _text(values: NDArray[np.generic], kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
