"""What a run says next to the file of what is known not to conform."""

from __future__ import annotations

import msgspec


class KnownFailureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A check that fails, or was expected to.

    Attributes:
        robot: Identifier of the robot.
        check: Identifier of the check; ``verdict`` if none was made.
        grade: Grade of the check, or the verdict; empty if it passes now.
        expected: Grade in the baseline; empty if it says nothing.
        message: What is wrong, in one sentence.
        reason: Why the baseline accepts it.
    """

    robot: str
    check: str
    grade: str
    expected: str
    message: str
    reason: str = ""


class BaselineRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run next to the file of what is known not to conform.

    Attributes:
        new: Failures that are not expected.
        worse: Failures that were expected to be less grave.
        fixed: Expected failures that do not fail any more.
        expected: Failures that are as expected, or less grave.
        absent: Number of expectations about robots that were not in the run.
    """

    new: tuple[KnownFailureRecord, ...] = ()
    worse: tuple[KnownFailureRecord, ...] = ()
    fixed: tuple[KnownFailureRecord, ...] = ()
    expected: tuple[KnownFailureRecord, ...] = ()
    absent: int = 0
