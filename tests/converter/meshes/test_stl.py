"""Binary and text STL, and files that resemble the other form."""

from __future__ import annotations

import struct
import tracemalloc
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import trimesh

from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh
from urdf_usd.converter.meshes.read import decode_mesh
from urdf_usd.converter.meshes.stl import read_text_stl

# A tetrahedron without symmetry, counter-clockwise seen from outside; all numbers have
# an exact binary form.
CORNERS = np.array([[0.0, 0.125, 0.25], [1.5, 0.0, -0.25], [0.5, 1.25, 0.0], [0.25, 0.5, 2.0]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
# A sixth of the triple product of the edges that meet in the first corner.
VOLUME = float(np.linalg.det(CORNERS[1:] - CORNERS[0])) / 6


def binary(header: bytes = b"exported", extra: bytes = b"", count: int = 4) -> bytes:
    records = b"".join(
        struct.pack("<12fH", 0, 0, 0, *CORNERS[face].ravel(), 0x8123) for face in FACES
    )
    return header.ljust(80, b"\0") + struct.pack("<I", count) + records + extra


def text(name: str = "part", newline: str = "\n") -> bytes:
    lines = [f"solid {name}"]
    for face in FACES:
        lines += ["  facet normal 0 0 0", "    outer loop"]
        lines += [f"      vertex {x} {y:e} {z}" for x, y, z in CORNERS[face]]
        lines += ["    endloop", "  endfacet"]
    return newline.join([*lines, f"endsolid {name}", ""]).encode()


def read(data: bytes) -> PolygonMesh:
    return decode_mesh(data, Path("part.STL"))


def assert_tetrahedron(mesh: PolygonMesh) -> None:
    assert mesh.face_counts.tolist() == [3, 3, 3, 3]
    triangles = mesh.face_indices.reshape(-1, 3)
    np.testing.assert_array_equal(mesh.points[triangles], CORNERS[FACES])
    assert len(mesh.points) == 4
    assert VOLUME > 0
    assert trimesh.Trimesh(mesh.points, triangles).volume == pytest.approx(VOLUME)


@pytest.mark.parametrize("header", [b"exported", b"solid part\n", b"SOLID", b"\0"])
def test_binary_file_is_detected_with_any_header(header: bytes) -> None:
    """Many exporters begin binary files with the first word of text files."""
    assert_tetrahedron(read(binary(header)))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("name", ["part", "", "a vertex of the facet 1 2 3"])
def test_text_file_is_read_with_any_line_ends_and_names(newline: str, name: str) -> None:
    """The name of a solid is free text and may contain keywords."""
    assert_tetrahedron(read(text(name, newline)))


def test_text_may_be_upper_case_and_indented() -> None:
    assert_tetrahedron(read(b"\n \t" + text().upper()))


def test_bytes_after_the_last_triangle_are_ignored() -> None:
    assert_tetrahedron(read(binary(extra=b"footer")))


def test_all_solids_of_a_file_become_one_mesh() -> None:
    """The format allows several; a mesh element refers to the whole file."""
    moved = text().replace(b"vertex 0.0 1.250000e-01 0.25", b"vertex -9 0 0")

    assert len(read(text() + moved).face_counts) == 8


def test_text_facets_of_four_corners_become_two_triangles() -> None:
    """The format forbids them, but some exporters write them."""
    data = b"""solid
      facet normal 0 0 1 outer loop
        vertex 0 0 0 vertex 2 0 0 vertex 2 1 0 vertex 0 1 .5
      endloop endfacet
    endsolid"""

    mesh = read(data)

    assert mesh.points.tolist() == [[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0.5]]
    assert mesh.face_counts.tolist() == [3, 3]
    assert mesh.face_indices.tolist() == [0, 1, 2, 0, 2, 3]


@pytest.mark.parametrize(
    "layout",
    [
        text().replace(b"\n", b" ").replace(b"solid part ", b"solid part\n", 1),
        text().replace(b"normal 0 0 0", b"normal -nan(ind) -1.#IND 0"),
        text().replace(b"normal 0 0 0", b"normal"),
        text().replace(b"normal 0 0 0", b""),
        text().replace(b"    endloop", b"endloop").replace(b"\n", b"\n\n"),
    ],
)
def test_layout_and_normals_of_text_are_ignored(layout: bytes) -> None:
    """Only corners are read."""
    layout = layout.replace(b"endsolid", b"\nendsolid")

    assert_tetrahedron(read(layout))


def test_triangles_agree_with_trimesh() -> None:
    for data in (binary(), text()):
        mesh = read(data)
        other = trimesh.load_mesh(BytesIO(data), file_type="stl", process=False)

        np.testing.assert_array_equal(
            mesh.points[mesh.face_indices], other.vertices[other.faces.ravel()]
        )


def test_degenerate_triangles_are_dropped() -> None:
    """Two corners at one position, which merging detects."""
    sliver = struct.pack("<12fH", 0, 0, 0, *CORNERS[[0, 1, 1]].ravel(), 0)

    assert_tetrahedron(read(binary(extra=sliver, count=5)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"solid", "no faces"),
        (b"\0\1\2", "too short"),
        (bytes(84), "no faces"),
        (binary()[:-1], "announces 4 triangles but holds 3"),
        (binary(b"solid x", count=5), "announces 5 triangles but holds 4"),
        (text()[: text().rindex(b"endloop")], "incomplete"),
        (text()[: text().rindex(b"vertex")] + b"endsolid", "incomplete"),
        (
            text().replace(b"vertex 1.5 ", b"endsolid 1.5 ", 1),
            "0.0 endloop endfacet' is no facet",
        ),
        (
            text().replace(b"vertex 1.5 ", b"endsolidvertex 1.5 ", 1),
            "0.0 endloop endfacet' is no facet",
        ),
        (text().replace(b"1.5 ", b"1.5x "), "no numbers in .* 1.5x "),
        (
            text().replace(b"vertex 1.5 ", b"vertex "),
            r"vertex 0.000000e\+00 -0.25 endloop",
        ),
        (
            text().replace(b"vertex 1.5 ", b"1.5 ", 1),
            r"0.0 1.5 0.000000e\+00 -0.25 endloop",
        ),
        (text().replace(b"    endloop\n", b"", 1), "-0.25 endfacet' is no facet"),
        (text().replace(b"1.5 ", b"1_5 "), "1_5"),
        (text().replace(b"endfacet", b"endfacet colour", 1), "'colour facet"),
        (text().replace(b"vertex ", b"vertex nan "), "vertex nan 0.0 1.25"),
    ],
)
def test_invalid_files_are_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(MeshError, match=reason) as caught:
        read(data)

    assert "\n" not in caught.value.reason


def test_truncated_text_is_read_and_reported() -> None:
    """After complete facets; the rest may be missing."""
    mesh = read(text()[: text().rindex(b"endsolid")])

    assert_tetrahedron(mesh)
    assert mesh.skipped == ("the text ends without endsolid",)


def test_announced_size_is_not_allocated() -> None:
    """4e9 triangles in a file of a hundred bytes."""
    data = bytes(80) + b"\xff" * 4 + bytes(50)
    tracemalloc.start()
    try:
        with pytest.raises(MeshError, match="announces 4294967295 triangles"):
            read(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000


@pytest.mark.parametrize(
    "data",
    [
        text().replace(b"1.5 ", b"nan "),
        text().replace(b"1.5 ", b"1e60 "),
        binary().replace(struct.pack("<f", 1.5), b"\0\0\xc0\x7f"),
    ],
)
def test_triangles_with_a_non_finite_vertex_are_dropped(data: bytes) -> None:
    """One triangle of the tetrahedron has no such corner."""
    mesh = read(data)

    assert len(mesh.face_counts) == 1
    assert mesh.skipped == ("faces left out for a vertex that is not finite: 3 of 4",)


def test_stl_facet_of_very_many_corners_is_refused() -> None:
    """Every corner would become a triangle."""
    corners = b"vertex 0 1 5\n" * 100_000
    facet = b"facet normal 0 0 1 outer loop\n" + corners + b"endloop endfacet\n"

    with pytest.raises(MeshError, match="STL is broken"):
        read_text_stl(b"solid a\n" + facet + b"endsolid a\n")
