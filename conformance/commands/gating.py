"""The gate of a run on the command line: what is said, and what is rewritten."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.text import Text

from urdf_usd.conformance.baseline import Baseline, read_baseline
from urdf_usd.conformance.commands.console import long_stdout, say, say_error
from urdf_usd.conformance.commands.failures import ExitCode
from urdf_usd.conformance.gate import (
    FailOn,
    Gate,
    baseline_record,
    failures,
    rule,
    settled,
)
from urdf_usd.conformance.results import write_atomically
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from urdf_usd.conformance.baseline_record import BaselineRecord
    from urdf_usd.conformance.gate import Failure, Ruling
    from urdf_usd.conformance.record import RobotRecord

# What a log can hold; the report has all.
_SHOWN = 50
_LONGEST = 200


_Command = TypeVar("_Command", bound=Callable[..., Any])


def gate_options(command: _Command) -> _Command:
    """Add what decides over a run as a whole."""
    options = (
        click.option(
            "--fail-on",
            type=click.Choice([one.value for one in FailOn]),
            default=FailOn.FAILS.value,
            show_default=True,
            help="Fail on every check that is not exact, or not even close.",
        ),
        click.option(
            "--strict",
            is_flag=True,
            help="Fail also on robots that cannot be read or fetched.",
        ),
        click.option(
            "--baseline",
            "baseline_file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Fail on what is worse than FILE expects, and on nothing else.",
        ),
        click.option(
            "--update-baseline",
            is_flag=True,
            help="Rewrite the baseline so that this run passes.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class GateOptions:
    """How a run is judged as a whole.

    Attributes:
        fail_on: Whether a check that is close passes.
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
            UsageError: The options do not belong together.
        """
        if self.file is None:
            if self.update:
                raise click.UsageError("--update-baseline needs --baseline FILE")
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
        ruling = rule(
            records, fail_on=self.fail_on, strict=self.strict, baseline=baseline
        )
        return baseline_record(ruling, baseline)

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
        ruling = rule(
            records, fail_on=self.fail_on, strict=self.strict, baseline=baseline
        )
        if baseline is not None or self.fail_on is FailOn.CLOSE:
            console = long_stdout()
            for line in _lines(ruling, self.file):
                console.print(line)
        if ruling.gate is Gate.NOTHING_READ:
            say_error("no robot could be read, so nothing is proven")
        passes = ruling.gate is Gate.PASSES
        return ExitCode.DONE if passes else ExitCode.DOES_NOT_CONFORM

    def _updated(
        self, records: Sequence[RobotRecord], baseline: Baseline, file: Path
    ) -> Baseline:
        found = failures(
            records, fail_on=self.fail_on, strict=self.strict, unreadable=True
        )
        updated = settled(records, baseline, found)
        write_atomically(file, updated.as_toml().encode())
        added = {one.place for one in updated.expectations}
        added -= {one.place for one in baseline.expectations}
        if added:
            noun = "entry waits" if len(added) == 1 else "entries wait"
            say(f"{file}: {len(added)} {noun} for a reason and an owner")
        return updated


def _lines(ruling: Ruling, file: Path | None) -> Iterator[Text]:
    new = [(failure, f"{failure.grade}, not expected") for failure in ruling.new]
    worse = [
        (failure, f"{failure.grade}, expected was {grade}")
        for failure, grade in ruling.worse
    ]
    counts = (
        f"{len(new)} new",
        f"{len(worse)} worse",
        f"{len(ruling.expected)} expected",
        f"{len(ruling.passing)} no longer failing",
    )
    yield Text()
    against = f" against {file}" if file else ""
    yield Text(f"Gate{against}: {', '.join(counts)}", style="bold")
    wrong = (*new, *worse)
    for failure, what in wrong[:_SHOWN]:
        yield _failure_line(failure, what)
    if len(wrong) > _SHOWN:
        yield Text(f"  and {len(wrong) - _SHOWN} more")
    for expectation in ruling.passing:
        place = f"{expectation.robot} {expectation.check}"
        yield Text.assemble(
            ("  ✓", "green"), f" {place}: passes now; --update-baseline takes it out"
        )
    if ruling.absent:
        yield Text(f"  {ruling.absent} expected of robots that are not in this run")


def _failure_line(failure: Failure, what: str) -> Text:
    message = one_line(failure.message, _LONGEST)
    return Text.assemble(
        ("  ✗", "red"), f" {failure.robot} {failure.check}: {what}: {message}"
    )
