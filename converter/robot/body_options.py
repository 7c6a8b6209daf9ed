"""Options of the assignment of links to rigid bodies, and kinds of bases."""

from __future__ import annotations

from enum import StrEnum


class Base(StrEnum):
    """Kind of base."""

    FIXED = "fixed"
    FLOATING = "floating"
    STATIC = "static"


class BaseOption(StrEnum):
    """Requested base; ``auto`` fixes a base whose root link is named ``world``."""

    AUTO = "auto"
    FIXED = "fixed"
    FLOATING = "floating"


class MasslessOption(StrEnum):
    """Treatment of moving groups without mass."""

    REGULARISE = "regularise"
    ERROR = "error"
