"""Gprims are read as shapes of URDF with their colours."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.converter.meshes.gltf_files import triangle
from tests.converter.usd.scenes import link_of
from tests.converter.usd.textured_meshes import png, robot, visual
from urdf_usd.conformance.export.reading import read_usd


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
