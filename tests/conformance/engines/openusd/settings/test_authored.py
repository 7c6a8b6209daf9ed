"""Values of hand-written stages that no URDF implies, in schemas besides physics."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Ts, Usd

from tests.conformance.engines.usd_observations import body, observe_stage, stage
from urdf_usd.conformance.observation.robot import SettingKind

HEADER = 'metersPerUnit = 1\n    upAxis = "Z"'
SQUARE = """
    point3f[] points = [(0, 0, 0), (2, 0, 0), (2, 3, 0), (0, 3, 0)]
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
    uniform token subdivisionScheme = "none"
"""
KINDS = {SettingKind.ANIMATION, SettingKind.GEOMETRY, SettingKind.SCENE, SettingKind.VALUES}


def _messages(folder: Path, content: str) -> list[tuple[SettingKind, str]]:
    """Return the settings of a body with the given content."""
    lines = content.replace("}", "\n}")
    found = observe_stage(stage(folder, body("a", lines), HEADER)).unexpected
    assert found is not None
    return [(one.kind, one.message) for one in found if one.kind in KINDS]


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (
            'def DistantLight "sun" { }',
            SettingKind.SCENE,
            "/robot/a/sun is a light, which no URDF has",
        ),
        ('def Camera "eye" { }', SettingKind.SCENE, "/robot/a/eye is a Camera, which no URDF has"),
        # A type of no registered schema.
        (
            'def Wheelwork "thing" { }',
            SettingKind.SCENE,
            "/robot/a/thing is a Wheelwork, which no URDF has",
        ),
        (
            'def Cube "c" { double size = 2\ndouble size.timeSamples = { 5: 3 } }',
            SettingKind.ANIMATION,
            "size of c has time samples that differ from its default value",
        ),
        (
            'def Scope "c" { token visibility.timeSamples = { 0: "invisible" } }',
            SettingKind.ANIMATION,
            "visibility of c has time samples that differ from its default value",
        ),
        (
            'def Xform "x" (clips = { dictionary a = { double2[] times = [] } }) {}',
            SettingKind.ANIMATION,
            "/robot/a/x has value clips",
        ),
        (
            (
                'def Cube "c" { quatf xformOp:orient = (0, 0, 0, 0)\n'
                'uniform token[] xformOpOrder = ["xformOp:orient"] }'
            ),
            SettingKind.VALUES,
            "xformOp:orient is (0, 0, 0, 0), not a unit quaternion",
        ),
        (
            'def Cube "c" { color3f[] primvars:displayColor = [(nan, 0, 0)] }',
            SettingKind.VALUES,
            "primvars:displayColor is [(nan, 0, 0)], not finite",
        ),
        (
            'def Cube "c" { float3[] extent = [(-0.1, -1, -1), (1, 1, 1)] }',
            SettingKind.GEOMETRY,
            "not that of its geometry",
        ),
        (
            'def Cube "c" { uniform token orientation = "leftHanded" }',
            SettingKind.GEOMETRY,
            "orientation is leftHanded, not rightHanded",
        ),
        (
            f'def Mesh "m" {{ {SQUARE} int[] holeIndices = [0] }}',
            SettingKind.GEOMETRY,
            "holeIndices is [0], not []",
        ),
        (
            (
                'def Xform "x" (prepend apiSchemas = ["GeomModelAPI"]) {'
                ' uniform token model:drawMode = "bounds" }'
            ),
            SettingKind.GEOMETRY,
            "model:drawMode is bounds, not inherited",
        ),
        (
            (
                f'def Mesh "m" {{ {SQUARE} def GeomSubset "s" {{ '
                'uniform token familyName = "materialBind"\nint[] indices = [7] } }'
            ),
            SettingKind.GEOMETRY,
            "its material subset is s with faces that the mesh does not have",
        ),
    ],
)
def test_effect_that_no_urdf_implies_is_reported(
    content: str, kind: SettingKind, message: str, tmp_path: Path
) -> None:
    found = _messages(tmp_path, content)

    assert [one for one, text in found if message in text] == [kind], found


@pytest.mark.parametrize(
    "content",
    [
        # Samples that equal the default.
        'def Cube "c" { double size.timeSamples = { 0: 2 }\ndouble size = 2 }',
        'def Cube "c" { float3[] extent = [(-1, -1, -1), (1, 1, 1)] }',
        'def Scope "c" { custom float weather.timeSamples = { 0: 1, 1: 2 } }',
        f'def Mesh "m" {{ {SQUARE} int[] creaseIndices = [0, 1] }}',
        f'def Mesh "m" {{ {SQUARE} bool doubleSided = 1 }}',
        'def DistantLight "sun" { token visibility = "invisible" }',
        'def Scope "s" { rel proxyPrim = </robot/a> }',
        'def RenderSettings "r" { int2 resolution = (64, 64) }',
        (
            'def Xform "x" (prepend apiSchemas = ["GeomModelAPI"]) {'
            " float3 model:drawModeColor = (1, 0, 0) }"
        ),
    ],
)
def test_harmless_value_is_not_reported(content: str, tmp_path: Path) -> None:
    """By the rules of the schemas."""
    assert _messages(tmp_path, content) == []


def test_spline_is_a_value_over_time(tmp_path: Path) -> None:
    path = stage(tmp_path, body("a", 'def Cube "c" { double size = 2\n}'), HEADER)
    opened = Usd.Stage.Open(str(path))
    spline = Ts.Spline("double")
    for time in (0.0, 5.0):
        spline.SetKnot(Ts.Knot(typeName="double", time=time, value=2.0 + time))
    opened.GetPrimAtPath("/robot/a/c").GetAttribute("size").SetSpline(spline)
    opened.Save()
    found = observe_stage(path).unexpected or ()

    assert [one.message for one in found if one.kind is SettingKind.ANIMATION] == [
        "size of c has a spline"
    ]


# A square of side 2, rotated by 45°, and a guide from 0 to 4, both moved by 10 along x.
_HINTED = """
    def Xform "x" {{
        {hint}
        def Xform "y" {{
            double3 xformOp:translate = (10, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Mesh "shown" {{
                point3f[] points = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)]
                int[] faceVertexCounts = [4]
                int[] faceVertexIndices = [0, 1, 2, 3]
                uniform token subdivisionScheme = "none"
                float xformOp:rotateZ = 45
                uniform token[] xformOpOrder = ["xformOp:rotateZ"]
            }}
            def Cube "guide" {{
                uniform token purpose = "guide"
                double size = 4
                double3 xformOp:translate = (2, 2, 2)
                uniform token[] xformOpOrder = ["xformOp:translate"]
            }}
        }}
        def Scope "none" {{ float3[] extentsHint = [(0, 0, 0), (1, 1, 1)] }}
    }}
