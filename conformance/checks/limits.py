"""Position limits, effort, velocity, damping and friction of joints with one axis."""

from __future__ import annotations

import math
from collections.abc import Iterator

from urdf_usd.conformance.checks.check import Check, difference, relative_difference, stated
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    JointObservation,
    JointType,
    Observation,
    Quantity,
)
from urdf_usd.conformance.tolerance.bounds import scalar_bound
from urdf_usd.conformance.tolerance.model import ToleranceModel
from urdf_usd.reports.records.record import Difference

# The largest float32: USD stores a larger value as none, and a URDF that is written from USD
# states none by this value.
_FARTHEST = 3.4028234663852886e38
# What float32 rounds to its smallest normal number, which stands for a limit of zero in schemas
# whose ranges must not be empty.
_SMALLEST = 2.0**-126 + 2.0**-150
# Engines that read USD treat a limit beyond this, in degrees or metres, as none.
_STORABLE = math.radians(1e30)
# Of other joints, and of prismatic ones.
_UNITS = {
    "effort": ("N m", "N"),
    "velocity": ("rad/s", "m/s"),
    "damping": ("N m s/rad", "N s/m"),
    "friction": ("N m", "N"),
}
# Relative tolerance of a ratio to 180/pi for a message to suggest wrong units.
_UNIT_FIT = 1e-3


def shared_joints(
    expected: Observation, actual: Observation
) -> list[tuple[JointObservation, JointObservation]]:
    """Pair joints by name; the check of joints reports the others."""
    named = {joint.name: joint for joint in actual.joints}
    return [(joint, named[joint.name]) for joint in expected.joints if joint.name in named]


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


def _pairs(
    expected: Observation, actual: Observation
) -> Iterator[tuple[JointObservation, JointObservation]]:
    """Pair joints with one coordinate on both sides; types are another check."""
    for joint, found in shared_joints(expected, actual):
        if COORDINATES[joint.type] == 1 == COORDINATES[found.type]:
            yield joint, found


def _position_check(side: str) -> Check:
    """Make the check of lower or upper position limits."""
    absent = -math.inf if side == "lower" else math.inf

    def limits(
        expected: Observation, actual: Observation, model: ToleranceModel
    ) -> Iterator[Difference]:
        for joint, found in _pairs(expected, actual):
            sides = [getattr(joint, side), getattr(found, side)]
            one, two = (stored_limit(absent if limit is None else limit) for limit in sides)
            yield difference(
                f"joint {joint.name}",
                f"{side} limit",
                ["unlimited" if math.isinf(limit) else limit for limit in (one, two)],
                "m" if joint.type is JointType.PRISMATIC else "rad",
                unit_hint(one, two),
                # Most limits are a few radians; some are large numbers that mean "none".
                amount=relative_difference(one, two, least=1.0),
                bound=0.0 if math.isinf(one) else scalar_bound(one) / max(1.0, abs(one)),
                tolerance=model.tolerance.limit,
            )

    clause = (
        f"{side.capitalize()} limit of every joint with one axis, relative to the larger of the "
        "limit and 1 rad or 1 m; unlimited equals unlimited."
    )
    return Check(
        f"limits.{side}",
        f"{side} position limits",
        "1",
        Quantity.LIMITS,
        limits,
        clause,
        note="no joint has one axis",
    )


def _number_check(
    id: str, title: str, quantity: Quantity, clause: str, absent: float | None = None
) -> Check:
    """Make the check of one number of each joint; ``absent`` is its default, if any."""
    field = id.partition(".")[2]

    def numbers(
        expected: Observation, actual: Observation, model: ToleranceModel
    ) -> Iterator[Difference]:
        for joint, other in _pairs(expected, actual):
            value, found = getattr(joint, field), getattr(other, field)
            if value is None and found is None:
                continue
            same = absent is not None and (value or absent) == (found or absent)
            hint = unit_hint(value or 0.0, found or 0.0)
            if found is None:
                # Which attribute the engine expected, if another states the value.
                notes = (other.note or "").split("; ")
                hint = "".join(f" ({note})" for note in notes if f":{field} is " in note)
            yield difference(
                f"joint {joint.name}",
                field,
                [stated(one, "another for each simulator") for one in (value, found)],
                _UNITS[field][joint.type is JointType.PRISMATIC],
                hint,
                amount=0.0 if same else _ratio(value, found),
                bound=scalar_bound(1.0),
                tolerance=model.tolerance.force,
            )

    return Check(id, title, "1", quantity, numbers, clause, note=f"no joint states {field}")


def _ratio(expected: float | None, actual: float | None) -> float:
    if expected is None or actual is None:
        return math.inf
    # Each by itself: max() of zero and NaN is zero.
    tiny = abs(expected) <= _SMALLEST and abs(actual) <= _SMALLEST
    if tiny or (expected >= _FARTHEST and actual >= _FARTHEST):
        return 0.0
    return relative_difference(expected, actual)


_EFFORT = "Largest force or torque; absent differs from zero."
_VELOCITY = "Largest speed; absent differs from zero."
LIMITS_CHECKS = (
    _position_check("lower"),
    _position_check("upper"),
    _number_check("limits.effort", "effort limits", Quantity.EFFORT, _EFFORT),
    _number_check("limits.velocity", "velocity limits", Quantity.VELOCITY, _VELOCITY),
)
JOINT_DYNAMICS_CHECKS = tuple(
    _number_check(
        f"dynamics.{field}",
        f"joint {field}",
        Quantity.DYNAMICS,
        f"{kind} {field}; absent means zero, as in URDF.",
        0.0,
    )
    for field, kind in (("damping", "Viscous"), ("friction", "Coulomb"))
)
