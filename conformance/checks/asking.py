"""Put one check to two readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.checks import COMPARERS
from urdf_usd.conformance.tolerance.comparison import Incomparable

if TYPE_CHECKING:
    from urdf_usd.conformance.checks.catalogue import Check
    from urdf_usd.conformance.observation.robot import Observation
    from urdf_usd.conformance.tolerance.comparison import Comparison, ToleranceModel


def compare(
    check: Check,
    expected: Observation,
    actual: Observation,
    tolerance_model: ToleranceModel,
) -> Comparison:
    """Compare what a check is about, if both readings state it."""
    for side in (expected, actual):
        if check.quantity not in side.states:
            return Incomparable(f"{side.engine} does not state {check.quantity}")
    return COMPARERS[check.direct or check.id](expected, actual, tolerance_model)
