"""Limits, couplings and passive forces of joints, in SI units."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.observation import JointType, MimicObservation
from tests.conformance.witnesses.usd_readings import (
    DATA,
    ask,
    body,
    joint,
    joint_named,
    stage,
)

if TYPE_CHECKING:
    from conformance.observation import JointObservation

REVOLUTE, PRISMATIC = "PhysicsRevoluteJoint", "PhysicsPrismaticJoint"


def only_joint(
    folder: Path, kind: str, content: str, header: str = "metersPerUnit = 1"
) -> JointObservation:
    """Return the reading of a joint between two bodies."""
    text = body("a") + body("b") + joint(kind, "it", content)
    return joint_named(ask(stage(folder, text, header)), "it")


def bounds(lower: str, upper: str) -> str:
    """Return limit attributes."""
    return f"float physics:lowerLimit = {lower}\nfloat physics:upperLimit = {upper}\n"


def test_revolute_limits_become_radians() -> None:
    """UsdPhysics has degrees."""
    elbow = joint_named(ask(DATA / "nested_arm.usda"), "elbow")

    assert (elbow.lower, elbow.upper) == (-math.pi / 2, math.pi / 4)


def test_prismatic_limits_stay_in_metres() -> None:
    """Only angles are converted."""
    slide = joint_named(ask(DATA / "nested_arm.usda"), "slide")

    assert (slide.lower, slide.upper) == (-0.125, 0.25)


def test_revolute_joint_without_limits_is_continuous() -> None:
    """It has no limits, as URDF's has none."""
    wrist = joint_named(ask(DATA / "nested_arm.usda"), "wrist_turn")

    assert wrist.type is JointType.CONTINUOUS
    assert (wrist.lower, wrist.upper) == (None, None)


def test_prismatic_joint_without_limits_is_unlimited(tmp_path: Path) -> None:
    """URDF has no other word for it."""
    rail = only_joint(tmp_path, PRISMATIC, "")

    assert rail.type is JointType.PRISMATIC
    assert (rail.lower, rail.upper) == (-math.inf, math.inf)


@pytest.mark.parametrize("infinite", ["inf", "3.4028235e38"])
def test_revolute_range_that_is_open_on_one_side_is_lost(
    tmp_path: Path, infinite: str
) -> None:
    """OpenUSD's parser disables both sides then."""
    assert only_joint(tmp_path, REVOLUTE, bounds("-90", infinite)).type is (
        JointType.CONTINUOUS
    )


def test_revolute_bound_beyond_all_angles_is_none(tmp_path: Path) -> None:
    """How a writer keeps the other side effective."""
    half_open = only_joint(tmp_path, REVOLUTE, bounds("-90", "1e37"))

    assert half_open.type is JointType.REVOLUTE
    assert (half_open.lower, half_open.upper) == (-math.pi / 2, math.inf)


def test_prismatic_range_that_is_open_on_one_side_is_kept(tmp_path: Path) -> None:
    """Unlike a revolute joint's."""
    rail = only_joint(tmp_path, PRISMATIC, bounds("-inf", "0.5"))

    assert (rail.lower, rail.upper) == (-math.inf, 0.5)


def test_crossed_limits_are_stated_and_noted(tmp_path: Path) -> None:
    """UsdPhysics reads them as a lock."""
    locked = only_joint(tmp_path, PRISMATIC, bounds("0.5", "0.25"))

    assert (locked.lower, locked.upper) == (0.5, 0.25)
    assert locked.note == "its limits lock it: lower is above upper"


def test_angular_velocity_and_damping_are_per_radian() -> None:
    """Newton's schema counts both in degrees; friction is a torque."""
    elbow = joint_named(ask(DATA / "nested_arm.usda"), "elbow")

    assert elbow.velocity == pytest.approx(math.pi)
    assert elbow.damping == pytest.approx(0.1 * 180 / math.pi)
    assert elbow.friction == pytest.approx(0.3)
    assert elbow.effort == 12.5
    assert elbow.note is None


def test_linear_velocity_and_damping_stay() -> None:
    """Absent is absent, not zero."""
    slide = joint_named(ask(DATA / "nested_arm.usda"), "slide")

    assert (slide.velocity, slide.damping) == (0.75, 4.0)
    assert (slide.effort, slide.friction) == (None, None)


