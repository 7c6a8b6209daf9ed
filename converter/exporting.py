"""From a USD asset to a URDF file, with its meshes beside it."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.meshes.obj.writer import obj_text
from urdf_usd.converter.robot.model import MeshFile
from urdf_usd.converter.robot.text import robot_line
from urdf_usd.converter.urdf.writer.write import write
from urdf_usd.converter.usd.reader.names import writable
from urdf_usd.converter.usd.reader.read import read_usd
from urdf_usd.converter.usd.writer.names import sibling_names

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh
    from urdf_usd.converter.robot.model import Geometry, Link, Robot
    from urdf_usd.converter.usd.reader.read import StageReading

MESHES = "meshes"
# How a file that may be replaced is recognised.
_MARK = "Written by urdf-usd export"
_HEAD = 200


@dataclass(frozen=True, slots=True)
class Export:
    """A robot that was written as URDF.

    Attributes:
        urdf: The file.
        robot: The robot as it is written.
        diagnostics: What the USD says that URDF cannot, or says unclearly.
    """

    urdf: Path
    robot: Robot
    diagnostics: tuple[Diagnostic, ...]

    def __repr__(self) -> str:
        line = robot_line(self.robot, self.diagnostics)
        return f"<Export {str(self.urdf)!r}: {line}>"


def export(
    usd: str | os.PathLike[str],
    urdf: str | os.PathLike[str],
    *,
    force: bool = False,
) -> Export:
    """Write the robot in a USD file as URDF.

    Meshes go to ``meshes/`` beside the URDF, which refers to them by relative paths.
    All files are written beside their places first and moved there together.

    Args:
        usd: Root layer of a USD, from any converter.
        urdf: File to write; its folder is made if need be.
        force: Whether files that no export of this URDF wrote may be replaced.

    Raises:
        ConversionError: The robot cannot be read or written; nothing was changed.
    """
    return write_export(prepare_export(usd, urdf), force=force)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedExport:
    """A robot that is ready to be written as URDF.

    Attributes:
        export: What is going to be written.
        files: Content of every file, by its path relative to the URDF's folder; the
            URDF comes last.
    """

    export: Export
    files: Mapping[str, bytes]


def prepare_export(
    usd: str | os.PathLike[str], urdf: str | os.PathLike[str]
) -> PreparedExport:
    """Read the robot in a USD file; nothing is written yet.

    Args:
        usd: Root layer of a USD, from any converter.
        urdf: File that is going to be written.

    Raises:
        StageError: The robot cannot be read.
    """
    target = Path(urdf)
    reading = read_usd(usd)
    mark = _mark(target)
    robot, meshes = _with_mesh_files(reading)
    files = {f"{MESHES}/{name}": obj_text(mesh, mark) for name, mesh in meshes.items()}
    files[target.name] = write(robot, comment=mark)
    return PreparedExport(Export(target, robot, reading.diagnostics), files)


def write_export(prepared: PreparedExport, *, force: bool = False) -> Export:
    """Write a robot that was read; see :func:`export`.

    Raises:
        AuthoringError: The files cannot be written; nothing was changed.
    """
    target = prepared.export.urdf
    try:
        if not force:
            _refuse_others(target, prepared.files)
        _place(target.parent, prepared.files)
    except (OSError, ValueError) as error:
        # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else error
        message = f"{str(target)!r} cannot be written: {reason}"
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    return prepared.export


def _mark(target: Path) -> str:
    """Say in one line who wrote a file; XML comments know no double hyphen."""
    return writable(f"{_MARK}: {target.name}".replace("--", "- -").rstrip("-"))


def _with_mesh_files(reading: StageReading) -> tuple[Robot, dict[str, PolygonMesh]]:
    """Let shapes refer to files; equal surfaces share one.

    Returns:
        The robot, and the mesh of each file by the file's name.
    """
    first: dict[str, str] = {}
    same_as: dict[str, str] = {}
    for uri, mesh in reading.meshes.items():
        same_as[uri] = first.setdefault(_digest(mesh), uri)
    kept = list(first.values())
    stems = sibling_names(_stem(uri) for uri in kept)
    files = {uri: f"{stem}.obj" for uri, stem in zip(kept, stems, strict=True)}
    of_uri = {uri: files[same] for uri, same in same_as.items()}
    links = tuple(_linked(link, of_uri) for link in reading.robot.links)
    meshes = {file: reading.meshes[uri] for uri, file in files.items()}
    return replace(reading.robot, links=links), meshes


def _stem(uri: str) -> str:
    """Name a mesh after its prim and the link that has it: prims are often "visual"."""
    return "_".join(uri.strip("/").split("/")[-2:])


def _digest(mesh: PolygonMesh) -> str:
    content = hashlib.sha256()
    for array in (mesh.points, mesh.face_counts, mesh.face_indices):
        content.update(array.tobytes())
        content.update(b";")
    return content.hexdigest()


def _linked(link: Link, files: Mapping[str, str]) -> Link:
    def linked(geometry: Geometry) -> Geometry:
        if not isinstance(geometry, MeshFile):
            return geometry
        return replace(geometry, uri=f"{MESHES}/{files[geometry.uri]}")

    return replace(
        link,
        visuals=tuple(
            replace(visual, geometry=linked(visual.geometry)) for visual in link.visuals
        ),
        collisions=tuple(
            replace(shape, geometry=linked(shape.geometry)) for shape in link.collisions
        ),
    )


def _refuse_others(target: Path, files: Mapping[str, bytes]) -> None:
    """Refuse to replace what no export of this URDF wrote."""
    mark = _mark(target).encode()
    foreign = [
        path
        for path in (target.parent / name for name in files)
        if path.exists() and not (path.is_file() and mark in _head(path))
    ]
    if foreign:
        others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        message = f"{foreign[0]}{others} was not written by an export of {target.name}"
        message = f"{message}; --force replaces it"
        raise AuthoringError((Diagnostic("target-exists", message),))


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD)


def _place(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder, all or none; the last one appears last."""
    above = folder.absolute()
    while not above.is_dir():
        above = above.parent
    with tempfile.TemporaryDirectory(prefix=".urdf-usd-", dir=above) as scratch:
        for index, content in enumerate(files.values()):
            Path(scratch, str(index)).write_bytes(content)
        new: list[Path] = []
        try:
            for index, name in enumerate(files):
                path = folder / name
                new += _make_folder(path.parent)
                new += [] if path.exists() else [path]
                Path(scratch, str(index)).replace(path)
        except (OSError, ValueError):
            for path in reversed(new):
                path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
            raise


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder and those above it, and return the ones that are new."""
    new: list[Path] = []
    while not folder.exists():
        new.append(folder)
        folder = folder.parent
    for one in reversed(new):
        one.mkdir()
    return new[::-1]
