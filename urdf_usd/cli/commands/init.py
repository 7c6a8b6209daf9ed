"""``urdf-usd init``: write a robot description file to be edited."""

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
    "init",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd init robot.urdf",
        "urdf-usd init erd:panda panda.toml",
        "urdf-usd convert erd:panda out --with panda.toml",
    ),
)
@click.argument("source")
@click.argument("file", required=False, type=click.Path(path_type=Path, dir_okay=False))
@package_option
@argument_option
@env_option
def init_command(
    *,
    source: str,
    file: Path | None,
    packages: Packages,
    arguments: Arguments,
    environment: tuple[str, ...],
) -> None:
    """Write a robot description file for the robot SOURCE to FILE.

    FILE, by default <robot>.toml in the working folder, has all settings as comments,
    and lists joints with their types and limits, joints that cannot be at zero or have
    no effort, and links whose colliders overlap at rest. Edit it and pass it to --with.
    An existing file is not overwritten. The path is printed on stdout.
    """
    robot = existing_robot(source)
    given = xacro_arguments(robot, arguments)
    with held_interrupts():
        from urdf_usd.converter.conversion import convert_parsed
        from urdf_usd.converter.options import ConvertOptions
        from urdf_usd.converter.scratch import temporary_folder
        from urdf_usd.converter.simulation.description import Description
        from urdf_usd.converter.simulation.template import (
            CONTACTS,
            description_template,
        )
        from urdf_usd.converter.urdf.parse import parse
        from urdf_usd.reports.records.results import write_new

    known = {name: str(path) for name, path in (*robot.packages, *packages)}
    parsed = parse(robot.path, packages=known, arguments=dict(given), environment=environment)
    target = file or Path(f"{robot.path.name.partition('.')[0]}.toml")
    if target.exists():
        raise CommandError(f"{target} exists and is not overwritten")
    with temporary_folder() as scratch:
        options = ConvertOptions(simulation=Description(str(target), "", "", CONTACTS))
        asset = convert_parsed(parsed, scratch / "asset", options)
    rules = {"collision-overlap", "collision-touch"}
    contacts = [one for one in asset.diagnostics if one.rule in rules]
    text = description_template(parsed.robot, asset.base, source, contacts)
    try:
        write_new(target, text.encode())
    except FileExistsError:
        raise CommandError(f"{target} exists and is not overwritten") from None
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}") from error
    show_diagnostics(parsed.diagnostics)
    click.echo(target)
