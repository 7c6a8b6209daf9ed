"""Effort, velocity, damping and friction of joints, as simulators read them.

A simulator whose schemas an asset uses reads its values from these schemas alone: a value that
they could state and do not is absent, even if a custom attribute ``urdf:`` states it. In an asset
without such schemas the ``urdf:`` attributes are used. Drives count as a schema family: in an asset
without drives no joint is driven, and there is no attribute for the limit of a motor.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from pxr import Usd

from urdf_usd.conformance.engines.openusd.joints import ANGULAR, LINEAR, UNBOUNDED
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    Units,
    number_attribute,
    text_attribute,
)
from urdf_usd.conformance.engines.protocol import AbstentionError, InvalidFileError
from urdf_usd.conformance.observation.robot import JointType

SAME = 1e-6
"""float32 keeps 6e-8; a custom attribute in double and a schema's float agree this far."""
# The smallest normal number of float32.
_SMALLEST = 2.0**-126
_RANGE = "mjc:actuatorfrcrange"


class SchemaFamily(StrEnum):
    """Schemas of one simulator for joints, or the drives of OpenUSD."""

    DRIVES = "drives"
    NEWTON = "newton"
    PHYSX = "physx"
    MUJOCO = "mujoco"


# Prefixes of names of schemas and properties, in lower case.
_BEGINNINGS = {
    SchemaFamily.DRIVES: ("drive:", "physicsdriveapi:"),
    SchemaFamily.NEWTON: ("newton",),
    SchemaFamily.PHYSX: ("physx",),
    SchemaFamily.MUJOCO: ("mjc",),
}


def used_families(physics: Physics) -> frozenset[SchemaFamily]:
    """Return the schema families that any joint uses."""
    names: set[str] = set()
    for path in physics.joints:
        prim = physics.stage.GetPrimAtPath(path)
        names |= {*map(str.lower, (*applied_schemas(prim), *prim.GetAuthoredPropertyNames()))}
    return frozenset(
        family
        for family, beginnings in _BEGINNINGS.items()
        if any(name.startswith(beginnings) for name in names)
    )


def refusal(
    reason: str, families: Collection[SchemaFamily], own: Collection[SchemaFamily]
) -> AbstentionError:
    """Return the error for a stage that a simulator refuses.

    Args:
        reason: In the words of the simulator.
        families: Schema families of the asset.
        own: Those that the simulator reads. A stage that has schemas of others alone is not made
            for it, one without any for all.
    """
    others = set(families) - {SchemaFamily.DRIVES}
    meant = not others or others & set(own)
    return InvalidFileError(reason) if meant else AbstentionError(reason)


