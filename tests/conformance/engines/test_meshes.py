"""Mesh files as the harness reads them, and the reasons why some are not read."""

from __future__ import annotations

import base64
import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import collada
import numpy as np
import pybullet_data
import pytest
import trimesh
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from urdf_usd.conformance.engines.mesh_materials import LARGEST_IMAGE, LARGEST_MESH, ImageFile
from urdf_usd.conformance.engines.meshes import LoadedMesh, UnreadMeshError, load_mesh
from urdf_usd.conformance.engines.surfaces import measured_shading

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float32)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="files are POSIX")


def _load(folder: Path, name: str, content: str | bytes) -> LoadedMesh:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return load_mesh(str(path))


def _unread(folder: Path, name: str, content: str | bytes) -> str:
    with pytest.raises(UnreadMeshError) as raised:
        _load(folder, name, content)
    return str(raised.value)


def _areas(mesh: LoadedMesh) -> dict[int, float]:
    """Return the area of the triangles that have each material [m^2]."""
    a, b, c = (mesh.points[corner] for corner in mesh.triangles.T)
    each = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    numbers = set(mesh.material_of.tolist())
    return {number: float(each[mesh.material_of == number].sum()) for number in numbers}


PLY = """ply
format ascii 1.0
comment TextureFile my skin.png
element vertex 4
property float x
property float y
property float z
property float s
property float t
element face 2
property list uchar int vertex_indices
end_header
0 0 0 .5 1
1 0 0 .25 2
1 1 0 .125 3
0 1 0 0 4
3 0 1 2
3 0 2 3
"""
PLY_HEAD = PLY.partition("0 0 0 .5")[0]
PLY_NUMBERS = [tuple(map(float, row.split())) for row in PLY.splitlines()[12:]]
PLY_BINARY = PLY_HEAD.replace("ascii", "binary_big_endian").encode() + b"".join(
    struct.pack(">5f", *row) if len(row) == 5 else struct.pack(">B3i", *map(int, row))
    for row in PLY_NUMBERS
)


@pytest.mark.parametrize("names", [("s", "t"), ("u", "v"), ("texture_u", "texture_v")])
@pytest.mark.parametrize("content", [PLY.encode(), PLY_BINARY], ids=["text", "binary"])
def test_ply_has_texture_coordinates_and_an_image(
    content: bytes, names: tuple[str, str], tmp_path: Path
) -> None:
    for old, new in zip("st", names, strict=True):
        content = content.replace(f"float {old}\n".encode(), f"float {new}\n".encode())
    mesh = _load(tmp_path, "part.ply", content)

    assert _areas(mesh) == {0: pytest.approx(1.0)}
    assert mesh.coordinates is not None
    assert mesh.coordinates.tolist() == [
        [[0.5, 1], [0.25, 2], [0.125, 3]],
        [[0.5, 1], [0.125, 3], [0, 4]],
    ]
    assert mesh.materials[0].image == ImageFile("my skin.png", str(tmp_path))


def test_polygons_of_ply_are_fans(tmp_path: Path) -> None:
    text = PLY.replace("3 0 1 2\n3 0 2 3", "3 0 1 2\n4 0 1 2 3").replace("my skin", "a")

    assert _areas(_load(tmp_path, "part.ply", text)) == {0: pytest.approx(1.5)}


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
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
        ("# usemtl none\n", "\ufeff# usemtl none\n"),
        ("\n", "\r\n"),
    ],
)
def test_obj_spellings_of_the_same_mesh(tmp_path: Path, old: str, new: str) -> None:
    """Most of these trimesh misreads. Materials are those of the statement before, by name."""
    mesh = _load(tmp_path, "part.obj", OBJ.replace(old, new) if old else b"# \xe4\n" + OBJ.encode())

    assert _areas(mesh) == pytest.approx({-1: 1.0, 0: 5.5, 1: 4.0})
    assert (mesh.corners, mesh.pieces, len(mesh.materials)) == (4, 1, 2)


