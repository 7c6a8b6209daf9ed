"""One-line summaries of robots, for ``repr``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.rules import Severity
from urdf_usd.converter.robot.model import Robot


def robot_line(robot: Robot, diagnostics: Iterable[Diagnostic] = ()) -> str:
    """Return ``'arm', 3 links, 2 joints, 1 warning``."""
    return ", ".join(
        (
            repr(robot.name),
            counted(len(robot.links), "link"),
            counted(len(robot.joints), "joint"),
            *_diagnostic_counts(diagnostics),
        )
    )


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural with ``s``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _diagnostic_counts(diagnostics: Iterable[Diagnostic]) -> Iterator[str]:
    counts = Counter(diagnostic.severity for diagnostic in diagnostics)
    for severity in Severity:
        if counts[severity]:
            yield counted(counts[severity], severity.value)
