"""Gprims are read as shapes of URDF with their colours."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt
from scipy.spatial.transform import Rotation

from tests.converter.meshes.gltf_files import triangle
from tests.converter.usd.scenes import Array, Scene, link_of, rules_of
from tests.converter.usd.textured_meshes import png, robot, visual
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.diagnostics import StageError
from urdf_usd.converter.meshes.mesh import PolygonMesh
from urdf_usd.converter.robot.model import Box, Capsule, Cylinder, Material, MeshFile, Sphere


def _shape(prim: UsdGeom.Gprim, *, collides: bool = False, **text: object) -> UsdGeom.Gprim:
    for name, value in text.items():
        getattr(prim, f"Create{name}Attr")(value)
    if collides:
        UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
    return prim


def test_shapes_of_any_axis_and_scale_are_read_along_z() -> None:
    scene = Scene()
    scene.body("/r/a")
    stage = scene.stage
    tube = UsdGeom.Cylinder.Define(stage, "/r/a/tube")
    _shape(tube, Axis="X", Radius=0.1, Height=0.5).AddScaleOp().Set(Gf.Vec3f(3, 2, 2))
    pill = UsdGeom.Capsule.Define(stage, "/r/a/pill")
    _shape(pill, collides=True, Axis="Y", Radius=0.1, Height=0.5, Purpose="guide")
    cube = UsdGeom.Cube.Define(stage, "/r/a/cube")
    _shape(cube, collides=True, Size=0.5).AddScaleOp().Set(Gf.Vec3f(1, -2, 3))
    hidden = UsdGeom.Sphere.Define(stage, "/r/a/hidden")
    _shape(hidden, collides=True, Radius=0.1, Visibility="invisible")
    _shape(UsdGeom.Cone.Define(stage, "/r/a/cone"))
    egg = UsdGeom.Sphere.Define(stage, "/r/a/egg")
    _shape(egg, Radius=0.1).AddScaleOp().Set(Gf.Vec3f(1, 1, 2))

    reading = scene.read()

    link = link_of(reading, "a")
    visuals = {visual.name: visual for visual in link.visuals}
    collisions = {shape.name: shape for shape in link.collisions}
    assert set(visuals) == {"tube", "cube", "egg"}
    assert set(collisions) == {"pill", "cube", "hidden"}
    tube_again = visuals["tube"].geometry
    assert isinstance(tube_again, Cylinder)
    assert tube_again.radius == pytest.approx(0.2)
    assert tube_again.length == pytest.approx(1.5)
    assert collisions["pill"].geometry == Capsule(0.1, 0.5)
    assert collisions["cube"].geometry == Box((0.5, 1.0, 1.5))
    assert sorted(rules_of(reading)) == ["shape-approximated", "shape-not-urdf"]
    for shape, axis in ((visuals["tube"], 0), (collisions["pill"], 1)):
        turn = Rotation.from_quat(shape.origin.quat_wxyz, scalar_first=True)
        assert abs(turn.apply((0, 0, 1))[axis]) == pytest.approx(1.0)


def _triangle(stage: Usd.Stage, path: str) -> UsdGeom.Mesh:
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 2, 0)])
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    return mesh


def _normal(mesh: PolygonMesh) -> Array:
    a, b, c = mesh.points[mesh.face_indices[:3]]
    return np.cross(b - a, c - a)


def test_meshes_keep_their_scale_and_face_outwards() -> None:
    scene = Scene()
    scene.body("/r/a")
    _triangle(scene.stage, "/r/a/plain").AddScaleOp().Set(Gf.Vec3f(2, 3, 4))
    _triangle(scene.stage, "/r/a/mirrored").AddScaleOp().Set(Gf.Vec3f(1, -1, 1))
    _triangle(scene.stage, "/r/a/left").CreateOrientationAttr("leftHanded")
    stretched = UsdGeom.Xform.Define(scene.stage, "/r/a/stretched")
    stretched.AddScaleOp().Set(Gf.Vec3f(1, 1, 5))
    skewed = _triangle(scene.stage, "/r/a/stretched/skewed")
    skewed.AddRotateXOp().Set(30.0)

    reading = scene.read()

    found = {v.name: v for v in link_of(reading, "a").visuals}
    scales = {
        name: visual.geometry.scale
        for name, visual in found.items()
        if isinstance(visual.geometry, MeshFile)
    }
    ones = (1.0, 1.0, 1.0)
    assert scales.pop("plain") == (2.0, 3.0, 4.0)
    assert scales == {"mirrored": ones, "left": ones, "skewed": ones}
    normals = {path.rsplit("/", 1)[1]: _normal(mesh) for path, mesh in reading.meshes.items()}
    assert normals["plain"] == pytest.approx((0, 0, 2))
    assert normals["mirrored"] == pytest.approx((0, 0, 2))
    assert normals["left"] == pytest.approx((0, 0, -2))
    tip = (0.0, 2 * math.cos(math.radians(30)), 5 * 2 * math.sin(math.radians(30)))
    assert reading.meshes["/r/a/stretched/skewed"].points[2] == pytest.approx(tip)


def test_mesh_without_faces_is_omitted_with_a_warning() -> None:
    scene = Scene()
    scene.body("/r/a")
    UsdGeom.Mesh.Define(scene.stage, "/r/a/empty")
    UsdGeom.Sphere.Define(scene.stage, "/r/ground")

    reading = scene.read()

    assert reading.meshes == {}
    assert sorted(rules_of(reading)) == ["mesh-unreadable", "stage-loose-shape"]


def test_shapes_in_instances_are_read() -> None:
    scene = Scene()
    scene.body("/r/a")
    prototype = UsdGeom.Xform.Define(scene.stage, "/library")
    UsdGeom.Sphere.Define(scene.stage, "/library/ball").CreateRadiusAttr(0.25)
    visuals = UsdGeom.Xform.Define(scene.stage, "/r/a/visuals").GetPrim()
    visuals.GetReferences().AddInternalReference(prototype.GetPath())
    visuals.SetInstanceable(True)

    (visual,) = link_of(scene.read(), "a").visuals

    assert visual.geometry == Sphere(0.25)


def test_colours_are_read_from_common_places() -> None:
    """From the gprim, the material's interface, and Omniverse's shaders."""
    scene = Scene()
    scene.body("/r/a")
    stage = scene.stage
    linear = Gf.Vec3f(0.21404114)
    plain = UsdGeom.Sphere.Define(stage, "/r/a/plain")
    plain.CreateDisplayColorAttr([linear])
    for name, source, color in (
        ("preview", "UsdPreviewSurface", "diffuseColor"),
        ("omni", "OmniPBR", "diffuse_color_constant"),
    ):
        material = UsdShade.Material.Define(stage, f"/r/{name}")
        shader = UsdShade.Shader.Define(stage, f"/r/{name}/shader")
        shader.CreateIdAttr(source)
        kind = Sdf.ValueTypeNames.Color3f
        interface = material.CreateInput("tint", kind)
        interface.Set(linear)
        shader.CreateInput(color, kind).ConnectToSource(interface)
        output = shader.CreateOutput("surface", Sdf.ValueTypeNames.Token)
        context = "mdl" if name == "omni" else ""
        material.CreateSurfaceOutput(context).ConnectToSource(output)
        ball = UsdGeom.Sphere.Define(stage, f"/r/a/{name}")
        UsdShade.MaterialBindingAPI.Apply(ball.GetPrim()).Bind(material)

    visuals = link_of(scene.read(), "a").visuals

    assert [v.material.name if v.material else "" for v in visuals] == [None, "preview", "omni"]
    for shown in visuals:
        # The sRGB value of linear 0.214 is one half (IEC 61966-2-1).
        assert shown.material
        assert shown.material.rgba == pytest.approx((0.5, 0.5, 0.5, 1.0), abs=1e-6)


def _surface(stage: Usd.Stage, name: str, color: Gf.Vec3f) -> UsdShade.Material:
    material = UsdShade.Material.Define(stage, f"/r/{name}")
    shader = UsdShade.Shader.Define(stage, f"/r/{name}/shader")
    shader.CreateIdAttr("UsdPreviewSurface")
    shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(color)
    output = shader.CreateOutput("surface", Sdf.ValueTypeNames.Token)
    material.CreateSurfaceOutput().ConnectToSource(output)
    return material


@pytest.mark.parametrize(("size", "name"), [(1, "whole"), (2, "part")])
def test_material_with_most_faces_is_used(size: int, name: str) -> None:
    scene = Scene()
    scene.body("/r/a")
    mesh = _triangle(scene.stage, "/r/a/mesh")
    mesh.CreateFaceVertexCountsAttr([3, 3, 3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2] * 3)
    whole, part = (_surface(scene.stage, name, Gf.Vec3f(0.2)) for name in ("whole", "part"))
    UsdShade.MaterialBindingAPI.Apply(mesh.GetPrim()).Bind(whole)
    subset = UsdShade.MaterialBindingAPI(mesh.GetPrim()).CreateMaterialBindSubset(
        "subset", Vt.IntArray(range(size)), "face"
    )
    UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(part)

    reading = scene.read()

    material = link_of(reading, "a").visuals[0].material
    assert material
    assert material.name == name
    assert rules_of(reading) == ["material-parts"]


def test_fallback_of_a_texture_is_the_colour() -> None:
    scene = Scene()
    scene.body("/r/a")
    for name in ("with", "without"):
        material = _surface(scene.stage, name, Gf.Vec3f(0.9))
        texture = UsdShade.Shader.Define(scene.stage, f"/r/{name}/texture")
        texture.CreateIdAttr("UsdUVTexture")
        kinds = Sdf.ValueTypeNames
        output = texture.CreateOutput("rgb", kinds.Float3)
        file = texture.CreateInput("file", kinds.Asset)
        file.Set(Sdf.AssetPath(f"./{name}.png"))
        if name == "with":
            texture.CreateInput("fallback", kinds.Float4).Set(Gf.Vec4f(1, 0, 1, 1))
        shader = UsdShade.Shader.Get(scene.stage, f"/r/{name}/shader")
        shader.GetInput("diffuseColor").ConnectToSource(output)
        for ball in (name, f"{name}_again"):
            prim = UsdGeom.Sphere.Define(scene.stage, f"/r/a/{ball}").GetPrim()
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(material)

    reading = scene.read()

    appearances = {v.name: v.material for v in link_of(reading, "a").visuals}
    assert appearances["without"] is None
    assert appearances["with"] == Material("with", (1.0, 0.0, 1.0, 1.0))
    assert [str(found) for found in reading.diagnostics] == [
        f"warning: textures of material /r/{name} are not converted: './{name}.png' "
        "[texture-dropped]"
        for name in ("with", "without")
    ]


def test_every_lost_texture_is_reported_once(tmp_path: Path) -> None:
    document = triangle(pbrMetallicRoughness={"baseColorTexture": {"index": 0}})
    for shade, name in enumerate(("skin", "glow", "data")):
        image = document.view(png(shade))
        document.add("images", {"bufferView": image, "name": name})
        document.add("textures", {"source": shade})
    about = document.root["materials"][0]
    about |= {"emissiveTexture": {"index": 1}, "emissiveFactor": [1, 1, 1]}
    about["pbrMetallicRoughness"]["metallicRoughnessTexture"] = {"index": 2}
    (tmp_path / "part.glb").write_bytes(document.glb())
    conversion, _ = robot(tmp_path, visual("part.glb"))

    reading = read_usd(conversion.root_layer)

    (dropped,) = (d for d in reading.diagnostics if d.rule == "texture-dropped")
    lost = sorted(re.findall(r"Textures/(\w+)\.png", dropped.message))
    assert lost == ["data", "glow"]
    (kept,) = reading.textures.values()
    assert kept.reference.endswith("skin.png")


def test_first_vertex_colour_is_the_colour(tmp_path: Path) -> None:
    document = triangle(pbrMetallicRoughness={"baseColorFactor": [0.5, 1, 1, 1]})
    colors = np.tile(np.array([[0.42808228, 0.25, 1]], "<f4"), (3, 1))
    primitive = document.root["meshes"][0]["primitives"][0]
    primitive["attributes"]["COLOR_0"] = document.accessor(colors)
    (tmp_path / "part.glb").write_bytes(document.glb())
    conversion, _ = robot(tmp_path, visual("part.glb"))

    reading = read_usd(conversion.root_layer)

    material = link_of(reading, "a").visuals[0].material
    assert material
    # Half of 0.428 in linear light is 0.214, which is 0.5 in sRGB (IEC 61966-2-1).
    assert material.rgba is not None
    assert material.rgba[0] == pytest.approx(0.5, abs=1e-6)


def test_blocked_size_of_a_shape_is_refused() -> None:
    """OpenUSD does not use the fallback of a blocked attribute."""
    scene = Scene()
    scene.body("/r/a")
    UsdGeom.Sphere.Define(scene.stage, "/r/a/ball").CreateRadiusAttr().Block()

    with pytest.raises(StageError, match="radius is blocked"):
        scene.read()