@pytest.mark.parametrize(
    ("name", "has_normals"), [("duck.obj", False), ("domino/domino.obj", True)]
)
def test_obj_is_read_as_by_trimesh(name: str, *, has_normals: bool) -> None:
    """Points, texture coordinates and normals of all corners."""
    path = Path(pybullet_data.getDataPath(), name)
    scene = trimesh.load_scene(path, process=False, skip_materials=True)
    (expected,) = scene.geometry.values()
    assert isinstance(expected, trimesh.Trimesh)
    assert isinstance(expected.visual, trimesh.visual.TextureVisuals)
    mesh = load_mesh(str(path))

    corners = expected.vertices[expected.faces]
    np.testing.assert_allclose(mesh.points[mesh.triangles], corners, atol=1e-12)
    assert mesh.coordinates is not None
    texture = np.asarray(expected.visual.uv)[expected.faces]
    np.testing.assert_allclose(mesh.coordinates, texture, atol=1e-6)
    assert (mesh.normals is not None) is has_normals
    if mesh.normals is not None:
        normals = mesh.normals / np.linalg.norm(mesh.normals, axis=-1, keepdims=True)
        given = expected.vertex_normals[expected.faces]
        np.testing.assert_allclose(normals, given, atol=1e-6)


SHADED_OBJ = """
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
vt 0.25 0.5
vt 1 0
vt 0 1
vn 0 0 1
vn 0 0.6 0.8
f {}
f {}
"""


@pytest.mark.parametrize(
    ("first", "second", "stated"),
    [
        ("1 2 3", "1 3 4", False),
        ("1//1 2//1 3//1", "1//1 3//1 4//2", True),
        ("1//1 2//1 3//1", "1 3 4", None),
    ],
)
def test_normals_of_some_faces_alone_are_unknown(
    first: str, second: str, *, stated: bool | None, tmp_path: Path
) -> None:
    mesh = _load(tmp_path, "a.obj", SHADED_OBJ.format(first, second))

    assert mesh.has_normals is stated
    assert (mesh.normals is not None) == bool(stated)


def _gltf(*primitives: dict[str, Any], **more: object) -> str:
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


def _primitive(indices: int, points: int = 0, **more: object) -> dict[str, Any]:
    return {"attributes": {"POSITION": points}, "indices": indices, **more}


def test_primitives_of_gltf_have_their_own_materials(tmp_path: Path) -> None:
    """Independent of material names and of primitives in between."""
    strokes = _primitive(1, mode=2, material=0)
    dots = _primitive(1, mode=0, material=0)
    first, second = _primitive(1, material=1), _primitive(2, material=2)
    text = _gltf(strokes, first, dots, second, _primitive(3, material=3))

    mesh = _load(tmp_path, "part.gltf", text)

    assert _areas(mesh) == pytest.approx({1: 4 * 1.0, 3: 4 * 1.5, 4: 3.0})
    # glTF is Y up.
    assert mesh.points.max(axis=0) == pytest.approx([2, 0, 4])


def _source(name: str, numbers: str, *axes: str) -> str:
    count = len(numbers.split())
    params = "".join(f'<param name="{axis}" type="float"/>' for axis in axes)
    return f"""<source id="{name}"><float_array id="{name}a" count="{count}">{numbers}
    </float_array><technique_common><accessor source="#{name}a" count="{count // len(axes)}"
    stride="{len(axes)}">{params}</accessor></technique_common></source>"""


def _dae(nodes: str, libraries: str = "", mesh: str = "") -> str:
    """Write a document with a triangle of one square metre, or a mesh."""
    mesh = mesh or (
        _source("p", "0 0 0 1 0 0 0 2 0 0 0 3", *"XYZ")
        + '<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>'
        '<triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/>'
        "<p>0 1 2</p></triangles>"
    )
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><up_axis>Z_UP</up_axis></asset><library_geometries><geometry id="g"><mesh>{mesh}</mesh>
</geometry></library_geometries>{libraries}
<library_visual_scenes><visual_scene id="s">{nodes}</visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""


