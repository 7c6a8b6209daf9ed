"""Values at face corners: normals, texture coordinates, colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.float64]

# Returns the content of a file that a mesh file refers to; None if missing.
SiblingReader: TypeAlias = Callable[[str], bytes | None]


_T = TypeVar("_T", bound=np.generic)
# Ratio of values to corners from which unused values are dropped by sorting.
_MANY = 8


class CornerValues(Struct, frozen=True, eq=False):
    """Values at the corners of faces, in read-only arrays, without unused values.

    Attributes:
        values: (K, D) distinct values.
        indices: Value of each corner, in the order of ``face_indices``.
    """

    values: NDArray[np.float64]
    indices: NDArray[np.int32]


def fits_float32(values: NDArray[np.floating]) -> bool:
    """Return whether numbers are finite in float32, as stored in USD."""
    with np.errstate(over="ignore"):
        return bool(np.isfinite(values.astype(np.float32)).all())


def corner_values(
    values: NDArray[np.floating], indices: NDArray[np.integer]
) -> CornerValues | None:
    """Build values of corners; None unless all corners have a finite value.

    Args:
        values: (K, D) values.
        indices: Value of each corner.
    """
    if not are_valid_indices(indices, len(values)):
        return None
    return finite_values(*drop_unused(values, indices))


def finite_values(
    values: NDArray[np.floating], indices: NDArray[np.integer]
) -> CornerValues | None:
    """Build values of corners that are all used; None unless they are finite.

    Args:
        values: (K, D) values.
        indices: Value of each corner, all within the values.
    """
    if not fits_float32(values):
        return None
    # Views, so that the given arrays stay writeable.
    return CornerValues(
        read_only(values.astype(np.float64, copy=False).view()),
        read_only(indices.astype(np.int32, copy=False).view()),
    )


def are_valid_indices(indices: NDArray[np.integer], count: int) -> bool:
    """Return whether there are indices, all from 0 to ``count`` - 1."""
    return bool(len(indices) and indices.min() >= 0 and indices.max() < count)


def drop_unused(
    values: NDArray[_T], indices: NDArray[np.integer]
) -> tuple[NDArray[_T], NDArray[np.integer]]:
    """Drop values that no corner uses.

    Args:
        values: (K, D) values.
        indices: Value of each corner, all within the values.
    """
    if len(indices) * _MANY < len(values):
        # Many parts may share the values of a large surface; time must not grow with
        # the size of the whole for each part.
        used, indices = np.unique(indices, return_inverse=True)
        return values[used], indices
    is_used = np.zeros(len(values), dtype=bool)
    is_used[indices] = True
    if is_used.all():
        return values, indices
    numbers = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    return values[is_used], numbers[indices]


def fill_missing(
    values: NDArray[np.floating],
    indices: NDArray[np.integer],
    missing: NDArray[np.floating],
) -> CornerValues | None:
    """Fill in values of corners without one; None if no corner has one.

    Args:
        values: (K, D) values.
        indices: Value of each corner; out of range for none.
        missing: (D,) value, or (corners, D) values, for corners without one.
    """
    lacks = (indices < 0) | (indices >= len(values))
    if lacks.all():
        return None
    if not lacks.any():
        return corner_values(values, indices)
    filled = np.where(lacks, 0, indices)
    if missing.ndim == 1:
        extra = missing[None]
        filled[lacks] = len(values)
    else:
        extra = missing[lacks]
        filled[lacks] = len(values) + np.arange(len(extra))
    return corner_values(np.concatenate([values, extra]), filled)


def join_corner_values(
    parts: Sequence[CornerValues | None], blanks: Sequence[NDArray[np.float64]]
) -> CornerValues | None:
    """Concatenate the values of several surfaces; None if no surface has any.

    Args:
        parts: Values of each surface, if it has any.
        blanks: (corners, D) default values of each surface.
    """
    if all(part is None for part in parts):
        return None
    if len(parts) == 1:
        return parts[0]
    values, indices, start = [], [], 0
    for part, blank in zip(parts, blanks, strict=True):
        one = blank if part is None else part.values
        values.append(one)
        indices.append((np.arange(len(one)) if part is None else part.indices) + start)
        start += len(one)
    return corner_values(np.concatenate(values), np.concatenate(indices))


def face_normals(
    points: NDArray[np.floating],
    face_counts: NDArray[np.integer],
    face_indices: NDArray[np.integer],
) -> NDArray[np.float64]:
    """Return the unit face normal at every corner (Newell's method).

    The Z axis for faces without area.

    Args:
        points: (N, 3) positions.
        face_counts: (F,) corners per face.
        face_indices: Points of all corners, face by face.
    """
    # reduceat cannot handle faces without corners.
    face_counts = face_counts[face_counts > 0]
    starts = np.cumsum(face_counts, dtype=np.int64) - face_counts
    following = np.arange(1, len(face_indices) + 1)
    following[starts + face_counts - 1] = starts
    corners = points[face_indices].astype(np.float64)
    corners = corners - np.repeat(corners[starts], face_counts, axis=0)
    # Positions that are not finite are refused later, by build_mesh.
    with np.errstate(all="ignore"):
        doubled = np.add.reduceat(np.cross(corners, corners[following]), starts)
    normals = unit_vectors(doubled)
    flat = (normals == 0.0).all(axis=1)
    normals[flat, 2] = 1.0
    return np.repeat(normals, face_counts, axis=0)


def directed_normals(
    normals: CornerValues,
    points: NDArray[np.floating],
    face_counts: NDArray[np.integer],
    face_indices: NDArray[np.integer],
) -> CornerValues | None:
    """Replace zero normals by those of the faces; None if all are zero.

    The arguments are those of :func:`face_normals`.
    """
    directed = (normals.values != 0.0).any(axis=1)
    if directed.all():
        return normals
    indices = np.where(directed[normals.indices], normals.indices, -1)
    faces = face_normals(points, face_counts, face_indices)
    return fill_missing(normals.values, indices, faces)


def unit_vectors(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return (K, 3) unit vectors; zero for those that are zero or not finite."""
    x, y, z = vectors.T
    with np.errstate(over="ignore"):
        lengths = np.sqrt(x * x + y * y + z * z)[:, None]
    sound = np.isfinite(lengths) & (lengths > 0)
    result: NDArray[np.float64]
    if sound.all():
        result = vectors / lengths
    else:
        divisors = np.where(sound, lengths, 1.0)
        result = np.where(sound, vectors, 0.0) / divisors
    return result


def transform_vectors(vectors: NDArray[np.float64], linear: NDArray[np.floating]) -> Rows:
    """Multiply a (3, 3) matrix with each of (K, 3) vectors.

    Without BLAS, whose rounding depends on the processor, and which starts threads.
    Zeros are positive. Vectors that are not finite stay so.
    """
    if np.array_equal(linear, np.eye(3)):
        return vectors + 0.0
    x, y, z = vectors.T
    rows = np.empty(vectors.shape)
    for row, (a, b, c) in zip(rows.T, linear, strict=True):
        row[:] = a * x + b * y + c * z + 0.0
    return rows


def read_only(array: NDArray[_T]) -> NDArray[_T]:
    """Make an array read-only."""
    array.flags.writeable = False
    return array
