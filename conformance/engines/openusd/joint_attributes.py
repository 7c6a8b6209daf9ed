"""Effort, velocity, damping and friction of joints, as simulators read them.

A simulator whose schemas an asset uses reads its values from these schemas alone: a
value that they could state and do not is absent, even if a custom attribute ``urdf:``
states it. In an asset without such schemas the ``urdf:`` attributes are used. Drives
count as a schema family: in an asset without drives no joint is driven, and there is
no attribute for the limit of a motor.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from enum import StrEnum

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
    found = set()
    for path in physics.joints:
        prim = physics.stage.GetPrimAtPath(path)
        names = {*applied_schemas(prim), *prim.GetAuthoredPropertyNames()}
        found |= {
            family
            for family, beginnings in _BEGINNINGS.items()
            if any(name.lower().startswith(beginnings) for name in names)
        }
    return frozenset(found)


def refusal(
    reason: str, families: Collection[SchemaFamily], own: Collection[SchemaFamily]
) -> AbstentionError:
    """Return the error for a stage that a simulator refuses.

    Args:
        reason: In the words of the simulator.
        families: Schema families of the asset.
        own: Those that the simulator reads. A stage that has schemas of others alone
            is not made for it, one without any for all.
    """
    others = set(families) - {SchemaFamily.DRIVES}
    meant = not others or others & set(own)
    return InvalidFileError(reason) if meant else AbstentionError(reason)


def applied_schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the API schemas of a prim, registered in OpenUSD or not.

    ``GetAppliedSchemas`` leaves out schemas that are not registered, as those of PhysX,
    or that were registered after a stage was opened in the same process.
    """
    return tuple(prim.GetPrimTypeInfo().GetAppliedAPISchemas())


# float32 keeps 6e-8; a custom attribute in double and a schema's float agree this far.
_SAME = 1e-6
# The smallest normal number of float32.
_SMALLEST = 2.0**-126


class Freedom(Struct, frozen=True):
    """The degree of freedom of a joint that has exactly one.

    Attributes:
        angular: Whether it is a rotation; schemas use degrees then.
        instance: Instance name in multiple-apply schemas: ``angular``, or ``transY``
            of an untyped joint.
    """

    angular: bool
    instance: str


def freedom_of(
    prim: Usd.Prim,
    kind: JointType,
    axis: int | None,
) -> Freedom | None:
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


class _Source(Struct, frozen=True):
    """An attribute that is read if a schema is applied, or always.

    Braces stand for the instance of the joint's freedom.
    """

    attribute: str
    schema: str | None = None


class _FamilySources(Struct, frozen=True):
    """The attributes from which one schema family takes a number.

    Attributes:
        family: The schema family.
        sources: The first one whose schema is applied is used.
        read: Reads the attributes instead; returns the name of one, and their value.
        per_radian: Whether the value of a joint that turns is per radian.
    """

    family: SchemaFamily
    sources: tuple[_Source, ...] = ()
    read: Callable[[Usd.Prim], tuple[str, float | None]] | None = None
    per_radian: bool = False

    def attribute(
        self, prim: Usd.Prim, freedom: Freedom, *, of_axis: bool = False
    ) -> tuple[str, float | None]:
        """Return the attribute that is read, and its value.

        Args:
            prim: The joint.
            freedom: Its degree of freedom.
            of_axis: Whether attributes of the whole joint are left out.
        """
        name = ""
        if self.read is not None:
            return (name, None) if of_axis else self.read(prim)
        applied = applied_schemas(prim)
        for source in self.sources:
            if of_axis and "{" not in source.attribute:
                continue
            name = source.attribute.format(freedom.instance)
            if source.schema is None or source.schema.format(freedom.instance) in applied:
                return name, number_attribute(prim, name)
        return name, None

    def is_expected(self, families: Collection[SchemaFamily]) -> bool:
        """Whether an asset with these schema families would use it."""
        return self.family in families


