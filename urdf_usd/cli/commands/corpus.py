"""``urdf-usd corpus``: list the robots of corpora, show the details of one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from urdf_usd.cli.options.parameters import (
    HelpfulCommand,
    HelpfulGroup,
    existing_robot,
    mirror_option,
    selection_options,
)
from urdf_usd.cli.output.console import long_stdout, say, stdout
from urdf_usd.cli.output.failures import held_interrupts

if TYPE_CHECKING:
    from urdf_usd.cli.output.catalogue import Row


# xacro files are expanded in child processes, for which threads only wait.
_THREADS = 4
# Columns of the table that are left out, in this order, until it fits the terminal.
_LEAST_NEEDED = ("commit", "source", "cached", "tags", "maker", "license", "dof")
# Most characters in a line of the other columns, if the terminal is narrow.
_FOLDED = {"reference": 44, "note": 24}


@click.group("corpus", cls=HelpfulGroup)
def corpus_command() -> None:
    """List robots, and show where they come from."""


@corpus_command.command(
    "list",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd corpus list",
        "urdf-usd corpus list rd --tag quadruped --license BSD-3-Clause",
        "urdf-usd corpus list erd dir:my_robots --format tsv | cut -f 1,4",
    ),
)
@click.argument("corpus", nargs=-1)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["table", "tsv", "json"]),
    help="[default: table on a terminal, tsv in a pipe]",
)
@selection_options
@mirror_option
def list_command(
    *,
    corpus: tuple[str, ...],
    output_format: str | None,
    tags: tuple[str, ...],
    makers: tuple[str, ...],
    licenses: tuple[str, ...],
    mirror: Path | None,
) -> None:
    """List the robots of CORPUS; all corpora by default.

    Nothing is downloaded: robots that are not available locally are listed with the
    details in their catalogue.
    """
    from urdf_usd.corpus import (
        WHOLE_CORPORA,
        Selection,
        UnavailableSource,
        list_corpora,
    )

    robots = list_corpora(
        corpus or tuple(map(str, WHOLE_CORPORA)),
        say,
        selection=Selection(tags, makers, licenses),
        mirror=mirror,
    )
    with held_interrupts():
        from concurrent.futures import ThreadPoolExecutor

        from urdf_usd.cli.output.catalogue import robot_row

    with ThreadPoolExecutor(_THREADS) as threads:
        rows = tuple(threads.map(robot_row, robots))
    for robot in robots:
        # A source that is not installed has no robots to list.
        if isinstance(robot, UnavailableSource) and ":" not in robot.reference:
            say(f"{robot.reference}: {robot.reason}")
    terminal = stdout().is_terminal
    match output_format or ("table" if terminal else "tsv"):
        case "json":
            click.echo(json.dumps([row.as_plain() for row in rows], indent=1))
        case "tsv":
            _print_tsv(rows)
        case _:
            _print_table(rows)


def _print_tsv(rows: Sequence[Row]) -> None:
    from urdf_usd.cli.output.catalogue import COLUMNS, row_cells

    click.echo("\t".join(COLUMNS))
    for row in rows:
        click.echo("\t".join(row_cells(row)))


def _print_table(rows: Sequence[Row]) -> None:
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    from urdf_usd.cli.output.catalogue import COLUMNS, row_cells

    console = stdout()
    cells = [dict(zip(COLUMNS, row_cells(row, short=True), strict=True)) for row in rows]
    shown = [name for name in COLUMNS if any(row[name] for row in cells)]

    # Of a column with its gap; only references and notes take several lines.
    widths = {
        name: 3 + max(cell_len(text) for text in (name, *(row[name] for row in cells)))
        for name in shown
    }
    widths |= {name: min(widths.get(name, 0), most) for name, most in _FOLDED.items()}
    left_out = []
    for name in _LEAST_NEEDED:
        if sum(widths[one] for one in shown) <= console.width:
            break
        if name in shown:
            shown.remove(name)
            left_out.append(name)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in shown:
        table.add_column(name, no_wrap=name in _LEAST_NEEDED, overflow="fold")
    for row in cells:
        table.add_row(*(Text(row[name]) for name in shown))
    console.print(table)
    here = sum(row.cached for row in rows)
    click.echo(f"{len(rows)} robots, {here} of them available locally")
    if left_out:
        names = ", ".join(left_out)
        click.echo(f"without {names}; --format tsv has all")


@corpus_command.command(
    "show",
    cls=HelpfulCommand,
    examples=(
        "urdf-usd corpus show rd:panda_description",
        "urdf-usd corpus show erd:ur5 --format json",
    ),
)
@click.argument("reference", metavar="REF")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
)
@mirror_option
def show_command(*, reference: str, output_format: str, mirror: Path | None) -> None:
    """Show origin, packages, files and hashes of the robot REF.

    Nothing is downloaded: of a robot that is not available locally, the details in its
    catalogue are shown.
    """
    from urdf_usd.corpus import Download, candidate

    found = candidate(reference, mirror=mirror)
    if not isinstance(found, Download):
        found = existing_robot(reference, mirror=mirror)
    with held_interrupts():
        from urdf_usd.cli.output.catalogue import (
            description,
            description_lines,
            download_description,
        )

    if isinstance(found, Download):
        facts = download_description(found)
        say(f"{reference} is not downloaded; commands that read it download it")
    else:
        facts = description(found)
    if output_format == "json":
        click.echo(json.dumps(facts, indent=1))
        return
    console = long_stdout()
    for line in description_lines(facts):
        console.print(line, markup=False)
