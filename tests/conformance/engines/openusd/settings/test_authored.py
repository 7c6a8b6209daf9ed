"""Values of hand-written stages that no URDF implies, in schemas besides physics."""

from __future__ import annotations

from pathlib import Path

import pytest
from pxr import Ts, Usd

from tests.conformance.engines.usd_observations import body, observe_stage, stage
from urdf_usd.conformance.checks.catalogue import CHECKS
from urdf_usd.conformance.engines.openusd.settings.authored import COMPARED, HARMLESS
from urdf_usd.conformance.observation.robot import SettingKind

HEADER = 'metersPerUnit = 1\n    upAxis = "Z"'
SQUARE = """
    point3f[] points = [(0, 0, 0), (2, 0, 0), (2, 3, 0), (0, 3, 0)]
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
    uniform token subdivisionScheme = "none"
"""
KINDS = {
    SettingKind.ANIMATION,
    SettingKind.GEOMETRY,
    SettingKind.SCENE,
    SettingKind.VALUES,
}


def _messages(folder: Path, content: str) -> list[tuple[SettingKind, str]]:
    """Return the settings of a body with the given content."""
    lines = content.replace("}", "\n}")
    found = observe_stage(stage(folder, body("a", lines), HEADER)).unimplied
    assert found is not None
    return [(one.kind, one.message) for one in found if one.kind in KINDS]


def test_compared_properties_name_existing_checks() -> None:
    """A check that was renamed would leave a gap."""
    assert set(COMPARED.values()) <= {check.id for check in CHECKS}
    assert not COMPARED.keys() & HARMLESS.keys()


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (
            'def DistantLight "sun" { }',
            SettingKind.SCENE,
            "/robot/a/sun is a light, which no URDF has",
        ),
        (
            'def Camera "eye" { }',
            SettingKind.SCENE,
            "/robot/a/eye is a Camera, which no URDF has",
        ),
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
    """With its kind."""
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
    """Of an attribute that has no other value."""
    path = stage(tmp_path, body("a", 'def Cube "c" { double size = 2\n}'), HEADER)
    opened = Usd.Stage.Open(str(path))
    spline = Ts.Spline("double")
    for time in (0.0, 5.0):
        spline.SetKnot(Ts.Knot(typeName="double", time=time, value=2.0 + time))
    opened.GetPrimAtPath("/robot/a/c").GetAttribute("size").SetSpline(spline)
    opened.Save()
    found = observe_stage(path).unimplied or ()

    assert [one.message for one in found if one.kind is SettingKind.ANIMATION] == [
        "size of c has a spline"
    ]