def test_infinite_velocity_limit_is_absent(tmp_path: Path) -> None:
    """The schema's fallback, authored, says no more than its absence."""
    assert (
        only_joint(tmp_path, REVOLUTE, "float newton:velocityLimit = inf").velocity
        is None
    )


def test_drive_limits_the_effort(tmp_path: Path) -> None:
    """A drive's largest force acts; the custom attribute only tells."""
    text = """
        float drive:angular:physics:maxForce = 4
        custom uniform double urdf:limit:effort = 5
    """
    driven = only_joint(tmp_path, REVOLUTE, text)

    assert driven.effort == 4.0
    assert driven.note == (
        "drive:angular:physics:maxForce is 4, urdf:limit:effort is 5"
    )


def test_custom_attributes_count_where_no_schema_can_say_it(tmp_path: Path) -> None:
    """Newton's schema has neither a bound on effort nor a velocity limit of zero."""
    text = """
        custom uniform double urdf:limit:effort = 0.1
        custom uniform double urdf:limit:velocity = 0
    """
    found = only_joint(tmp_path, REVOLUTE, text)

    assert (found.effort, found.velocity, found.note) == (0.1, 0.0, None)


def test_custom_attributes_count_on_joints_without_one_axis(tmp_path: Path) -> None:
    """A schema's value would hold for displacements and angles alike."""
    text = "custom uniform double urdf:dynamics:damping = 0.2"

    assert only_joint(tmp_path, "PhysicsSphericalJoint", text).damping == 0.2


@pytest.mark.parametrize("silence", ["", "float newton:velocityLimit = inf"])
def test_what_a_custom_attribute_says_alone_is_lost(
    tmp_path: Path, silence: str
) -> None:
    """Simulators read the schema, which could say it."""
    text = f"""
        {silence}
        custom uniform double urdf:limit:velocity = 0.1
        custom uniform double urdf:dynamics:damping = 0.2
        custom uniform double urdf:dynamics:friction = 0.3
    """
    found = only_joint(tmp_path, REVOLUTE, text)

    assert (found.velocity, found.damping, found.friction) == (None, None, None)
    assert found.note is not None
    assert "urdf:dynamics:damping is 0.2, and newton:damping is silent" in found.note


def test_custom_attributes_count_where_float32_ends(tmp_path: Path) -> None:
    """Smaller numbers would be zero: a coupling of nothing."""
    content = body("a") + body("b") + body("c") + joint(REVOLUTE, "lead")
    text = """
        custom uniform string urdf:mimic:joint = "lead"
        custom uniform double urdf:mimic:multiplier = 1e-40
        custom uniform double urdf:dynamics:damping = 3e-41
    """
    found = joint_named(
        ask(stage(tmp_path, content + joint(REVOLUTE, "it", text, ("a", "c")))), "it"
    )

    assert found.mimic == MimicObservation("lead", 1e-40, 0.0)
    assert (found.damping, found.note) == (3e-41, None)


def test_custom_coupling_is_lost_where_the_schema_could_say_it(tmp_path: Path) -> None:
    """Two hinges: no simulator looks for urdf:mimic."""
    content = body("a") + body("b") + body("c") + joint(REVOLUTE, "lead")
    text = 'custom uniform string urdf:mimic:joint = "lead"'
    found = joint_named(
        ask(stage(tmp_path, content + joint(REVOLUTE, "it", text, ("a", "c")))), "it"
    )

    assert found.mimic is None
    assert found.note == "urdf:mimic names lead, but NewtonMimicAPI does not"


def test_planar_joint_reads_no_schema_that_mixes_units(tmp_path: Path) -> None:
    """Newton's values hold for every degree of freedom, in its own unit."""
    locks = "\n".join(
        f"float limit:{freedom}:physics:low = 1\n"
        f"float limit:{freedom}:physics:high = -1"
        for freedom in ("transZ", "rotX", "rotY")
    )
    schemas = [f"PhysicsLimitAPI:{each}" for each in ("transZ", "rotX", "rotY")]
    text = locks + "\nfloat newton:damping = 7\nfloat newton:friction = 8"
    content = joint("PhysicsJoint", "it", text, schemas=schemas)
    found = joint_named(ask(stage(tmp_path, body("a") + body("b") + content)), "it")

    assert found.type is JointType.PLANAR
    assert (found.damping, found.friction, found.lower) == (None, None, None)


