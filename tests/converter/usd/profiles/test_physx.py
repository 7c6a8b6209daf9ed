"""Attributes of the PhysX profile, by physxSchema and physxSchemaAddition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from msgspec import structs
from pxr import Sdf, Usd

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
from urdf_usd.converter.robot.model import Joint, Mimic, Range, Revolute

PROFILE = Profile.PHYSX
DEGREE = math.pi / 180
# Of AXIS, whose largest component is along Z.
AXIS_NAME = "rotZ"


def _mimic(prim: Usd.Prim) -> tuple[str, float, float]:
    """Leader, gearing and offset."""
    prefix = f"physxMimicJoint:{AXIS_NAME}"
    (leader,) = prim.GetRelationship(f"{prefix}:referenceJoint").GetTargets()
    numbers = authored_values(prim, "physxMimicJoint")
    assert numbers[f"{prefix}:referenceJointAxis"] == AXIS_NAME
    gearing, offset = numbers[f"{prefix}:gearing"], numbers[f"{prefix}:offset"]
    assert isinstance(gearing, float)
    assert isinstance(offset, float)
    return leader.name, gearing, offset


@pytest.mark.parametrize(
    ("joints", "axis", "angle"),
    [((turning(),), "angular", DEGREE), ((turning(), sliding()), "linear", 1.0)],
)
def test_joints_are_written_in_degrees_or_metres(
    author_joints: AuthorJoints, joints: tuple[Joint, ...], axis: str, angle: float
) -> None:
    """Speeds in degrees/s, viscous friction per degree; dry friction is an effort."""
    prim = author_joints(*joints)
    speed = np.float32(VELOCITY / angle)

    assert authored_values(prim, "physxJoint", "physxJointAxis") == {
        "physxJoint:maxJointVelocity": speed,
        # An axis with its own schema does not look at that of the joint.
        f"physxJointAxis:{axis}:maxJointVelocity": speed,
        f"physxJointAxis:{axis}:staticFrictionEffort": np.float32(FRICTION),
        f"physxJointAxis:{axis}:dynamicFrictionEffort": np.float32(FRICTION),
        f"physxJointAxis:{axis}:viscousFrictionCoefficient": np.float32(DAMPING * angle),
    }
    assert applied(prim) == [
        f"PhysicsDriveAPI:{axis}",
        "PhysxJointAPI",
        f"PhysxJointAxisAPI:{axis}",
    ]


def test_velocity_without_friction_is_a_value_of_the_axis(
    author_joints: AuthorJoints,
) -> None:
    """PhysX from ovphysx 0.7 on ignores PhysxJointAPI; older versions read it."""
    prim = author_joints(plain(velocity=VELOCITY))
    velocity = np.float32(VELOCITY / DEGREE)

    assert applied(prim) == ["PhysxJointAPI", "PhysxJointAxisAPI:angular"]
    assert authored_values(prim, "physxJoint", "physxJointAxis") == {
        "physxJoint:maxJointVelocity": velocity,
        "physxJointAxis:angular:maxJointVelocity": velocity,
    }


def test_absent_values_and_zero_velocity_are_not_authored(
    author_joints: AuthorJoints,
) -> None:
    """A zero velocity limit would lock the joint."""
    prim = author_joints(plain(velocity=0.0))

    assert applied(prim) == ["PhysxJointAPI"]
    assert authored_values(prim, "physxJoint", "physxJointAxis", "drive") == {}


def test_coupling_has_opposite_signs(author_joints: AuthorJoints) -> None:
    """PhysX has position + gearing * leader + offset = 0, in degrees."""
    leader = Joint("leads", "a", "b", TURN)
    follower = Joint("follows", "b", "c", TURN, mimic=Mimic("leads", -2.0, 0.5))
    prim = author_joints(leader, follower)

    name, gearing, offset = _mimic(prim)

    assert (name, gearing) == ("leads", 2.0)
    assert offset == pytest.approx(-0.5 / DEGREE)
    assert f"PhysxMimicJointAPI:{AXIS_NAME}" in applied(prim)


@pytest.mark.parametrize(
    ("leads", "follows", "gearing", "offset"),
    [
        # Metres per degree; an offset in metres.
        (TURN, SLIDE, -0.05 * DEGREE, -0.01),
        # Degrees per metre; an offset in degrees.
        (SLIDE, TURN, -0.05 / DEGREE, -0.01 / DEGREE),
        (SLIDE, SLIDE, -0.05, -0.01),
    ],
)
def test_couplings_between_joint_types_have_units(
    author_joints: AuthorJoints,
    leads: Revolute,
    follows: Revolute,
    gearing: float,
    offset: float,
) -> None:
    """By the schema's documentation: unit of the follower per unit of the leader."""
    leader = Joint("leads", "a", "b", leads)
    follower = Joint("follows", "b", "c", follows, mimic=Mimic("leads", 0.05, 0.01))

    name, *numbers = _mimic(author_joints(leader, follower))

    assert name == "leads"
    assert numbers == pytest.approx([gearing, offset], rel=1e-6)


def test_chain_is_coupled_to_its_first_joint(author_joints: AuthorJoints) -> None:
    """As for Newton."""
    name, gearing, offset = _mimic(author_joints(*chain()))

    assert name == "first"
    assert gearing == pytest.approx(0.4)
    assert offset == pytest.approx(0.12 / DEGREE)


@pytest.mark.parametrize(
    ("leads", "follows"),
    [
        (SPIN, TURN),
        (TURN, SPIN),
        (Revolute(AXIS, Range(-math.inf, math.inf)), TURN),
    ],
)
def test_continuous_joints_are_not_coupled(
    author_joints: AuthorJoints, leads: Revolute, follows: Revolute
) -> None:
    """PhysX refuses them; urdf attributes keep the coupling."""
    leader = Joint("leads", "a", "b", leads)
    follower = Joint("follows", "b", "c", follows, mimic=Mimic("leads", -2.0, 0.5))
    prim = author_joints(leader, follower)

    assert authored_values(prim, "physxMimicJoint") == {}
    assert authored_values(prim, "urdf")["urdf:mimic:joint"] == "leads"


def test_attributes_have_the_types_of_the_physx_schema(
    author_joints: AuthorJoints,
) -> None:
    """They are not custom, although OpenUSD does not have the schema."""
    leader = Joint("leads", "a", "b", TURN)
    follower = structs.replace(turning("follows", "b", "c"), mimic=Mimic("leads"))
    prim = author_joints(leader, follower)
    properties = [p for p in prim.GetAuthoredProperties() if p.GetName().startswith("physx")]
    attributes = {p.GetBaseName(): p for p in properties if isinstance(p, Usd.Attribute)}

    assert len(properties) == 9
    assert not any(p.IsCustom() for p in properties)
    axis = attributes.pop("referenceJointAxis")
    assert axis.GetTypeName() == Sdf.ValueTypeNames.Token
    assert axis.GetVariability() == Sdf.VariabilityUniform
    assert {a.GetTypeName() for a in attributes.values()} == {Sdf.ValueTypeNames.Float}
