"""PLY files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from urdf_usd.converter.meshes import read_mesh
from urdf_usd.converter.meshes.mesh_material import MeshMaterial, MeshTexture, Slot

CORNERS = np.array([[0.5, 0.25, 0.0], [1.5, 0.0, 0.5], [0.0, 2.0, 1.0]], "<f4")


def test_ply_is_read_with_its_colours(tmp_path: Path) -> None:
    """Colours are sRGB bytes."""
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
    assert mesh.attributes.colors is not None
    colors = mesh.attributes.colors.values[mesh.attributes.colors.indices]
    np.testing.assert_allclose(colors, [[0.2, i / 255, 1] for i in range(3)])


def test_ply_texture_uses_its_coordinates(
    tmp_path: Path,
) -> None:
    """As MeshLab writes it: a comment, and s and t at every vertex, t upwards."""
    st = [[0.1, 0.2], [0.9, 0.3], [0.4, 0.8]]
    rows = "".join(f"{x} {y} {z} {s} {t}\n" for (x, y, z), (s, t) in zip(CORNERS, st, strict=True))
    fields = "".join(f"property float {name}\n" for name in "xyzst")
    path = tmp_path / "part.ply"
    path.write_text(
        "ply\nformat ascii 1.0\ncomment TextureFile my skin.png\n"
        f"element vertex 3\n{fields}element face 1\n"
        f"property list uchar int vertex_indices\nend_header\n{rows}3 0 1 2\n"
    )

    attributes = read_mesh(path).attributes

    assert attributes.texture_coordinates is not None
    found = attributes.texture_coordinates.values[attributes.texture_coordinates.indices]
    np.testing.assert_allclose(found, st, rtol=1e-6)
    (material,) = attributes.materials
    assert material == MeshMaterial("", textures=((Slot.COLOR, MeshTexture("my skin.png")),))
