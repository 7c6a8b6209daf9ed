"""``urdf-usd convert``: convert a robot to a USD asset."""

from __future__ import annotations

import click
from msgspec import structs

from urdf_usd.cli.commands import Convert
from urdf_usd.cli.failures import ExitCode
from urdf_usd.cli.options import existing_robot, of_robot
from urdf_usd.cli.parameters import is_given
from urdf_usd.cli.terminal import say, show_diagnostics, shown_meshes
from urdf_usd.converter.conversion import Conversion, with_settings
from urdf_usd.converter.conversion import convert as convert_robot
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.robot.model import Base, BaseOption, robot_line
from urdf_usd.corpus import RobotSource, parse_reference


def with_stated_settings(options: ConvertOptions) -> ConvertOptions:
    """Add base, profile and colliders of the simulation settings file, if there is one."""
    settings = options.simulation
    if settings is None:
        return options
    stated = settings.tables.profile
    if is_given("--profile") and stated not in {None, options.profile}:
        raise click.UsageError(
            f"--profile {options.profile} contradicts {settings.file}, whose profile is {stated!r}"
        )
    return with_settings(options, settings)


def convert(options: Convert) -> ExitCode:
    several = len(options.sources) > 1 or parse_reference(options.sources[0]).whole
    if several or is_given("--timeout") or is_given("--memory"):
        # Imports the harness, which a conversion in this process does not need.
        from urdf_usd.cli.convert_many import convert_limited, convert_several

        return convert_several(options) if several else convert_limited(options)
    robot = existing_robot(options.sources[0])
    chosen = options_for(robot, with_stated_settings(of_robot(options.conversion, robot)), options)
    with shown_meshes() as progress:
        conversion = convert_robot(robot.path, options.directory, chosen, progress=progress)
    show_conversion(conversion, chosen.base)
    return ExitCode.DONE


def show_conversion(conversion: Conversion, requested: BaseOption, prefix: str = "") -> None:
    """Print diagnostics, one line on the robot and its base, and the path of the asset."""
    show_diagnostics(conversion.diagnostics)
    line = robot_line(conversion.robot, conversion.diagnostics)
    summary = f"{prefix}converted {line}; {conversion.base} base"
    if requested is BaseOption.AUTO and conversion.base is Base.FLOATING:
        summary += " (--base fixed attaches it to the world)"
    say(summary)
    click.echo(conversion.root_layer)


def options_for(robot: RobotSource, chosen: ConvertOptions, options: Convert) -> ConvertOptions:
    """Add metadata that is known of a robot, and the options of this command alone."""
    known = {}
    if chosen.profile.value in {"simready", "isaac"}:
        known["asset_license"] = robot.origin.license
    if chosen.profile.value == "simready":
        known["author"] = robot.origin.maker
    return structs.replace(
        chosen,
        # The last entry of a name counts: the user's.
        metadata=(*((name, text) for name, text in known.items() if text), *chosen.metadata),
        strict=options.strict,
        root=options.root,
        scene=options.scene,
    )
