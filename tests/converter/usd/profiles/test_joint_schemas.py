"""Numbers and couplings of joints in the schemas of Newton and PhysX."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from math import inf
from pathlib import Path

import newton_usd_schemas  # noqa: F401  registers the schemas
import numpy as np
import pytest
from msgspec import structs
from pxr import Usd, UsdPhysics

from tests.converter.usd.authored import applied, author, authored_values
from tests.converter.usd.profiles.joint_samples import AXIS, SLIDE, SPIN, TURN, chain
from urdf_usd.converter import ConvertOptions, Profile, convert
from urdf_usd.converter.robot.model import (
    Dynamics,
    Joint,
    JointKind,
    Mimic,
    Range,
    Revolute,
)
from urdf_usd.converter.usd.profiles.joint_attributes import AxisJoint, author_couplings

_NEWTON, _PHYSX = Profile.GENERIC, Profile.PHYSX
_DEGREE = math.pi / 180
_EFFORT, _VELOCITY, _DAMPING, _FRICTION = 12.5, 3.5, 0.7, 0.3
_ALL = {"effort": _EFFORT, "velocity": _VELOCITY, "dynamics": Dynamics(_DAMPING, _FRICTION)}


def _written(folder: Path, profile: Profile, *joints: Joint) -> tuple[Usd.Stage, Usd.Prim]:
    """Return a stage, and the prim of the last joint."""
    stage = author(folder, *joints, profile=profile)
    return stage, stage.GetPrimAtPath(f"/r/Physics/{joints[-1].name}")


def _drive(axis: str, force: float) -> dict[str, float]:
    values = {"maxForce": force, "stiffness": 0.0, "damping": 0.0}
    return {f"drive:{axis}:physics:{name}": value for name, value in values.items()}


def _newton(angle: float) -> dict[str, float]:
    return {
        "newton:damping": _DAMPING * angle,
        "newton:friction": _FRICTION,
        "newton:velocityLimit": _VELOCITY / angle,
    }


def _physx(axis: str, angle: float) -> dict[str, float]:
    begin = f"physxJointAxis:{axis}"
    return {
        # PhysX from ovphysx 0.7 on ignores it; older versions do not read that of the axis.
        "physxJoint:maxJointVelocity": _VELOCITY / angle,
        f"{begin}:maxJointVelocity": _VELOCITY / angle,
        f"{begin}:staticFrictionEffort": _FRICTION,
        f"{begin}:dynamicFrictionEffort": _FRICTION,
        f"{begin}:viscousFrictionCoefficient": _DAMPING * angle,
    }


_SPEED = {
    "physxJoint:maxJointVelocity": _VELOCITY / _DEGREE,
    "physxJointAxis:angular:maxJointVelocity": _VELOCITY / _DEGREE,
}


@pytest.mark.parametrize(
    ("profile", "kind", "given", "expected", "schemas"),
    [
        (
            *(_NEWTON, TURN, _ALL, _newton(_DEGREE) | _drive("angular", _EFFORT)),
            ["PhysicsDriveAPI:angular", "NewtonJointAPI"],
        ),
        (
            *(_NEWTON, SLIDE, _ALL, _newton(1.0) | _drive("linear", _EFFORT)),
            ["PhysicsDriveAPI:linear", "NewtonJointAPI"],
        ),
        (
            *(_PHYSX, TURN, _ALL, _physx("angular", _DEGREE) | _drive("angular", _EFFORT)),
            ["PhysicsDriveAPI:angular", "PhysxJointAPI", "PhysxJointAxisAPI:angular"],
        ),
        (
            *(_PHYSX, SLIDE, _ALL, _physx("linear", 1.0) | _drive("linear", _EFFORT)),
            ["PhysicsDriveAPI:linear", "PhysxJointAPI", "PhysxJointAxisAPI:linear"],
        ),
        (
            *(_PHYSX, TURN, {"velocity": _VELOCITY}, _SPEED),
            ["PhysxJointAPI", "PhysxJointAxisAPI:angular"],
        ),
        # Applied without values: they are absent.
        (_NEWTON, TURN, {}, {}, ["NewtonJointAPI"]),
        # The range of Newton's schema excludes zero, with which PhysX would lock the joint.
        (_PHYSX, TURN, {"velocity": 0.0}, {}, ["PhysxJointAPI"]),
        (
            *(_NEWTON, TURN, {"velocity": 0.0, "effort": 0.0}, _drive("angular", 0.0)),
            ["PhysicsDriveAPI:angular", "NewtonJointAPI"],
        ),
        # Negative, infinite, or zero in float32.
        *(
            (
                *(_NEWTON, TURN),
                {"effort": number, "velocity": number, "dynamics": Dynamics(number, number)},
                *({}, ["NewtonJointAPI"]),
            )
            for number in (-0.5, 1e-46, inf)
        ),
    ],
)
def test_numbers_of_joints_are_in_the_units_of_the_schema(
    tmp_path: Path,
    profile: Profile,
    kind: JointKind,
    given: dict[str, float],
    expected: dict[str, float],
    schemas: list[str],
) -> None:
    _stage, prim = _written(tmp_path, profile, structs.replace(Joint("j", "a", "b", kind), **given))

    actual = authored_values(prim, "newton", "physxJoint", "physxJointAxis", "drive")
    assert actual == {name: np.float32(value) for name, value in expected.items()}
    assert applied(prim) == schemas


def _coupling(prim: Usd.Prim) -> tuple[str, float, float] | None:
    """Return leader, multiplier or gearing, and offset."""
    numbers = authored_values(prim, "newton", "physxMimicJoint")
    # Of AXIS, the largest component is along Z.
    physx = "physxMimicJoint:rotZ"
    for link, factor, offset in (
        ("newton:mimicJoint", "newton:mimicCoef1", "newton:mimicCoef0"),
        (f"{physx}:referenceJoint", f"{physx}:gearing", f"{physx}:offset"),
    ):
        if targets := prim.GetRelationship(link).GetTargets():
            return targets[0].name, float(numbers[factor]), float(numbers[offset])  # type: ignore[arg-type]
    return None


@pytest.mark.parametrize(
    ("profile", "leads", "follows", "mimic", "expected"),
    [
        (_NEWTON, SPIN, SPIN, (-2.0, 0.5), (-2.0, 0.5 / _DEGREE)),
        # Newton's coefficients have no unit.
        (_NEWTON, SPIN, SLIDE, (0.1, 0.2), None),
        # PhysX has position + gearing * leader + offset = 0, in units of the follower per
        # unit of the leader.
        (_PHYSX, TURN, TURN, (-2.0, 0.5), (2.0, -0.5 / _DEGREE)),
        (_PHYSX, TURN, SLIDE, (0.05, 0.01), (-0.05 * _DEGREE, -0.01)),
        (_PHYSX, SLIDE, TURN, (0.05, 0.01), (-0.05 / _DEGREE, -0.01 / _DEGREE)),
        (_PHYSX, SLIDE, SLIDE, (0.05, 0.01), (-0.05, -0.01)),
        # PhysX refuses revolute joints without limits.
        (_PHYSX, SPIN, TURN, (-2.0, 0.5), None),
        (_PHYSX, TURN, SPIN, (-2.0, 0.5), None),
        (_PHYSX, Revolute(AXIS, Range(-inf, inf)), TURN, (-2.0, 0.5), None),
    ],
)
def test_couplings_are_in_the_units_of_the_schema(
    tmp_path: Path,
    profile: Profile,
    leads: JointKind,
    follows: JointKind,
    mimic: tuple[float, float],
    expected: tuple[float, float] | None,
) -> None:
    follower = Joint("follows", "b", "c", follows, mimic=Mimic("leads", *mimic))
    _stage, prim = _written(tmp_path, profile, Joint("leads", "a", "b", leads), follower)

    found = _coupling(prim)

    assert authored_values(prim, "urdf")["urdf:mimic:joint"] == "leads"
    if expected is None:
        assert found is None
    else:
        assert found == ("leads", *(pytest.approx(value, rel=1e-6) for value in expected))


def test_newton_properties_are_those_of_its_schemas(tmp_path: Path) -> None:
    leader = Joint("leads", "a", "b", TURN)
    follower = Joint("follows", "b", "c", TURN, mimic=Mimic("leads", -2.0, 0.5))
    follower = structs.replace(follower, **_ALL)
    stage, joint = _written(tmp_path, _NEWTON, leader, follower)
    body = stage.GetPrimAtPath("/r/Geometry/a/b")

    assert applied(joint)[1:] == ["NewtonJointAPI", "NewtonMimicAPI"]
    assert "NewtonMassAPI" in applied(body)
    assert body.HasAPI(UsdPhysics.MassAPI)
    # In double precision, diagonal first, along the axes of the link.
    tensor = list(body.GetAttribute("newton:inertia").Get())
    assert tensor == [0.10, 0.12, 0.15, 0.01, 0.02, 0.03]
    for prim in (joint, body):
        own = [one for one in prim.GetAuthoredProperties() if one.GetName().startswith("newton:")]
        for one in own:
            declared = prim.GetPrimDefinition().GetSchemaPropertySpec(one.GetName())
            assert declared
            assert not one.IsCustom()
            if isinstance(one, Usd.Attribute):
                assert one.GetTypeName() == declared.typeName


def _couplings(
    joints: Iterable[Joint], can_couple: Callable[[str, str], bool] = lambda *_: True
) -> dict[str, tuple[object, ...]]:
    """Leader, offset and factor of each coupling."""
    found: dict[str, tuple[object, ...]] = {}
    author_couplings(
        [AxisJoint(None, joint) for joint in joints],
        "Schema",
        lambda own, leader, mimic: (
            (mimic.offset, mimic.multiplier)
            if can_couple(own.joint.name, leader.joint.name)
            else None
        ),
        lambda own, leader, numbers: found.update({own.joint.name: (leader.joint.name, *numbers)}),
    )
    return found


def test_couplings_do_not_depend_on_joint_order() -> None:
    assert _couplings(chain()[::-1]) == _couplings(chain())


def test_coupling_starts_at_a_follower_that_cannot_be_coupled() -> None:
    assert _couplings(chain(), lambda name, _: name != "second") == {"third": ("second", -0.2, 0.8)}


def test_coupling_skips_followers_that_cannot_be_coupled() -> None:
    """Two prismatic joints with a revolute one between them in the chain."""
    ((leader, offset, factor),) = _couplings(
        chain(), lambda name, leader: (name, leader) == ("third", "first")
    ).values()

    assert leader == "first"
    assert (offset, factor) == pytest.approx((0.8 * 0.1 - 0.2, -0.4))


def test_coupling_to_a_missing_leader_is_omitted() -> None:
    assert _couplings(chain()[1:2]) == {}


def test_loops_and_long_chains_of_couplings_terminate() -> None:
    one = Joint("one", "a", "b", TURN, mimic=Mimic("two", 2.0))
    two = Joint("two", "b", "c", TURN, mimic=Mimic("one", 3.0))
    rest = [
        Joint(str(n), "a", "b", TURN, mimic=Mimic(str(n - 1), 1.0, 0.5)) for n in range(1, 5001)
    ]

    assert set(_couplings((one, two))) == {"one", "two"}
    assert _couplings((Joint("0", "a", "b", TURN), *rest))["5000"] == ("0", 2500.0, 1.0)


_LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'


@pytest.mark.parametrize(
    ("profile", "leader", "follower", "lost"),
    [
        (_NEWTON, "revolute", "revolute", False),
        (_NEWTON, "continuous", "continuous", False),
        (_NEWTON, "prismatic", "revolute", True),
        (_PHYSX, "prismatic", "revolute", False),
        (_PHYSX, "revolute", "continuous", True),
        (Profile.USDPHYSICS, "revolute", "revolute", False),
    ],
)
def test_couplings_that_a_schema_cannot_represent_are_reported(
    tmp_path: Path, profile: Profile, leader: str, follower: str, lost: bool
) -> None:
    limits = {"continuous": "", "revolute": _LIMIT, "prismatic": _LIMIT}
    file = tmp_path / "r.urdf"
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><link name="c"/>'
        f'<joint name="lead" type="{leader}"><parent link="a"/><child link="b"/>'
        f'{limits[leader]}</joint><joint name="follow" type="{follower}">'
        f'<parent link="b"/><child link="c"/>{limits[follower]}'
        '<mimic joint="lead" multiplier="2"/></joint></robot>'
    )

    made = convert(file, tmp_path / "usd", ConvertOptions(profile=profile))

    found = [d for d in made.diagnostics if d.rule == "mimic-unrepresentable"]
    assert len(found) == lost
    assert all("'follow' follows 'lead'" in d.message for d in found)
