"""Effort, velocity, damping and friction that simulators read, in SI units.

Units are those that the schemas document: newton-usd-schemas, physxSchema and
physxSchemaAddition use degrees for angles.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.conformance.engines.single_joints import PRISMATIC, REVOLUTE, only_joint
from tests.conformance.engines.usd_observations import (
    DATA,
    body,
    joint,
    joint_named,
    observe_stage,
    stage,
)
from urdf_usd.conformance.engines.openusd.joint_attributes import (
    SchemaFamily,
    refusal,
)
from urdf_usd.conformance.engines.protocol import InvalidFileError
from urdf_usd.conformance.observation.robot import JointType

DEGREE = math.pi / 180
CUSTOM = """
    custom uniform double urdf:limit:effort = 0.1
    custom uniform double urdf:limit:velocity = 0.2
    custom uniform double urdf:dynamics:damping = 0.3
    custom uniform double urdf:dynamics:friction = 0.4
"""
PHYSX = ("PhysicsDriveAPI:angular", "PhysxJointAPI", "PhysxJointAxisAPI:angular")


def _axis(axis: str, **numbers: float) -> str:
    """Return attributes of PhysX's schema for an axis."""
    return "\n".join(
        f"float physxJointAxis:{axis}:{name} = {value}" for name, value in numbers.items()
    )


def test_newton_velocity_and_damping_are_per_degree() -> None:
    """Friction is a torque."""
    elbow = joint_named(observe_stage(DATA / "nested_arm.usda"), "elbow")

    assert elbow.velocity == pytest.approx(math.pi)
    assert elbow.damping == pytest.approx(0.1 / DEGREE)
    assert elbow.friction == pytest.approx(0.3)
    assert elbow.effort == 12.5
    assert elbow.note is None


def test_linear_velocity_and_damping_are_unchanged() -> None:
    """Absent values are absent, not zero."""
    slide = joint_named(observe_stage(DATA / "nested_arm.usda"), "slide")

    assert (slide.velocity, slide.damping) == (0.75, 4.0)
    assert (slide.effort, slide.friction) == (None, None)


def test_physx_velocity_and_viscous_friction_are_per_degree(tmp_path: Path) -> None:
    """Dry friction and ``drive:maxForce`` are torques."""
    text = "float drive:angular:physics:maxForce = 9\n" + _axis(
        "angular",
        maxJointVelocity=90,
        viscousFrictionCoefficient=0.02,
        staticFrictionEffort=0.5,
        dynamicFrictionEffort=0.5,
    )
    found = only_joint(tmp_path, REVOLUTE, text, schemas=PHYSX)

    assert found.velocity == pytest.approx(math.pi / 2)
    assert found.damping == pytest.approx(0.02 / DEGREE)
    assert (found.friction, found.effort) == (0.5, 9.0)
    assert found.note is None


def test_physx_linear_axis_is_in_metres(tmp_path: Path) -> None:
    """Its instance name is ``linear``."""
    text = "float physxJoint:maxJointVelocity = 0.75\n" + _axis(
        "linear", viscousFrictionCoefficient=3, maxJointVelocity=0.5
    )
    schemas = ("PhysxJointAPI", "PhysxJointAxisAPI:linear")
    found = only_joint(tmp_path, PRISMATIC, text, schemas=schemas)

    assert (found.velocity, found.damping) == (0.5, 3.0)


def test_physx_joint_velocity_is_used_without_an_axis_schema(
    tmp_path: Path,
) -> None:
    """It is in degrees as well."""
    text = "float physxJoint:maxJointVelocity = 90"
    found = only_joint(tmp_path, REVOLUTE, text, schemas=("PhysxJointAPI",))

    assert found.velocity == pytest.approx(math.pi / 2)


def test_physx_axis_schema_overrides_the_joint_velocity(tmp_path: Path) -> None:
    """PhysX reads the axis only, once its schema is applied."""
    text = """
        float physxJoint:maxJointVelocity = 90
        custom uniform double urdf:limit:velocity = 1.5707963267948966
    """
    found = only_joint(tmp_path, REVOLUTE, text, schemas=PHYSX[1:])

    assert found.velocity is None
    assert found.note is not None
    assert "physxJointAxis:angular:maxJointVelocity is absent" in found.note


@pytest.mark.parametrize(
    ("attribute", "number"),
    [
        ("drive:angular:physics:maxForce", "effort"),
        ("physxJoint:maxJointVelocity", "velocity"),
        ("physxJointAxis:angular:viscousFrictionCoefficient", "damping"),
        ("physxJointAxis:angular:dynamicFrictionEffort", "friction"),
    ],
)
def test_attributes_of_unapplied_schemas_are_ignored(
    tmp_path: Path, attribute: str, number: str
) -> None:
    """Simulators read applied schemas only."""
    found = only_joint(tmp_path, REVOLUTE, f"float {attribute} = 4")

    assert getattr(found, number) is None


@pytest.mark.parametrize(
    "text", ["float newton:velocityLimit = inf", "float newton:velocityLimit = 1e38"]
)
def test_infinite_velocity_limit_is_absent(tmp_path: Path, text: str) -> None:
    """It equals the schema's fallback value."""
    assert only_joint(tmp_path, REVOLUTE, text).velocity is None


