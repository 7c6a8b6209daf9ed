"""``urdf-usd expand``: print the URDF that a xacro file expands to."""

from __future__ import annotations

from pathlib import Path

import click

from urdf_usd.cli.options.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    env_option,
    existing_robot,
    package_option,
    xacro_arguments,
)
from urdf_usd.cli.output.console import show_diagnostics
from urdf_usd.cli.output.failures import CommandError, held_interrupts


@click.command(
    "expand",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd expand robot.urdf.xacro --arg hand:=true > robot.urdf",
        "urdf-usd expand rd:ur5e_description",
    ),
)
@click.argument("source")
@package_option
@argument_option
@env_option
def expand_command(
    *,
    source: str,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
) -> None:
    """Print the URDF that the xacro file SOURCE expands to.

    All commands accept xacro files; this one prints the expansion that they use.
    """
    robot = existing_robot(source)
    with held_interrupts():
        from urdf_usd.converter.urdf.xacro.expansion import SUFFIX, expand, is_xacro

    file = str(robot.path)
    if not is_xacro(file):
        raise CommandError(f"{Path(file).name} is not a {SUFFIX} file")
    known = {name: str(path) for name, path in (*robot.packages, *packages)}
    given = dict(xacro_arguments(robot, arguments))
    expansion = expand(file, known, given, environment=environment)
    show_diagnostics(expansion.diagnostics)
    click.echo('<?xml version="1.0" encoding="utf-8"?>')
    click.echo(expansion.text)
