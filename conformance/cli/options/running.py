"""One run, from the robots that were found to the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from msgspec import structs

from urdf_usd.conformance.cli.options.execution import stopped_as_interrupted
from urdf_usd.conformance.cli.output.console import say, stdout
from urdf_usd.conformance.cli.output.failures import CommandError, ExitCode
from urdf_usd.conformance.cli.output.progress import shown_progress
from urdf_usd.conformance.cli.output.reporting import (
    shown_summary,
    what_to_open,
    write_reports,
)
from urdf_usd.conformance.execution.parcels import ClusterError
from urdf_usd.conformance.execution.run import RunOptions, run, summarise
from urdf_usd.conformance.records.changes import former_record
from urdf_usd.conformance.records.stored_run import StoredRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from urdf_usd.conformance.cli.output.gating import GateOptions
    from urdf_usd.conformance.gate.baseline import Baseline
    from urdf_usd.conformance.records.record import (
        ConverterRecord,
        RobotRecord,
        RunSummary,
    )
    from urdf_usd.corpus import Resolved


@dataclass(frozen=True, slots=True)
class Former:
    """A former run, read before its folder may be emptied for the next.

    Attributes:
        name: Name of its folder.
        run: What is in there.
    """

    name: str
    run: StoredRun


@dataclass(frozen=True, slots=True)
class Report:
    """What becomes of the records of a run.

    Attributes:
        folder: Where the report goes.
        corpus: The references that led to the robots.
        gate: How the run is judged as a whole.
        baseline: What is known not to conform.
        former: The run to compare with.
    """

    folder: Path
    corpus: tuple[str, ...]
    gate: GateOptions
    baseline: Baseline | None
    former: Former | None

    def write(
        self, summary: RunSummary, records: list[RobotRecord], options: RunOptions
    ) -> tuple[RunSummary, Path]:
        """Write everything; return the summary as it is written, and the first page."""
        gated = gated_records(records, options)
        compared = self.gate.compared(gated, self.baseline)
        told = structs.replace(
            summary,
            baseline=compared,
            converters=tuple(self._converters(summary, records)),
        )
        if former := self.former:
            run = StoredRun.of(summary, records)
            changes = former_record(former.name, former.run, run)
            told = structs.replace(told, former=changes)
        return told, write_reports(told, records, self.folder)

    def _converters(
        self, summary: RunSummary, records: Sequence[RobotRecord]
    ) -> Iterator[ConverterRecord]:
        """Hold each of several converters against what is expected of it.

        Where nothing is, all of its failures would be new.
        """
        several = len(summary.converters) > 1
        for one in summary.converters:
            known = self.baseline and self.baseline.about((one.name,))
            if not (several and (known or one.gated)):
                yield one
                continue
            his = [record for record in records if record.candidate == one.name]
            compared = self.gate.compared(his, self.baseline)
            yield structs.replace(one, baseline=compared)

    def decide(self, records: Sequence[RobotRecord], options: RunOptions) -> ExitCode:
        """Say whether the run passes."""
        return self.gate.decide(gated_records(records, options), self.baseline)


def gated_records(
    records: Sequence[RobotRecord], options: RunOptions
) -> list[RobotRecord]:
    """Return the records of the converter by which a run passes."""
    return [record for record in records if record.candidate == options.gated]


def run_and_report(
    sources: Sequence[Resolved], options: RunOptions, report: Report
) -> list[RobotRecord]:
    """Run, write the report, also of a part where that is interrupted, and sum up."""
    records: list[RobotRecord] = []
    out = report.folder
    expected = len(sources) * len(options.converters)
    try:
        with (
            stopped_as_interrupted(),
            shown_progress(expected, named=len(options.converters) > 1) as show,
        ):

            def finished(record: RobotRecord) -> None:
                records.append(record)
                show(record)

            summary = run(
                sources,
                out,
                options,
                corpus=report.corpus,
                progress=finished,
                announce=say,
            )
    except (KeyboardInterrupt, ClusterError) as error:
        # What is finished is worth a report.
        records.sort(key=lambda record: record.id)
        missing = expected - len(records)
        partial = summarise(records, options, report.corpus, missing)
        report.write(partial, records, options)
        say(f"{len(records)} of {expected} robots are finished; report in {out}")
        say("The same command with --resume goes on from there.")
        if isinstance(error, ClusterError):
            raise CommandError(str(error)) from error
        raise
    records.sort(key=lambda record: record.id)
    summary, index = report.write(summary, records, options)
    stdout().print(shown_summary(summary, records, out))
    click.echo(f"\n{what_to_open(summary, records, out, index)}")
    return records