"""
_SHOWN, _GUIDE = "(8.586, -1.414, 0), (11.414, 1.414, 0)", "(10, 0, 0), (14, 4, 4)"
_NONE = "(1, 1, 1), (-1, -1, -1)"


def _hint_messages(folder: Path, hint: str) -> list[tuple[SettingKind, str]]:
    """Return the settings of a robot that is a model, as hints are of models."""
    content = _HINTED.format(hint=hint)
    layer = stage(folder, body("a", content.replace("}", "\n}")), HEADER)
    opened = Usd.Stage.Open(str(layer))
    for path in ("/robot", "/robot/a", "/robot/a/x"):
        kind = "group" if path != "/robot/a/x" else "component"
        Usd.ModelAPI(opened.GetPrimAtPath(path)).SetKind(kind)
    opened.Save()
    found = observe_stage(layer).unexpected
    assert found is not None
    return [(one.kind, one.message) for one in found if one.kind in KINDS]


@pytest.mark.parametrize(
    "hint",
    [
        "",
        f"float3[] extentsHint = [{_SHOWN}]",
        f"float3[] extentsHint = [{_SHOWN}, {_NONE}, {_NONE}, {_GUIDE}]",
        # Of all shapes, and of poses that the robot can take.
        "float3[] extentsHint = [(8.5, -1.5, 0), (14, 4, 4)]",
        "float3[] extentsHint = [(7, -2, -2), (15, 5, 6)]",
    ],
)
def test_hint_that_covers_what_is_shown_is_implied(hint: str, tmp_path: Path) -> None:
    assert _hint_messages(tmp_path, hint) == []


@pytest.mark.parametrize(
    ("hint", "message"),
    [
        ("[(-1, -1, -1), (1, 1, 1)]", "is (-1, -1, -1) to (1, 1, 1), not (8.586, "),
        (f"[{_GUIDE}]", "not (8.586, -1.414, 0) to (11.41, 1.414, 0) of its shapes"),
        # In millimetres.
        ("[(8586, -1414, 0), (11414, 1414, 0)]", "not (8.586, -1.414, 0)"),
        ("[(-1e3, -1e3, -1e3), (1e3, 1e3, 1e3)]", "not (8.586, -1.414, 0)"),
        (f"[{_NONE}]", "is empty, not (8.586"),
        ("[(9, -1, -1)]", "is empty, not (8.586"),
        ("[]", "is empty, not (8.586"),
    ],
)
def test_wrong_hint_of_extents_is_reported(hint: str, message: str, tmp_path: Path) -> None:
    ((kind, found),) = _hint_messages(tmp_path, f"float3[] extentsHint = {hint}")

    assert kind is SettingKind.GEOMETRY
    assert found.startswith("extentsHint")
    assert message in found


def test_hint_of_a_prim_that_is_no_model_has_no_effect(tmp_path: Path) -> None:
    """OpenUSD's bounds use hints of models alone."""
    content = _HINTED.format(hint="float3[] extentsHint = [(-1, -1, -1), (1, 1, 1)]")

    assert _messages(tmp_path, content) == []
