"""OBJ: polygons, indices, and statements that are not part of the surface."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from urdf_usd.converter.meshes.mesh import MeshError, PolygonMesh, build_mesh, split_groups
from urdf_usd.converter.meshes.obj import obj_text, read_obj

VERTICES = """v 0.1 0.2 0.3
v 1.4 0.0 -0.2
v 1.2 1.1 0.1
v -0.1 0.9 0.2
v 0.5 0.4 1.6
"""
POINTS = np.array([line.split()[1:] for line in VERTICES.splitlines()], dtype=float)
PYRAMID = [[3, 2, 1, 0], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]


def read(text: str | bytes, library: bytes | None = None) -> PolygonMesh:
    return read_obj(text if isinstance(text, bytes) else text.encode(), lambda _: library)


def faces(mesh: PolygonMesh) -> list[list[int]]:
    pieces = np.split(mesh.face_indices, np.cumsum(mesh.face_counts)[:-1])
    return [piece.tolist() for piece in pieces]


def assert_points(mesh: PolygonMesh) -> None:
    np.testing.assert_array_equal(mesh.points.astype("f4"), POINTS.astype("f4"))


def face_lines(form: str) -> str:
    """Write the pyramid's faces; ``form`` formats a corner from its index."""
    rows = (" ".join(form.format(i + 1) for i in face) for face in PYRAMID)
    return "".join(f"f {row}\n" for row in rows)


@pytest.mark.parametrize("form", ["{}", "{}/1", "{}//2", "{}/1/2", "{}/", "{}//"])
def test_polygons_are_kept_with_every_index_form(form: str) -> None:
    """Texture and normal indices do not split points or faces."""
    mesh = read(VERTICES + "vt 0 0\nvn 0 0 1\nvn 1 0 0\n" + face_lines(form))

    assert_points(mesh)
    assert faces(mesh) == PYRAMID


def test_polygons_may_have_hundreds_of_corners() -> None:
    turns = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    rows = [f"v {x} {y} 0.5" for x, y in zip(np.cos(turns), np.sin(turns), strict=True)]
    order = range(1, 301)

    mesh = read("\n".join([*rows, f"f {' '.join(map(str, order))}"]))

    assert mesh.face_counts.tolist() == [300]
    assert mesh.face_indices.tolist() == list(range(300))


@given(
    st.lists(st.floats(min_value=-1e30, max_value=1e30, width=64), min_size=9, max_size=9),
    st.sampled_from(["r", ".6f", ".9e", "+g", ".17G"]),
)
def test_numbers_equal_those_of_python_in_float32(numbers: list[float], form: str) -> None:
    """In every notation of exporters."""
    words = [repr(x) if form == "r" else format(x, form) for x in numbers]
    rows = "".join(f"v {' '.join(words[i : i + 3])}\n" for i in (0, 3, 6))
    expected = np.array([float(word) for word in words]).reshape(3, 3)

    mesh = read_obj(f"{rows}f 1 2 3\n".encode())

    # Except ties, which the last bit of a double decides.
    np.testing.assert_allclose(mesh.points, expected, rtol=4e-15, atol=1e-300)


def test_negative_indices_are_relative_to_their_line() -> None:
    """-1 is the last vertex before the line."""
    text = """
        v 0 0 0
        v 1 0 0
        v 0 1 0
        f -3 -2 -1
        v 0 0 5
        v 1 0 5
        v 0 1 5
        f -3 -2 -1
    """

    mesh = read(text)

    assert faces(mesh) == [[0, 1, 2], [3, 4, 5]]
    assert mesh.points[3:, 2].tolist() == [5, 5, 5]


def test_objects_groups_and_materials_become_one_mesh() -> None:
    """In the order of the file; the material library may be missing."""
    lines = face_lines("{}").splitlines()
    text = f"""# exported
mtllib missing.mtl
o base
{VERTICES}s off
usemtl red
{lines[0]}
g side one
usemtl blue
{lines[1]}
{lines[2]}
o top
usemtl red
{lines[3]}
{lines[4]}
l 1 2
p 3
"""

    assert faces(read(text)) == PYRAMID


@pytest.mark.parametrize(
    "line", ["l 0 9", "l -9 1", "p x", "vw 1 a b", "vt", "vn x", "t a 9/9/9", "curv a"]
)
def test_invalid_statements_outside_the_surface_are_ignored(line: str) -> None:
    mesh = read(f"{VERTICES}{line}\n{face_lines('{}')}")

    assert_points(mesh)
    assert faces(mesh) == PYRAMID


def test_colours_and_weights_after_a_position_are_ignored() -> None:
    """Both are common extensions, also mixed in one file."""
    tails = [" 1 0 0", " 1.0", "", " 0.5 0.5 0.5 1", " 1"]
    rows = zip(VERTICES.splitlines(), tails, strict=True)
    text = "\n".join(row + tail for row, tail in rows) + "\n" + face_lines("{}")

    assert_points(read(text))


def test_byte_order_mark_is_ignored() -> None:
    mesh = read("\ufeff" + VERTICES + face_lines("{}"))

    assert_points(mesh)
    assert faces(mesh) == PYRAMID


