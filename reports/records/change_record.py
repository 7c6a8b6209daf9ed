"""Changes since an earlier run, as plain data."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """Kinds of changes, in the order of reports."""

    NEWLY_FAILING = "newly failing"
    REMOVED = "removed"
    WORSE = "worse"
    JOINT_ORDER = "joint order"
    FIXED = "fixed"
    BETTER = "better"
    ADDED = "added"
    VALUE = "robot value"
    FILES = "other files"
    SETTING = "setting"


# Improvements.
GOOD = frozenset({Kind.FIXED, Kind.BETTER})


class ChangeRecord(msgspec.Struct, frozen=True):
    """One difference between two runs.

    Attributes:
        kind: Kind of the change.
        worse: Whether the later run has fewer or worse results.
        subject: Robot, after its converter if there are several; or the setting.
        check: The check, if it concerns one.
        before: Value in the earlier run; empty if there was none.
        after: Value in the later run.
        detail: Location or reason.
    """

    kind: Kind
    worse: bool
    subject: str
    check: str | None = None
    before: str = ""
    after: str = ""
    detail: str = ""


class FormerRunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of a run with an earlier one.

    Attributes:
        name: Name of the earlier run's folder.
        changes: The worst first.
    """

    name: str
    changes: tuple[ChangeRecord, ...] = ()
