"""``urdf-usd corpus``: list the robots of corpora, show the details of one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from urdf_usd.cli.commands import CorpusList, CorpusShow
from urdf_usd.cli.failures import CommandError
from urdf_usd.cli.sources import existing_robot
from urdf_usd.cli.terminal import print_lines, say, stdout
from urdf_usd.conformance.engines.mjcf import kept_robot
from urdf_usd.conformance.engines.protocol import UnsupportedError
from urdf_usd.conformance.execution.mjcf import mjcf_inputs
from urdf_usd.conformance.observation.robot import VELOCITIES
from urdf_usd.converter import ConversionError, Parsed, Severity, read_urdf
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import input_files
from urdf_usd.converter.inspection import freedom
from urdf_usd.corpus import (
    WHOLE_CORPORA,
    Candidate,
    Download,
    RobotSource,
    UnavailableSource,
    candidate,
    list_corpora,
)
from urdf_usd.corpus.files import Format, robot_format
from urdf_usd.reports.text import plain

# xacro files are expanded in child processes, for which threads only wait.
_THREADS = 4
UNKNOWN = "unknown"
COLUMNS = ("reference", "maker", "dof", "license", "commit", "cached", "tags", "source", "note")
# Columns that are left out, in this order, until the table fits the terminal.
_LEAST_NEEDED = ("commit", "source", "cached", "tags", "maker", "license", "dof")
# Most characters in a line of the other columns, if the terminal is narrow.
_FOLDED = {"reference": 44, "note": 24}
_SHORT_COMMIT = 10


def list_robots(options: CorpusList) -> None:
    robots = list_corpora(
        options.corpus or tuple(map(str, WHOLE_CORPORA)),
        say,
        selection=options.selected.selection,
        mirror=options.selected.mirror,
    )
    with ThreadPoolExecutor(_THREADS) as threads:
        rows = list(threads.map(_row, robots))
    for robot in robots:
        # A source that is not installed has no robots to list.
        if isinstance(robot, UnavailableSource) and ":" not in robot.reference:
            say(f"{robot.reference}: {robot.reason}")
    texts = [dict(zip(COLUMNS, map(_cell, row.values()), strict=True)) for row in rows]
    match options.output_format or ("table" if stdout().is_terminal else "tsv"):
        case "json":
            click.echo(json.dumps(rows, indent=1))
        case "tsv":
            for cells in (COLUMNS, *(row.values() for row in texts)):
                click.echo("\t".join(cells))
        case "table":
            _print_table(texts)


def _print_table(rows: list[dict[str, str]]) -> None:
    console = stdout()
    shown = [name for name in COLUMNS if any(row[name] for row in rows)]
    left_out: list[str] = []

    def table(widths: Mapping[str, int]) -> Table:
        found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for name in shown:
            fixed = name in _LEAST_NEEDED
            found.add_column(name, no_wrap=fixed, overflow="fold", max_width=widths.get(name))
        for row in rows:
            short = {**row, "commit": row["commit"][:_SHORT_COMMIT]}
            found.add_row(*(Text(short[name]) for name in shown))
        return found

    unlimited = console.options.update(width=10_000)
    for name in _LEAST_NEEDED:
        if console.measure(table(_FOLDED), options=unlimited).minimum <= console.width:
            break
        if name in shown:
            shown.remove(name)
            left_out.append(name)
    console.print(table({}))
    here = sum(row["cached"] == "yes" for row in rows)
    click.echo(f"{len(rows)} robots, {here} of them available locally")
    if left_out:
        click.echo(f"without {', '.join(left_out)}; --format tsv has all")


def show_robot(options: CorpusShow) -> None:
    robot = candidate(options.reference, mirror=options.mirror)
    if isinstance(robot, Download):
        say(f"{options.reference} is not downloaded; commands that read it download it")
    else:
        robot = existing_robot(options.reference, mirror=options.mirror)
    try:
        facts = _facts(robot)
    except UnsupportedError as error:
        raise CommandError(f"{options.reference}: {error}") from error
    if options.output_format == "json":
        click.echo(json.dumps(facts, indent=1))
    else:
        print_lines(_fact_lines(facts))


def _row(robot: Candidate) -> dict[str, object]:
    """Return what is known of a robot; its URDF is read if it is available locally."""
    freedoms, note = None, None
    if isinstance(robot, RobotSource):
        try:
            freedoms = _content(robot)["degrees_of_freedom"]
        except UnsupportedError as error:
            note = str(error)
        except ConversionError as error:
            errors = [one for one in error.diagnostics if one.severity is Severity.ERROR]
            note = (errors or list(error.diagnostics))[0].message
    elif not isinstance(robot, Download):
        note = robot.reason
    origin = robot.origin
    return {
        "reference": robot.reference,
        "maker": origin.maker,
        "degrees_of_freedom": freedoms,
        "license": origin.license or UNKNOWN,
        "commit": origin.commit,
        "cached": isinstance(robot, RobotSource),
        "tags": origin.tags,
        "source": origin.distribution or robot.reference.partition(":")[0],
        "note": note,
    }


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        value = ", ".join(value)
    return "" if value is None else " ".join(plain(str(value)).split())


def _facts(robot: RobotSource | Download) -> dict[str, object]:
    """Return the details of a robot for JSON; those of its catalogue if it is not downloaded."""
    origin = robot.origin
    known: dict[str, object] = {
        "robot": origin.robot,
        "maker": origin.maker,
        "tags": list(origin.tags),
        "license": origin.license or UNKNOWN,
        "repository": origin.repository,
        "commit": origin.commit,
        "distribution": origin.distribution,
    }
    named = {"reference": robot.reference, "id": robot.id}
    if isinstance(robot, Download):
        return {**named, **known, "downloaded": False}
    content = _content(robot)
    files = _files(robot)
    return {
        **named,
        "name": content.pop("name"),
        "path": str(robot.path.absolute()),
        **known,
        "arguments": dict(robot.arguments),
        "packages": {name: str(Path(path)) for name, path in robot.packages},
        **content,
        "downloaded": True,
        "files": [{"sha256": file.sha256, "size": file.size, "path": file.path} for file in files],
    }


def _content(robot: RobotSource) -> dict[str, object]:
    """Return name, and numbers of links, joints and degrees of freedom.

    Raises:
        ConversionError: The URDF cannot be read.
        UnsupportedError: MuJoCo refuses the MJCF.
    """
    if robot_format(robot.path) is Format.MJCF:
        mjcf = kept_robot(str(robot.path)).structure
        name, links, joints = mjcf.robot, len(mjcf.links), len(mjcf.joints)
        moves = [VELOCITIES[joint.type] for joint in mjcf.joints if joint.mimic is None]
    else:
        urdf = _parse(robot).robot
        name, links, joints = urdf.name, len(urdf.links), len(urdf.joints)
        moves = [freedom(joint.kind) for joint in urdf.joints if joint.mimic is None]
    return {"name": name, "links": links, "joints": joints, "degrees_of_freedom": sum(moves)}


def _files(robot: RobotSource) -> Sequence[InputFile]:
    if robot_format(robot.path) is Format.MJCF:
        return mjcf_inputs(robot.path)
    parsed = _parse(robot)
    expansion = parsed.markup.expansion
    names = [str(robot.path), *(expansion.files if expansion else ())]
    return input_files(names, parsed.robot)


def _fact_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines of ``name: value``; unknown values are left out."""
    width = max(map(len, facts)) + 1
    for name, value in facts.items():
        label = f"{name.replace('_', ' ')}:"
        match value:
            case None | []:
                continue
            case [dict(), *_]:
                yield label
                yield from ("  " + "  ".join(map(plain, map(str, f.values()))) for f in value)
            case dict():
                yield from (label,) if value else ()
                yield from (f"  {key}: {plain(str(item))}" for key, item in value.items())
            case list():
                yield f"{label:{width}} {', '.join(map(str, value))}"
            case _:
                yield f"{label:{width}} {plain(str(value))}"


def _parse(robot: RobotSource) -> Parsed:
    packages = {name: str(folder) for name, folder in robot.packages}
    return read_urdf(robot.path, packages=packages, arguments=dict(robot.arguments))
