"""History of runs: one small file per run in a folder, or in a branch.

``<folder>/000001.json`` holds the :class:`HistoryEntry` of the first run, and so on. An entry has
no date, like all records; a label, such as the commit of the converter, says what it is about.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import msgspec

from urdf_usd.reports.records import record as r
from urdf_usd.reports.records.results import record_json, write_new

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


class HistoryRobot(msgspec.Struct, frozen=True, kw_only=True):
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


class HistoryEntry(msgspec.Struct, frozen=True, kw_only=True):
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
    for number in itertools.count(entries[-1].number + 1 if entries else 1):
        file = folder / f"{number:06}.json"
        # Unless another run has written this number meanwhile.
        with suppress(FileExistsError):
            write_new(file, record_json(_entry(summary, number, label, seconds or {})))
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


def _entry(
    summary: r.RunSummary, number: int, label: str, seconds: Mapping[_Key, float]
) -> HistoryEntry:
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
                seconds=seconds.get((robot.candidate, robot.id)),
                case=robot.case.outcome if robot.case else None,
            )
        )
    return HistoryEntry(
        **{name: getattr(summary, name) for name in ("corpus", "environment", "options", "suite")},
        number=number,
        label=label,
        converters={one.name: one.title for one in summary.converters},
        robots=tuple(robots),
    )
