"""Whether the result of an earlier run is still valid for a robot, which is read."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct, structs

from urdf_usd.conformance.converters.candidates import OWN, ReadyUsds
from urdf_usd.conformance.engines.protocol import Crashed
from urdf_usd.conformance.execution.assembly import Subject, source_record
from urdf_usd.conformance.execution.examination.assignment import (
    Assignment,
    conversion_options,
    read_request,
    subject_of,
)
from urdf_usd.conformance.execution.fingerprint import fingerprint
from urdf_usd.conformance.execution.portable_text import portable
from urdf_usd.conformance.execution.tasks import (
    FormerInputs,
    Reading,
    read_former_inputs,
)
from urdf_usd.conformance.execution.workers.limits import Limits
from urdf_usd.conformance.execution.workers.pool import WorkerPool
from urdf_usd.conformance.execution.workers.serving import Completed
from urdf_usd.converter import ConvertOptions
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.corpus import RobotSource

# Hashes of what was read of a robot.
_Read: TypeAlias = tuple[str, ...]
# Most robots that are read in one process. If it crashes, each of them is read in a
# process of its own.
_READ_TOGETHER = 100
# For fewer, another process takes more time than it saves.
_LEAST_TOGETHER = 20

# How the reading of several robots ended.
_Ending: TypeAlias = Completed[tuple[FormerInputs | None, ...]] | Crashed
_Waiting: TypeAlias = Callable[[], _Ending]


class FormerReading(Struct, frozen=True, eq=False):
    """Robots that one process reads, to compare them with their former results.

    Attributes:
        robots: Their ids.
        wait: Waits for what is read, in this order; called once, and in a thread of
            its own for each of as many parts as there are jobs.
    """

    robots: tuple[str, ...]
    wait: _Waiting


def begin_reading(
    pool: WorkerPool,
    sources: Sequence[RobotSource],
    options: ConvertOptions,
    limits: Limits,
    jobs: int,
) -> tuple[FormerReading, ...]:
    """Begin to read robots, many in one process.

    That takes less time than a process for each. There are at least as many processes
    as jobs, unless there are few robots. No more than that begin here, the others when
    they are waited for.

    Args:
        pool: Where the processes are started.
        sources: Robots with a former result.
        options: Packages and arguments with which robots are read.
        limits: Of each process.
        jobs: Number of processes at the same time.
    """
    shared = math.ceil(len(sources) / jobs)
    size = min(max(shared, _LEAST_TOGETHER), _READ_TOGETHER)
    count = math.ceil(len(sources) / size)
    # Robots of one folder, which follow each other, take about the same time.
    parts = [sources[first::count] for first in range(count)]
    reading = []
    for number, part in enumerate(parts):
        requests = [read_request(source, options) for source in part]
        call = partial(pool.begin, read_former_inputs, requests, timeout=limits.time, spawned=True)
        wait = call() if number < jobs else partial(_begin_and_wait, call)
        reading.append(FormerReading(tuple(source.id for source in part), wait))
    return tuple(reading)


def _begin_and_wait(begin: Callable[[], _Waiting]) -> _Ending:
    return begin()()


def is_unchanged(assignment: Assignment, inputs: FormerInputs) -> bool:
    """Return whether the result in the folder of the run is still valid.

    Args:
        assignment: The robot.
        inputs: What was read of it.
    """
    subject = subject_of(assignment)
    reading = inputs.reading
    if isinstance(reading, Reading):
        subject = structs.replace(subject, inputs=reading.inputs)
    else:
        subject = structs.replace(subject, digest=inputs.digest)
    return is_former(assignment, *fingerprints(assignment, subject, reading))


def is_former(assignment: Assignment, in_limits: str, without_limits: str) -> bool:
    """Return whether a former result has one of the fingerprints of a robot."""
    same = {without_limits}
    if not assignment.retry:
        same.add(in_limits)
    # Ready USDs may have changed since.
    ready = isinstance(assignment.candidate, ReadyUsds)
    return assignment.former in same and not ready


def fingerprints(
    assignment: Assignment, subject: Subject, reading: Reading | SourceError | None
) -> tuple[str, str]:
    """Return the fingerprints of a result in which something crashed, and of others.

    Limits only matter to a result if something crashed.

    Args:
        assignment: The robot.
        subject: What its record says of it.
        reading: What was read of it; None if the reader crashed.
    """
    read: _Read = ()
    if reading is not None:
        read = _read_of(subject, reading, assignment.root)
    # Names decide which layer of another converter is the root layer.
    names: tuple[str, ...] = ()
    if assignment.candidate != OWN:
        names = (*assignment.names, *map(str, assignment.variants))
    searched = subject.searched, subject.included, subject.mirrored
    case = assignment.source.case
    expected = case and case.text
    robot = (source_record(subject), searched, names, read, expected)
    options = conversion_options(assignment)

    def fingerprint_of(limits: Limits | None) -> str:
        return fingerprint(robot, options, assignment.engines, limits, assignment.programs)

    return fingerprint_of(assignment.limits), fingerprint_of(None)


def _read_of(subject: Subject, reading: Reading | SourceError, root: Path | None) -> _Read:
    """Return what a robot was read as, without paths of this machine.

    Diagnostics depend on more than the content of files: where they are, and which are
    not there. The expansion of a xacro file depends on the environment.

    Args:
        subject: The robot.
        reading: What was read.
        root: As in :class:`Assignment`.
    """
    lines = [
        f"{one.rule} {place.file}:{place.line}:{place.column} {one.message}"
        if (place := one.location)
        else f"{one.rule} {one.message}"
        for one in reading.diagnostics
    ]
    if isinstance(reading, Reading) and reading.expanded is not None:
        lines.append(reading.expanded.decode("utf-8", "surrogateescape"))
    if not lines:
        return ()
    prefix = "" if root is None else str(root)
    names = tuple((folder.removeprefix(prefix), name) for folder, name in subject.names)

    def plain(text: str) -> str:
        return portable(text.replace(prefix, "") if prefix else text, names)

    content = plain("\n".join(lines)).encode("utf-8", "surrogateescape")
    return (hashlib.sha256(content).hexdigest(),)
