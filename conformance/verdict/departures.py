"""Where a reader of the USD computes another inertia than the file states.

The file is right, and simulators use what it states; whoever relies on that reader is
told where it goes its own way, link by link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from urdf_usd.conformance.checks.mass_values import moments_text
from urdf_usd.conformance.records.record import DepartureRecord, DeviationRecord
from urdf_usd.conformance.tolerance.rigid_groups import tensor_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.conformance.observation.robot import Departure, Observation


def departures(actual: Observation) -> list[DeviationRecord]:
    """State what the reader of a USD replaces, one record per cause."""
    by_cause: dict[str, list[Departure]] = {}
    for departure in actual.departures:
        by_cause.setdefault(departure.cause, []).append(departure)
    return [
        _deviation(actual.engine, cause, found) for cause, found in by_cause.items()
    ]


def _deviation(engine: str, cause: str, found: Sequence[Departure]) -> DeviationRecord:
    values = tuple(map(_value, found))
    amounts = [value.difference for value in values if value.difference is not None]
    return DeviationRecord(
        engine=engine,
        id=f"{engine}-inertia",
        cause=cause,
        check="mass.link.inertia",
        subjects=tuple(value.subject for value in values),
        largest=max(amounts, default=None),
        values=values,
    )


def _value(departure: Departure) -> DepartureRecord:
    """State both tensors; their difference is relative to the largest moment."""
    stated, computed = tensor_of(departure.stated), tensor_of(departure.computed)
    finite = bool(np.isfinite(stated).all() and np.isfinite(computed).all())
    difference = None
    if finite and stated.any():
        ratio = np.linalg.norm(computed - stated, 2) / np.linalg.norm(stated, 2)
        difference = float(ratio)
    return DepartureRecord(
        subject=f"link {departure.link}",
        stated=moments_text(stated) if finite else "not finite",
        computed=moments_text(computed) if finite else "not finite",
        difference=difference,
    )
