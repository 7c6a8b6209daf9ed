"""Mesh files without end, that block, or that expand when they are read."""

from __future__ import annotations

import io
import json
import os
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from urdf_usd.conformance.engines.loaded_mesh import UnreadMeshError
from urdf_usd.conformance.engines.mesh_materials import (
    LARGEST_IMAGE,
    LARGEST_LIBRARY,
    LARGEST_MESH,
    LARGEST_TEXT,
    ImageFile,
)
from urdf_usd.conformance.engines.meshes import load_mesh

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are POSIX")

OBJ = "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n"
_TRIANGLE = """<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="f" count="9">0 0 0 1 0 0 0 1 0</float_array>
<technique_common><accessor source="#f" count="3" stride="3"><param name="X"
type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor>
</technique_common></source><vertices id="v"><input semantic="POSITION" source="#p"/>
</vertices><triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 1 2</p></triangles></mesh></geometry></library_geometries>"""


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _large(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.touch()
        os.truncate(path, size + 1)

    return make


SPECIAL = {"device": _device, "pipe": os.mkfifo}


def _unread(path: Path) -> str:
    begin = time.process_time()
    with pytest.raises(UnreadMeshError) as raised:
        load_mesh(str(path))
    # Reading an endless file would not return.
    assert time.process_time() - begin < 60.0
    return str(raised.value)


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("suffix", ["stl", "obj", "dae", "ply", "glb", "off"])
def test_mesh_that_is_not_a_regular_file_is_refused(tmp_path: Path, kind: str, suffix: str) -> None:
    """The file is not opened."""
    path = tmp_path / f"m.{suffix}"
    SPECIAL[kind](path)

    assert _unread(path) == f"m.{suffix} is not a regular file"


@pytest.mark.parametrize(
    ("suffix", "size", "reason"),
    [
        ("stl", LARGEST_MESH, "m.stl is larger than 256 MiB"),
        ("obj", LARGEST_TEXT, "it is text of more than 128 MiB"),
        ("dae", LARGEST_TEXT, "it is text of more than 128 MiB"),
    ],
)
def test_mesh_over_the_size_limit_is_refused(
    tmp_path: Path, suffix: str, size: int, reason: str
) -> None:
    """The mesh library is not called."""
    path = tmp_path / f"m.{suffix}"
    _large(size)(path)

    assert _unread(path) == reason


def test_material_library_over_the_size_limit_is_named(tmp_path: Path) -> None:
    """The materials of the mesh are then unknown."""
    path = tmp_path / "m.obj"
    path.write_text(OBJ)
    _large(LARGEST_LIBRARY)(tmp_path / "m.mtl")

    assert _unread(path) == "m.mtl is larger than 16 MiB"


@pytest.mark.parametrize("kind", SPECIAL)
def test_material_library_that_is_not_a_regular_file_counts_as_missing(
    tmp_path: Path, kind: str
) -> None:
    """The result is the same as for a missing library."""
    path = tmp_path / "m.obj"
    path.write_text(OBJ)
    SPECIAL[kind](tmp_path / "m.mtl")

    (material,) = load_mesh(str(path)).materials

    assert not material.defines_appearance


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
def test_unreadable_texture_is_reported_with_its_reason(
    tmp_path: Path, make: Callable[[Path], None], reason: str
) -> None:
    """The reason is part of the finding."""
    make(tmp_path / "t.png")

    assert ImageFile("t.png", str(tmp_path)).read() == reason


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("image", [False, True], ids=["positions", "image"])
def test_gltf_buffer_that_is_not_a_regular_file_is_refused(
    tmp_path: Path, kind: str, *, image: bool
) -> None:
    """This includes a buffer that contains only an image."""
    SPECIAL[kind](tmp_path / "b.bin")
    document = _gltf(3)
    if image:
        document |= {
            "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
            "textures": [{"source": 0}],
            "images": [{"bufferView": 0, "mimeType": "image/png"}],
        }
        document["meshes"][0]["primitives"][0]["material"] = 0  # type: ignore[index]
    path = tmp_path / "m.gltf"
    path.write_text(json.dumps(document))

    assert "b.bin is not a regular file" in _unread(path)


@pytest.mark.parametrize("shared", [False, True])
def test_gltf_accessors_larger_than_their_buffers_are_refused(
    tmp_path: Path, *, shared: bool
) -> None:
    """An accessor without a buffer is all zeros; several primitives may share one."""
    document = _gltf(10**5 if shared else 10**11)
    document["accessors"][0].pop("bufferView")  # type: ignore[index]
    primitive = {"attributes": {"POSITION": 0}}
    document["meshes"] = [{"primitives": [primitive] * (1000 if shared else 1)}]
    path = tmp_path / "m.gltf"
    path.write_text(json.dumps(document))

    assert _unread(path) == "it has more than 50000000 numbers"


def _gltf(count: int) -> dict[str, object]:
    return {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "buffers": [{"uri": "b.bin", "byteLength": 36}],
    }


def _dae(library: str, root: str, head: str = "") -> str:
    return (
        f'<?xml version="1.0"?>{head}<COLLADA version="1.4.1" '
        'xmlns="http://www.collada.org/2005/11/COLLADASchema">'
        f"{_TRIANGLE}<library_nodes>{library}</library_nodes>"
        f'<library_visual_scenes><visual_scene id="s"><node>{root}</node>'
        "</visual_scene></library_visual_scenes>"
        '<scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


def test_exponential_collada_instances_are_refused(tmp_path: Path) -> None:
    """Forty levels of two instances each are 2^40 instances."""
    levels = "".join(
        f'<node id="n{i}">' + f'<instance_node url="#n{i + 1}"/>' * 2 + "</node>" for i in range(40)
    )
    last = '<node id="n40"><instance_geometry url="#g"/></node>'
    path = tmp_path / "m.dae"
    path.write_text(_dae(levels + last, '<instance_node url="#n0"/>'))

    assert _unread(path) == "it has more than 100000 instances"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_collada_entities_are_refused(tmp_path: Path, encoding: str) -> None:
    """Pycollada disables the entity limits of its XML parser."""
    bomb = '<!DOCTYPE COLLADA [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>'
    text = _dae("", '<instance_geometry url="#g"/>', bomb)
    path = tmp_path / "m.dae"
    path.write_text(
        text.replace(' version="1.0"', f' version="1.0" encoding="{encoding}"'),
        encoding,
    )

    assert _unread(path) == "it declares entities"


@pytest.mark.parametrize("suffix", ["zip", "3mf", "dae", "xz"])
def test_archives_are_refused(tmp_path: Path, suffix: str) -> None:
    """This includes an archive that begins with the signature of another format."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m.dae", b"\0" * (1 << 20))
    path = tmp_path / f"m.{suffix}"
    path.write_bytes(b"<COLLADA>" * (suffix == "dae") + packed.getvalue())

    assert _unread(path) == "it is an archive"


def test_ply_element_counts_beyond_the_file_size_are_refused(tmp_path: Path) -> None:
    """Each element occupies at least one byte."""
    path = tmp_path / "m.ply"
    path.write_text(
        "ply\nformat binary_little_endian 1.0\nelement vertex 99999999999\n"
        "property float x\nelement face 0\nproperty list uchar int vertex_index\n"
        "end_header\n"
    )

    assert "more elements than the file has bytes" in _unread(path)
