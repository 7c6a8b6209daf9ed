"""Normals, texture coordinates and colours of corners; materials of OBJ files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from urdf_usd.converter.meshes.mesh import face_normals, mirrored
from urdf_usd.converter.meshes.mesh_materials import (
    MeshMaterial,
    MeshTexture,
    Sampling,
    Slot,
    Wrap,
)
from urdf_usd.converter.meshes.obj import read_obj
from urdf_usd.converter.meshes.read import read_mesh

# A pentagon in an oblique plane, and its unit normal.
NORMAL = np.array([2.0, -1.0, 2.0]) / 3
_ALONG, _ACROSS = np.array([1.0, 2.0, 0.0]), np.array([-4.0, 2.0, 5.0])
TURNS = np.linspace(0, 2 * np.pi, 5, endpoint=False)
PENTAGON = (
    np.outer(np.cos(TURNS), _ALONG / np.sqrt(5))
    + np.outer(np.sin(TURNS), _ACROSS / np.sqrt(45))
    + [0.3, 0.1, 0.7]
)


def test_polygon_normal_is_that_of_its_plane() -> None:
    """Counter-clockwise seen from the side of the normal."""
    normals = face_normals(PENTAGON, np.array([5]), np.arange(5))

    np.testing.assert_allclose(normals, np.tile(NORMAL, (5, 1)), atol=1e-15)


TEXT = "".join(f"v {x} {y} {z}\n" for x, y, z in PENTAGON) + "vn 0 0 3\nvt 0.2 0.9\n"


def test_corners_without_normal_get_that_of_their_face() -> None:
    """Authored normals are normalised."""
    attributes = read_obj(f"{TEXT}f 1//1 2//1 3//1\nf 1 3 4 5\n".encode()).attributes

    assert attributes.normals is not None
    normals = attributes.normals.values[attributes.normals.indices]
    np.testing.assert_allclose(normals[:3], np.tile([0, 0, 1], (3, 1)))
    np.testing.assert_allclose(normals[3:], np.tile(NORMAL, (4, 1)), atol=1e-12)


@pytest.mark.parametrize("zero", ["0 0 0", "nan 0 0"])
def test_zero_normals_become_those_of_the_faces(zero: str) -> None:
    """Only at the corners that use them; MeshLab writes such normals."""
    text = f"{TEXT}vn {zero}\nf 1//1 2//2 3//1\n"
    attributes = read_obj(text.encode()).attributes

    assert attributes.normals is not None
    normals = attributes.normals.values[attributes.normals.indices]
    expected = np.array([[0.0, 0.0, 1.0], [*NORMAL], [0.0, 0.0, 1.0]])
    np.testing.assert_allclose(normals, expected, atol=1e-12)


def test_faces_are_flat_if_all_normals_are_zero() -> None:
    """Without any direction, the file has no normals."""
    text = TEXT.replace("vn 0 0 3", "vn 0 0 0") + "f 1//1 2//1 3//1\n"

    assert read_obj(text.encode()).attributes.normals is None


def test_dropped_faces_drop_their_corner_values() -> None:
    """Values of the remaining faces are unchanged."""
    text = TEXT + "vt 0.5 0.1\nusemtl a\nf 1/1 1/1 2/1\nusemtl b\nf 1/2 2/1 3/2\n"

    library = b"newmtl a\nKd 1 0 0\nnewmtl b\nKd 0 1 0\n"
    attributes = read_obj(b"mtllib x\n" + text.encode(), lambda _: library).attributes

    st = attributes.texture_coordinates
    assert st is not None
    expected = [[0.5, 0.1], [0.2, 0.9], [0.5, 0.1]]
    np.testing.assert_allclose(st.values[st.indices], expected, rtol=1e-6)
    assert attributes.face_materials is not None
    assert [attributes.materials[i].name for i in attributes.face_materials] == ["b"]


def test_obj_vertex_colours_are_read_if_all_points_have_one() -> None:
    """A file without colours has none; the default is not white."""
    rows = [f"v {x} {y} {z} {i / 8} 0.5 0\n" for i, (x, y, z) in enumerate(PENTAGON)]

    colored = read_obj(f"{''.join(rows)}f 3 4 5\n".encode()).attributes.colors

    assert colored is not None
    expected = [[i / 8, 0.5, 0] for i in (2, 3, 4)]
    np.testing.assert_allclose(colored.values[colored.indices], expected)
    assert read_obj(f"{TEXT}f 3 4 5\n".encode()).attributes.colors is None


@pytest.mark.parametrize("axes", [(True, False, False), (True, True, False)])
def test_mirrored_surface_keeps_normals_and_coordinates(
    axes: tuple[bool, bool, bool],
) -> None:
    """The normal of the mirrored plane points outwards."""
    marks = "".join(f"vt 0.{i} 0\n" for i in range(1, 6))
    direction = " ".join(map(str, NORMAL))
    corners = " ".join(f"{i}/{i}/1" for i in range(1, 6))
    text = TEXT.split("vn")[0] + f"{marks}vn {direction}\nf {corners}\n"

    mesh = mirrored(read_obj(text.encode()), axes)

    attributes, signs = mesh.attributes, np.where(axes, -1, 1)
    assert attributes.normals is not None
    assert attributes.texture_coordinates is not None
    geometric = face_normals(mesh.points, mesh.face_counts, mesh.face_indices)
    np.testing.assert_allclose(attributes.normals.values[attributes.normals.indices], geometric)
    places = mesh.points[mesh.face_indices] * signs
    st = attributes.texture_coordinates.values[attributes.texture_coordinates.indices]
    for place, (u, _) in zip(places, st, strict=True):
        np.testing.assert_allclose(place, PENTAGON[round(u * 10) - 1], rtol=1e-6)


def test_material_libraries_are_found_next_to_the_file(tmp_path: Path) -> None:
    """Several libraries; names with spaces; textures relative to their library."""
    (tmp_path / "looks").mkdir()
    (tmp_path / "looks" / "a b.mtl").write_text(
        "newmtl old red\nKd 0.5 0 0\nmap_Kd -clamp on skin.png\n"
    )
    (tmp_path / "c.mtl").write_bytes(b"newmtl old blue\r\nKd 0 0 0.5\r\nd 0.25\r\n")
    path = tmp_path / "part.obj"
    path.write_text(
        "mtllib looks/a b.mtl\nmtllib c.mtl lost.mtl\n"
        f"{TEXT}usemtl old blue\nf 1 2 3\nusemtl old red\nf 3 4 5\n"
        "usemtl new\nf 1 3 5\n"
    )

    mesh = read_mesh(path)

    attributes = mesh.attributes
    # The sRGB value 0.5 in linear light (IEC 61966-2-1).
    gain = (((0.5 + 0.055) / 1.055) ** 2.4, 0.0, 0.0, 1.0)
    clamped = Sampling(wrap_s=Wrap.CLAMP, wrap_t=Wrap.CLAMP, gain=gain)
    assert attributes.face_materials is not None
    assert [attributes.materials[i] if i >= 0 else None for i in attributes.face_materials] == [
        MeshMaterial("old blue", (0.0, 0.0, 0.5), 0.25),
        MeshMaterial(
            "old red",
            (0.5, 0.0, 0.0),
            textures=((Slot.COLOR, MeshTexture("looks/skin.png", sampling=clamped)),),
        ),
        None,
    ]
    assert mesh.skipped == ("material library 'lost.mtl' is missing",)
