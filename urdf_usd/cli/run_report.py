"""Run over robots, write the files of the report, print the summary, apply the gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click
from msgspec import Struct, structs
from rich.text import Text

from urdf_usd.cli.commands import Gate as GateOptions
from urdf_usd.cli.failures import CommandError, ExitCode
from urdf_usd.cli.files import write_output
from urdf_usd.cli.terminal import print_lines, say, say_error, shown_progress, stdout
from urdf_usd.conformance.execution.folder import RunFolder
from urdf_usd.conformance.execution.run import run_in_folder, summarise
from urdf_usd.conformance.execution.worker import ClusterError
from urdf_usd.conformance.gate.baseline import Baseline, read_baseline
from urdf_usd.conformance.gate.decision import (
    FailOn,
    Gate,
    GateResult,
    apply_gate,
    failures,
    updated_baseline,
)
from urdf_usd.conformance.options import RunOptions
from urdf_usd.corpus import Resolved
from urdf_usd.reports.badge import write_badges
from urdf_usd.reports.changes import compare_runs
from urdf_usd.reports.html.history_page import write_history
from urdf_usd.reports.html.rendering import CONVERTERS
from urdf_usd.reports.html.site import write_comparison, write_site
from urdf_usd.reports.html.suite_page import write_suite
from urdf_usd.reports.junit import write_junit
from urdf_usd.reports.markdown import write_comparison_markdown, write_markdown
from urdf_usd.reports.records.history import (
    HistoryEntry,
    append_entry,
    read_history,
)
from urdf_usd.reports.records.record import (
    BaselineRecord,
    FormerRunRecord,
    RobotRecord,
    RunSummary,
)
from urdf_usd.reports.records.results import (
    StoredRun,
    read_seconds,
    write_record,
)
from urdf_usd.reports.sarif import write_sarif
from urdf_usd.reports.summary import Comparison, Figures, compare, readable
from urdf_usd.reports.terminal import terminal_comparison, terminal_summary
from urdf_usd.reports.text import one_line

# Limits for CI logs; the report lists everything.
_SHOWN = 50
_LONGEST = 200


class PreviousRun(Struct, frozen=True):
    """A previous run, read before its folder may be emptied for the next."""

    name: str  # of its folder
    run: StoredRun


class Report(Struct, frozen=True):
    """How the records of a run are reported and judged."""

    folder: RunFolder  # locked
    corpus: tuple[str, ...]  # references that led to the robots
    gate: GateOptions
    baseline: Baseline | None  # known failures
    previous: PreviousRun | None
    history: Path | None = None  # folder of the history to which the run is added
    label: str = ""  # name of the run in it

    def write(
        self, summary: RunSummary, records: list[RobotRecord], options: RunOptions
    ) -> tuple[Figures | Comparison, Path]:
        """Write all files; return what they show, and the first page."""
        several = len(summary.converters) > 1
        converters = []
        for converter in summary.converters:
            # One of several without entries is left out: all of its failures would be new.
            known = self.baseline and self.baseline.about((converter.name,))
            if several and (known or converter.gated):
                compared = self._compared(_records_of(converter.name, records))
                converter = structs.replace(converter, baseline=compared)
            converters.append(converter)
        summary = structs.replace(
            summary,
            baseline=self._compared(_records_of(options.gated, records)),
            converters=tuple(converters),
        )
        if previous := self.previous:
            run = StoredRun.of(summary, records)
            former = FormerRunRecord(name=previous.name, changes=compare_runs(previous.run, run))
            summary = structs.replace(summary, former=former)
        try:
            history = self._extended_history(summary, records)
            return write_reports(summary, records, self.folder.path, history)
        except OSError as error:
            if error.filename is None:
                # As of a full disk.
                error.filename = str(self.folder.path)
            raise

    def _extended_history(
        self, summary: RunSummary, records: Sequence[RobotRecord]
    ) -> tuple[HistoryEntry, ...]:
        """Add a run to the history, unless it is incomplete, and return all runs."""
        if self.history is None:
            return ()
        if summary.complete:
            seconds = _conversion_times(records, self.folder.path)
            append_entry(self.history, summary, self.label, seconds)
        return read_history(self.history)

    def _compared(self, records: Sequence[RobotRecord]) -> BaselineRecord | None:
        """Return what is new, worse or fixed, if there is a baseline."""
        return None if self.baseline is None else self._result(records, self.baseline).failures

    def _result(self, records: Sequence[RobotRecord], baseline: Baseline | None) -> GateResult:
        gate = self.gate
        return apply_gate(records, fail_on=gate.fail_on, strict=gate.strict, baseline=baseline)

    def decide(self, records: Sequence[RobotRecord], options: RunOptions) -> ExitCode:
        """Print what fails the run, and update the baseline if requested."""
        records = _records_of(options.gated, records)
        gate, baseline = self.gate, self.baseline
        if gate.update_baseline and baseline is not None and gate.baseline is not None:
            baseline = _update(gate, records, baseline, gate.baseline)
        result = self._result(records, baseline)
        if baseline is not None or gate.fail_on is not FailOn.FAILS:
            print_lines(_lines(result.failures, gate.baseline))
        if result.gate is Gate.NOTHING_READ:
            say_error("no robot could be read, so nothing was compared")
        passes = result.gate is Gate.PASSES
        return ExitCode.DONE if passes else ExitCode.DOES_NOT_CONFORM


def _records_of(converter: str, records: Iterable[RobotRecord]) -> list[RobotRecord]:
    return [record for record in records if record.candidate == converter]


def run_and_report(
    sources: Sequence[Resolved],
    options: RunOptions,
    report: Report,
) -> list[RobotRecord]:
    """Run, write the report, and print a summary.

    An interrupted run writes the report of the robots that are finished.

    Raises:
        CommandError: The cluster failed.
    """
    records: list[RobotRecord] = []
    out = report.folder.path
    expected = len(sources) * len(options.converters)
    try:
        with shown_progress(expected, named=len(options.converters) > 1) as show:
            for record in run_in_folder(sources, report.folder, options):
                records.append(record)
                show(record)
    except (KeyboardInterrupt, ClusterError) as error:
        _sort(records, options)
        missing = expected - len(records)
        partial = summarise(records, options, report.corpus, missing)
        report.write(partial, _robots(records), options)
        say(f"{len(records)} of {expected} robots are finished; report in {out}")
        say("Run the same command with --resume to continue.")
        if isinstance(error, ClusterError):
            raise CommandError(str(error)) from error
        raise
    _sort(records, options)
    summary = summarise(records, options, report.corpus)
    records = _robots(records)
    shown, index = report.write(summary, records, options)
    wrong: list[RobotRecord] = []
    if isinstance(shown, Figures):
        stdout().print(terminal_summary(shown))
        wrong = [one for one in readable(shown.ordered) if not one.verdict.conforms]
    else:
        stdout().print(terminal_comparison(shown))
        click.echo(f"\nThe exit status is that of {options.gated}; --gate NAME selects another.")
    click.echo(f"\nReport: {index}")
    if wrong:
        click.echo(f"Open first: {out / 'robots' / f'{wrong[0].id}.html'}")
    return records


def _robots(records: Iterable[RobotRecord]) -> list[RobotRecord]:
    """Leave out files that are only parts of robots; the summary lists them."""
    return [record for record in records if not record.part]


def _sort(records: list[RobotRecord], options: RunOptions) -> None:
    """Sort records by robot, then in the order of converters."""
    converters = [candidate.name for candidate in options.converters]
    records.sort(key=lambda one: (one.id, converters.index(one.candidate)))


def write_reports(
    summary: RunSummary,
    records: Sequence[RobotRecord],
    out: Path,
    history: Sequence[HistoryEntry] = (),
) -> tuple[Figures | Comparison, Path]:
    """Write all reports of a run into its folder; return what they show, and the first page."""
    if history:
        write_history(history, out)
    write_record(summary, out / "summary.json")
    write_junit(records, out / "junit.xml", summary)
    gated = next(one.name for one in summary.converters if one.gated)
    gated_summary, gated_part = part_of(summary, records, gated)
    write_sarif(gated_part, out / "findings.sarif", gated_summary.baseline)
    figures = Figures.of(gated_summary, gated_part)
    write_badges(figures, out)
    cases = write_suite(summary, records, out) is not None
    if len(summary.converters) <= 1:
        write_markdown(figures, out / "summary.md")
        return figures, write_site(figures, out, history=history, cases=cases)
    seconds = _conversion_times(records, out)
    for converter in summary.converters:
        part = Figures.of(*part_of(summary, records, converter.name))
        folder = out / CONVERTERS / converter.name
        folder.mkdir(parents=True, exist_ok=True)
        write_site(part, folder, out / "scenes" / converter.name)
    compared = compare(summary, records, seconds)
    write_comparison_markdown(compared, out / "summary.md")
    return compared, write_comparison(compared, out, has_history=bool(history))


def part_of(
    summary: RunSummary, records: Sequence[RobotRecord], converter: str
) -> tuple[RunSummary, list[RobotRecord]]:
    """Return the part of a run that concerns one converter."""
    own = next(one for one in summary.converters if one.name == converter)
    part = structs.replace(
        summary,
        converters=(own,),
        verdicts=own.verdicts,
        baseline=own.baseline or (summary.baseline if own.gated else None),
        robots=tuple(r for r in summary.robots if r.candidate == converter),
        former=_changes_of(summary, converter),
        suite=tuple(one for one in summary.suite if one.candidate == converter),
    )
    return part, _records_of(converter, records)


def _changes_of(summary: RunSummary, converter: str) -> FormerRunRecord | None:
    """Select the changes of one of several converters; subjects become robot ids."""
    former = summary.former
    if former is None or len(summary.converters) <= 1:
        return former
    prefix = f"{converter}/"
    changes = (
        structs.replace(one, subject=one.subject.removeprefix(prefix))
        for one in former.changes
        if one.subject.startswith(prefix)
    )
    return structs.replace(former, changes=tuple(changes))


def _conversion_times(records: Sequence[RobotRecord], out: Path) -> dict[tuple[str, str], float]:
    """Read the times of conversions [s], by converter and robot."""
    keys = [(record.candidate, record.id) for record in records]
    times = {key: read_seconds(out, "/".join(key)) for key in keys}
    return {key: seconds for key, seconds in times.items() if seconds is not None}


def load_baseline(gate: GateOptions) -> Baseline | None:
    """Read the baseline if there is one, and print warnings about its entries.

    Raises:
        TableError: The file is not a baseline.
    """
    file = gate.baseline
    if file is None:
        return None
    if gate.update_baseline and not file.exists():
        return Baseline()
    baseline = read_baseline(file)
    for warning in baseline.unexplained:
        say(warning)
    return baseline


def _update(
    gate: GateOptions, records: Sequence[RobotRecord], baseline: Baseline, file: Path
) -> Baseline:
    found = failures(records, fail_on=gate.fail_on, strict=gate.strict, unreadable=True)
    updated = updated_baseline(records, baseline, found)
    write_output(file, updated.as_toml().encode())
    added = {one.place for one in updated.expectations}
    added -= {one.place for one in baseline.expectations}
    if added:
        noun = "new entry needs" if len(added) == 1 else "new entries need"
        say(f"{file}: {len(added)} {noun} a reason and an owner")
    return updated


def _lines(found: BaselineRecord, file: Path | None) -> Iterator[Text]:
    counts = (
        f"{len(found.new)} new",
        f"{len(found.worse)} worse",
        *([f"{len(found.expired)} expired"] if found.expired else []),
        f"{len(found.expected)} expected",
        f"{len(found.fixed)} no longer failing",
    )
    yield Text()
    against = f" against {file}" if file else ""
    yield Text(f"Gate{against}: {', '.join(counts)}", style="bold")
    wrong = [
        *((one, "not expected") for one in found.new),
        *((one, f"expected {one.expected}") for one in found.worse),
        *((one, "no longer expected: the entry has expired") for one in found.expired),
    ]
    for failure, what in wrong[:_SHOWN]:
        message = one_line(failure.message, _LONGEST)
        yield Text.assemble(
            ("  ✗", "red"), f" {failure.robot} {failure.check}: {failure.grade}, {what}: {message}"
        )
    if len(wrong) > _SHOWN:
        yield Text(f"  and {len(wrong) - _SHOWN} more")
    for one in found.fixed:
        place = f"{one.robot} {one.check}"
        yield Text.assemble(("  ✓", "green"), f" {place}: passes now; --update-baseline removes it")
    if found.absent:
        yield Text(f"  {found.absent} entries of robots that are not in this run")
