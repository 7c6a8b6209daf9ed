"""``urdf-usd schema``: print the JSON Schema of records."""

from __future__ import annotations

import click

from urdf_usd.cli.options.parameters import HelpfulCommand

RECORDS = ("history", "robot", "summary", "case")
DESCRIPTION = "description"


@click.command(
    "schema",
    cls=HelpfulCommand,
    examples=("urdf-usd schema robot > robot.schema.json", "urdf-usd schema summary"),
)
@click.argument("record", type=click.Choice((*RECORDS, DESCRIPTION)))
def schema_command(*, record: str) -> None:
    """Print the JSON Schema of a RECORD, or of robot description files.

    robot: results/<id>.json of a run, and the file of check --json. summary:
    summary.json of a run. case: a case of the feature suite. Infinite values and NaN
    are the strings inf, -inf and nan. description: the TOML file of --with.
    """
    if record == DESCRIPTION:
        import msgspec

        from urdf_usd.converter.simulation.description import schema

        encoded = msgspec.json.encode(schema())
        click.echo(msgspec.json.format(encoded, indent=2).decode())
        return
    from urdf_usd.reports.records.schema import schema_text

    click.echo(schema_text(record), nl=False)
