"""Resuming a run: a result is kept if a hash of everything that determines it is the same.

It covers the files by their contents, what xacro files expand to (which depends on
environment variables), the options, the engines, the converter, the versions of all
libraries, and the code of this project and of plugins. It covers no path, time or
machine, so results can be compared wherever they were made.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
from collections.abc import Iterable
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path

import msgspec
from msgspec import structs

from urdf_usd import conformance, converter, corpus
from urdf_usd.conformance.converters.candidates import (
    Candidate,
    CommandConverter,
    ReadyUsds,
    RegisteredConverter,
)
from urdf_usd.conformance.engines import registry
from urdf_usd.conformance.execution.job import Job, Programs
from urdf_usd.conformance.execution.portable_text import portable
from urdf_usd.conformance.execution.reading import Reading
from urdf_usd.conformance.execution.record import Subject, source_record
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.reports.records.environment import DISTRIBUTION, environment

_OURS = "urdf_usd"
_NAME = re.compile(r"[\w.-]+")


def is_former(job: Job, subject: Subject, reading: Reading | SourceError | None) -> bool:
    """Return whether the result in the folder of the run is still valid.

    Args:
        job: The robot.
        subject: What its record says of it.
        reading: What was read of it; None if the reader crashed.
    """
    # Ready USDs may have changed since.
    if job.former is None or isinstance(job.candidate, ReadyUsds):
        return False
    broken = fingerprint(job, subject, reading, crashed=True)
    return job.former == fingerprint(job, subject, reading) or (
        job.former == broken and not job.retry
    )


def fingerprint(
    job: Job,
    subject: Subject,
    reading: Reading | SourceError | None,
    *,
    crashed: bool = False,
) -> str:
    """Return the hash of everything that determines a result.

    Args:
        job: The robot.
        subject: What its record says of it.
        reading: What was read of it; None if the reader crashed.
        crashed: Whether something crashed: only then do limits matter.
    """
    source = job.source
    # Names decide which layer of another converter is the root layer.
    names = () if job.own else (*job.names, *map(str, job.reading.variants))
    searched = source.searched, source.included, source.mirrored
    read = _read_of(subject, reading) if reading else ()
    robot = source_record(subject), searched, names, read, source.case and source.case.text
    parts = (
        robot,
        _without_paths(job.conversion),
        tuple(job.packages),
        job.engines,
        job.limits if crashed else None,
        job.programs,
        all_versions(),
    )
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def _read_of(subject: Subject, reading: Reading | SourceError) -> tuple[str, ...]:
    """Return what a robot was read as, without paths of this machine.

    Diagnostics depend on more than the content of files: where they are, and which are
    not there. The expansion of a xacro file depends on the environment.
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
    content = portable("\n".join(lines), subject.names).encode("utf-8", "surrogateescape")
    return (hashlib.sha256(content).hexdigest(),)


def _without_paths(options: ConvertOptions) -> ConvertOptions:
    simulation = options.simulation
    if simulation is not None:
        # Its text and the files that it names decide.
        simulation = structs.replace(simulation, file="")
    return structs.replace(options, packages=(), simulation=simulation)


def converter_programs(candidate: Candidate) -> Programs:
    """Return name, version and command of a converter, and hashes of its code.

    These are the files that a command names, such as the program or a script, or the
    modules of a plugin.
    """
    named = (candidate.name, candidate.title), ("recipe", candidate.recipe)
    match candidate:
        case CommandConverter(words=words):
            files = (Path(word) for word in words if _is_file(word))
            return (*named, *((file.name, _hash(file)) for file in files))
        case RegisteredConverter():
            return (*named, *_plugin(candidate.recipe))
        case _:
            return named


def engine_programs(names: Iterable[str]) -> Programs:
    """Return hashes of the code of engines that other packages registered."""
    return tuple(part for name in names for part in _plugin(registry.target(name)))


@functools.cache
def _plugin(target: str) -> Programs:
    """Return the hash of the package that an entry point leads to; ours is left out.

    Args:
        target: Module and attribute, as ``package.module:attribute``.
    """
    package = target.partition(":")[0].partition(".")[0]
    # Only finds it: nothing of it is imported.
    spec = PathFinder.find_spec(package)
    if package == _OURS or spec is None:
        return ()
    folders = map(Path, spec.submodule_search_locations or ())
    files = [file for folder in folders for file in folder.rglob("*.py")]
    if spec.origin and _is_file(spec.origin):
        files.append(Path(spec.origin))
    total = hashlib.sha256()
    for file in sorted(set(files)):
        total.update(f"{file.name} {_hash(file)}\n".encode())
    return ((target, total.hexdigest()),)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        # A word that is too long for a path, or has a null character.
        return False


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def present_versions() -> dict[str, str]:
    """Return the version of each library, and the hash of our own code."""
    return {**environment(), "code": code_hash()}


@functools.cache
def all_versions() -> dict[str, str]:
    """Return :func:`present_versions` and the versions of all requirements."""
    versions = present_versions()
    for requirement in metadata.requires(DISTRIBUTION) or ():
        name = _NAME.match(requirement)
        if name and name[0] not in versions:
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions[name[0]] = metadata.version(name[0])
    return versions


@functools.cache
def code_hash() -> str:
    """Return the hash of those of our packages that determine results."""
    total = hashlib.sha256()
    for package in (converter, conformance, corpus):
        (folder,) = map(Path, package.__path__)
        for file in sorted(folder.rglob("*.py")):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            place = file.relative_to(folder.parent).as_posix()
            total.update(f"{place} {content}\n".encode())
    return total.hexdigest()
