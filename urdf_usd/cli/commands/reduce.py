"""``urdf-usd reduce``: shrink a robot that fails to a minimal URDF."""

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
    memory_option,
    timeout_option,
)
from urdf_usd.cli.options.given import given_options
from urdf_usd.cli.options.parameters import (
    HelpfulCommand,
    engine_option,
    existing_robot,
    require_engines,
)
from urdf_usd.cli.output.console import say
from urdf_usd.cli.output.failures import (
    CommandError,
    held_interrupts,
    warn_of_address_limit,
)
from urdf_usd.cli.output.status import shown_status
from urdf_usd.conformance.execution.workers.limits import Limits

if TYPE_CHECKING:
    from urdf_usd.conformance.reduction.reduce import Progress

_REPORT = "report.md"
# Parameters that do not concern the reduced robot.
_OWN_OPTIONS = frozenset(
    {
        *("source", "out", "check", "converter", "jobs", "timeout", "memory"),
        *("packages", "arguments", "environment"),
    }
)


@click.command(
    "reduce",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd reduce robot.urdf minimal --converter 'x=x2usd {urdf} {out}'",
        "urdf-usd reduce robot.urdf minimal --check mass.link.mass",
        "urdf-usd reduce erd:panda minimal --engine pybullet",
    ),
)
@click.argument("source")
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--check",
    metavar="ID",
    help="Check that has to fail, such as mass.link.mass.  [default: a conversion that "
    "fails, else the first check that fails, else an engine that crashes]",
)
@click.option(
    "--converter",
    metavar="NAME[=HOW]",
    help="Converter to test, as for urdf-usd run.  [default: urdf-usd]",
)
@conversion_options
@engine_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of URDFs that are examined in parallel; the result does not depend on "
    "it.  [default: one per CPU]",
)
@timeout_option
@memory_option
def reduce_command(
    *,
    source: str,
    out: Path,
    check: str | None,
    converter: str | None,
    choices: ConversionChoices,
    engines: tuple[str, ...],
    jobs: int | None,
    timeout: float,
    memory: int,
) -> None:
    """Shrink SOURCE to a minimal URDF that fails in the same way.

    SOURCE is a robot of which a check fails, or which a converter refuses, or which
    crashes a converter or an engine. Links, joints, shapes, other elements, attributes
    and digits are removed as long as the failure remains, and names are shortened. OUT,
    a new or empty folder, receives the URDF, the meshes and textures that are left, and
    report.md, the text of a bug report with the command that shows the failure.

    A robot of 20 links takes a few hundred conversions.
    """
    robot = existing_robot(source)
    candidates = ConverterChoices((converter,) if converter else (), (), None)
    candidate = candidates.converters().candidates[0]
    require_engines(engines)
    if out.exists() and any(out.iterdir()):
        raise CommandError(f"{out} is not empty; name a new folder")
    warn_of_address_limit()
    with shown_status("Loading engines ...") as status:
        with held_interrupts():
            from urdf_usd.conformance.execution.workers.context import start_loading

            start_loading()
            from urdf_usd.conformance.converters.candidates import portable_text
            from urdf_usd.conformance.execution.workers.limits import processors
            from urdf_usd.conformance.reduction.bug_report import bug_report
            from urdf_usd.conformance.reduction.documents import ReductionError
            from urdf_usd.conformance.reduction.reduce import reduce_robot
            from urdf_usd.conformance.reduction.trials import TrialOptions
            from urdf_usd.converter.scratch import scratch_folder

        options = TrialOptions(
            convert=choices.options(),
            candidate=candidate,
            engines=engines,
            limits=Limits(timeout, memory or None),
            jobs=jobs or processors(),
        )

        def show(progress: Progress) -> None:
            status.show(f"{progress.tests} tests: {progress.size}")

        status.show("Examining the robot ...")
        out.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(out.parent) as scratch:
            folder = scratch / out.name
            folder.mkdir()
            try:
                done = reduce_robot(robot, folder, options, check, show)
            except ReductionError as error:
                raise CommandError(str(error)) from error
            words = ["urdf-usd", "run", done.urdf.name, "--out", "report"]
            if converter:
                words += ["--converter", portable_text(candidate)]
            words += given_options(_OWN_OPTIONS)
            report = bug_report(done, robot.reference, words)
            (folder / _REPORT).write_text(report, encoding="utf-8")
            # Replaces an empty folder.
            folder.rename(out)
    say(str(done.failure))
    say(f"{done.before} -> {done.after}, in {done.tests} tests")
    say(f"bug report: {out / _REPORT}")
    click.echo(out / done.urdf.name)
