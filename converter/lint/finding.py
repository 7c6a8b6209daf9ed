"""Results of lint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.converter.diagnostics import Location
from urdf_usd.converter.diagnostics.rules import Rule


class Breach(Struct, frozen=True):
    """A breach of a rule, without the rule."""

    message: str
    location: Location | None


Breaches: TypeAlias = Iterator[Breach]


class Finding(Struct, frozen=True):
    """A breach of a rule.

    Attributes:
        rule: The rule.
        message: Description that names the element.
        location: Its location.
    """

    rule: Rule
    message: str
    location: Location | None

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.rule.severity}: {self.message} [{self.rule.id}]"
