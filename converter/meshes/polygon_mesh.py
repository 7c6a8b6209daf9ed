"""The mesh type that all readers return."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.converter.diagnostics.messages import LONG_TEXT, truncate, truncate_list
from urdf_usd.converter.meshes.corner_values import (
    CornerValues,
    corner_values,
    directed_normals,
    fits_float32,
    read_only,
)
from urdf_usd.converter.meshes.mesh_material import MeshMaterial

Points: TypeAlias = "NDArray[np.float64]"
Indices: TypeAlias = "NDArray[np.int32]"

# Indices are 32-bit integers, as in USD.
_LARGEST_COUNT = 2**31 - 1
# Odd, with bits in no order: the primes of xxHash, a public-domain hash function.
_HASH_FACTORS = tuple(map(np.uint64, (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)))
_TRIANGLE = 3


class MeshError(Exception):
    """A mesh file cannot be read.

    Attributes:
        reason: Reason in one line, without the file's name.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = truncate(reason, LONG_TEXT)


class SurfaceAttributes(Struct, frozen=True, eq=False):
    """Attributes of a surface besides positions and faces; None if absent.

    Attributes:
        normals: Unit vectors; before :func:`build_mesh`, zero where there is none.
        texture_coordinates: (u, v) with v up: the lower edge of the image is v = 0.
        further_coordinates: Further sets; None for unused ones.
        colors: sRGB components in [0, 1].
        face_materials: (F,) index of each face's material; negative for none.
        materials: Materials of the faces.
        face_groups: (F,) index of each face's group in ascending order, for files with
            several groups.
        groups: Names of the groups; names may repeat.
    """

    normals: CornerValues | None = None
    texture_coordinates: CornerValues | None = None
    further_coordinates: tuple[CornerValues | None, ...] = ()
    colors: CornerValues | None = None
    face_materials: Indices | None = None
    materials: tuple[MeshMaterial, ...] = ()
    face_groups: Indices | None = None
    groups: tuple[str, ...] = ()

    @property
    def coordinate_sets(self) -> tuple[CornerValues | None, ...]:
        """All sets of texture coordinates, by number."""
        return (self.texture_coordinates, *self.further_coordinates)


NO_ATTRIBUTES = SurfaceAttributes()


class PolygonMesh(Struct, frozen=True, eq=False):
    """A polygon mesh, in read-only arrays.

    Every point belongs to a face, and every face has at least three distinct points.

    Attributes:
        points: (N, 3) positions in the frame of the file [m].
        face_counts: (F,) number of corners of each face.
        face_indices: (sum of ``face_counts``,) points of all corners, face by face,
            counter-clockwise seen from outside.
        ignored_up_axis: ``X_UP`` or ``Y_UP`` if the file says that its up axis is not
            Z, and the points were taken as they are; None otherwise.
        skipped: Omitted content of the file, one text each.
        attributes: Normals, texture coordinates, colours and materials.
        sibling_files: Paths of other files that were read with the mesh file.
    """

    points: Points
    face_counts: Indices
    face_indices: Indices
    ignored_up_axis: str | None = None
    skipped: tuple[str, ...] = ()
    attributes: SurfaceAttributes = NO_ATTRIBUTES
    sibling_files: tuple[str, ...] = ()


