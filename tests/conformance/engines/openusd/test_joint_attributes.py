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
from urdf_usd.conformance.engines.openusd.joint_attributes import SchemaFamily, refusal
from urdf_usd.conformance.engines.protocol import InvalidFileError
from urdf_usd.conformance.observation.robot import JointType

DEGREE = math.pi / 180
NAN, INF = math.nan, math.inf
CUSTOM = """
    custom uniform double urdf:limit:effort = 0.1
    custom uniform double urdf:limit:velocity = 0.2
    custom uniform double urdf:dynamics:damping = 0.3
    custom uniform double urdf:dynamics:friction = 0.4
"""
DRIVE, NEWTON = "PhysicsDriveAPI:angular", "NewtonJointAPI"
AXIS = "PhysxJointAxisAPI:angular"
PHYSX = (DRIVE, "PhysxJointAPI", AXIS)
_VISCOUS = "physxJointAxis:angular:viscousFrictionCoefficient"


def _axis(axis: str, **numbers: float) -> str:
    """Return attributes of PhysX's schema for an axis."""
    return "\n".join(
        f"float physxJointAxis:{axis}:{name} = {value}" for name, value in numbers.items()
    )


def _locks(*freedoms: str) -> str:
    return "\n".join(
        f"float limit:{freedom}:physics:low = 1\nfloat limit:{freedom}:physics:high = -1"
        for freedom in freedoms
    )


