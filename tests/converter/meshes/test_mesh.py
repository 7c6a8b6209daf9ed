"""The mesh type: kept, dropped, merged and refused elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from urdf_usd.converter.meshes.mesh import (
    MeshError,
    SurfaceAttributes,
    build_mesh,
    face_normals,
    merge_equal_points,
    mirrored,
    reversed_corners,
)
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial, MeshTexture, Sampling, Slot, Wrap
from urdf_usd.converter.meshes.obj import read_obj
from urdf_usd.converter.meshes.read import read_mesh

# An irregular pyramid over a quadrilateral: one face of four corners, four of three.
POINTS = np.array(
    [
        [0.1, 0.2, 0.0],
        [1.3, 0.1, 0.2],
        [1.1, 0.9, -0.1],
        [0.0, 1.2, 0.1],
        [0.4, 0.6, 1.7],
    ]
)
COUNTS = np.array([4, 3, 3, 3, 3])
INDICES = np.array([3, 2, 1, 0, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4])

finite_points = npst.arrays(
    np.float32,
    st.tuples(st.integers(0, 40), st.just(3)),
    elements=st.sampled_from([-1.5, -0.0, 0.0, 2.0**-149, 0.25, 3.0]),
)


def test_valid_mesh_is_unchanged() -> None:
    mesh = build_mesh(POINTS, COUNTS, INDICES)

    np.testing.assert_array_equal(mesh.points, POINTS)
    np.testing.assert_array_equal(mesh.face_counts, COUNTS)
    np.testing.assert_array_equal(mesh.face_indices, INDICES)


def test_arrays_are_read_only_and_of_the_documented_types() -> None:
    """A shared mesh cannot be edited."""
    mesh = build_mesh(POINTS.astype(np.float32), COUNTS, INDICES)

    assert mesh.points.dtype == np.float64
    assert mesh.face_counts.dtype == mesh.face_indices.dtype == np.int32
    for array in (mesh.points, mesh.face_counts, mesh.face_indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_input_stays_writable() -> None:
    points, counts = POINTS.copy(), COUNTS.astype(np.int32)
    build_mesh(points, counts, INDICES)

    points[0] = counts[0] = 7


@pytest.mark.parametrize("collapsed", [[], [2], [1, 1], [1, 2], [0, 0, 0], [0, 4, 0], [3, 1, 1, 3]])
def test_faces_with_fewer_than_three_distinct_points_are_dropped(
    collapsed: list[int],
) -> None:
    """They have no area, at any position in the list."""
    for at, corner in ((0, 0), (1, 4), (5, 16)):
        mesh = build_mesh(
            POINTS,
            np.insert(COUNTS, at, len(collapsed)),
            np.concatenate([INDICES[:corner], collapsed, INDICES[corner:]]).astype(int),
        )

        np.testing.assert_array_equal(mesh.face_counts, COUNTS)
        np.testing.assert_array_equal(mesh.face_indices, INDICES)


def test_slivers_of_three_distinct_points_are_kept() -> None:
    """They close the surface, although they have no area."""
    points = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])

    assert build_mesh(points, np.array([3]), np.array([0, 1, 2])).face_counts.size == 1


def test_unused_points_are_dropped() -> None:
    """They would extend bounds and hulls."""
    points = np.insert(POINTS, [0, 2, 5], [[99.0, 0, 0]], axis=0)
    moved = np.array([1, 2, 4, 5, 6])[INDICES]

    mesh = build_mesh(points, COUNTS, moved)

    np.testing.assert_array_equal(mesh.points, POINTS)
    np.testing.assert_array_equal(mesh.face_indices, INDICES)


def test_non_finite_point_is_an_error_only_if_used() -> None:
    """An unused NaN is dropped, and one that all faces use is refused."""
    points = np.vstack([POINTS, [np.nan, 0, 0]])
    assert not build_mesh(points, COUNTS, INDICES).skipped

    with pytest.raises(MeshError, match="not finite"):
        build_mesh(points, np.array([3]), np.array([0, 1, 5]))


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e39])
def test_faces_with_a_non_finite_point_are_dropped(number: float) -> None:
    """They are counted, and the other faces keep their materials."""
    points = np.vstack([POINTS, [0.1, number, 0.3]])
    counts = np.insert(COUNTS, 1, [4, 3])
    first = int(COUNTS[0])
    indices = np.insert(INDICES, [first], [0, 1, 5, 2, 5, 3, 1])
    kinds = np.arange(len(counts), dtype=np.int32)

    mesh = build_mesh(points, counts, indices, attributes=SurfaceAttributes(face_materials=kinds))

    np.testing.assert_array_equal(mesh.points, POINTS)
    np.testing.assert_array_equal(mesh.face_counts, COUNTS)
    np.testing.assert_array_equal(mesh.face_indices, INDICES)
    assert mesh.attributes.face_materials is not None
    assert mesh.attributes.face_materials.tolist() == [0, *kinds[3:].tolist()]
    text = f"faces left out for a vertex that is not finite: 2 of {len(counts)}"
    assert mesh.skipped == (text,)


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
    with pytest.raises(MeshError, match=reason) as caught:
        build_mesh(POINTS, np.array(counts, int), np.array(indices, int))

    assert caught.value.reason == str(caught.value)


@given(finite_points)
def test_merging_keeps_positions_and_removes_duplicates(
    corners: np.ndarray[tuple[int, int], np.dtype[np.float32]],
) -> None:
    """Every corner keeps its position; points are in order of first occurrence."""
    points, indices = merge_equal_points(corners)

    np.testing.assert_array_equal(points[indices], corners)
    assert len({tuple(point) for point in points}) == len(points)
    first = [int(np.argmax(indices == index)) for index in range(len(points))]
    assert first == sorted(first)


def test_close_points_are_not_merged() -> None:
    three = np.float32(3.0)
    above = np.nextafter(three, np.float32(4.0))
    corners = np.array([[1.0, 2.0, three], [1.0, 2.0, above]], np.float32)

    assert len(merge_equal_points(corners)[0]) == 2


def test_positions_with_equal_hashes_are_kept_apart() -> None:
    """Positions a multiple of this difference apart have the same 64-bit hash."""
    bits = np.array([1.0, 2.0, 3.0], np.float32).view(np.int32)
    collision = np.array([291_398, 73_625, 343_191], np.int32)
    steps = [2, 0, 1, 0, 2, 1, 1]
    corners = np.array([bits + step * collision for step in steps]).view(np.float32)

    points, indices = merge_equal_points(corners)

    np.testing.assert_array_equal(points, corners[:3])
    assert indices.tolist() == [0, 1, 2, 1, 0, 2, 2]


@given(st.lists(st.integers(0, 6), max_size=12))
def test_faces_are_reversed_separately(sizes: list[int]) -> None:
    """Faces with different numbers of corners, and no faces."""
    counts = np.array(sizes, dtype=np.int64)
    indices = np.arange(counts.sum()) * 3 % 7

    pieces = np.split(indices[reversed_corners(counts)], np.cumsum(counts)[:-1])

    for piece, original in zip(pieces, np.split(indices, np.cumsum(counts)[:-1]), strict=True):
        # The first corner stays, since polygons are triangulated as fans around it.
        expected = np.concatenate([original[:1], original[:0:-1]])
        np.testing.assert_array_equal(piece, expected)


def test_mirrored_polygon_has_the_mirrored_triangles() -> None:
    """A quadrilateral that is not flat has another surface for each diagonal."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 3], [0, 2, 0]], np.float32)
    mesh = build_mesh(points, np.array([4]), np.arange(4))

    turned = mirrored(mesh, (True, False, False))

    start, _, opposite, _ = turned.points[turned.face_indices]
    np.testing.assert_array_equal(start, [0, 0, 0])
    np.testing.assert_array_equal(opposite, [0, 0, 3])


