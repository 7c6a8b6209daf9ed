"""Whether the result of an earlier run is still valid for a robot."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from urdf_usd.conformance.converters.candidates import OWN, ReadyUsds
from urdf_usd.conformance.execution.assembly import Subject, source_record
from urdf_usd.conformance.execution.examination.assignment import (
    Assignment,
    conversion_options,
    subject_of,
)
from urdf_usd.conformance.execution.fingerprint import fingerprint
from urdf_usd.conformance.execution.portable_text import portable
from urdf_usd.conformance.execution.tasks import FormerInputs, Reading
from urdf_usd.conformance.execution.workers.limits import Limits
from urdf_usd.converter.diagnostics import SourceError

# Hashes of what was read of a robot.
_Read: TypeAlias = tuple[str, ...]


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
        return fingerprint(
            robot, options, assignment.engines, limits, assignment.programs
        )

    return fingerprint_of(assignment.limits), fingerprint_of(None)


def _read_of(
    subject: Subject, reading: Reading | SourceError, root: Path | None
) -> _Read:
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
