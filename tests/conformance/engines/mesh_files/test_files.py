"""The harness's mesh readers read files unmodified and report what is unsupported."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import collada
import numpy as np
import pybullet_data
import pytest
import trimesh

from urdf_usd.conformance.engines.mesh_parts import (
    LoadedMesh,
    UnreadMeshError,
)
from urdf_usd.conformance.engines.meshes import load_mesh
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import Observed, Request
from urdf_usd.conformance.engines.reference import ReferenceEngine
from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.conformance.verdict.judgement import judge
from urdf_usd.converter import convert
from urdf_usd.reports.records.record import Grade

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float32)


def areas(mesh: LoadedMesh) -> dict[int, float]:
    """Return the area of the triangles that have each material [m^2]."""
    a, b, c = (mesh.points[corner] for corner in mesh.triangles.T)
    each = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    return {
        number: float(each[mesh.material_of == number].sum())
        for number in set(mesh.material_of.tolist())
    }


def written(folder: Path, name: str, content: str | bytes) -> str:
    """Write a file; return its path."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def unread(path: str) -> str:
    """Return why a file is not read."""
    with pytest.raises(UnreadMeshError) as raised:
        load_mesh(path)
    return str(raised.value)


# A square of one square metre, and a triangle of three.
PLY_HEAD = """ply
format {form} 1.0
element vertex 5
property float x
property float y
property float z
property uchar red
element face 2
property list uchar int {corners}
end_header
"""
BROKEN = "its PLY is broken"
PLY_ROWS = """0 0 0 1
1 0 0 2
1 1 0 3
0 1 0 4
0 1 6 5
4 0 1 2 3
3 0 3 4
"""


@pytest.mark.parametrize("corners", ["vertex_indices", "vertex_index"])
def test_ply_polygons_are_triangulated_as_fans(tmp_path: Path, corners: str) -> None:
    """In ASCII files, with either property name that writers use."""
    text = PLY_HEAD.format(form="ascii", corners=corners) + PLY_ROWS

    mesh = load_mesh(written(tmp_path, "part.ply", text))

    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]
    assert areas(mesh) == {-1: pytest.approx(4.0)}


def test_binary_ply_is_read(tmp_path: Path) -> None:
    """The file is written by trimesh."""
    box = trimesh.creation.box((1, 2, 3))
    box.export(tmp_path / "part.ply")

    mesh = load_mesh(str(tmp_path / "part.ply"))

    assert len(mesh.triangles) == 12
    assert areas(mesh) == {-1: pytest.approx(box.area)}


@pytest.mark.parametrize("order", ["<", ">"])
def test_binary_ply_may_have_any_byte_order(tmp_path: Path, order: str) -> None:
    """With lists of different lengths and properties that are not used."""
    form = {"<": "binary_little_endian", ">": "binary_big_endian"}[order]
    head = PLY_HEAD.format(form=form, corners="vertex_index").encode()
    rows = [[float(word) for word in line.split()] for line in PLY_ROWS.splitlines()]
    vertices = [struct.pack(f"{order}3fB", *row[:3], int(row[3])) for row in rows[:5]]
    faces = [struct.pack(f"{order}B{len(row) - 1}i", *map(int, row)) for row in rows[5:]]
    path = tmp_path / "part.ply"
    path.write_bytes(head + b"".join((*vertices, *faces)))

    mesh = load_mesh(str(path))

    assert mesh.triangles.tolist() == [[0, 1, 2], [0, 2, 3], [0, 3, 4]]
    assert areas(mesh) == {-1: pytest.approx(4.0)}

    path.write_bytes(path.read_bytes()[:-1])

    assert unread(str(path)).startswith("its PLY is broken: unpack_from requires")


@pytest.mark.parametrize("names", ["s t", "u v", "texture_u texture_v"], ids=str.split)
def test_ply_vertices_have_texture_coordinates(names: str, tmp_path: Path) -> None:
    """Under the names that writers use, with the image of a comment."""
    first, second = names.split()
    head = PLY_HEAD.format(form="ascii", corners="vertex_indices").replace(
        "property uchar red\n", f"property float {first}\nproperty float {second}\n"
    )
    head = head.replace("ply\n", "ply\ncomment TextureFile my skin.png\n", 1)
    rows = "0 0 0 .5 1\n1 0 0 .25 2\n1 1 0 .125 3\n0 1 0 0 4\n0 1 6 -1 5\n"
    text = head + rows + "4 0 1 2 3\n3 0 3 4\n"
    mesh = load_mesh(written(tmp_path, "part.ply", text))

    assert mesh.has_coordinates
    assert mesh.coordinates is not None
    assert mesh.coordinates.tolist() == [
        [[0.5, 1], [0.25, 2], [0.125, 3]],
        [[0.5, 1], [0.125, 3], [0, 4]],
        [[0.5, 1], [0, 4], [-1, 5]],
    ]
    assert mesh.material_of.tolist() == [0, 0, 0]
    (material,) = mesh.materials
    assert material.image is not None
    assert (material.image.name, material.image.folder) == (
        "my skin.png",
        str(tmp_path),
    )


