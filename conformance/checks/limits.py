"""Position limits, effort, velocity, damping and friction of joints with one axis."""

from __future__ import annotations

import math
from collections.abc import Iterator

from urdf_usd.conformance.checks.check import Sides, check, difference, relative_difference, stated
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    JointObservation,
    JointType,
    Quantity,
)
from urdf_usd.conformance.tolerance.bounds import scalar_bound
from urdf_usd.reports.records.record import Difference

# The largest float32: USD stores a larger value as none, and a URDF that is written from USD
# states none by this value.
_FARTHEST = 3.4028234663852886e38
# What float32 rounds to its smallest normal number, which stands for a limit of zero in schemas
# whose ranges must not be empty.
_SMALLEST = 2.0**-126 + 2.0**-150
# Engines that read USD treat a limit beyond this, in degrees or metres, as none.
_STORABLE = math.radians(1e30)
# Relative tolerance of a ratio to 180/pi for a message to suggest wrong units.
_UNIT_FIT = 1e-3


def stored_limit(limit: float) -> float:
    """Return a position limit [rad or m] as USD can store it; infinite for none."""
    return limit if abs(limit) <= _STORABLE else math.copysign(math.inf, limit)


def unit_hint(expected: float, actual: float) -> str:
    """Suggest wrong units if the ratio of the numbers is 180/pi or its inverse."""
    ratio = math.radians(actual / expected) if expected and actual else 0.0
    if abs(ratio - 1) < _UNIT_FIT:
        return " (degrees instead of radians?)"
    if abs(ratio * math.degrees(1.0) ** 2 - 1) < _UNIT_FIT:
        return " (radians instead of degrees?)"
    return ""


def _pairs(sides: Sides) -> Iterator[tuple[JointObservation, JointObservation]]:
    """Pair joints with one coordinate on both sides; types are another check."""
    return (pair for pair in sides.joints if all(COORDINATES[one.type] == 1 for one in pair))


def _position_check(side: str, absent: float) -> None:
    """Define the check of lower or upper position limits."""
    clause = (
        f"{side.capitalize()} limit of every joint with one axis, relative to the larger of the "
        "limit and 1 rad or 1 m; unlimited equals unlimited."
    )
    title, note = f"{side} position limits", "no joint has one axis"
    reads = f"physics:{side}Limit"

    @check(f"limits.{side}", title, Quantity.LIMITS, "1", note, clause=clause, reads=reads)
    def limits(sides: Sides) -> Iterator[Difference]:
        for pair in _pairs(sides):
            values = (getattr(joint, side) for joint in pair)
            one, two = (stored_limit(absent if limit is None else limit) for limit in values)
            yield difference(
                f"joint {pair[0].name}",
                f"{side} limit",
                ["unlimited" if math.isinf(limit) else limit for limit in (one, two)],
                "m" if pair[0].type is JointType.PRISMATIC else "rad",
                unit_hint(one, two),
                # Most limits are a few radians; some are large numbers that mean "none".
                amount=relative_difference(one, two, least=1.0),
                bound=0.0 if math.isinf(one) else scalar_bound(one) / max(1.0, abs(one)),
                tolerance=sides.tolerance.limit,
            )


def _number_check(
    id: str,
    title: str,
    quantity: Quantity,
    units: tuple[str, str],  # of other joints, and of prismatic ones
    clause: str,
    reads: str,
    absent: float | None = None,  # the default, if there is one
) -> None:
    """Define the check of one number of each joint."""
    field = id.partition(".")[2]

    @check(id, title, quantity, "1", f"no joint states {field}", clause=clause, reads=reads)
    def numbers(sides: Sides) -> Iterator[Difference]:
        for pair in _pairs(sides):
            value, found = values = [getattr(joint, field) for joint in pair]
            if value is None and found is None:
                continue
            same = absent is not None and (value or absent) == (found or absent)
            hint = unit_hint(value or 0.0, found or 0.0)
            if found is None:
                # Which attribute the engine expected, if another states the value.
                notes = (pair[1].note or "").split("; ")
                hint = "".join(f" ({note})" for note in notes if f":{field} is " in note)
            yield difference(
                f"joint {pair[0].name}",
                field,
                [stated(one, "another for each simulator") for one in values],
                units[pair[0].type is JointType.PRISMATIC],
                hint,
                amount=0.0 if same else _ratio(value, found),
                bound=scalar_bound(1.0),
                tolerance=sides.tolerance.force,
            )


def _ratio(expected: float | None, actual: float | None) -> float:
    if expected is None or actual is None:
        return math.inf
    # Each by itself: max() of zero and NaN is zero.
    tiny = abs(expected) <= _SMALLEST and abs(actual) <= _SMALLEST
    if tiny or (expected >= _FARTHEST and actual >= _FARTHEST):
        return 0.0
    return relative_difference(expected, actual)


_position_check("lower", -math.inf)
_position_check("upper", math.inf)
_FORCE, _SPEED, _RATE = ("N m", "N"), ("rad/s", "m/s"), ("N m s/rad", "N s/m")
for _field, _quantity, _units, _what, _reads in (
    (
        "effort",
        Quantity.EFFORT,
        _FORCE,
        "force or torque",
        "drive:*:physics:maxForce mjc:actuatorfrclimited mjc:actuatorfrcrange:max "
        "mjc:actuatorfrcrange:min",
    ),
    (
        "velocity",
        Quantity.VELOCITY,
        _SPEED,
        "speed",
        "newton:velocityLimit physxJoint:maxJointVelocity physxJointAxis:*:maxJointVelocity",
    ),
):
    _clause = f"Largest {_what}; absent differs from zero."
    _number_check(f"limits.{_field}", f"{_field} limits", _quantity, _units, _clause, _reads)
for _field, _units, _what, _reads in (
    (
        "damping",
        _RATE,
        "Viscous",
        "newton:damping mjc:damping physxJointAxis:*:viscousFrictionCoefficient",
    ),
    (
        "friction",
        _FORCE,
        "Coulomb",
        "newton:friction mjc:frictionloss physxJointAxis:*:dynamicFrictionEffort "
        "physxJointAxis:*:staticFrictionEffort",
    ),
):
    _id, _title = f"dynamics.{_field}", f"joint {_field}"
    _clause = f"{_what} {_field}; absent means zero, as in URDF."
    _number_check(_id, _title, Quantity.DYNAMICS, _units, _clause, _reads, absent=0.0)
