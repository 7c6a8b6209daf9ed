"""``urdf-usd corpus`` and ``doctor``: robots of corpora, engines, versions, JSON Schemas."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import click
import msgspec
from rich import box
from rich.table import Table
from rich.text import Text

from urdf_usd import corpus as c
from urdf_usd.cli.parameters import defaults_schema, existing_robot, parse_robot
from urdf_usd.cli.program import CorpusList, CorpusShow, Doctor, main
from urdf_usd.cli.terminal import CommandError, print_lines, say, shown_status, stdout
from urdf_usd.conformance.descriptions import mjcf_inputs
from urdf_usd.conformance.engines.mjcf import kept_robot
from urdf_usd.conformance.engines.protocol import Available, Crashed, UnsupportedError
from urdf_usd.conformance.execution.job import list_engines
from urdf_usd.conformance.observation.robot import VELOCITIES
from urdf_usd.converter import ConversionError, Severity
from urdf_usd.converter.file_content import InputFile
from urdf_usd.converter.inputs import input_files
from urdf_usd.converter.inspection import freedom
from urdf_usd.converter.options import Sources
from urdf_usd.converter.simulation.settings import schema as description_schema
from urdf_usd.corpus.files import Format, robot_format
from urdf_usd.installation import environment
from urdf_usd.reports.records.schema import schema_text
from urdf_usd.reports.text import plain
from urdf_usd.robots import with_reference

UNKNOWN = "unknown"
COLUMNS = ("reference", "maker", "dof", "license", "commit", "cached", "tags", "source", "note")


def list_robots(options: CorpusList) -> None:
    texts = options.corpus or tuple(map(str, c.WHOLE_CORPORA))
    robots = c.list_corpora(texts, say, selection=options.selection, mirror=options.mirror)
    rows = [_row(robot) for robot in robots]
    for robot in robots:
        # A source that is not installed has no robots to list.
        if isinstance(robot, c.UnavailableSource) and ":" not in robot.reference:
            say(f"{robot.reference}: {robot.reason}")
    cells = [dict(zip(COLUMNS, map(_cell, row.values()), strict=True)) for row in rows]
    match options.output_format or ("table" if stdout().is_terminal else "tsv"):
        case "json":
            click.echo(json.dumps(rows, indent=1))
        case "tsv":
            for line in (COLUMNS, *(row.values() for row in cells)):
                click.echo("\t".join(line))
        case "table":
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
            shown = [name for name in COLUMNS if any(row[name] for row in cells)]
            for name in shown:
                table.add_column(name, overflow="fold", no_wrap=name == "reference")
            for row in cells:
                short = {**row, "commit": row["commit"][:10]}
                table.add_row(*(Text(short[name]) for name in shown))
            stdout().print(table)
            here = sum(row["cached"] == "yes" for row in cells)
            click.echo(f"{len(rows)} robots, {here} of them available locally")


def show_robot(options: CorpusShow) -> None:
    robot = c.candidate(options.reference, mirror=options.mirror)
    if isinstance(robot, c.Download):
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


def _row(robot: c.Candidate) -> dict[str, object]:
    """Return what is known of a robot; its URDF is read if it is available locally."""
    freedoms, note = None, None
    if isinstance(robot, c.RobotSource):
        try:
            freedoms = _content(robot)[0]["degrees_of_freedom"]
        except UnsupportedError as error:
            note = str(error)
        except ConversionError as error:
            note = min(
                error.diagnostics, key=lambda one: one.severity is not Severity.ERROR
            ).message
    elif not isinstance(robot, c.Download):
        note = robot.reason
    origin = robot.origin
    return {
        "reference": robot.reference,
        "maker": origin.maker,
        "degrees_of_freedom": freedoms,
        "license": origin.license or UNKNOWN,
        "commit": origin.commit,
        "cached": isinstance(robot, c.RobotSource),
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


def _facts(robot: c.RobotSource | c.Download) -> dict[str, object]:
    """Return the details of a robot for JSON; those of its catalogue if it is not downloaded."""
    fields = ("robot", "maker", "tags", "license", "repository", "commit", "distribution")
    known: dict[str, Any] = {name: getattr(robot.origin, name) for name in fields}
    known |= {"tags": list(known["tags"]), "license": known["license"] or UNKNOWN}
    named = {"reference": robot.reference, "id": robot.id}
    if isinstance(robot, c.Download):
        return {**named, **known, "downloaded": False}
    (content, files), columns = _content(robot), ("sha256", "size", "path")
    return {
        **named,
        "name": content.pop("name"),
        "path": str(robot.path.absolute()),
        **known,
        "arguments": dict(robot.arguments),
        "packages": {name: str(path) for name, path in robot.packages},
        **content,
        "downloaded": True,
        "files": [{name: getattr(file, name) for name in columns} for file in files()],
    }


def _content(
    robot: c.RobotSource,
) -> tuple[dict[str, object], Callable[[], Sequence[InputFile]]]:
    """Return what a robot has, and a function that lists its files."""
    files: Callable[[], Sequence[InputFile]]
    if robot_format(robot.path) is Format.MJCF:
        mjcf = kept_robot(str(robot.path)).structure
        name, links, joints = mjcf.robot, len(mjcf.links), len(mjcf.joints)
        moves = [VELOCITIES[joint.type] for joint in mjcf.joints if joint.mimic is None]
        files = partial(mjcf_inputs, robot.path)
    else:
        parsed = parse_robot(robot, with_reference(Sources(), robot))
        urdf, expansion = parsed.robot, parsed.markup.expansion
        name, links, joints = urdf.name, len(urdf.links), len(urdf.joints)
        moves = [freedom(joint.kind) for joint in urdf.joints if joint.mimic is None]
        names = [str(robot.path), *(expansion.files if expansion else ())]
        files = partial(input_files, names, urdf)
    content: dict[str, object] = {
        "name": name,
        "links": links,
        "joints": joints,
        "degrees_of_freedom": sum(moves),
    }
    return content, files


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


def doctor(options: Doctor) -> None:
    if options.schema in ("description", "defaults"):
        described = options.schema == "description"
        document = description_schema() if described else defaults_schema(main.commands)
        click.echo(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
        return
    if options.schema:
        click.echo(schema_text(options.schema), nl=False)
        return
    versions = ((True, name, version) for name, version in environment().items())
    for title, status, rows in (
        ("Versions", "Reading versions ...", versions),
        ("\nEngines", "Loading engines ...", _engines()),
        ("\nCorpora", "Looking for robots ...", _corpora()),
    ):
        with shown_status(status):
            found = list(rows)
        width = max(len(name) for _, name, _ in found)
        lines = [Text(title, style="bold")]
        # Lines rather than a table, so that commands can be copied in one piece.
        for available, name, detail in found:
            sign = ("✓", "green") if available else ("✗", "yellow")
            lines.append(Text.assemble("  ", sign, f"  {name:{width}}  {detail}"))
        print_lines(lines)


def _engines() -> Iterator[tuple[bool, str, str]]:
    # In a child process, which discards what engines print as they are imported.
    for engine in list_engines():
        reads = f"reads {engine.side.upper()}" if engine.side else "crashes"
        match engine.availability:
            case Crashed(reason):
                yield False, engine.name, f"{reads}: {reason}"
            case Available(version):
                yield True, engine.name, f"{reads}, {version}"
            case absent:
                yield False, engine.name, f"{reads}: {absent.reason}; {absent.remedy}"


def _corpora() -> Iterator[tuple[bool, str, str]]:
    for scheme in c.WHOLE_CORPORA:
        try:
            yield True, scheme, f"{len(c.robot_names(scheme))} robots"
        except c.UnavailableError as error:
            yield False, scheme, str(error)
