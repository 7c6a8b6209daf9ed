"""Normals and texture coordinates of mesh files, at the corners of triangles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from urdf_usd.conformance.engines.mesh_parts import (
    LoadedMesh,
    MeshPart,
    joined_parts,
)
from urdf_usd.conformance.engines.meshes import load_mesh
from urdf_usd.conformance.engines.surfaces import measured_shading

OBJ = """
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
DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
 <library_geometries><geometry id="g"><mesh>
  <source id="p"><float_array id="pa" count="9">0 0 0 1 0 0 0 1 0</float_array>
   <technique_common><accessor source="#pa" count="3" stride="3">
    <param name="X" type="float"/><param name="Y" type="float"/>
    <param name="Z" type="float"/></accessor></technique_common></source>
  <source id="n"><float_array id="na" count="3">0.6 0 0.8</float_array>
   <technique_common><accessor source="#na" count="1" stride="3">
    <param name="X" type="float"/><param name="Y" type="float"/>
    <param name="Z" type="float"/></accessor></technique_common></source>
  <source id="t"><float_array id="ta" count="6">0 0 1 0 0.5 0.75</float_array>
   <technique_common><accessor source="#ta" count="3" stride="2">
    <param name="S" type="float"/><param name="T" type="float"/>
   </accessor></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
  <triangles count="1"><input semantic="VERTEX" source="#v" offset="0"/>
   <input semantic="NORMAL" source="#n" offset="1"/>
   <input semantic="TEXCOORD" source="#t" offset="2" set="0"/>
   <p>0 0 2 1 0 1 2 0 0</p></triangles>
 </mesh></geometry></library_geometries>
 <library_visual_scenes><visual_scene id="s"><node id="o">
  <scale>-1 1 2</scale><instance_geometry url="#g"/></node></visual_scene>
 </library_visual_scenes><scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def _load(folder: Path, name: str, text: str) -> LoadedMesh:
    (folder / name).write_text(text, encoding="utf-8")
    return load_mesh(str(folder / name))


def test_obj_corners_have_their_own_normals_and_coordinates(tmp_path: Path) -> None:
    """By the indices of each corner."""
    mesh = _load(tmp_path, "a.obj", OBJ.format("1/1/1 2/2/1 3/3/2", "1/3/2 3/1/2 4/2/1"))
    order = np.argsort(mesh.points[mesh.triangles].sum(axis=(1, 2)))

    assert mesh.has_normals is True
    assert mesh.normals is not None
    assert mesh.coordinates is not None
    assert sorted(mesh.normals[order].reshape(-1, 3)[:, 1].tolist()) == pytest.approx(
        [0, 0, 0, 0.6, 0.6, 0.6]
    )
    places = {
        tuple(mesh.points[point].tolist()): tuple(coordinate.tolist())
        for point, coordinate in zip(mesh.triangles[0], mesh.coordinates[0], strict=True)
    }
    assert places == {
        (0.0, 0.0, 0.0): (0.25, 0.5),
        (1.0, 0.0, 0.0): (1.0, 0.0),
        (0.0, 1.0, 0.0): (0.0, 1.0),
    }


@pytest.mark.parametrize(
    ("first", "second", "stated"),
    [
        ("1 2 3", "1 3 4", False),
        ("1//1 2//1 3//1", "1//1 3//1 4//2", True),
        # trimesh computes those of the other face.
        ("1//1 2//1 3//1", "1 3 4", None),
    ],
)
def test_normals_of_some_faces_alone_are_unknown(
    first: str, second: str, *, stated: bool | None, tmp_path: Path
) -> None:
    """Neither stated nor absent."""
    mesh = _load(tmp_path, "a.obj", OBJ.format(first, second))

    assert mesh.has_normals is stated
    assert (mesh.normals is not None) == bool(stated)


def test_collada_normals_follow_the_node(tmp_path: Path) -> None:
    """A mirroring scale of (-1, 1, 2) turns (0.6, 0, 0.8) to (-0.6, 0, 0.4)."""
    mesh = _load(tmp_path, "a.dae", DAE)

    assert mesh.normals is not None
    assert mesh.coordinates is not None
    turned = mesh.normals[0, 0] / np.linalg.norm(mesh.normals[0, 0])
    assert turned == pytest.approx(np.array([-0.6, 0.0, 0.4]) / np.hypot(0.6, 0.4))
    # The corners are in reverse order, and each keeps its coordinates.
    points = mesh.points[mesh.triangles[0]]
    assert points.tolist() == [[0, 1, 0], [-1, 0, 0], [0, 0, 0]]
    assert mesh.coordinates[0].tolist() == [[0, 0], [1, 0], [0.5, 0.75]]
    shading = measured_shading(mesh.points, mesh.triangles, mesh.normals, np.eye(4))
    assert shading.facing == pytest.approx(0.4 / np.hypot(0.6, 0.4))


def test_parts_without_normals_leave_them_unknown() -> None:
    """Of a mesh that has them elsewhere."""
    points, triangles = np.eye(3), np.array([[0, 1, 2]])
    plain = MeshPart(points, triangles, np.eye(4))
    smooth = MeshPart(points, triangles, np.eye(4), normals=np.ones((1, 3, 3)))

    assert joined_parts([plain, smooth]).normals is None
    assert joined_parts([smooth, smooth]).normals is not None
