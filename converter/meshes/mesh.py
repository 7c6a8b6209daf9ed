"""The mesh that all readers return, and operations on arrays like its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from urdf_usd.converter.diagnostics import LONG_TEXT, truncate, truncate_list
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial

Points: TypeAlias = "NDArray[np.float64]"
Matrix: TypeAlias = "NDArray[np.float64]"
Indices: TypeAlias = "NDArray[np.int32]"
Integers: TypeAlias = "NDArray[np.integer]"
# Returns the content of a file that a mesh file refers to; None if missing.
SiblingReader: TypeAlias = Callable[[str], bytes | None]
_T = TypeVar("_T", bound=np.generic)
_Material = TypeVar("_Material")

# Odd, with bits in no order: the primes of xxHash, a public-domain hash function.
_HASH_FACTORS = tuple(map(np.uint64, (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)))
_IDENTITY = np.eye(3).tolist()


class MeshError(Exception):
    """A mesh file cannot be read; ``reason`` says why in one line, without the file's name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = truncate(reason, LONG_TEXT)


def require(condition: object, reason: str) -> None:
    """Refuse a mesh file for a reason unless a condition holds."""
    if not condition:
        raise MeshError(reason)


class _Arrays(Struct, frozen=True, eq=False):
    def __post_init__(self) -> None:
        for value in structs.astuple(self):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False


class CornerValues(_Arrays, frozen=True, eq=False):
    """Values at the corners of faces, in read-only arrays, without unused values."""

    values: NDArray[np.float64]  # (K, D)
    indices: Indices  # value of each corner, in the order of ``face_indices``


class PolygonMesh(_Arrays, frozen=True, eq=False):
    """A polygon mesh, in read-only arrays.

    From :func:`build_mesh`, all points belong to faces, and faces have three distinct points.
    """

    points: Points  # (N, 3) in the frame of the file [m]
    face_counts: Integers  # (F,) number of corners of each face
    # Points of all corners, face by face, counter-clockwise seen from outside.
    face_indices: Integers
    ignored_up_axis: str | None = None  # X_UP or Y_UP if the file has it
    skipped: tuple[str, ...] = ()  # omitted content of the file
    sibling_files: tuple[str, ...] = ()  # other files that were read with the mesh file
    normals: CornerValues | None = None  # unit vectors; zero before build_mesh for none
    # By number: (u, v) with v up: the lower edge of the image is v = 0; None for unused sets.
    coordinate_sets: tuple[CornerValues | None, ...] = ()
    colors: CornerValues | None = None  # sRGB in [0, 1]
    face_materials: Indices | None = None  # (F,) negative for none
    materials: tuple[MeshMaterial, ...] = ()
    face_groups: Indices | None = None  # (F,) ascending, for files with several groups
    groups: tuple[str, ...] = ()  # names may repeat

    @property
    def has_groups(self) -> bool:
        """Whether at least two groups have faces."""
        return self.face_groups is not None and bool(self.face_groups[0] != self.face_groups[-1])

    def coordinate_set(self, number: int) -> CornerValues | None:
        return self.coordinate_sets[number] if number < len(self.coordinate_sets) else None

    def select(
        self,
        corners: Integers | NDArray[np.bool_],
        faces: NDArray[np.bool_] | slice = slice(None),
    ) -> PolygonMesh:
        """Return the mesh with some of its corners and faces, or with all in another order."""

        def take(held: CornerValues | None) -> CornerValues | None:
            return held and corner_values(held.values, held.indices[corners])

        return structs.replace(
            self,
            face_counts=self.face_counts[faces],
            face_indices=self.face_indices[corners],
            normals=take(self.normals),
            coordinate_sets=tuple(map(take, self.coordinate_sets)),
            colors=take(self.colors),
            face_materials=None if self.face_materials is None else self.face_materials[faces],
            face_groups=None if self.face_groups is None else self.face_groups[faces],
        )


