"""What a simulated robot does, and whether simulators agree on it.

Positions and velocities are (S, n) samples of n joints [rad or m, per second], ``angular`` is (n)
whether a joint is in rad, and joints are returned by their indices.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Units: TypeAlias = NDArray[np.bool_]

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


def assess_hold(positions: Array, velocities: Array, angular: Units) -> dict[str, Any]:
    """Assess whether joints hold their first positions.

    Returns:
        ``state``: ``diverges``, with a position that is not finite or a speed above 1e3
        rad/s or 100 m/s; ``moves``, with a speed above 0.01 rad/s or 1 mm/s at the end;
        ``sags``, at rest more than 0.1 rad or 10 mm from the first positions; otherwise
        ``holds``. ``worst`` is the joint that decides it. For each unit, ``deviation``
        is the largest distance from the first position, ``offset`` that at the end, and
        ``speed`` the largest speed at the end.
    """
    broken = ~(np.isfinite(positions) & np.isfinite(velocities)).all(axis=0)
    # Not finite is infinite below.
    moved = np.nan_to_num(np.abs(positions - positions[0]), nan=np.inf)
    speeds = np.nan_to_num(np.abs(velocities), nan=np.inf)
    fastest = np.where(broken, np.inf, speeds.max(axis=0))
    found: dict[str, Any] = {"state": "holds", "worst": None}
    for state, values, bounds in (
        ("diverges", fastest, _DIVERGED),
        ("moves", speeds[-1], _RESTING),
        ("sags", moved[-1], _HELD),
    ):
        ratios = values / np.where(angular, *bounds)
        if ratios.max(initial=0.0) > 1.0:
            found = {"state": state, "worst": int(ratios.argmax())}
            break
    measured = {"deviation": moved.max(axis=0), "offset": moved[-1], "speed": speeds[-1]}
    for unit, own in (("rad", angular), ("m", ~angular)):
        for name, values in measured.items() if own.any() else ():
            # JSON has no infinity.
            largest = float(values[own].max())
            found[f"{name}_{unit}"] = largest if np.isfinite(largest) else None
    return found


def assess_settling(positions: Array, velocities: Array, aims: Array, angular: Units) -> list[int]:
    """Return the joints that are not at rest at aims at the end; NaN where they may be anywhere."""
    away, speeds = np.abs(positions[-1] - aims), np.abs(velocities[-1])
    settled = (away <= np.where(angular, *_HELD)) & (speeds <= np.where(angular, *_RESTING))
    return np.flatnonzero(~settled & ~np.isnan(aims)).tolist()


def assess_overshoot(positions: Array, aims: Array) -> list[int]:
    """Return the joints that pass their new positions by more than half of the step.

    That is the bound of SimReady Foundation 2026.8 (``drive_gain_validation``).
    """
    step = aims - positions[0]
    beyond = ((positions - aims) * np.sign(step)).max(axis=0)
    return np.flatnonzero(beyond > 0.5 * np.abs(step)).tolist()


def assess_bounds(samples: Array, lower: Array, upper: Array, angular: Units) -> list[int]:
    """Return the joints with a sample beyond (n) bounds by more than 0.1 rad or 10 mm.

    Samples are positions, or velocities with bounds of these per second.
    """
    slack = np.where(angular, *_HELD)
    inside = (samples >= lower - slack) & (samples <= upper + slack)
    return np.flatnonzero(~inside.all(axis=0)).tolist()


def differing_joints(one: Array, other: Array, angular: Units) -> list[int]:
    """Return the joints that two simulators leave at different positions.

    They may differ by 0.01 rad or 1 mm, and 2 % of the distance moved.
    """
    moved = np.maximum(*(np.abs(p - p[0]).max(axis=0) for p in (one, other)))
    allowed = np.where(angular, *_SAME) + _RELATIVE * moved
    return np.flatnonzero(~(np.abs(one[-1] - other[-1]) <= allowed)).tolist()
