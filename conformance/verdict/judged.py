"""What is judged besides observations, and the result.

The process that requests a judgement imports this module alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from urdf_usd.conformance.engines.protocol import Outcome, Side
from urdf_usd.converter.options import tolerance_in_metres
from urdf_usd.reports.records.record import CheckRecord, DeviationRecord, Verdict

REFERENCE = "reference"
# The engine that decides what a source states, by the format that it reads.
DECIDING = {Side.URDF: REFERENCE, Side.MJCF: "mujoco-mjcf"}


class ColliderChoice(Struct, frozen=True):
    """Colliders that replace those of a link."""

    kind: str  # hull, decomposition, primitives, mesh or none
    # largest distance of a primitive from the convex hull: metres, or a percentage of the diagonal
    # of the bounds of the mesh
    tolerance: str

    def distance(self, size: float) -> float:
        """Return the largest distance for a mesh of a size [m]."""
        return tolerance_in_metres(self.tolerance, size)


class RoundTripOutcomes(Struct, frozen=True, eq=False):
    """Outcomes for the URDF that was written from a USD."""

    # of the engines that read the original URDF, by name
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    failure: str | None = None  # why no URDF could be written


class Judgement(Struct, frozen=True):
    checks: tuple[CheckRecord, ...]  # in the order of the catalogue; empty if nothing was compared
    deviations: tuple[DeviationRecord, ...]  # deviations of engines, never counted against the USD
    verdict: Verdict  # follows from the worst check
    reason: str  # one sentence that names the deciding finding
