"""``urdf-usd diff``: changes between two runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from msgspec import structs
from rich.text import Text

from urdf_usd.cli.commands import Diff
from urdf_usd.cli.failures import CommandError, ExitCode
from urdf_usd.cli.robot_views import robot_values
from urdf_usd.cli.terminal import print_lines
from urdf_usd.conformance.execution.usd_reading import call_on_usd
from urdf_usd.conformance.export.reading import inspect_usd
from urdf_usd.converter.diagnostics import ConversionError
from urdf_usd.reports.changes import GOOD, compare_runs, value_changes
from urdf_usd.reports.records.record import ChangeKind, ChangeRecord, RobotRecord
from urdf_usd.reports.records.results import StoredRunError, read_run
from urdf_usd.reports.text import one_line

SCHEMA_VERSION = 1
_LONGEST = 200


def diff(options: Diff) -> ExitCode:
    run_a, run_b = options.run_a, options.run_b
    try:
        runs = {folder: read_run(folder) for folder in (run_a, run_b)}
    except StoredRunError as error:
        raise CommandError(str(error)) from error
    changes = compare_runs(runs[run_a], runs[run_b])
    for index, change in reversed(list(enumerate(changes))):
        if change.kind is ChangeKind.FILES:
            name = change.subject
            values = [_values(out, name, run.records[name]) for out, run in runs.items()]
            changed = value_changes(name, *values)
            changes = (*changes[:index], *changed, *changes[index:])
    worse = any(change.worse for change in changes)
    if options.output_format == "json":
        plain = [structs.asdict(change) for change in changes]
        document = {"schema_version": SCHEMA_VERSION, "worse": worse, "changes": plain}
        click.echo(json.dumps(document, indent=1))
    else:
        print_lines(_lines(changes))
    return ExitCode.DOES_NOT_CONFORM if worse else ExitCode.DONE


def _values(out: Path, name: str, record: RobotRecord) -> dict[str, str]:
    """Read the values of a robot from its USD; none if there is no readable USD."""
    if record.asset is None:
        return {}
    usd = out / "assets" / name / record.asset.root_layer
    try:
        inspection, _ = call_on_usd(inspect_usd, usd)
    except (ConversionError, OSError):
        return {}
    return robot_values(inspection)


def _lines(changes: Sequence[ChangeRecord]) -> Iterator[Text]:
    """Yield the number of changes of each kind, then each change."""
    if not changes:
        yield Text("nothing changed")
        return
    counts = Counter(change.kind for change in changes)
    yield Text(
        ", ".join(f"{counts[kind]} {kind}" for kind in ChangeKind if counts[kind]),
        style="bold",
    )
    for change in changes:
        sign = ("✓", "green") if change.kind in GOOD else ("·", "dim")
        if change.worse:
            sign = ("✗", "red")
        line = f" {change.kind}: {change.subject}"
        if change.check:
            line += f" {change.check}"
        if change.before or change.after:
            line += f": {change.before or 'nothing'} → {change.after or 'nothing'}"
        if change.detail:
            line += f" ({one_line(change.detail, _LONGEST)})"
        yield Text.assemble(sign, line)