class _Number(Struct, frozen=True):
    """One number of a joint.

    Attributes:
        custom: Custom attribute, in SI units.
        angular: SI value of one schema unit for a joint that turns.
        linear: Likewise for one that slides.
        readers: Attributes by schema family.
        has_zero: Whether schemas can state zero. None can state negative numbers.
        is_limit: Whether infinity stands for no limit.
    """

    custom: str
    angular: float
    linear: float
    readers: tuple[_FamilySources, ...]
    has_zero: bool = True
    is_limit: bool = False

    def stated(self, value: float | None) -> float | None:
        """Return an authored value, or None if it stands for no limit.

        The smallest number stands for zero, which no range of MuJoCo can be.
        """
        if self.is_limit and value is not None:
            if value >= UNBOUNDED:
                return None
            if 0.0 < value <= _SMALLEST:
                return 0.0
        return value

    def read(
        self, sources: _FamilySources, prim: Usd.Prim, freedom: Freedom, *, of_axis: bool = False
    ) -> tuple[str, float | None]:
        """Return the attribute of a schema family, and its value in SI units."""
        name, value = sources.attribute(prim, freedom, of_axis=of_axis)
        value = self.stated(value)
        if value is None:
            return name, None
        scale = math.radians(1.0) if sources.per_radian and freedom.angular else 1.0
        return name, value * (self.angular if freedom.angular else self.linear) * scale

    def is_expressible(self, value: float, unit: float) -> bool:
        """Whether a schema could state a value [SI]."""
        if value < 0.0 or value == 0.0:
            return value == 0.0 and self.has_zero
        return is_storable(value) and is_storable(value / unit)


def is_storable(value: float) -> bool:
    """Whether float32 can represent a value other than zero."""
    return _SMALLEST <= abs(value) < UNBOUNDED


def _newton(name: str) -> _FamilySources:
    # Newton reads these whether or not NewtonJointAPI is applied.
    return _FamilySources(SchemaFamily.NEWTON, (_Source(f"newton:{name}"),))


def _physx(name: str, *further: _Source) -> _FamilySources:
    axis = _Source(f"physxJointAxis:{{}}:{name}", "PhysxJointAxisAPI:{}")
    return _FamilySources(SchemaFamily.PHYSX, (axis, *further))


def _mujoco(name: str, *, per_radian: bool = False) -> _FamilySources:
    # Newton's importer reads these whether or not MjcJointAPI is applied.
    sources = (_Source(f"mjc:{name}"),)
    return _FamilySources(SchemaFamily.MUJOCO, sources, per_radian=per_radian)


_RANGE = "mjc:actuatorfrcrange"


def force_range(prim: Usd.Prim) -> tuple[float, float] | None:
    """Return MuJoCo's range of the force of a joint, if it is in effect."""
    bounds = (number_attribute(prim, f"{_RANGE}:{end}") for end in ("min", "max"))
    lower, upper = (bound or 0.0 for bound in bounds)
    limited = text_attribute(prim, "mjc:actuatorfrclimited") or "auto"
    if limited == "false" or (limited == "auto" and not lower < upper):
        return None
    return lower, upper


def _read_range(prim: Usd.Prim) -> tuple[str, float | None]:
    """Return the bound of the range of a joint's force; NaN if it has two bounds."""
    bounds = force_range(prim)
    if bounds is None:
        return _RANGE, None
    return _RANGE, bounds[1] if bounds[0] == -bounds[1] else math.nan


_MUJOCO_EFFORT = _FamilySources(SchemaFamily.MUJOCO, read=_read_range)
_DRIVE = _FamilySources(
    SchemaFamily.DRIVES, (_Source("drive:{}:physics:maxForce", "PhysicsDriveAPI:{}"),)
)
_EFFORT = (_DRIVE, _MUJOCO_EFFORT)
# An axis with its own schema ignores that of the joint.
_PHYSX_VELOCITY = _physx(
    "maxJointVelocity", _Source("physxJoint:maxJointVelocity", "PhysxJointAPI")
)


