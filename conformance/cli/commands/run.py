"""``urdf-usd run``: convert and check whole corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.conformance.cli.options.choices import (
    ConversionChoices,
    conversion_options,
)
from urdf_usd.conformance.cli.options.converting import Converters, converter_options
from urdf_usd.conformance.cli.options.execution import Execution, execution_options
from urdf_usd.conformance.cli.options.gate_choices import gate_options, require_baseline
from urdf_usd.conformance.cli.options.parameters import (
    HelpfulCommand,
    engine_option,
    require_engines,
)
from urdf_usd.conformance.cli.options.selection import mirror_option, selection_options
from urdf_usd.conformance.cli.output.failures import CommandError, held_interrupts
from urdf_usd.conformance.cli.output.status import shown_status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from urdf_usd.conformance.cli.output.status import StatusLine
    from urdf_usd.conformance.execution.run import RunOptions
    from urdf_usd.conformance.records.stored_run import StoredRun
    from urdf_usd.corpus import Resolved, Selection

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
    metavar="RUN",
    help="Folder of a former run; the report says what changed since. It may be OUT.",
)
@execution_options
@conversion_options
@engine_option
@selection_options
@mirror_option
@converter_options
@gate_options
def run_command(  # noqa: PLR0913  # one parameter per option
    *,
    corpus: tuple[str, ...],
    out: Path,
    former: Path | None,
    execution: Execution,
    choices: ConversionChoices,
    engines: tuple[str, ...],
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
    require_baseline(baseline_file, update=update_baseline)
    if execution.scheduler and not (execution.shared or converters.only_ours):
        raise click.UsageError("--scheduler needs --shared for other converters")
    require_engines(engines)
    with held_interrupts():
        from urdf_usd.conformance.cli.output.gating import GateOptions
        from urdf_usd.conformance.gate.decision import FailOn
        from urdf_usd.corpus import Selection

    gate = GateOptions(
        FailOn(fail_on), strict=strict, file=baseline_file, update=update_baseline
    )
    baseline = gate.baseline()
    stored = former and _stored_run(former)
    selection = Selection(tags, makers, licenses)
    texts = corpus or (DEFAULT_CORPUS,)
    with shown_status("Looking for robots ...") as status:
        named, sources = _robots(texts, selection, mirror, status)
        status.show("Loading engines ...")
        _load(execution)
        options = _run_options(execution, choices, engines, converters)
        _prepare(out, sources, options)
    from urdf_usd.conformance.cli.options.running import Former, Report, run_and_report

    compared = Former(former.resolve().name, stored) if former and stored else None
    report = Report(out, (*named, *selection.words), gate, baseline, compared)
    records = run_and_report(sources, options, report)
    click.get_current_context().exit(report.decide(records, options))


def _stored_run(folder: Path) -> StoredRun:
    """Read a former run, before its folder may be emptied for the next."""
    from urdf_usd.conformance.records.stored_run import StoredRunError, read_run

    try:
        return read_run(folder)
    except StoredRunError as error:
        raise CommandError(str(error)) from error


def _robots(
    texts: tuple[str, ...],
    selection: Selection,
    mirror: Path | None,
    status: StatusLine,
) -> tuple[tuple[str, ...], tuple[Resolved, ...]]:
    """Return the references as records have them, and the robots."""
    from urdf_usd.corpus import parse_reference, resolve_corpora

    named = tuple(parse_reference(text).portable for text in texts)
    return named, resolve_corpora(texts, status.say, selection=selection, mirror=mirror)


def _load(execution: Execution) -> None:
    """Load engines in a process of their own, and meanwhile what this one needs."""
    with held_interrupts():
        if execution.scheduler is None:
            from urdf_usd.conformance.execution.workers.context import start_loading

            start_loading()
        import urdf_usd.conformance.cli.options.running  # noqa: F401


def _prepare(out: Path, sources: Sequence[Resolved], options: RunOptions) -> None:
    """Have a folder and a cluster to run in."""
    from urdf_usd.conformance.cli.options.target import prepare_run_folder
    from urdf_usd.conformance.execution.run import places, require_scheduler

    if options.scheduler is not None:
        require_scheduler(options.scheduler)
    prepare_run_folder(out, places(sources, options) if options.resume else ())


def _run_options(
    execution: Execution,
    choices: ConversionChoices,
    engines: tuple[str, ...],
    converters: Converters,
) -> RunOptions:
    from urdf_usd.conformance.execution.run import RunOptions

    return RunOptions(
        convert=choices.options(),
        engines=engines,
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