def build_mesh(
    points: Points,
    face_counts: Integers,
    face_indices: Integers,
    **others: Any,  # noqa: ANN401  fields of PolygonMesh
) -> PolygonMesh:
    """Check a surface, and drop degenerate faces and unused points.

    Faces with fewer than three distinct points are dropped; slivers of three distinct
    points are kept, because they close the surface. Faces with a point that is not finite in
    float32 are dropped, and counted in ``skipped``. Unused points are dropped, because
    they would affect bounds and convex hulls. Zero normals become those of their faces.

    Raises:
        MeshError: An index is out of range, or no face is left.
    """
    check_indices(len(points), face_counts, face_indices)
    mesh = PolygonMesh(points, face_counts, face_indices, **others)
    sound, skipped = _faces_of_three_points(face_counts, face_indices), mesh.skipped
    if not (finite := _finite_rows(points)).all():
        faces = np.repeat(np.arange(len(face_counts)), face_counts)
        broken = np.unique(faces[~finite[face_indices]])
        require(len(broken) < len(face_counts), "every face has a vertex that is not finite")
        if len(broken):
            count = f"{len(broken)} of {len(face_counts)}"
            skipped += (f"faces left out for a vertex that is not finite: {count}",)
        sound[broken] = False
    require(sound.any(), "it holds no faces")
    if not sound.all():
        mesh = mesh.select(np.repeat(sound, face_counts), sound)
    normals = mesh.normals
    if normals is not None and not (directed := (normals.values != 0.0).any(axis=1)).all():
        indices = np.where(directed[normals.indices], normals.indices, -1)
        of_faces = face_normals(mesh.points, mesh.face_counts, mesh.face_indices)
        normals = fill_missing(normals.values, indices, of_faces)
    points, face_indices = drop_unused(points, mesh.face_indices)
    return structs.replace(
        mesh,
        points=points.astype(np.float64),
        face_counts=mesh.face_counts.astype(np.int32),
        face_indices=face_indices.astype(np.int32),
        skipped=truncate_list(skipped),
        normals=normals,
    )


def check_indices(point_count: int, face_counts: Integers, face_indices: Integers) -> None:
    """Refuse faces whose indices are inconsistent or out of range."""
    is_valid = not len(face_counts) or face_counts.min() >= 0
    require(is_valid, "a face has a negative number of corners")
    is_valid = int(face_counts.sum(dtype=np.int64)) == len(face_indices)
    require(is_valid, "its faces do not add up to its corners")
    is_valid = not len(face_indices) or are_valid_indices(face_indices, point_count)
    require(is_valid, f"a face refers to none of its {point_count} vertices")


def _faces_of_three_points(face_counts: Integers, face_indices: Integers) -> NDArray[np.bool_]:
    if len(face_counts) and face_counts.min() == face_counts.max() == 3:
        a, b, c = face_indices.reshape(-1, 3).T
        distinct: NDArray[np.bool_] = (a != b) & (b != c) & (c != a)
        return distinct
    sound = face_counts > 0
    counts = face_counts[sound]
    if not len(counts):
        return sound
    starts = np.cumsum(counts, dtype=np.int64) - counts
    lowest = np.repeat(np.minimum.reduceat(face_indices, starts), counts)
    highest = np.repeat(np.maximum.reduceat(face_indices, starts), counts)
    # A third point exists where a corner is neither the lowest nor the highest.
    third = (face_indices != lowest) & (face_indices != highest)
    sound[sound] = np.logical_or.reduceat(third, starts)
    return sound


def mirrored(mesh: PolygonMesh, axes: tuple[bool, bool, bool]) -> PolygonMesh:
    """Mirror a mesh along the given axes; faces stay counter-clockwise."""
    if not any(axes):
        return mesh
    signs = np.where(axes, -1.0, 1.0)
    return _moved(mesh, mesh.points * signs, lambda normals: normals * signs, sum(axes) % 2 == 1)