INSTANCE = '<instance_geometry url="#g"/>'
SHADED_DAE = (
    _source("p", "0 0 0 1 0 0 0 1 0", *"XYZ")
    + _source("n", "0.6 0 0.8", *"XYZ")
    + _source("t", "0 0 1 0 0.5 0.75", *"ST")
    + """<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="1">
<input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
<input semantic="TEXCOORD" source="#t" offset="2" set="0"/><p>0 0 2 1 0 1 2 0 0</p></triangles>"""
)
SKIN = f"""<library_controllers><controller id="c"><skin source="#g">
<bind_shape_matrix>1 0 0 3 0 1 0 0 0 0 1 0 0 0 0 1</bind_shape_matrix>
<source id="j"><Name_array id="ja" count="1">bone</Name_array><technique_common>
<accessor source="#ja" count="1" stride="1"><param name="JOINT" type="name"/></accessor>
</technique_common></source><source id="m"><float_array id="ma" count="16">
1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</float_array><technique_common>
<accessor source="#ma" count="1" stride="16"><param name="T" type="float4x4"/>
</accessor></technique_common></source>{_source("w", "1", "WEIGHT")}<joints>
<input semantic="JOINT" source="#j"/><input semantic="INV_BIND_MATRIX" source="#m"/>
</joints><vertex_weights count="4"><input semantic="JOINT" source="#j" offset="0"/>
<input semantic="WEIGHT" source="#w" offset="1"/><vcount>1 1 1 1</vcount>
<v>0 0 0 0 0 0 0 0</v></vertex_weights></skin></controller></library_controllers>"""


def test_collada_skins_are_read_in_their_bind_pose(tmp_path: Path) -> None:
    """The bind shape matrix is applied between geometry and node."""
    nodes = '<node><scale>2 2 2</scale><instance_controller url="#c"/></node>'

    mesh = _load(tmp_path, "part.dae", _dae(nodes, SKIN))

    assert mesh.points.min(axis=0) == pytest.approx([6, 0, 0])
    assert _areas(mesh) == {-1: pytest.approx(4.0)}


def test_collada_normals_follow_the_node(tmp_path: Path) -> None:
    """A mirroring scale of (-1, 1, 2) turns (0.6, 0, 0.8) to (-0.6, 0, 0.4)."""
    node = f'<node id="o"><scale>-1 1 2</scale>{INSTANCE}</node>'
    mesh = _load(tmp_path, "a.dae", _dae(node, mesh=SHADED_DAE))

    assert mesh.normals is not None
    assert mesh.coordinates is not None
    turned = mesh.normals[0, 0] / np.linalg.norm(mesh.normals[0, 0])
    assert turned == pytest.approx(np.array([-0.6, 0.0, 0.4]) / np.hypot(0.6, 0.4))
    # The corners are in reverse order, and each keeps its coordinates.
    assert mesh.points[mesh.triangles[0]].tolist() == [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]
    assert mesh.coordinates[0].tolist() == [[0, 0], [1, 0], [0.5, 0.75]]
    shading = measured_shading(mesh.points, mesh.triangles, mesh.normals, np.eye(4))
    assert shading.facing == pytest.approx(0.4 / np.hypot(0.6, 0.4))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<scene><instance_visual_scene url="#s"/></scene>', ""),
        ('<instance_visual_scene url="#s"/>', ""),
        # Targets that are missing, and a rotation without axis and angle.
        (
            INSTANCE,
            '<instance_light url="#x"/><instance_geometry url="#x"/><!-- -->'
            f"<rotate>0 0 0 0</rotate>{INSTANCE}",
        ),
    ],
)
def test_collada_scene_that_is_incomplete_is_read(tmp_path: Path, old: str, new: str) -> None:
    """Of a document that instantiates no scene, the first one."""
    text = _dae(f"<node><scale>2 2 2</scale>{INSTANCE}</node>").replace(
        "</library_visual_scenes>", '<visual_scene id="t"/></library_visual_scenes>'
    )
    assert old in text

    assert _areas(_load(tmp_path, "a.dae", text.replace(old, new))) == {-1: pytest.approx(4.0)}


BOUND = """<instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#none"/></technique_common></bind_material>
</instance_geometry>"""
PART = "pycollada leaves out parts of node None: "
PLAIN_DAE = _dae(f"<node>{INSTANCE}</node>")
PLAIN_OBJ = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf {}\n"
BEFORE_FIRST = "a face has the index 0 or one before the first vertex"
DIFFERENT = "the corners of a face have different or invalid indices"


