"""What changed since a former run, as plain data."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What happened, in the order in which it is told."""

    NEWLY_FAILING = "newly failing"
    REMOVED = "removed"
    WORSE = "worse"
    FIXED = "fixed"
    BETTER = "better"
    ADDED = "added"
    FILES = "other files"
    SETTING = "setting"


# Changes that nobody minds.
GOOD = frozenset({Kind.FIXED, Kind.BETTER})


class ChangeRecord(msgspec.Struct, frozen=True):
    """One difference between two runs.

    Attributes:
        kind: What happened.
        worse: Whether the later run proves less, or finds more wrong.
        subject: Robot, after its converter if there are several; or the setting.
        check: Check that it is about, if it is about one.
        before: In the former run; empty if there was nothing.
        after: In the later run.
        detail: Where, or why.
    """

    kind: Kind
    worse: bool
    subject: str
    check: str | None = None
    before: str = ""
    after: str = ""
    detail: str = ""


class FormerRunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run next to a former one over the same robots, or over almost the same.

    Attributes:
        name: Name of the former run's folder.
        changes: The gravest first.
    """

    name: str
    changes: tuple[ChangeRecord, ...] = ()
