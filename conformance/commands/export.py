"""``urdf-usd export``: the robot in a USD as URDF."""

from __future__ import annotations

from pathlib import Path

import click

from urdf_usd.conformance.commands.console import show_diagnostics
from urdf_usd.conformance.commands.parameters import HelpfulCommand
from urdf_usd.converter import export


@click.command(
    "export",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd export out/robot.usda robot.urdf",
        "urdf-usd export vendor/arm.usd arm/arm.urdf --force",
    ),
)
@click.argument("usd", metavar="USD", type=click.Path(path_type=Path))
@click.argument("urdf", metavar="URDF", type=click.Path(path_type=Path))
@click.option(
    "--force", is_flag=True, help="Replace files that no export of this URDF wrote."
)
def export_command(*, usd: Path, urdf: Path, force: bool) -> None:
    """Write the robot in USD as the file URDF.

    USD is the root layer of an asset from any converter: bodies nested or flat, in any
    units, Y or Z up. Meshes are written to meshes/ beside the URDF. The path of the
    URDF is printed on stdout, diagnostics go to stderr.
    """
    written = export(usd, urdf, force=force)
    show_diagnostics(written.diagnostics)
    click.echo(written.urdf)
