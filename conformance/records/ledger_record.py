"""What became of the parts of a URDF, as reports show it."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class CoverageStatus(StrEnum):
    """Where a part of a URDF goes."""

    CONVERTED = "converted"
    KEPT = "kept"
    LEFT_OUT = "left out"


class LedgerRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of a URDF that share a fate.

    Attributes:
        part: What they are, for example ``link`` or ``<transmission>``.
        count: How many.
        fate: What became of them.
        where: Where they are in the USD; why they are not, if they are left out.
    """

    part: str
    count: int
    fate: CoverageStatus
    where: str