# A pentagon in an oblique plane, and its unit normal.
NORMAL = np.array([2.0, -1.0, 2.0]) / 3
_ALONG, _ACROSS = np.array([1.0, 2.0, 0.0]), np.array([-4.0, 2.0, 5.0])
TURNS = np.linspace(0, 2 * np.pi, 5, endpoint=False)
PENTAGON = (
    np.outer(np.cos(TURNS), _ALONG / np.sqrt(5))
    + np.outer(np.sin(TURNS), _ACROSS / np.sqrt(45))
    + [0.3, 0.1, 0.7]
)


def test_polygon_normal_is_that_of_its_plane() -> None:
    """Counter-clockwise seen from the side of the normal."""
    normals = face_normals(PENTAGON, np.array([5]), np.arange(5))

    np.testing.assert_allclose(normals, np.tile(NORMAL, (5, 1)), atol=1e-15)


TEXT = "".join(f"v {x} {y} {z}\n" for x, y, z in PENTAGON) + "vn 0 0 3\nvt 0.2 0.9\n"


def test_corners_without_normal_get_that_of_their_face() -> None:
    """Authored normals are normalised."""
    attributes = read_obj(f"{TEXT}f 1//1 2//1 3//1\nf 1 3 4 5\n".encode()).attributes

    assert attributes.normals is not None
    normals = attributes.normals.values[attributes.normals.indices]
    np.testing.assert_allclose(normals[:3], np.tile([0, 0, 1], (3, 1)))
    np.testing.assert_allclose(normals[3:], np.tile(NORMAL, (4, 1)), atol=1e-12)


