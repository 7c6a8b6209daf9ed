"""Decides whether a USD says what its URDF says.

Example:
    >>> from conformance import check
    >>> check("robot.urdf", "robot.usda").verdict  # doctest: +SKIP
    <Verdict.EXACT: 'exact'>
"""

from conformance.record import Grade, RobotRecord, RunSummary, Verdict
from conformance.run import CheckOptions, RunOptions, check, run

__all__ = [
    "CheckOptions",
    "Grade",
    "RobotRecord",
    "RunOptions",
    "RunSummary",
    "Verdict",
    "check",
    "run",
]
