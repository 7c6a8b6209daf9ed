"""``urdf-usd schema``: what other programs may rely on in records."""

from __future__ import annotations

import click

from urdf_usd.conformance.cli.options.parameters import HelpfulCommand

RECORDS = ("robot", "summary")


@click.command(
    "schema",
    cls=HelpfulCommand,
    examples=("urdf-usd schema robot > robot.schema.json", "urdf-usd schema summary"),
)
@click.argument("record", type=click.Choice(RECORDS))
def schema_command(*, record: str) -> None:
    """Print the JSON Schema of a RECORD.

    robot is what a run writes to results/<id>.json and check --json writes; summary is
    a run's summary.json. Numbers that JSON cannot express are the words inf, -inf and
    nan.
    """
    from urdf_usd.conformance.records.schema import schema_text

    click.echo(schema_text(record), nl=False)
