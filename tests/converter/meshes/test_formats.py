"""Mesh files: detection, other readers, laws and limits."""

from __future__ import annotations

import math
import tracemalloc
from io import BytesIO
from pathlib import Path
from struct import pack

import numpy as np
import pybullet_data
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from scipy.spatial.transform import Rotation

from tests.converter.meshes.gltf_files import CORNERS, Json, triangle
from urdf_usd.converter.meshes import mesh as meshes
from urdf_usd.converter.meshes.collada import read_numbers
from urdf_usd.converter.meshes.gltf import read_gltf
from urdf_usd.converter.meshes.obj import obj_text, read_obj
from urdf_usd.converter.meshes.read import cached_meshes, decode_mesh, read_mesh

# Detection and reading of files
DATA = Path(pybullet_data.getDataPath())
# One triangle, as trimesh writes it.
TRIANGLE = trimesh.Trimesh([[0, 0, 0], [1, 0, 0], [0, 2, 0]], [[0, 1, 2]], process=False)
FORMATS = ("obj", "stl", "stl_ascii", "dae")


@pytest.mark.parametrize("name", ["p.stl", "p.OBJ", "p.dae", "p.Stl", "p.mesh", "p"])
@pytest.mark.parametrize("form", FORMATS)
def test_format_is_detected_by_content(tmp_path: Path, form: str, name: str) -> None:
    path = tmp_path / name
    TRIANGLE.export(path, file_type=form)

    mesh = read_mesh(path)

    assert mesh.points.tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]
    assert mesh.face_indices.tolist() == [0, 1, 2]


def test_files_that_cannot_be_opened_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.stl"):
        with pytest.raises(meshes.MeshError, match="cannot be opened"):
            read_mesh(path)


SAMPLE = (
    *("duck.dae", "racecar/meshes/chassis.dae", "racecar/meshes/hokuyo.dae"),
    *("differential/diff_arm.stl", "bicycle/files/handlebar_scaled.stl"),
    *("a1/meshes/thigh_mirror.obj", "bunny.obj"),
)


def triangulated(mesh: meshes.PolygonMesh) -> trimesh.Trimesh:
    """Cut polygons into fans."""
    spans = mesh.face_counts - 2
    first = np.repeat(np.cumsum(mesh.face_counts) - mesh.face_counts, spans)
    step = np.arange(spans.sum()) - np.repeat(np.cumsum(spans) - spans, spans)
    corners = np.stack([first, first + step + 1, first + step + 2], axis=1)
    return trimesh.Trimesh(mesh.points, mesh.face_indices[corners], process=False)


def assert_as_trimesh_reads_it(path: Path) -> None:
    """Compare bounds, area and volume, relative to the size of the mesh."""
    scene = trimesh.load_scene(str(path), process=False, skip_materials=True)
    whole = scene.to_mesh()
    factor = trimesh.units.unit_conversion(scene.units, "meters") if scene.units else 1.0
    reference = trimesh.Trimesh(factor * whole.vertices, whole.faces, process=False)
    with np.errstate(invalid="ignore"):  # Flat meshes have no centre of mass.
        actual, expected = (
            np.array([*mesh.bounds.ravel(), mesh.area, mesh.volume])
            for mesh in (triangulated(read_mesh(path)), reference)
        )
    size = np.ptp(reference.bounds, axis=0).max()
    units = np.array([size] * 6 + [reference.area, size**3])
    np.testing.assert_allclose(actual / units, expected / units, atol=1e-6, err_msg=str(path))


# pycollada sets shapes of arrays, which NumPy 2.5 deprecates.
@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.parametrize("name", SAMPLE)
def test_real_files_agree_with_the_reference_reader(name: str) -> None:
    assert_as_trimesh_reads_it(DATA / name)


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")
@pytest.mark.corpus
def test_every_mesh_of_pybullet_data_agrees_with_the_reference_reader() -> None:
    for path in DATA.rglob("*"):
        if path.suffix.lower() in {".stl", ".obj", ".dae"} and "random_urdfs" not in path.parts:
            assert_as_trimesh_reads_it(path)