def applied_schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the API schemas of a prim, registered in OpenUSD or not.

    ``GetAppliedSchemas`` leaves out schemas that are not registered, as those of PhysX, or that
    were registered after a stage was opened in the same process.
    """
    return tuple(prim.GetPrimTypeInfo().GetAppliedAPISchemas())


class Freedom(Struct, frozen=True):
    """The degree of freedom of a joint that has exactly one."""

    angular: bool  # whether it is a rotation; schemas use degrees then
    # Instance name in multiple-apply schemas: ``angular``, or ``transY`` of an untyped joint
    instance: str


def freedom_of(prim: Usd.Prim, kind: JointType, axis: int | None) -> Freedom | None:
    """Return the degree of freedom of a joint; None if it has not exactly one.

    Args:
        prim: The joint.
        kind: Its effective type.
        axis: Coordinate axis of the joint frame about or along which it moves.
    """
    if axis is None or kind not in ANGULAR | LINEAR:
        return None
    angular = kind in ANGULAR
    if prim.GetTypeName() == "PhysicsJoint":
        return Freedom(angular, f"{'rot' if angular else 'trans'}{'XYZ'[axis]}")
    return Freedom(angular, "angular" if angular else "linear")


class _Source(NamedTuple):
    """Where a schema family has a number; braces stand for the instance of the freedom."""

    family: SchemaFamily
    # Attributes, and schemas that have to be applied. The first that is applied is read.
    attributes: tuple[tuple[str, str | None], ...]
    # Whether the value of a joint that turns is per radian, not per degree.
    per_radian: bool = False


class _Number(NamedTuple):
    """One number of a joint."""

    custom: str  # attribute in SI units
    unit: str  # key of _units
    sources: tuple[_Source, ...]
    has_zero: bool = True  # whether schemas can state zero; none can state negative numbers
    is_limit: bool = False  # whether infinity stands for no limit


def _newton(name: str) -> _Source:
    # Newton reads these whether or not NewtonJointAPI is applied.
    return _Source(SchemaFamily.NEWTON, ((f"newton:{name}", None),))


def _physx(name: str, *further: tuple[str, str]) -> _Source:
    # An axis with its own schema ignores that of the joint.
    axis = f"physxJointAxis:{{}}:{name}", "PhysxJointAxisAPI:{}"
    return _Source(SchemaFamily.PHYSX, (axis, *further))


def _mujoco(name: str, *, per_radian: bool = False) -> _Source:
    # Newton's importer reads these whether or not MjcJointAPI is applied.
    return _Source(SchemaFamily.MUJOCO, ((f"mjc:{name}", None),), per_radian)


_DRIVE = _Source(SchemaFamily.DRIVES, (("drive:{}:physics:maxForce", "PhysicsDriveAPI:{}"),))
_JOINT_VELOCITY = ("physxJoint:maxJointVelocity", "PhysxJointAPI")
_NUMBERS = {
    "effort": _Number(
        "urdf:limit:effort", "force", (_DRIVE, _mujoco("actuatorfrcrange")), is_limit=True
    ),
    "velocity": _Number(
        "urdf:limit:velocity",
        "velocity",
        (_newton("velocityLimit"), _physx("maxJointVelocity", _JOINT_VELOCITY)),
        # Newton's schema excludes it, and PhysX would freeze the joint.
        has_zero=False,
        is_limit=True,
    ),
    "damping": _Number(
        "urdf:dynamics:damping",
        "damping",
        (
            _newton("damping"),
            _physx("viscousFrictionCoefficient"),
            _mujoco("damping", per_radian=True),
        ),
    ),
    "friction": _Number(
        "urdf:dynamics:friction",
        "force",
        (
            _newton("friction"),
            # One number in URDF, whether the joint moves or rests.
            _physx("dynamicFrictionEffort"),
            _physx("staticFrictionEffort"),
            _mujoco("frictionloss"),
        ),
    ),
}


def _unit(number: _Number, units: Units, *, angular: bool) -> float:
    """SI value of the unit of schemas for a number."""
    position = math.radians(1.0) if angular else units.length
    force = units.effort(angular=angular)
    return {"force": force, "velocity": position, "damping": force / position}[number.unit]


def is_storable(value: float) -> bool:
    """Whether float32 can represent a value other than zero."""
    return _SMALLEST <= abs(value) < UNBOUNDED


def force_range(prim: Usd.Prim) -> tuple[float, float] | None:
    """Return MuJoCo's range of the force of a joint, if it is in effect."""
    lower, upper = (number_attribute(prim, f"{_RANGE}:{end}") or 0.0 for end in ("min", "max"))
    limited = text_attribute(prim, "mjc:actuatorfrclimited") or "auto"
    is_effective = limited != "false" and (limited != "auto" or lower < upper)
    return (lower, upper) if is_effective else None


def _authored(prim: Usd.Prim, name: str) -> float | None:
    """Return a number; of a range of forces its bound, NaN if it has two."""
    if name != _RANGE:
        return number_attribute(prim, name)
    bounds = force_range(prim)
    if bounds is None:
        return None
    return bounds[1] if bounds[0] == -bounds[1] else math.nan


