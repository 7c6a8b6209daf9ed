"""Put one check to two readings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.comparison import Incomparable
from urdf_usd.conformance.comparisons import COMPARERS

if TYPE_CHECKING:
    from urdf_usd.conformance.checks import Check
    from urdf_usd.conformance.comparison import Comparison, Yardstick
    from urdf_usd.conformance.observation import Observation


def compare(
    check: Check, expected: Observation, actual: Observation, yardstick: Yardstick
) -> Comparison:
    """Compare what a check is about, if both readings state it."""
    for side in (expected, actual):
        if check.quantity not in side.states:
            return Incomparable(f"{side.witness} does not state {check.quantity}")
    return COMPARERS[check.direct or check.id](expected, actual, yardstick)
