"""Configurations at which the poses of a case are compared."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from urdf_usd.conformance.observation.robot import Configurations
from urdf_usd.reports.records.suite_case import Expected


def configurations_of(expected: Expected) -> Configurations:
    """Return the configurations of the poses of a case, preceded by zero."""
    names = sorted({name for pose in expected.poses for name in pose.q})
    rows: list[NDArray[np.float64]] = []
    for name in names:
        given = [_coordinates(pose.q.get(name)) for pose in expected.poses]
        width = max(len(one) for one in given)
        neutral = _NEUTRAL[width]
        rows.append(np.array([neutral, *((one or neutral) for one in given)]))
    count = len(expected.poses)
    return Configurations(
        joints=tuple(names),
        positions=tuple(rows),
        labels=("zero", *(f"pose {number}" for number in range(count))),
        root=expected.root,
    )


def _coordinates(given: float | tuple[float, ...] | None) -> tuple[float, ...]:
    if given is None:
        return ()
    return given if isinstance(given, tuple) else (given,)


# Zero position by number of coordinates.
_NEUTRAL = {
    1: (0.0,),
    4: (0.0, 0.0, 0.0, 0.0),
    7: (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
}
