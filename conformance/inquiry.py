"""Questions to witnesses, which may be answered later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.confinement import ask_here
from urdf_usd.conformance.witness import Crashed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from urdf_usd.conformance.journal import Step, Steps
    from urdf_usd.conformance.witness import Outcome, Request, Side


@dataclass(frozen=True, slots=True, eq=False)
class Inquiry:
    """What witnesses are asked about one file.

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


def inquire(steps: Steps, witness: str, request: Request) -> Step[Outcome]:
    """Plan to ask a registered witness."""
    return steps.plan(ask_here, witness, request)


def answer(step: Step[Outcome]) -> Outcome:
    """Return what a witness says."""
    ending = step.ending()
    return ending if isinstance(ending, Crashed) else ending.value
