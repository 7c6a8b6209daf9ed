"""``urdf-usd convert``: one robot to a USD asset."""

from __future__ import annotations

from pathlib import Path

import click

from conformance.commands.console import show_diagnostics
from conformance.commands.parameters import (
    Arguments,
    HelpfulCommand,
    Packages,
    argument_option,
    base_option,
    bodies_option,
    massless_option,
    materials_option,
    merge_option,
    package_option,
    xacro_arguments,
)
from converter import ConvertOptions, convert
from converter.embodiment import BaseOption, MasslessOption
from converter.usd.prims import BodyNesting
from converter.usd.shading import MaterialNetworks
from corpus import resolve_robot


@click.command(
    "convert",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd convert robot.urdf out",
        "urdf-usd convert pybullet:kuka_iiwa/model.urdf kuka --base fixed",
        "urdf-usd convert robot.urdf out --package my_robot=path/to/my_robot",
        "urdf-usd convert robot.urdf.xacro out --arg hand:=true",
        "usdview $(urdf-usd convert rd:panda_description panda)",
    ),
)
@click.argument("source")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@bodies_option
@base_option
@massless_option
@materials_option
@merge_option
@package_option
@argument_option
@click.option(
    "--root",
    metavar="LINK",
    help="Convert the tree below this link alone, as of a robot with several roots.",
)
@click.option("--strict", is_flag=True, help="Treat every warning as an error.")
def convert_command(  # noqa: PLR0913  # one parameter per option
    *,
    source: str,
    directory: Path,
    bodies: str,
    base: str,
    massless: str,
    materials: str,
    merge_fixed: bool,
    packages: Packages,
    arguments: Arguments,
    root: str | None,
    strict: bool,
) -> None:
    """Convert the robot SOURCE to a USD asset in DIR.

    SOURCE is a URDF or xacro file or a reference such as rd:panda_description. DIR
    receives <robot>.usda and payload/; a former conversion of the same robot is
    replaced. The path of the root layer is printed on stdout, diagnostics go to stderr.
    """
    robot = resolve_robot(source)
    # The last one of a name counts: what the user says.
    known = tuple((name, str(path)) for name, path in (*robot.packages, *packages))
    options = ConvertOptions(
        bodies=BodyNesting(bodies),
        base=BaseOption(base),
        massless=MasslessOption(massless),
        materials=MaterialNetworks(materials),
        merge_fixed=merge_fixed,
        packages=known,
        arguments=xacro_arguments(robot, arguments),
        strict=strict,
        root=root,
    )
    conversion = convert(robot.path, directory, options)
    show_diagnostics(conversion.diagnostics)
    click.echo(conversion.root_layer)