def test_cached_mesh_is_decoded_once(tmp_path: Path) -> None:
    path = tmp_path / "mesh.stl"
    TRIANGLE.export(path)

    with cached_meshes():
        first, second = read_mesh(path), read_mesh(path)
        trimesh.Trimesh(2 * TRIANGLE.vertices, TRIANGLE.faces, process=False).export(path)
        third = read_mesh(path)
    fourth = read_mesh(path)

    assert first is second
    assert third is not fourth
    assert first.points.max() == 2.0
    assert third.points.max() == fourth.points.max() == 4.0


# OBJ


@given(
    st.lists(st.floats(min_value=-1e30, max_value=1e30, width=64), min_size=9, max_size=9),
    st.sampled_from(["r", ".6f", ".9e", "+g", ".17G"]),
)
def test_numbers_equal_those_of_python_in_float32(numbers: list[float], form: str) -> None:
    words = [repr(x) if form == "r" else format(x, form) for x in numbers]
    rows = "".join(f"v {' '.join(words[i : i + 3])}\n" for i in (0, 3, 6))
    expected = np.array([float(word) for word in words]).reshape(3, 3)

    mesh = read_obj(f"{rows}f 1 2 3\n".encode())

    # Except ties, which the last bit of a double decides.
    np.testing.assert_allclose(mesh.points, expected, rtol=4e-15, atol=1e-300)


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
    mesh = meshes.build_mesh(*surface)

    again = read_obj(obj_text(mesh, "made by hand"))

    np.testing.assert_array_equal(again.points.astype(np.float32), mesh.points.astype(np.float32))
    np.testing.assert_array_equal(again.face_counts, mesh.face_counts)
    np.testing.assert_array_equal(again.face_indices, mesh.face_indices)


def test_trimesh_reads_written_files() -> None:
    box = trimesh.creation.box((0.1, 0.2, 0.3))
    mesh = meshes.build_mesh(box.vertices, np.full(12, 3), box.faces.ravel())
    text = obj_text(mesh, "made by hand")

    again = trimesh.load_mesh(BytesIO(text), "obj")

    assert text.startswith(b"# made by hand\nv ")
    np.testing.assert_allclose(again.volume, 0.006, rtol=1e-6)


# COLLADA


# Signs, points and exponents in places that JSON does not allow, or without digits.
WORDS = st.one_of(
    st.floats().map(repr),
    st.floats(-1e3, 1e3).map(lambda number: f"{number:.6f}"),
    st.integers(-(2**70), 2**70).map(str),
    st.from_regex(
        r"[+-]?([0-9]{1,20}\.?[0-9]{0,20}|\.[0-9]{1,20})([eE][+-]?[0-9]{1,3})?", fullmatch=True
    ),
    st.sampled_from(["-0", "0", "-0.0", "INF", "-inf", "nan", "1e400", "5e-324", "007"]),
)
SPACES = st.text(" \t\n\r", min_size=1, max_size=3)


def _element(text: str) -> etree._Element:
    element = etree.Element("float_array")
    element.text = text
    return element


@given(st.lists(WORDS, max_size=8), st.lists(SPACES, min_size=8, max_size=8))
def test_decimals_equal_those_of_python(words: list[str], spaces: list[str]) -> None:
    text = "".join(space + word for space, word in zip(spaces, words, strict=False))

    numbers = read_numbers(_element(text), np.float64).tolist()

    for number, exact in zip(numbers, map(float, words), strict=True):
        assert pack("d", number) == pack("d", exact) or (math.isnan(number) and math.isnan(exact))


@pytest.mark.parametrize(
    "text", ["1, 2", "1 [2] 3", "1 true", '1 "2"', "1 {} 2", "0x10", "1 2]", "1 x"]
)
def test_text_other_than_numbers_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_numbers(_element(text), np.float64)


# glTF


# Y up to Z up.
UPRIGHT = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def at_corners(held: meshes.CornerValues | None) -> np.ndarray:
    assert held is not None
    flat: np.ndarray = held.values[held.indices]
    return flat


def corners(mesh: meshes.PolygonMesh) -> np.ndarray:
    flat: np.ndarray = mesh.points[mesh.face_indices]
    return flat


quaternions = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: sum(x * x for x in q) > 0.1)
triples = st.tuples(*[st.floats(-3, 3)] * 3)
scales = st.tuples(*[st.floats(0.3, 3) | st.floats(-3, -0.3)] * 3)


