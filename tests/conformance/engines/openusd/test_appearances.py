"""Normals, texture coordinates and shader inputs of hand-written stages."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.conformance.engines.usd_observations import body, observe_stage, stage
from tests.converter.usd.textured_meshes import png
from urdf_usd.conformance.observation.shapes import ShapeObservation

# A rectangle of 2 m by 3 m with its outside up; u is x / 2 and v is y / 3.
SQUARE = """
    point3f[] points = [(0, 0, 0), (2, 0, 0), (2, 3, 0), (0, 3, 0)]
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
    uniform token subdivisionScheme = "none"
    rel material:binding = </robot/paint>
"""
ST = """
    texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (
        interpolation = "{}"
    )
"""
NORMALS = """
    normal3f[] primvars:normals = [{}] (
        interpolation = "{}"
    )
"""
MATERIAL = """
def Material "paint" {
    token outputs:surface.connect = </robot/paint/surface.outputs:surface>
    def Shader "surface" {
        uniform token info:id = "UsdPreviewSurface"
        color3f inputs:diffuseColorCOLOR
        token outputs:surface
        INPUTS
    }
NODES
}
"""
COLORED = MATERIAL.replace("COLOR", " = (0.5, 0.25, 0.125)").replace("NODES", "")
NODES = """
    def Shader "image" {
        uniform token info:id = "UsdUVTexture"
        asset inputs:file = @image.png@
        float2 inputs:st.connect = </robot/paint/SOURCE.outputs:result>
        float3 outputs:rgb
        READING
    }
    def Shader "reader" {
        uniform token info:id = "UsdPrimvarReader_float2"
        string inputs:varname = "st"
        float2 outputs:result
    }
    def Shader "placement" {
        uniform token info:id = "UsdTransform2d"
        float2 inputs:in.connect = </robot/paint/reader.outputs:result>
        float inputs:rotation = 90
        float2 inputs:scale = (2, 1)
        float2 inputs:translation = (0, 3)
        float2 outputs:result
    }
