"""Mimic couplings: which attributes are effective for simulators, and which are not."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.engines.single_joints import LIMITED, PRISMATIC, REVOLUTE, following_joint
from tests.conformance.engines.usd_observations import (
    DATA,
    body,
    joint,
    joint_named,
    observe_stage,
    stage,
)
from urdf_usd.conformance.observation.robot import MimicObservation

DEGREE = math.pi / 180
NEWTON = ("NewtonMimicAPI",)
# Prismatic joints as well; the axis of the reference joint has no effect.
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


@pytest.mark.parametrize(
    ("axis", "couples"),
    [
        ("", True),
        ('uniform token physxMimicJoint:rotY:referenceJointAxis = "rotZ"', True),
        ('uniform token physxMimicJoint:rotY:referenceJointAxis = "rotx"', False),
        ('uniform token physxMimicJoint:rotY:referenceJointAxis = ""', False),
        ("uniform token physxMimicJoint:rotY:referenceJointAxis = None", False),
    ],
)
def test_physx_drops_a_coupling_to_an_unknown_axis(
    axis: str, couples: bool, tmp_path: Path
) -> None:
    """It ignores which one it is, and whether it is authored; measured with PhysX."""
    slide = "PhysicsPrismaticJoint"
    coupling = "rel physxMimicJoint:rotY:referenceJoint = </robot/lead>\n" + axis
    text = "".join(map(body, "abc")) + joint(slide, "lead")
    text += joint(slide, "follow", coupling, sides=("a", "c"), schemas=PHYSX)
    found = joint_named(observe_stage(stage(tmp_path, text)), "follow")

    assert (found.mimic is not None) == couples


def test_newton_mimic_offset_is_in_degrees() -> None:
    wrist = joint_named(observe_stage(DATA / "nested_arm.usda"), "wrist_turn")

    assert wrist.mimic is not None
    assert (wrist.mimic.leader, wrist.mimic.multiplier) == ("elbow", -2.0)
    assert wrist.mimic.offset == pytest.approx(math.pi / 6)


@pytest.mark.parametrize(
    ("kinds", "multiplier", "offset"),
    [
        ((REVOLUTE, REVOLUTE), -0.5, -30 * DEGREE),
        ((PRISMATIC, PRISMATIC), -0.5, -30.0),
        # Gearing in metres per degree, offset in metres.
        ((REVOLUTE, PRISMATIC), -0.5 / DEGREE, -30.0),
        # Gearing in degrees per metre, offset in degrees.
        ((PRISMATIC, REVOLUTE), -0.5 * DEGREE, -30 * DEGREE),
    ],
)
def test_physx_mimic_has_opposite_signs_for_all_joint_types(
    tmp_path: Path, kinds: tuple[str, str], multiplier: float, offset: float
) -> None:
    """PhysX documents position + gearing * leader + offset = 0."""
    content = LIMITED + _geared(0.5, 30)
    mimic = following_joint(tmp_path, content, PHYSX, kinds=kinds).mimic

    assert mimic is not None
    assert mimic.leader == "lead"
    assert (mimic.multiplier, mimic.offset) == pytest.approx((multiplier, offset))


@pytest.mark.parametrize(("content", "leader"), [("", LIMITED), (LIMITED, "")])
def test_physx_mimic_of_unlimited_revolute_joint_is_ignored(
    tmp_path: Path, content: str, leader: str
) -> None:
    """PhysX refuses the coupling, so the custom attributes are effective."""
    found = following_joint(tmp_path, content + _geared(0.5, 30) + CUSTOM, PHYSX, leader=leader)

    assert found.mimic == MimicObservation("lead", -2.0, 0.25)


def test_physx_mimic_outside_articulations_is_ignored(tmp_path: Path) -> None:
    leader = LIMITED + "uniform bool physics:excludeFromArticulation = true\n"
    found = following_joint(tmp_path, LIMITED + _geared(0.5, 30), PHYSX, leader=leader)

    assert found.mimic is None


def test_custom_mimic_is_effective_where_no_schema_can_express_it() -> None:
    """A prismatic joint that follows a revolute one, in an asset for Newton."""
    slide = joint_named(observe_stage(DATA / "nested_arm.usda"), "slide")

    assert slide.mimic == MimicObservation("elbow", -0.05, 0.01)


def test_custom_mimic_is_effective_in_generic_assets(tmp_path: Path) -> None:
    """UsdPhysics has no schema for mimic joints."""
    found = following_joint(tmp_path, CUSTOM)

    assert found.mimic == MimicObservation("lead", -2.0, 0.25)
    assert found.note is None


@pytest.mark.parametrize(
    ("schemas", "absent"),
    [(("NewtonJointAPI",), "NewtonMimicAPI"), (("PhysxJointAPI",), "PhysxMimicJointAPI")],
)
def test_custom_mimic_is_lost_where_a_schema_could_express_it(
    tmp_path: Path, schemas: tuple[str, ...], absent: str
) -> None:
    found = following_joint(tmp_path, LIMITED + CUSTOM, leader_schemas=schemas)

    assert found.mimic is None
    assert found.note == f"urdf:mimic names lead, but {absent} does not"


def test_custom_mimic_is_effective_below_float32_range(tmp_path: Path) -> None:
    """In the schema, the multiplier would be rounded to zero."""
    text = """
        custom uniform string urdf:mimic:joint = "lead"
        custom uniform double urdf:mimic:multiplier = 1e-40
    """
    found = following_joint(tmp_path, text, leader_schemas=("NewtonJointAPI",))

    assert found.mimic == MimicObservation("lead", 1e-40, 0.0)


@pytest.mark.parametrize(
    ("custom", "note"),
    [
        ("custom uniform double urdf:mimic:offset = 0.25", None),
        ("", "NewtonMimicAPI and urdf:mimic disagree"),
    ],
)
def test_schema_and_custom_mimic_must_agree(tmp_path: Path, custom: str, note: str | None) -> None:
    """The schema's coupling is the effective one."""
    text = f"""
        {LEAD}
        float newton:mimicCoef0 = {0.25 / DEGREE}
        custom uniform string urdf:mimic:joint = "lead"
        {custom}
    """
    found = following_joint(tmp_path, text, NEWTON)

    assert found.mimic is not None
    assert (found.mimic.leader, found.mimic.multiplier) == ("lead", 1.0)
    assert found.mimic.offset == pytest.approx(0.25)
    assert found.note == note


