"""Structure as reported by the USD engine, and stages that it refuses."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from pxr import Usd, UsdPhysics

from tests.conformance.engines.usd_observations import (
    DATA,
    body,
    joint,
    joint_named,
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
from urdf_usd.conformance.observation.robot import Base, JointType

DEFAULT = '#usda 1.0\n(\n    defaultPrim = "r"\n    {}\n)\n'
TWO = body("a") + body("b")
FLOATING = """
    bool physics:jointEnabled = false
    bool physics:excludeFromArticulation = true
    custom uniform string urdf:joint:type = "floating"
"""


def test_name_and_version_are_reported() -> None:
    engine = OpenusdEngine()
    available = engine.availability()

    assert (engine.name, engine.side) == ("openusd", Side.USD)
    assert isinstance(available, Available)
    assert available.version.startswith("usd-core 2")


def test_links_are_bodies_and_frames_by_their_urdf_names() -> None:
    arm = observe_stage(DATA / "nested_arm.usda")

    assert {link.name: link.body for link in arm.links} == {
        "world": None,
        "base-link": "base-link",
        "visual": "base-link",
        "tool": "base-link",
        "upper": "upper",
        "slider": "slider",
        "wrist": "wrist",
    }
    assert (arm.robot, arm.root) == ("test arm", "world")


def test_joints_connect_the_links_of_their_targets() -> None:
    arm = observe_stage(DATA / "nested_arm.usda")

    assert {(j.name, j.type, j.parent, j.child) for j in arm.joints} == {
        ("world-joint", JointType.FIXED, "world", "base-link"),
        ("tool weld", JointType.FIXED, "base-link", "tool"),
        ("elbow", JointType.REVOLUTE, "tool", "upper"),
        ("slide", JointType.PRISMATIC, "upper", "slider"),
        ("wrist_turn", JointType.CONTINUOUS, "slider", "wrist"),
    }


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


def test_base_joined_to_the_world_is_fixed() -> None:
    arm = observe_stage(DATA / "nested_arm.usda")

    assert arm.base is Base.FIXED
    assert arm.articulation_roots == 1


def test_base_without_such_a_joint_floats() -> None:
    cart = observe_stage(DATA / "flat_cart.usda")

    assert (cart.base, cart.root, cart.articulation_roots) == (Base.FLOATING, "chassis", 1)


def test_child_on_side_zero_is_still_the_child() -> None:
    tilt = joint_named(observe_stage(DATA / "flat_cart.usda"), "tilt")

    assert (tilt.parent, tilt.child) == ("chassis", "pole")
    assert tilt.note == "its first body is the child"


def test_stage_without_bodies_is_static(tmp_path: Path) -> None:
    floor = observe_stage(stage(tmp_path, 'def Xform "floor"\n{\n}'))

    assert (floor.base, floor.root) == (Base.STATIC, "floor")


def test_xforms_that_group_shapes_are_not_in_notes(tmp_path: Path) -> None:
    pieces = 'def Xform "groups" {\n def Cube "b1" {\n}\n def Cube "b2" {\n}\n}\n'
    tool = 'def Xform "tool" {\n}\n'
    grouped, framed = (
        [note for note in reading.notes if "state no joint" in note]
        for reading in (
            observe_stage(stage(tmp_path, body("a", content)))
            for content in (pieces, pieces + tool)
        )
    )

    assert grouped == []
    assert framed == ["tool state no joint: links, or Xforms that hold geometry"]


def test_disabled_body_is_static(tmp_path: Path) -> None:
    path = stage(tmp_path, body("a", "bool physics:rigidBodyEnabled = false"))
    reading = observe_stage(path)

    assert reading.base is Base.STATIC
    assert reading.nondynamic == ("a",)
    assert "body /robot/a is disabled" in reading.notes


def test_kinematic_body_is_not_dynamic(tmp_path: Path) -> None:
    held = body("a") + body("b", "bool physics:kinematicEnabled = true")

    assert observe_stage(stage(tmp_path, held)).nondynamic == ("b",)


@pytest.mark.parametrize(("axis", "up"), [("Y", (0, 0.6, -0.8)), ("Z", (0, 0.8, 0.6))])
def test_up_axis_is_in_the_root_frame(
    tmp_path: Path, axis: str, up: tuple[float, float, float]
) -> None:
    """The root is turned about X by the angle with cosine 0.6 and sine 0.8."""
    half = math.acos(0.6) / 2
    text = f"""
        quatd xformOp:orient = ({math.cos(half)}, {math.sin(half)}, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:orient"]
    """
    reading = observe_stage(stage(tmp_path, body("a", text), f'upAxis = "{axis}"'))

    assert reading.up == pytest.approx(up)


def test_disabled_joint_connects_nothing(tmp_path: Path) -> None:
    off = joint("PhysicsFixedJoint", "off", "bool physics:jointEnabled = false")
    reading = observe_stage(stage(tmp_path, TWO + off))

    assert reading.joints == ()
    assert "joint off is disabled and connects nothing" in reading.notes
    assert "no joint connects /robot/b" in reading.notes


def test_disabled_joint_that_is_marked_floating_is_floating(tmp_path: Path) -> None:
    reading = observe_stage(stage(tmp_path, TWO + joint("PhysicsJoint", "loose", FLOATING)))

    assert joint_named(reading, "loose").type is JointType.FLOATING
    assert reading.base is Base.FLOATING


def test_floating_joint_to_the_world_makes_the_base_floating(tmp_path: Path) -> None:
    content = 'def Xform "world"\n{\n' + body("a") + "}\n"
    content += joint("PhysicsJoint", "loose", FLOATING, ("world", "world/a"))
    reading = observe_stage(stage(tmp_path, content))

    assert (reading.base, reading.root) == (Base.FLOATING, "world")


def test_body_names_its_floating_joint_by_attributes(tmp_path: Path) -> None:
    marked = """
        custom uniform string urdf:joint:name = "loose"
        custom uniform string urdf:joint:type = "floating"
        custom uniform string urdf:joint:parent = "a"
    """
    loose = joint_named(observe_stage(stage(tmp_path, body("a") + body("b", marked))), "loose")

    assert (loose.type, loose.parent, loose.child) == (JointType.FLOATING, "a", "b")


def test_missing_joint_target_joins_to_the_world(tmp_path: Path) -> None:
    """OpenUSD has no warning for it, so the engine adds a note."""
    astray = joint("PhysicsFixedJoint", "astray", sides=("typo", "a"))
    reading = observe_stage(stage(tmp_path, body("a") + astray))

    assert reading.base is Base.FIXED
    assert reading.notes[0] == (
        "joint astray targets /robot/typo, which does not exist: that side is attached to the world"
    )


def test_articulation_root_on_a_body_fixed_to_the_world_is_noted(tmp_path: Path) -> None:
    """OpenUSD reports the articulation as floating."""
    held = body("a", schemas=["PhysicsArticulationRootAPI"]) + body("b")
    held += joint("PhysicsRevoluteJoint", "hinge")
    held += 'def PhysicsFixedJoint "hold"\n{\n    rel physics:body1 = </robot/a>\n}\n'
    reading = observe_stage(stage(tmp_path, held))

    assert reading.base is Base.FIXED
    assert any("as if floating" in note for note in reading.notes)


def test_moving_joint_outside_articulations_is_noted(tmp_path: Path) -> None:
    reading = observe_stage(stage(tmp_path, TWO + joint("PhysicsRevoluteJoint", "hinge")))

    assert reading.articulation_roots == 0
    assert reading.unarticulated == ("hinge",)
    assert "no articulation contains joint hinge" in reading.notes


_EXCLUDED = "bool physics:excludeFromArticulation = true"
_TABLE = 'def Cube "table" (prepend apiSchemas = ["PhysicsCollisionAPI"])\n{\n}\n'


@pytest.mark.parametrize(
    ("kind", "end", "content", "found"),
    [
        ("PhysicsRevoluteJoint", "frame", "", ("tie",)),
        ("PhysicsPrismaticJoint", "table", "", ("tie",)),
        ("PhysicsSphericalJoint", "nowhere", "", ("tie",)),
        ("PhysicsRevoluteJoint", "c", "", ()),
        ("PhysicsFixedJoint", "frame", "", ()),
        ("PhysicsDistanceJoint", "frame", "", ()),
        ("PhysicsRevoluteJoint", "frame", _EXCLUDED, ()),
        ("PhysicsRevoluteJoint", "frame", "bool physics:jointEnabled = false", ()),
    ],
)
@pytest.mark.parametrize("side", [0, 1])
def test_moving_joint_without_a_body_on_one_side_is_reported(
    tmp_path: Path, kind: str, end: str, content: str, found: tuple[str, ...], side: int
) -> None:
    rooted = body("a", schemas=["PhysicsArticulationRootAPI"]) + body("b") + body("c")
    rooted += joint("PhysicsRevoluteJoint", "hinge")
    rooted += 'def Xform "frame"\n{\n}\n' + _TABLE
    ends = ("a", end) if side else (end, "a")
    reading = observe_stage(stage(tmp_path, rooted + joint(kind, "tie", content, sides=ends)))

    assert reading.at_world == found


def test_joint_to_the_world_outside_articulations_is_accepted(tmp_path: Path) -> None:
    hinge = joint("PhysicsRevoluteJoint", "hinge", sides=("frame", "a"))

    assert observe_stage(stage(tmp_path, body("a") + hinge)).at_world == ()


def test_excluded_joint_is_outside_the_articulation(tmp_path: Path) -> None:
    """OpenUSD's parser lists some of these as inside."""
    rooted = body("a", schemas=["PhysicsArticulationRootAPI"]) + body("b") + body("c")
    excluded = "bool physics:excludeFromArticulation = true"
    rooted += joint("PhysicsRevoluteJoint", "hinge", excluded)
    rooted += joint("PhysicsRevoluteJoint", "next", sides=("b", "c"))
    rooted += joint("PhysicsFixedJoint", "weld", excluded, sides=("a", "d"))
    reading = observe_stage(stage(tmp_path, rooted + body("d")))

    assert set(reading.unarticulated) >= {"hinge", "weld"}


def test_closed_loop_is_reported_once_per_joint(tmp_path: Path) -> None:
    loop = TWO + body("c")
    loop += joint(
        "PhysicsRevoluteJoint", "closing", "bool physics:excludeFromArticulation = true", ("a", "c")
    )
    loop += joint("PhysicsRevoluteJoint", "first")
    loop += joint("PhysicsRevoluteJoint", "second", sides=("b", "c"))
    reading = observe_stage(stage(tmp_path, loop))

    assert [j.name for j in reading.joints] == ["first", "second", "closing"]
    assert joint_named(reading, "closing").note == "it closes a loop"


def test_second_body_with_the_same_name_is_named_by_path(tmp_path: Path) -> None:
    twins = 'def Scope "left"\n{\n' + body("arm") + "}\n"
    twins += 'def Scope "right"\n{\n' + body("arm") + "}\n"
    reading = observe_stage(stage(tmp_path, twins))

    assert [link.name for link in reading.links] == ["arm", "/robot/right/arm"]
    assert "body /robot/right/arm is named by its path: another body has its name" in (
        reading.notes
    )


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


@pytest.mark.parametrize(
    "content",
    [
        'def Mesh "m" {\nfloat3[] points = [(0, 0, 0)]\n}',
        SURFACE.format("UsdPrimvarReader_float2", 'token inputs:varname = "st"'),
        "custom double urdf:limit:effort = 1",
        "double physics:density = 1",
    ],
)
def test_other_types_without_effect_are_accepted(tmp_path: Path, content: str) -> None:
    """Roles, tokens for texts of shaders, and what no schema of the prim declares."""
    assert observe_stage(stage(tmp_path, body("a", content))).links


def test_missing_file_is_refused_with_its_reason(tmp_path: Path) -> None:
    """The reason is OpenUSD's message."""
    with pytest.raises(AbstentionError, match="Failed to open layer"):
        observe_stage(tmp_path / "robot.usda")


def test_warnings_of_openusd_become_notes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    reading = observe_stage(stage(tmp_path, body("a")))

    assert any("possibly invalid inertia tensor" in note for note in reading.notes)
    assert capfd.readouterr() == ("", "")


def test_single_body_on_a_moving_base_joint_is_articulated(tmp_path: Path) -> None:
    """OpenUSD then lists the joint but no body."""
    hinge = joint(
        "PhysicsRevoluteJoint", "hinge", sides=("", "a"), schemas=["PhysicsArticulationRootAPI"]
    ).replace("</robot/>", "</robot>")
    reading = observe_stage(stage(tmp_path, body("a", "float physics:mass = 1") + hinge))

    assert (reading.base, reading.articulation_roots) == (Base.FIXED, 1)
    assert not any("articulation" in note for note in reading.notes)


def test_joint_between_a_body_and_its_own_frame_is_noted(tmp_path: Path) -> None:
    within = joint("PhysicsFixedJoint", "self", sides=("a/tip", "a"))
    reading = observe_stage(stage(tmp_path, body("a", 'def Xform "tip"\n{\n}') + within))

    assert "joint self has one body, or none, on both sides" in reading.notes


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        ({"rotX": (1, -1), "rotY": (0, 0)}, JointType.PLANAR),
        ({"rotX": (1, 0), "rotY": (2, -5)}, JointType.PLANAR),
        # Held a degree away from zero.
        ({"rotX": (1, -1), "rotY": (1, 1)}, None),
        ({"rotX": (1, -1), "rotY": (1, -1), "distance": (0, 2)}, None),
    ],
)
def test_untyped_joint_is_locked_at_zero(
    limits: dict[str, tuple[int, int]], kind: JointType | None, tmp_path: Path
) -> None:
    limits["transZ"] = (1, -1)
    text = "".join(
        f"float limit:{name}:physics:low = {low}\nfloat limit:{name}:physics:high = {high}\n"
        for name, (low, high) in limits.items()
    )
    schemas = tuple(f"PhysicsLimitAPI:{name}" for name in limits)
    plane = joint("PhysicsJoint", "plane", text, schemas=schemas)
    found = observe_stage(stage(tmp_path, body("a") + body("b") + plane))

    assert [one.type for one in found.joints] == ([kind] if kind else [])


