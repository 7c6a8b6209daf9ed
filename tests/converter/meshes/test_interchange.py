"""Binary glTF and PLY."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest

from converter.meshes import read_mesh

if TYPE_CHECKING:
    from pathlib import Path

CORNERS = np.array([[0.5, 0.25, 0.0], [1.5, 0.0, 0.5], [0.0, 2.0, 1.0]], "<f4")
NORMALS = np.tile(np.array([0.0, 0.6, 0.8], "<f4"), (3, 1))
UV = np.array([[0.1, 0.2], [0.9, 0.3], [0.4, 0.8]], "<f4")


def glb() -> bytes:
    """Write a triangle by the specification: header, text, numbers."""
    arrays = [CORNERS, NORMALS, UV]
    content = b"".join(array.tobytes() for array in arrays)
    starts = [0, 36, 72]
    views = [
        {"buffer": 0, "byteOffset": start, "byteLength": array.nbytes}
        for start, array in zip(starts, arrays, strict=True)
    ]
    accessors = [
        {"bufferView": i, "componentType": 5126, "count": 3, "type": kind}
        for i, kind in enumerate(("VEC3", "VEC3", "VEC2"))
    ]
    attributes = {"POSITION": 0, "NORMAL": 1, "TEXCOORD_0": 2}
    color = [0.2, 0.0, 1.0, 0.6]
    text = json.dumps(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0, "translation": [1, 2, 3]}],
            "meshes": [{"primitives": [{"attributes": attributes, "material": 0}]}],
            "materials": [
                {"name": "m", "pbrMetallicRoughness": {"baseColorFactor": color}}
            ],
            "buffers": [{"byteLength": len(content)}],
            "bufferViews": views,
            "accessors": accessors,
        }
    ).encode()
    text += b" " * (-len(text) % 4)
    body = struct.pack("<I4s", len(text), b"JSON") + text
    body += struct.pack("<I4s", len(content), b"BIN\0") + content
    return struct.pack("<4sII", b"glTF", 2, len(body) + 12) + body


def test_gltf_stands_upright_with_its_looks(tmp_path: Path) -> None:
    """Y up becomes Z up; v points down in glTF; the linear 0.2 is 0.4845 in sRGB."""
    path = tmp_path / "part.glb"
    path.write_bytes(glb())

    mesh = read_mesh(path)

    placed = CORNERS + np.array([1, 2, 3])
    upright = np.stack([placed[:, 0], -placed[:, 2], placed[:, 1]], axis=1)
    np.testing.assert_allclose(mesh.points[mesh.face_indices], upright, rtol=1e-6)
    look = mesh.look
    assert look.normals is not None
    normals = look.normals.values[look.normals.indices]
    np.testing.assert_allclose(normals, np.tile([0, -0.8, 0.6], (3, 1)), atol=1e-6)
    assert look.texture_coordinates is not None
    st = look.texture_coordinates.values[look.texture_coordinates.indices]
    np.testing.assert_allclose(st, UV * [1, -1] + [0, 1], rtol=1e-5)
    (material,) = look.materials
    assert material.name == "m"
    assert material.color == pytest.approx((0.4845, 0, 1), abs=1e-3)
    assert material.opacity == 0.6


def test_ply_is_taken_as_it_is_with_its_colours(tmp_path: Path) -> None:
    """Colours are eight bits of sRGB."""
    rows = "".join(f"{x} {y} {z} 51 {i} 255\n" for i, (x, y, z) in enumerate(CORNERS))
    fields = "".join(f"property float {axis}\n" for axis in "xyz")
    fields += "".join(f"property uchar {name}\n" for name in ("red", "green", "blue"))
    path = tmp_path / "part.ply"
    path.write_text(
        f"ply\nformat ascii 1.0\nelement vertex 3\n{fields}element face 1\n"
        f"property list uchar int vertex_indices\nend_header\n{rows}3 0 1 2\n"
    )

    mesh = read_mesh(path)

    np.testing.assert_allclose(mesh.points[mesh.face_indices], CORNERS)
    assert mesh.look.colors is not None
    colors = mesh.look.colors.values[mesh.look.colors.indices]
    np.testing.assert_allclose(colors, [[0.2, i / 255, 1] for i in range(3)])
