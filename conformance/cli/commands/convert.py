"""``urdf-usd convert``: one robot to a USD asset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from urdf_usd.conformance.cli.options.choices import (
    ConversionChoices,
    conversion_options,
)
from urdf_usd.conformance.cli.options.parameters import HelpfulCommand, xacro_arguments
from urdf_usd.conformance.cli.options.sources import existing_robot
from urdf_usd.conformance.cli.output.console import show_diagnostics
from urdf_usd.conformance.cli.output.failures import held_interrupts


@click.command(
    "convert",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd convert robot.urdf out",
        "urdf-usd convert pybullet:kuka_iiwa/model.urdf kuka --base fixed",
        "urdf-usd convert robot.urdf out --package my_robot=path/to/my_robot",
        "urdf-usd convert robot.urdf.xacro out --arg hand:=true",
        "urdf-usd convert robot.urdf out --layout usdz",
        "urdf-usd convert robot.urdf out --profile physx --scene",
        "usdview $(urdf-usd convert rd:panda_description panda)",
    ),
)
@click.argument("source")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@conversion_options
@click.option(
    "--root",
    metavar="LINK",
    help="Convert the tree below this link alone, as of a robot with several roots.",
)
@click.option(
    "--scene",
    is_flag=True,
    help="Add a physics scene with gravity, to simulate the asset on its own.",
)
@click.option("--strict", is_flag=True, help="Treat every warning as an error.")
def convert_command(  # noqa: PLR0913  # one parameter per option
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
    receives <robot>.usda and payload/, or what --layout says; a former conversion in
    it is replaced. The path of the root layer is printed on stdout, diagnostics go to
    stderr.
    """
    robot = existing_robot(source)
    # What is said of --arg needs no converter.
    given = xacro_arguments(robot, choices.arguments)
    with held_interrupts():
        from urdf_usd.converter.conversion import convert

        chosen = choices.options()
    known = tuple((name, str(path)) for name, path in robot.packages)
    options = replace(
        chosen,
        # The last one of a name counts: what the user says.
        packages=(*known, *chosen.packages),
        arguments=given,
        strict=strict,
        root=root,
        scene=scene,
    )
    conversion = convert(robot.path, directory, options)
    show_diagnostics(conversion.diagnostics)
    click.echo(conversion.root_layer)
