"""Robots of a corpus: one row each for a table, or all details of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, structs

from urdf_usd.converter import (
    ConversionError,
    Diagnostic,
    Parsed,
    Robot,
    Severity,
    read_urdf,
)
from urdf_usd.converter.inputs import input_files
from urdf_usd.converter.inspection import freedom
from urdf_usd.corpus import Candidate, Download, Origin, RobotSource
from urdf_usd.reports.text import plain

UNKNOWN = "unknown"
_SHORT_COMMIT = 10


class Row(Struct, frozen=True):
    """One robot of a list; unknown values are None.

    Attributes:
        reference: Reference by which a user gets it.
        maker: Manufacturer.
        degrees_of_freedom: Sum over joints without mimic, if it is available locally.
        license: SPDX identifier.
        commit: Commit of its files in their repository.
        cached: Whether it is available locally.
        tags: Kinds of robot.
        source: Distribution, or scheme of the reference.
        note: Why it is not available, or not readable.
    """

    reference: str
    maker: str | None
    degrees_of_freedom: int | None
    license: str | None
    commit: str | None
    cached: bool
    tags: tuple[str, ...]
    source: str
    note: str | None = None

    def as_plain(self) -> dict[str, object]:
        """Return the row for JSON."""
        return {**structs.asdict(self), "license": self.license or UNKNOWN}


COLUMNS = (
    "reference",
    "maker",
    "dof",
    "license",
    "commit",
    "cached",
    "tags",
    "source",
    "note",
)


def robot_row(robot: Candidate) -> Row:
    """Return the row of a robot; its URDF is read if it is available locally."""
    freedoms, note = None, None
    if isinstance(robot, RobotSource):
        try:
            freedoms = _freedoms(_parse(robot).robot)
        except ConversionError as error:
            note = _first_error(error.diagnostics)
    elif not isinstance(robot, Download):
        note = robot.reason
    origin = robot.origin
    return Row(
        reference=robot.reference,
        maker=origin.maker,
        degrees_of_freedom=freedoms,
        license=origin.license,
        commit=origin.commit,
        cached=isinstance(robot, RobotSource),
        tags=origin.tags,
        source=origin.distribution or robot.reference.partition(":")[0],
        note=note,
    )


def _first_error(diagnostics: Sequence[Diagnostic]) -> str:
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    return (errors or list(diagnostics))[0].message


def row_cells(row: Row, *, short: bool = False) -> tuple[str, ...]:
    """Return a row as text, in the order of the columns.

    Args:
        row: The row.
        short: Whether to abbreviate the commit.
    """
    commit = row.commit or ""
    texts = (
        row.reference,
        row.maker or "",
        "" if row.degrees_of_freedom is None else str(row.degrees_of_freedom),
        row.license or UNKNOWN,
        commit[:_SHORT_COMMIT] if short else commit,
        "yes" if row.cached else "no",
        ", ".join(row.tags),
        row.source,
        row.note or "",
    )
    return tuple(" ".join(plain(text).split()) for text in texts)


def description(robot: RobotSource) -> dict[str, object]:
    """Return the details of a robot for JSON.

    Raises:
        ConversionError: The robot cannot be read.
    """
    parsed = _parse(robot)
    read = parsed.robot
    names = [str(robot.path)]
    if parsed.markup.expansion:
        names += parsed.markup.expansion.files
    return {
        "reference": robot.reference,
        "id": robot.id,
        "name": read.name,
        "path": str(robot.path.absolute()),
        **_origin_facts(robot.origin),
        "arguments": _arguments(robot),
        "packages": {name: str(Path(path)) for name, path in robot.packages},
        "links": len(read.links),
        "joints": len(read.joints),
        "degrees_of_freedom": _freedoms(read),
        "downloaded": True,
        "files": [
            {"sha256": file.sha256, "size": file.size, "path": file.path}
            for file in input_files(names, read)
        ],
    }


def download_description(robot: Download) -> dict[str, object]:
    """Return what the catalogue of a robot states that is not downloaded, for JSON."""
    return {
        "reference": robot.reference,
        "id": robot.id,
        **_origin_facts(robot.origin),
        "downloaded": False,
    }


def _origin_facts(origin: Origin) -> dict[str, object]:
    return {
        "robot": origin.robot,
        "maker": origin.maker,
        "tags": list(origin.tags),
        "license": origin.license or UNKNOWN,
        "repository": origin.repository,
        "commit": origin.commit,
        "distribution": origin.distribution,
    }


def description_lines(facts: Mapping[str, object]) -> Iterator[str]:
    """Yield lines of ``name: value``; unknown values are left out."""
    width = max(map(len, facts)) + 1
    for name, value in facts.items():
        label = f"{name.replace('_', ' ')}:"
        match value:
            case None | []:
                continue
            case [dict(), *_]:
                yield label
                yield from map(_file_line, value)
            case dict():
                if not value:
                    continue
                yield label
                yield from (f"  {key}: {plain(str(item))}" for key, item in value.items())
            case list():
                yield f"{label:{width}} {', '.join(map(str, value))}"
            case _:
                yield f"{label:{width}} {plain(str(value))}"


def _file_line(file: object) -> str:
    items = file.values() if isinstance(file, dict) else ()
    return "  " + "  ".join(plain(str(item)) for item in items)


def _parse(robot: RobotSource) -> Parsed:
    packages, arguments = _packages(robot), _arguments(robot)
    return read_urdf(robot.path, packages=packages, arguments=arguments)


def _packages(robot: RobotSource) -> dict[str, str]:
    return {name: str(folder) for name, folder in robot.packages}


def _arguments(robot: RobotSource) -> dict[str, str]:
    return dict(robot.arguments)


def _freedoms(robot: Robot) -> int:
    return sum(freedom(joint.kind) for joint in robot.joints if joint.mimic is None)