def test_body_below_a_shape_is_a_link(tmp_path: Path) -> None:
    """OpenUSD's parser reports it, so that it is simulated."""
    part = 'def GeomSubset "part" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}'
    mesh = f'def Mesh "shape" {{\n{part}\n}}'
    found = observe_stage(stage(tmp_path, body("a", mesh)))

    assert {link.name for link in found.links} == {"a", "part"}


def test_distance_joint_is_noted(tmp_path: Path) -> None:
    reading = observe_stage(stage(tmp_path, TWO + joint("PhysicsDistanceJoint", "rope")))

    assert reading.joints == ()
    assert "joint rope is not stated: it is a distance joint" in reading.notes


def test_joint_of_a_root_frame_is_not_reported(tmp_path: Path) -> None:
    orphan = 'def Xform "tip"\n{\n    custom uniform string urdf:joint:name = "w"\n}\n'

    assert observe_stage(stage(tmp_path, orphan)).joints == ()


def test_frame_marked_as_floating_is_reported_as_fixed(tmp_path: Path) -> None:
    marked = """
        def Xform "tip"
        {
            custom uniform string urdf:joint:name = "loose"
            custom uniform string urdf:joint:type = "floating"
        }
    """
    loose = joint_named(observe_stage(stage(tmp_path, body("a", marked))), "loose")

    assert (loose.type, loose.parent, loose.child) == (JointType.FIXED, "a", "tip")
    assert loose.note == "urdf:joint:type is floating, but its prim has no body"


def test_old_openusd_makes_the_engine_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Old versions lack the parser's entry point."""
    monkeypatch.delattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange")

    assert OpenusdEngine().availability() == Unavailable(
        "this OpenUSD has no UsdPhysicsLoadStageFromPrimRange", "install usd-core 25.11 or newer"
    )
