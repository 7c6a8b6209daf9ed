"""Questions to engines, which may be answered later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.workers.confinement import ask_here

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from urdf_usd.conformance.engines.protocol import Outcome, Request, Side
    from urdf_usd.conformance.execution.workers.journal import Step, Steps


@dataclass(frozen=True, slots=True, eq=False)
class Inquiry:
    """What engines are asked about one file.

    Attributes:
        side: Kind of the file.
        file: The file.
        steps: Of those that are available, by name.
    """

    side: Side
    file: Path
    steps: Mapping[str, Step[Outcome]]

    def outcomes(self) -> dict[str, Outcome]:
        """Return what they say, once they have said it."""
        return {name: answer(step) for name, step in self.steps.items()}


def inquire(steps: Steps, engine: str, request: Request) -> Step[Outcome]:
    """Plan to ask a registered engine."""
    return steps.plan(ask_here, engine, request)


def answer(step: Step[Outcome]) -> Outcome:
    """Return what an engine says."""
    ending = step.ending()
    return ending if isinstance(ending, Crashed) else ending.value
