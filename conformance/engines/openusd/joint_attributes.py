"""Effort, velocity, damping and friction of joints: what a simulator computes with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines.openusd.joints import ANGULAR, LINEAR, UNBOUNDED
from urdf_usd.conformance.engines.openusd.stage import number_attribute

if TYPE_CHECKING:
    from collections.abc import Collection

    from pxr import Usd

    from urdf_usd.conformance.engines.openusd.stage import Physics, Units
    from urdf_usd.conformance.observation.robot import JointType


class SchemaFamily(StrEnum):
    """A simulator with schemas of its own for joints, or the drives of OpenUSD."""

    DRIVES = "drives"
    NEWTON = "newton"
    PHYSX = "physx"


# How names of schemas and properties begin, in small letters.
_BEGINNINGS = {
    SchemaFamily.DRIVES: ("drive:", "physicsdriveapi:"),
    SchemaFamily.NEWTON: ("newton",),
    SchemaFamily.PHYSX: ("physx",),
}


def used_families(physics: Physics) -> frozenset[SchemaFamily]:
    """Return the families in which any joint says anything."""
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


def applied_schemas(prim: Usd.Prim) -> tuple[str, ...]:
    """Return the API schemas that a prim has, whether or not OpenUSD knows them.

    OpenUSD's own answer leaves out schemas that are not registered, as those of PhysX,
    or that were registered after a stage was opened in the same process.
    """
    return tuple(prim.GetPrimTypeInfo().GetAppliedAPISchemas())


# float32 keeps 6e-8; a custom attribute in double and a schema's float agree this far.
_SAME = 1e-6
# Below this float32 loses digits, and everything in the end.
_SMALLEST = 2.0**-126


@dataclass(frozen=True, slots=True)
class Freedom:
    """The one way in which a joint moves.

    Attributes:
        angular: Whether it turns; schemas count in degrees then.
        instance: How multiple-apply schemas call it: ``angular``, or ``transY`` of a
            joint without a type of its own.
    """

    angular: bool
    instance: str


def freedom_of(
    prim: Usd.Prim,
    kind: JointType,
    axis: int | None,
) -> Freedom | None:
    """Return how a joint moves; None if not in exactly one way.

    Args:
        prim: The joint.
        kind: Its effective type.
        axis: Coordinate axis of the joint frame that the motion is about or along.
    """
    if axis is None or kind not in ANGULAR | LINEAR:
        return None
    angular = kind in ANGULAR
    if prim.GetTypeName() == "PhysicsJoint":
        return Freedom(angular, f"{'rot' if angular else 'trans'}{'XYZ'[axis]}")
    return Freedom(angular, "angular" if angular else "linear")


@dataclass(frozen=True, slots=True)
class _Place:
    """An attribute, which counts where a schema is applied, or everywhere.

    Braces stand for the instance of the joint's freedom.
    """

    attribute: str
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class _Word:
    """Where simulators look for a number.

    Attributes:
        family: Who looks there.
        places: The first whose schema is applied counts.
    """

    family: SchemaFamily
    places: tuple[_Place, ...]

    def attribute(self, prim: Usd.Prim, freedom: Freedom) -> tuple[str, float | None]:
        """Return the attribute that counts, and its value; an infinite one is none."""
        applied = applied_schemas(prim)
        for place in self.places:
            name = place.attribute.format(freedom.instance)
            if place.schema is None or place.schema.format(freedom.instance) in applied:
                value = number_attribute(prim, name)
                bounded = value is not None and abs(value) < UNBOUNDED
                return name, value if bounded else None
        return name, None

    def is_expected(self, families: Collection[SchemaFamily]) -> bool:
        """Whether an asset that speaks these families would use it."""
        return self.family in families


@dataclass(frozen=True, slots=True)
class _Number:
    """One number of a joint.

    Attributes:
        custom: Custom attribute, in SI units.
        angular: SI value of one schema unit for a joint that turns.
        linear: Likewise for one that slides.
        words: Where simulators look for it.
        has_zero: Whether schemas have a word for zero. None has negative numbers.
    """

    custom: str
    angular: float
    linear: float
    words: tuple[_Word, ...]
    has_zero: bool = True

    def is_sayable(self, value: float, unit: float) -> bool:
        """Whether a schema could state a value [SI]."""
        if value < 0.0 or value == 0.0:
            return value == 0.0 and self.has_zero
        return is_storable(value) and is_storable(value / unit)


def is_storable(value: float) -> bool:
    """Whether float32 has a number for a value other than zero."""
    return _SMALLEST <= abs(value) < UNBOUNDED


def _newton(name: str) -> _Word:
    # Newton reads these whether or not NewtonJointAPI is applied.
    return _Word(SchemaFamily.NEWTON, (_Place(f"newton:{name}"),))


def _physx(name: str, *further: _Place) -> _Word:
    axis = _Place(f"physxJointAxis:{{}}:{name}", "PhysxJointAxisAPI:{}")
    return _Word(SchemaFamily.PHYSX, (axis, *further))


_DRIVE = _Word(
    SchemaFamily.DRIVES, (_Place("drive:{}:physics:maxForce", "PhysicsDriveAPI:{}"),)
)
# An axis with a schema of its own does not look at that of the joint.
_PHYSX_VELOCITY = _physx(
    "maxJointVelocity", _Place("physxJoint:maxJointVelocity", "PhysxJointAPI")
)


@dataclass(frozen=True, slots=True)
class JointNumbers:
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
        freedom: How it moves; a schema's number holds for every freedom, each in its
            own unit, so only joints with one are asked.
        units: Units of the stage.
        families: Languages of the asset.
        remarks: Receives what is lost or contradicts.
    """
    degree = math.radians(1.0)
    torque, force = units.effort(angular=True), units.effort(angular=False)
    numbers = (
        _Number("urdf:limit:effort", torque, force, (_DRIVE,)),
        _Number(
            "urdf:limit:velocity",
            degree,
            units.length,
            (_newton("velocityLimit"), _PHYSX_VELOCITY),
            # Newton's schema excludes it, and PhysX would freeze the joint.
            has_zero=False,
        ),
        _Number(
            "urdf:dynamics:damping",
            torque / degree,
            force / units.length,
            (_newton("damping"), _physx("viscousFrictionCoefficient")),
        ),
        _Number(
            "urdf:dynamics:friction",
            torque,
            force,
            (
                _newton("friction"),
                # One number in URDF, whether the joint moves or rests.
                _physx("dynamicFrictionEffort"),
                _physx("staticFrictionEffort"),
            ),
        ),
    )
    return JointNumbers(
        *(_effective(prim, freedom, number, families, remarks) for number in numbers)
    )


def _effective(
    prim: Usd.Prim,
    freedom: Freedom | None,
    number: _Number,
    families: Collection[SchemaFamily],
    remarks: list[str],
) -> float | None:
    """Return what simulators agree on, or the custom attribute where they are not told.

    Where two of them read different numbers there is no effective one.
    """
    custom = number_attribute(prim, number.custom)
    if freedom is None:
        return custom
    unit = number.angular if freedom.angular else number.linear
    said: list[tuple[str, float]] = []
    silent: list[str] = []
    for word in number.words:
        name, value = word.attribute(prim, freedom)
        if value is not None:
            said.append((name, value * unit))
        elif word.is_expected(families):
            silent.append(name)
    if custom is not None and silent and number.is_sayable(custom, unit):
        remarks.append(f"{number.custom} is {custom:g}, and {silent[0]} is silent")
        return None
    if not said:
        return custom
    (first, value), *others = said
    for name, other in others:
        if not math.isclose(value, other, rel_tol=_SAME):
            remarks.append(f"{first} is {value:g}, {name} is {other:g}")
            return None
    if custom is not None and not math.isclose(value, custom, rel_tol=_SAME):
        remarks.append(f"{first} is {value:g}, {number.custom} is {custom:g}")
    return value
