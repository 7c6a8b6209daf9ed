"""``urdf-usd inspect``: show the parts of a robot."""

from __future__ import annotations

import click

from urdf_usd.conformance.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    env_option,
    existing_robot,
    package_option,
    xacro_arguments,
)
from urdf_usd.conformance.cli.output.console import long_stdout
from urdf_usd.conformance.cli.output.failures import held_interrupts

# Lines are wrapped on terminals only.
_UNWRAPPED = 10_000


@click.command(
    "inspect",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd inspect robot.urdf",
        "urdf-usd inspect pybullet:r2d2.urdf --format json",
        "urdf-usd inspect robot.urdf --format dot | dot -Tsvg > robot.svg",
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
def inspect_command(
    *,
    source: str,
    output_format: str,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
) -> None:
    """Show links, joints, shapes and totals of the robot SOURCE.

    SOURCE is a URDF or xacro file, or a reference such as rd:panda_description.
    urdf-usd lint reports likely mistakes in it.
    """
    robot = existing_robot(source)
    with held_interrupts():
        from urdf_usd.conformance.cli.output.inspect_graphs import (
            robot_dot,
            robot_mermaid,
        )
        from urdf_usd.conformance.cli.output.inspect_json import robot_json
        from urdf_usd.conformance.cli.output.inspect_text import tree_lines
        from urdf_usd.converter.inspection import inspect
        from urdf_usd.converter.urdf.parse import parse

    known = {name: str(path) for name, path in (*robot.packages, *packages)}
    given = dict(xacro_arguments(robot, arguments))
    parsed = parse(robot.path, packages=known, arguments=given, environment=environment)
    inspection = inspect(parsed.robot)
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
