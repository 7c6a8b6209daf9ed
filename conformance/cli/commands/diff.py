"""``urdf-usd diff``: what changed between two runs."""

from __future__ import annotations

import json
from pathlib import Path

import click

from urdf_usd.conformance.cli.options.parameters import HelpfulCommand
from urdf_usd.conformance.cli.output.console import long_stdout
from urdf_usd.conformance.cli.output.failures import (
    CommandError,
    ExitCode,
    held_interrupts,
)

SCHEMA_VERSION = 1
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
    with held_interrupts():
        from urdf_usd.conformance.cli.output.diff_text import change_lines
        from urdf_usd.conformance.records.changes import compare_runs
        from urdf_usd.conformance.records.stored_run import StoredRunError, read_run

    try:
        changes = compare_runs(read_run(run_a), read_run(run_b))
    except StoredRunError as error:
        raise CommandError(str(error)) from error
    worse = any(change.worse for change in changes)
    if output_format == "json":
        from msgspec import structs

        plain = [structs.asdict(change) for change in changes]
        document = {"schema_version": SCHEMA_VERSION, "worse": worse, "changes": plain}
        click.echo(json.dumps(document, indent=1))
    else:
        console = long_stdout()
        for line in change_lines(changes):
            console.print(line)
    code = ExitCode.DOES_NOT_CONFORM if worse else ExitCode.DONE
    click.get_current_context().exit(code)