def test_ply_faces_have_texture_coordinates_and_images(tmp_path: Path) -> None:
    """As MeshLab writes them: six numbers per triangle, and the number of the image."""
    head = PLY_HEAD.format(form="ascii", corners="vertex_indices").replace(
        "end_header",
        "property list uchar float texcoord\nproperty int texnumber\nend_header",
    )
    head = head.replace("ply\n", "ply\ncomment TextureFile a.png\ncomment TextureFile b.jpg\n", 1)
    rows = PLY_ROWS.replace("4 0 1 2 3\n", "4 0 1 2 3 8 0 1 2 3 4 5 6 7 1\n")
    rows = rows.replace("3 0 3 4\n", "3 0 3 4 0 5\n")
    mesh = load_mesh(written(tmp_path, "part.ply", head + rows))

    assert mesh.coordinates is not None
    np.testing.assert_array_equal(
        mesh.coordinates[:2], [[[0, 1], [2, 3], [4, 5]], [[0, 1], [4, 5], [6, 7]]]
    )
    assert np.isnan(mesh.coordinates[2]).all()
    assert mesh.material_of.tolist() == [1, 1, -1]
    assert [material.image and material.image.name for material in mesh.materials] == [
        "a.png",
        "b.jpg",
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PLY_ROWS.replace("3 0 3 4", ""), f"{BROKEN}: 2 rows of face, but 1"),
        (PLY_ROWS.replace("3 0 3 4", "x 0 3 4"), f"{BROKEN}: invalid literal"),
        (PLY_ROWS.replace("3 0 3 4", "3 0 3"), f"{BROKEN}: a row has 3 numbers"),
        (PLY_ROWS.replace("3 0 3 4", "3 0 3 nan"), f"{BROKEN}: cannot convert"),
        (PLY_ROWS.replace("3 0 3 4", "3 0 3 9"), "a face refers to a missing vertex"),
        (PLY_ROWS.replace("4 0 1 2 3\n3 0 3 4", "2 0 1\n1 0"), "it holds no triangles"),
    ],
)
def test_invalid_ply_is_refused_with_its_reason(tmp_path: Path, text: str, reason: str) -> None:
    """The number of rows is checked, and the number of values in each."""
    head = PLY_HEAD.format(form="ascii", corners="vertex_indices")

    assert unread(written(tmp_path, "part.ply", head + text)).startswith(reason)


OBJ = """# usemtl none
mtllib a.mtl
v 0 0 0
v 1 0 0
v 0 2 0
v 0 0 3
vn 0 0 1
vt 0.5 0.5
f 1/1/1 2/1/1 3/1/1
usemtl one
f 1//1 2//1 4//1
usemtl two
f 1 3 4
f 1 2 3
usemtl one
f -4 -3 -2 -1
"""