def build_mesh(
    points: NDArray[np.floating],
    face_counts: NDArray[np.integer],
    face_indices: NDArray[np.integer],
    *,
    ignored_up_axis: str | None = None,
    skipped: tuple[str, ...] = (),
    attributes: SurfaceAttributes = NO_ATTRIBUTES,
) -> PolygonMesh:
    """Check a surface, and drop degenerate faces and unused points.

    Faces with fewer than three distinct points are dropped; slivers of three distinct
    points are kept, because they close the surface. Faces with a point that is not
    finite in float32 are dropped, and counted in ``skipped``. Unused points are
    dropped, because they would affect bounds and convex hulls. Zero normals become
    those of their faces.

    Args:
        points: (N, 3) positions [m].
        face_counts: (F,) corners per face.
        face_indices: Points of all corners, face by face.
        ignored_up_axis: See :class:`PolygonMesh`.
        skipped: See :class:`PolygonMesh`.
        attributes: What belongs to the corners and faces as they are passed.

    Raises:
        MeshError: An index is out of range, or no face is left.
    """
    check_indices(len(points), face_counts, face_indices)
    sound = _sound_faces(face_counts, face_indices)
    if not sound.any():
        raise MeshError("it holds no faces")
    if not fits_float32(points):
        placed = _placed_faces(points, face_counts, face_indices)
        skipped = (*skipped, *faces_left_out(sound & ~placed, sound))
        sound &= placed
    if not sound.all():
        attributes = _attributes_of_faces(attributes, sound, face_counts)
        face_indices = face_indices[np.repeat(sound, face_counts)]
        face_counts = face_counts[sound]
    normals = attributes.normals
    if normals is not None:
        normals = directed_normals(normals, points, face_counts, face_indices)
        attributes = structs.replace(attributes, normals=normals)
    used = np.zeros(len(points), dtype=bool)
    used[face_indices] = True
    renumbered = face_indices
    if not used.all():
        points = points[used]
        renumbered = (np.cumsum(used, dtype=np.int32) - np.int32(1))[face_indices]
    return PolygonMesh(
        points=read_only(points.astype(np.float64)),
        face_counts=read_only(face_counts.astype(np.int32)),
        face_indices=read_only(renumbered.astype(np.int32)),
        ignored_up_axis=ignored_up_axis,
        skipped=truncate_list(skipped),
        attributes=attributes,
    )


def faces_left_out(lost: NDArray[np.bool_], faces: NDArray[np.bool_]) -> tuple[str, ...]:
    """Return a text about the number of faces with a point that is not finite.

    Args:
        lost: (F,) faces with such a point.
        faces: (F,) all valid faces.

    Raises:
        MeshError: All faces have such a point.
    """
    count, total = int(lost.sum()), int(faces.sum())
    if count == total:
        raise MeshError("every face has a vertex that is not finite")
    if not count:
        return ()
    return (f"faces left out for a vertex that is not finite: {count} of {total}",)


def mirrored(mesh: PolygonMesh, axes: tuple[bool, bool, bool]) -> PolygonMesh:
    """Mirror a mesh along the given axes; faces stay counter-clockwise."""
    if not any(axes):
        return mesh
    signs = np.where(axes, -1.0, 1.0)
    attributes = mesh.attributes
    if attributes.normals is not None:
        turned = CornerValues(
            read_only(attributes.normals.values * signs), attributes.normals.indices
        )
        attributes = structs.replace(attributes, normals=turned)
    indices = mesh.face_indices
    if sum(axes) % 2 == 1:
        order = reversed_faces(mesh.face_counts, np.arange(len(indices)))
        indices, attributes = indices[order], _attributes_of_corners(attributes, order)
    return build_mesh(mesh.points * signs, mesh.face_counts, indices, attributes=attributes)


def has_groups(mesh: PolygonMesh) -> bool:
    """Return whether at least two groups have faces."""
    numbers = mesh.attributes.face_groups
    # In ascending order.
    return numbers is not None and bool(numbers[0] != numbers[-1])


def split_groups(mesh: PolygonMesh) -> tuple[tuple[str, PolygonMesh], ...]:
    """Return the name and the surface of each group of faces, without attributes.

    Empty unless at least two groups have faces.
    """
    attributes = mesh.attributes
    if attributes.face_groups is None:
        return ()
    numbers, sizes = np.unique(attributes.face_groups, return_counts=True)
    if len(numbers) == 1:
        return ()
    face_ends = np.cumsum(sizes)
    corner_ends = np.cumsum(mesh.face_counts, dtype=np.int64)[face_ends - 1]
    counts = np.split(mesh.face_counts, face_ends[:-1])
    indices = np.split(mesh.face_indices, corner_ends[:-1])
    return tuple(
        (attributes.groups[number], _surface_of(mesh, own_counts, own_indices))
        for number, own_counts, own_indices in zip(numbers.tolist(), counts, indices, strict=True)
    )


