"""Position limits, effort, velocity, damping and friction of joints with one axis."""

from __future__ import annotations

import math
from collections.abc import Iterator

from urdf_usd.conformance.checks.check import (
    Sides,
    check,
    difference,
    is_not,
    relative_difference,
    stated,
)
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    JointObservation,
    JointType,
    Quantity,
)
from urdf_usd.conformance.tolerance.bounds import scalar_bound
from urdf_usd.reports.records.record import Difference, Value

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
    title, reads = f"{side} position limits", f"physics:{side}Limit"

    @check(f"limits.{side}", title, Quantity.LIMITS, "1", clause=clause, reads=reads)
    def limits(sides: Sides) -> Iterator[Difference]:
        for pair in _pairs(sides):
            values = (getattr(joint, side) for joint in pair)
            one, two = (stored_limit(absent if limit is None else limit) for limit in values)
            shown: list[Value] = ["unlimited" if math.isinf(own) else own for own in (one, two)]
            unit = "m" if pair[0].type is JointType.PRISMATIC else "rad"
            text = is_not(f"{side} limit", shown, unit, unit_hint(one, two))
            # Most limits are a few radians; some are large numbers that mean "none".
            bound = 0.0 if math.isinf(one) else scalar_bound(one) / max(1.0, abs(one))
            amounts = relative_difference(one, two, least=1.0), bound, sides.tolerance.limit
            yield difference(f"joint {pair[0].name}", text, shown, unit, amounts)


def _number_check(
    id: str,
    title: str,
    quantity: Quantity,
    units: tuple[str, str],  # of other joints, and of prismatic ones
    clause: str,
    reads: str,
) -> None:
    """Define the check of one number of each joint; absent damping and friction are zero."""
    group, _, field = id.partition(".")
    absent = 0.0 if group == "dynamics" else None

    @check(id, title, quantity, "1", clause=clause, reads=reads)
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
            shown = [stated(one, "another for each simulator") for one in values]
            unit = units[pair[0].type is JointType.PRISMATIC]
            amount = 0.0 if same else _ratio(value, found)
            amounts = amount, scalar_bound(1.0), sides.tolerance.force
            text = is_not(field, shown, unit, hint)
            yield difference(f"joint {pair[0].name}", text, shown, unit, amounts)


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
_TORQUE, _RATE = ("N m", "N"), ("N m s/rad", "N s/m")
for _id, _title, _quantity, _units, _clause, _reads in (
    (
        *("limits.effort", "effort limits", Quantity.EFFORT, _TORQUE),
        "Largest force or torque; absent differs from zero.",
        "drive:*:physics:maxForce mjc:actuatorfrclimited mjc:actuatorfrcrange:max "
        "mjc:actuatorfrcrange:min",
    ),
    (
        *("limits.velocity", "velocity limits", Quantity.VELOCITY, ("rad/s", "m/s")),
        "Largest speed; absent differs from zero.",
        "newton:velocityLimit physxJoint:maxJointVelocity physxJointAxis:*:maxJointVelocity",
    ),
    (
        *("dynamics.damping", "joint damping", Quantity.DYNAMICS, _RATE),
        "Viscous damping; absent means zero, as in URDF.",
        "newton:damping mjc:damping physxJointAxis:*:viscousFrictionCoefficient",
    ),
    (
        *("dynamics.friction", "joint friction", Quantity.DYNAMICS, _TORQUE),
        "Coulomb friction; absent means zero, as in URDF.",
        "newton:friction mjc:frictionloss physxJointAxis:*:dynamicFrictionEffort "
        "physxJointAxis:*:staticFrictionEffort",
    ),
):
    _number_check(_id, _title, _quantity, _units, _clause, _reads)
