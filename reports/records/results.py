"""Records as files: the same record gives the same bytes, whole or not at all.

The history of runs is one small file per run in a folder, or in a branch: ``<folder>/000001.json``
holds the :class:`HistoryEntry` of the first run, and so on. An entry has no date, like all records;
a label, such as the commit of the converter, says what it is about.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from urdf_usd.reports.records import record as r

_Record = TypeVar("_Record", r.RobotRecord, r.RunSummary)


def record_json(record: Struct) -> bytes:
    """Encode a record; numbers that JSON cannot express become text."""
    plain = _finite(msgspec.to_builtins(record))
    return msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n"


def record_path(run: Path, place: str) -> Path:
    return run / "results" / f"{place}.json"


def write_record(record: r.RobotRecord | r.RunSummary, path: Path) -> None:
    write_atomically(path, record_json(record))


def read_record(path: Path) -> r.RobotRecord:
    # Not strict, so that text becomes the number that JSON could not express.
    return msgspec.json.decode(path.read_bytes(), type=r.RobotRecord, strict=False)


def write_seconds(run: Path, place: str, **durations: float) -> None:
    """Write durations [s], in a file of their own as they differ between runs.

    They are those of the conversion (``seconds``) and of all (``examination``) of a robot.
    """
    rounded = {name: round(value, 4) for name, value in durations.items()}
    content = msgspec.json.encode({**_durations(run, place), **rounded})
    write_atomically(timing_path(run, place), content + b"\n")


def read_seconds(run: Path, place: str) -> float | None:
    """Read the duration of a conversion [s]; None if it was not measured."""
    return _durations(run, place).get("seconds")


def _durations(run: Path, place: str) -> dict[str, float]:
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(timing_path(run, place).read_bytes(), type=dict[str, float])
    return {}


def timing_path(run: Path, place: str) -> Path:
    return run / "timings" / f"{place}.json"


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file atomically: it has the old or the new content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        if error.errno is not None:
            # A full disk is reported without a name; that of the part means nothing.
            error.filename = str(path)
        raise
    finally:
        part.unlink(missing_ok=True)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that does not exist; if that fails, it does not exist."""
    path.touch(exist_ok=False)
    try:
        path.write_bytes(content)
    except OSError as error:
        path.unlink()
        error.filename = str(path)
        raise


def _finite(value: object) -> object:
    match value:
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float() if not math.isfinite(value):
            return str(value)
        case _:
            return value


class StoredRunError(Exception):
    """A folder holds no run that can be read."""


class StoredRun(Struct, frozen=True):
    summary: r.RunSummary  # of the whole run
    # by id, in the order of ids; with several converters by ``converter/id``
    records: dict[str, r.RobotRecord]

    @classmethod
    def of(cls, summary: r.RunSummary, records: Iterable[r.RobotRecord]) -> StoredRun:
        return cls(summary, {_place(summary, one): one for one in records})


def read_run(folder: Path) -> StoredRun:
    """Read the folder that ``urdf-usd run --out`` wrote."""
    file = folder / "summary.json"
    if not file.is_file():
        raise StoredRunError(f"{folder} holds no summary.json")
    summary = _read(file, r.RunSummary)
    files = (f"{_place(summary, robot)}.json" for robot in summary.robots)
    results = folder / "results"
    return StoredRun.of(summary, (_read(results / file, r.RobotRecord) for file in files))


def _place(summary: r.RunSummary, robot: r.RobotRecord | r.RobotSummary) -> str:
    several = len(summary.converters) > 1
    return f"{robot.candidate}/{robot.id}" if several else robot.id


def _read(file: Path, kind: type[_Record]) -> _Record:
    try:
        # Not strict, so that text becomes the number that JSON could not express.
        record = msgspec.json.decode(file.read_bytes(), type=kind, strict=False)
    except OSError as error:
        raise StoredRunError(f"{file}: {error.strerror or error}") from error
    except msgspec.DecodeError as error:
        raise StoredRunError(f"{file} is no record: {error}") from error
    version = record.schema_version
    if version.partition(".")[0] != r.SCHEMA_VERSION.partition(".")[0]:
        raise StoredRunError(f"{file} is of schema {version}, which is not {r.SCHEMA_VERSION}")
    return record


