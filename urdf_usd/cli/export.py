"""``urdf-usd export``: write the robot in a USD as URDF."""

from __future__ import annotations

import click

from urdf_usd.cli.commands import Export
from urdf_usd.cli.terminal import show_diagnostics
from urdf_usd.conformance.execution.conversions.export_process import export_within


def export(options: Export) -> None:
    written = export_within(
        options.usd,
        options.urdf,
        options.limits.limits,
        force=options.force,
        root=options.root,
        loops=options.loops,
        variants=options.reading.variants,
        strict=options.reading.strict,
    )
    show_diagnostics(written.diagnostics)
    click.echo(written.urdf)
