"""The gate of a run: what is said, and what is rewritten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from urdf_usd.conformance.cli.output.console import long_stdout, say, say_error
from urdf_usd.conformance.cli.output.failures import ExitCode
from urdf_usd.conformance.gate.baseline import Baseline, read_baseline
from urdf_usd.conformance.gate.decision import (
    FailOn,
    Gate,
    apply_gate,
    baseline_record,
    failures,
    updated_baseline,
)
from urdf_usd.conformance.records.results import write_atomically
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.text import Text

    from urdf_usd.conformance.gate.decision import Failure, GateResult
    from urdf_usd.conformance.records.baseline_record import BaselineRecord
    from urdf_usd.conformance.records.record import RobotRecord

# What a log can hold; the report has all.
_SHOWN = 50
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class GateOptions:
    """How a run is judged as a whole.

    Attributes:
        fail_on: The mildest result that does not pass.
        strict: Whether robots that could not be read or fetched count.
        file: The baseline.
        update: Whether to rewrite it.
    """

    fail_on: FailOn = FailOn.FAILS
    strict: bool = False
    file: Path | None = None
    update: bool = False

    def baseline(self) -> Baseline | None:
        """Read the baseline, and warn of what is not explained in it.

        Raises:
            TableError: It is none.
        """
        if self.file is None:
            return None
        if self.update and not self.file.exists():
            return Baseline()
        baseline = read_baseline(self.file)
        for warning in baseline.unexplained:
            say(warning)
        return baseline

    def compared(
        self, records: Sequence[RobotRecord], baseline: Baseline | None
    ) -> BaselineRecord | None:
        """Return what is new, worse or fixed, if there is a baseline.

        Args:
            records: One per robot.
            baseline: As :meth:`baseline` returned it.
        """
        if baseline is None:
            return None
        result = apply_gate(
            records, fail_on=self.fail_on, strict=self.strict, baseline=baseline
        )
        return baseline_record(result, baseline)

    def decide(
        self, records: Sequence[RobotRecord], baseline: Baseline | None
    ) -> ExitCode:
        """Say what stands in the way of a run, rewrite the baseline if that is asked.

        Args:
            records: One per robot.
            baseline: As :meth:`baseline` returned it.
        """
        if self.update and baseline is not None and self.file is not None:
            baseline = self._updated(records, baseline, self.file)
        result = apply_gate(
            records, fail_on=self.fail_on, strict=self.strict, baseline=baseline
        )
        if baseline is not None or self.fail_on is not FailOn.FAILS:
            console = long_stdout()
            for line in _lines(result, self.file):
                console.print(line)
        if result.gate is Gate.NOTHING_READ:
            say_error("no robot could be read, so nothing is proven")
        passes = result.gate is Gate.PASSES
        return ExitCode.DONE if passes else ExitCode.DOES_NOT_CONFORM

    def _updated(
        self, records: Sequence[RobotRecord], baseline: Baseline, file: Path
    ) -> Baseline:
        found = failures(
            records, fail_on=self.fail_on, strict=self.strict, unreadable=True
        )
        updated = updated_baseline(records, baseline, found)
        write_atomically(file, updated.as_toml().encode())
        added = {one.place for one in updated.expectations}
        added -= {one.place for one in baseline.expectations}
        if added:
            noun = "entry waits" if len(added) == 1 else "entries wait"
            say(f"{file}: {len(added)} {noun} for a reason and an owner")
        return updated


def _lines(result: GateResult, file: Path | None) -> Iterator[Text]:
    from rich.text import Text

    new = [(failure, f"{failure.grade}, not expected") for failure in result.new]
    worse = [
        (failure, f"{failure.grade}, expected was {grade}")
        for failure, grade in result.worse
    ]
    counts = (
        f"{len(new)} new",
        f"{len(worse)} worse",
        f"{len(result.expected)} expected",
        f"{len(result.passing)} no longer failing",
    )
    yield Text()
    against = f" against {file}" if file else ""
    yield Text(f"Gate{against}: {', '.join(counts)}", style="bold")
    wrong = (*new, *worse)
    for failure, what in wrong[:_SHOWN]:
        yield _failure_line(failure, what)
    if len(wrong) > _SHOWN:
        yield Text(f"  and {len(wrong) - _SHOWN} more")
    for expectation in result.passing:
        place = f"{expectation.robot} {expectation.check}"
        yield Text.assemble(
            ("  ✓", "green"), f" {place}: passes now; --update-baseline takes it out"
        )
    if result.absent:
        yield Text(f"  {result.absent} expected of robots that are not in this run")


def _failure_line(failure: Failure, what: str) -> Text:
    from rich.text import Text

    message = one_line(failure.message, _LONGEST)
    return Text.assemble(
        ("  ✗", "red"), f" {failure.robot} {failure.check}: {what}: {message}"
    )