# History

# Checks whose largest difference is kept of every robot, exact or not.
KEPT_CHECKS = (
    "kinematics.position",
    "kinematics.rotation",
    "mass.link.mass",
    "mass.link.inertia",
    "dynamics.inertia_matrix",
)
_PASSED = (r.Grade.EXACT, r.Grade.NOT_APPLICABLE)
_FILE = re.compile(r"\d{6,}\.json")
# Converter and id.
_Key: TypeAlias = tuple[str, str]


class HistoryError(Exception):
    """A folder holds no history; the message states the file and the cause."""


class HistoryRobot(Struct, frozen=True, kw_only=True):
    """One robot and converter in one run."""

    id: str  # identifier of the robot
    candidate: str  # name of the converter
    verdict: r.Verdict  # its verdict
    compared: int  # number of compared values
    grades: dict[str, r.Grade] = {}  # grades of checks that are neither exact nor not applicable
    # largest differences of these checks and of the most important ones, in the unit of the check
    worst: dict[str, float] = {}
    seconds: float | None = None  # duration of the conversion, if it was measured [s]
    case: r.CaseOutcome | None = None  # outcome, if it is a case of the feature suite


class HistoryEntry(Struct, frozen=True, kw_only=True):
    """One run."""

    schema_version: str = r.SCHEMA_VERSION  # version of the schema
    number: int  # number of the run, from 1
    label: str  # what the user calls it; empty if it has no label
    corpus: tuple[str, ...]  # the references of the command line
    environment: dict[str, str]  # versions by package
    options: dict[str, str]  # options that change results, as text
    converters: dict[str, str]  # name and version of each converter, by its name in the run
    robots: tuple[HistoryRobot, ...]  # ordered by id, then in the order of converters
    # scores of the feature suite per chapter and converter, if it was run
    suite: tuple[r.ChapterScore, ...] = ()


def append_entry(
    folder: Path,
    summary: r.RunSummary,
    label: str = "",
    seconds: Mapping[_Key, float] | None = None,
) -> Path:
    """Write the entry of a run after the last one, and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = read_history(folder)
    robots = []
    for robot in summary.robots:
        grades = {check: grade for check, grade in robot.grades.items() if grade not in _PASSED}
        kept = {*grades, *KEPT_CHECKS}
        robots.append(
            HistoryRobot(
                **{name: getattr(robot, name) for name in ("id", "candidate", "verdict")},
                compared=robot.compared,
                grades=grades,
                worst={check: worst for check, worst in robot.worst.items() if check in kept},
                seconds=(seconds or {}).get((robot.candidate, robot.id)),
                case=robot.case.outcome if robot.case else None,
            )
        )
    named = ("corpus", "environment", "options", "suite")
    for number in itertools.count(entries[-1].number + 1 if entries else 1):
        entry = HistoryEntry(
            **{name: getattr(summary, name) for name in named},
            number=number,
            label=label,
            converters={one.name: one.title for one in summary.converters},
            robots=tuple(robots),
        )
        file = folder / f"{number:06}.json"
        # Unless another run has written this number meanwhile.
        with suppress(FileExistsError):
            write_new(file, record_json(entry))
            break
    return file


def read_history(folder: Path) -> tuple[HistoryEntry, ...]:
    """Read all entries, the oldest first."""
    entries = []
    for file in (file for file in folder.iterdir() if _FILE.fullmatch(file.name)):
        try:
            entry = msgspec.json.decode(file.read_bytes(), type=HistoryEntry, strict=False)
        except (msgspec.DecodeError, OSError) as error:
            raise HistoryError(f"{file}: no entry of a history: {error}") from error
        if (version := entry.schema_version) != r.SCHEMA_VERSION:
            versions = f"version {version} of the schema, not {r.SCHEMA_VERSION}"
            raise HistoryError(f"{file}: {versions}; begin a new folder")
        entries.append(entry)
    return tuple(sorted(entries, key=lambda entry: entry.number))
