"""What an asset tells PhysX, by what physxSchema and physxSchemaAddition declare."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from pxr import Sdf, Usd, UsdPhysics

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
from urdf_usd.converter.robot.model import Joint, Mimic, Range, Revolute

Tell: TypeAlias = Callable[..., Usd.Prim]

DEGREE = math.pi / 180
# Of the axis in joints_of_two_kinds, whose largest component is along Z.
AXIS_NAME = "rotZ"


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    """Write joints for PhysX, and return the prim of the last one."""
    stages: list[Usd.Stage] = []

    def prim_of(*joints: Joint) -> Usd.Prim:
        stages.append(author(tmp_path, *joints, profile=Profile.PHYSX))
        return stages[-1].GetPrimAtPath(f"/r/Physics/{joints[-1].name}")

    return prim_of


def _mimic(prim: Usd.Prim) -> tuple[str, float, float]:
    """Leader, gearing and offset."""
    prefix = f"physxMimicJoint:{AXIS_NAME}"
    (leader,) = prim.GetRelationship(f"{prefix}:referenceJoint").GetTargets()
    numbers = said(prim, "physxMimicJoint")
    assert numbers[f"{prefix}:referenceJointAxis"] == AXIS_NAME
    gearing, offset = numbers[f"{prefix}:gearing"], numbers[f"{prefix}:offset"]
    assert isinstance(gearing, float)
    assert isinstance(offset, float)
    return leader.name, gearing, offset


@pytest.mark.parametrize(
    ("joints", "axis", "angle"),
    [((turning(),), "angular", DEGREE), ((turning(), sliding()), "linear", 1.0)],
)
def test_joints_are_told_in_degrees_or_metres(
    tell: Tell, joints: tuple[Joint, ...], axis: str, angle: float
) -> None:
    """Speeds in degrees/s, viscous friction per degree; dry friction is an effort."""
    prim = tell(*joints)
    speed = np.float32(VELOCITY / angle)

    assert said(prim, "physxJoint", "physxJointAxis") == {
        "physxJoint:maxJointVelocity": speed,
        # An axis with a schema of its own does not look at that of the joint.
        f"physxJointAxis:{axis}:maxJointVelocity": speed,
        f"physxJointAxis:{axis}:staticFrictionEffort": np.float32(FRICTION),
        f"physxJointAxis:{axis}:dynamicFrictionEffort": np.float32(FRICTION),
        f"physxJointAxis:{axis}:viscousFrictionCoefficient": np.float32(
            DAMPING * angle
        ),
    }
    assert applied(prim) == [
        f"PhysicsDriveAPI:{axis}",
        "PhysxJointAPI",
        f"PhysxJointAxisAPI:{axis}",
    ]


def test_velocity_without_friction_is_a_value_of_the_axis(tell: Tell) -> None:
    """PhysX from ovphysx 0.7 on ignores PhysxJointAPI; older versions read it."""
    prim = tell(silent(velocity=VELOCITY))
    speed = np.float32(VELOCITY / DEGREE)

    assert applied(prim) == ["PhysxJointAPI", "PhysxJointAxisAPI:angular"]
    assert said(prim, "physxJoint", "physxJointAxis") == {
        "physxJoint:maxJointVelocity": speed,
        "physxJointAxis:angular:maxJointVelocity": speed,
    }


def test_effort_is_the_bound_of_a_drive_that_does_nothing(tell: Tell) -> None:
    """So that motors are not infinite, and nothing moves or holds the joint."""
    drive = UsdPhysics.DriveAPI.Get(tell(turning()), "angular")

    assert drive.GetMaxForceAttr().Get() == EFFORT
    assert drive.GetStiffnessAttr().Get() == 0.0
    assert drive.GetDampingAttr().Get() == 0.0


def test_what_is_absent_is_not_said(tell: Tell) -> None:
    """And a speed of zero, which would freeze the joint, neither."""
    prim = tell(silent(velocity=0.0))

    assert applied(prim) == ["PhysxJointAPI"]
    assert said(prim, "physxJoint", "physxJointAxis", "drive") == {}


def test_a_coupling_has_the_opposite_signs(tell: Tell) -> None:
    """PhysX has position + gearing * leader + offset = 0, in degrees."""
    leader = Joint("leads", "a", "b", TURN)
    follower = Joint("follows", "b", "c", TURN, mimic=Mimic("leads", -2.0, 0.5))
    prim = tell(leader, follower)

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
def test_couplings_between_kinds_have_units(
    tell: Tell,
    leads: Revolute,
    follows: Revolute,
    gearing: float,
    offset: float,
) -> None:
    """By the schema's documentation, of the follower's unit per the leader's."""
    leader = Joint("leads", "a", "b", leads)
    follower = Joint("follows", "b", "c", follows, mimic=Mimic("leads", 0.05, 0.01))

    name, *numbers = _mimic(tell(leader, follower))

    assert name == "leads"
    assert numbers == pytest.approx([gearing, offset], rel=1e-6)


def test_a_chain_leads_to_its_head(tell: Tell) -> None:
    """As for Newton; the motion is the same."""
    name, gearing, offset = _mimic(tell(*chain()))

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
def test_joints_that_turn_without_limits_are_not_coupled(
    tell: Tell, leads: Revolute, follows: Revolute
) -> None:
    """PhysX refuses them; what the URDF says is kept."""
    leader = Joint("leads", "a", "b", leads)
    follower = Joint("follows", "b", "c", follows, mimic=Mimic("leads", -2.0, 0.5))
    prim = tell(leader, follower)

    assert said(prim, "physxMimicJoint") == {}
    assert said(prim, "urdf")["urdf:mimic:joint"] == "leads"


def test_attributes_are_those_of_a_schema_that_openusd_does_not_have(
    tell: Tell,
) -> None:
    """So they are no custom ones; their types are those that the schema declares."""
    leader = Joint("leads", "a", "b", TURN)
    follower = replace(turning("follows", "b", "c"), mimic=Mimic("leads"))
    prim = tell(leader, follower)
    properties = [
        p for p in prim.GetAuthoredProperties() if p.GetName().startswith("physx")
    ]
    attributes = {
        p.GetBaseName(): p for p in properties if isinstance(p, Usd.Attribute)
    }

    assert len(properties) == 9
    assert not any(p.IsCustom() for p in properties)
    axis = attributes.pop("referenceJointAxis")
    assert axis.GetTypeName() == Sdf.ValueTypeNames.Token
    assert axis.GetVariability() == Sdf.VariabilityUniform
    assert {a.GetTypeName() for a in attributes.values()} == {Sdf.ValueTypeNames.Float}