def _surface_of(mesh: PolygonMesh, face_counts: Indices, face_indices: Indices) -> PolygonMesh:
    # Time must not grow with the size of the whole mesh for each group.
    used, renumbered = np.unique(face_indices, return_inverse=True)
    return build_mesh(mesh.points[used], face_counts, renumbered)


def join_groups(groups: Sequence[tuple[str, PolygonMesh]]) -> PolygonMesh:
    """Join named surfaces to a mesh with one group each; the inverse of splitting."""
    starts = np.cumsum([0, *(len(mesh.points) for _, mesh in groups)])
    sizes = [len(mesh.face_counts) for _, mesh in groups]
    return build_mesh(
        np.concatenate([mesh.points for _, mesh in groups]),
        np.concatenate([mesh.face_counts for _, mesh in groups]),
        np.concatenate(
            [mesh.face_indices + start for (_, mesh), start in zip(groups, starts, strict=False)]
        ),
        attributes=SurfaceAttributes(
            face_groups=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
            groups=tuple(name for name, _ in groups),
        ),
    )


def merge_equal_points(corners: NDArray[np.float32]) -> tuple[Points, Indices]:
    """Merge equal positions, in the order of first occurrence.

    Positions are compared exactly; the two zeros are equal.

    Args:
        corners: (M, 3) positions, all numbers.

    Returns:
        The (N, 3) distinct positions, and for each corner the index of its position.
    """
    # Equal numbers have equal bits after the sum, which removes negative zeros.
    first = _first_equal_rows((corners + np.float32(0)).view(np.uint32))
    is_first = np.zeros(len(corners), dtype=bool)
    is_first[first] = True
    numbers = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
    return corners[is_first].astype(np.float64), numbers[first]


