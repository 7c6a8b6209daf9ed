"""What a simulated robot does, and whether simulators agree on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Speeds that no robot of the corpora reaches by falling [rad/s, m/s].
_DIVERGED = 1e3, 1e2
# Speed at which a joint is at rest [rad/s, m/s].
_RESTING = 1e-2, 1e-3
# Distance from the initial position within which a joint holds it [rad, m].
_HELD = 0.1, 0.01
# Difference between positions of two simulators [rad, m].
_SAME = 1e-2, 1e-3
# Part of the distance moved by which positions may differ besides.
_RELATIVE = 0.02
_KINDS = "rad", "m"


def assess_hold(segment: Mapping[str, Any], angular: Sequence[bool]) -> dict[str, Any]:
    """Assess whether joints hold their first positions.

    Args:
        segment: ``positions`` and ``velocities``, (S, n) samples [rad or m].
        angular: (n) whether a joint is in rad.

    Returns:
        ``state``: ``diverges``, with a position that is not finite or a speed above 1e3
        rad/s or 100 m/s; ``moves``, with a speed above 0.01 rad/s or 1 mm/s at the end;
        ``sags``, at rest more than 0.1 rad or 10 mm from the first positions; otherwise
        ``holds``. ``worst`` is the joint that decides it. For each unit, ``deviation``
        is the largest distance from the first position, ``offset`` that at the end, and
        ``speed`` the largest speed at the end.
    """
    positions = _array(segment["positions"])
    velocities = _array(segment["velocities"])
    units = np.array(angular, bool)
    fastest, resting, held = (_by_unit(b, units) for b in (_DIVERGED, _RESTING, _HELD))
    broken = ~np.isfinite(positions).all(axis=0) | ~np.isfinite(velocities).all(axis=0)
    # Not finite is infinite below.
    moved = np.nan_to_num(np.abs(positions - positions[0]), nan=np.inf)
    speeds = np.nan_to_num(np.abs(velocities), nan=np.inf)
    tests = (
        ("diverges", np.where(broken, np.inf, speeds.max(axis=0) / fastest)),
        ("moves", speeds[-1] / resting),
        ("sags", moved[-1] / held),
    )
    found: dict[str, Any] = {"state": "holds", "worst": None}
    for state, ratios in tests:
        if len(ratios) and ratios.max() > 1.0:
            found = {"state": state, "worst": int(ratios.argmax())}
            break
    for kind, own in zip(_KINDS, (units, ~units), strict=True):
        if own.any():
            found[f"deviation_{kind}"] = _number(moved[:, own].max())
            found[f"offset_{kind}"] = _number(moved[-1, own].max())
            found[f"speed_{kind}"] = _number(speeds[-1, own].max())
    return found


def assess_settling(
    segment: Mapping[str, Any], aims: Sequence[float], angular: Sequence[bool]
) -> list[int]:
    """Return the joints that are not at rest at given positions at the end.

    Args:
        segment: As that of :func:`assess_hold`.
        aims: (n) positions [rad or m], NaN where a joint may be anywhere.
        angular: (n) whether a joint is in rad.
    """
    units = np.array(angular, bool)
    away = np.abs(_array(segment["positions"])[-1] - np.array(aims, float))
    speeds = np.abs(_array(segment["velocities"])[-1])
    settled = (away <= _by_unit(_HELD, units)) & (speeds <= _by_unit(_RESTING, units))
    return np.flatnonzero(~settled & ~np.isnan(aims)).tolist()


def assess_overshoot(segment: Mapping[str, Any], aims: Sequence[float]) -> list[int]:
    """Return the joints that pass their new positions by more than half of the step.

    That is the bound of SimReady Foundation 2026.8 (``drive_gain_validation``).

    Args:
        segment: As that of :func:`assess_hold`.
        aims: (n) new positions [rad or m], NaN where a joint may be anywhere.
    """
    positions = _array(segment["positions"])
    step = np.array(aims, float) - positions[0]
    beyond = ((positions - aims) * np.sign(step)).max(axis=0)
    return np.flatnonzero(beyond > 0.5 * np.abs(step)).tolist()


def assess_bounds(
    samples: Sequence[Sequence[float]],
    lower: Sequence[float],
    upper: Sequence[float],
    angular: Sequence[bool],
) -> list[int]:
    """Return the joints with a sample beyond bounds by more than 0.1 rad or 10 mm.

    Per second for speeds.

    Args:
        samples: (S, n) positions, or velocities with bounds of their magnitude.
        lower: (n) lower bounds, -inf if there are none.
        upper: (n) upper bounds, inf likewise.
        angular: (n) whether a joint is in rad.
    """
    values = _array(samples)
    slack = _by_unit(_HELD, np.array(angular, bool))
    inside = (values >= np.array(lower) - slack) & (values <= np.array(upper) + slack)
    return np.flatnonzero(~inside.all(axis=0)).tolist()


def differing_joints(
    one: Mapping[str, Any], other: Mapping[str, Any], angular: Sequence[bool]
) -> list[int]:
    """Return the joints that two simulators leave at different positions.

    They may differ by 0.01 rad or 1 mm, and 2 % of the distance moved.

    Args:
        one: A segment as that of :func:`assess_hold`.
        other: Another with the same joints.
        angular: (n) whether a joint is in rad.
    """
    first, second = _array(one["positions"]), _array(other["positions"])
    moved = np.maximum(*(np.abs(p - p[0]).max(axis=0) for p in (first, second)))
    allowed = _by_unit(_SAME, np.array(angular, bool)) + _RELATIVE * moved
    same = np.abs(first[-1] - second[-1]) <= allowed
    return np.flatnonzero(~same).tolist()


def _array(rows: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    return np.array(rows, np.float64).reshape(len(rows), -1)


def _by_unit(bounds: tuple[float, float], angular: NDArray[np.bool_]) -> NDArray[np.float64]:
    return np.where(angular, *bounds)


def _number(value: np.floating[Any]) -> float | None:
    """Return a number that JSON has, None if it is not finite."""
    return float(value) if np.isfinite(value) else None
