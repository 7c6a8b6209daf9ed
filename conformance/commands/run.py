"""``urdf-usd run``: convert and check whole corpora."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from urdf_usd.conformance.changes import former_record
from urdf_usd.conformance.commands.choices import conversion_options
from urdf_usd.conformance.commands.console import say, stdout
from urdf_usd.conformance.commands.converting import Converters, converter_options
from urdf_usd.conformance.commands.execution import (
    Execution,
    execution_options,
    stopped_as_interrupted,
)
from urdf_usd.conformance.commands.failures import CommandError, ExitCode
from urdf_usd.conformance.commands.gating import GateOptions, gate_options
from urdf_usd.conformance.commands.parameters import HelpfulCommand, witness_option
from urdf_usd.conformance.commands.progress import shown_progress
from urdf_usd.conformance.commands.reporting import (
    shown_summary,
    what_to_open,
    write_reports,
)
from urdf_usd.conformance.commands.selection import mirror_option, selection_options
from urdf_usd.conformance.commands.target import prepare_run_folder
from urdf_usd.conformance.gate import FailOn
from urdf_usd.conformance.panel import require_installed
from urdf_usd.conformance.parcels import ClusterError
from urdf_usd.conformance.run import (
    RunOptions,
    places,
    require_scheduler,
    run,
    summarise,
)
from urdf_usd.conformance.stored_run import StoredRun, StoredRunError, read_run
from urdf_usd.corpus import Selection, parse_reference, resolve_corpora

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from urdf_usd.conformance.baseline import Baseline
    from urdf_usd.conformance.record import ConverterRecord, RobotRecord, RunSummary
    from urdf_usd.converter import ConvertOptions
    from urdf_usd.corpus import Resolved

DEFAULT_CORPUS = "pybullet"


@click.command(
    "run",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd run --out report",
        "urdf-usd run dir:my_robots --out report --jobs 4 --resume",
        "urdf-usd run rd:panda_description erd pybullet:r2d2.urdf --out report",
        "urdf-usd run rd --tag humanoid --license BSD-3-Clause --out report",
        "urdf-usd run rd --mirror clones --baseline known.toml --out report",
        "urdf-usd run erd --compare report --out report",
        "urdf-usd run --converter urdf-usd --converter 'x=x2usd {urdf} {out}' --out r",
    ),
)
@click.argument("corpus", nargs=-1)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the report; a former report in it is replaced, or with --resume "
    "brought up to date.",
)
@click.option(
    "--compare",
    "former",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    callback=lambda _context, _parameter, folder: folder and Former.read(folder),
    metavar="RUN",
    help="Folder of a former run; the report says what changed since. It may be OUT.",
)
@execution_options
@conversion_options
@witness_option
@selection_options
@mirror_option
@converter_options
@gate_options
def run_command(  # noqa: PLR0913  # one parameter per option
    *,
    corpus: tuple[str, ...],
    out: Path,
    former: Former | None,
    execution: Execution,
    choices: ConvertOptions,
    witnesses: tuple[str, ...],
    tags: tuple[str, ...],
    makers: tuple[str, ...],
    licenses: tuple[str, ...],
    mirror: Path | None,
    converters: Converters,
    fail_on: str,
    strict: bool,
    baseline_file: Path | None,
    update_baseline: bool,
) -> None:
    """Convert and check every robot of CORPUS, and write a report.

    CORPUS is a file, a reference such as rd:panda_description, or a whole corpus:
    pybullet (the default), rd, erd, dir:<folder> or list:<file.toml>. OUT receives
    index.html, a page and a JSON record per robot, summary.json, summary.md, junit.xml,
    findings.sarif, badge.svg, the assets, and with an extra measurements.parquet.

    Files that are no URDF, or that cannot be fetched, are listed in the report; they
    change the exit status with --strict alone. With --baseline, what is listed there
    passes, and all else that is no URDF does not.

    With several converters, every robot goes through each; index.html compares them.
    """
    gate = GateOptions(
        FailOn(fail_on), strict=strict, file=baseline_file, update=update_baseline
    )
    baseline = gate.baseline()
    texts = corpus or (DEFAULT_CORPUS,)
    options = _run_options(execution, choices, witnesses, converters)
    if options.scheduler and not (options.shared or converters.only_ours):
        raise click.UsageError("--scheduler needs --shared for other converters")
    selection = Selection(tags, makers, licenses)
    named = tuple(parse_reference(text).portable for text in texts)
    require_installed(witnesses)
    sources = resolve_corpora(texts, say, selection=selection, mirror=mirror)
    if options.scheduler is not None:
        require_scheduler(options.scheduler)
    prepare_run_folder(out, places(sources, options) if execution.resume else ())
    report = Report(out, (*named, *selection.words), gate, baseline, former)
    records = _run_and_report(sources, options, report)
    click.get_current_context().exit(report.decide(records, options))


def _run_options(
    execution: Execution,
    choices: ConvertOptions,
    witnesses: tuple[str, ...],
    converters: Converters,
) -> RunOptions:
    return RunOptions(
        convert=choices,
        witnesses=witnesses,
        limits=execution.limits,
        jobs=execution.jobs,
        resume=execution.resume,
        retry=execution.retry,
        scheduler=execution.scheduler,
        shared=execution.shared,
        timed=execution.timed,
        converters=converters.candidates,
        gated=converters.gated,
    )


@dataclass(frozen=True, slots=True)
class Former:
    """A former run, read before its folder may be emptied for the next.

    Attributes:
        name: Name of its folder.
        run: What is in there.
    """

    name: str
    run: StoredRun

    @classmethod
    def read(cls, folder: Path) -> Former:
        """Read a former run.

        Raises:
            CommandError: The folder holds none.
        """
        try:
            return cls(folder.resolve().name, read_run(folder))
        except StoredRunError as error:
            raise CommandError(str(error)) from error


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


def _run_and_report(
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
