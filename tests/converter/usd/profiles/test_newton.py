"""What an asset tells Newton, by what newton-usd-schemas declares."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import newton_usd_schemas  # noqa: F401  registers the schemas
import numpy as np
import pytest
from pxr import Usd, UsdPhysics

from tests.converter.usd.authored import applied, author, said
from tests.converter.usd.profiles.joints_of_two_kinds import (
    AXIS,
    DAMPING,
    EFFORT,
    FRICTION,
    SLIDE,
    SPIN,
    TURN,
    VELOCITY,
    chain,
    silent,
    sliding,
    turning,
)
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import Dynamics, Joint, Mimic, Planar

Tell: TypeAlias = Callable[..., Usd.Prim]

DEGREE = math.pi / 180


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    """Write joints for Newton, and return the prim of the last one."""
    stages: list[Usd.Stage] = []

    def prim_of(*joints: Joint) -> Usd.Prim:
        stages.append(author(tmp_path, *joints, profile=Profile.GENERIC))
        return stages[-1].GetPrimAtPath(f"/r/Physics/{joints[-1].name}")

    return prim_of


def _require_declared(prim: Usd.Prim, schema: str) -> None:
    """Hold every authored newton: property against the schema's own declaration."""
    assert schema in applied(prim)
    definition = prim.GetPrimDefinition()
    names = [n for n in prim.GetAuthoredPropertyNames() if n.startswith("newton:")]
    assert names
    for name in names:
        declared = definition.GetSchemaPropertySpec(name)
        assert declared
        attribute = prim.GetAttribute(name)
        if attribute:
            assert attribute.GetTypeName() == declared.typeName
        assert not prim.GetProperty(name).IsCustom()


def test_a_joint_that_turns_is_told_in_degrees(tell: Tell) -> None:
    """Damping is per degree; friction is a torque, whatever turns."""
    prim = tell(turning())

    assert said(prim, "newton") == {
        "newton:damping": np.float32(DAMPING * DEGREE),
        "newton:friction": np.float32(FRICTION),
        "newton:velocityLimit": np.float32(VELOCITY / DEGREE),
    }
    _require_declared(prim, "NewtonJointAPI")


def test_a_joint_that_slides_is_told_in_metres(tell: Tell) -> None:
    """As in URDF."""
    prim = tell(turning(), sliding())

    assert said(prim, "newton") == {
        "newton:damping": np.float32(DAMPING),
        "newton:friction": np.float32(FRICTION),
        "newton:velocityLimit": np.float32(VELOCITY),
    }


@pytest.mark.parametrize(
    ("joints", "axis"),
    [((turning(),), "angular"), ((turning(), sliding()), "linear")],
)
def test_effort_is_the_bound_of_a_drive_that_does_nothing(
    tell: Tell, joints: tuple[Joint, ...], axis: str
) -> None:
    """Newton's schemas have none; it reads that of OpenUSD's."""
    drive = UsdPhysics.DriveAPI.Get(tell(*joints), axis)

    assert drive.GetMaxForceAttr().Get() == EFFORT
    assert drive.GetStiffnessAttr().Get() == 0.0
    assert drive.GetDampingAttr().Get() == 0.0


def test_what_is_absent_is_not_said(tell: Tell) -> None:
    """No drive, and the schema without values: absent is no zero."""
    prim = tell(silent())

    assert applied(prim) == ["NewtonJointAPI"]
    assert said(prim, "newton", "drive") == {}


def test_a_speed_of_zero_is_not_said_and_an_effort_of_zero_is(tell: Tell) -> None:
    """The schema's range excludes the first; the second is a joint without motor."""
    prim = tell(silent(velocity=0.0, effort=0.0))

    assert said(prim, "newton") == {}
    assert said(prim, "drive")["drive:angular:physics:maxForce"] == 0.0


@pytest.mark.parametrize("number", [-0.5, 1e-46, math.inf])
def test_what_the_schemas_cannot_store_is_not_said(tell: Tell, number: float) -> None:
    """Outside their range, or nothing that float32 has."""
    joint = Joint(
        "j",
        "a",
        "b",
        TURN,
        effort=number,
        velocity=number,
        dynamics=Dynamics(number, number),
    )

    assert said(tell(joint), "newton", "drive") == {}


def test_joints_of_several_freedoms_are_not_told_of_one_number(
    tell: Tell,
) -> None:
    """It would hold for each freedom, in a unit of its own."""
    planar = Joint("j", "a", "b", Planar(AXIS), effort=1.0, dynamics=Dynamics(2.0, 3.0))

    assert said(tell(planar), "newton", "drive") == {}


def test_mimic_offsets_are_degrees_and_types_must_match(tell: Tell) -> None:
    """A slide that follows a turn keeps its coupling in urdf: attributes alone."""
    leader = Joint("leads", "a", "c", SPIN)
    follower = Joint("turns", "a", "b", SPIN, mimic=Mimic("leads", -2.0, 0.5))
    slide = Joint("slides", "a", "d", SLIDE, mimic=Mimic("leads", 0.1, 0.2))
    other = tell(leader, follower, slide)
    prim = other.GetStage().GetPrimAtPath("/r/Physics/turns")

    assert prim.GetRelationship("newton:mimicJoint").GetTargets() == [
        "/r/Physics/leads"
    ]
    assert said(prim, "newton") == {
        "newton:mimicCoef0": np.float32(0.5 / DEGREE),
        "newton:mimicCoef1": -2.0,
    }
    _require_declared(prim, "NewtonMimicAPI")
    assert "NewtonMimicAPI" not in applied(other)


def test_a_chain_leads_to_its_head_and_urdf_keeps_the_chain(tell: Tell) -> None:
    """Newton refuses a leader that follows."""
    prim = tell(*chain())

    assert prim.GetRelationship("newton:mimicJoint").GetTargets() == [
        "/r/Physics/first"
    ]
    coefficients = said(prim, "newton")
    assert coefficients["newton:mimicCoef0"] == pytest.approx(-0.12 / DEGREE)
    assert coefficients["newton:mimicCoef1"] == pytest.approx(-0.4)
    assert said(prim, "urdf")["urdf:mimic:joint"] == "second"
    assert said(prim, "urdf")["urdf:mimic:multiplier"] == 0.8


def test_tensors_are_told_as_they_are(tell: Tell) -> None:
    """In double, diagonal first, along the axes of the link."""
    prim = tell(silent()).GetStage().GetPrimAtPath("/r/Geometry/a/b")

    assert list(prim.GetAttribute("newton:inertia").Get()) == [
        *(0.10, 0.12, 0.15),
        *(0.01, 0.02, 0.03),
    ]
    _require_declared(prim, "NewtonMassAPI")
    assert prim.HasAPI(UsdPhysics.MassAPI)
