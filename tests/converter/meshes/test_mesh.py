"""The mesh type: kept, dropped, merged and refused elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from urdf_usd.converter.meshes import mesh as meshes
from urdf_usd.converter.meshes.obj import read_obj

# An irregular pyramid over a quadrilateral: one face of four corners, four of three.
POINTS = np.array(
    [[0.1, 0.2, 0.0], [1.3, 0.1, 0.2], [1.1, 0.9, -0.1], [0.0, 1.2, 0.1], [0.4, 0.6, 1.7]]
)
COUNTS = np.array([4, 3, 3, 3, 3])
INDICES = np.array([3, 2, 1, 0, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4])


finite_points = npst.arrays(
    np.float32,
    st.tuples(st.integers(0, 40), st.just(3)),
    elements=st.sampled_from([-1.5, -0.0, 0.0, 2.0**-149, 0.25, 3.0]),
)


def test_arrays_are_read_only_and_of_the_documented_types() -> None:
    mesh = meshes.build_mesh(POINTS.astype(np.float32), COUNTS, INDICES)

    assert mesh.points.dtype == np.float64
    assert mesh.face_counts.dtype == mesh.face_indices.dtype == np.int32
    for array in (mesh.points, mesh.face_counts, mesh.face_indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("collapsed", [[], [2], [1, 1], [1, 2], [0, 0, 0], [0, 4, 0], [3, 1, 1, 3]])
def test_faces_with_fewer_than_three_distinct_points_are_dropped(
    collapsed: list[int],
) -> None:
    for at, corner in ((0, 0), (1, 4), (5, 16)):
        mesh = meshes.build_mesh(
            POINTS,
            np.insert(COUNTS, at, len(collapsed)),
            np.concatenate([INDICES[:corner], collapsed, INDICES[corner:]]).astype(int),
        )

        np.testing.assert_array_equal(mesh.face_counts, COUNTS)
        np.testing.assert_array_equal(mesh.face_indices, INDICES)


def test_slivers_of_three_distinct_points_are_kept() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])

    assert meshes.build_mesh(points, np.array([3]), np.array([0, 1, 2])).face_counts.size == 1


@pytest.mark.parametrize("number", [np.nan, -np.inf, 1e39])
def test_point_that_is_not_finite_is_refused_if_a_face_uses_it(number: float) -> None:
    points = np.vstack([POINTS, [0.1, number, 0.3]])

    mesh = meshes.build_mesh(points, COUNTS, INDICES)

    np.testing.assert_array_equal(mesh.points, POINTS)
    with pytest.raises(meshes.MeshError, match="not finite"):
        meshes.build_mesh(points, np.array([3]), np.array([0, 1, 5]))


@pytest.mark.parametrize(
    ("counts", "indices", "reason"),
    [
        ([], [], "no faces"),
        ([3], [1, 1, 1], "no faces"),
        ([3], [0, 1, 5], "none of its 5 vertices"),
        ([3], [0, 1, -1], "none of its 5 vertices"),
        ([4], [0, 1, 2], "do not add up"),
        ([-3, 6], [0, 1, 2], "negative"),
    ],
)
def test_inconsistent_surface_is_refused(
    counts: list[int], indices: list[int], reason: str
) -> None:
    with pytest.raises(meshes.MeshError, match=reason) as caught:
        meshes.build_mesh(POINTS, np.array(counts, int), np.array(indices, int))

    assert caught.value.reason == str(caught.value)


@given(finite_points)
def test_merging_keeps_positions_and_removes_duplicates(
    corners: np.ndarray[tuple[int, int], np.dtype[np.float32]],
) -> None:
    points, indices = meshes.merge_equal_points(corners)

    np.testing.assert_array_equal(points[indices], corners)
    assert len({tuple(point) for point in points}) == len(points)
    first = [int(np.argmax(indices == index)) for index in range(len(points))]
    assert first == sorted(first)


def test_positions_with_equal_hashes_are_kept_apart() -> None:
    bits = np.array([1.0, 2.0, 3.0], np.float32).view(np.int32)
    collision = np.array([291_398, 73_625, 343_191], np.int32)
    steps = [2, 0, 1, 0, 2, 1, 1]
    corners = np.array([bits + step * collision for step in steps]).view(np.float32)

    points, indices = meshes.merge_equal_points(corners)

    np.testing.assert_array_equal(points, corners[:3])
    assert indices.tolist() == [0, 1, 2, 1, 0, 2, 2]


@given(st.lists(st.integers(0, 6), max_size=12))
def test_faces_are_reversed_separately(sizes: list[int]) -> None:
    counts = np.array(sizes, dtype=np.int64)
    indices = np.arange(counts.sum()) * 3 % 7

    pieces = np.split(indices[meshes.reversed_corners(counts)], np.cumsum(counts)[:-1])

    for piece, original in zip(pieces, np.split(indices, np.cumsum(counts)[:-1]), strict=True):
        # The first corner stays, since polygons are triangulated as fans around it.
        expected = np.concatenate([original[:1], original[:0:-1]])
        np.testing.assert_array_equal(piece, expected)


# A pentagon in an oblique plane, and its unit normal.
NORMAL = np.array([2.0, -1.0, 2.0]) / 3
TURNS = np.linspace(0, 2 * np.pi, 5, endpoint=False)
PENTAGON = (
    np.outer(np.cos(TURNS), np.array([1.0, 2.0, 0.0]) / np.sqrt(5))
    + np.outer(np.sin(TURNS), np.array([-4.0, 2.0, 5.0]) / np.sqrt(45))
    + [0.3, 0.1, 0.7]
)


@pytest.mark.parametrize("axes", [(True, False, False), (True, True, False)])
def test_mirrored_surface_keeps_normals_and_coordinates(
    axes: tuple[bool, bool, bool],
) -> None:
    marks = "".join(f"vt 0.{i} 0\n" for i in range(1, 6))
    direction = " ".join(map(str, NORMAL))
    corners = " ".join(f"{i}/{i}/1" for i in range(1, 6))
    points = "".join(f"v {x} {y} {z}\n" for x, y, z in PENTAGON)
    text = f"{points}{marks}vn {direction}\nf {corners}\n"

    mesh = meshes.mirrored(read_obj(text.encode()), axes)

    signs = np.where(axes, -1, 1)
    coordinates = mesh.coordinate_set(0)
    assert mesh.normals is not None
    assert coordinates is not None
    geometric = meshes.face_normals(mesh.points, mesh.face_counts, mesh.face_indices)
    np.testing.assert_allclose(mesh.normals.values[mesh.normals.indices], geometric)
    places = mesh.points[mesh.face_indices] * signs
    st = coordinates.values[coordinates.indices]
    for place, (u, _) in zip(places, st, strict=True):
        np.testing.assert_allclose(place, PENTAGON[round(u * 10) - 1], rtol=1e-6)