@pytest.mark.parametrize("zero", ["0 0 0", "nan 0 0"])
def test_zero_normals_become_those_of_the_faces(zero: str) -> None:
    """Only at the corners that use them; MeshLab writes such normals."""
    text = f"{TEXT}vn {zero}\nf 1//1 2//2 3//1\n"
    attributes = read_obj(text.encode()).attributes

    assert attributes.normals is not None
    normals = attributes.normals.values[attributes.normals.indices]
    expected = np.array([[0.0, 0.0, 1.0], [*NORMAL], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(normals, expected, atol=1e-12)


def test_faces_are_flat_if_all_normals_are_zero() -> None:
    """Without any direction, the file has no normals."""
    text = TEXT.replace("vn 0 0 3", "vn 0 0 0") + "f 1//1 2//1 3//1\n"

    assert read_obj(text.encode()).attributes.normals is None


def test_dropped_faces_drop_their_corner_values() -> None:
    """Values of the remaining faces are unchanged."""
    text = TEXT + "vt 0.5 0.1\nusemtl a\nf 1/1 1/1 2/1\nusemtl b\nf 1/2 2/1 3/2\n"

    library = b"newmtl a\nKd 1 0 0\nnewmtl b\nKd 0 1 0\n"
    attributes = read_obj(b"mtllib x\n" + text.encode(), lambda _: library).attributes

    st = attributes.texture_coordinates
    assert st is not None
    expected = [[0.5, 0.1], [0.2, 0.9], [0.5, 0.1]]
    np.testing.assert_allclose(st.values[st.indices], expected, rtol=1e-6)
    assert attributes.face_materials is not None
    assert [attributes.materials[i].name for i in attributes.face_materials] == ["b"]


def test_obj_vertex_colours_are_read_if_all_points_have_one() -> None:
    """A file without colours has none; the default is not white."""
    rows = [f"v {x} {y} {z} {i / 8} 0.5 0\n" for i, (x, y, z) in enumerate(PENTAGON)]

    colored = read_obj(f"{''.join(rows)}f 3 4 5\n".encode()).attributes.colors

    assert colored is not None
    expected = [[i / 8, 0.5, 0] for i in (2, 3, 4)]
    np.testing.assert_allclose(colored.values[colored.indices], expected)
    assert read_obj(f"{TEXT}f 3 4 5\n".encode()).attributes.colors is None


@pytest.mark.parametrize("axes", [(True, False, False), (True, True, False)])
def test_mirrored_surface_keeps_normals_and_coordinates(
    axes: tuple[bool, bool, bool],
) -> None:
    """The normal of the mirrored plane points outwards."""
    marks = "".join(f"vt 0.{i} 0\n" for i in range(1, 6))
    direction = " ".join(map(str, NORMAL))
    corners = " ".join(f"{i}/{i}/1" for i in range(1, 6))
    text = TEXT.split("vn")[0] + f"{marks}vn {direction}\nf {corners}\n"

    mesh = mirrored(read_obj(text.encode()), axes)

    attributes, signs = mesh.attributes, np.where(axes, -1, 1)
    assert attributes.normals is not None
    assert attributes.texture_coordinates is not None
    geometric = face_normals(mesh.points, mesh.face_counts, mesh.face_indices)
    np.testing.assert_allclose(attributes.normals.values[attributes.normals.indices], geometric)
    places = mesh.points[mesh.face_indices] * signs
    st = attributes.texture_coordinates.values[attributes.texture_coordinates.indices]
    for place, (u, _) in zip(places, st, strict=True):
        np.testing.assert_allclose(place, PENTAGON[round(u * 10) - 1], rtol=1e-6)


def test_material_libraries_are_found_next_to_the_file(tmp_path: Path) -> None:
    """Several libraries; names with spaces; textures relative to their library."""
    (tmp_path / "looks").mkdir()
    (tmp_path / "looks" / "a b.mtl").write_text(
        "newmtl old red\nKd 0.5 0 0\nmap_Kd -clamp on skin.png\n"
    )
    (tmp_path / "c.mtl").write_bytes(b"newmtl old blue\r\nKd 0 0 0.5\r\nd 0.25\r\n")
    path = tmp_path / "part.obj"
    path.write_text(
        "mtllib looks/a b.mtl\nmtllib c.mtl lost.mtl\n"
        f"{TEXT}usemtl old blue\nf 1 2 3\nusemtl old red\nf 3 4 5\n"
        "usemtl new\nf 1 3 5\n"
    )

    mesh = read_mesh(path)

    attributes = mesh.attributes
    # The sRGB value 0.5 in linear light (IEC 61966-2-1).
    gain = (((0.5 + 0.055) / 1.055) ** 2.4, 0.0, 0.0, 1.0)
    clamped = Sampling(wrap_s=Wrap.CLAMP, wrap_t=Wrap.CLAMP, gain=gain)
    assert attributes.face_materials is not None
    assert [attributes.materials[i] if i >= 0 else None for i in attributes.face_materials] == [
        MeshMaterial("old blue", (0.0, 0.0, 0.5), 0.25),
        MeshMaterial(
            "old red",
            (0.5, 0.0, 0.0),
            textures=((Slot.COLOR, MeshTexture("looks/skin.png", sampling=clamped)),),
        ),
        None,
    ]
    assert mesh.skipped == ("material library 'lost.mtl' is missing",)
