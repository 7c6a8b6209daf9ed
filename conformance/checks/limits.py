"""Position limits, effort, velocity, damping and friction of joints with one axis."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from urdf_usd.conformance.checks.check import Check, stated
from urdf_usd.conformance.observation.robot import (
    COORDINATES,
    JointObservation,
    JointType,
    Observation,
    Quantity,
)
from urdf_usd.conformance.tolerance.bounds import scalar_bound
from urdf_usd.conformance.tolerance.comparison import (
    Compared,
    Comparison,
    ToleranceModel,
    relative_difference,
)
from urdf_usd.reports.quantities import value_text
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
    expected: Observation, actual: Observation, field: str
) -> Iterator[tuple[JointObservation, JointObservation, float | None, float | None]]:
    """Pair joints with one coordinate on both sides, and one number of each."""
    for joint, found in shared_joints(expected, actual):
        # Types are another check.
        if COORDINATES[joint.type] == 1 == COORDINATES[found.type]:
            yield joint, found, getattr(joint, field), getattr(found, field)


def _positions(
    side: str,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare lower or upper position limits, relative."""
    absent = -math.inf if side == "lower" else math.inf
    differences = []
    for joint, _, *limits in _pairs(expected, actual, side):
        limit, found = (stored_limit(absent if one is None else one) for one in limits)
        unit = "m" if joint.type is JointType.PRISMATIC else "rad"
        values = ["unlimited" if math.isinf(one) else one for one in (limit, found)]
        texts = [value_text(one, unit) for one in values]
        # Most limits are a few radians; some are large numbers that mean "none".
        scale = max(1.0, abs(limit))
        hint = unit_hint(limit, found)
        differences.append(
            Difference(
                item=joint.name,
                subject=f"joint {joint.name}",
                message=f"joint {joint.name}: {side} limit is {texts[1]}, not {texts[0]}{hint}",
                expected=values[0],
                actual=values[1],
                unit=unit,
                amount=relative_difference(limit, found, least=1.0),
                bound=0.0 if math.isinf(limit) else scalar_bound(limit) / scale,
                tolerance=model.tolerance.limit,
            )
        )
    return Compared(tuple(differences), note=None if differences else "no joint has one axis")


def _ratios(
    field: str,
    absent: float | None,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare one number of each joint, relative; ``absent`` is its default, if any."""
    differences = []
    for joint, found_joint, value, found in _pairs(expected, actual, field):
        if value is None and found is None:
            continue
        same = absent is not None and (value or absent) == (found or absent)
        values = [stated(one, "another for each simulator") for one in (value, found)]
        texts = [value_text(one) for one in values]
        hint = unit_hint(value or 0.0, found or 0.0)
        if found is None:
            # Which attribute the engine expected, if another states the value.
            notes = (found_joint.note or "").split("; ")
            hint = "".join(f" ({note})" for note in notes if f":{field} is " in note)
        differences.append(
            Difference(
                item=joint.name,
                subject=f"joint {joint.name}",
                message=f"joint {joint.name}: {field} is {texts[1]}, not {texts[0]}{hint}",
                expected=values[0],
                actual=values[1],
                amount=0.0 if same else _ratio(value, found),
                bound=scalar_bound(1.0),
                tolerance=model.tolerance.force,
            )
        )
    return Compared(tuple(differences), note=None if differences else f"no joint states {field}")


def _ratio(expected: float | None, actual: float | None) -> float:
    if expected is None or actual is None:
        return math.inf
    # Each by itself: max() of zero and NaN is zero.
    tiny = abs(expected) <= _SMALLEST and abs(actual) <= _SMALLEST
    if tiny or (expected >= _FARTHEST and actual >= _FARTHEST):
        return 0.0
    return relative_difference(expected, actual)


_POSITION_CLAUSE = (
    "{} limit of every joint with one axis, relative to the larger of the limit and 1 rad or 1 m; "
    "unlimited equals unlimited."
)
LIMITS_CHECKS = (
    *(
        Check(
            f"limits.{side}",
            f"{side} position limits",
            "1",
            Quantity.LIMITS,
            partial(_positions, side),
            _POSITION_CLAUSE.format(side.capitalize()),
        )
        for side in ("lower", "upper")
    ),
    Check(
        "limits.effort",
        "effort limits",
        "1",
        Quantity.EFFORT,
        partial(_ratios, "effort", None),
        "Largest force or torque; absent differs from zero.",
    ),
    Check(
        "limits.velocity",
        "velocity limits",
        "1",
        Quantity.VELOCITY,
        partial(_ratios, "velocity", None),
        "Largest speed; absent differs from zero.",
    ),
)
JOINT_DYNAMICS_CHECKS = tuple(
    Check(
        f"dynamics.{field}",
        f"joint {field}",
        "1",
        Quantity.DYNAMICS,
        partial(_ratios, field, 0.0),
        f"{kind} {field}; absent means zero, as in URDF.",
    )
    for field, kind in (("damping", "Viscous"), ("friction", "Coulomb"))
)