@pytest.mark.parametrize(
    ("form", "content", "reason"),
    [
        ("ply", PLY_BINARY[:-1], "trimesh raises ValueError: PLY is unexpected length"),
        ("ply", PLY.replace("3 0 2 3", "3 0 2 x"), "trimesh raises "),
        ("ply", PLY.replace("3 0 2 3", "3 0 2 9"), "trimesh raises IndexError"),
        ("ply", PLY.replace("TextureFile my", "TextureFile a\ncomment TextureFile b"), "trimesh "),
        ("stl", b"nonsense", "it is shorter than 0 triangles"),
        ("stl", b"solid\nendsolid\n", "it holds no triangles"),
        ("obj", "v 0 0 0\n", "it holds no triangles"),
        ("obj", PLAIN_OBJ.format("0 1 2"), BEFORE_FIRST),
        ("obj", PLAIN_OBJ.format("1 2 -4"), BEFORE_FIRST),
        ("obj", PLAIN_OBJ.format(f"1 2 -{10**30}"), DIFFERENT),
        ("obj", PLAIN_OBJ.format("1 2 4"), "a statement is invalid: index 3 is out of bounds"),
        ("obj", PLAIN_OBJ.format(f"1 2 {10**30}"), "a statement is invalid"),
        ("obj", PLAIN_OBJ.format("1 2 x"), DIFFERENT),
        ("obj", PLAIN_OBJ.format("-x 2 1"), DIFFERENT),
        ("obj", PLAIN_OBJ.format("1/1 2 3//1"), DIFFERENT),
        ("obj", PLAIN_OBJ.format("1// 2/ 3/1/"), DIFFERENT),
        ("obj", PLAIN_OBJ.format("1/1/1/1 2/1/1/1 3/1/1/1"), DIFFERENT),
        ("obj", PLAIN_OBJ.format("1 2 3").replace("v 1 0 0", "v 1 0"), "a statement is invalid"),
        ("obj", PLAIN_OBJ.format("1 2 3").replace("v 1 0 0", "v 1 0 o"), "a statement is invalid"),
        (
            "gltf",
            _gltf(_primitive(1), _primitive(5, mode=6)),
            "trimesh does not read fans of triangles",
        ),
        (
            "gltf",
            _gltf(_primitive(1), _primitive(1, 6)),
            "trimesh does not read sparse or normalized",
        ),
        (
            "gltf",
            _gltf(_primitive(1), extensionsRequired=["KHR_draco_mesh_compression"]),
            "trimesh does not read KHR_draco_mesh_compression",
        ),
        ("gltf", _gltf(_primitive(1), buffers=[]), "trimesh raises IndexError"),
        ("gltf", _gltf(_primitive(1), {}), "its document is malformed: KeyError: 'attributes'"),
        (
            "dae",
            _dae(f"<node><rotate>0 0 3 90</rotate>{INSTANCE}</node>"),
            "pycollada reads the length of a <rotate> axis as a scale",
        ),
        (
            "dae",
            _dae(f"<node><lookat>1 0 0 0 0 0 0 0 1</lookat>{INSTANCE}</node>"),
            "pycollada transposes <lookat>",
        ),
        (
            "dae",
            _dae(f"<node><skew>45 1 0 0 0 1 0</skew>{INSTANCE}</node>"),
            f"{PART}Unknown scene node",
        ),
        ("dae", _dae(f"<node>{BOUND}</node>"), f"{PART}Material #none not found"),
        ("dae", PLAIN_DAE.replace('scene url="#s"', 'scene url="#x"'), "pycollada finds no scene"),
        # Invalid normals are ignored.
        ("dae", PLAIN_DAE.replace("0 0 0 3", "0 NaN 0 3"), "pycollada reads NaN as zero"),
        (
            "dae",
            '<!DOCTYPE COLLADA [<!ENTITY a "aa">]><COLLADA/>',
            "it declares entities",
        ),
        (
            "dae",
            '<?xml version="1.0" encoding="utf-16"?><!DOCTYPE COLLADA [<!ENTITY a "aa">]>'
            "<COLLADA/>".encode("utf-16"),
            "it declares entities",
        ),
        # They can be a thousand times as large as their files.
        *((form, b"PK", "it is an archive") for form in ("zip", "3mf", "xz")),
    ],
)
def test_file_that_is_not_read_has_its_reason(
    form: str, content: str | bytes, reason: str, tmp_path: Path
) -> None:
    """Invalid files, and what libraries leave out or misread without a warning."""
    assert _unread(tmp_path, f"part.{form}", content).startswith(reason)


