"""``urdf-usd doctor --sensitivity``: seed faults and report which are caught."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from urdf_usd.cli.failures import CommandError
from urdf_usd.cli.files import write_output
from urdf_usd.cli.terminal import say
from urdf_usd.conformance.mutation.sensitivity import (
    KindResult,
    SchemaResult,
    Sensitivity,
    TrialError,
    measure,
)

SCHEMA_VERSION = 1
# Width without a terminal: enough for all columns.
_PIPE = 132
_CHECKS = 2


def run_sensitivity(*, full: bool, simulators: bool, jobs: int, json_file: Path | None) -> bool:
    """Seed faults, print the result, and return whether all were caught.

    Args:
        full: Whether to seed at every place of every robot.
        simulators: Whether the installed simulators read USDs with faults as well.
        jobs: Number of child processes.
        json_file: Receives the result as JSON.

    Raises:
        CommandError: A robot cannot be compared.
    """
    try:
        found = measure(
            full=full,
            simulators=simulators,
            jobs=jobs,
            progress=lambda robot: say(f"  {robot}"),
        )
    except TrialError as error:
        raise CommandError(str(error)) from error
    if json_file:
        write_output(json_file, as_json(found).encode())
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_PIPE)
    console.print(rendered(found))
    return found.passed


def as_json(found: Sensitivity) -> str:
    """Return the result as JSON; equal results give equal bytes."""
    document = {"schema_version": SCHEMA_VERSION, "passed": found.passed}
    return json.dumps(document | msgspec.to_builtins(found), indent=1) + "\n"


def rendered(found: Sensitivity) -> Group:
    """Return a table of all kinds of fault, and a summary."""
    table = _table("fault", "caught", "robots", "equivalent")
    table.add_column("smallest caught", justify="right")
    simulated = any(kind.simulators for kind in found.kinds)
    if simulated:
        table.add_column("simulators")
    for kind in found.kinds:
        engines = (_simulators(kind),) if simulated else ()
        table.add_row(
            Text.assemble(_sign(passed=kind.passed), f" {kind.title}"),
            f"{kind.caught}/{kind.seeded}",
            f"{kind.robots}",
            f"{kind.equivalent or ''}",
            _checks(kind),
            _smallest(kind),
            *engines,
        )
    schemas = (_schema_table(found.schemas),) if found.schemas else ()
    return Group(table, *schemas, *_failures(found), *_totals(found))


def _table(subject: str, *counts: str) -> Table:
    """Return an empty table with columns of counts and of checks."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(subject)
    for heading in counts:
        table.add_column(heading, justify="right")
    table.add_column("by", overflow="fold")
    return table


def _schema_table(schemas: Sequence[SchemaResult]) -> Table:
    table = _table("wrong values of schema", "caught", "harmless", "missed")
    table.add_column("harmless because", overflow="fold")
    for one in schemas:
        table.add_row(
            Text.assemble(_sign(passed=not one.missed), f" {one.schema}"),
            f"{one.caught}/{one.seeded}",
            f"{sum(count for _, count in one.harmless) or ''}",
            f"{len(one.missed) or ''}",
            _checks(one),
            "; ".join(f"{reason} ({count})" for reason, count in one.harmless),
        )
    return table


def _sign(*, passed: bool) -> tuple[str, str]:
    return ("✓", "green") if passed else ("✗", "bold red")


def _checks(kind: KindResult | SchemaResult) -> str:
    names = [check for check, _ in kind.checks]
    more = len(names) - _CHECKS
    return ", ".join(names[:_CHECKS]) + (f" +{more}" if more > 0 else "")


def _simulators(kind: KindResult) -> str:
    """Name the simulators that show a fault, and those that do not in brackets."""
    return ", ".join(engine if differs else f"({engine})" for engine, differs in kind.simulators)


def _smallest(kind: KindResult) -> str:
    if kind.smallest is None or kind.unit is None:
        return ""
    least, most = (f"{size:.2g}" for size in kind.smallest)
    sizes = least if least == most else f"{least} to {most}"
    return f"{sizes} {kind.unit}" if kind.unit != "1" else f"{sizes} relative"


def _failures(found: Sensitivity) -> list[Text]:
    lines = [
        f"{robot}: false alarm without a fault: {', '.join(checks)}"
        for robot, checks in found.raised
    ]
    for kind in found.kinds:
        if not kind.seeded:
            lines.append(f"{kind.title}: no place to seed it")
        elif kind.missed:
            robot, subject = kind.missed[0]
            more = len(kind.missed) - 1
            others = f" and {more} more" if more else ""
            lines.append(f"{kind.title}: missed on {robot}, {subject}{others}")
        elif not kind.passed:
            lines.append(f"{kind.title}: smallest caught size is {_smallest(kind)}")
    lines += (
        f"{one.schema}: {edit}: missed on {robot}, {path}"
        for one in found.schemas
        for robot, path, edit in one.missed
    )
    return [Text.assemble(_sign(passed=False), f" {line}") for line in lines]


def _totals(found: Sensitivity) -> list[Text]:
    seeded = sum(kind.seeded for kind in found.kinds)
    caught = sum(kind.caught for kind in found.kinds)
    good = len(found.robots) - len(found.raised)
    lines = [
        Text.assemble(
            _sign(passed=found.passed),
            f" {caught} of {seeded} faults of {len(found.kinds)} kinds caught; "
            f"{good} of {len(found.robots)} good USDs without a false alarm",
        )
    ]
    if found.schemas:
        seeded = sum(one.seeded for one in found.schemas)
        caught = sum(one.caught for one in found.schemas)
        missed = sum(len(one.missed) for one in found.schemas)
        lines.append(
            Text.assemble(
                _sign(passed=not missed),
                f" {seeded} wrong values and other changes of {len(found.schemas)} "
                f"schemas: {caught} caught, {seeded - caught - missed} harmless, "
                f"{missed} missed",
            )
        )
    return lines
