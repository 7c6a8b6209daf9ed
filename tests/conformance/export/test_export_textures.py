"""Textures of meshes, in URDF and after a conversion of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade, UsdUtils

from tests.converter.usd.scenes import Scene
from tests.converter.usd.textured_meshes import png, source, surface
from urdf_usd.conformance.export.files import export
from urdf_usd.converter import convert
from urdf_usd.converter.diagnostics import AuthoringError
from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.converter.urdf.parse import parse

_POINTS = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0.5, 0.5, 1)]
_COUNTS = [4, 3]
_INDICES = [3, 2, 1, 0, 0, 1, 4]
_CORNERS = [(0, 1), (1, 1), (1, 0), (0.2, 0.1), (0.3, 0.4), (0.9, 0.2), (0.5, 0.7)]
_BY_POINT = [(0.2, 0.1), (0.9, 0.2), (1, 0), (0, 1), (0.5, 0.7)]
_TYPES = Sdf.ValueTypeNames


def _textured(folder: Path, interpolation: str, *, left_handed: bool = False) -> Scene:
    """Return a link with a mesh whose colour is an image, in a folder."""
    (folder / "skin.png").write_bytes(png(50))
    scene = Scene()
    scene.body("/r/a")
    mesh = UsdGeom.Mesh.Define(scene.stage, "/r/a/part")
    mesh.CreatePointsAttr(_POINTS)
    mesh.CreateFaceVertexCountsAttr(_COUNTS)
    mesh.CreateFaceVertexIndicesAttr(_INDICES)
    if left_handed:
        mesh.CreateOrientationAttr(UsdGeom.Tokens.leftHanded)
    values = _CORNERS if interpolation == "faceVarying" else _BY_POINT
    primvar = UsdGeom.PrimvarsAPI(mesh).CreatePrimvar("uv", _TYPES.TexCoord2fArray, interpolation)
    primvar.Set([Gf.Vec2f(*value) for value in values])
    material = UsdShade.Material.Define(scene.stage, "/r/skin")
    shaders = {}
    for name, kind in (
        ("shader", "UsdPreviewSurface"),
        ("texture", "UsdUVTexture"),
        ("place", "UsdTransform2d"),
        ("reader", "UsdPrimvarReader_float2"),
    ):
        shader = UsdShade.Shader.Define(scene.stage, f"/r/skin/{name}")
        shader.CreateIdAttr(kind)
        shaders[name] = shader
    for name, entry, above, kind in (
        ("texture", "rgb", "diffuseColor", _TYPES.Float3),
        ("place", "result", "st", _TYPES.Float2),
        ("reader", "result", "in", _TYPES.Float2),
    ):
        target = {"diffuseColor": "shader", "st": "texture", "in": "place"}[above]
        output = shaders[name].CreateOutput(entry, kind)
        shaders[target].CreateInput(above, kind).ConnectToSource(output)
    place = shaders["place"]
    place.CreateInput("scale", _TYPES.Float2).Set(Gf.Vec2f(2.0, 0.5))
    place.CreateInput("rotation", _TYPES.Float).Set(90.0)
    place.CreateInput("translation", _TYPES.Float2).Set(Gf.Vec2f(0.25, -0.5))
    shaders["reader"].CreateInput("varname", _TYPES.String).Set("uv")
    file = shaders["texture"].CreateInput("file", _TYPES.Asset)
    file.Set(Sdf.AssetPath("./skin.png"))
    material.CreateSurfaceOutput().ConnectToSource(
        shaders["shader"].CreateOutput("surface", _TYPES.Token)
    )
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(material)
    return scene


def _saved(scene: Scene, folder: Path) -> Path:
    usd = folder / "r.usda"
    scene.stage.Export(str(usd))
    return usd


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
@pytest.mark.parametrize("left_handed", [False, True])
def test_texture_is_written_and_converted_back(
    interpolation: str, tmp_path: Path, *, left_handed: bool
) -> None:
    usd = _saved(_textured(tmp_path, interpolation, left_handed=left_handed), tmp_path)

    written = export(usd, tmp_path / "out/r.urdf")

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
    usd = _saved(_textured(tmp_path, "vertex"), tmp_path)
    export(usd, tmp_path / "out/r.urdf")

    export(usd, tmp_path / "out/r.urdf")

    (image,) = (tmp_path / "out/meshes").glob("*.png")
    image.write_bytes(png(51))
    with pytest.raises(AuthoringError, match=r"skin_\w+\.png was not written"):
        export(usd, tmp_path / "out/r.urdf")


def test_texture_in_a_package_is_written(tmp_path: Path) -> None:
    usd = _saved(_textured(tmp_path, "vertex"), tmp_path)
    package = tmp_path / "r.usdz"
    assert UsdUtils.CreateNewUsdzPackage(str(usd), str(package))

    written = export(package, tmp_path / "out/r.urdf")

    assert written.diagnostics == ()
    (image,) = (tmp_path / "out/meshes").glob("*.png")
    assert image.read_bytes() == png(50)


@pytest.mark.parametrize("content", [b"GIF89a", None])
def test_unusable_image_is_left_out(tmp_path: Path, content: bytes | None) -> None:
    usd = _saved(_textured(tmp_path, "vertex"), tmp_path)
    (tmp_path / "skin.png").unlink()
    if content is not None:
        (tmp_path / "skin.png").write_bytes(content)

    written = export(usd, tmp_path / "out/r.urdf")

    assert [one.rule for one in written.diagnostics] == ["texture-dropped"]
    assert "<texture" not in written.urdf.read_text()


def test_mesh_without_coordinates_gets_no_texture(tmp_path: Path) -> None:
    scene = _textured(tmp_path, "vertex")
    scene.stage.GetPrimAtPath("/r/a/part").RemoveProperty("primvars:uv")

    written = export(_saved(scene, tmp_path), tmp_path / "out/r.urdf")

    assert [one.rule for one in written.diagnostics] == ["texture-dropped"]
    assert "<texture" not in written.urdf.read_text()


def test_other_settings_of_a_texture_are_reported(tmp_path: Path) -> None:
    scene = _textured(tmp_path, "vertex")
    image = UsdShade.Shader.Get(scene.stage, "/r/skin/texture")
    image.CreateInput("scale", _TYPES.Float4).Set(Gf.Vec4f(0.5, 1, 1, 1))
    image.CreateInput("wrapS", _TYPES.Token).Set("clamp")

    written = export(_saved(scene, tmp_path), tmp_path / "out/r.urdf")

    (found,) = written.diagnostics
    assert found.rule == "texture-dropped"
    assert found.message.startswith("scale, wrapS of texture './skin.png'")
    assert "<texture" in written.urdf.read_text()
