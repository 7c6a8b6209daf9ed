"""Textures of meshes, in URDF and after a conversion of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from pxr import Usd, UsdGeom, UsdUtils

from tests.converter.usd.textured_meshes import png, source, surface
from urdf_usd.conformance.export.files import export
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import AuthoringError
from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.converter.urdf.parse import parse

_POINTS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 1)]
_INDICES = [3, 2, 1, 0, 0, 1, 4]
_CORNERS = [(0, 1), (1, 1), (1, 0), (0.2, 0.1), (0.3, 0.4), (0.9, 0.2), (0.5, 0.7)]
_BY_POINT = [(0.2, 0.1), (0.9, 0.2), (1, 0), (0, 1), (0.5, 0.7)]


_STAGE = """#usda 1.0
(
    defaultPrim = "r"
    metersPerUnit = 1
    upAxis = "Z"
)
def Xform "r" {
    def Xform "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        float physics:mass = 1
        point3f physics:centerOfMass = (0, 0, 0)
        float3 physics:diagonalInertia = (1, 1, 1)
        def Mesh "part" (prepend apiSchemas = ["MaterialBindingAPI"]) {
            point3f[] points = %s
            int[] faceVertexCounts = [4, 3]
            int[] faceVertexIndices = %s
            uniform token orientation = "%s"
            texCoord2f[] primvars:uv = %s (interpolation = "%s")
            rel material:binding = </r/skin>
        }
    }
    def Material "skin" {
        token outputs:surface.connect = </r/skin/shader.outputs:surface>
        def Shader "shader" {
            uniform token info:id = "UsdPreviewSurface"
            color3f inputs:diffuseColor.connect = </r/skin/texture.outputs:rgb>
            token outputs:surface
        }
        def Shader "texture" {
            uniform token info:id = "UsdUVTexture"
            asset inputs:file = @./skin.png@
            float2 inputs:st.connect = </r/skin/place.outputs:result>
            float3 outputs:rgb
        }
        def Shader "place" {
            uniform token info:id = "UsdTransform2d"
            float2 inputs:in.connect = </r/skin/reader.outputs:result>
            float2 inputs:scale = (2, 0.5)
            float inputs:rotation = 90
            float2 inputs:translation = (0.25, -0.5)
            float2 outputs:result
        }
        def Shader "reader" {
            uniform token info:id = "UsdPrimvarReader_float2"
            string inputs:varname = "uv"
            float2 outputs:result
        }
    }
}
"""


def _textured(folder: Path, interpolation: str = "vertex", way: str = "rightHanded") -> Usd.Stage:
    """Write a link with a mesh whose colour is an image."""
    (folder / "skin.png").write_bytes(png(50))
    values = _CORNERS if interpolation == "faceVarying" else _BY_POINT
    text = _STAGE % (_POINTS, _INDICES, way, values, interpolation)
    (folder / "r.usda").write_text(text)
    return Usd.Stage.Open(str(folder / "r.usda"))


def _placed(value: tuple[float, float]) -> tuple[float, float]:
    """Return coordinates after scale, a quarter turn and translation."""
    u, v = 2.0 * value[0], 0.5 * value[1]
    return -v + 0.25, u - 0.5


def _corners(
    points: Iterable[Sequence[float]], indices: Iterable[int], values: Iterable[Sequence[float]]
) -> dict[tuple[float, ...], set[tuple[float, ...]]]:
    """Return the texture coordinates of the corners at each point."""
    found: dict[tuple[float, ...], set[tuple[float, ...]]] = {}
    places = [tuple(map(float, point)) for point in points]
    for index, value in zip(indices, values, strict=True):
        rounded = tuple(round(float(part), 5) + 0.0 for part in value)
        found.setdefault(places[index], set()).add(rounded)
    return found


@pytest.mark.parametrize("interpolation", ["faceVarying", "vertex"])
@pytest.mark.parametrize("way", ["rightHanded", "leftHanded"])
def test_texture_is_written_and_converted_back(
    interpolation: str, way: str, tmp_path: Path
) -> None:
    _textured(tmp_path, interpolation, way)

    written = export(tmp_path / "r.usda", tmp_path / "out/r.urdf")

    assert written.diagnostics == ()
    (visual,) = parse(written.urdf).robot.links[0].visuals
    assert isinstance(visual.geometry, MeshFile)
    assert visual.material
    assert visual.material.name == "skin"
    assert visual.material.texture_path
    assert Path(visual.material.texture_path).read_bytes() == png(50)

    stage = Usd.Stage.Open(str(convert(written.urdf, tmp_path / "usd").root_layer))

    meshes = Usd.PrimRange(stage.GetDefaultPrim(), Usd.TraverseInstanceProxies())
    (prim,) = (one for one in meshes if one.IsA(UsdGeom.Mesh))
    image, _ = source(surface(prim), "diffuseColor")
    asset = image.GetInput("file").Get()
    assert Path(asset.resolvedPath).read_bytes() == png(50)
    mesh = UsdGeom.Mesh(prim)
    indices = mesh.GetFaceVertexIndicesAttr().Get()
    primvar = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    values = primvar.ComputeFlattened()
    if primvar.GetInterpolation() == "vertex":
        values = [values[index] for index in indices]
    found = _corners(mesh.GetPointsAttr().Get(), indices, values)
    given = [_BY_POINT[i] for i in _INDICES]
    if interpolation == "faceVarying":
        given = _CORNERS
    assert found == _corners(_POINTS, _INDICES, map(_placed, given))


def test_second_export_replaces_the_first(tmp_path: Path) -> None:
    usd = tmp_path / "r.usda"
    _textured(tmp_path)
    export(usd, tmp_path / "out/r.urdf")

    export(usd, tmp_path / "out/r.urdf")

    (image,) = (tmp_path / "out/meshes").glob("*.png")
    image.write_bytes(png(51))
    with pytest.raises(AuthoringError, match=r"skin_\w+\.png was not written"):
        export(usd, tmp_path / "out/r.urdf")


def test_texture_in_a_package_is_written(tmp_path: Path) -> None:
    _textured(tmp_path)
    package = tmp_path / "r.usdz"
    assert UsdUtils.CreateNewUsdzPackage(str(tmp_path / "r.usda"), str(package))

    written = export(package, tmp_path / "out/r.urdf")

    assert written.diagnostics == ()
    (image,) = (tmp_path / "out/meshes").glob("*.png")
    assert image.read_bytes() == png(50)


@pytest.mark.parametrize("image", [b"GIF89a", None])
def test_texture_without_image_is_left_out(tmp_path: Path, image: bytes | None) -> None:
    _textured(tmp_path)
    (tmp_path / "skin.png").unlink()
    if image is not None:
        (tmp_path / "skin.png").write_bytes(image)

    written = export(tmp_path / "r.usda", tmp_path / "out/r.urdf")

    assert [one.rule for one in written.diagnostics] == ["texture-dropped"]
    assert "<texture" not in written.urdf.read_text()