_FRICTIONS = {"staticFrictionEffort": 0.5, "dynamicFrictionEffort": 0.5}
_SPIN = ("transX", "transY", "transZ", "rotX", "rotZ")
_PLANE = ("transZ", "rotX", "rotY")
# Type, applied schemas, attributes, expected numbers, and what the note contains; None for
# no note, an empty text for any.
_ROWS: dict[str, tuple[str, tuple[str, ...], str, dict[str, float | None], str | None]] = {
    "PhysX uses degrees, but for forces": (
        REVOLUTE,
        PHYSX,
        "float drive:angular:physics:maxForce = 9\n"
        + _axis("angular", maxJointVelocity=90, viscousFrictionCoefficient=0.02, **_FRICTIONS),
        {"velocity": math.pi / 2, "damping": 0.02 / DEGREE, "friction": 0.5, "effort": 9.0},
        None,
    ),
    "linear axis of PhysX": (
        PRISMATIC,
        ("PhysxJointAPI", "PhysxJointAxisAPI:linear"),
        "float physxJoint:maxJointVelocity = 0.75\n"
        + _axis("linear", viscousFrictionCoefficient=3, maxJointVelocity=0.5),
        {"velocity": 0.5, "damping": 3.0},
        "",
    ),
    "joint of PhysX without an axis schema": (
        REVOLUTE,
        ("PhysxJointAPI",),
        "float physxJoint:maxJointVelocity = 90",
        {"velocity": math.pi / 2},
        "",
    ),
    # PhysX reads the axis only, once its schema is applied.
    "axis of PhysX overrides the joint": (
        REVOLUTE,
        PHYSX[1:],
        "float physxJoint:maxJointVelocity = 90\n"
        "custom uniform double urdf:limit:velocity = 1.5707963267948966",
        {"velocity": None},
        "physxJointAxis:angular:maxJointVelocity is absent",
    ),
    # Simulators read applied schemas only.
    "schemas that are not applied": (
        REVOLUTE,
        (),
        "float drive:angular:physics:maxForce = 4\nfloat physxJoint:maxJointVelocity = 4\n"
        + _axis("angular", viscousFrictionCoefficient=4, dynamicFrictionEffort=4),
        dict.fromkeys(("effort", "velocity", "damping", "friction")),
        "",
    ),
    "infinite velocity limit": (
        REVOLUTE,
        (),
        "float newton:velocityLimit = inf",
        {"velocity": None},
        "",
    ),
    "almost infinite velocity limit": (
        REVOLUTE,
        (),
        "float newton:velocityLimit = 1e38",
        {"velocity": None},
        "",
    ),
    "drive counts, custom attribute informs": (
        REVOLUTE,
        (DRIVE,),
        "float drive:angular:physics:maxForce = 4\ncustom uniform double urdf:limit:effort = 5",
        {"effort": 4.0},
        "drive:angular:physics:maxForce is 4, urdf:limit:effort is 5",
    ),
    "drive of an untyped joint": (
        "PhysicsJoint",
        ("PhysicsDriveAPI:rotY", *(f"PhysicsLimitAPI:{freedom}" for freedom in _SPIN)),
        "float drive:rotY:physics:maxForce = 4\n" + _locks(*_SPIN),
        {"effort": 4.0},
        "",
    ),
    "custom attributes without schemas": (
        REVOLUTE,
        (),
        CUSTOM,
        {"effort": 0.1, "velocity": 0.2, "damping": 0.3, "friction": 0.4},
        None,
    ),
    # The simulator of a schema that is used does not read the custom attribute.
    **{
        f"value that {'attribute' if text else 'schema'} of {absent} lacks": (
            REVOLUTE,
            schemas,
            text + CUSTOM,
            {"effort": 0.1, "velocity": None, "damping": None, "friction": None},
            f"urdf:dynamics:damping is 0.3, but {absent} is absent",
        )
        for text, schemas, absent in (
            ("", (NEWTON,), "newton:damping"),
            ("float newton:armature = 0.1", (), "newton:damping"),
            ("", ("PhysxJointAPI",), _VISCOUS),
            ("float physxLimit:angular:stiffness = 1", (), _VISCOUS),
        )
    },
    "value that one of two schemas lacks": (
        REVOLUTE,
        (AXIS,),
        f"float newton:damping = {0.3 * DEGREE}\nfloat newton:friction = 0.4\n"
        "custom uniform double urdf:dynamics:damping = 0.3\n"
        "custom uniform double urdf:dynamics:friction = 0.4\n"
        + _axis("angular", staticFrictionEffort=0.4, dynamicFrictionEffort=0.4),
        {"damping": None, "friction": 0.4},
        "",
    ),
    # Not a number equals none of a URDF.
    "contradictory schemas": (
        REVOLUTE,
        (NEWTON, "PhysxJointAPI"),
        "float newton:velocityLimit = 90\nfloat physxJoint:maxJointVelocity = 45",
        {"velocity": NAN},
        "newton:velocityLimit is 1.5708",
    ),
    "two frictions of PhysX": (
        REVOLUTE,
        (AXIS,),
        _axis("angular", staticFrictionEffort=0.5, dynamicFrictionEffort=0.25),
        {"friction": NAN},
        "dynamicFrictionEffort is 0.25",
    ),
    # Infinity is no limit for limits alone.
    **{
        f"infinity of {attribute}": (
            REVOLUTE,
            (NEWTON, *PHYSX),
            f"float {attribute} = {value}",
            {number: float(value)},
            "",
        )
        for attribute, value, number in (
            ("drive:angular:physics:maxForce", "-inf", "effort"),
            ("newton:velocityLimit", "-inf", "velocity"),
            (_VISCOUS, "inf", "damping"),
            ("physxJointAxis:angular:staticFrictionEffort", "inf", "friction"),
        )
    },
    # A velocity limit of zero would lock the joint; negative values are undefined.
    **{
        f"values that {schema} cannot express": (
            REVOLUTE,
            (schema,),
            "custom uniform double urdf:limit:effort = -1\n"
            "custom uniform double urdf:limit:velocity = 0\n"
            "custom uniform double urdf:dynamics:damping = 3e-41",
            {"effort": -1.0, "velocity": 0.0, "damping": 3e-41},
            None,
        )
        for schema in (NEWTON, "PhysxJointAPI")
    },
    # A joint without a motor differs from one without a force limit.
    "zero effort that a drive could state": (
        REVOLUTE,
        (DRIVE,),
        "custom uniform double urdf:limit:effort = 0",
        {"effort": None},
        "",
    ),
    # A schema's value would apply to displacements and angles alike.
    "joint without one axis": (
        "PhysicsSphericalJoint",
        (NEWTON,),
        "custom uniform double urdf:dynamics:damping = 0.2",
        {"damping": 0.2},
        "",
    ),
    "planar joint": (
        "PhysicsJoint",
        tuple(f"PhysicsLimitAPI:{freedom}" for freedom in _PLANE),
        _locks(*_PLANE) + "\nfloat newton:damping = 7\nfloat newton:friction = 8",
        {"damping": None, "friction": None, "lower": None},
        "",
    ),
}