def test_drive_max_force_is_the_effort(tmp_path: Path) -> None:
    """``drive:maxForce`` is effective; the custom attribute is informative."""
    text = """
        float drive:angular:physics:maxForce = 4
        custom uniform double urdf:limit:effort = 5
    """
    schemas = ("PhysicsDriveAPI:angular",)
    driven = only_joint(tmp_path, REVOLUTE, text, schemas=schemas)

    assert driven.effort == 4.0
    assert driven.note == ("drive:angular:physics:maxForce is 4, urdf:limit:effort is 5")


def test_drive_of_an_untyped_joint_is_named_after_its_axis(
    tmp_path: Path,
) -> None:
    """For a joint whose only degree of freedom is a rotation about Y."""
    locked = ("transX", "transY", "transZ", "rotX", "rotZ")
    text = "float drive:rotY:physics:maxForce = 4\n" + "\n".join(
        f"float limit:{freedom}:physics:low = 1\nfloat limit:{freedom}:physics:high = -1"
        for freedom in locked
    )
    schemas = ("PhysicsDriveAPI:rotY", *(f"PhysicsLimitAPI:{f}" for f in locked))
    found = only_joint(tmp_path, "PhysicsJoint", text, schemas=schemas)

    assert (found.type, found.effort) == (JointType.CONTINUOUS, 4.0)


def test_custom_attributes_are_effective_without_schemas(tmp_path: Path) -> None:
    """No other attribute has these values."""
    found = only_joint(tmp_path, REVOLUTE, CUSTOM)

    assert (found.effort, found.velocity) == (0.1, 0.2)
    assert (found.damping, found.friction, found.note) == (0.3, 0.4, None)


@pytest.mark.parametrize(
    ("text", "schemas", "absent"),
    [
        ("", ("NewtonJointAPI",), "newton:damping"),
        ("float newton:armature = 0.1", (), "newton:damping"),
        ("", ("PhysxJointAPI",), "physxJointAxis:angular:viscousFrictionCoefficient"),
        (
            "float physxLimit:angular:stiffness = 1",
            (),
            "physxJointAxis:angular:viscousFrictionCoefficient",
        ),
    ],
)
def test_value_missing_in_a_used_schema_is_absent(
    tmp_path: Path, text: str, schemas: tuple[str, ...], absent: str
) -> None:
    """The simulator of that schema does not read the custom attribute."""
    found = only_joint(tmp_path, REVOLUTE, text + CUSTOM, schemas=schemas)

    assert (found.effort, found.velocity) == (0.1, None)
    assert (found.damping, found.friction) == (None, None)
    assert found.note is not None
    assert f"urdf:dynamics:damping is 0.3, but {absent} is absent" in found.note


def test_schema_of_one_joint_is_required_of_the_whole_asset(tmp_path: Path) -> None:
    """Where one joint has Newton's schema, the values of others are lost without it."""
    bodies = body("a") + body("b") + body("c")
    other = joint(REVOLUTE, "other", schemas=("NewtonJointAPI",))
    it = joint(REVOLUTE, "it", CUSTOM, ("b", "c"))
    found = joint_named(observe_stage(stage(tmp_path, bodies + other + it)), "it")

    assert (found.velocity, found.damping) == (None, None)


def test_value_missing_in_one_of_two_used_schemas_is_absent(tmp_path: Path) -> None:
    """The simulator of the other schema lacks the value."""
    text = f"""
        float newton:damping = {0.3 * DEGREE}
        float newton:friction = 0.4
        custom uniform double urdf:dynamics:damping = 0.3
        custom uniform double urdf:dynamics:friction = 0.4
    """ + _axis("angular", staticFrictionEffort=0.4, dynamicFrictionEffort=0.4)
    found = only_joint(tmp_path, REVOLUTE, text, schemas=PHYSX[2:])

    assert found.damping is None
    assert found.friction == pytest.approx(0.4)


def test_contradictory_schemas_have_no_effective_value(
    tmp_path: Path,
) -> None:
    """None of the values is reported, and the joint equals none of a URDF."""
    text = """
        float newton:velocityLimit = 90
        float physxJoint:maxJointVelocity = 45
    """
    schemas = ("NewtonJointAPI", "PhysxJointAPI")
    found = only_joint(tmp_path, REVOLUTE, text, schemas=schemas)

    assert found.velocity is not None
    assert math.isnan(found.velocity)
    assert found.note is not None
    assert found.note.startswith("newton:velocityLimit is 1.5708")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("float drive:angular:physics:maxForce = -inf", "effort"),
        ("float newton:velocityLimit = -inf", "velocity"),
        ("float physxJointAxis:angular:viscousFrictionCoefficient = inf", "damping"),
        ("float physxJointAxis:angular:staticFrictionEffort = inf", "friction"),
    ],
)
def test_infinity_is_no_limit_for_limits_alone(tmp_path: Path, text: str, number: str) -> None:
    """Infinite friction, and limits of negative infinity, are values."""
    schemas = ("NewtonJointAPI", *PHYSX)
    found = only_joint(tmp_path, REVOLUTE, text, schemas=schemas)

    assert abs(getattr(found, number)) == math.inf


