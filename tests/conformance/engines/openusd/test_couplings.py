"""Mimic couplings: what simulators act on, and what is lost on them."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.engines.single_joints import (
    LIMITED,
    PRISMATIC,
    REVOLUTE,
    led_joint,
)
from tests.conformance.engines.usd_readings import (
    DATA,
    ask,
    body,
    joint,
    joint_named,
    stage,
)
from urdf_usd.conformance.observation.robot import MimicObservation

DEGREE = math.pi / 180
NEWTON = ("NewtonMimicAPI",)
# Of joints that slide as well; the leader's axis does not matter.
PHYSX = ("PhysxMimicJointAPI:rotY",)
CUSTOM = """
    custom uniform string urdf:mimic:joint = "lead"
    custom uniform double urdf:mimic:multiplier = -2
    custom uniform double urdf:mimic:offset = 0.25
"""
LEAD = "rel newton:mimicJoint = </robot/lead>\n"


def _geared(gearing: float, offset: float) -> str:
    """Return attributes of PhysX's coupling."""
    return f"""
        rel physxMimicJoint:rotY:referenceJoint = </robot/lead>
        uniform token physxMimicJoint:rotY:referenceJointAxis = "rotX"
        float physxMimicJoint:rotY:gearing = {gearing}
        float physxMimicJoint:rotY:offset = {offset}
    """


def test_newton_has_its_offset_in_degrees() -> None:
    """A multiplier has no unit."""
    wrist = joint_named(ask(DATA / "nested_arm.usda"), "wrist_turn")

    assert wrist.mimic is not None
    assert (wrist.mimic.leader, wrist.mimic.multiplier) == ("elbow", -2.0)
    assert wrist.mimic.offset == pytest.approx(math.pi / 6)


@pytest.mark.parametrize(
    ("kinds", "multiplier", "offset"),
    [
        ((REVOLUTE, REVOLUTE), -0.5, -30 * DEGREE),
        ((PRISMATIC, PRISMATIC), -0.5, -30.0),
        # Gearing in metres per degree, the offset in metres.
        ((REVOLUTE, PRISMATIC), -0.5 / DEGREE, -30.0),
        # In degrees per metre, and degrees.
        ((PRISMATIC, REVOLUTE), -0.5 * DEGREE, -30 * DEGREE),
    ],
)
def test_physx_has_the_opposite_signs_and_couples_all_kinds(
    tmp_path: Path, kinds: tuple[str, str], multiplier: float, offset: float
) -> None:
    """Its documentation says position + gearing * leader + offset = 0."""
    content = LIMITED + _geared(0.5, 30)
    mimic = led_joint(tmp_path, content, PHYSX, kinds=kinds).mimic

    assert mimic is not None
    assert mimic.leader == "lead"
    assert (mimic.multiplier, mimic.offset) == pytest.approx((multiplier, offset))


@pytest.mark.parametrize(("content", "leader"), [("", LIMITED), (LIMITED, "")])
def test_physx_couples_no_joint_that_turns_without_limits(
    tmp_path: Path, content: str, leader: str
) -> None:
    """It refuses the coupling, so what the URDF says counts."""
    found = led_joint(
        tmp_path, content + _geared(0.5, 30) + CUSTOM, PHYSX, leader=leader
    )

    assert found.mimic == MimicObservation("lead", -2.0, 0.25)


def test_physx_couples_nothing_outside_articulations(tmp_path: Path) -> None:
    """A joint that is excluded closes a loop."""
    leader = LIMITED + "uniform bool physics:excludeFromArticulation = true\n"
    found = led_joint(tmp_path, LIMITED + _geared(0.5, 30), PHYSX, leader=leader)

    assert found.mimic is None


def test_custom_coupling_counts_where_no_schema_can_say_it() -> None:
    """A slider that follows a hinge, in an asset for Newton."""
    slide = joint_named(ask(DATA / "nested_arm.usda"), "slide")

    assert slide.mimic == MimicObservation("elbow", -0.05, 0.01)


def test_custom_coupling_counts_in_an_asset_for_anybody(tmp_path: Path) -> None:
    """There is no other word."""
    found = led_joint(tmp_path, CUSTOM)

    assert found.mimic == MimicObservation("lead", -2.0, 0.25)
    assert found.note is None


@pytest.mark.parametrize(
    ("schemas", "silent"),
    [
        (("NewtonJointAPI",), "NewtonMimicAPI"),
        (("PhysxJointAPI",), "PhysxMimicJointAPI"),
    ],
)
def test_custom_coupling_is_lost_where_the_schema_could_say_it(
    tmp_path: Path, schemas: tuple[str, ...], silent: str
) -> None:
    """Two hinges: no simulator looks for urdf:mimic."""
    found = led_joint(tmp_path, LIMITED + CUSTOM, leader_schemas=schemas)

    assert found.mimic is None
    assert found.note == f"urdf:mimic names lead, but {silent} does not"


def test_custom_coupling_counts_where_float32_ends(tmp_path: Path) -> None:
    """A smaller number would be zero: a coupling of nothing."""
    text = """
        custom uniform string urdf:mimic:joint = "lead"
        custom uniform double urdf:mimic:multiplier = 1e-40
    """
    found = led_joint(tmp_path, text, leader_schemas=("NewtonJointAPI",))

    assert found.mimic == MimicObservation("lead", 1e-40, 0.0)


