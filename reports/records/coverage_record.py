"""Coverage of the parts of a URDF, for reports."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class CoverageStatus(StrEnum):
    """Coverage of a part of a URDF."""

    CONVERTED = "converted"
    KEPT = "kept"
    LEFT_OUT = "left out"


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a URDF with the same coverage.

    Attributes:
        part: Kind of part, for example ``link`` or ``<transmission>``.
        count: Number of parts.
        fate: Their coverage.
        where: Their place in the USD; the reason, if they are left out.
    """

    part: str
    count: int
    fate: CoverageStatus
    where: str
