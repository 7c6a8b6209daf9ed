"""The sentence that a run comes down to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.conformance.records.record import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable

    from urdf_usd.conformance.records.record import RobotRecord, RobotSummary


def headline(robots: Iterable[RobotRecord] | Iterable[RobotSummary]) -> str:
    """Say how many robots conform, of those that are to be had.

    Robots of which parts could not be compared do not count as conforming. A robot that
    could not be fetched, or that a mirror lacks, says nothing about a converter.
    """
    verdicts = [robot.verdict for robot in robots]
    had = [verdict for verdict in verdicts if verdict is not Verdict.NOT_AVAILABLE]
    conforming = sum(verdict.conforms for verdict in had)
    incomplete = had.count(Verdict.INCOMPLETE)
    parts = f", {incomplete} more {'is' if incomplete == 1 else 'are'} incomplete"
    absent = len(verdicts) - len(had)
    rest = f", {absent} more {'is' if absent == 1 else 'are'} not available"
    return (
        f"{conforming} of {len(had)} robots conform"
        f"{parts if incomplete else ''}{rest if absent else ''}"
    )
