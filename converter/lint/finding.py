"""What lint finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from urdf_usd.converter.diagnostics import Location
    from urdf_usd.converter.diagnostics.rules import Rule


@dataclass(frozen=True, slots=True)
class Breach:
    """One place where a rule is broken; the rule is known to who asked."""

    message: str
    location: Location | None


Breaches: TypeAlias = Iterator[Breach]


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken.

    Attributes:
        rule: The rule.
        message: What is wrong here, naming the element.
        location: Where.
    """

    rule: Rule
    message: str
    location: Location | None

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.rule.severity}: {self.message} [{self.rule.id}]"