def test_static_friction_must_equal_dynamic_friction(tmp_path: Path) -> None:
    """URDF has one value; PhysX simulates another joint if its two values differ."""
    text = _axis("angular", staticFrictionEffort=0.5, dynamicFrictionEffort=0.25)
    found = only_joint(tmp_path, REVOLUTE, text, schemas=PHYSX[2:])

    assert found.friction is not None
    assert math.isnan(found.friction)
    assert found.note is not None
    assert "dynamicFrictionEffort is 0.25" in found.note


@pytest.mark.parametrize("schemas", [("NewtonJointAPI",), ("PhysxJointAPI",)])
def test_custom_attributes_are_effective_where_no_schema_can_express_the_value(
    tmp_path: Path, schemas: tuple[str, ...]
) -> None:
    """A velocity limit of zero would lock the joint; negative values are undefined."""
    text = """
        custom uniform double urdf:limit:effort = -1
        custom uniform double urdf:limit:velocity = 0
        custom uniform double urdf:dynamics:damping = 3e-41
    """
    found = only_joint(tmp_path, REVOLUTE, text, schemas=schemas)

    assert (found.effort, found.velocity, found.damping) == (-1.0, 0.0, 3e-41)
    assert found.note is None


def test_zero_effort_is_absent_if_a_drive_could_state_it(tmp_path: Path) -> None:
    """A joint without a motor differs from one without a force limit."""
    text = "custom uniform double urdf:limit:effort = 0"
    drive = ("PhysicsDriveAPI:angular",)
    found = only_joint(tmp_path, REVOLUTE, text, schemas=drive)

    assert found.effort is None


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("", 7.0),
        ("float drive:angular:physics:maxForce = 4", None),
    ],
)
def test_effort_needs_a_drive_only_where_an_asset_has_drives(
    tmp_path: Path, other: str, expected: float | None
) -> None:
    """Assets of other converters may leave drives to the user."""
    bodies = body("a") + body("b") + body("c")
    moved = joint(REVOLUTE, "moved", f"float newton:damping = 0.1\n{other}")
    text = "custom float urdf:limit:effort = 7"
    it = joint(REVOLUTE, "it", text, ("b", "c"))
    found = joint_named(observe_stage(stage(tmp_path, bodies + moved + it)), "it")

    assert found.effort == expected


def test_custom_attributes_count_on_joints_without_one_axis(tmp_path: Path) -> None:
    """A schema's value would apply to displacements and angles alike."""
    text = "custom uniform double urdf:dynamics:damping = 0.2"
    schemas = ("NewtonJointAPI",)
    found = only_joint(tmp_path, "PhysicsSphericalJoint", text, schemas=schemas)

    assert found.damping == 0.2


def test_planar_joint_ignores_schemas_that_mix_units(tmp_path: Path) -> None:
    """Newton applies the value to each degree of freedom, in that one's unit."""
    locks = "\n".join(
        f"float limit:{freedom}:physics:low = 1\nfloat limit:{freedom}:physics:high = -1"
        for freedom in ("transZ", "rotX", "rotY")
    )
    schemas = [f"PhysicsLimitAPI:{each}" for each in ("transZ", "rotX", "rotY")]
    text = locks + "\nfloat newton:damping = 7\nfloat newton:friction = 8"
    found = only_joint(tmp_path, "PhysicsJoint", text, schemas=schemas)

    assert found.type is JointType.PLANAR
    assert (found.damping, found.friction, found.lower) == (None, None, None)


def test_forces_of_a_stage_in_centimetres_become_newtons(tmp_path: Path) -> None:
    """1 kg cm/s^2 is 0.01 N, 1 kg cm^2/s^2 is 1e-4 N m."""
    rail = only_joint(
        tmp_path,
        PRISMATIC,
        "float newton:friction = 3\nfloat newton:damping = 5\nfloat newton:velocityLimit = 7",
        "metersPerUnit = 0.01",
    )
    hinge = only_joint(tmp_path, REVOLUTE, "float newton:friction = 3", "metersPerUnit = 0.01")

    assert rail.friction == pytest.approx(0.03)
    assert rail.damping == pytest.approx(5.0)
    assert rail.velocity == pytest.approx(0.07)
    assert hinge.friction == pytest.approx(3e-4)


@pytest.mark.parametrize(
    ("families", "meant"),
    [
        ({SchemaFamily.NEWTON, SchemaFamily.PHYSX}, True),
        ({SchemaFamily.DRIVES}, True),
        (set(), True),
        ({SchemaFamily.DRIVES, SchemaFamily.PHYSX}, False),
    ],
)
def test_refusal_counts_if_the_asset_is_made_for_the_simulator(
    families: set[SchemaFamily], *, meant: bool
) -> None:
    """It is unless it has schemas of other simulators alone."""
    error = refusal("Newton: no", families, {SchemaFamily.NEWTON})

    assert isinstance(error, InvalidFileError) is meant
