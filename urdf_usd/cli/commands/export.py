"""``urdf-usd export``: write the robot in a USD as URDF."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.cli.options.execution import memory_option, timeout_option
from urdf_usd.cli.options.parameters import (
    HelpfulCommand,
    usd_strict_option,
    usd_variant_option,
)
from urdf_usd.cli.output.console import show_diagnostics
from urdf_usd.cli.output.failures import (
    held_interrupts,
    warn_of_address_limit,
)
from urdf_usd.cli.output.status import shown_status
from urdf_usd.conformance.execution.workers.limits import Limits

if TYPE_CHECKING:
    from urdf_usd.converter.options import VariantChoice


@click.command(
    "export",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd export out/robot.usda robot.urdf",
        "urdf-usd export vendor/arm.usd arm/arm.urdf --force",
        "urdf-usd export scene.usd arm.urdf --root /World/arm",
        "urdf-usd export gripper.usd gripper.urdf --loops",
        "urdf-usd export arm.usd arm.urdf --variant Gripper=parallel --strict",
    ),
)
@click.argument("usd", metavar="USD", type=click.Path(path_type=Path, exists=True))
@click.argument("urdf", metavar="URDF", type=click.Path(path_type=Path))
@click.option(
    "--force",
    is_flag=True,
    help="Replace files that were not written by an export of this URDF.",
)
@click.option(
    "--root",
    metavar="PATH",
    help="Prim of the robot to export, of a stage with several: an articulation root, "
    "a body, or a prim above the bodies of one robot.",
)
@click.option(
    "--loops",
    is_flag=True,
    help="Keep joints that close loops, as <usd_loop> elements, as <equality> of "
    "MuJoCo, and in an MJCF file next to the URDF that closes the loops.",
)
@usd_variant_option
@usd_strict_option
@timeout_option
@memory_option
def export_command(
    *,
    usd: Path,
    urdf: Path,
    force: bool,
    root: str | None,
    loops: bool,
    variants: tuple[VariantChoice, ...],
    strict: bool,
    timeout: float,
    memory: int,
) -> None:
    """Write the robot in the file USD as the file URDF.

    USD is the root layer of an asset from any converter: nested or flat bodies, any
    units, Y or Z up. Meshes and textures are written to meshes/ next to the URDF. The
    path of the URDF is printed on stdout, diagnostics on stderr.

    A joint of several axes becomes a chain of joints with one axis each, which
    `urdf-usd convert` puts together again. Robots of a stage with several are listed,
    with exit code 2, unless --root names one; a body without joints is a robot of its
    own.

    The USD is read in a process with the limits --timeout and --memory. It is refused
    if one of its layers or assets is a pipe, a device or a socket, or if its layers
    name more than 10000 asset paths or are larger than 4 GiB in total.
    """
    warn_of_address_limit()
    with shown_status("Loading OpenUSD ..."), held_interrupts():
        from urdf_usd.conformance.execution.workers.context import (
            FOR_USDS,
            start_loading,
        )

        start_loading(FOR_USDS)
        from urdf_usd.conformance.execution.conversions.export_process import (
            export_within,
        )

    written = export_within(
        usd,
        urdf,
        Limits(timeout, memory or None),
        force=force,
        root=root,
        loops=loops,
        variants=variants,
        strict=strict,
    )
    show_diagnostics(written.diagnostics)
    click.echo(written.urdf)
