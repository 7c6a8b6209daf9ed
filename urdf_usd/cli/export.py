"""``urdf-usd export``: write the robot in a USD as URDF."""

from __future__ import annotations

from functools import partial

import click

from urdf_usd.cli.commands import Export
from urdf_usd.cli.terminal import show_diagnostics
from urdf_usd.conformance.execution.usd_reading import call_on_usd
from urdf_usd.conformance.export.files import prepare_export, write_export


def export(options: Export) -> None:
    prepare = partial(
        prepare_export,
        root=options.root,
        loops=options.loops,
        variants=options.reading.variants,
        strict=options.reading.strict,
    )
    prepared = call_on_usd(prepare, options.usd, options.urdf, limits=options.limits)
    written = write_export(prepared, force=options.force)
    show_diagnostics(written.diagnostics)
    click.echo(written.urdf)