def test_line_continuations_and_line_ends_are_read() -> None:
    """A backslash joins lines; tabs separate as spaces do."""
    text = (VERTICES + face_lines("{}")).replace(" 2 1\n", " \\\n2 1\n")
    text = text.replace("v 1.4 ", "v\t1.4\t").replace("\n", "\r\n")

    mesh = read(text)

    assert_points(mesh)
    assert faces(mesh) == PYRAMID


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("f 1 2 5\n", "f 1 2 5 # C:\\\n"),
        ("f 1 2 5\n", "f 1 2 5# 4\n"),
        ("f 1 2 5\n", "f 1 2 5 #4\n#f 1 2 3\n # f 1 2 3\nf 1 2 # 3\n"),
        ("v 0.5 0.4 1.6\n", "v 0.5 0.4 1.6# 4\n"),
        ("v 0.5 0.4 1.6\n", "v 0.5 0.4 1.6 # 1 0 0\n"),
        ("v 0.5 0.4 1.6\n", "# C:\\\nv 0.5 0.4 1.6\n"),
        ("\n", " # 4 5 6\n"),
    ],
)
def test_comments_are_ignored(old: str, new: str) -> None:
    """The format allows them anywhere; a backslash in one continues no line."""
    text = "g one\n" + VERTICES + face_lines("{}").replace("f 3 4 5", "g two\nf 3 4 5")
    mesh = read(text.replace(old, new))

    assert_points(mesh)
    assert faces(mesh) == PYRAMID
    assert [len(one.face_counts) for _, one in split_groups(mesh)] == [3, 2]


def test_number_signs_are_part_of_names() -> None:
    """3ds Max names materials so: 'Material #25'."""
    text = f"mtllib a.mtl\n{VERTICES}usemtl Material #25\n{face_lines('{}')}"

    library = b"newmtl Material #25\nKd 1 0 0\n"
    mesh = read(text.replace("f 1 2 5\n", "f 1 2 5 # side\n"), library)

    assert mesh.attributes.materials[0].name == "Material #25"
    assert mesh.attributes.materials[0].color == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("form", ["{0}//", "{0}/", "{0}/1/", "-{1}//", "-{1}/-1/"])
def test_empty_indices_are_none(form: str) -> None:
    """Not that of the next corner; relative indices were refused."""
    rows = (" ".join(form.format(i + 1, 5 - i) for i in face) for face in PYRAMID)
    text = VERTICES + "vt 0.5 0.25\n" + "vn 0 0 1\nvn 0 1 0\nvn 1 0 0\n" * 2
    mesh = read(text + "".join(f"f {row}\n" for row in rows))
    flat = read(VERTICES + face_lines("{}"))

    assert faces(mesh) == PYRAMID
    assert mesh.attributes.normals == flat.attributes.normals is None
    assert (mesh.attributes.texture_coordinates is not None) is ("1/" in form)


def test_faces_may_precede_their_vertices() -> None:
    """Positive indices refer to the whole file."""
    assert faces(read(face_lines("{}") + VERTICES)) == PYRAMID


def test_area_agrees_with_trimesh() -> None:
    text = VERTICES + face_lines("{}")
    mesh = read(text)
    other = trimesh.load_mesh(BytesIO(text.encode()), file_type="obj")
    fans = [(face[0], *face[i : i + 2]) for face in faces(mesh) for i in range(1, len(face) - 1)]

    assert len(fans) == len(other.faces)
    assert np.ptp(mesh.points, axis=0) == pytest.approx(other.extents)
    assert trimesh.Trimesh(mesh.points, fans).volume == pytest.approx(other.volume)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (VERTICES, "no faces"),
        ("f 1 2 3\n", "none of its 0 vertices"),
        (VERTICES + "f 1 2 6\n", "none of its 5 vertices"),
        (VERTICES + "f -6 1 2\n", "no vertex before it: 'f -6 1 2'"),
        (VERTICES + "f 0 1 2\n", "no vertex before it: 'f 0 1 2'"),
        (VERTICES + "f 1 b 2\n", "no vertex: 'f 1 b 2'"),
        (VERTICES + "f 1 2/\0 3\nf 1 2 3\n", "no vertex: 'f 1 2/"),
        (VERTICES + "f 1 2 3/1/1/\n", "no vertex: 'f 1 2 3/1/1/"),
        (VERTICES + "f 1 2.5 3\n", "no vertex: 'f 1 2.5 3'"),
        (VERTICES + f"f 1 2 {10**30}\n", "none of its 5 vertices"),
        (VERTICES + f"f 1 2 {2**32 + 1}\n", "none of its 5 vertices"),
        ("v 1 2\n" + VERTICES + "f 1 2 3\n", "not three numbers: 'v 1 2'"),
        ("v\n" + VERTICES + "f 1 2 3\n", "not three numbers: 'v'"),
        ("v 1 2 z\n" + VERTICES + "f 1 2 3\n", "not three numbers: 'v 1 2 z'"),
        ("v 1,5 2 3\n" + VERTICES + "f 1 2 3\n", "not three numbers: 'v 1,5 2 3'"),
        ("v 1 nan x\n" + VERTICES + "f 1 2 3\n", "not three numbers: 'v 1 nan x'"),
        ("v 1 2 nan\n" + VERTICES + "f 1 2 3\n", "not finite"),
        ("v 1 2 1e999\n" + VERTICES + "f 1 2 3\n", "not finite"),
    ],
)
def test_invalid_files_are_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(MeshError, match=reason):
        read(text)