def test_obj_faces_use_the_material_of_their_usemtl_statement(
    tmp_path: Path,
) -> None:
    """With repeated names, comments, polygons and a missing library."""
    mesh = load_mesh(written(tmp_path, "part.obj", OBJ))

    slope = np.sqrt(9 + 36 + 4) / 2
    expected = {-1: 1.0, 0: 1.5 + 1.0 + 3.0, 1: 3.0 + 1.0}
    assert slope == 3.5
    assert areas(mesh) == pytest.approx(expected)
    assert (mesh.corners, mesh.pieces, len(mesh.materials)) == (4, 1, 2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("v 1 0 0", "  v 1 0 0"),
        ("v 1 0 0", "v\t1 0 0 # corner"),
        ("v 1 0 0", "v 1 0 0 0.5 0.5 0.5"),
        ("v 1 0 0", "v 1 \\\n0 0"),
        ("-1\n", "-1\nv 1 1 1\n"),
        ("f 1 3 4", "  f 1 3 4 # slope"),
        ("f 1 3 4", "f 1/0 3/0 4/0"),
        ("f 1 3 4", "foo 1 2 3\nf 1 3 4"),
        ("f 1 3 4", "f 1 3\\\n4"),
        ("f 1 3 4", "# C:\\\nf 1 3 4 # C:\\"),
        ("f 1 3 4", "f 1/2/2 3/1/1 4/1/1"),
        ("vt 0.5 0.5", "vt 0.5"),
    ],
)
def test_obj_spellings_of_the_same_mesh(tmp_path: Path, old: str, new: str) -> None:
    """Indentation, comments, continued lines, colours of points, and indices."""
    assert OBJ.count(old) == 1

    mesh = load_mesh(written(tmp_path, "part.obj", OBJ.replace(old, new)))

    assert areas(mesh) == pytest.approx({-1: 1.0, 0: 5.5, 1: 4.0})


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("f 1 3 4", "f 0 3 4", "a face has the index 0"),
        ("f 1 3 4", "f 1 3 9", "trimesh raises IndexError"),
        ("f 1 3 4", f"f 1 3 {10**30}", "trimesh raises "),
        ("f 1 3 4", f"f 1 3 -{10**30}", "a face has an index before the first vertex"),
        ("f -4", "f -5", "a face has an index before the first vertex"),
        ("f 1 3 4", "f 1 3 x", "trimesh "),
        ("f 1 3 4", "f -1 3 x", "an index of a face is not a number"),
        ("f 1 3 4", "f 1/1 3 4//1", "trimesh does not read faces whose corners have different"),
        ("f 1 3 4", "f 1// 3/ 4/1/", "trimesh does not read faces whose corners have different"),
        ("f 1 3 4", "f 1 3 4/1/1/", "a corner of a face has more than three indices"),
        ("v 1 0 0", "v 1 0", "a vertex is not 3 numbers"),
        ("v 1 0 0", "v 1 0 o", "trimesh raises ValueError"),
    ],
)
def test_invalid_obj_is_not_read(tmp_path: Path, old: str, new: str, reason: str) -> None:
    """Other readers drop the face, or move its corner to the origin."""
    assert OBJ.count(old) == 1

    path = written(tmp_path, "part.obj", OBJ.replace(old, new))

    assert unread(path).startswith(reason)


@pytest.mark.parametrize(
    ("name", "has_normals"), [("duck.obj", False), ("domino/domino.obj", True)]
)
def test_obj_is_read_as_by_trimesh(name: str, *, has_normals: bool) -> None:
    """Points, texture coordinates and normals of all corners."""
    path = Path(pybullet_data.getDataPath(), name)
    scene = trimesh.load_scene(path, process=False, skip_materials=True)
    (expected,) = scene.geometry.values()
    assert isinstance(expected, trimesh.Trimesh)

    mesh = load_mesh(str(path))

    corners = expected.vertices[expected.faces]
    np.testing.assert_allclose(mesh.points[mesh.triangles], corners, atol=1e-12)
    assert mesh.coordinates is not None
    assert isinstance(expected.visual, trimesh.visual.TextureVisuals)
    texture = np.asarray(expected.visual.uv)[expected.faces]
    np.testing.assert_allclose(mesh.coordinates, texture, atol=1e-6)
    assert (mesh.normals is not None) is has_normals
    if mesh.normals is not None:
        normals = mesh.normals / np.linalg.norm(mesh.normals, axis=-1, keepdims=True)
        given = expected.vertex_normals[expected.faces]
        np.testing.assert_allclose(normals, given, atol=1e-6)


def gltf(*primitives: dict[str, Any], **more: object) -> str:
    """Write a document with primitives of the four corners."""
    data = CORNERS.tobytes() + bytes([0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3])
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    points = {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}
    indices = {"bufferView": 1, "componentType": 5121, "type": "SCALAR"}
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 1}, {"mesh": 0, "scale": [2, 2, 2]}],
        "materials": [{"name": str(n)} for n in range(4)],
        "meshes": [
            {"name": "same", "primitives": primitives[:-1]},
            {"name": "same", "primitives": primitives[-1:]},
        ],
        "accessors": [
            points,
            *(indices | {"byteOffset": 3 * n, "count": 3} for n in range(4)),
            indices | {"count": 4},
            points | {"sparse": {"count": 0}},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": CORNERS.nbytes},
            {"buffer": 0, "byteOffset": CORNERS.nbytes, "byteLength": 12},
        ],
        "buffers": [{"byteLength": len(data), "uri": uri}],
    }
    return json.dumps(document | more)


def primitive(indices: int, points: int = 0, **more: object) -> dict[str, Any]:
    """Write a primitive."""
    return {"attributes": {"POSITION": points}, "indices": indices, **more}


