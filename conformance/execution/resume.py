"""Resuming a run: a result is kept if a hash of everything that determines it is the same.

It covers the contents of the files that the robot was read from, the options, the engines,
the converter, the versions of all libraries, the code of this project and of plugins, and
the environment variables that matter. It covers no path, time or machine, so results can
be compared wherever they were made.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
from collections.abc import Iterable
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TypeAlias

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
from urdf_usd.conformance.execution.folder import RunFolder, hash_file
from urdf_usd.conformance.execution.job import Job
from urdf_usd.converter.options import ConvertOptions
from urdf_usd.converter.urdf.uris import FileResolver
from urdf_usd.converter.urdf.xacro import allowed_environment, is_xacro
from urdf_usd.reports.records.environment import DISTRIBUTION, environment
from urdf_usd.reports.records.record import RobotRecord
from urdf_usd.reports.records.results import read_record, record_path

# Pairs of a name and a version or hash.
Programs: TypeAlias = tuple[tuple[str, str], ...]

_OURS = "urdf_usd"
_NAME = re.compile(r"[\w.-]+")
# Diagnostics of robots with files that were not found, and may be there now.
MISSING = frozenset({"file-missing", "texture-missing", "xacro-file-missing"})
# Where files are looked for.
_SEARCHED = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")


def kept_record(
    folder: RunFolder, job: Job, engines: Iterable[str], *, retry: bool
) -> RobotRecord | None:
    """Return the record of a former run, if it is still valid.

    Args:
        folder: Folder of the run.
        job: The robot, without engines.
        engines: Names of the engines that were requested; all if there are none.
        retry: Whether robots are examined again of which something crashed.
    """
    former = folder.finished(job.place)
    # Ready USDs may have changed since.
    if former is None or (former.crashed and retry) or isinstance(job.candidate, ReadyUsds):
        return None
    try:
        hashes = [hash_file(Path(path)) for path in former.inputs]
        record = read_record(record_path(folder.path, job.place))
    except (OSError, msgspec.DecodeError):
        return None
    # Without input files it is not known what the robot was read from.
    if not hashes or any(one.rule in MISSING for one in record.diagnostics):
        return None
    resolver = FileResolver(job.source.path, job.packages, os.environ)
    for uri, path in former.references:
        found = resolver.find(uri)
        if path != (found and str(found.path)):
            return None
    same = record.fingerprint == fingerprint(job, engines, hashes, crashed=former.crashed)
    return record if same else None


def fingerprint(job: Job, engines: Iterable[str], hashes: Iterable[str], *, crashed: bool) -> str:
    """Return the hash of everything that determines a result.

    Args:
        job: The robot.
        engines: As for :func:`kept_record`.
        hashes: SHA-256 of each file that it was read from.
        crashed: Whether something crashed: only then do limits matter.
    """
    source = job.source
    # Names decide which layer of another converter is the root layer.
    names = () if job.own else (*job.names, *map(str, job.reading.variants))
    variables = allowed_environment(job.options.environment) if is_xacro(str(source.path)) else {}
    chosen = tuple(engines) or registry.names()
    parts = (
        structs.replace(source, path=Path(source.path.name), packages=()),
        names,
        tuple(hashes),
        _without_paths(job.conversion),
        tuple(job.packages),
        job.arguments,
        variables | {name: os.environ.get(name) for name in _SEARCHED},
        chosen,
        job.limits if crashed else None,
        _converter_programs(job.candidate),
        tuple(part for name in chosen for part in _plugin(registry.target(name))),
        registry.present(),
        _all_versions(),
    )
    content = msgspec.json.encode(parts, order="sorted", enc_hook=str)
    return hashlib.sha256(content).hexdigest()


def _without_paths(options: ConvertOptions) -> ConvertOptions:
    simulation = options.simulation
    if simulation is not None:
        # Its text and the files that it names decide.
        simulation = structs.replace(simulation, file="")
    return structs.replace(options, packages=(), simulation=simulation)


def _converter_programs(candidate: Candidate) -> Programs:
    """Return name, version and command of a converter, and hashes of its code.

    These are the files that a command names, such as the program or a script, or the
    modules of a plugin.
    """
    named = (candidate.name, candidate.title), ("recipe", candidate.recipe)
    match candidate:
        case CommandConverter(words=words):
            files = (Path(word) for word in words if _is_file(word))
            return (*named, *((file.name, hash_file(file)) for file in files))
        case RegisteredConverter():
            return (*named, *_plugin(candidate.recipe))
        case _:
            return named


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
        total.update(f"{file.name} {hash_file(file)}\n".encode())
    return ((target, total.hexdigest()),)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        # A word that is too long for a path, or has a null character.
        return False


def present_versions() -> dict[str, str]:
    """Return the version of each library, and the hash of our own code."""
    return {**environment(), "code": codehash_file()}


@functools.cache
def _all_versions() -> dict[str, str]:
    """Return :func:`present_versions` and the versions of all requirements."""
    versions = present_versions()
    for requirement in metadata.requires(DISTRIBUTION) or ():
        name = _NAME.match(requirement)
        if name and name[0] not in versions:
            with contextlib.suppress(metadata.PackageNotFoundError):
                versions[name[0]] = metadata.version(name[0])
    return versions


@functools.cache
def codehash_file() -> str:
    """Return the hash of those of our packages that determine results."""
    total = hashlib.sha256()
    for package in (converter, conformance, corpus):
        (folder,) = map(Path, package.__path__)
        for file in sorted(folder.rglob("*.py")):
            content = hashlib.sha256(file.read_bytes()).hexdigest()
            place = file.relative_to(folder.parent).as_posix()
            total.update(f"{place} {content}\n".encode())
    return total.hexdigest()