def test_newton_coupling_has_its_offset_in_degrees() -> None:
    """A multiplier has no unit."""
    wrist = joint_named(ask(DATA / "nested_arm.usda"), "wrist_turn")

    assert wrist.mimic is not None
    assert (wrist.mimic.leader, wrist.mimic.multiplier) == ("elbow", -2.0)
    assert wrist.mimic.offset == pytest.approx(math.pi / 6)


def test_custom_coupling_counts_where_no_schema_can_say_it() -> None:
    """A slider that follows a hinge."""
    slide = joint_named(ask(DATA / "nested_arm.usda"), "slide")

    assert slide.mimic == MimicObservation("elbow", -0.05, 0.01)


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
        rel newton:mimicJoint = </robot/lead>
        float newton:mimicCoef0 = {math.degrees(0.25)}
        custom uniform string urdf:mimic:joint = "lead"
        {custom}
    """
    content = body("a") + body("b") + body("c") + joint(REVOLUTE, "lead")
    follow = joint(REVOLUTE, "it", text, ("a", "c"), ["NewtonMimicAPI"])
    found = joint_named(ask(stage(tmp_path, content + follow)), "it")

    assert found.mimic is not None
    assert (found.mimic.leader, found.mimic.multiplier) == ("lead", 1.0)
    assert found.mimic.offset == pytest.approx(0.25)
    assert found.note == note


def test_coupling_acts_wherever_schemas_were_registered() -> None:
    """Also in a process that opened a stage before Newton's schemas were known."""
    script = f"""
from pxr import Usd, UsdPhysics
UsdPhysics.RevoluteJoint.Define(Usd.Stage.CreateInMemory(), "/joint")
from tests.conformance.witnesses.usd_readings import DATA, ask, joint_named
print(joint_named(ask(DATA / "{DATA.joinpath("nested_arm.usda")}"), "wrist_turn").mimic)
"""
    printed = subprocess.run(  # noqa: S603  our own code
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    ).stdout

    assert "leader='elbow', multiplier=-2.0" in printed


@pytest.mark.parametrize(
    "text",
    [
        "bool newton:mimicEnabled = false\nrel newton:mimicJoint = </robot/lead>",
        "rel newton:mimicJoint = </robot/gone>",
        "",
    ],
    ids=["disabled", "dangling", "unset"],
)
def test_coupling_without_effect_is_none(tmp_path: Path, text: str) -> None:
    """Disabled, or without anything to follow."""
    content = body("a") + body("b") + body("c") + joint(REVOLUTE, "lead")
    follow = joint(REVOLUTE, "it", text, ("a", "c"), ["NewtonMimicAPI"])

    assert joint_named(ask(stage(tmp_path, content + follow)), "it").mimic is None


def test_named_type_that_is_not_the_effective_one_is_noted(tmp_path: Path) -> None:
    """What a writer meant is a hint for the reader of the report."""
    meant = 'custom uniform string urdf:joint:type = "revolute"'
    found = only_joint(tmp_path, REVOLUTE, meant)

    assert (found.type, found.note) == (JointType.CONTINUOUS, "it is named revolute")


def test_forces_of_a_stage_in_centimetres_become_newtons(tmp_path: Path) -> None:
    """1 kg cm/s^2 is 0.01 N, 1 kg cm^2/s^2 is 1e-4 N m."""
    rail = only_joint(
        tmp_path,
        PRISMATIC,
        "float newton:friction = 3\nfloat newton:damping = 5\n"
        "float newton:velocityLimit = 7",
        "metersPerUnit = 0.01",
    )
    hinge = only_joint(
        tmp_path, REVOLUTE, "float newton:friction = 3", "metersPerUnit = 0.01"
    )

    assert rail.friction == pytest.approx(0.03)
    assert rail.damping == pytest.approx(5.0)
    assert rail.velocity == pytest.approx(0.07)
    assert hinge.friction == pytest.approx(3e-4)
