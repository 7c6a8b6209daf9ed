"""``urdf-usd init``: write a simulation settings file to be edited."""

from __future__ import annotations

from pathlib import Path

import click

from urdf_usd.cli.commands import Init
from urdf_usd.cli.failures import CommandError
from urdf_usd.cli.options import existing_robot, of_robot, parse_robot
from urdf_usd.cli.terminal import show_diagnostics
from urdf_usd.converter.conversion import convert_parsed
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.converter.simulation.settings import SettingsFile
from urdf_usd.converter.simulation.template import CONTACTS, description_template
from urdf_usd.reports.records.results import write_new


def init(options: Init) -> None:
    robot = existing_robot(options.source)
    parsed = parse_robot(robot, of_robot(options.sources, robot))
    target = options.file or Path(f"{robot.path.name.partition('.')[0]}.toml")
    if target.exists():
        raise CommandError(f"{target} exists and is not overwritten")
    with temporary_folder() as scratch:
        settings = ConvertOptions(simulation=SettingsFile(str(target), "", "", CONTACTS))
        asset = convert_parsed(parsed, scratch / "asset", settings)
    rules = {"collision-overlap", "collision-touch"}
    contacts = [one for one in asset.diagnostics if one.rule in rules]
    text = description_template(parsed.robot, asset.base, options.source, contacts)
    try:
        write_new(target, text.encode())
    except FileExistsError:
        raise CommandError(f"{target} exists and is not overwritten") from None
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror}") from error
    show_diagnostics(parsed.diagnostics)
    click.echo(target)
