"""``urdf-usd run``: convert and check the robots of corpora."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.cli.options.conversion import (
    ConversionChoices,
    conversion_options,
)
from urdf_usd.cli.options.execution import (
    ConverterChoices,
    Execution,
    GateOptions,
    HistoryChoices,
    converter_options,
    execution_options,
    gate_options,
    history_options,
)
from urdf_usd.cli.options.parameters import (
    HelpfulCommand,
    engine_option,
    mirror_option,
    require_engines,
    selection_options,
    variant_option,
)
from urdf_usd.cli.output.console import say
from urdf_usd.cli.output.failures import (
    CommandError,
    held_interrupts,
    warn_of_address_limit,
)
from urdf_usd.cli.output.status import shown_status

if TYPE_CHECKING:
    from urdf_usd.converter import ConvertOptions
    from urdf_usd.converter.options import VariantChoice
    from urdf_usd.corpus import Resolved
    from urdf_usd.reports.records.results import StoredRun

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
        "urdf-usd run erd --history runs --label v1.2 --out report",
        "urdf-usd run suite:joints --out report",
        "urdf-usd run dir:robots --changed-since origin/main --out report",
        "urdf-usd run --converter urdf-usd --converter 'x=x2usd {urdf} {out}' --out r",
        "urdf-usd run erd --converter x=folder:usds --variant Physics=physx --out r",
    ),
)
@click.argument("corpus", nargs=-1)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of the report: new, empty, or with a previous report, which is "
    "replaced, or with --resume updated. Other files in it are refused, and a folder "
    "that another run is using.",
)
@click.option(
    "--compare",
    "previous",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="RUN",
    help="Folder of a previous run; the report lists what changed. It may be OUT.",
)
@click.option(
    "--changed-since",
    metavar="REVISION",
    help="Only robots with a URDF, xacro, mesh or texture file that changed since "
    "REVISION of their git repository, such as origin/main; nothing is written if "
    "there are none.",
)
@history_options
@execution_options
@conversion_options
@engine_option
@selection_options
@mirror_option
@converter_options
@variant_option(
    "in USDs of other converters, including those of folder:PATH, that have this set; "
    "USDs of urdf-usd are compared as they are written. PRIM as for urdf-usd check."
)
@gate_options
def run_command(
    *,
    corpus: tuple[str, ...],
    out: Path,
    previous: Path | None,
    changed_since: str | None,
    history_choices: HistoryChoices,
    execution: Execution,
    choices: ConversionChoices,
    engines: tuple[str, ...],
    tags: tuple[str, ...],
    makers: tuple[str, ...],
    licenses: tuple[str, ...],
    mirror: Path | None,
    converter_choices: ConverterChoices,
    variants: tuple[VariantChoice, ...],
    gate: GateOptions,
) -> None:
    """Convert and check every robot of CORPUS, and write a report.

    CORPUS is a file, a reference such as rd:panda_description, or a whole corpus:
    pybullet (the default), rd, erd, dir:<folder>, list:<file.toml>, or suite: for the
    feature suite, whose cases are also compared with expected values. OUT receives
    index.html, a page and a JSON record per robot, summary.json, summary.md, junit.xml,
    findings.sarif, badge.svg and the assets.

    Files that are not URDF and robots that cannot be fetched are listed in the report;
    they fail the run with --strict only. With --baseline, files that are not URDF fail
    the run unless the baseline lists them.

    With several converters, each converts every robot, and index.html compares them.
    With cases of the feature suite, suite.html has the results of each, and scores; a
    case that does not pass fails the run.

    Each step on a robot has the limits --timeout and --memory. A USD of another
    converter is refused if one of its layers or assets is a pipe, a device or a socket,
    or if its layers name more than 10000 asset paths or are larger than 4 GiB in total.
    """
    converters = converter_choices.converters()
    if variants and converters.only_ours:
        raise click.UsageError("--variant needs --converter with another converter")
    if execution.scheduler and not (execution.shared or converters.only_ours):
        raise click.UsageError("--scheduler needs --shared for other converters")
    require_engines(engines)
    warn_of_address_limit()
    with held_interrupts():
        from urdf_usd.cli.output.gating import load_baseline
        from urdf_usd.corpus import Selection, parse_reference, resolve_corpora

    baseline = load_baseline(gate)
    # Read before its folder may be emptied for this run.
    stored = previous and _stored_run(previous)
    history_choices.require_valid(out)
    selection = Selection(tags, makers, licenses)
    texts = corpus or (DEFAULT_CORPUS,)
    with shown_status("Looking for robots ...") as status:
        named = tuple(parse_reference(text).portable for text in texts)
        sources = resolve_corpora(texts, status.say, selection=selection, mirror=mirror)
        status.show("Loading engines ...")
        with held_interrupts():
            # What a resumed run needs is not known yet.
            if execution.scheduler is None and not execution.resume:
                from urdf_usd.conformance.execution.workers.context import (
                    start_loading,
                )

                start_loading()
            from urdf_usd.conformance.execution.errors import RunFolderError
            from urdf_usd.conformance.execution.run import (
                RunOptions,
                places,
                require_scheduler,
                started_run,
            )
            from urdf_usd.conformance.execution.run_folder import claim_run_folder

        conversion = choices.options()
        if changed_since is not None:
            status.show("Looking for changed robots ...")
            sources = _changed(sources, changed_since, conversion, execution)
            if not sources:
                say(f"no robot changed since {changed_since}")
                return
            status.show("Loading engines ...")
        options = RunOptions(
            convert=conversion,
            engines=engines,
            limits=execution.limits,
            jobs=execution.jobs,
            resume=execution.resume,
            retry=execution.retry,
            scheduler=execution.scheduler,
            shared=execution.shared,
            timed=execution.timings,
            converters=converters.candidates,
            gated=converters.gated,
            variants=variants,
        )
        if options.scheduler is not None:
            require_scheduler(options.scheduler)
    try:
        # Robots of a resumed run are read while reports are imported.
        with started_run(sources, out, options) as started:
            with shown_status("Loading engines ..."), held_interrupts():
                from urdf_usd.cli.output.run_report import (
                    PreviousRun,
                    Report,
                    run_and_report,
                )

            claimed = claim_run_folder(
                out, places(sources, options), resume=options.resume, announce=say
            )
            with claimed as folder:
                compared = previous and stored and PreviousRun(previous.resolve().name, stored)
                report = Report(
                    folder=folder,
                    corpus=(*named, *selection.words),
                    gate=gate,
                    baseline=baseline,
                    previous=compared or None,
                    history=history_choices.options(),
                )
                records = run_and_report(sources, started, options, report)
                ending = report.decide(records, options)
    except RunFolderError as error:
        raise CommandError(str(error)) from error
    click.get_current_context().exit(ending)


def _changed(
    sources: tuple[Resolved, ...],
    revision: str,
    options: ConvertOptions,
    execution: Execution,
) -> tuple[Resolved, ...]:
    from urdf_usd.conformance.execution.changed import RevisionError, changed_robots
    from urdf_usd.conformance.execution.workers.limits import processors

    jobs = execution.jobs or processors()
    try:
        return changed_robots(sources, revision, options, execution.limits, jobs)
    except RevisionError as error:
        raise CommandError(str(error)) from error


def _stored_run(folder: Path) -> StoredRun:
    from urdf_usd.reports.records.results import StoredRunError, read_run

    try:
        return read_run(folder)
    except StoredRunError as error:
        raise CommandError(str(error)) from error
