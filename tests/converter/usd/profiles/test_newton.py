"""Attributes of the Newton profile, by the declarations of newton-usd-schemas."""

from __future__ import annotations

import math

import newton_usd_schemas  # noqa: F401  registers the schemas
import numpy as np
import pytest
from pxr import Usd, UsdPhysics

from tests.converter.usd.authored import applied, authored_values
from tests.converter.usd.profiles.conftest import AuthorJoints
from tests.converter.usd.profiles.joint_samples import (
    AXIS,
    DAMPING,
    FRICTION,
    SLIDE,
    SPIN,
    TURN,
    VELOCITY,
    chain,
    plain,
    sliding,
    turning,
)
from urdf_usd.converter.options import Profile
from urdf_usd.converter.robot.model import Dynamics, Joint, Mimic, Planar

PROFILE = Profile.GENERIC
DEGREE = math.pi / 180


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


def test_revolute_joint_is_written_in_degrees(author_joints: AuthorJoints) -> None:
    """Damping per degree; friction is a torque."""
    prim = author_joints(turning())

    assert authored_values(prim, "newton") == {
        "newton:damping": np.float32(DAMPING * DEGREE),
        "newton:friction": np.float32(FRICTION),
        "newton:velocityLimit": np.float32(VELOCITY / DEGREE),
    }
    _require_declared(prim, "NewtonJointAPI")


def test_prismatic_joint_is_written_in_metres(author_joints: AuthorJoints) -> None:
    """As in URDF."""
    prim = author_joints(turning(), sliding())

    assert authored_values(prim, "newton") == {
        "newton:damping": np.float32(DAMPING),
        "newton:friction": np.float32(FRICTION),
        "newton:velocityLimit": np.float32(VELOCITY),
    }


def test_absent_values_are_not_authored(author_joints: AuthorJoints) -> None:
    """No drive, and the schema without values."""
    prim = author_joints(plain())

    assert applied(prim) == ["NewtonJointAPI"]
    assert authored_values(prim, "newton", "drive") == {}


def test_zero_velocity_is_not_authored_and_zero_effort_is(
    author_joints: AuthorJoints,
) -> None:
    """The range of the schema excludes a zero velocity limit."""
    prim = author_joints(plain(velocity=0.0, effort=0.0))

    assert authored_values(prim, "newton") == {}
    assert authored_values(prim, "drive")["drive:angular:physics:maxForce"] == 0.0


@pytest.mark.parametrize("number", [-0.5, 1e-46, math.inf])
def test_values_outside_the_schemas_ranges_are_not_authored(
    author_joints: AuthorJoints, number: float
) -> None:
    """Negative, infinite, or zero in float32."""
    joint = Joint(
        "j",
        "a",
        "b",
        TURN,
        effort=number,
        velocity=number,
        dynamics=Dynamics(number, number),
    )

    assert authored_values(author_joints(joint), "newton", "drive") == {}


def test_joints_with_several_coordinates_have_no_scalar_values(
    author_joints: AuthorJoints,
) -> None:
    """A value would apply to each coordinate, in different units."""
    planar = Joint("j", "a", "b", Planar(AXIS), effort=1.0, dynamics=Dynamics(2.0, 3.0))

    assert authored_values(author_joints(planar), "newton", "drive") == {}


def test_mimic_offset_is_in_degrees_and_types_must_match(
    author_joints: AuthorJoints,
) -> None:
    """A prismatic joint that follows a revolute one has urdf attributes only."""
    leader = Joint("leads", "a", "c", SPIN)
    follower = Joint("turns", "a", "b", SPIN, mimic=Mimic("leads", -2.0, 0.5))
    slide = Joint("slides", "a", "d", SLIDE, mimic=Mimic("leads", 0.1, 0.2))
    other = author_joints(leader, follower, slide)
    prim = other.GetStage().GetPrimAtPath("/r/Physics/turns")

    assert prim.GetRelationship("newton:mimicJoint").GetTargets() == ["/r/Physics/leads"]
    assert authored_values(prim, "newton") == {
        "newton:mimicCoef0": np.float32(0.5 / DEGREE),
        "newton:mimicCoef1": -2.0,
    }
    _require_declared(prim, "NewtonMimicAPI")
    assert "NewtonMimicAPI" not in applied(other)


def test_chain_is_coupled_to_its_first_joint(author_joints: AuthorJoints) -> None:
    """Newton refuses a leader that follows; urdf attributes keep the chain."""
    prim = author_joints(*chain())

    assert prim.GetRelationship("newton:mimicJoint").GetTargets() == ["/r/Physics/first"]
    coefficients = authored_values(prim, "newton")
    assert coefficients["newton:mimicCoef0"] == pytest.approx(-0.12 / DEGREE)
    assert coefficients["newton:mimicCoef1"] == pytest.approx(-0.4)
    assert authored_values(prim, "urdf")["urdf:mimic:joint"] == "second"
    assert authored_values(prim, "urdf")["urdf:mimic:multiplier"] == 0.8


def test_inertia_tensor_is_written_in_double(author_joints: AuthorJoints) -> None:
    """Diagonal first, along the axes of the link."""
    prim = author_joints(plain()).GetStage().GetPrimAtPath("/r/Geometry/a/b")

    assert list(prim.GetAttribute("newton:inertia").Get()) == [
        *(0.10, 0.12, 0.15),
        *(0.01, 0.02, 0.03),
    ]
    _require_declared(prim, "NewtonMassAPI")
    assert prim.HasAPI(UsdPhysics.MassAPI)
