"""``urdf-usd inspect``: show the parts of a robot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.cli.options.execution import memory_option, timeout_option
from urdf_usd.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    env_option,
    existing_robot,
    package_option,
    usd_strict_option,
    usd_variant_option,
    xacro_arguments,
)
from urdf_usd.cli.output.console import long_stdout, show_diagnostics
from urdf_usd.cli.output.failures import (
    held_interrupts,
    warn_of_address_limit,
)
from urdf_usd.conformance.execution.workers.limits import Limits

if TYPE_CHECKING:
    from urdf_usd.converter.inspection import Inspection
    from urdf_usd.converter.options import VariantChoice
    from urdf_usd.corpus import RobotSource

_USD_SUFFIXES = frozenset({".usd", ".usda", ".usdc", ".usdz"})
# Lines are wrapped on terminals only.
_UNWRAPPED = 10_000


@click.command(
    "inspect",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd inspect robot.urdf",
        "urdf-usd inspect pybullet:r2d2.urdf --format json",
        "urdf-usd inspect robot.urdf --format dot | dot -Tsvg > robot.svg",
        "urdf-usd inspect robot.usda --variant Gripper=parallel",
    ),
)
@click.argument("source")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "dot", "mermaid"]),
    default="text",
    show_default=True,
    help="A tree with totals, all values, or a graph for Graphviz or Mermaid.",
)
@package_option
@argument_option
@env_option
@usd_variant_option
@usd_strict_option
@timeout_option
@memory_option
def inspect_command(
    *,
    source: str,
    output_format: str,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
    variants: tuple[VariantChoice, ...],
    strict: bool,
    timeout: float,
    memory: int,
) -> None:
    """Show links, joints, shapes and totals of the robot SOURCE.

    SOURCE is a URDF or xacro file, a reference such as rd:panda_description, or the
    root layer of a USD, whose meshes are named by their prims. urdf-usd lint reports
    likely mistakes in a URDF.

    --variant, --strict, --timeout and --memory are for USDs, which are read in a
    separate process. A USD is refused if one of its layers or assets is a pipe, a
    device or a socket, or if its layers name more than 10000 asset paths or are larger
    than 4 GiB in total.
    """
    robot = existing_robot(source)
    if robot.path.suffix.lower() in _USD_SUFFIXES:
        xacro_arguments(robot, arguments)
        inspection = _inspected_usd(
            robot.path, variants, Limits(timeout, memory or None), strict=strict
        )
    elif variants or strict:
        option = "--variant" if variants else "--strict"
        raise click.UsageError(f"{option} requires a USD, but SOURCE is {source}")
    else:
        inspection = _inspected_urdf(robot, packages, arguments, environment)
    _show(inspection, output_format)


def _inspected_usd(
    usd: Path,
    variants: tuple[VariantChoice, ...],
    limits: Limits,
    *,
    strict: bool,
) -> Inspection:
    warn_of_address_limit()
    with held_interrupts():
        from functools import partial

        from urdf_usd.conformance.execution.workers.context import (
            FOR_USDS,
            start_loading,
        )

        start_loading(FOR_USDS)
        from urdf_usd.conformance.execution.usd_limits import call_on_usd
        from urdf_usd.conformance.export.reading import inspect_usd

    read = partial(inspect_usd, variants=variants, strict=strict)
    inspection, diagnostics = call_on_usd(read, usd, limits=limits)
    show_diagnostics(diagnostics)
    return inspection


def _inspected_urdf(
    robot: RobotSource,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
) -> Inspection:
    with held_interrupts():
        from urdf_usd.converter.inspection import inspect
        from urdf_usd.converter.urdf.parse import parse

    known = {name: str(path) for name, path in (*robot.packages, *packages)}
    given = dict(xacro_arguments(robot, arguments))
    parsed = parse(robot.path, packages=known, arguments=given, environment=environment)
    return inspect(parsed.robot)


def _show(inspection: Inspection, output_format: str) -> None:
    with held_interrupts():
        from urdf_usd.cli.output.inspect_graphs import (
            robot_dot,
            robot_mermaid,
        )
        from urdf_usd.cli.output.inspect_json import robot_json
        from urdf_usd.cli.output.inspect_text import tree_lines

    match output_format:
        case "json":
            click.echo(robot_json(inspection))
        case "dot":
            click.echo(robot_dot(inspection))
        case "mermaid":
            click.echo(robot_mermaid(inspection))
        case _:
            console = long_stdout()
            width = console.width if console.is_terminal else _UNWRAPPED
            for line in tree_lines(inspection, console, width):
                console.print(line)
