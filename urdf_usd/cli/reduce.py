"""``urdf-usd reduce``: shrink a robot that fails to a minimal URDF."""

from __future__ import annotations

import click

from urdf_usd.cli.commands import Converters, Reduce
from urdf_usd.cli.convert import with_stated_settings
from urdf_usd.cli.failures import CommandError
from urdf_usd.cli.run import parse_converters
from urdf_usd.cli.sources import existing_robot
from urdf_usd.cli.terminal import say, shown_status
from urdf_usd.conformance.converters.candidates import portable_text
from urdf_usd.conformance.execution.worker import processors
from urdf_usd.conformance.reduction.bug_report import bug_report
from urdf_usd.conformance.reduction.documents import ReductionError
from urdf_usd.conformance.reduction.reduce import Progress, TrialOptions, reduce_robot
from urdf_usd.converter.options import command_words
from urdf_usd.converter.scratch import scratch_folder

_REPORT = "report.md"
# Options that do not concern the reduced robot.
_NOT_REPEATED = ("--package", "--arg", "--env")


def reduce(options: Reduce) -> None:
    robot, out = existing_robot(options.source), options.out
    named = (options.converter,) if options.converter else ()
    (candidate,), _ = parse_converters(Converters(texts=named))
    if out.exists() and any(out.iterdir()):
        raise CommandError(f"{out} is not empty; name a new folder")
    trials = TrialOptions(
        convert=with_stated_settings(options.conversion),
        candidate=candidate,
        engines=options.engines,
        limits=options.limits,
        jobs=options.jobs or processors(),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    with shown_status("Examining the robot ...") as status, scratch_folder(out.parent) as scratch:

        def show(progress: Progress) -> None:
            status.show(f"{progress.tests} tests: {progress.size}")

        folder = scratch / out.name
        folder.mkdir()
        try:
            reduced = reduce_robot(robot, folder, trials, options.check, show)
        except ReductionError as error:
            raise CommandError(str(error)) from error
        words = ["urdf-usd", "run", reduced.urdf.name, "--out", "report"]
        if options.converter:
            words += ["--converter", portable_text(candidate)]
        words += command_words(options.conversion, _NOT_REPEATED)
        words += (word for name in options.engines for word in ("--engine", name))
        report = bug_report(reduced, robot.reference, words)
        (folder / _REPORT).write_text(report, encoding="utf-8")
        # Replaces an empty folder.
        folder.rename(out)
    say(str(reduced.failure))
    say(f"{reduced.before} -> {reduced.after}, in {reduced.tests} tests")
    say(f"bug report: {out / _REPORT}")
    click.echo(out / reduced.urdf.name)
