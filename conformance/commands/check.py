"""``urdf-usd check``: any USD against its URDF."""

from __future__ import annotations

import shlex
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.conformance.assembly import summary_of
from urdf_usd.conformance.commands.console import stdout
from urdf_usd.conformance.commands.execution import memory_option, timeout_option
from urdf_usd.conformance.commands.failures import ExitCode
from urdf_usd.conformance.commands.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    base_option,
    package_option,
    witness_option,
    xacro_arguments,
)
from urdf_usd.conformance.limits import Limits
from urdf_usd.conformance.results import record_json, write_atomically
from urdf_usd.conformance.run import CheckOptions, check
from urdf_usd.converter.embodiment import BaseOption
from urdf_usd.corpus import resolve_robot
from urdf_usd.reports import render_robot, terminal_summary

if TYPE_CHECKING:
    from urdf_usd.conformance.record import RobotRecord

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(
    "check",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd check robot.urdf out/robot.usda",
        "urdf-usd check robot.urdf robot.usd --base fixed --html report.html",
        "urdf-usd check pybullet:r2d2.urdf r2d2.usda --witness mujoco --json r2d2.json",
    ),
)
@click.argument("urdf", metavar="URDF")
@click.argument("usd", metavar="USD", type=click.Path(path_type=Path, exists=True))
@witness_option
@base_option
@package_option
@argument_option
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Processes that work on it at the same time.  [default: one per CPU]",
)
@timeout_option
@memory_option
@click.option("--json", "json_file", type=_FILE, help="Write the whole record here.")
@click.option("--html", "html_file", type=_FILE, help="Write the robot's page here.")
def check_command(  # noqa: PLR0913  # one parameter per option
    *,
    urdf: str,
    usd: Path,
    witnesses: tuple[str, ...],
    base: str,
    packages: Packages,
    arguments: Arguments,
    jobs: int | None,
    timeout: float,
    memory: int,
    json_file: Path | None,
    html_file: Path | None,
) -> None:
    """Compare the robot in USD with URDF, quantity by quantity.

    URDF is a URDF or xacro file or a reference such as rd:panda_description; USD is
    the root layer of an asset from any converter.

    The USD is refused if one of its layers or assets is a pipe, a device or a socket,
    if its layers name more than 10000 asset paths, if they are more than 4 GiB, or if
    it cannot be composed within the limits of time and memory.
    """
    source = resolve_robot(urdf)
    # The last one of a name counts: what the user says.
    known = tuple((name, str(path)) for name, path in (*source.packages, *packages))
    options = CheckOptions(
        base=BaseOption(base),
        packages=known,
        arguments=xacro_arguments(source, arguments),
        witnesses=witnesses,
        limits=Limits(timeout, memory or None),
        jobs=jobs,
    )
    with tempfile.TemporaryDirectory(prefix="urdf-usd-") as work:
        drawn = Path(work, "scene.gz") if html_file else None
        record = check(
            source.path,
            usd,
            options,
            name=source.id,
            reference=source.reference,
            scene=drawn,
        )
        scene = drawn.read_bytes() if drawn and drawn.exists() else None
    if json_file:
        write_atomically(json_file, record_json(record))
    command = shlex.join(("urdf-usd", "check", urdf, str(usd), "--html", "robot.html"))
    if html_file:
        write_atomically(html_file, render_robot(record, scene, command).encode())
    summary = summary_of([record], [source.reference], {"base": base})
    stdout().print(terminal_summary(summary, [record]))
    click.echo(f"\n{_what_to_open(record, html_file)}")
    click.get_current_context().exit(_exit_code(record))


def _what_to_open(record: RobotRecord, html_file: Path | None) -> str:
    if html_file:
        return f"Page: {html_file}"
    if record.verdict.conforms:
        return "--html FILE writes all figures as a page."
    return "--html FILE writes a page that shows where the two part, in 3D."


def _exit_code(record: RobotRecord) -> ExitCode:
    if record.verdict.conforms:
        return ExitCode.DONE
    # Without a single check, a side could not be read at all.
    return ExitCode.DOES_NOT_CONFORM if record.checks else ExitCode.NOT_DONE