def place_parts(
    parts: Sequence[tuple[PolygonMesh, _Material]], transform: Matrix
) -> Iterator[tuple[PolygonMesh, _Material]]:
    """Yield the surfaces of one geometry, and their materials, after a (4, 4) transform.

    Faces stay counter-clockwise, and surfaces that share their points share the new ones.
    """
    linear = transform[:3, :3]
    moved: dict[int, Points] = {}
    mirrors = bool(np.linalg.det(linear) < 0)
    # The cofactors of the transform are its inverse transpose up to a factor.
    cofactors = np.cross(linear[[1, 2, 0]], linear[[2, 0, 1]]) * (-1.0 if mirrors else 1.0)

    for mesh, material in parts:
        key = id(mesh.points)
        if key not in moved:
            moved[key] = transform_vectors(mesh.points, linear) + transform[:3, 3]
        placed = _moved(
            mesh, moved[key], lambda own: unit_vectors(transform_vectors(own, cofactors)), mirrors
        )
        yield placed, material


def _moved(
    mesh: PolygonMesh, points: Points, turn: Callable[[Points], Points], mirrors: bool
) -> PolygonMesh:
    """Return a mesh with new points and turned normals, and its faces reversed if mirrored."""
    normals = mesh.normals and CornerValues(turn(mesh.normals.values), mesh.normals.indices)
    mesh = structs.replace(mesh, points=points, normals=normals)
    return mesh.select(reversed_corners(mesh.face_counts)) if mirrors else mesh


def reversed_corners(face_counts: Integers) -> NDArray[np.int64]:
    """Return the order of corners that reverses every face, the first corner first.

    Readers triangulate a polygon as a fan around its first corner: around another one,
    the surface of a polygon that is not flat or not convex would change.
    """
    starts = np.repeat(np.cumsum(face_counts, dtype=np.int64) - face_counts, face_counts)
    sizes = np.repeat(face_counts, face_counts)
    order: NDArray[np.int64] = starts + (sizes - (np.arange(len(starts)) - starts)) % sizes
    return order


def split_groups(mesh: PolygonMesh) -> tuple[tuple[str, PolygonMesh], ...]:
    """Return the name and the bare surface of each group of faces, if several have faces."""
    if mesh.face_groups is None or not mesh.has_groups:
        return ()
    numbers, sizes = np.unique(mesh.face_groups, return_counts=True)
    face_ends = np.cumsum(sizes)
    corner_ends = np.cumsum(mesh.face_counts, dtype=np.int64)[face_ends - 1]
    counts = np.split(mesh.face_counts, face_ends[:-1])
    surfaces = []
    for own_counts, own in zip(counts, np.split(mesh.face_indices, corner_ends[:-1]), strict=True):
        # Sorted: time must not grow with the size of the whole mesh for each group.
        used, renumbered = np.unique(own, return_inverse=True)
        surfaces.append(build_mesh(mesh.points[used], own_counts, renumbered))
    names = (mesh.groups[number] for number in numbers.tolist())
    return tuple(zip(names, surfaces, strict=True))


def join_groups(groups: Sequence[tuple[str, PolygonMesh]]) -> PolygonMesh:
    """Join named surfaces to a mesh with one group each; the inverse of splitting."""
    sizes = [len(mesh.face_counts) for _, mesh in groups]
    return structs.replace(
        join_parts([(mesh, None) for _, mesh in groups]),
        coordinate_sets=(),
        face_groups=np.repeat(np.arange(len(sizes), dtype=np.int32), sizes),
        groups=tuple(name for name, _ in groups),
    )