@pytest.mark.parametrize(
    ("gearing", "leads"), [(2.0, MimicObservation("lead", -2.0, 0.0)), (-2.0, None)]
)
def test_contradictory_mimic_schemas_have_no_effect(
    tmp_path: Path, gearing: float, leads: MimicObservation | None
) -> None:
    """If schemas differ, no coupling is reported."""
    text = LIMITED + LEAD + "float newton:mimicCoef1 = -2\n" + _geared(gearing, 0)
    found = following_joint(tmp_path, text, (*NEWTON, *PHYSX))

    assert found.mimic == leads
    agree = "NewtonMimicAPI and PhysxMimicJointAPI disagree"
    assert found.note == (None if leads else agree)


@pytest.mark.parametrize(
    ("multiplier", "leads"), [(-2.0, MimicObservation("lead", -2.0, 0.0)), (3.0, None)]
)
def test_coupling_of_rep_158_agrees_with_others(
    tmp_path: Path, multiplier: float, leads: MimicObservation | None
) -> None:
    """Its multiplier and offset are those of Newton."""
    text = f"""
        {LEAD}
        float newton:mimicCoef1 = -2
        rel ext_physics:mimic:joint = </robot/lead>
        float ext_physics:mimic:multiplier = {multiplier}
    """
    schemas = (*NEWTON, "ExtendedPhysicsMimicAPI")
    found = following_joint(tmp_path, LIMITED + text, schemas)

    assert found.mimic == leads
    differ = "NewtonMimicAPI and ExtendedPhysicsMimicAPI disagree"
    assert found.note == (None if leads else differ)


def _chain(folder: Path, text: str) -> str | None:
    """Return the note on joint ``c`` of the chain a, b, c."""
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
    found = joint_named(observe_stage(stage(folder, bodies + first + second + third)), "c")
    assert found.mimic is not None
    return found.note


@pytest.mark.parametrize(
    ("leader", "multiplier", "note"),
    [("a", -0.4, None), ("b", 0.8, None), ("a", 0.8, "NewtonMimicAPI and urdf:mimic disagree")],
)
def test_mimic_chain_may_refer_to_its_first_joint(
    tmp_path: Path, leader: str, multiplier: float, note: str | None
) -> None:
    text = f"""
        rel newton:mimicJoint = </robot/{leader}>
        float newton:mimicCoef1 = {multiplier}
    """

    assert _chain(tmp_path, text) == note


def test_mimic_chain_continues_in_custom_attributes(tmp_path: Path) -> None:
    """Joints are read from custom attributes only where Newton has no schema for them.

    A prismatic joint that follows a revolute one cannot be expressed for Newton; a
    joint that follows the prismatic one can.
    """
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
    found = joint_named(observe_stage(stage(tmp_path, bodies + first + slides)), "c")

    assert found.mimic == MimicObservation("b", 1.0, 0.0)
    assert found.note is None


def test_mimic_is_read_whenever_schemas_are_registered() -> None:
    """Including after a stage was opened without Newton's schemas."""
    script = f"""
from pxr import Usd, UsdPhysics
UsdPhysics.RevoluteJoint.Define(Usd.Stage.CreateInMemory(), "/joint")
from tests.conformance.engines.usd_observations import DATA, observe_stage, joint_named
found = observe_stage(DATA / "{DATA.joinpath("nested_arm.usda")}")
print(joint_named(found, "wrist_turn").mimic)
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
def test_mimic_without_effect_is_not_reported(
    tmp_path: Path, text: str, schemas: tuple[str, ...]
) -> None:
    assert following_joint(tmp_path, text, schemas).mimic is None
