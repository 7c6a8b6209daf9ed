"""``urdf-usd run``, ``diff`` and ``reduce``: runs over corpora, what changed, what fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import click
from msgspec import structs
from rich.text import Text

from urdf_usd.cli import terminal as t
from urdf_usd.cli.parameters import existing_robot, with_stated_settings
from urdf_usd.cli.program import Converters, Diff, Gate, Reduce, Run
from urdf_usd.cli.terminal import CommandError, ExitCode, require_outputs, write_output
from urdf_usd.conformance import gate as decision
from urdf_usd.conformance.converters import candidates as c
from urdf_usd.conformance.execution import run as execution
from urdf_usd.conformance.execution.folder import claim_run_folder
from urdf_usd.conformance.execution.worker import ClusterError, call_on_usd, processors
from urdf_usd.conformance.gate import Baseline, read_baseline
from urdf_usd.conformance.options import RunOptions
from urdf_usd.conformance.reduction import bug_report, reduce_robot
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.converter.options import command_words
from urdf_usd.converter.scratch import scratch_folder
from urdf_usd.corpus import parse_reference, resolve_corpora
from urdf_usd.corpus.files import Format
from urdf_usd.reports.changes import compare_runs, sign, value_changes
from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.results import (
    HistoryEntry,
    StoredRun,
    append_entry,
    read_history,
    read_run,
)
from urdf_usd.reports.run_report import conversion_times, records_of, write_report
from urdf_usd.reports.summary import Comparison, Figures, readable
from urdf_usd.reports.terminal import terminal_comparison, terminal_summary
from urdf_usd.reports.text import one_line

DEFAULT_CORPUS = "pybullet"
# By name: what workers import, this process does not need.
_VALUES = "urdf_usd.cli.inspect:usd_values"
# Limits for CI logs; the report lists everything.
_SHOWN = 50
_LONGEST = 200
_REPORT = "report.md"
# Options that do not concern the reduced robot.
_NOT_REPEATED = ("--package", "--arg", "--env")


def run(options: Run) -> ExitCode:
    candidates, gated = parse_converters(options.converters)
    if options.settings.variants and candidates == (c.OWN,):
        raise click.UsageError("--variant needs --converter with another converter")
    baseline = _load_baseline(options.gate)
    # Read before its folder may be emptied for this run.
    previous = read_run(options.compare) if options.compare else None
    require_outputs([(options.out, None), (options.history, None)])
    if options.history and options.history.exists():
        read_history(options.history)
    convert = with_stated_settings(options.settings.convert)
    settings = structs.replace(
        options.settings, convert=convert, converters=candidates, gated=gated
    )
    texts = options.corpus or (DEFAULT_CORPUS,)
    corpus = (*(parse_reference(text).portable for text in texts), *options.selection.words)
    with t.shown_status("Looking for robots ...") as status:
        sources = resolve_corpora(
            texts,
            status.say,
            selection=options.selection,
            mirror=options.mirror,
            mjcf=any(one.reads(Format.MJCF) for one in candidates),
        )
        if options.changed_since is not None:
            status.show("Looking for changed robots ...")
            limits, jobs = settings.limits, settings.jobs or processors()
            revision = options.changed_since
            sources = execution.changed_robots(sources, revision, convert, limits, jobs)
            if not sources:
                t.say(f"no robot changed since {revision}")
                return ExitCode.DONE
        execution.require_scheduler(settings)
    expected = len(sources) * len(candidates)
    places = execution.places(sources, settings)
    names = [candidate.name for candidate in candidates]
    records: list[r.RobotRecord] = []
    interruption: BaseException | None = None
    with claim_run_folder(options.out, places, resume=settings.resume) as folder:
        try:
            with t.shown_progress(expected, named=len(names) > 1) as show:
                for record in execution.run_in_folder(sources, folder, settings):
                    records.append(record)
                    show(record)
        except (KeyboardInterrupt, ClusterError) as error:
            interruption = error
        # By robot, then in the order of converters.
        records.sort(key=lambda one: (one.id, names.index(one.candidate)))
        finished = len(records)
        unfinished = expected - finished if interruption else 0
        summary = execution.summarise(records, settings, corpus, unfinished)
        # The summary lists files that are only parts of robots.
        records = [record for record in records if not record.part]
        shown, index = _report(summary, records, options, baseline, previous, folder.path)
    if interruption:
        t.say(f"{finished} of {expected} robots are finished; report in {options.out}")
        t.say("Run the same command with --resume to continue.")
        raise interruption
    first = None
    if isinstance(shown, Figures):
        t.print_view(terminal_summary(shown))
        wrong = (one.id for one in readable(shown.ordered) if not one.verdict.conforms)
        first = next(wrong, None)
    else:
        t.print_view(terminal_comparison(shown))
        click.echo(f"\nThe exit status is that of {gated}; --gate NAME selects another.")
    click.echo(f"\nReport: {index}")
    if first:
        click.echo(f"Open first: {index.with_name('robots') / f'{first}.html'}")
    return _decide(records_of(gated, records), options.gate, baseline)


def _report(
    summary: r.RunSummary,
    records: list[r.RobotRecord],
    options: Run,
    baseline: Baseline | None,
    previous: StoredRun | None,
    out: Path,
) -> tuple[Figures | Comparison, Path]:

    def compared(converter: str) -> r.BaselineRecord | None:
        own = records_of(converter, records)
        return _apply(own, options.gate, baseline).failures if baseline else None

    several = len(summary.converters) > 1
    gated = next(one.name for one in summary.converters if one.gated)
    converters = tuple(
        # One of several without entries is left out: all of its failures would be new.
        structs.replace(one, baseline=compared(one.name))
        if several and (one.gated or (baseline and baseline.about((one.name,))))
        else one
        for one in summary.converters
    )
    summary = structs.replace(summary, baseline=compared(gated), converters=converters)
    if previous and options.compare:
        changes = compare_runs(previous, StoredRun.of(summary, records))
        former = r.FormerRunRecord(name=options.compare.resolve().name, changes=changes)
        summary = structs.replace(summary, former=former)
    history: tuple[HistoryEntry, ...] = ()
    if options.history is not None:
        if summary.complete:
            seconds = conversion_times(records, out)
            append_entry(options.history, summary, options.label or "", seconds)
        history = read_history(options.history)
    return write_report(summary, records, out, history)


def _apply(
    records: Sequence[r.RobotRecord], gate: Gate, baseline: Baseline | None
) -> decision.GateResult:
    return decision.apply_gate(records, fail_on=gate.fail_on, strict=gate.strict, baseline=baseline)


def _decide(records: Sequence[r.RobotRecord], gate: Gate, baseline: Baseline | None) -> ExitCode:
    file = gate.baseline
    if gate.update_baseline and baseline is not None and file is not None:
        found = decision.failures(
            records, fail_on=gate.fail_on, strict=gate.strict, unreadable=True
        )
        former = {one.place for one in baseline.expectations}
        baseline = decision.updated_baseline(records, baseline, found)
        write_output(file, baseline.as_toml().encode())
        if added := {one.place for one in baseline.expectations} - former:
            noun = "new entry needs" if len(added) == 1 else "new entries need"
            t.say(f"{file}: {len(added)} {noun} a reason and an owner")
    result = _apply(records, gate, baseline)
    if baseline is not None or gate.fail_on is not decision.FailOn.FAILS:
        t.print_lines(_gate_lines(result.failures, file))
    if result.gate is decision.Gate.NOTHING_READ:
        t.say_error("no robot could be read, so nothing was compared")
    passes = result.gate is decision.Gate.PASSES
    return ExitCode.DONE if passes else ExitCode.DOES_NOT_CONFORM


def _gate_lines(found: r.BaselineRecord, file: Path | None) -> Iterator[Text]:
    counts = {word: getattr(found, word) for word in ("new", "worse", "expired", "expected")}
    counts["no longer failing"] = found.fixed
    stated = [f"{len(rows)} {word}" for word, rows in counts.items() if rows or word != "expired"]
    against = f" against {file}" if file else ""
    yield Text(f"\nGate{against}: {', '.join(stated)}", style="bold")
    wrong = [
        *((one, "not expected") for one in found.new),
        *((one, f"expected {one.expected}") for one in found.worse),
        *((one, "no longer expected: the entry has expired") for one in found.expired),
    ]
    for failure, what in wrong[:_SHOWN]:
        message = one_line(failure.message, _LONGEST)
        text = f" {failure.robot} {failure.check}: {failure.grade}, {what}: {message}"
        yield Text.assemble(("  ✗", "red"), text)
    if len(wrong) > _SHOWN:
        yield Text(f"  and {len(wrong) - _SHOWN} more")
    for one in found.fixed:
        text = f" {one.robot} {one.check}: passes now; --update-baseline removes it"
        yield Text.assemble(("  ✓", "green"), text)
    if found.absent:
        yield Text(f"  {found.absent} entries of robots that are not in this run")


def parse_converters(choices: Converters) -> tuple[tuple[c.Candidate, ...], str]:
    """Return the converters under test, and the name of that which decides the exit status."""
    try:
        candidates = c.parse_candidates(choices.texts, dict(choices.versions))
    except c.CandidateError as error:
        raise click.BadParameter(str(error), param_hint="--converter") from error
    names = [candidate.name for candidate in candidates]
    gated = choices.gated or (c.OURS if c.OURS in names else names[0])
    if gated not in names:
        text = f"{gated!r} is not a converter of this run; choose from {', '.join(names)}"
        raise click.BadParameter(text, param_hint="--gate")
    return candidates, gated


def _load_baseline(gate: Gate) -> Baseline | None:
    if gate.baseline is None or (gate.update_baseline and not gate.baseline.exists()):
        return Baseline() if gate.baseline else None
    baseline = read_baseline(gate.baseline)
    for warning in baseline.unexplained:
        t.say(warning)
    return baseline


def diff(options: Diff) -> ExitCode:
    folders = options.run_a, options.run_b
    run_a, run_b = map(read_run, folders)
    changes: list[r.ChangeRecord] = []
    for change in compare_runs(run_a, run_b):
        if change.kind is r.ChangeKind.FILES:
            name, runs = change.subject, zip(folders, (run_a, run_b), strict=True)
            changes += value_changes(name, *(_values(out, name, run) for out, run in runs))
        changes.append(change)
    worse = any(change.worse for change in changes)
    if options.output_format == "json":
        plain = [structs.asdict(change) for change in changes]
        click.echo(json.dumps({"schema_version": 1, "worse": worse, "changes": plain}, indent=1))
    else:
        t.print_lines(_change_lines(changes))
    return ExitCode.DOES_NOT_CONFORM if worse else ExitCode.DONE


def _values(out: Path, name: str, run: StoredRun) -> dict[str, str]:
    asset = run.records[name].asset
    with suppress(ConversionError, OSError):
        if asset:
            return call_on_usd(_VALUES, out / "assets" / name / asset.root_layer)
    return {}


def _change_lines(changes: Sequence[r.ChangeRecord]) -> Iterator[Text]:
    counts = Counter(change.kind for change in changes)
    counted = ", ".join(f"{counts[kind]} {kind}" for kind in r.ChangeKind if counts[kind])
    yield Text(counted or "nothing changed", style="bold" if counted else "")
    for change in changes:
        style = {"✗": "red", "✓": "green", "·": "dim"}[sign(change)]
        line = " ".join(filter(None, (f" {change.kind}: {change.subject}", change.check)))
        if change.before or change.after:
            line += f": {change.before or 'nothing'} → {change.after or 'nothing'}"
        if change.detail:
            line += f" ({one_line(change.detail, _LONGEST)})"
        yield Text.assemble((sign(change), style), line)


def reduce(options: Reduce) -> None:
    robot, out = existing_robot(options.source), options.out
    named = (options.converter,) if options.converter else ()
    (candidate,), _ = parse_converters(Converters(texts=named))
    if out.exists() and any(out.iterdir()):
        raise CommandError(f"{out} is not empty; name a new folder")
    trials = RunOptions(
        convert=with_stated_settings(options.conversion),
        converters=(candidate,),
        engines=options.engines,
        limits=options.limits,
        jobs=options.jobs or processors(),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with t.shown_status("Examining the robot ...") as status, scratch_folder(out.parent) as scratch:

        def show(size: str, tests: int) -> None:
            status.show(f"{tests} tests: {size}")

        folder = scratch / out.name
        folder.mkdir()
        reduced = reduce_robot(robot, folder, trials, options.check, show)
        words = ["urdf-usd", "run", reduced.urdf.name, "--out", "report"]
        if options.converter:
            words += ["--converter", c.portable_text(candidate)]
        words += command_words(options.conversion, _NOT_REPEATED)
        words += (word for name in options.engines for word in ("--engine", name))
        report = bug_report(reduced, robot.reference, words)
        (folder / _REPORT).write_text(report, encoding="utf-8")
        # Replaces an empty folder.
        folder.rename(out)
    t.say(f"{reduced.failure.title}: {reduced.failure.example}")
    t.say(f"{reduced.before} -> {reduced.after}, in {reduced.tests} tests")
    t.say(f"bug report: {out / _REPORT}")
    click.echo(out / reduced.urdf.name)
