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


def test_vertex_colours_are_linear_display_colours(tmp_path: Path) -> None:
    """One per point; sRGB 0.5 is 0.21404114 in linear light."""
    text = "v 0 0 0.5 0.5 0 1\nv 1 0 0 0 0.5 1\nv 0 1 0 1 0.5 0\nf 1 2 3\n"
    (tmp_path / "colored.obj").write_text(text)

    stage = _convert(
        tmp_path, '<visual><geometry><mesh filename="colored.obj"/></geometry></visual>'
    )

    prim = stage.GetPrimAtPath("/r/Geometry/a/visual")
    primvar = UsdGeom.PrimvarsAPI(prim).GetPrimvar("displayColor")
    assert primvar.GetInterpolation() == "vertex"
    half = 0.21404114
    expected = [[half, 0, 1], [0, half, 1], [1, half, 0]]
    np.testing.assert_allclose(primvar.ComputeFlattened(), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "shape",
    ['<sphere radius="1e50"/>', '<box size="1 1e-50 1"/>', '<box size="1 1 1e39"/>'],
)
def test_shape_beyond_float32_is_omitted_and_reported(tmp_path: Path, shape: str) -> None:
    """Its extent or scale would be infinite or zero."""
    urdf = tmp_path / "robot.urdf"
    urdf.write_text(
        '<robot name="r"><link name="a">'
        f'<visual name="odd"><geometry>{shape}</geometry></visual>'
        '<visual name="plain"><geometry><box size="1 2 3"/></geometry></visual>'
        "</link></robot>"
    )

    result = convert(urdf, tmp_path / "usd")

    stage = Usd.Stage.Open(str(result.root_layer))
    shapes = [p.GetName() for p in stage.Traverse() if p.IsA(UsdGeom.Gprim)]
    assert shapes == ["plain"]
    assert "geometry-invalid" in [found.rule for found in result.diagnostics]


def test_capsule_of_length_zero_is_written(tmp_path: Path) -> None:
    """It is a sphere, and `UsdGeomCapsule` with height 0 is one as well."""
    stage = _convert(
        tmp_path,
        '<visual name="ball"><geometry><capsule radius="0.4" length="0"/></geometry></visual>',
    )

    prim = stage.GetPrimAtPath("/r/Geometry/a/ball")
    capsule = UsdGeom.Capsule(prim)
    assert capsule.GetHeightAttr().Get() == 0
    assert capsule.GetRadiusAttr().Get() == 0.4
    np.testing.assert_allclose(capsule.GetExtentAttr().Get(), [(-0.4,) * 3, (0.4,) * 3])
