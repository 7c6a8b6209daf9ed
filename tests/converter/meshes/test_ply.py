"""PLY files."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
import trimesh

from urdf_usd.converter.meshes.mesh import CornerValues, MeshError, PolygonMesh
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial, MeshTexture, Slot
from urdf_usd.converter.meshes.ply import read_ply

FORMS = {"ascii": "", "binary_little_endian": "<", "binary_big_endian": ">"}
POINTS = np.array([[0.5, 0.25, 0], [1.5, 0, 0.5], [0, 2, 1], [-1, 0.5, 0], [0, 0, 3]], "f4")
# Runs of triangles and quadrilaterals.
FACES = [[0, 1, 2], [0, 2, 4], [0, 1, 2, 3], [1, 4, 2], [3, 2, 1, 0]]
ST = np.linspace(0.1, 0.9, 10).reshape(5, 2).astype("f4")
XYZ = "property float x\nproperty float y\nproperty float z\n"
LIST = "property list uchar int vertex_indices\n"


def ply(
    form: str = "ascii",
    *,
    comment: str = "made by hand",
    vertex: tuple[str, str, np.ndarray] | None = None,
    face: tuple[str, str, list[list[float]]] | None = None,
    last: str = "",
) -> bytes:
    """Write the surface, with properties (header, type, values) after those of the shape."""
    header = f"ply\nformat {form} 1.0\ncomment {comment}\nelement vertex 5\n{XYZ}"
    header += (vertex[0] if vertex else "") + f"element face {len(FACES)}\n{LIST}"
    header += (face[0] if face else "") + f"{last}end_header\n"
    rows: list[list[tuple[str, float]]] = []
    for number, point in enumerate(POINTS):
        rows.append([("f4", value) for value in point])
        rows[-1] += [(vertex[1], value) for value in vertex[2][number]] if vertex else []
    for number, corners in enumerate(FACES):
        rows.append([("u1", len(corners)), *(("i4", corner) for corner in corners)])
        rows[-1] += [(face[1], value) for value in face[2][number]] if face else []
    if form == "ascii":
        lines = (" ".join(str(np.dtype(kind).type(value)) for kind, value in row) for row in rows)
        return (header + "\n".join(lines) + "\n").encode()
    order = FORMS[form]
    values = (np.array(value, order + kind).tobytes() for row in rows for kind, value in row)
    return header.encode() + b"".join(values)


def at_corners(values: CornerValues | None) -> np.ndarray:
    assert values is not None
    return values.values[values.indices]


def faces(mesh: PolygonMesh) -> list[list[int]]:
    pieces = np.split(mesh.face_indices, np.cumsum(mesh.face_counts)[:-1])
    return [piece.tolist() for piece in pieces]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_polygons_are_read_in_every_form(form: str, end: str) -> None:
    head, _, body = ply(form).partition(b"end_header\n")
    head = head.replace(b"\n", end.encode())

    mesh = read_ply(head + b"end_header" + end.encode() + body)

    np.testing.assert_array_equal(mesh.points, POINTS)
    assert faces(mesh) == FACES


def test_surface_is_that_of_trimesh() -> None:
    """Of text: trimesh 5.2 refuses binary files with several kinds of polygons."""
    data = ply()
    mesh, other = read_ply(data), trimesh.load_mesh(BytesIO(data), "ply", process=False)

    fans = [(face[0], *face[i : i + 2]) for face in faces(mesh) for i in range(1, len(face) - 1)]

    assert len(fans) == len(other.faces)
    assert trimesh.Trimesh(mesh.points, fans).area == pytest.approx(other.area)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("kind", "word", "one"), [("u1", "uchar", 255), ("f4", "float", 1)])
def test_colours_of_vertices_or_faces_are_read(form: str, kind: str, word: str, one: int) -> None:
    """sRGB, as integers or as fractions."""
    header = "".join(f"property {word} {name}\n" for name in ("red", "green", "blue"))
    colors = np.array([[0.2, number / 5, 1.0] for number in range(5)]) * one

    of_vertices = read_ply(ply(form, vertex=(header, kind, colors))).attributes.colors
    of_faces = read_ply(ply(form, face=(header, kind, colors.tolist()))).attributes.colors

    corners = np.concatenate(FACES)
    number = np.repeat(np.arange(5), [len(face) for face in FACES])
    np.testing.assert_allclose(at_corners(of_vertices), colors[corners] / one, rtol=1e-6)
    np.testing.assert_allclose(at_corners(of_faces), colors[number] / one, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("names", [("s", "t"), ("u", "v"), ("texture_u", "texture_v")])
def test_texture_of_the_header_uses_coordinates(form: str, names: tuple[str, str]) -> None:
    """At every vertex, v upwards, as by Blender; or at every corner, as by MeshLab."""
    comment = "TextureFile my skin.png"
    header = "".join(f"property float {name}\n" for name in names)
    wedges = [[2 * len(face), *ST[face].ravel().tolist()] for face in FACES]
    lists = "property list float float texcoord\n"

    for data in (
        ply(form, comment=comment, vertex=(header, "f4", ST)),
        ply(form, comment=comment, face=(lists, "f4", wedges)),
    ):
        attributes = read_ply(data).attributes

        found = at_corners(attributes.texture_coordinates)
        np.testing.assert_array_equal(found, ST[np.concatenate(FACES)])
        texture = MeshTexture("my skin.png")
        assert attributes.materials == (MeshMaterial("", textures=((Slot.COLOR, texture),)),)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (ply().replace(b"end_header", b""), "header does not end"),
        (ply("binary_little_endian")[:-4], "end early"),
        (ply()[: ply().index(b"3 0 2 4")], "announces 10 rows but holds 6"),
        (ply().replace(b"3 0 2 4", b"9 0 2 4"), "a list of face is too short"),
        (ply().replace(b"3 0 2 4", b"3 0 x 4"), "PLY is broken"),
        (ply().replace(b"3 0 2 4", b"3 0 2 5"), "none of its 5 vertices"),
        (ply().replace(b"float x", b"quad x"), "no faces"),
        (ply().replace(b"float x", b"float w"), "no faces"),
        (ply().replace(b"element face", b"element edge"), "no faces"),
        (ply(last="element edge 99999999999\nproperty int vertex1\n"), "announces"),
        (b"ply\nformat ascii 1.0\nelement vertex 0\nend_header\n", "no faces"),
    ],
)
def test_damaged_files_are_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(MeshError, match=reason):
        read_ply(data)


@pytest.mark.parametrize("count", [2**32 - 1, 4 * 10**9, 10**30, -3])
@pytest.mark.parametrize("element", ["vertex", "face"])
@pytest.mark.parametrize("form", ["ascii", "binary_little_endian"])
def test_false_ply_counts_allocate_nothing(form: str, element: str, count: int) -> None:
    """The file is refused, or read up to its end."""
    counts = {"vertex": 3, "face": 1} | {element: count}
    numbers = "".join(f"property float {axis}\n" for axis in "xyz")
    text = f"ply\nformat {form} 1.0\nelement vertex {counts['vertex']}\n{numbers}"
    text += f"element face {counts['face']}\nproperty list uchar int vertex_indices\n"
    body = b"0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n" * 4

    with pytest.raises(MeshError):
        read_ply(f"{text}end_header\n".encode() + body)
