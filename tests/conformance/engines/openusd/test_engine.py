"""Structure as reported by the USD engine, and stages that it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pxr import Usd, UsdPhysics

from tests.conformance.engines.usd_observations import (
    DATA,
    body,
    observe_stage,
    stage,
)
from urdf_usd.conformance.engines.openusd.engine import OpenusdEngine
from urdf_usd.conformance.engines.protocol import (
    AbstentionError,
    Available,
    InvalidFileError,
    Side,
    Unavailable,
)

DEFAULT = '#usda 1.0\n(\n    defaultPrim = "r"\n    {}\n)\n'


def test_name_and_version_are_reported() -> None:
    engine = OpenusdEngine()
    available = engine.availability()

    assert (engine.name, engine.side) == ("openusd", Side.USD)
    assert isinstance(available, Available)
    assert available.version.startswith("usd-core 2")


def test_links_and_joints_have_prims() -> None:
    arm = observe_stage(DATA / "nested_arm.usda")
    stage = Usd.Stage.Open(str(DATA / "nested_arm.usda"))
    kinds = {subject: stage.GetPrimAtPath(path).GetTypeName() for subject, path in arm.prims}
    assert {subject.partition(" ")[2] for subject in kinds} == {
        *(link.name for link in arm.links),
        *(joint.name for joint in arm.joints),
    }
    assert kinds["link upper"] == "Xform"
    assert kinds["joint elbow"] == "PhysicsRevoluteJoint"
    assert kinds["joint tool weld"] == "Xform"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not a layer", "OpenUSD: "),
        ('#usda 1.0\ndef Xform "robot"\n{\n}\n', "no default prim"),
        (DEFAULT.format("") + 'def Scope "r"\n{\n}\n', "neither a body nor a frame"),
        (
            DEFAULT.format("") + 'def Xform "r" (payload = @gone.usda@)\n{\n}\n',
            "the stage is incomplete: Could not open asset",
        ),
        (
            DEFAULT.format("subLayers = [@gone.usda@]") + 'def Xform "r"\n{\n}\n',
            "the stage is incomplete: Could not load sublayer",
        ),
    ],
    ids=["text", "default", "empty", "payload", "sublayer"],
)
def test_unreadable_stage_is_refused_with_its_reason(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], text: str, reason: str
) -> None:
    path = tmp_path / "robot.usda"
    path.write_text(text)

    with pytest.raises(AbstentionError, match=reason) as abstention:
        observe_stage(path)

    assert "\n" not in str(abstention.value)
    assert capfd.readouterr() == ("", "")


SURFACE = """def Shader "s" {{
    uniform token info:id = "{}"
    {}
}}
"""


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("double physics:mass = 1", "mass is a double instead of a float"),
        ("double3 physics:diagonalInertia = (1, 1, 1)", "double3 instead of a float3"),
        ("quatd physics:principalAxes = (1, 0, 0, 0)", "a quatd instead of a quatf"),
        ('def Mesh "m" {\npoint3d[] points = [(0, 0, 0)]\n}', "point3d[] instead of"),
        ('def Mesh "m" {\nint64[] faceVertexIndices = []\n}', "int64[] instead of"),
        ('def Cube "c" {\ndouble size = None\n}', "size is blocked, and has no value"),
        (
            SURFACE.format("UsdPreviewSurface", "color4f inputs:diffuseColor = {0}").replace(
                "{0}", "(1, 0, 0, 1)"
            ),
            "inputs:diffuseColor is a color4f instead of a color3f",
        ),
        (
            SURFACE.format("UsdUVTexture", 'string inputs:file = "a.png"'),
            "inputs:file is a string instead of a asset",
        ),
    ],
)
def test_value_that_consumers_do_not_read_is_refused(
    tmp_path: Path, content: str, reason: str
) -> None:
    path = stage(tmp_path, body("a", content, ("PhysicsMassAPI",)))

    with pytest.raises(InvalidFileError, match=re.escape(reason)):
        observe_stage(path)


def test_missing_file_is_refused_with_its_reason(tmp_path: Path) -> None:
    """The reason is OpenUSD's message."""
    with pytest.raises(AbstentionError, match="Failed to open layer"):
        observe_stage(tmp_path / "robot.usda")


def test_old_openusd_makes_the_engine_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old versions lack the parser's entry point."""
    monkeypatch.delattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange")

    assert OpenusdEngine().availability() == Unavailable(
        "this OpenUSD has no UsdPhysicsLoadStageFromPrimRange", "install usd-core 25.11 or newer"
    )