@given(
    st.lists(st.tuples(triples, quaternions, scales), min_size=1, max_size=3),
    st.booleans(),
)
def test_node_transforms_agree_with_trimesh(
    chain: list[tuple[tuple[float, ...], ...]],
    as_matrix: bool,
) -> None:
    document = triangle()
    geometric = np.cross(CORNERS[1] - CORNERS[0], CORNERS[2] - CORNERS[0])
    unit = geometric / np.linalg.norm(geometric)
    normals = document.accessor(np.tile(unit.astype("<f4"), (3, 1)))
    primitive = document.root["meshes"][0]["primitives"][0]
    primitive["attributes"]["NORMAL"] = normals
    for translation, rotation, scale in chain:
        unit = np.array(rotation) / np.linalg.norm(rotation)
        node: Json = {
            "translation": list(translation),
            "rotation": unit.tolist(),
            "scale": list(scale),
        }
        if as_matrix:
            x, y, z, w = unit
            matrix = np.eye(4)
            turn = Rotation.from_quat([x, y, z, w])
            matrix[:3, :3] = turn.as_matrix() * scale
            matrix[:3, 3] = translation
            node = {"matrix": matrix.T.ravel().tolist()}
        inner = document.root["scenes"][0]["nodes"]
        outer = document.add("nodes", {**node, "children": inner})
        document.root["scenes"][0]["nodes"] = [outer]
    data = document.glb()

    mesh = read_gltf(data)

    other = trimesh.load_scene(BytesIO(data), file_type="glb", process=False)
    reference = other.to_mesh().vertices @ UPRIGHT.T
    assert_same_rows(corners(mesh), reference)
    first, second, third = corners(mesh)
    faced = np.cross(second - first, third - first)
    np.testing.assert_allclose(
        at_corners(mesh.normals)[0], faced / np.linalg.norm(faced), atol=1e-4
    )


@given(
    st.floats(-7, 7),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
    st.tuples(st.floats(-3, 3), st.floats(-3, 3)),
    st.tuples(st.floats(-2, 2), st.floats(-2, 2)),
)
def test_texture_transform_is_converted_to_v_up(
    angle: float,
    offset: tuple[float, float],
    scale: tuple[float, float],
    uv: tuple[float, float],
) -> None:
    moved = {"offset": list(offset), "rotation": angle, "scale": list(scale)}
    use: Json = {"index": 0, "extensions": {"KHR_texture_transform": moved}}
    document = triangle(pbrMetallicRoughness={"baseColorTexture": use})
    document.add("images", {"uri": "a.png"})
    document.add("textures", {"source": 0})

    (material,) = read_gltf(document.glb()).materials

    ((_, texture),) = material.textures
    sine, cosine = math.sin(angle), math.cos(angle)
    down = np.array([[cosine, sine], [-sine, cosine]]) @ (np.array(uv) * scale)
    expected = [0, 1] + (down + offset) * [1, -1]
    sampling = texture.sampling
    # UsdTransform2d: scale, rotate counter-clockwise, translate.
    sine, cosine = math.sin(sampling.rotation), math.cos(sampling.rotation)
    scaled = np.array([uv[0], 1 - uv[1]]) * sampling.scale
    found = np.array([[cosine, -sine], [sine, cosine]]) @ scaled + sampling.translation
    np.testing.assert_allclose(found, expected, atol=1e-12)


def assert_same_rows(found: np.ndarray, expected: np.ndarray) -> None:
    found, expected = (rows[np.lexsort(rows.round(3).T)] for rows in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_cyclic_gltf_nodes_use_no_memory() -> None:
    ring = '{"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [%s]}'
    node = f'{{"children": [{", ".join(["0"] * 150_000)}]}}'

    with pytest.raises(meshes.MeshError, match="exceed the limit"):
        read_gltf((ring % node).encode())


# Announced sizes


def test_announced_size_is_not_allocated() -> None:
    data = bytes(80) + b"\xff" * 4 + bytes(50)
    tracemalloc.start()
    try:
        with pytest.raises(meshes.MeshError, match="announces 4294967295 triangles"):
            decode_mesh(data, Path("a.stl"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000
