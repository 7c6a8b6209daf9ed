"""``urdf-usd doctor``: show what is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from urdf_usd.cli.options.parameters import HelpfulCommand
from urdf_usd.cli.output.console import long_stdout
from urdf_usd.cli.output.failures import held_interrupts
from urdf_usd.cli.output.status import shown_status

if TYPE_CHECKING:
    from rich.console import Console


class _Row(Struct, frozen=True):
    """A package, engine or corpus, and whether it is available."""

    available: bool
    name: str
    detail: str


@click.command("doctor", cls=HelpfulCommand, examples=("urdf-usd doctor",))
def doctor_command() -> None:
    """Show versions and which engines and corpora are available.

    For those that are not, it shows how to install them.
    """
    with shown_status("Reading versions ..."):
        console = long_stdout()
        versions = tuple(_versions())
    _print_section(console, "Versions", versions)
    with shown_status("Loading engines ..."):
        engines = tuple(_engines())
    _print_section(console, "\nEngines", engines)
    with shown_status("Looking for robots ..."):
        corpora = tuple(_corpora())
    _print_section(console, "\nCorpora", corpora)


def _versions() -> Iterator[_Row]:
    from urdf_usd.reports.records.environment import environment

    for name, version in environment().items():
        yield _Row(True, name, version)


def _engines() -> Iterator[_Row]:
    with held_interrupts():
        from urdf_usd.conformance.execution.workers.context import start_loading

        start_loading()
        from urdf_usd.conformance.engines.protocol import Available, Crashed
        from urdf_usd.conformance.execution.engine_set import list_engines
        from urdf_usd.conformance.execution.workers.pool import WorkerPool

    # In a child process, which discards what engines print as they are imported.
    with WorkerPool() as pool:
        engines = list_engines(pool)
    for engine in engines:
        reads = f"reads {engine.side.upper()}" if engine.side else "crashes"
        match engine.availability:
            case Crashed(reason):
                yield _Row(False, engine.name, f"{reads}: {reason}")
            case Available(version):
                yield _Row(True, engine.name, f"{reads}, {version}")
            case absent:
                detail = f"{reads}: {absent.reason}; {absent.remedy}"
                yield _Row(False, engine.name, detail)


def _corpora() -> Iterator[_Row]:
    from urdf_usd.corpus import WHOLE_CORPORA, UnavailableError, robot_names

    for scheme in WHOLE_CORPORA:
        try:
            yield _Row(True, scheme, f"{len(robot_names(scheme))} robots")
        except UnavailableError as error:
            yield _Row(False, scheme, str(error))


def _print_section(console: Console, title: str, rows: Sequence[_Row]) -> None:
    from rich.text import Text

    width = max(len(row.name) for row in rows)
    console.print(Text(title, style="bold"))
    for row in rows:
        sign = ("✓", "green") if row.available else ("✗", "yellow")
        # Lines rather than a table, so that commands can be copied in one piece.
        console.print(Text.assemble("  ", sign, f"  {row.name:{width}}  {row.detail}"))