@pytest.mark.parametrize(
    ("form", "owner", "function"),
    [("gltf", trimesh, "load_scene"), ("dae", collada, "Collada")],
)
def test_error_of_a_library_is_the_reason(
    form: str, owner: object, function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("out of\nluck")

    monkeypatch.setattr(owner, function, fail)
    content = PLAIN_DAE if form == "dae" else _gltf(_primitive(1), _primitive(2))

    assert "raises RuntimeError: out of luck" in _unread(tmp_path, f"part.{form}", content)


# Few different numbers, so that corners are equal, also in one or two coordinates.
_NUMBERS = st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-40, 3e38]) | st.floats(
    width=32, allow_nan=False, allow_infinity=False
)


@given(arrays(np.float32, st.tuples(st.integers(1, 8), *[st.just(3)] * 2), elements=_NUMBERS))
def test_equal_corners_of_binary_stl_are_one_point(
    tmp_path_factory: pytest.TempPathFactory, corners: np.ndarray
) -> None:
    """Triangles have the same corners in the same order."""
    records = b"".join(struct.pack("<12fH", 0, 0, 0, *one.ravel().tolist(), 0) for one in corners)
    content = bytes(80) + struct.pack("<I", len(corners)) + records
    mesh = _load(tmp_path_factory.mktemp("stl"), "part.stl", content)

    np.testing.assert_array_equal(mesh.points[mesh.triangles], corners)
    assert len(mesh.points) == len({point.tobytes() for point in corners.reshape(-1, 3)})


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _large(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.touch()
        os.truncate(path, size + 1)

    return make


@POSIX
@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "ply", "glb", "off"])
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_device, "is not a regular file"),
        (os.mkfifo, "is not a regular file"),
        (_large(LARGEST_MESH), "is larger than 256 MiB"),
    ],
    ids=["device", "pipe", "large"],
)
def test_mesh_without_end_is_not_opened(
    tmp_path: Path, suffix: str, make: Callable[[Path], None], reason: str
) -> None:
    path = tmp_path / f"m.{suffix}"
    make(path)

    with pytest.raises(UnreadMeshError) as raised:
        load_mesh(str(path))
    assert str(raised.value) == f"m.{suffix} {reason}"


@POSIX
@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_device, "cannot be read: t.png is not a regular file"),
        (os.mkfifo, "cannot be read: t.png is not a regular file"),
        (_large(LARGEST_IMAGE), "cannot be read: t.png is larger than 128 MiB"),
        (lambda _: None, "is not found"),
    ],
    ids=["device", "pipe", "large", "missing"],
)
def test_texture_without_end_is_not_opened(
    tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    make(tmp_path / "t.png")

    assert ImageFile("t.png", str(tmp_path)).read() == reason


@POSIX
def test_file_without_end_that_a_mesh_names_is_not_opened(tmp_path: Path) -> None:
    """A material library that is not a regular file counts as missing."""
    obj = OBJ.replace("a.mtl", "m.mtl")
    os.mkfifo(tmp_path / "m.mtl")
    assert not any(one.defines_appearance for one in _load(tmp_path, "m.obj", obj).materials)
    (tmp_path / "m.mtl").unlink()
    _large(LARGEST_MESH)(tmp_path / "m.mtl")
    assert _unread(tmp_path, "m.obj", obj) == "m.mtl is larger than 256 MiB"

    os.mkfifo(tmp_path / "b.bin")
    buffers = [{"uri": "b.bin", "byteLength": 60}]
    image = {"bufferView": 0, "mimeType": "image/png"}
    texture = {"baseColorTexture": {"index": 0}}
    for more in (
        {},
        {
            "materials": [{"pbrMetallicRoughness": texture}],
            "textures": [{"source": 0}],
            "images": [image],
        },
    ):
        text = _gltf(_primitive(1, material=0), _primitive(2), buffers=buffers, **more)
        assert "b.bin is not a regular file" in _unread(tmp_path, "m.gltf", text)
