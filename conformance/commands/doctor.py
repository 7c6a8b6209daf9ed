"""``urdf-usd doctor``: what is installed, and what would be possible with more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from conformance.commands.failures import CommandError
from conformance.commands.parameters import HelpfulCommand
from conformance.environment import environment
from conformance.isolation import Completed, Isolation
from conformance.tasks import installed_witnesses
from conformance.witness import Available
from corpus import WHOLE_CORPORA, UnavailableError, robot_names

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class _Row:
    """One thing that is here or not, and what to know about it."""

    here: bool
    name: str
    detail: str


@click.command("doctor", cls=HelpfulCommand, examples=("urdf-usd doctor",))
def doctor_command() -> None:
    """Show versions, and which witnesses and corpora are available here.

    What is not available comes with what to do about it.
    """
    console = Console(highlight=False, soft_wrap=True)
    versions = (_Row(True, *item) for item in environment().items())
    _print_section(console, "Versions", versions)
    _print_section(console, "\nWitnesses", _witnesses())
    _print_section(console, "\nCorpora", _corpora())


def _witnesses() -> Iterator[_Row]:
    # Engines print while they load; in a child process nobody sees it.
    with Isolation() as isolation:
        ending = isolation.call(installed_witnesses)
    if not isinstance(ending, Completed):
        raise CommandError(f"the witnesses cannot be listed: {ending.reason}")
    for witness in ending.value:
        reads = f"reads {witness.side.upper()}"
        match witness.availability:
            case Available(version):
                yield _Row(True, witness.name, f"{reads}, {version}")
            case absent:
                detail = f"{reads}: {absent.reason}; {absent.remedy}"
                yield _Row(False, witness.name, detail)


def _corpora() -> Iterator[_Row]:
    for scheme in WHOLE_CORPORA:
        try:
            yield _Row(True, scheme, f"{len(robot_names(scheme))} robots")
        except UnavailableError as error:
            yield _Row(False, scheme, str(error))


def _print_section(console: Console, title: str, rows: Iterator[_Row]) -> None:
    listed = tuple(rows)
    width = max(len(row.name) for row in listed)
    console.print(Text(title, style="bold"))
    for row in listed:
        sign = ("✓", "green") if row.here else ("✗", "yellow")
        # Lines rather than a table: a remedy can be copied in one piece.
        console.print(Text.assemble("  ", sign, f"  {row.name:{width}}  {row.detail}"))