def _first_equal_rows(rows: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Return for each of (M, 3) rows the index of the first equal row."""
    first = _first_of_runs(*_sorted_by_hash(rows))
    differs = np.zeros(len(rows), dtype=bool)
    for column in rows.T:
        differs |= column[first] != column
    (left,) = np.nonzero(differs)
    if len(left):
        order = np.lexsort(rows[left].T)
        ordered = rows[left[order]]
        changes = np.logical_or.reduce(ordered[1:] != ordered[:-1], axis=1)
        first[left] = left[_first_of_runs(order, changes)]
    return first


def _sorted_by_hash(
    rows: NDArray[np.uint32],
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Sort (M, 3) rows by a hash, and rows with equal hashes by their index.

    Sorting integers is several times as fast as sorting rows or indices: their upper
    bits are the hash, and their lower ones the index. Among a million rows, a hash is
    shared by different rows once in thirty times.

    Returns:
        The (M,) indices of the rows, and (M - 1,) whether the hash changes between two.
    """
    count = len(rows)
    index_bits = np.uint64(count.bit_length())
    in_index = (np.uint64(1) << index_bits) - np.uint64(1)
    keys = np.zeros(count, np.uint64)
    for column, factor in zip(rows.T, _HASH_FACTORS, strict=True):
        keys += column * factor
    keys &= ~in_index
    keys |= np.arange(count, dtype=np.uint64)
    keys.sort()
    order = (keys & in_index).astype(np.intp)
    keys >>= index_bits
    return order, keys[1:] != keys[:-1]


def _first_of_runs(order: NDArray[np.intp], changes: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return for each element the first one of its run.

    Args:
        order: (M,) sorted elements; those of a run are in ascending order.
        changes: (M - 1,) whether a run ends between two of them.
    """
    is_start = np.ones(len(order), dtype=bool)
    is_start[1:] = changes
    starts = np.flatnonzero(is_start)
    first = np.empty_like(order)
    first[order] = np.repeat(order[starts], np.diff(starts, append=len(order)))
    return first


def reversed_faces(
    face_counts: NDArray[np.integer], face_indices: NDArray[np.integer]
) -> NDArray[np.integer]:
    """Return the corners of every face in the opposite order, the first one first.

    Readers triangulate a polygon as a fan around its first corner: around another one,
    the surface of a polygon that is not flat or not convex would change.
    """
    starts = np.cumsum(face_counts, dtype=np.int64) - face_counts
    places = np.arange(len(face_indices)) - np.repeat(starts, face_counts)
    sizes = np.repeat(face_counts, face_counts)
    order = np.repeat(starts, face_counts) + (sizes - places) % sizes
    turned: NDArray[np.integer] = face_indices[order]
    return turned


def check_indices(
    point_count: int,
    face_counts: NDArray[np.integer],
    face_indices: NDArray[np.integer],
) -> None:
    """Check the indices of faces.

    Raises:
        MeshError: They are inconsistent or out of range.
    """
    if max(point_count, len(face_indices)) > _LARGEST_COUNT:
        raise MeshError("it is too large for 32-bit indices")
    if len(face_counts) and face_counts.min() < 0:
        raise MeshError("a face has a negative number of corners")
    if int(face_counts.sum(dtype=np.int64)) != len(face_indices):
        raise MeshError("its faces do not add up to its corners")
    if len(face_indices) and not (face_indices.min() >= 0 and face_indices.max() < point_count):
        raise MeshError(f"a face refers to none of its {point_count} vertices")


def _sound_faces(
    face_counts: NDArray[np.integer], face_indices: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return which faces have at least three distinct points."""
    if len(face_counts) and face_counts.min() == face_counts.max() == _TRIANGLE:
        a, b, c = face_indices.reshape(-1, _TRIANGLE).T
        distinct: NDArray[np.bool_] = (a != b) & (b != c) & (c != a)
        return distinct
    sound = face_counts > 0
    counts = face_counts[sound]
    if not len(counts):
        return sound
    starts = np.cumsum(counts, dtype=np.int64) - counts
    lowest = np.minimum.reduceat(face_indices, starts)
    highest = np.maximum.reduceat(face_indices, starts)
    # A third point exists where a corner is neither the lowest nor the highest.
    third = (face_indices != np.repeat(lowest, counts)) & (
        face_indices != np.repeat(highest, counts)
    )
    sound[sound] = np.logical_or.reduceat(third, starts)
    return sound


def _placed_faces(
    points: NDArray[np.floating],
    face_counts: NDArray[np.integer],
    face_indices: NDArray[np.integer],
) -> NDArray[np.bool_]:
    """Return which faces have only points that are finite in float32."""
    with np.errstate(over="ignore"):
        finite = np.logical_and.reduce(np.isfinite(points.astype(np.float32)), axis=1)
    faces = np.repeat(np.arange(len(face_counts)), face_counts)
    placed = np.ones(len(face_counts), dtype=bool)
    placed[faces[~finite[face_indices]]] = False
    return placed


def _attributes_of_faces(
    attributes: SurfaceAttributes,
    faces: NDArray[np.bool_],
    face_counts: NDArray[np.integer],
) -> SurfaceAttributes:
    attributes = _attributes_of_corners(attributes, np.repeat(faces, face_counts))

    def chosen(numbers: Indices | None) -> Indices | None:
        return None if numbers is None else read_only(numbers[faces])

    return structs.replace(
        attributes,
        face_materials=chosen(attributes.face_materials),
        face_groups=chosen(attributes.face_groups),
    )


def _attributes_of_corners(
    attributes: SurfaceAttributes, corners: NDArray[np.integer] | NDArray[np.bool_]
) -> SurfaceAttributes:
    def chosen(held: CornerValues | None) -> CornerValues | None:
        return held and corner_values(held.values, held.indices[corners])

    return structs.replace(
        attributes,
        normals=chosen(attributes.normals),
        texture_coordinates=chosen(attributes.texture_coordinates),
        further_coordinates=tuple(map(chosen, attributes.further_coordinates)),
        colors=chosen(attributes.colors),
    )
