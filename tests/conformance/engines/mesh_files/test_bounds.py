"""Mesh files without end, that block, or that expand when they are read."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from urdf_usd.conformance.engines.mesh_materials import LARGEST_IMAGE, LARGEST_MESH, ImageFile
from urdf_usd.conformance.engines.mesh_parts import UnreadMeshError
from urdf_usd.conformance.engines.meshes import load_mesh

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are POSIX")

_OBJ = "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nusemtl a\nf 1 2 3\n"
_GLTF = {
    "asset": {"version": "2.0"},
    "scenes": [{"nodes": [0]}],
    "nodes": [{"mesh": 0}],
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
    "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
    "bufferViews": [{"buffer": 0, "byteLength": 36}],
    "buffers": [{"uri": "b.bin", "byteLength": 36}],
}
_BOMB = '<!DOCTYPE COLLADA [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><COLLADA/>'


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _large(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.touch()
        os.truncate(path, size + 1)

    return make


def _unread(path: Path) -> str:
    with pytest.raises(UnreadMeshError) as raised:
        load_mesh(str(path))
    return str(raised.value)


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
def test_mesh_that_cannot_be_read_whole_is_not_opened(
    tmp_path: Path, suffix: str, make: Callable[[Path], None], reason: str
) -> None:
    path = tmp_path / f"m.{suffix}"
    make(path)

    assert _unread(path) == f"m.{suffix} {reason}"


def test_material_library_over_the_size_limit_is_named(tmp_path: Path) -> None:
    """The materials of the mesh are then unknown."""
    path = tmp_path / "m.obj"
    path.write_text(_OBJ)
    _large(LARGEST_MESH)(tmp_path / "m.mtl")

    assert _unread(path) == "m.mtl is larger than 256 MiB"


@pytest.mark.parametrize("make", [_device, os.mkfifo])
def test_material_library_that_is_not_a_regular_file_counts_as_missing(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    path = tmp_path / "m.obj"
    path.write_text(_OBJ)
    make(tmp_path / "m.mtl")

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
    make(tmp_path / "t.png")

    assert ImageFile("t.png", str(tmp_path)).read() == reason


@pytest.mark.parametrize("make", [_device, os.mkfifo])
@pytest.mark.parametrize("image", [False, True], ids=["positions", "image"])
def test_gltf_buffer_that_is_not_a_regular_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], *, image: bool
) -> None:
    """This includes a buffer that contains only an image."""
    make(tmp_path / "b.bin")
    document = dict(_GLTF)
    if image:
        primitive = {"attributes": {"POSITION": 0}, "material": 0}
        document |= {
            "meshes": [{"primitives": [primitive]}],
            "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
            "textures": [{"source": 0}],
            "images": [{"bufferView": 0, "mimeType": "image/png"}],
        }
    path = tmp_path / "m.gltf"
    path.write_text(json.dumps(document))

    assert "b.bin is not a regular file" in _unread(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_collada_entities_are_refused(tmp_path: Path, encoding: str) -> None:
    """Pycollada disables the entity limits of its XML parser."""
    path = tmp_path / "m.dae"
    path.write_text(f'<?xml version="1.0" encoding="{encoding}"?>{_BOMB}', encoding)

    assert _unread(path) == "it declares entities"


@pytest.mark.parametrize("suffix", ["zip", "3mf", "xz"])
def test_archives_are_refused(tmp_path: Path, suffix: str) -> None:
    """They can be a thousand times as large as their files."""
    path = tmp_path / f"m.{suffix}"
    path.write_bytes(b"PK")

    assert _unread(path) == "it is an archive"
