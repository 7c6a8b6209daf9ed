"""Meshes made small enough for a page."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from urdf_usd.conformance.records.scene import SceneMesh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_STEPS = 65535
# Grids on which points of large meshes are joined, and how close to its share that is
# to bring a mesh.
_COARSER = (1024, 512, 256, 128, 64, 32)
_NEARLY = 2
# Triangles per point from which edges can hardly be taken away: a closed surface has
# two, and one whose sides were joined has more.
_TANGLED = 2.5
# How many times its share such a mesh may have.
_LEFT = 3
# As fine as three coordinates in one integer can be.
_FINE = 2**21 - 1
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


@dataclass(frozen=True, slots=True, eq=False)
class Welded:
    """A mesh in which equal points are one.

    Attributes:
        corners: (N, 3) points, in the box that they fill; from 0 to 1.
        faces: (M, 3) indices of points, without faces of no surface.
        lower: Where the box begins [m].
        span: Its edges [m]; one where it has no extent.
        triangles: Number of triangles before.
        digest: What is the same for the same mesh, whoever wrote or read it.
    """

    corners: NDArray[np.float64]
    faces: NDArray[np.integer]
    lower: NDArray[np.float64]
    span: NDArray[np.float64]
    triangles: int
    digest: bytes


def weld(points: NDArray[np.floating], triangles: NDArray[np.integer]) -> Welded | None:
    """Make equal points of a mesh one.

    Args:
        points: (N, 3) [m].
        triangles: (M, 3) indices of points.

    Returns:
        The mesh; None if nothing of it can be seen.
    """
    # What a USD stores, so that a mesh is the same before and after; coordinate by
    # coordinate, over which numpy is several times faster.
    stored = np.asarray(points, np.float32).T.copy()
    if not (len(points) and np.isfinite(stored).all()):
        return None
    lower = stored.min(axis=1).astype(np.float64)
    extent = stored.max(axis=1) - lower
    span = np.where(extent > 0, extent, 1.0)
    places, faces = _joined((stored.T - lower) / span, triangles, _FINE)
    if not len(faces):
        return None
    digest = _digest(places, faces.astype(np.int32), lower, span)
    return Welded(_at(places, _FINE), faces, lower, span, len(triangles), digest)


def surface_digest(
    points: NDArray[np.floating], triangles: NDArray[np.integer]
) -> bytes:
    """Return what only triangles of the same corners in the same order have.

    Args:
        points: (N, 3) [m]; what counts is what a USD stores of them.
        triangles: (M, 3) indices of points.
    """
    corners = np.take(np.asarray(points, np.float32), triangles, axis=0)
    # The sum makes one zero of the two.
    return _digest(corners + np.float32(0))


def _digest(*arrays: NDArray[np.generic]) -> bytes:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).data)
    return found.digest()


def coarsen(mesh: Welded, target: int) -> SceneMesh | None:
    """Draw a mesh with fewer triangles, on a grid of 65536 steps along each axis.

    Args:
        mesh: The mesh.
        target: Number of triangles that may be drawn; three times as many of what can
            hardly be made coarser.

    Returns:
        The mesh; None if nothing of it can be seen.
    """
    corners, faces = _clustered(mesh, target)
    tangled = len(faces) > _TANGLED * len(corners)
    if len(faces) > (_LEFT * target if tangled else target):
        # Robots without large meshes do not need it.
        import fast_simplification  # noqa: PLC0415

        # In proportion, so that it keeps what is long.
        coarse, faces = fast_simplification.simplify(
            np.ascontiguousarray(corners * mesh.span, np.float32),
            np.ascontiguousarray(faces, np.int32),
            target_count=target,
        )
        corners = np.clip(coarse / mesh.span, 0.0, 1.0)
    grid, faces = _welded(corners, faces, _STEPS)
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


def _clustered(
    mesh: Welded, target: int
) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Join close points of a mesh that is far too fine.

    Taking edges away one by one looks better, and takes fifty times as long: it is left
    what makes the last difference.
    """
    corners, faces = mesh.corners, mesh.faces
    for steps in _COARSER:
        if len(faces) <= _NEARLY * target:
            break
        corners, faces = _welded(mesh.corners, mesh.faces, steps)
    return corners, faces


def _welded(
    points: NDArray[np.float64], faces: NDArray[np.integer], steps: int
) -> tuple[NDArray[np.float64], NDArray[np.integer]]:
    """Put points on a grid, make equal ones one, and leave out faces of no surface.

    Args:
        points: (N, 3) in [0, 1].
        faces: (M, 3) indices of points.
        steps: Number of steps of the grid along each axis, below 2^21.
    """
    places, faces = _joined(points, faces, steps)
    return _at(places, steps), faces


def _joined(
    points: NDArray[np.float64], faces: NDArray[np.integer], steps: int
) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Do so, and return each point's place on the grid as one integer."""
    # Three coordinates in one integer sort many times faster than in three columns.
    x, y, z = np.rint(points.T * steps).astype(np.int64)
    keys, place = np.unique((x << 42) | (y << 21) | z, return_inverse=True)
    joined = np.take(place, faces)
    a, b, c = joined.T
    # Of rows, this takes a third of what a mask takes.
    return keys, np.compress((a != b) & (b != c) & (c != a), joined, axis=0)


def _at(places: NDArray[np.int64], steps: int) -> NDArray[np.float64]:
    columns = np.stack([places >> 42, (places >> 21) & _FINE, places & _FINE])
    corners: NDArray[np.float64] = columns.T / steps
    return corners


def _text(values: NDArray[np.generic], kind: str) -> str:
    return base64.b64encode(values.astype(kind).tobytes()).decode("ascii")