@pytest.mark.parametrize("row", _ROWS)
def test_numbers_are_those_that_simulators_read(tmp_path: Path, row: str) -> None:
    """Of applied schemas; otherwise of custom attributes."""
    kind, schemas, text, expected, note = _ROWS[row]

    found = only_joint(tmp_path, kind, text, schemas=schemas)

    for name, number in expected.items():
        value = getattr(found, name)
        assert value == (None if number is None else pytest.approx(number, rel=1e-7, nan_ok=True))
    if note is None:
        assert found.note is None
    else:
        assert note in (found.note or "")
    if row in {"drive of an untyped joint", "planar joint"}:
        is_plane = row == "planar joint"
        assert found.type is (JointType.PLANAR if is_plane else JointType.CONTINUOUS)


def test_newton_velocity_and_damping_are_per_degree() -> None:
    observation = observe_stage(DATA / "nested_arm.usda")
    elbow, slide = (joint_named(observation, name) for name in ("elbow", "slide"))

    assert elbow.velocity == pytest.approx(math.pi)
    assert elbow.damping == pytest.approx(0.1 / DEGREE)
    assert elbow.friction == pytest.approx(0.3)
    assert (elbow.effort, elbow.note) == (12.5, None)
    assert (slide.velocity, slide.damping) == (0.75, 4.0)
    assert (slide.effort, slide.friction) == (None, None)


@pytest.mark.parametrize(
    ("text", "schemas", "custom", "number", "expected"),
    [
        # Where one joint has Newton's schema, the values of others are lost without it.
        ("", (NEWTON,), CUSTOM, "velocity", None),
        ("", (NEWTON,), CUSTOM, "damping", None),
        # Assets of other converters may leave drives to the user.
        ("float newton:damping = 0.1", (), CUSTOM, "effort", 0.1),
        (
            "float newton:damping = 0.1\nfloat drive:angular:physics:maxForce = 4",
            (),
            CUSTOM,
            "effort",
            None,
        ),
    ],
)
def test_schema_of_one_joint_is_required_of_the_whole_asset(
    tmp_path: Path,
    text: str,
    schemas: tuple[str, ...],
    custom: str,
    number: str,
    expected: float | None,
) -> None:
    bodies = body("a") + body("b") + body("c")
    other = joint(REVOLUTE, "other", text, schemas=schemas)
    it = joint(REVOLUTE, "it", custom, ("b", "c"))

    found = joint_named(observe_stage(stage(tmp_path, bodies + other + it)), "it")

    assert getattr(found, number) == expected


def test_forces_of_a_stage_in_centimetres_become_newtons(tmp_path: Path) -> None:
    """1 kg cm/s^2 is 0.01 N, 1 kg cm^2/s^2 is 1e-4 N m."""
    rail = only_joint(
        tmp_path,
        PRISMATIC,
        "float newton:friction = 3\nfloat newton:damping = 5\nfloat newton:velocityLimit = 7",
        "metersPerUnit = 0.01",
    )
    hinge = only_joint(tmp_path, REVOLUTE, "float newton:friction = 3", "metersPerUnit = 0.01")

    assert (rail.friction, rail.damping, rail.velocity) == pytest.approx((0.03, 5.0, 0.07))
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