def test_primitives_of_gltf_have_their_own_materials(tmp_path: Path) -> None:
    """Independent of material names and of primitives in between."""
    strokes = primitive(1, mode=2, material=0)
    dots = primitive(1, mode=0, material=0)
    first, second = primitive(1, material=1), primitive(2, material=2)
    text = gltf(strokes, first, dots, second, primitive(3, material=3))

    mesh = load_mesh(written(tmp_path, "part.gltf", text))

    assert areas(mesh) == pytest.approx({1: 4 * 1.0, 3: 4 * 1.5, 4: 3.0})
    # glTF is Y up.
    assert mesh.points.max(axis=0) == pytest.approx([2, 0, 4])


@pytest.mark.parametrize(
    ("one", "more", "reason"),
    [
        (primitive(5, mode=6), {}, "trimesh does not read fans of triangles"),
        (primitive(1, 6), {}, "trimesh does not read sparse or normalized"),
        (
            primitive(1),
            {"extensionsRequired": ["KHR_draco_mesh_compression"]},
            "trimesh does not read KHR_draco_mesh_compression",
        ),
        (primitive(1), {"buffers": []}, "trimesh raises IndexError"),
        ({}, {}, "its document is malformed: KeyError: 'attributes'"),
    ],
)
def test_invalid_gltf_is_refused_with_its_reason(
    tmp_path: Path, one: dict[str, Any], more: dict[str, object], reason: str
) -> None:
    """Including faults that trimesh ignores without a warning."""
    path = written(tmp_path, "part.gltf", gltf(primitive(1), one, **more))

    assert unread(path).startswith(reason)


INSTANCE = '<instance_geometry url="#g"/>'
SKIN = """<library_controllers><controller id="c"><skin source="#g">
<bind_shape_matrix>1 0 0 3 0 1 0 0 0 0 1 0 0 0 0 1</bind_shape_matrix>
<source id="j"><Name_array id="ja" count="1">bone</Name_array><technique_common>
<accessor source="#ja" count="1" stride="1"><param name="JOINT" type="name"/></accessor>
</technique_common></source><source id="m"><float_array id="ma" count="16">
1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</float_array><technique_common>
<accessor source="#ma" count="1" stride="16"><param name="T" type="float4x4"/>
</accessor></technique_common></source><source id="w"><float_array id="wa" count="1">1
</float_array><technique_common><accessor source="#wa" count="1" stride="1">
<param name="WEIGHT" type="float"/></accessor></technique_common></source><joints>
<input semantic="JOINT" source="#j"/><input semantic="INV_BIND_MATRIX" source="#m"/>
</joints><vertex_weights count="4"><input semantic="JOINT" source="#j" offset="0"/>
<input semantic="WEIGHT" source="#w" offset="1"/><vcount>1 1 1 1</vcount>
<v>0 0 0 0 0 0 0 0</v></vertex_weights></skin></controller></library_controllers>"""


def dae(nodes: str, libraries: str = "") -> str:
    """Write a document with a triangle of one square metre."""
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p">
<float_array id="q" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array><technique_common>
<accessor source="#q" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor>
</technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/>
</vertices><triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 1 2</p></triangles></mesh></geometry></library_geometries>{libraries}
<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


def test_collada_skins_are_read_in_their_bind_pose(tmp_path: Path) -> None:
    """The bind shape matrix is applied between geometry and node."""
    nodes = '<node><scale>2 2 2</scale><instance_controller url="#c"/></node>'

    mesh = load_mesh(written(tmp_path, "part.dae", dae(nodes, SKIN)))

    assert mesh.points.min(axis=0) == pytest.approx([6, 0, 0])
    assert areas(mesh) == {-1: pytest.approx(4.0)}


def test_first_visual_scene_is_read_of_a_document_without_scene(
    tmp_path: Path,
) -> None:
    """A reference that is broken has no such substitute."""
    text = dae(f"<node><scale>2 2 2</scale>{INSTANCE}</node>").replace(
        "</library_visual_scenes>",
        f'<visual_scene id="t"><node>{INSTANCE}</node></visual_scene></library_visual_scenes>',
    )
    instance = '<instance_visual_scene url="#s"/>'
    without = written(tmp_path, "a.dae", text.replace(f"<scene>{instance}</scene>", ""))
    empty = written(tmp_path, "b.dae", text.replace(instance, ""))
    broken = written(tmp_path, "c.dae", text.replace('scene url="#s"', 'scene url="#x"'))

    assert areas(load_mesh(without)) == {-1: pytest.approx(4.0)}
    assert areas(load_mesh(empty)) == {-1: pytest.approx(4.0)}
    assert "pycollada finds no scene" in unread(broken)