def _read(
    number: _Number,
    source: _Source,
    prim: Usd.Prim,
    freedom: Freedom,
    unit: float,
    *,
    of_axis: bool = False,
) -> tuple[str, float | None]:
    """Return the attribute that a schema family reads, and its value in SI units.

    The smallest number stands for zero, which no range of MuJoCo can be.
    """
    applied, name, value = applied_schemas(prim), "", None
    for template, schema in source.attributes:
        if of_axis and "{" not in template:
            continue
        name = template.format(freedom.instance)
        if schema is None or schema.format(freedom.instance) in applied:
            value = _authored(prim, name)
            break
    if value is None or (number.is_limit and value >= UNBOUNDED):
        return name, None
    if number.is_limit and 0.0 < value <= _SMALLEST:
        return name, 0.0
    is_per_radian = source.per_radian and freedom.angular
    return name, value * unit * (math.radians(1.0) if is_per_radian else 1.0)


def joint_numbers(
    prim: Usd.Prim,
    freedom: Freedom | None,
    units: Units,
    families: Collection[SchemaFamily],
    remarks: list[str],
) -> dict[str, float | None]:
    """Read effort, velocity, damping and friction of a joint in SI units; None is absent.

    Args:
        prim: The joint.
        freedom: Its degree of freedom, if it has exactly one. Units of schemas depend on it, so
            that other joints have custom attributes alone.
        units: Units of the stage.
        families: Schema families of the asset.
        remarks: Receives notes on missing and contradictory values.
    """
    return {
        field: number_attribute(prim, number.custom)
        if freedom is None
        else _effective(prim, freedom, number, units, families, remarks)
        for field, number in _NUMBERS.items()
    }


def stated_numbers(
    prim: Usd.Prim, freedom: Freedom, units: Units, *, of_axis: bool = False
) -> dict[str, list[float]]:
    """Return what the schemas state of a joint, in SI units, by field of :func:`joint_numbers`.

    Args:
        prim: The joint.
        freedom: Its degree of freedom.
        units: Units of the stage.
        of_axis: Whether attributes of the whole joint are left out.
    """
    found: dict[str, list[float]] = {}
    for field, number in _NUMBERS.items():
        unit = _unit(number, units, angular=freedom.angular)
        values = (
            _read(number, source, prim, freedom, unit, of_axis=of_axis)[1]
            for source in number.sources
        )
        found[field] = [value for value in values if value is not None]
    return found


def _effective(
    prim: Usd.Prim,
    freedom: Freedom,
    number: _Number,
    units: Units,
    families: Collection[SchemaFamily],
    remarks: list[str],
) -> float | None:
    """Return the value of the schemas, or of the custom attribute without any.

    The value is NaN if two simulators read different ones, so that it equals none of a URDF,
    whether that has one or not.
    """
    custom = number_attribute(prim, number.custom)
    unit = _unit(number, units, angular=freedom.angular)
    stated: list[tuple[str, float]] = []
    missing: list[str] = []
    for source in number.sources:
        name, value = _read(number, source, prim, freedom, unit)
        if value is not None:
            stated.append((name, value))
        elif source.family in families:
            missing.append(name)
    if custom is not None and missing:
        is_expressible = is_storable(custom) and is_storable(custom / unit) and custom > 0.0
        if is_expressible or (custom == 0.0 and number.has_zero):
            remarks.append(f"{number.custom} is {custom:g}, but {missing[0]} is absent")
            return None
    if not stated:
        return custom
    (first, value), *others = stated
    for name, other in others:
        if not math.isclose(value, other, rel_tol=SAME):
            remarks.append(f"{first} is {value:g}, {name} is {other:g}")
            return math.nan
    if custom is not None and not math.isclose(value, custom, rel_tol=SAME):
        remarks.append(f"{first} is {value:g}, {number.custom} is {custom:g}")
    return value