def join_parts(
    parts: Sequence[tuple[PolygonMesh, MeshMaterial | None]], metres_per_unit: float = 1.0
) -> PolygonMesh:
    """Join surfaces to one mesh, with their materials in order of their first use.

    Consecutive surfaces may share their points. What only some surfaces have is completed:
    normals by those of the faces, coordinates by zero, colours by white. Of the sets of
    coordinates, the first and those of textures are kept.
    """
    surfaces = [mesh for mesh, _ in parts]
    blocks: list[Points] = []
    indices, total = [], 0
    for mesh in surfaces:
        if not blocks or mesh.points is not blocks[-1]:
            blocks.append(mesh.points)
            total += len(mesh.points)
        indices.append(mesh.face_indices + (total - len(mesh.points)))
    # By identity: equal materials of a file stay separate.
    materials = {id(own): own for _, own in parts if own is not None}
    numbers = {key: number for number, key in enumerate(materials)}
    counts = [mesh.face_counts for mesh in surfaces]
    face_materials = np.array([numbers.get(id(own), -1) for _, own in parts], np.int32)
    textures = [texture for own in materials.values() for _, texture in own.textures]
    sets = {0, *(texture.sampling.coordinates for texture in textures)}
    coordinates = [
        _joined(surfaces, [mesh.coordinate_set(number) for mesh in surfaces], np.zeros(2))
        for number in range(max(sets) + 1)
    ]
    return build_mesh(
        np.concatenate(blocks) * metres_per_unit,
        np.concatenate(counts),
        np.concatenate(indices),
        normals=_joined(surfaces, [mesh.normals for mesh in surfaces], None),
        coordinate_sets=tuple(own if n in sets else None for n, own in enumerate(coordinates)),
        colors=_joined(surfaces, [mesh.colors for mesh in surfaces], np.ones(3)),
        face_materials=np.repeat(face_materials, [*map(len, counts)]) if materials else None,
        materials=tuple(materials.values()),
    )


def _joined(
    surfaces: Sequence[PolygonMesh],
    held: Sequence[CornerValues | None],
    missing: NDArray[np.float64] | None,
) -> CornerValues | None:
    """Join values of surfaces, completed by a value or else by the normals of faces."""
    if not any(held) or len(held) == 1:
        return held[0]
    rows, indices, start = [], [], 0
    for mesh, values in zip(surfaces, held, strict=True):
        corners: Indices = np.arange(len(mesh.face_indices), dtype=np.int32)
        if values is not None:
            row, corners = values.values, values.indices
        elif missing is None:
            row = face_normals(mesh.points, mesh.face_counts, mesh.face_indices)
        else:
            row = np.broadcast_to(missing, (len(corners), len(missing)))
        rows.append(row)
        indices.append(corners + np.int32(start))
        start += len(row)
    return CornerValues(np.concatenate(rows), np.concatenate(indices))


# Operations on arrays


def corner_values(values: NDArray[np.floating], indices: Integers) -> CornerValues | None:
    """Build values of corners; None unless all corners have a finite value."""
    if not are_valid_indices(indices, len(values)):
        return None
    values, indices = drop_unused(values, indices)
    if not _finite_rows(values).all():
        return None
    return CornerValues(values.astype(np.float64, copy=False), indices.astype(np.int32, copy=False))


def are_valid_indices(indices: Integers, count: int) -> bool:
    """Return whether there are indices, all from 0 to ``count`` - 1."""
    return bool(len(indices) and indices.min() >= 0 and indices.max() < count)


def drop_unused(values: NDArray[_T], indices: Integers) -> tuple[NDArray[_T], Integers]:
    """Drop rows that no index uses; all indices are within the rows."""
    is_used = np.zeros(len(values), dtype=bool)
    is_used[indices] = True
    if is_used.all():
        return values, indices
    numbers = np.cumsum(is_used, dtype=np.int32) - np.int32(1)
    return values[is_used], numbers[indices]


def fill_missing(
    values: NDArray[np.floating], indices: Integers, missing: NDArray[np.floating]
) -> CornerValues | None:
    """Fill in values of corners without one, whose index is out of range; None if all are.

    ``missing`` is a (D,) value, or (corners, D) values, for corners without one.
    """
    lacks = (indices < 0) | (indices >= len(values))
    if lacks.all():
        return None
    if not lacks.any():
        return corner_values(values, indices)
    extra = missing[None] if missing.ndim == 1 else missing[lacks]
    filled = np.where(lacks, 0, indices)
    filled[lacks] = len(values) + (0 if missing.ndim == 1 else np.arange(len(extra)))
    return corner_values(np.concatenate([values, extra]), filled)


