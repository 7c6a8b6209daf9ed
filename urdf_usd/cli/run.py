"""``urdf-usd run``: convert and check the robots of corpora."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec import structs

from urdf_usd.cli.commands import Converters, Run
from urdf_usd.cli.convert import with_settings
from urdf_usd.cli.failures import CommandError, ExitCode
from urdf_usd.cli.files import require_outputs
from urdf_usd.cli.run_report import PreviousRun, Report, load_baseline, run_and_report
from urdf_usd.cli.terminal import say, shown_status
from urdf_usd.conformance.converters.candidates import (
    OURS,
    OWN,
    Candidate,
    CandidateError,
    parse_candidates,
)
from urdf_usd.conformance.execution.folder import RunFolderError, claim_run_folder
from urdf_usd.conformance.execution.run import (
    RevisionError,
    changed_robots,
    places,
    require_scheduler,
)
from urdf_usd.conformance.execution.worker import processors
from urdf_usd.corpus import parse_reference, resolve_corpora
from urdf_usd.corpus.formats import Format
from urdf_usd.reports.records.history import HistoryError, read_history
from urdf_usd.reports.records.results import StoredRunError, read_run

DEFAULT_CORPUS = "pybullet"


def run(options: Run) -> ExitCode:
    candidates, gated = parse_converters(options.converters)
    if options.settings.variants and candidates == (OWN,):
        raise click.UsageError("--variant needs --converter with another converter")
    baseline = load_baseline(options.gate)
    # Read before its folder may be emptied for this run.
    previous = _previous_run(options.compare) if options.compare else None
    _require_history(options)
    texts = options.corpus or (DEFAULT_CORPUS,)
    selected = options.selected
    settings = structs.replace(
        options.settings,
        convert=with_settings(options.settings.convert),
        converters=candidates,
        gated=gated,
    )
    with shown_status("Looking for robots ...") as status:
        named = tuple(parse_reference(text).portable for text in texts)
        sources = resolve_corpora(
            texts,
            status.say,
            selection=selected.selection,
            mirror=selected.mirror,
            mjcf=any(one.reads(Format.MJCF) for one in candidates),
        )
        if options.changed_since is not None:
            status.show("Looking for changed robots ...")
            try:
                sources = changed_robots(
                    sources,
                    options.changed_since,
                    settings.convert,
                    settings.limits,
                    settings.jobs or processors(),
                )
            except RevisionError as error:
                raise CommandError(str(error)) from error
            if not sources:
                say(f"no robot changed since {options.changed_since}")
                return ExitCode.DONE
        require_scheduler(settings)
    try:
        with claim_run_folder(
            options.out, places(sources, settings), resume=settings.resume, announce=say
        ) as folder:
            report = Report(
                folder=folder,
                corpus=(*named, *selected.selection.words),
                gate=options.gate,
                baseline=baseline,
                previous=previous,
                history=options.history,
                label=options.label or "",
            )
            records = run_and_report(sources, settings, report)
            return report.decide(records, settings)
    except RunFolderError as error:
        raise CommandError(str(error)) from error


def parse_converters(choices: Converters) -> tuple[tuple[Candidate, ...], str]:
    """Return the converters under test, and the name of that which decides the exit status.

    Raises:
        BadParameter: A value is malformed or names an unknown converter.
    """
    versions = {}
    for text in choices.versions:
        name, equals, version = text.partition("=")
        if not (name and equals and version):
            raise click.BadParameter(
                f"{text!r} is not NAME=VERSION", param_hint="--converter-version"
            )
        versions[name] = version
    try:
        candidates = parse_candidates(choices.texts, versions)
    except CandidateError as error:
        raise click.BadParameter(str(error), param_hint="--converter") from error
    names = [candidate.name for candidate in candidates]
    if choices.gated is None:
        return candidates, OURS if OURS in names else names[0]
    if choices.gated not in names:
        raise click.BadParameter(
            f"{choices.gated!r} is not a converter of this run; choose from {', '.join(names)}",
            param_hint="--gate",
        )
    return candidates, choices.gated


def _previous_run(folder: Path) -> PreviousRun:
    try:
        return PreviousRun(folder.resolve().name, read_run(folder))
    except StoredRunError as error:
        raise CommandError(str(error)) from error


def _require_history(options: Run) -> None:
    """Refuse a damaged history before the run."""
    require_outputs([(options.out, None), (options.history, None)])
    try:
        if options.history and options.history.exists():
            read_history(options.history)
    except HistoryError as error:
        raise CommandError(str(error)) from error
