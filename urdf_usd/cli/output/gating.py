"""The gate of a run: print its result, compare with and update the baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from urdf_usd.cli.output.console import long_stdout, say, say_error
from urdf_usd.cli.output.failures import ExitCode
from urdf_usd.cli.output.files import write_output
from urdf_usd.conformance.gate.baseline import Baseline, read_baseline
from urdf_usd.conformance.gate.decision import (
    FailOn,
    Gate,
    GateResult,
    apply_gate,
    baseline_record,
    failures,
    updated_baseline,
)
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from rich.text import Text

    from urdf_usd.cli.options.execution import GateOptions
    from urdf_usd.reports.records.record import BaselineRecord, RobotRecord


# Limits for CI logs; the report lists everything.
_SHOWN = 50
_LONGEST = 200


def load_baseline(gate: GateOptions) -> Baseline | None:
    """Read the baseline if there is one, and print warnings about its entries.

    Raises:
        TableError: The file is not a baseline.
    """
    file = gate.baseline_file
    if file is None:
        return None
    if gate.update_baseline and not file.exists():
        return Baseline()
    baseline = read_baseline(file)
    for warning in baseline.unexplained:
        say(warning)
    return baseline


def compare_with_baseline(
    gate: GateOptions, records: Sequence[RobotRecord], baseline: Baseline | None
) -> BaselineRecord | None:
    """Return what is new, worse or fixed, if there is a baseline.

    Args:
        gate: What makes the run fail.
        records: One per robot.
        baseline: As returned by :func:`load_baseline`.
    """
    if baseline is None:
        return None
    return baseline_record(_rule(gate, records, baseline), baseline)


def decide(
    gate: GateOptions, records: Sequence[RobotRecord], baseline: Baseline | None
) -> ExitCode:
    """Print what fails the run, update the baseline if requested.

    Args:
        gate: What makes the run fail.
        records: One per robot.
        baseline: As returned by :func:`load_baseline`.
    """
    file = gate.baseline_file
    if gate.update_baseline and baseline is not None and file is not None:
        baseline = _update(gate, records, baseline, file)
    result = _rule(gate, records, baseline)
    if baseline is not None or FailOn(gate.fail_on) is not FailOn.FAILS:
        console = long_stdout()
        for line in _lines(result, file):
            console.print(line)
    if result.gate is Gate.NOTHING_READ:
        say_error("no robot could be read, so nothing was compared")
    passes = result.gate is Gate.PASSES
    return ExitCode.DONE if passes else ExitCode.DOES_NOT_CONFORM


def _rule(
    gate: GateOptions, records: Sequence[RobotRecord], baseline: Baseline | None
) -> GateResult:
    return apply_gate(
        records,
        fail_on=FailOn(gate.fail_on),
        strict=gate.strict,
        baseline=baseline,
    )


def _update(
    gate: GateOptions, records: Sequence[RobotRecord], baseline: Baseline, file: Path
) -> Baseline:
    found = failures(records, fail_on=FailOn(gate.fail_on), strict=gate.strict, unreadable=True)
    updated = updated_baseline(records, baseline, found)
    write_output(file, updated.as_toml().encode())
    added = {one.place for one in updated.expectations}
    added -= {one.place for one in baseline.expectations}
    if added:
        noun = "new entry needs" if len(added) == 1 else "new entries need"
        say(f"{file}: {len(added)} {noun} a reason and an owner")
    return updated


def _lines(result: GateResult, file: Path | None) -> Iterator[Text]:
    from rich.text import Text

    new = [(failure, f"{failure.grade}, not expected") for failure in result.new]
    worse = [(failure, f"{failure.grade}, expected {grade}") for failure, grade in result.worse]
    expired = [
        (failure, f"{failure.grade}, no longer expected: the entry has expired")
        for failure in result.expired
    ]
    counts = (
        f"{len(new)} new",
        f"{len(worse)} worse",
        *([f"{len(expired)} expired"] if expired else []),
        f"{len(result.expected)} expected",
        f"{len(result.passing)} no longer failing",
    )
    yield Text()
    against = f" against {file}" if file else ""
    yield Text(f"Gate{against}: {', '.join(counts)}", style="bold")
    wrong = (*new, *worse, *expired)
    for failure, what in wrong[:_SHOWN]:
        message = one_line(failure.message, _LONGEST)
        yield Text.assemble(("  ✗", "red"), f" {failure.robot} {failure.check}: {what}: {message}")
    if len(wrong) > _SHOWN:
        yield Text(f"  and {len(wrong) - _SHOWN} more")
    for expectation in result.passing:
        place = f"{expectation.robot} {expectation.check}"
        yield Text.assemble(("  ✓", "green"), f" {place}: passes now; --update-baseline removes it")
    if result.absent:
        yield Text(f"  {result.absent} entries of robots that are not in this run")
