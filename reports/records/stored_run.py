"""The folder of a run, read back."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from urdf_usd.reports.records.record import (
    SCHEMA_VERSION,
    RobotRecord,
    RobotSummary,
    RunSummary,
)

_Record = TypeVar("_Record", RobotRecord, RunSummary)


class StoredRunError(Exception):
    """A folder holds no run that can be read."""


class StoredRun(Struct, frozen=True):
    """A run as stored in its folder.

    Attributes:
        summary: Of the whole run.
        records: By id, in the order of ids; with several converters by
            ``converter/id``.
    """

    summary: RunSummary
    records: dict[str, RobotRecord]

    @classmethod
    def of(cls, summary: RunSummary, records: Iterable[RobotRecord]) -> StoredRun:
        """Make a stored run from records."""
        return cls(summary, {_place(summary, one): one for one in records})


def read_run(folder: Path) -> StoredRun:
    """Read the folder that ``urdf-usd run --out`` wrote.

    Raises:
        StoredRunError: It is no such folder, or of another version of the schema.
    """
    file = folder / "summary.json"
    if not file.is_file():
        raise StoredRunError(f"{folder} holds no summary.json")
    summary = _read(file, RunSummary)
    files = (f"{_place(summary, robot)}.json" for robot in summary.robots)
    results = folder / "results"
    return StoredRun.of(summary, (_read(results / file, RobotRecord) for file in files))


def _place(summary: RunSummary, robot: RobotRecord | RobotSummary) -> str:
    several = len(summary.converters) > 1
    return f"{robot.candidate}/{robot.id}" if several else robot.id


class _Versioned(msgspec.Struct):
    """What all records have, whatever else is in them."""

    schema_version: str


def _read(file: Path, kind: type[_Record]) -> _Record:
    try:
        content = file.read_bytes()
        version = msgspec.json.decode(content, type=_Versioned).schema_version
        if version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
            raise StoredRunError(f"{file} is of schema {version}, which is not {SCHEMA_VERSION}")
        # Not strict, so that text becomes the number that JSON could not express.
        return msgspec.json.decode(content, type=kind, strict=False)
    except OSError as error:
        raise StoredRunError(f"{file}: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise StoredRunError(f"{file} is no record: {error}") from error