"""


SRGB = 'token inputs:sourceColorSpace = "sRGB"\n'


def _textured(source: str, reading: str = SRGB) -> str:
    """Return a material with an image that a node gives texture coordinates."""
    nodes = NODES.replace("SOURCE", source).replace("READING", reading)
    color = ".connect = </robot/paint/image.outputs:rgb>"
    return MATERIAL.replace("COLOR", color).replace("INPUTS", "").replace("NODES", nodes)


def _visual(folder: Path, mesh: str, material: str) -> ShapeObservation:
    (folder / "image.png").write_bytes(png(128))
    applied = '(prepend apiSchemas = ["MaterialBindingAPI"])'
    text = body("a", f'def Mesh "m" {applied} {{\n{SQUARE}{mesh}\n}}')
    (shape,) = observe_stage(stage(folder, text + material)).shapes
    return shape


@pytest.mark.parametrize(
    ("values", "interpolation", "facing"),
    [
        ("(0, 0, 5)", "constant", 1.0),
        ("(0, 0, -1)", "uniform", -1.0),
        # One of six corners of triangles leans.
        ("(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 3, 4)", "vertex", 5.8 / 6),
        ("(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 3, 4)", "faceVarying", 5.8 / 6),
    ],
)
def test_normals_are_averaged_over_the_surface(
    values: str, interpolation: str, facing: float, tmp_path: Path
) -> None:
    found = _visual(tmp_path, NORMALS.format(values, interpolation), "").shading

    assert found is not None
    assert found.stated
    assert found.problem is None
    assert found.facing == pytest.approx(facing)


def test_flat_mesh_states_no_normals(tmp_path: Path) -> None:
    found = _visual(tmp_path, "", "").shading

    assert found is not None
    assert (found.stated, found.facing, found.mean) == (False, 1.0, (0.0, 0.0, 1.0))


@pytest.mark.parametrize(
    ("values", "interpolation", "problem"),
    [
        ("(0, 0, 1)", "vertex", "normals are 1, not 4, for vertex"),
        ("(0, 0, 1)", "edge", "normals have the unknown interpolation 'edge'"),
        ("(0, 0, nan)", "constant", "normals are not finite"),
    ],
)
def test_unusable_normals_are_a_problem(
    values: str, interpolation: str, problem: str, tmp_path: Path
) -> None:
    found = _visual(tmp_path, NORMALS.format(values, interpolation), "").shading

    assert found is not None
    assert found.problem == problem


@pytest.mark.parametrize("interpolation", ["vertex", "faceVarying"])
def test_texture_coordinates_are_integrated(interpolation: str, tmp_path: Path) -> None:
    """Means 1/2, mean squares 1/3, and E[u x] = 2/3, over an area of 6 m^2."""
    material = _textured("reader")
    (look,) = _visual(tmp_path, ST.format(interpolation), material).appearances

    assert look.mapping is not None
    assert look.mapping.moments == pytest.approx(
        [6 * value for value in (0.5, 0.5, 1 / 3, 1 / 3, 2 / 3, 0.75, 0, 0.5, 1, 0)]
    )
    assert look.mapping.center == pytest.approx((6.0, 9.0, 0.0))
    assert look.mapping.oriented == pytest.approx(1.0)


def test_placed_coordinates_are_those_that_the_image_receives(tmp_path: Path) -> None:
    """(u, v) becomes (-v, 2 u + 3): scaled, turned by a quarter, then moved."""
    material = _textured("placement")
    (look,) = _visual(tmp_path, ST.format("vertex"), material).appearances

    assert look.mapping is not None
    u, v, uu, vv = (value / 6.0 for value in look.mapping.moments[:4])
    assert (u, v) == pytest.approx((-0.5, 4.0))
    assert (uu, vv) == pytest.approx((1 / 3, 9 + 6 + 4 / 3))
    assert look.mapping.unsigned == pytest.approx(2.0)


def test_image_without_primvar_has_no_coordinates(tmp_path: Path) -> None:
    (look,) = _visual(tmp_path, "", _textured("reader")).appearances

    assert look.mapping is None
    assert dict(look.properties)["diffuseColor.st"] == (
        "texture coordinates are missing: there is no primvar 'st'"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('token inputs:sourceColorSpace = "raw"', ("sourceColorSpace", "raw")),
        # The image is grey, so that it is raw by default.
        ("", ("sourceColorSpace", "raw")),
        (SRGB, None),
        (f"{SRGB}float4 inputs:bias = (0.5, 0, 0, 0)", ("bias", (0.5, 0.0, 0.0, 0.0))),
        # The coordinates are within [0, 1].
        (f'{SRGB}token inputs:wrapS = "clamp"', None),
    ],
)
def test_reading_of_an_image_is_stated(
    text: str, expected: tuple[str, object] | None, tmp_path: Path
) -> None:
    material = _textured("reader", text)
    (look,) = _visual(tmp_path, ST.format("vertex"), material).appearances

    found = [(name.removeprefix("diffuseColor."), value) for name, value in look.properties]
    assert found == ([] if expected is None else [expected])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("color3f inputs:emissiveColor = (1, 0, 0)", {"emissiveColor": (1.0, 0.0, 0.0)}),
        ("float inputs:roughness = 0.5", {}),
        ("float inputs:metallic = 0.75", {"metallic": (0.75,)}),
        # It has no effect on an opaque surface.
        ("float inputs:opacityThreshold = 0.5", {}),
        (
            "float inputs:opacityThreshold = 0.5\nfloat inputs:opacity = 0.25",
            {"opacityThreshold": (0.5,)},
        ),
        # It is not used in the metallic workflow.
        ("color3f inputs:specularColor = (1, 0, 0)", {}),
        ("float inputs:clearcoatRoughness = 0.5", {}),
        ("float inputs:sparkle = 3", {}),
    ],
)
def test_other_inputs_of_the_surface_are_stated(
    text: str, expected: dict[str, object], tmp_path: Path
) -> None:
    (look,) = _visual(tmp_path, "", COLORED.replace("INPUTS", text)).appearances

    assert dict(look.properties) == expected
    assert look.color == pytest.approx((0.5, 0.25, 0.125))
    assert math.isclose(look.area, 6.0)


def test_other_displayed_color_is_stated(tmp_path: Path) -> None:
    text = "color3f[] primvars:displayColor = [({}, 0.25, 0.125)]"
    material = COLORED.replace("INPUTS", "")
    (equal,) = _visual(tmp_path, text.format(0.5), material).appearances
    (other,) = _visual(tmp_path, text.format(1), material).appearances

    assert dict(equal.properties) == {}
    assert dict(other.properties) == {"primvars:displayColor": (1.0, 0.25, 0.125)}


def test_surface_of_another_render_context_is_stated(tmp_path: Path) -> None:
    """Omniverse renders the one in MDL; the same preview surface is no other."""
    shader = """
    token outputs:mdl:surface.connect = </robot/paint/OmniPBR.outputs:out>
    def Shader "OmniPBR" {
        uniform token info:implementationSource = "sourceAsset"
        uniform asset info:mdl:sourceAsset = @OmniPBR.mdl@
        uniform token info:mdl:sourceAsset:subIdentifier = "OmniPBR"
        color3f inputs:diffuse_color_constant = (0, 1, 0)
        token outputs:out
    }
"""
    plain = COLORED.replace("INPUTS", "")
    start = plain.index("    def Shader")
    preview = shader.split("    def", maxsplit=1)[0].replace(
        "OmniPBR.outputs:out", "surface.outputs:surface"
    )
    (green,) = _visual(tmp_path, "", plain[:start] + shader + plain[start:]).appearances
    (same,) = _visual(tmp_path, "", plain[:start] + preview + plain[start:]).appearances

    assert dict(green.properties) == {
        "outputs:mdl:surface": "the shader OmniPBR (not explained by the URDF)"
    }
    assert dict(same.properties) == {}


@pytest.mark.parametrize(
    ("green", "different"), [(0.25, {}), (1, {"mtlx:surface:diffuseColor": (0.5, 1, 0.125)})]
)
def test_color_of_a_surface_in_materialx_is_compared(
    green: float, different: dict[str, tuple[float, ...]], tmp_path: Path
) -> None:
    shader = f"""
    token outputs:mtlx:surface.connect = </robot/paint/x.outputs:out>
    def Shader "x" {{
        uniform token info:id = "ND_UsdPreviewSurface_surfaceshader"
        color3f inputs:diffuseColor = (0.5, {green}, 0.125)
        token outputs:out
    }}