def test_missing_collada_targets_are_ignored(tmp_path: Path) -> None:
    """The document refers to a light and to a geometry that does not exist."""
    nodes = f"""<node><instance_light url="#x"/><instance_geometry url="#x"/><!-- -->
      <rotate>0 0 0 0</rotate>{INSTANCE}</node>"""

    mesh = load_mesh(written(tmp_path, "part.dae", dae(nodes)))

    assert areas(mesh) == {-1: pytest.approx(1.0)}


BOUND = """<instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#none"/></technique_common></bind_material>
</instance_geometry>"""


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (
            "<rotate>0 0 3 90</rotate>" + INSTANCE,
            "pycollada reads the length of a <rotate> axis as a scale",
        ),
        (
            "<lookat>1 0 0 0 0 0 0 0 1</lookat>" + INSTANCE,
            "pycollada transposes <lookat>",
        ),
        (
            "<skew>45 1 0 0 0 1 0</skew>" + INSTANCE,
            "pycollada leaves out parts of node None: Unknown scene node",
        ),
        (BOUND, "pycollada leaves out parts of node None: Material #none not found"),
    ],
)
def test_collada_that_pycollada_misreads_is_refused(tmp_path: Path, node: str, reason: str) -> None:
    """The document is not repaired."""
    path = written(tmp_path, "part.dae", dae(f"<node>{node}</node>"))

    assert unread(path).startswith(reason)


def test_non_numeric_collada_positions_are_refused(tmp_path: Path) -> None:
    """Invalid normals are ignored; invalid positions must not be read as zero."""
    text = dae(f"<node>{INSTANCE}</node>").replace("0 0 0 3<", "0 NaN 0 3<")

    assert unread(written(tmp_path, "a.dae", text)) == "pycollada reads NaN as zero"


def glb(text: str) -> bytes:
    """Wrap a document."""
    chunk = text.encode() + b" " * (-len(text.encode()) % 4)
    head = struct.pack("<4sIIII", b"glTF", 2, 20 + len(chunk), len(chunk), 0x4E4F534A)
    return head + chunk


FILES: dict[str, bytes] = {
    "part.gltf": gltf(primitive(1), primitive(2)).encode(),
    "part.glb": glb(gltf(primitive(1), primitive(2))),
    "part.dae": dae(f"<node>{INSTANCE}</node>").encode(),
}
READERS: dict[str, tuple[object, str]] = {
    "gltf": (trimesh, "load_scene"),
    "glb": (trimesh, "load_scene"),
    "dae": (collada, "Collada"),
}


@pytest.mark.parametrize("name", FILES)
def test_mesh_libraries_receive_the_unmodified_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte."""
    owner, function = READERS[Path(name).suffix[1:]]
    real: Callable[..., object] = getattr(owner, function)
    given: list[bytes | str] = []

    def record(stream: Any, **options: object) -> object:  # noqa: ANN401
        given.append(stream.getvalue())
        return real(stream, **options)

    monkeypatch.setattr(owner, function, record)

    assert len(load_mesh(written(tmp_path, name, FILES[name])).triangles)
    assert given == [FILES[name]]


def test_obj_may_have_other_line_ends_and_encodings(tmp_path: Path) -> None:
    """A comment in Latin-1, and the line ends of Windows."""
    content = b"# \xe4\r\n" + OBJ.replace("\n", "\r\n").encode()

    mesh = load_mesh(written(tmp_path, "part.obj", content))

    assert areas(mesh) == pytest.approx({-1: 1.0, 0: 5.5, 1: 4.0})


def test_obj_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    """The first line after the byte order mark is read."""
    text = "\ufeffv 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 2 3\n"

    mesh = load_mesh(written(tmp_path, "part.obj", text))

    assert areas(mesh) == {-1: pytest.approx(1.0)}


@pytest.mark.parametrize("name", FILES)
def test_library_error_is_recorded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The record has its type and text for the shapes that are not compared."""

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("out of\nluck")

    path = written(tmp_path, name, FILES[name])
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(
        f'<robot name="r"><link name="a"><visual><geometry><mesh filename="{path}"/>'
        "</geometry></visual></link></robot>"
    )
    layer = convert(urdf, tmp_path / "asset").root_layer
    still = Configurations((), (), ("zero",))
    monkeypatch.setattr(*READERS[Path(name).suffix[1:]], fail)
    reading = ReferenceEngine().observe(Request(str(urdf), still))
    usd = OpenusdEngine().observe(Request(str(layer), still))

    checks = judge({"reference": Observed(reading)}, Observed(usd)).checks

    (kinds,) = (check for check in checks if check.id == "visual.shapes")
    assert kinds.grade is Grade.NOT_COMPARABLE
    assert "raises RuntimeError: out of luck; not compared" in str(kinds)
