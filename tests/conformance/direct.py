"""Examine robots in this process, without workers: faster, and unprotected."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar, cast

from urdf_usd.conformance.execution.assembly import Subject
from urdf_usd.conformance.execution.examination.assignment import Assignment, Unchanged
from urdf_usd.conformance.execution.examination.pair import examine_pair
from urdf_usd.conformance.execution.examination.robot import examine
from urdf_usd.conformance.execution.requirements import Requirements
from urdf_usd.conformance.execution.tasks import (
    InstalledEngine,
    cache_meshes,
    draw_robot,
    installed_engine,
)
from urdf_usd.conformance.execution.usd_limits import READ_DEFAULTS, ReadOptions
from urdf_usd.conformance.execution.workers.pool import RobotWorkers
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.converter import ConversionError, ConvertOptions
from urdf_usd.converter.options import NO_COLLIDER_RULES, ColliderRules
from urdf_usd.corpus import RobotSource
from urdf_usd.reports.records.record import RobotRecord

_Result = TypeVar("_Result")
# Drawings are not compared; cached meshes would stay in the process of the tests.
_LEFT_OUT = {cache_meshes, draw_robot}
_ENGINES = ("mujoco", "openusd", "pybullet", "reference")
_DEFAULTS = ConvertOptions()


class DirectWorkers:
    """Calls the functions of a robot in this process; exceptions are raised.

    Args:
        folder: For temporary files.

    Attributes:
        crashed: As of workers, where a step may crash.
        folder: As given.
    """

    crashed = False

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder

    def call(
        self, function: Callable[..., _Result], *arguments: object
    ) -> Completed[_Result | None]:
        """Call a function, unless it is left out."""
        left_out = function in _LEFT_OUT
        return Completed(None if left_out else function(*arguments))

    def request(
        self,
        purpose: str | None,
        function: Callable[..., _Result],
        *arguments: object,
        at_once: bool = True,
    ) -> Callable[[], Completed[_Result | None]]:
        """Call a function when its result is needed."""
        del purpose, at_once
        return lambda: self.call(function, *arguments)


@cache
def _engines(_: str | None = None) -> tuple[InstalledEngine, ...]:
    return tuple(map(installed_engine, _ENGINES))


def examine_here(urdf: Path, folder: Path, options: ConvertOptions = _DEFAULTS) -> RobotRecord:
    """Convert and check a URDF as a run does, with the engines of this project.

    Args:
        urdf: The file.
        folder: Folder of the run.
        options: Options of the conversion.
    """
    source = RobotSource(urdf.stem, f"file:{urdf.name}", urdf)
    assignment = Assignment(source, folder, options, _engines())
    workers = cast("RobotWorkers", DirectWorkers(folder / "scratch"))
    record = examine(workers, assignment)
    assert not isinstance(record, Unchanged)
    return record


def examine_pair_here(
    urdf: Path,
    usd: Path,
    options: ReadOptions = READ_DEFAULTS,
    density: float | None = None,
    colliders: ColliderRules = NO_COLLIDER_RULES,
) -> RobotRecord:
    """Compare a USD with its URDF as a check does, with the engines of this project.

    Args:
        urdf: The file.
        usd: Root layer.
        options: How the USD is read.
        density: Of links without mass, if mass is computed from shapes [kg/m^3].
        colliders: Colliders that the USD has to have instead of the URDF's.
    """
    subject = Subject(urdf.stem, f"file:{urdf.name}", "unknown", urdf, usd.parent)
    workers = cast("RobotWorkers", DirectWorkers(usd.absolute().parent / "scratch"))
    record = examine_pair(
        workers,
        subject,
        usd,
        _engines,
        Requirements(density=density, colliders=colliders),
        options=options,
    )
    if isinstance(record, ConversionError):
        raise record
    return record
