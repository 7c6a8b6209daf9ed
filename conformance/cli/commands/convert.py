"""``urdf-usd convert``: convert one robot to a USD asset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.conformance.cli.options.conversion import (
    ConversionChoices,
    conversion_options,
)
from urdf_usd.conformance.cli.options.parameters import (
    HelpfulCommand,
    existing_robot,
    xacro_arguments,
)
from urdf_usd.conformance.cli.output.console import say, show_diagnostics
from urdf_usd.conformance.cli.output.failures import (
    held_interrupts,
    warn_of_address_limit,
)

if TYPE_CHECKING:
    from urdf_usd.converter.conversion import Conversion
    from urdf_usd.converter.robot.bodies import BaseOption


_USD_SUFFIXES = frozenset({".usd", ".usda", ".usdc", ".usdz"})


@click.command(
    "convert",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd convert robot.urdf out",
        "urdf-usd convert pybullet:kuka_iiwa/model.urdf kuka --base fixed",
        "urdf-usd convert robot.urdf out --package my_robot=path/to/my_robot",
        "urdf-usd convert robot.urdf.xacro out --arg hand:=true",
        "urdf-usd convert robot.urdf out --with robot.toml",
        "urdf-usd convert robot.urdf out --layout usdz",
        "urdf-usd convert robot.urdf out --profile physx --scene",
        "urdf-usd convert robot.urdf out --profile simready --metadata author=me",
        "usdview $(urdf-usd convert rd:panda_description panda)",
    ),
)
@click.argument("source")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@conversion_options
@click.option(
    "--root",
    metavar="LINK",
    help="Convert only the tree below this link, for a robot with several roots.",
)
@click.option(
    "--scene",
    is_flag=True,
    help="Add a physics scene with gravity, to simulate the asset on its own.",
)
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
def convert_command(
    *,
    source: str,
    directory: Path,
    choices: ConversionChoices,
    root: str | None,
    scene: bool,
    strict: bool,
) -> None:
    """Convert the robot SOURCE to a USD asset in DIR.

    SOURCE is a URDF or xacro file or a reference such as rd:panda_description. DIR
    receives <robot>.usda and payload/, unless --layout says otherwise; a previous
    conversion in it is replaced. The path of the root layer is printed on stdout,
    diagnostics on stderr.
    """
    if directory.suffix.lower() in _USD_SUFFIXES:
        raise click.UsageError(
            f"{str(directory)!r} is named like a USD file, but DIR is the folder of "
            f"the asset; pass a folder such as {str(directory.with_suffix(''))!r}"
        )
    robot = existing_robot(source)
    # Refuses --arg for URDF files before the converter is imported.
    given = xacro_arguments(robot, choices.arguments)
    warn_of_address_limit()
    with held_interrupts():
        from urdf_usd.converter.conversion import convert

        chosen = choices.options()
    known = tuple((name, str(path)) for name, path in robot.packages)
    if choices.profile in {"simready", "isaac"}:
        stated = {"asset_license": robot.origin.license}
        if choices.profile == "simready":
            stated["author"] = robot.origin.maker
        metadata = tuple((name, text) for name, text in stated.items() if text)
        # The last entry of a name counts: the user's.
        chosen = replace(chosen, metadata=(*metadata, *chosen.metadata))
    options = replace(
        chosen,
        # The last entry of a name counts: the user's.
        packages=(*known, *chosen.packages),
        arguments=given,
        strict=strict,
        root=root,
        scene=scene,
    )
    conversion = convert(robot.path, directory, options)
    show_diagnostics(conversion.diagnostics)
    say(_summary(conversion, chosen.base))
    click.echo(conversion.root_layer)


def _summary(conversion: Conversion, requested: BaseOption) -> str:
    """Return one line on the robot, its base and the number of diagnostics."""
    from urdf_usd.converter.robot.bodies import Base, BaseOption
    from urdf_usd.converter.robot.text import robot_line

    line = robot_line(conversion.robot, conversion.diagnostics)
    summary = f"converted {line}; {conversion.base} base"
    if requested is BaseOption.AUTO and conversion.base is Base.FLOATING:
        summary += " (--base fixed attaches it to the world)"
    return summary