"""
    plain = COLORED.replace("INPUTS", "")
    start = plain.index("    def Shader")
    text = plain[:start] + shader + plain[start:]
    (look,) = _visual(tmp_path, "", text).appearances

    assert dict(look.properties) == different


@pytest.mark.parametrize(
    ("context", "node", "inputs", "different"),
    [
        ("glslfx", "UsdPreviewSurface", "color3f diffuseColor = (0.5, 0.25, 0.125)", {}),
        (
            "glslfx",
            "UsdPreviewSurface",
            "color3f diffuseColor = (1, 0, 0)",
            {"glslfx:surface:diffuseColor": (1, 0, 0)},
        ),
        (
            "glslfx",
            "UsdPreviewSurface",
            "color3f diffuseColor = (0.5, 0.25, 0.125)\nfloat opacity = 0.25",
            {"glslfx:surface:opacity": (0.25,)},
        ),
        (
            "mtlx",
            "ND_open_pbr_surface_surfaceshader",
            "float base_metalness = 0\nfloat geometry_opacity = 1",
            {},
        ),
        (
            "mtlx",
            "ND_open_pbr_surface_surfaceshader",
            "float base_metalness = 0.75\nfloat geometry_opacity = 0.5",
            {"mtlx:surface:base_metalness": (0.75,)} | {"mtlx:surface:geometry_opacity": (0.5,)},
        ),
        # Without luminance it emits nothing.
        ("mtlx", "ND_open_pbr_surface_surfaceshader", "color3f emission_color = (1, 0, 0)", {}),
        (
            "mtlx",
            "ND_open_pbr_surface_surfaceshader",
            "color3f emission_color = (1, 0, 0)\nfloat emission_luminance = 1",
            {"mtlx:surface:emission_color": (1, 0, 0)},
        ),
        (
            "mtlx",
            "ND_standard_surface_surfaceshader",
            "color3f opacity = (1, 1, 1)\nfloat transmission = 0.5",
            {"mtlx:surface:transmission": (0.5,)},
        ),
    ],
)
def test_other_look_in_another_render_context_is_stated(
    context: str, node: str, inputs: str, different: dict[str, tuple[float, ...]], tmp_path: Path
) -> None:
    values = re.sub(r"(?m)^(\w+) ", r"\1 inputs:", inputs)
    shader = f"""
    token outputs:{context}:surface.connect = </robot/paint/x.outputs:out>
    def Shader "x" {{
        uniform token info:id = "{node}"
        {values}
        token outputs:out
    }}
"""
    plain = COLORED.replace("INPUTS", "")
    start = plain.index("    def Shader")
    (look,) = _visual(tmp_path, "", plain[:start] + shader + plain[start:]).appearances

    assert dict(look.properties) == different


def test_texture_coordinates_in_groups_cannot_be_used(tmp_path: Path) -> None:
    st = ST.format("vertex")
    grouped = st.replace("interpolation", "elementSize = 2\n        interpolation")
    (look,) = _visual(tmp_path, grouped, _textured("reader", "")).appearances

    assert look.mapping is None
    assert "2 values per element" in str(dict(look.properties)["diffuseColor.st"])


@pytest.mark.parametrize(
    ("depth", "different"), [(0, {}), (0.1, {"outputs:displacement": "connected to bumps"})]
)
def test_displacement_by_another_shader_is_stated(
    depth: float, different: dict[str, str], tmp_path: Path
) -> None:
    shader = f"""
    token outputs:displacement.connect = </robot/paint/bumps.outputs:displacement>
    def Shader "bumps" {{
        uniform token info:id = "UsdPreviewSurface"
        float inputs:displacement = {depth}
        token outputs:displacement
    }}
"""
    plain = COLORED.replace("INPUTS", "")
    start = plain.index("    def Shader")
    text = plain[:start] + shader + plain[start:]
    (look,) = _visual(tmp_path, "", text).appearances

    assert dict(look.properties) == different


def test_color_of_a_surface_in_materialx_replaces_no_texture(tmp_path: Path) -> None:
    shader = """
    token outputs:mtlx:surface.connect = </robot/paint/x.outputs:out>
    def Shader "x" {
        uniform token info:id = "ND_UsdPreviewSurface_surfaceshader"
        color3f inputs:diffuseColor = (1, 0, 1)
        token outputs:out
    }
"""
    plain = _textured("reader", "")
    start = plain.index("    def Shader")
    text = plain[:start] + shader + plain[start:]
    (look,) = _visual(tmp_path, ST.format("vertex"), text).appearances

    assert dict(look.properties)["mtlx:surface:diffuseColor"] == (1, 0, 1)
