"""Options that say what decides over a run as a whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from urdf_usd.conformance.cli.output.failures import CommandError

_Command = TypeVar("_Command", bound=Callable[..., Any])

# Values of an enumeration of the gate, which loads records.
FAIL_ON = ("close", "incomplete", "fails")


fail_on_option = click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="fails",
    show_default=True,
    help="Fail on every check that is not exact; on robots of which parts could not "
    "be compared; or only on what differs, is disputed or was not compared at all.",
)


def gate_options(command: _Command) -> _Command:
    """Add what decides over a run as a whole."""
    options = (
        fail_on_option,
        click.option(
            "--strict",
            is_flag=True,
            help="Fail also on robots that cannot be read or fetched.",
        ),
        click.option(
            "--baseline",
            "baseline_file",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Fail on what is worse than FILE expects, and on nothing else.",
        ),
        click.option(
            "--update-baseline",
            is_flag=True,
            help="Rewrite the baseline so that this run passes.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def require_baseline(file: Path | None, *, update: bool) -> None:
    """Refuse a baseline that is to be read and is not there.

    Raises:
        UsageError: The options do not belong together.
        CommandError: There is no such file.
    """
    if file is None:
        if update:
            raise click.UsageError("--update-baseline needs --baseline FILE")
    elif not update and not file.exists():
        raise CommandError(f"{file}: No such file or directory")
