"""``urdf-usd check``: compare a USD with its URDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.conformance.cli.options.execution import memory_option, timeout_option
from urdf_usd.conformance.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    base_option,
    engine_option,
    env_option,
    existing_robot,
    fail_on_option,
    package_option,
    require_engines,
    xacro_arguments,
)
from urdf_usd.conformance.cli.output.console import stdout
from urdf_usd.conformance.cli.output.failures import (
    ExitCode,
    held_interrupts,
    warn_of_address_limit,
)
from urdf_usd.conformance.cli.output.status import shown_status
from urdf_usd.conformance.execution.workers.limits import Limits

if TYPE_CHECKING:
    from urdf_usd.conformance.execution.run import CheckOptions
    from urdf_usd.conformance.records.record import RobotRecord
    from urdf_usd.corpus import RobotSource

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    "check",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd check robot.urdf out/robot.usda",
        "urdf-usd check robot.urdf robot.usd --base fixed --html report.html",
        "urdf-usd check pybullet:r2d2.urdf r2d2.usda --engine mujoco --json r2d2.json",
    ),
)
@click.argument("urdf", metavar="URDF")
@click.argument("usd", metavar="USD", type=click.Path(path_type=Path, exists=True))
@engine_option
@base_option
@package_option
@argument_option
@env_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of parallel processes.  [default: one per CPU]",
)
@timeout_option
@memory_option
@fail_on_option
@click.option("--json", "json_file", type=_FILE, help="Write the record here.")
@click.option("--html", "html_file", type=_FILE, help="Write the report page here.")
def check_command(
    *,
    urdf: str,
    usd: Path,
    engines: tuple[str, ...],
    base: str,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
    jobs: int | None,
    timeout: float,
    memory: int,
    fail_on: str,
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """Compare a USD with its URDF, quantity by quantity.

    URDF is a URDF or xacro file or a reference such as rd:panda_description; USD is
    the root layer of an asset from any converter.

    A USD is refused if one of its layers or assets is a pipe, a device or a socket, if
    its layers name more than 10000 asset paths or are larger than 4 GiB in total, or
    if composing it exceeds --timeout or --memory.
    """
    source = existing_robot(urdf)
    given = xacro_arguments(source, arguments)
    require_engines(engines)
    warn_of_address_limit()
    with shown_status("Loading engines ...") as status:
        with held_interrupts():
            from urdf_usd.conformance.execution.workers.context import start_loading

            # In another process, while this one imports what it needs itself.
            start_loading()
            from urdf_usd.conformance.execution.assembly import summary_of
            from urdf_usd.conformance.execution.run import CheckOptions
            from urdf_usd.conformance.gate.decision import FailOn, failures
            from urdf_usd.conformance.records.record import Verdict
            from urdf_usd.converter.robot.bodies import BaseOption
            from urdf_usd.reports.terminal import terminal_summary

        options = CheckOptions(
            base=BaseOption(base),
            # The last entry of a name counts: the user's.
            packages=tuple(
                (name, str(path)) for name, path in (*source.packages, *packages)
            ),
            arguments=given,
            environment=environment,
            engines=engines,
            limits=Limits(timeout, memory or None),
            jobs=jobs,
        )
        status.show("Comparing USD with URDF ...")
        record, scene = _compared(source, usd, options, drawn=html_file is not None)
    _write_files(record, scene, (urdf, str(usd)), json_file, html_file)

    summary = summary_of([record], [source.reference], {"base": base})
    stdout().print(terminal_summary(summary, [record]))
    hint = "a report with all values"
    if not record.verdict.agrees:
        hint = "a report that shows the differences in 3D"
    click.echo(
        f"\nPage: {html_file}" if html_file else f"\nUse --html FILE for {hint}."
    )
    code = ExitCode.DONE
    if failures((record,), fail_on=FailOn(fail_on), strict=True, unreadable=True):
        # Otherwise, the URDF or the USD could not be read.
        was_read = record.checks or record.verdict is Verdict.FAILS
        code = ExitCode.DOES_NOT_CONFORM if was_read else ExitCode.NOT_DONE
    click.get_current_context().exit(code)


def _compared(
    source: RobotSource, usd: Path, options: CheckOptions, *, drawn: bool
) -> tuple[RobotRecord, bytes | None]:
    """Compare; return the record and, if ``drawn``, the packed 3D scene."""
    from urdf_usd.conformance.execution.run import check
    from urdf_usd.converter.scratch import temporary_folder

    with temporary_folder() as work:
        scene = work / "scene.gz" if drawn else None
        record = check(
            source.path,
            usd,
            options,
            name=source.id,
            reference=source.reference,
            scene=scene,
        )
        return record, scene.read_bytes() if scene and scene.exists() else None


def _write_files(
    record: RobotRecord,
    scene: bytes | None,
    sources: tuple[str, str],
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    from urdf_usd.conformance.records.results import record_json, write_atomically

    if json_file:
        write_atomically(json_file, record_json(record))
    if html_file:
        import shlex

        from urdf_usd.reports.html.site import render_robot

        command = shlex.join(("urdf-usd", "check", *sources, "--html", "robot.html"))
        write_atomically(html_file, render_robot(record, scene, command).encode())
