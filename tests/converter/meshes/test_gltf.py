"""Surfaces and vertex attributes of glTF files."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from tests.converter.meshes.gltf_files import (
    CORNERS,
    NORMALS,
    UV,
    Gltf,
    Json,
    triangle,
)
from urdf_usd.converter.meshes.gltf import read_gltf
from urdf_usd.converter.meshes.mesh import CornerValues, MeshError, PolygonMesh
from urdf_usd.converter.meshes.read import read_mesh

# Y up to Z up.
UPRIGHT = np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])


def at_corners(held: CornerValues | None) -> np.ndarray:
    assert held is not None
    flat: np.ndarray = held.values[held.indices]
    return flat


def corners(mesh: PolygonMesh) -> np.ndarray:
    flat: np.ndarray = mesh.points[mesh.face_indices]
    return flat


def test_up_axis_and_texture_v_are_converted() -> None:
    """Y up becomes Z up, and v = 0 at the upper edge becomes v = 1."""
    document = triangle()
    document.root["nodes"][0]["translation"] = [1, 2, 3]

    mesh = read_gltf(document.glb())

    placed = CORNERS + np.array([1, 2, 3])
    np.testing.assert_allclose(corners(mesh), placed @ UPRIGHT.T, rtol=1e-6)
    attributes = mesh.attributes
    turned = NORMALS @ UPRIGHT.T
    np.testing.assert_allclose(at_corners(attributes.normals), turned, atol=1e-6)
    flipped = UV * [1, -1] + [0, 1]
    np.testing.assert_allclose(at_corners(attributes.texture_coordinates), flipped, rtol=1e-6)
    assert [material.name for material in attributes.materials] == ["m"]


def test_text_and_binary_files_have_the_same_surface(tmp_path: Path) -> None:
    """With an embedded base64 buffer, or a file with a percent-encoded name."""
    document = triangle()
    files = {
        "a.glb": document.glb(),
        "b.gltf": document.text(),
        "c.gltf": document.text("my%20numbers.bin"),
    }
    (tmp_path / "my numbers.bin").write_bytes(document.content)
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)

    meshes = [read_mesh(tmp_path / name) for name in files]

    for mesh in meshes[1:]:
        np.testing.assert_array_equal(mesh.points, meshes[0].points)
        np.testing.assert_array_equal(mesh.face_indices, meshes[0].face_indices)
        assert mesh.attributes.materials == meshes[0].attributes.materials
    assert [mesh.sibling_files for mesh in meshes] == [
        (),
        (),
        (str(tmp_path / "my numbers.bin"),),
    ]


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
    """Nested nodes, with and without mirrors."""
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
        at_corners(mesh.attributes.normals)[0], faced / np.linalg.norm(faced), atol=1e-4
    )


def assert_same_rows(found: np.ndarray, expected: np.ndarray) -> None:
    found, expected = (rows[np.lexsort(rows.round(3).T)] for rows in (found, expected))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (4, [[0, 1, 2], [2, 1, 3]]),
        # Figures of the specification's section on primitives.
        (5, [[0, 1, 2], [1, 3, 2], [2, 3, 4]]),
        (6, [[1, 2, 0], [2, 3, 0], [3, 4, 0]]),
    ],
)
def test_lists_strips_and_fans_are_triangulated(mode: int, expected: list[list[int]]) -> None:
    """With the winding order of the specification."""
    points = np.array([[0, 0, 0], [1, 0, 0.2], [0, 1, 0.1], [1.2, 1, 0], [0, 2, 0.4]], "<f4")
    order = [0, 1, 2, 2, 1, 3] if mode == 4 else [0, 1, 2, 3, 4]
    document = Gltf()
    primitive = document.primitive(None, POSITION=document.accessor(points))
    indices = document.accessor(np.array(order, "<u2"))
    document.show(primitive | {"mode": mode, "indices": indices})

    mesh = read_gltf(document.glb())

    turned = points[np.array(expected).ravel()] @ UPRIGHT.T
    np.testing.assert_allclose(corners(mesh), turned, atol=1e-7)


def test_points_and_lines_are_ignored() -> None:
    document = Gltf()
    lines = document.primitive(None) | {"mode": 1}
    document.show(lines, document.primitive(None))

    assert len(read_gltf(document.glb()).face_counts) == 1

    alone = Gltf()
    alone.show(alone.primitive(None) | {"mode": 0})
    with pytest.raises(MeshError, match="no faces"):
        read_gltf(alone.glb())


def test_mesh_of_several_nodes_is_repeated() -> None:
    """Each with the transform of its node, and with or without a material."""
    document = triangle()
    document.add("materials", {"name": "other"})
    second = document.add(
        "meshes", {"primitives": [document.primitive(1), document.primitive(None)]}
    )
    for place in ([5, 0, 0], [0, 0, 7]):
        node = document.add("nodes", {"mesh": second, "translation": place})
        document.root["scenes"][0]["nodes"].append(node)

    mesh = read_gltf(document.glb())

    assert len(mesh.face_counts) == 5
    assert mesh.attributes.face_materials is not None
    names = [
        mesh.attributes.materials[number].name if number >= 0 else None
        for number in mesh.attributes.face_materials
    ]
    assert names == ["m", "other", None, "other", None]
    np.testing.assert_allclose(
        corners(mesh)[3:6], (CORNERS + np.array([5, 0, 0])) @ UPRIGHT.T, rtol=1e-6
    )
    # Surfaces without normals get those of their faces.
    first, *_ = np.split(corners(mesh)[3:], 4)
    flat = np.cross(first[1] - first[0], first[2] - first[0])
    np.testing.assert_allclose(
        at_corners(mesh.attributes.normals)[3], flat / np.linalg.norm(flat), atol=1e-6
    )


def test_normalised_integers_are_fractions() -> None:
    """By the formulas of the specification, with a stride."""
    document = Gltf()
    shorts = np.array([[0, 65535], [13107, 26214], [65535, 0]], "<u2")
    document.add("materials", {"name": "m"})
    rows = np.zeros(3, [("position", "<f4", 3), ("normal", "i1", 4)])
    rows["position"], rows["normal"][:, 1:3] = CORNERS, (76, 102)
    view = document.view(rows.tobytes(), byteStride=16)
    shared = {"bufferView": view, "count": 3, "type": "VEC3"}
    at = document.add("accessors", {**shared, "componentType": 5126})
    normals = {**shared, "componentType": 5120, "byteOffset": 12, "normalized": True}
    primitive = document.primitive(
        POSITION=at,
        NORMAL=document.add("accessors", normals),
        TEXCOORD_0=document.accessor(shorts, normalized=True),
    )
    document.show(primitive)

    attributes = read_gltf(document.glb()).attributes

    expected = np.array([[0, 0], [0.2, 0.6], [1, 1]])
    np.testing.assert_allclose(at_corners(attributes.texture_coordinates), expected)
    direction = np.array([0, 76, 102]) / np.hypot(76, 102) @ UPRIGHT.T
    np.testing.assert_allclose(at_corners(attributes.normals)[0], direction, atol=1e-6)


def test_sparse_accessors_replace_values() -> None:
    """Without a buffer, they replace zeros."""
    document = Gltf()
    places = document.view(np.array([1, 2], "<u2").tobytes())
    values = document.view(np.array([[2, 0, 0], [0, 3, 0]], "<f4").tobytes())
    sparse = {
        "count": 2,
        "indices": {"bufferView": places, "componentType": 5123},
        "values": {"bufferView": values},
    }
    accessor = {"componentType": 5126, "count": 3, "type": "VEC3", "sparse": sparse}
    at = document.add("accessors", accessor)
    document.show(document.primitive(None, POSITION=at))

    mesh = read_gltf(document.glb())

    expected = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0]]) @ UPRIGHT.T
    np.testing.assert_allclose(corners(mesh), expected)


def test_document_without_scene_has_all_root_nodes() -> None:
    document = triangle()
    del document.root["scenes"]
    document.add("nodes", {"children": [0], "translation": [1, 0, 0]})

    mesh = read_gltf(document.glb())

    np.testing.assert_allclose(
        corners(mesh), (CORNERS + np.array([1, 0, 0])) @ UPRIGHT.T, rtol=1e-6
    )


def edited(change: Callable[[Gltf], object]) -> bytes:
    document = triangle()
    change(document)
    return document.glb()


def _extension(name: str) -> Callable[[Gltf], object]:
    return lambda document: document.root.update(extensionsRequired=[name])


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (edited(_extension("KHR_draco_mesh_compression")), "compressed with Draco"),
        (edited(_extension("EXT_meshopt_compression")), "with meshoptimizer"),
        (edited(_extension("ACME_polygons")), "requires .* 'ACME_polygons'"),
        (edited(lambda d: d.root["asset"].update(version="1.0")), "glTF 1.0, not 2"),
        (edited(lambda d: d.root["nodes"][0].update(children=[0])), "exceed the limit"),
        (edited(lambda d: d.root["nodes"][0].update(mesh=7)), "meshes 7, of 1"),
        (edited(lambda d: d.root["nodes"][0].update(scale=[1, 2])), "length 3"),
        (edited(lambda d: d.root["accessors"][2].update(count=9**9)), "beyond the end"),
        (edited(lambda d: d.root["accessors"][2].update(count=4)), "beyond the end"),
        (edited(lambda d: d.root["accessors"][2].update(componentType=1)), "type 1"),
        (triangle().text("data:;base64,A"), "not base64"),
        (triangle().text("lost.bin"), "'lost.bin' is not there"),
        (triangle().glb()[:-8], "truncated"),
        (b"glTF\2\0\0\0", "ends in its header"),
        (b'{"a": ' + b"[" * 100_000, "not JSON"),
    ],
)
def test_unsupported_files_are_refused_with_a_reason(data: bytes, reason: str) -> None:
    """For compression, the message has a remedy."""
    with pytest.raises(MeshError, match=reason):
        read_gltf(data)


def test_optional_compression_is_ignored() -> None:
    """The specification requires an uncompressed fallback."""
    document = triangle()
    document.root["extensionsUsed"] = ["KHR_draco_mesh_compression"]

    assert len(read_gltf(document.glb()).face_counts) == 1


def test_invalid_vertex_attribute_is_dropped_alone() -> None:
    """Faces are kept, and the dropped attribute is reported."""
    document = triangle()
    attributes = document.root["meshes"][0]["primitives"][0]["attributes"]
    document.root["accessors"][attributes["NORMAL"]]["count"] = 2
    attributes["TEXCOORD_0"] = 99

    mesh = read_gltf(document.glb())

    assert mesh.attributes.normals is mesh.attributes.texture_coordinates is None
    assert mesh.skipped == (
        "its NORMAL do not match its points",
        "its TEXCOORD_0 are left out: it refers to accessors 99, of 3",
    )


def test_cyclic_gltf_nodes_use_no_memory() -> None:
    """Each level of the cycle would double the nodes."""
    ring = '{"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [%s]}'
    node = f'{{"children": [{", ".join(["0"] * 150_000)}]}}'

    with pytest.raises(MeshError, match="exceed the limit"):
        read_gltf((ring % node).encode())
