"""``urdf-usd convert``: convert a robot to a USD asset."""

from __future__ import annotations

import click
from msgspec import structs

from urdf_usd.cli.commands import Convert
from urdf_usd.cli.failures import ExitCode
from urdf_usd.cli.options import Conversion as ConversionChoices
from urdf_usd.cli.options import existing_robot
from urdf_usd.cli.parameters import is_given
from urdf_usd.cli.terminal import say, show_diagnostics, shown_meshes
from urdf_usd.converter.conversion import Conversion, with_description
from urdf_usd.converter.conversion import convert as convert_robot
from urdf_usd.converter.options import ColliderRules, ConvertOptions
from urdf_usd.converter.robot.model import Base, BaseOption, robot_line
from urdf_usd.converter.simulation.description import load_description
from urdf_usd.corpus import RobotSource, parse_reference


def convert_options(choices: ConversionChoices) -> ConvertOptions:
    """Return the options of the converter, with the settings of a robot description file."""
    robot, sources = choices.robot, choices.robot.sources
    options = ConvertOptions(
        profile=choices.profile,
        physics_variants=choices.physics_variants,
        layout=choices.layout,
        bodies=choices.bodies,
        base=robot.base,
        massless=choices.massless,
        inertia=robot.inertia,
        mass_density=robot.mass_density,
        colliders=ColliderRules(robot.colliders, robot.collider_tolerance),
        materials=choices.materials,
        merge_fixed=choices.merge_fixed,
        keep_chains=choices.keep_chains,
        packages=tuple((name, str(path)) for name, path in sources.packages),
        arguments=sources.arguments,
        environment=sources.environment,
        metadata=choices.metadata,
    )
    if robot.description is None:
        return options
    description = load_description(robot.description)
    stated = description.tables.profile
    if is_given("profile") and stated not in {None, choices.profile}:
        raise click.UsageError(
            f"--profile {choices.profile} contradicts {robot.description}, whose profile is "
            f"{stated!r}"
        )
    return with_description(options, description)


def convert(options: Convert) -> ExitCode:
    several = len(options.sources) > 1 or parse_reference(options.sources[0]).whole
    if several or is_given("timeout") or is_given("memory"):
        # Imports the harness, which a conversion in this process does not need.
        from urdf_usd.cli.convert_many import convert_limited, convert_several

        return convert_several(options) if several else convert_limited(options)
    robot = existing_robot(options.sources[0])
    arguments = options.conversion.robot.sources.arguments_of(robot)
    chosen = options_for(robot, convert_options(options.conversion), arguments, options)
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


def options_for(
    robot: RobotSource,
    chosen: ConvertOptions,
    arguments: tuple[tuple[str, str], ...],
    options: Convert,
) -> ConvertOptions:
    """Add what is known of a robot to the options of the command line."""
    known = {}
    if chosen.profile.value in {"simready", "isaac"}:
        known["asset_license"] = robot.origin.license
    if chosen.profile.value == "simready":
        known["author"] = robot.origin.maker
    return structs.replace(
        chosen,
        # The last entry of a name counts: the user's.
        metadata=(*((name, text) for name, text in known.items() if text), *chosen.metadata),
        packages=options.conversion.robot.sources.packages_of(robot),
        arguments=arguments,
        strict=options.strict,
        root=options.root,
        scene=options.scene,
    )
