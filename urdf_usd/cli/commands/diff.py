"""``urdf-usd diff``: changes between two runs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.cli.options.parameters import HelpfulCommand
from urdf_usd.cli.output.console import long_stdout
from urdf_usd.cli.output.failures import (
    CommandError,
    ExitCode,
    held_interrupts,
)

if TYPE_CHECKING:
    from rich.text import Text

    from urdf_usd.reports.records.record import ChangeRecord, RobotRecord


SCHEMA_VERSION = 1
_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)
_LONGEST = 200


@click.command(
    "diff",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd diff report.before report",
        "urdf-usd diff report.before report --format json",
    ),
    exit_codes="Exit status: 0 nothing is worse; 1 something is worse; 2 a run cannot be read.",
)
@click.argument("run_a", type=_FOLDER)
@click.argument("run_b", type=_FOLDER)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
)
def diff_command(*, run_a: Path, run_b: Path, output_format: str) -> None:
    """Show what changed from the run in folder RUN_A to that in RUN_B.

    Lists robots that were added or removed, new and fixed failures, changed grades,
    differences that changed by more than float32 rounding, and changed files, options
    and versions. Of robots with changed files, it lists the values that differ between
    their USDs, such as masses and limits. Worse is a robot that no longer conforms or
    was removed, a worse grade, or a larger difference.
    """
    with held_interrupts():
        from urdf_usd.reports.changes import compare_runs, value_changes
        from urdf_usd.reports.records.record import ChangeKind
        from urdf_usd.reports.records.results import StoredRunError, read_run

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
    if output_format == "json":
        from msgspec import structs

        plain = [structs.asdict(change) for change in changes]
        document = {"schema_version": SCHEMA_VERSION, "worse": worse, "changes": plain}
        click.echo(json.dumps(document, indent=1))
    else:
        console = long_stdout()
        for line in _lines(changes):
            console.print(line)
    code = ExitCode.DOES_NOT_CONFORM if worse else ExitCode.DONE
    click.get_current_context().exit(code)


def _values(out: Path, name: str, record: RobotRecord) -> dict[str, str]:
    """Read the values of a robot from its USD; none if there is no readable USD."""
    from urdf_usd.cli.output.inspect_json import robot_values
    from urdf_usd.conformance.execution.usd_limits import call_on_usd
    from urdf_usd.conformance.export.reading import inspect_usd
    from urdf_usd.converter.diagnostics import ConversionError

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
    from rich.text import Text

    from urdf_usd.reports.changes import GOOD
    from urdf_usd.reports.records.record import ChangeKind
    from urdf_usd.reports.text import one_line

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