@pytest.mark.parametrize("number", ["nan", "-NaN(ind)", "-Infinity", "-1.#IND00"])
def test_faces_with_a_non_finite_vertex_are_dropped(number: str) -> None:
    """In every spelling of C libraries."""
    text = VERTICES + f"v 0.1 {number} 0.2\nf 1 2 3\nf 1 2 6\nf 2 4 3\n"

    mesh = read(text)

    assert len(mesh.face_counts) == 2
    assert "not finite: 1 of 3" in " ".join(mesh.skipped)


_LEFT, _RIGHT = "f 1 2 3\nf 1 3 4\n", "f 2 3 5\n"


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        (f"o a\n{_LEFT}o b\n{_RIGHT}", [("a", 2), ("b", 1)]),
        (f"g a b\r\n{_LEFT}\tg\tc\n{_RIGHT}", [("a b", 2), ("c", 1)]),
        (f"{_LEFT}o b\n{_RIGHT}", [("", 2), ("b", 1)]),
        (f"o a\ng b\n{_LEFT}g none\no a\ng c\n{_RIGHT}", [("b", 2), ("c", 1)]),
        (f"g a\n{_LEFT}g b\n{_RIGHT}g a\n{_LEFT}", [("a", 2), ("b", 1), ("a", 2)]),
        (f"o a\n{_LEFT}usemtl m\n{_RIGHT}", []),
        (f"o a\n{_LEFT}s 2\n{_RIGHT}", []),
        (f"g\n{_LEFT}g\n{_RIGHT}", []),
        (f"o a\n{_LEFT}o b\nf 1 1 2\n", []),
    ],
)
def test_faces_are_grouped_by_object_and_group_statements(
    text: str, groups: list[tuple[str, int]]
) -> None:
    """As by PyBullet, see tests/conformance/engines/pybullet/test_hulls.py."""
    pieces = split_groups(read(VERTICES + text))

    assert [(name, len(piece.face_counts)) for name, piece in pieces] == groups


def test_groups_have_the_points_of_their_faces_alone() -> None:
    mesh = read(f"{VERTICES}o a\nf 5 4 1\no b\nf 3 2 1 4\n")
    (_, first), (_, second) = split_groups(mesh)

    np.testing.assert_array_equal(first.points, mesh.points[[0, 3, 4]])
    np.testing.assert_array_equal(second.points, mesh.points[[0, 1, 2, 3]])
    assert faces(first) == [[2, 1, 0]]
    assert faces(second) == [[2, 1, 0, 3]]


def test_coordinates_beyond_float32_are_left_out() -> None:
    text = VERTICES + "vt 0 0\nvt 1e39 0\nvt 0 1\nf 1/1 2/2 3/3\n"

    assert read_obj(text.encode()).attributes.texture_coordinates is None


def test_material_names_need_not_be_utf_8() -> None:
    """Old exporters write the encoding of their system."""
    library = "newmtl Grün\nKd 0 1 0\n".encode("latin-1")
    text = f"mtllib a.mtl\n{VERTICES}usemtl Grün\nf 1 2 3\n".encode("latin-1")

    (material,) = read_obj(text, lambda _: library).attributes.materials

    assert (material.name, material.color) == ("Grün", (0, 1, 0))


_FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)


@st.composite
def _meshes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    points = draw(st.lists(st.tuples(*[_FLOATS] * 3), min_size=3, max_size=12))
    corner = st.integers(0, len(points) - 1)
    polygon = st.lists(corner, min_size=3, max_size=6, unique=True)
    faces = draw(st.lists(polygon, min_size=1, max_size=5))
    counts = np.array([len(face) for face in faces])
    return np.array(points), counts, np.concatenate(faces)


@given(_meshes())
def test_polygons_and_float32_positions_are_read_back(
    surface: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    """Bit for bit in float32, at any scale."""
    mesh = build_mesh(*surface)

    again = read_obj(obj_text(mesh, "made by hand"))

    np.testing.assert_array_equal(again.points.astype(np.float32), mesh.points.astype(np.float32))
    np.testing.assert_array_equal(again.face_counts, mesh.face_counts)
    np.testing.assert_array_equal(again.face_indices, mesh.face_indices)


def test_trimesh_reads_written_files() -> None:
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    mesh = build_mesh(box.vertices, np.full(12, 3), box.faces.ravel())
    text = obj_text(mesh, "made by hand")

    again = trimesh.load_mesh(BytesIO(text), "obj")

    assert text.startswith(b"# made by hand\nv ")
    np.testing.assert_allclose(again.volume, 0.006, rtol=1e-6)
