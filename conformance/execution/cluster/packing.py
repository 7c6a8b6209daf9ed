"""Robots sent to other machines, and results sent back.

A packed robot contains every file as bytes. It is unpacked below a folder as if that
were the root of the sender's file system, with symbolic links, package manifests and
repository markers. File references therefore resolve as for the sender, and the result
is identical.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field, structs

from urdf_usd.conformance.execution.assembly import source_record
from urdf_usd.conformance.execution.examination.assignment import (
    Assignment,
    Unchanged,
    subject_of,
)
from urdf_usd.conformance.execution.examination.robot import examine_isolated
from urdf_usd.conformance.execution.fingerprint import present_versions
from urdf_usd.conformance.execution.run_folder import discard_former
from urdf_usd.conformance.execution.tasks import read_robot
from urdf_usd.conformance.execution.workers.pool import WorkerPool
from urdf_usd.converter.diagnostics import SourceError
from urdf_usd.converter.scratch import temporary_folder
from urdf_usd.converter.urdf.xacro import allowed_environment
from urdf_usd.reports.records.record import RobotRecord, SourceRecord
from urdf_usd.reports.records.results import decode_record, record_json

# Search paths of ROS packages.
_PLACES = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
# Markers of packages and repositories.
_MANIFEST = "package.xml"
_REPOSITORY = ".git"


class PackedRobot(Struct, frozen=True):
    """One robot with its files.

    Attributes:
        assignment: The robot, with the paths of the sender.
        source: The files as the sender read them.
        files: Absolute paths and contents.
        links: Absolute paths of symbolic links, and their targets.
        folders: Absolute paths of folders that have to exist, even empty.
        variables: The environment variables of the sender that a xacro file may read.
    """

    assignment: Assignment
    source: SourceRecord
    files: tuple[tuple[str, bytes], ...]
    links: tuple[tuple[str, str], ...]
    folders: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]


class PackedResult(Struct, frozen=True):
    """The result of a robot.

    Attributes:
        result: Its record.
        files: Further files of the result, by their place in the folder of the run.
        versions: Of all libraries, and a hash of our own code.
    """

    result: RobotRecord | Unchanged
    files: tuple[tuple[str, bytes], ...] = ()
    versions: Mapping[str, str] = field(default_factory=present_versions)


def pack(assignment: Assignment) -> PackedRobot | None:
    """Pack a robot with all its files; None if it cannot be read."""
    subject = subject_of(assignment)
    reading = read_robot(
        str(assignment.source.path),
        subject.packages,
        subject.arguments,
        subject.environment,
    )
    if isinstance(reading, SourceError):
        return None
    paths = [_normalised(file.path) for file in reading.inputs]
    contents = {path.resolve(): path.read_bytes() for path in paths}
    contents |= dict(_marks({*contents, *paths}))
    return PackedRobot(
        assignment=assignment,
        source=source_record(structs.replace(subject, inputs=reading.inputs)),
        files=tuple((str(path), content) for path, content in contents.items()),
        links=tuple((str(path), str(path.resolve())) for path in _links(paths)),
        folders=tuple(str(_normalised(path)) for path in subject.packages.values()),
        variables=tuple(allowed_environment(subject.environment).items()),
    )


def _marks(paths: Iterable[Path]) -> Iterator[tuple[Path, bytes]]:
    """Yield the package manifests and repository markers of folders above files."""
    for folder in {folder for path in paths for folder in path.parents}:
        manifest = folder / _MANIFEST
        if manifest.is_file():
            yield manifest.resolve(), manifest.read_bytes()
        if (folder / _REPOSITORY).exists():
            yield folder.resolve() / _REPOSITORY, b""


def _links(paths: Iterable[Path]) -> list[Path]:
    """List the symbolic links in the paths of files, outer ones first."""
    places = {place for path in paths for place in (path, *path.parents)}
    links = (place for place in places if place.is_symlink())
    return sorted(links, key=lambda place: len(place.parts))


@contextmanager
def unpacked(packed: PackedRobot) -> Iterator[tuple[Assignment, Mapping[str, str]]]:
    """Unpack a robot, for as long as the block runs.

    Yields:
        The robot with paths of this machine, and environment variables for it.
    """
    with temporary_folder() as made:
        # The temporary folder may be below symbolic links.
        scratch = made.resolve()
        out = scratch / "out"
        root = _root(out)
        for folder in packed.folders:
            _below(root, folder).mkdir(parents=True, exist_ok=True)
        for path, content in packed.files:
            file = _below(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        for path, target in packed.links:
            link = _below(root, path)
            if not os.path.lexists(link):
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(_below(root, target))
        variables = {
            name: _moved_places(root, value) if name in _PLACES else value
            for name, value in packed.variables
        }
        yield _moved(packed.assignment, root, out), variables


def _moved_places(root: Path, value: str) -> str:
    """Put the folders of a search path below another root."""
    places = filter(None, value.split(os.pathsep))
    return os.pathsep.join(str(_below(root, place)) for place in places)


def _moved(assignment: Assignment, root: Path, out: Path) -> Assignment:
    source, options = assignment.source, assignment.options
    return structs.replace(
        assignment,
        source=structs.replace(
            source,
            path=_below(root, source.path),
            packages=tuple((n, _below(root, folder)) for n, folder in source.packages),
        ),
        options=structs.replace(
            options,
            packages=tuple((name, str(_below(root, folder))) for name, folder in options.packages),
        ),
        out=out,
        root=root,
    )


def _normalised(path: str | Path) -> Path:
    """Return an absolute path without ``..``, with its symbolic links."""
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() follows links


def _below(root: Path, path: str | Path) -> Path:
    absolute = _normalised(path)
    return root / absolute.relative_to(absolute.anchor)


def examine_packed(pool: WorkerPool, packed: PackedRobot) -> PackedResult | None:
    """Unpack a robot and examine it.

    Returns:
        Its result; None if a file that it needs was not packed.
    """
    with unpacked(packed) as (assignment, variables):
        result = examine_isolated(pool, assignment, variables)
        if isinstance(result, RobotRecord):
            if result.source != packed.source:
                return None
            result = _without(result, _root(assignment.out))
        return PackedResult(result, tuple(_files_of(assignment.out)))


def unpack_result(packed_result: PackedResult, out: Path, place: str) -> None:
    """Put the files of a result into the folder of a run, in place of former ones.

    Args:
        packed_result: The result.
        out: Folder of the run.
        place: Path of the robot within each folder of the run.
    """
    if isinstance(packed_result.result, RobotRecord):
        discard_former(out, place)
    by_target: dict[Path, dict[Path, bytes]] = {}
    for name, content in packed_result.files:
        path = Path(name)
        target = out / Path(*path.parts[:2])
        by_target.setdefault(target, {})[Path(*path.parts[2:])] = content
    for target, contents in by_target.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = target.parent
        with tempfile.TemporaryDirectory(prefix=".urdf-usd-", dir=folder) as name:
            part = Path(name, "part")
            for inner, content in contents.items():
                file = part / inner
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            if target.is_dir():
                shutil.rmtree(target)
            part.replace(target)


def _files_of(out: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(path for path in out.rglob("*") if path.is_file()):
        content = path.read_bytes()
        place = path.relative_to(out)
        if place.parts[0] == "expanded":
            # It has paths of this machine.
            content = content.replace(str(_root(out)).encode(), b"")
        yield place.as_posix(), content


def _root(out: Path) -> Path:
    return out.with_name("root")


def _without(record: RobotRecord, root: Path) -> RobotRecord:
    """Remove the folder of unpacked files from paths of files outside of the robot."""
    text = record_json(record).decode()
    return decode_record(text.replace(str(root), "").encode())
