"""The content of a mesh file, independent of its format."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from urdf_usd.conformance.engines.mesh_materials import FileMaterial
from urdf_usd.conformance.engines.surfaces import Array, Indices, moved

_LONGEST_REASON = 200


class UnreadMeshError(Exception):
    """A mesh file cannot be read; the message says why, in one line."""


class FaceGroup(Struct, frozen=True, eq=False):
    """Triangles of one group."""

    points: Array  # (N, 3) [m]; each is a corner of a triangle
    triangles: Indices  # (M, 3) indices of points


class LoadedMesh(Struct, frozen=True, eq=False):
    """The content of a mesh file."""

    points: Array  # (N, 3) [m]
    triangles: Indices  # (M, 3) indices of points, counter-clockwise seen from outside
    material_of: Indices  # (M) index of the material of each triangle; -1 for none
    materials: tuple[FileMaterial, ...] = ()
    has_coordinates: bool = False  # whether the surface has texture coordinates
    has_normals: bool | None = None  # whether the file has normals; None if that is not read
    # (M, 3, 3) of the corners of triangles, of any length; None if the file has none, or the
    # reader does not state them
    normals: NDArray[np.float32] | None = None
    # (M, 3, 2) texture coordinates of the corners of triangles, NaN where there are none,
    # with v up; None if the reader does not state them
    coordinates: NDArray[np.float32] | None = None
    corners: int = 3  # of the largest face of an OBJ file; three for others
    # Groups of an OBJ file that has several with faces; each collides as its own convex hull.
    groups: tuple[FaceGroup, ...] = ()

    @property
    def pieces(self) -> int:
        """Number of groups that have faces; one for formats without groups."""
        return len(self.groups) or 1


class MeshPart(Struct, frozen=True, eq=False):
    """Triangles with one transform and one material."""

    points: Array  # (N, 3) in the part's own frame and unit
    triangles: Indices  # (M, 3) indices of points
    transform: Array  # (4, 4) from there to the file's frame [m]
    material: int = -1  # index of the material; -1 for none
    normals: NDArray[np.floating] | None = None  # (M, 3, 3) of corners, in the part's own frame
    coordinates: NDArray[np.floating] | None = None  # (M, 3, 2) texture coordinates of corners


def joined_parts(parts: Iterable[MeshPart]) -> LoadedMesh:
    """Join parts; a mirroring transform keeps the outside of a part outside.

    Raises:
        UnreadMeshError: There is no triangle.
    """
    points, triangles, material_of = [], [], []
    normals: list[NDArray[np.float32]] = []
    coordinates: list[NDArray[np.float32]] = []
    start = mapped = 0
    for part in parts:
        mirrors = np.linalg.det(part.transform[:3, :3]) < 0.0
        order = slice(None, None, -1 if mirrors else 1)
        faces = part.triangles[:, order]
        if part.normals is not None:
            normals.append(_turned(part.normals[:, order], part.transform).astype(np.float32))
        absent = np.full((len(faces), 3, 2), np.nan, np.float32)
        mapped += part.coordinates is not None
        coordinates.append(
            absent if part.coordinates is None else part.coordinates[:, order].astype(np.float32)
        )
        points.append(moved(part.points, part.transform))
        triangles.append(faces + start)
        material_of.append(np.full(len(faces), part.material))
        start += len(part.points)
    if not sum(map(len, triangles)):
        raise UnreadMeshError("it holds no triangles")
    has_all = len(normals) == len(points)
    return LoadedMesh(
        points=np.concatenate(points),
        triangles=np.concatenate(triangles),
        material_of=np.concatenate(material_of),
        has_coordinates=mapped > 0,
        has_normals=has_all or (None if normals else False),
        normals=np.concatenate(normals) if has_all else None,
        coordinates=np.concatenate(coordinates),
    )


def _turned(normals: NDArray[np.floating], transform: Array) -> Array:
    """Return normals by the inverse transpose of a transform, of any length."""
    linear = transform[:3, :3]
    # Rows of cofactors, which are the inverse transpose times the determinant.
    cofactors = np.cross(np.roll(linear, -1, axis=0), np.roll(linear, -2, axis=0))
    sign = np.sign(np.linalg.det(linear))
    turned: Array = normals.astype(np.float64) @ (cofactors * sign).T
    return turned


@contextmanager
def reading_by(library: str) -> Iterator[None]:
    """Convert any exception of a library into the reason why a file is not read.

    Only calls of the library, and accesses to its objects, belong inside.

    Raises:
        UnreadMeshError: The library raised; the message has the library, the type of
            the error and its message.
    """
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            # numpy warns if it stops reading numbers before the end of a text.
            warnings.filterwarnings("error", "string or file could not be read")
            yield
    except UnreadMeshError:
        raise
    # Libraries raise any exception on damaged files, which is recorded as the outcome.
    except Exception as error:
        shown = " ".join(f"{type(error).__name__}: {error}".split())
        raise UnreadMeshError(f"{library} raises {shown}"[:_LONGEST_REASON]) from error
