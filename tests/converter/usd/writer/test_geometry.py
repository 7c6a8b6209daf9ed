"""Shapes and meshes on the composed stage."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from urdf_usd.converter import convert

# A tetrahedron with volume 1/6 and outward faces.
_TETRAHEDRON = """v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 3 2
f 1 2 4
f 1 4 3
f 2 3 4
"""


def _convert(folder: Path, body: str) -> Usd.Stage:
    (folder / "part.obj").write_text(_TETRAHEDRON)
    urdf = folder / "r.urdf"
    urdf.write_text(f'<robot name="r"><link name="a">{body}</link></robot>')
    return Usd.Stage.Open(str(convert(urdf, folder / "asset").root_layer))


def _mesh(scale: str) -> str:
    return f'<geometry><mesh filename="part.obj" scale="{scale}"/></geometry>'


def _world_points(prim: Usd.Prim) -> np.ndarray:
    points = np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get())
    matrix = np.array(UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(0))
    world: np.ndarray = points @ matrix[:3, :3] + matrix[3, :3]
    return world


def _volume(prim: Usd.Prim) -> float:
    """Signed volume by the divergence theorem, in world space."""
    points = _world_points(prim)
    counts = UsdGeom.Mesh(prim).GetFaceVertexCountsAttr().Get()
    corners = list(UsdGeom.Mesh(prim).GetFaceVertexIndicesAttr().Get())
    total = 0.0
    for count in counts:
        face, corners = corners[:count], corners[count:]
        for second, third in pairwise(face[1:]):
            triangle = points[[face[0], second, third]]
            total += float(np.linalg.det(triangle)) / 6
    return total


@pytest.mark.parametrize(
    ("scale", "factors"),
    [
        ("2 3 4", (2, 3, 4)),
        ("-2 3 4", (-2, 3, 4)),
        ("-2 -3 4", (-2, -3, 4)),
        ("-2 -3 -4", (-2, -3, -4)),
    ],
)
def test_faces_of_scaled_and_mirrored_meshes_point_outwards(
    tmp_path: Path, scale: str, factors: tuple[float, float, float]
) -> None:
    """The volume is positive, and no prim has a negative scale."""
    stage = _convert(tmp_path, f"<visual>{_mesh(scale)}</visual>")

    prim = stage.GetPrimAtPath("/r/Geometry/a/visual")
    assert _volume(prim) == pytest.approx(2 * 3 * 4 / 6)
    assert min(prim.GetAttribute("xformOp:scale").Get()) > 0
    tips = _world_points(prim)[np.abs(_world_points(prim)).sum(axis=1) > 0]
    np.testing.assert_allclose(tips, np.diag(factors))
    assert UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Get() == "none"
    assert UsdGeom.Mesh(prim).GetOrientationAttr().Get() == "rightHanded"


def test_equal_files_share_a_library_prim(tmp_path: Path) -> None:
    """Files that refer to others are equal within one folder only."""
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.obj").write_text(_TETRAHEDRON)
        (tmp_path / folder / "own.obj").write_text(f"mtllib a.mtl\n{_TETRAHEDRON}")
    files = ("x/same.obj", "y/same.obj", "x/own.obj", "y/own.obj")

    _convert(
        tmp_path,
        "".join(
            f'<visual><geometry><mesh filename="{file}"/></geometry></visual>' for file in files
        ),
    )

    library = Usd.Stage.Open(str(tmp_path / "asset/payload/GeometryLibrary.usdc"))
    names = [prim.GetName() for prim in library.GetDefaultPrim().GetAllChildren()]
    assert names == ["same", "own", "own_1"]
