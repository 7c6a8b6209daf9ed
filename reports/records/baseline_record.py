"""Comparison of a run with the baseline of known failures."""

from __future__ import annotations

import msgspec


class KnownFailureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A check that fails, or is expected to fail.

    Attributes:
        robot: Identifier of the robot.
        check: Identifier of the check; ``verdict`` for a robot without checks.
        grade: Grade of the check, or the verdict; empty if it passes.
        expected: Grade in the baseline; empty if it has none.
        message: What is wrong, in one sentence.
        reason: Why the baseline accepts it.
        url: Where it is tracked.
        expires: Last day on which it is accepted, as YYYY-MM-DD.
    """

    robot: str
    check: str
    grade: str
    expected: str
    message: str
    reason: str = ""
    url: str | None = None
    expires: str | None = None


class BaselineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Comparison of a run with the baseline.

    Attributes:
        new: Failures that are not in the baseline.
        worse: Failures that are worse than in the baseline.
        expired: Failures that were accepted until a day that is past.
        fixed: Failures in the baseline that do not fail any more.
        expected: Failures that are as in the baseline, or better.
        absent: Number of entries for robots that were not in the run.
    """

    new: tuple[KnownFailureRecord, ...] = ()
    worse: tuple[KnownFailureRecord, ...] = ()
    expired: tuple[KnownFailureRecord, ...] = ()
    fixed: tuple[KnownFailureRecord, ...] = ()
    expected: tuple[KnownFailureRecord, ...] = ()
    absent: int = 0
