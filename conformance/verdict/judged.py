"""What is judged besides observations, and the result.

The process that requests a judgement imports this module alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from urdf_usd.conformance.engines.protocol import Outcome
from urdf_usd.reports.records.record import (
    CheckRecord,
    DeviationRecord,
    Verdict,
)

REFERENCE = "reference"


class ColliderChoice(Struct, frozen=True):
    """Colliders that replace those of a link.

    Attributes:
        kind: hull, decomposition, primitives, mesh or none.
        length: Largest distance of a primitive from the convex hull [m]; None if it
            depends on the size.
        fraction: Of the diagonal of the bounds of the mesh, if ``length`` is None.
    """

    kind: str
    length: float | None = None
    fraction: float = 0.0

    def distance(self, size: float) -> float:
        """Return the largest distance for a mesh of a size [m]."""
        return self.fraction * size if self.length is None else self.length


class RoundTripOutcomes(Struct, frozen=True, eq=False):
    """Outcomes for the URDF that was written from a USD.

    Attributes:
        outcomes: Of the engines that read the original URDF, by name.
        failure: Why no URDF could be written.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    failure: str | None = None


class Judgement(Struct, frozen=True):
    """The result for one USD.

    Attributes:
        checks: In the order of the catalogue; empty if nothing was compared.
        deviations: Deviations of engines, never counted against the USD.
        verdict: Follows from the worst check.
        reason: One sentence that names the deciding finding.
    """

    checks: tuple[CheckRecord, ...]
    deviations: tuple[DeviationRecord, ...]
    verdict: Verdict
    reason: str
