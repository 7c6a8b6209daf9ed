"""Decimation of meshes for a page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import fast_simplification
import numpy as np
from numpy.typing import NDArray

from urdf_usd.reports.records.scene import SceneMesh

_Array: TypeAlias = NDArray[np.float64]
_Faces: TypeAlias = NDArray[np.integer]

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


def shares(triangles: Sequence[int], budget: int) -> list[int]:
    """Divide a budget of triangles among meshes: small ones are kept, others reduced alike."""
    part = min(1.0, budget / max(sum(triangles), 1))
    return [min(count, max(_SPARED, int(count * part))) for count in triangles]


def coarsen(
    points: NDArray[np.floating], triangles: _Faces, target: int, made: dict[bytes, SceneMesh]
) -> SceneMesh | None:
    """Decimate (M, 3) triangles of (N, 3) points [m] on a grid of 65536 steps along each axis.

    There may be three times as many as ``target`` of meshes that can hardly be decimated; None if
    no face is visible. ``made`` has the meshes that were made, by content.
    """
    # In float32, so that a mesh is equal before and after conversion.
    stored = np.asarray(points, np.float32).astype(np.float64)
    if not (len(points) and np.isfinite(stored).all()):
        return None
    lower = stored.min(axis=0)
    extent = stored.max(axis=0) - lower
    span = np.where(extent > 0, extent, 1.0)
    whole, visible = _merged((stored - lower) / span, triangles, _FINE)
    content = b"".join(array.tobytes() for array in (whole, visible.astype(np.int32), lower, span))
    key = hashlib.sha256(content + target.to_bytes(8, "big")).digest()
    if key in made:
        return made[key]
    corners, faces = whole, visible
    if len(faces) > target:
        for steps in (_FINE, *_COARSER):
            corners, faces = _merged(whole, visible, steps)
            if len(faces) <= _COLLAPSED:
                corners, faces = _collapsed(corners, faces, span, target)
            if len(faces) <= _LEFT * target:
                break
    grid, faces = _merged(corners, faces, _STEPS)
    if not len(faces):
        return None
    wide = len(grid) > _STEPS
    x, y, z = lower.tolist()
    u, v, w = (span / _STEPS).tolist()
    made[key] = SceneMesh(
        positions=_text(np.rint(grid * _STEPS), "<u2"),
        origin=(x, y, z),
        step=(u, v, w),
        indices=_text(faces, "<u4" if wide else "<u2"),
        wide=wide,
        triangles=len(triangles),
        drawn=len(faces),
    )
    return made[key]


def _collapsed(corners: _Array, faces: _Faces, span: _Array, target: int) -> tuple[_Array, _Faces]:
    """Collapse edges, which keeps the shape better than merging points on a grid."""
    # With the true aspect ratio, which affects the choice of edges, and in a unit in
    # which the first passes collapse only edges of flat parts.
    unit = np.linalg.norm(span) / _UNITS
    coarse, remaining = fast_simplification.simplify(
        np.ascontiguousarray(corners * (span / unit), np.float32),
        np.ascontiguousarray(faces, np.int32),
        target_count=target,
    )
    return np.clip(coarse * (unit / span), 0.0, 1.0), remaining


def _merged(points: _Array, faces: _Faces, steps: int) -> tuple[_Array, _Faces]:
    """Snap points in [0, 1] to a grid, merge equal ones, and remove degenerate faces."""
    # One integer sorts many times faster than three columns.
    x, y, z = np.rint(points.T * steps).astype(np.int64)
    keys, indices = np.unique((x << 42) | (y << 21) | z, return_inverse=True)
    joined = np.take(indices, faces)
    a, b, c = joined.T
    cells = np.stack([keys >> 42, (keys >> 21) & _FINE, keys & _FINE], axis=1)
    return cells / steps, joined[(a != b) & (b != c) & (c != a)]


def _text(values: NDArray[np.generic], kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
