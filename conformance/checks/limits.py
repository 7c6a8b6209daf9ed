"""Position limits, effort, velocity, damping and friction of joints with one axis."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Literal

from urdf_usd.conformance.checks.check import Check
from urdf_usd.conformance.checks.structure import shared_joints, stored_limit, unit_hint
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
    number,
    relative_difference,
)
from urdf_usd.reports.records.record import Difference

_NONE = "no joint has one axis"
# The largest float32: USD stores a larger value as none, and a URDF that is written
# from USD states none by this value.
_FARTHEST = 3.4028234663852886e38
# What float32 rounds to its smallest normal number, which stands for a limit of zero in
# schemas whose ranges must not be empty.
_SMALLEST = 2.0**-126 + 2.0**-150


def _pairs(
    expected: Observation, actual: Observation
) -> list[tuple[JointObservation, JointObservation]]:
    """Pair joints with one coordinate on both sides; types are another check."""
    return [
        (here, there)
        for here, there in shared_joints(expected, actual)
        if COORDINATES[here.type] == 1 and COORDINATES[there.type] == 1
    ]


def positions(
    side: Literal["lower", "upper"],
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare lower or upper position limits, relative."""
    absent = -math.inf if side == "lower" else math.inf
    differences = []
    for here, there in _pairs(expected, actual):
        limits = getattr(here, side), getattr(there, side)
        ours, theirs = (stored_limit(absent if one is None else one) for one in limits)
        # Most limits are a few radians; some are large numbers that mean "none".
        scale = 1.0 if math.isinf(ours) else max(1.0, abs(ours))
        unit = "m" if here.type is JointType.PRISMATIC else "rad"
        wanted, found = (
            "unlimited" if math.isinf(value) else number(value, unit) for value in (ours, theirs)
        )
        hint = unit_hint(ours, theirs)
        differences.append(
            Difference(
                item=here.name,
                subject=f"joint {here.name}",
                message=f"joint {here.name}: {side} limit is {found}, not {wanted}{hint}",
                expected=wanted,
                actual=found,
                amount=relative_difference(ours, theirs, least=1.0),
                bound=0.0 if math.isinf(ours) else scalar_bound(ours) / scale,
                tolerance=model.tolerance.limit,
            )
        )
    return Compared(tuple(differences), note=None if differences else _NONE)


def ratios(
    what: Literal["effort", "velocity", "damping", "friction"],
    absent: float | None,
    expected: Observation,
    actual: Observation,
    model: ToleranceModel,
) -> Comparison:
    """Compare one number of each joint, relative; ``absent`` is its default, if any."""
    value: Callable[[JointObservation], float | None] = attrgetter(what)
    differences = []
    for here, there in _pairs(expected, actual):
        ours, theirs = value(here), value(there)
        if ours is None and theirs is None:
            continue
        same = absent is not None and (ours or absent) == (theirs or absent)
        wanted, found = (
            "another for each simulator"
            if number_of is not None and math.isnan(number_of)
            else number(number_of)
            for number_of in (ours, theirs)
        )
        hint = unit_hint(ours or 0.0, theirs or 0.0)
        if theirs is None:
            # Which attribute the engine expected, if another states the value.
            notes = [one for one in (there.note or "").split("; ") if f":{what} is " in one]
            hint = "".join(f" ({one})" for one in notes)
        differences.append(
            Difference(
                item=here.name,
                subject=f"joint {here.name}",
                message=f"joint {here.name}: {what} is {found}, not {wanted}{hint}",
                expected=wanted,
                actual=found,
                amount=0.0 if same else _ratio(ours, theirs),
                bound=scalar_bound(1.0),
                tolerance=model.tolerance.force,
            )
        )
    note = None if differences else f"no joint states {what}"
    return Compared(tuple(differences), note=note)


def _ratio(ours: float | None, theirs: float | None) -> float:
    if ours is None or theirs is None:
        return math.inf
    if ours >= _FARTHEST and theirs >= _FARTHEST:
        return 0.0
    # Each by itself: max() of zero and NaN is zero.
    if abs(ours) <= _SMALLEST and abs(theirs) <= _SMALLEST:
        return 0.0
    return relative_difference(ours, theirs)


LIMITS_CHECKS = (
    Check(
        "limits.lower",
        "lower position limits",
        "1",
        Quantity.LIMITS,
        partial(positions, "lower"),
        "Lower limit of every joint with one axis, relative to the larger of the limit and 1 rad "
        "or 1 m; unlimited equals unlimited.",
    ),
    Check(
        "limits.upper",
        "upper position limits",
        "1",
        Quantity.LIMITS,
        partial(positions, "upper"),
        "Upper limit of every joint with one axis, relative to the larger of the limit and 1 rad "
        "or 1 m; unlimited equals unlimited.",
    ),
    Check(
        "limits.effort",
        "effort limits",
        "1",
        Quantity.EFFORT,
        partial(ratios, "effort", None),
        "Largest force or torque; absent differs from zero.",
    ),
    Check(
        "limits.velocity",
        "velocity limits",
        "1",
        Quantity.VELOCITY,
        partial(ratios, "velocity", None),
        "Largest speed; absent differs from zero.",
    ),
)
