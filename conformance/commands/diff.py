"""``urdf-usd diff``: what changed between two runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs
from rich.text import Text

from urdf_usd.conformance.change_record import GOOD, ChangeRecord, Kind
from urdf_usd.conformance.changes import compare_runs
from urdf_usd.conformance.commands.console import long_stdout
from urdf_usd.conformance.commands.failures import CommandError, ExitCode
from urdf_usd.conformance.commands.parameters import HelpfulCommand
from urdf_usd.conformance.stored_run import StoredRunError, read_run
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SCHEMA_VERSION = 1
_LONGEST = 200
_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


@click.command(
    "diff",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd diff report.before report",
        "urdf-usd diff report.before report --format json",
    ),
    exit_codes="Exit status: 0 nothing is worse; 1 something is; 2 cannot be read.",
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
    """Say what changed from the run in folder RUN_A to that in RUN_B.

    Robots that are new, gone, newly failing or fixed; grades that changed; figures that
    moved by more than float32 storage explains; other files, options and versions.
    Worse are robots that no longer conform or are no longer there, graver grades, and
    larger differences.
    """
    try:
        changes = compare_runs(read_run(run_a), read_run(run_b))
    except StoredRunError as error:
        raise CommandError(str(error)) from error
    worse = any(change.worse for change in changes)
    if output_format == "json":
        plain = [structs.asdict(change) for change in changes]
        document = {"schema_version": SCHEMA_VERSION, "worse": worse, "changes": plain}
        click.echo(json.dumps(document, indent=1))
    else:
        console = long_stdout()
        for line in _lines(changes):
            console.print(line)
    code = ExitCode.DOES_NOT_CONFORM if worse else ExitCode.DONE
    click.get_current_context().exit(code)


def _lines(changes: Sequence[ChangeRecord]) -> Iterator[Text]:
    if not changes:
        yield Text("nothing changed")
        return
    counts = Counter(change.kind for change in changes)
    yield Text(
        ", ".join(f"{counts[kind]} {kind}" for kind in Kind if counts[kind]),
        style="bold",
    )
    for change in changes:
        sign = ("✗", "red") if change.worse else _mild(change.kind)
        yield Text.assemble(sign, f" {_words(change)}")


def _mild(kind: Kind) -> tuple[str, str]:
    return ("✓", "green") if kind in GOOD else ("·", "dim")


def _words(change: ChangeRecord) -> str:
    place = f"{change.subject} {change.check}" if change.check else change.subject
    values = " → ".join(value or "nothing" for value in (change.before, change.after))
    step = f": {values}" if change.before or change.after else ""
    detail = f" ({one_line(change.detail, _LONGEST)})" if change.detail else ""
    return f"{change.kind}: {place}{step}{detail}"