@pytest.mark.parametrize(
    ("custom", "note"),
    [
        ("custom uniform double urdf:mimic:offset = 0.25", None),
        ("", "NewtonMimicAPI and urdf:mimic disagree"),
    ],
)
def test_two_couplings_must_agree(
    tmp_path: Path, custom: str, note: str | None
) -> None:
    """The schema's is the one that acts."""
    text = f"""
        {LEAD}
        float newton:mimicCoef0 = {0.25 / DEGREE}
        custom uniform string urdf:mimic:joint = "lead"
        {custom}
    """
    found = led_joint(tmp_path, text, NEWTON)

    assert found.mimic is not None
    assert (found.mimic.leader, found.mimic.multiplier) == ("lead", 1.0)
    assert found.mimic.offset == pytest.approx(0.25)
    assert found.note == note


@pytest.mark.parametrize(
    ("gearing", "leads"), [(2.0, MimicObservation("lead", -2.0, 0.0)), (-2.0, None)]
)
def test_schemas_must_state_the_same_value(
    tmp_path: Path, gearing: float, leads: MimicObservation | None
) -> None:
    """Where they are not, there is no coupling in common."""
    text = LIMITED + LEAD + "float newton:mimicCoef1 = -2\n" + _geared(gearing, 0)
    found = led_joint(tmp_path, text, (*NEWTON, *PHYSX))

    assert found.mimic == leads
    agree = "NewtonMimicAPI and PhysxMimicJointAPI disagree"
    assert found.note == (None if leads else agree)


def _chain(folder: Path, text: str) -> str | None:
    """Return the note on a joint whose chain is a, b, c, of which Newton is told."""
    bodies = "".join(map(body, "wxyz"))
    first = joint(REVOLUTE, "a", "", ("w", "x"))
    second = joint(
        REVOLUTE,
        "b",
        """
        rel newton:mimicJoint = </robot/a>
        float newton:mimicCoef1 = -0.5
        custom uniform string urdf:mimic:joint = "a"
        custom uniform double urdf:mimic:multiplier = -0.5
        """,
        ("x", "y"),
        NEWTON,
    )
    custom = """
        custom uniform string urdf:mimic:joint = "b"
        custom uniform double urdf:mimic:multiplier = 0.8
    """
    third = joint(REVOLUTE, "c", text + custom, ("y", "z"), NEWTON)
    found = joint_named(ask(stage(folder, bodies + first + second + third)), "c")
    assert found.mimic is not None
    return found.note


@pytest.mark.parametrize(
    ("leader", "multiplier", "note"),
    [
        ("a", -0.4, None),
        ("b", 0.8, None),
        ("a", 0.8, "NewtonMimicAPI and urdf:mimic disagree"),
    ],
)
def test_chain_may_be_authored_as_coupling_to_its_head(
    tmp_path: Path, leader: str, multiplier: float, note: str | None
) -> None:
    """It is the same motion."""
    text = f"""
        rel newton:mimicJoint = </robot/{leader}>
        float newton:mimicCoef1 = {multiplier}
    """

    assert _chain(tmp_path, text) == note


def test_chain_of_couplings_continues_in_custom_attributes(tmp_path: Path) -> None:
    """A slide that follows a turn is news to Newton; what follows that slide is not."""
    bodies = "".join(map(body, "wxyz"))
    first = joint(REVOLUTE, "a", "", ("w", "x"))
    second = 'custom uniform string urdf:mimic:joint = "a"'
    third = """
        rel newton:mimicJoint = </robot/b>
        custom uniform string urdf:mimic:joint = "b"
    """
    slides = joint(PRISMATIC, "b", second, ("x", "y")) + joint(
        PRISMATIC, "c", third, ("y", "z"), NEWTON
    )
    found = joint_named(ask(stage(tmp_path, bodies + first + slides)), "c")

    assert found.mimic == MimicObservation("b", 1.0, 0.0)
    assert found.note is None


def test_coupling_acts_wherever_schemas_were_registered() -> None:
    """Also in a process that opened a stage before Newton's schemas were known."""
    script = f"""
from pxr import Usd, UsdPhysics
UsdPhysics.RevoluteJoint.Define(Usd.Stage.CreateInMemory(), "/joint")
from tests.conformance.engines.usd_readings import DATA, ask, joint_named
print(joint_named(ask(DATA / "{DATA.joinpath("nested_arm.usda")}"), "wrist_turn").mimic)
"""
    printed = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[4],
    ).stdout

    assert "leader='elbow', multiplier=-2.0" in printed


@pytest.mark.parametrize(
    ("text", "schemas"),
    [
        (f"bool newton:mimicEnabled = false\n{LEAD}", NEWTON),
        ("rel newton:mimicJoint = </robot/gone>", NEWTON),
        ("", NEWTON),
        (LEAD, ()),
        (LIMITED + "rel physxMimicJoint:rotY:referenceJoint = </robot/gone>", PHYSX),
        (LIMITED, PHYSX),
        (LIMITED + _geared(1, 0), ()),
    ],
)
def test_coupling_without_effect_is_none(
    tmp_path: Path, text: str, schemas: tuple[str, ...]
) -> None:
    """Disabled, not applied, or without anything to follow."""
    assert led_joint(tmp_path, text, schemas).mimic is None