def area_vectors(
    points: NDArray[np.floating], face_counts: Integers, face_indices: Integers
) -> NDArray[np.float64]:
    """Return (F, 3) normals as long as twice the area of faces with corners (Newell)."""
    starts = np.cumsum(face_counts, dtype=np.int64) - face_counts
    following = np.arange(1, len(face_indices) + 1)
    following[starts + face_counts - 1] = starts
    corners = points[face_indices].astype(np.float64)
    # Relative to the first corner of the face, to keep digits.
    corners = corners - np.repeat(corners[starts], face_counts, axis=0)
    # Positions that are not finite are refused later, by build_mesh.
    with np.errstate(all="ignore"):
        return np.add.reduceat(np.cross(corners, corners[following]), starts)


def face_normals(
    points: NDArray[np.floating], face_counts: Integers, face_indices: Integers
) -> NDArray[np.float64]:
    """Return the unit face normal at every corner; the Z axis for faces without area."""
    # reduceat cannot handle faces without corners.
    face_counts = face_counts[face_counts > 0]
    normals = unit_vectors(area_vectors(points, face_counts, face_indices))
    flat = (normals == 0.0).all(axis=1)
    normals[flat, 2] = 1.0
    return np.repeat(normals, face_counts, axis=0)


def unit_vectors(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return (K, 3) unit vectors; zero for those that are zero or not finite."""
    x, y, z = vectors.T
    with np.errstate(over="ignore"):
        lengths = np.sqrt(x * x + y * y + z * z)[:, None]
    sound = np.isfinite(lengths) & (lengths > 0)
    if sound.all():
        return vectors / lengths  # type: ignore[no-any-return]
    return np.where(sound, vectors, 0.0) / np.where(sound, lengths, 1.0)


def transform_vectors(vectors: NDArray[np.float64], linear: NDArray[np.floating]) -> Points:
    """Multiply a (3, 3) matrix with each of (K, 3) vectors.

    Without BLAS, whose rounding depends on the processor, and which starts threads.
    Zeros are positive. Vectors that are not finite stay so.
    """
    if linear.tolist() == _IDENTITY:
        return vectors + 0.0
    x, y, z = vectors.T
    rows = np.empty(vectors.shape)
    for row, (a, b, c) in zip(rows.T, linear, strict=True):
        row[:] = a * x + b * y + c * z + 0.0
    return rows


def merge_equal_points(corners: NDArray[np.float32]) -> tuple[Points, Integers]:
    """Return the (N, 3) distinct of (M, 3) positions, and for each corner its position.

    In the order of first occurrence. Positions are compared exactly; the two zeros are equal.
    """
    # Equal numbers have equal bits after the sum, which removes negative zeros.
    rows = (corners + np.float32(0)).view(np.uint32)
    keys = np.zeros(len(rows), np.uint64)
    for column, factor in zip(rows.T, _HASH_FACTORS, strict=True):
        keys += column * factor

    def first_of_equal(order: NDArray[np.intp], changes: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return for each row the first of its run in a sorted order."""
        starts = np.flatnonzero(np.concatenate([np.ones(min(len(order), 1), bool), changes]))
        lowest = np.minimum.reduceat(order, starts) if len(order) else order
        first = np.empty_like(order)
        first[order] = np.repeat(lowest, np.diff(starts, append=len(order)))
        return first

    # Sorting integers is several times as fast as sorting rows.
    order = np.argsort(keys)
    first = first_of_equal(order, keys[order[1:]] != keys[order[:-1]])
    if any((column[first] != column).any() for column in rows.T):
        # Different rows with one hash: among a million rows, once in a hundred million times.
        order = np.lexsort(rows.T)
        first = first_of_equal(order, (rows[order[1:]] != rows[order[:-1]]).any(axis=1))
    points, numbers = drop_unused(corners, first)
    return points.astype(np.float64), numbers


def _finite_rows(values: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Return for each row whether its numbers are finite in float32, as stored in USD."""
    with np.errstate(over="ignore"):
        rows: NDArray[np.bool_] = np.all(np.isfinite(values.astype(np.float32)), axis=1)
    return rows
