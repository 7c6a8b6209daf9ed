"""Gprims are read as shapes of URDF with their colours."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdShade

from tests.converter.meshes.gltf_files import triangle
from tests.converter.usd.scenes import Scene, link_of
from tests.converter.usd.textured_meshes import png, robot, visual
from urdf_usd.conformance.export.reading import read_usd
from urdf_usd.converter.robot.model import Material, Sphere


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


def _surface(stage: Usd.Stage, name: str, color: Gf.Vec3f) -> UsdShade.Material:
    material = UsdShade.Material.Define(stage, f"/r/{name}")
    shader = UsdShade.Shader.Define(stage, f"/r/{name}/shader")
    shader.CreateIdAttr("UsdPreviewSurface")
    shader.CreateInput("diffuseColor", Sdf.ValueTypeNames.Color3f).Set(color)
    output = shader.CreateOutput("surface", Sdf.ValueTypeNames.Token)
    material.CreateSurfaceOutput().ConnectToSource(output)
    return material


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