class JointNumbers(Struct, frozen=True):
    """The numbers of one joint, in SI units; None is absent."""

    effort: float | None
    velocity: float | None
    damping: float | None
    friction: float | None


def joint_numbers(
    prim: Usd.Prim,
    freedom: Freedom | None,
    units: Units,
    families: Collection[SchemaFamily],
    remarks: list[str],
) -> JointNumbers:
    """Read the numbers of a joint.

    Args:
        prim: The joint.
        freedom: Its degree of freedom, if it has exactly one. Units of schemas depend
            on it, so that other joints have custom attributes alone.
        units: Units of the stage.
        families: Schema families of the asset.
        remarks: Receives notes on missing and contradictory values.
    """
    return JointNumbers(
        *(
            _effective(prim, freedom, number, families, remarks)
            for number in _number_table(units).values()
        )
    )


def stated_numbers(
    prim: Usd.Prim, freedom: Freedom, units: Units, *, of_axis: bool = False
) -> dict[str, list[float]]:
    """Return what the schemas state of a joint, in SI units, by field of JointNumbers.

    Args:
        prim: The joint.
        freedom: Its degree of freedom.
        units: Units of the stage.
        of_axis: Whether attributes of the whole joint are left out.
    """
    return {
        field: [
            value
            for sources in number.readers
            if (value := number.read(sources, prim, freedom, of_axis=of_axis)[1]) is not None
        ]
        for field, number in _number_table(units).items()
    }


def _number_table(units: Units) -> dict[str, _Number]:
    degree = math.radians(1.0)
    torque, force = units.effort(angular=True), units.effort(angular=False)
    return {
        "effort": _Number("urdf:limit:effort", torque, force, _EFFORT, is_limit=True),
        "velocity": _Number(
            "urdf:limit:velocity",
            degree,
            units.length,
            (_newton("velocityLimit"), _PHYSX_VELOCITY),
            # Newton's schema excludes it, and PhysX would freeze the joint.
            has_zero=False,
            is_limit=True,
        ),
        "damping": _Number(
            "urdf:dynamics:damping",
            torque / degree,
            force / units.length,
            (
                _newton("damping"),
                _physx("viscousFrictionCoefficient"),
                _mujoco("damping", per_radian=True),
            ),
        ),
        "friction": _Number(
            "urdf:dynamics:friction",
            torque,
            force,
            (
                _newton("friction"),
                # One number in URDF, whether the joint moves or rests.
                _physx("dynamicFrictionEffort"),
                _physx("staticFrictionEffort"),
                _mujoco("frictionloss"),
            ),
        ),
    }


def _effective(
    prim: Usd.Prim,
    freedom: Freedom | None,
    number: _Number,
    families: Collection[SchemaFamily],
    remarks: list[str],
) -> float | None:
    """Return the value of the schemas, or of the custom attribute without any.

    The value is NaN if two simulators read different ones, so that it equals none of a
    URDF, whether that has one or not.
    """
    custom = number_attribute(prim, number.custom)
    if freedom is None:
        return custom
    unit = number.angular if freedom.angular else number.linear
    stated: list[tuple[str, float]] = []
    missing: list[str] = []
    for source_list in number.readers:
        name, value = number.read(source_list, prim, freedom)
        if value is not None:
            stated.append((name, value))
        elif source_list.is_expected(families):
            missing.append(name)
    if custom is not None and missing and number.is_expressible(custom, unit):
        remarks.append(f"{number.custom} is {custom:g}, but {missing[0]} is absent")
        return None
    if not stated:
        return custom
    (first, value), *others = stated
    for name, other in others:
        if not math.isclose(value, other, rel_tol=_SAME):
            remarks.append(f"{first} is {value:g}, {name} is {other:g}")
            return math.nan
    if custom is not None and not math.isclose(value, custom, rel_tol=_SAME):
        remarks.append(f"{first} is {value:g}, {number.custom} is {custom:g}")
    return value
