"""``urdf-usd doctor``: what is installed, and JSON Schemas."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec
from rich.text import Text

from urdf_usd.cli.commands import Doctor
from urdf_usd.cli.main import main
from urdf_usd.cli.parameters import defaults_schema
from urdf_usd.cli.terminal import print_lines, shown_status
from urdf_usd.conformance.engines.protocol import Available, Crashed
from urdf_usd.conformance.execution.job import list_engines
from urdf_usd.conformance.execution.worker import Workers
from urdf_usd.converter.simulation.settings import schema as description_schema
from urdf_usd.corpus import WHOLE_CORPORA, UnavailableError, robot_names
from urdf_usd.reports.records.environment import environment
from urdf_usd.reports.records.schema import schema_text


def doctor(options: Doctor) -> None:
    if options.schema in ("description", "defaults"):
        described = options.schema == "description"
        document = description_schema() if described else defaults_schema(main.commands)
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return
    if options.schema:
        click.echo(schema_text(options.schema), nl=False)
        return
    versions = ((True, name, version) for name, version in environment().items())
    for title, status, rows in (
        ("Versions", "Reading versions ...", versions),
        ("\nEngines", "Loading engines ...", _engines()),
        ("\nCorpora", "Looking for robots ...", _corpora()),
    ):
        with shown_status(status):
            found = list(rows)
        width = max(len(name) for _, name, _ in found)
        lines = [Text(title, style="bold")]
        # Lines rather than a table, so that commands can be copied in one piece.
        for available, name, detail in found:
            mark = ("✓", "green") if available else ("✗", "yellow")
            lines.append(Text.assemble("  ", mark, f"  {name:{width}}  {detail}"))
        print_lines(lines)


def _engines() -> Iterator[tuple[bool, str, str]]:
    # In a child process, which discards what engines print as they are imported.
    with Workers() as workers:
        engines = list_engines(workers)
    for engine in engines:
        reads = f"reads {engine.side.upper()}" if engine.side else "crashes"
        match engine.availability:
            case Crashed(reason):
                yield False, engine.name, f"{reads}: {reason}"
            case Available(version):
                yield True, engine.name, f"{reads}, {version}"
            case absent:
                yield False, engine.name, f"{reads}: {absent.reason}; {absent.remedy}"


def _corpora() -> Iterator[tuple[bool, str, str]]:
    for scheme in WHOLE_CORPORA:
        try:
            yield True, scheme, f"{len(robot_names(scheme))} robots"
        except UnavailableError as error:
            yield False, scheme, str(error)
