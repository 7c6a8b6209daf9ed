"""Export of a USD asset to a URDF file and mesh files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.diagnostics.messages import write_failure
from urdf_usd.converter.meshes.obj.writer import obj_text
from urdf_usd.converter.meshes.polygon_mesh import PolygonMesh
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot.model import Geometry, Link, MeshFile, Robot
from urdf_usd.converter.robot.text import robot_line
from urdf_usd.converter.scratch import scratch_folder
from urdf_usd.converter.urdf.writer.write import write
from urdf_usd.converter.usd.reader.names import writable
from urdf_usd.converter.usd.reader.read import StageReading, read_usd
from urdf_usd.converter.usd.writer.names import sibling_names

MESHES = "meshes"
# Identifies files that may be replaced.
_MARK = "Written by urdf-usd export"
_HEAD = 200


@dataclass(frozen=True, slots=True)
class Export:
    """A written URDF.

    Attributes:
        urdf: The file.
        robot: The robot as written.
        diagnostics: Content of the USD that is not representable, or ambiguous.
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
    variants: Iterable[VariantChoice] = (),
    strict: bool = False,
) -> Export:
    """Write the robot in a USD file as URDF.

    Meshes are written to ``meshes/`` in the URDF's folder and referred to by relative
    paths. All files are written to a temporary folder first and then moved.

    Args:
        usd: Root layer of a USD, from any converter.
        urdf: File to write; its folder is created if necessary.
        force: Whether files that were not written by an export of this URDF may be
            replaced.
        variants: Variants to select in the USD.
        strict: Whether to refuse a USD that refers to files outside its folder.

    Raises:
        ConversionError: The robot cannot be read or written; nothing was changed.
    """
    prepared = prepare_export(usd, urdf, variants=variants, strict=strict)
    return write_export(prepared, force=force)


@dataclass(frozen=True, slots=True, eq=False)
class PreparedExport:
    """An export before its files are written.

    Attributes:
        export: Result of the export.
        files: Content of each file, by path relative to the URDF's folder; the URDF is
            last.
    """

    export: Export
    files: Mapping[str, bytes]


def prepare_export(
    usd: str | os.PathLike[str],
    urdf: str | os.PathLike[str],
    *,
    variants: Iterable[VariantChoice] = (),
    strict: bool = False,
) -> PreparedExport:
    """Read the robot in a USD file, without writing.

    Args:
        usd: Root layer of a USD, from any converter.
        urdf: File to write later.
        variants: Variants to select in the USD.
        strict: Whether to refuse a USD that refers to files outside its folder.

    Raises:
        StageError: The robot cannot be read.
    """
    target = Path(urdf)
    reading = read_usd(usd, variants=variants, strict=strict)
    mark = _mark(target)
    robot, meshes = _with_mesh_files(reading)
    files = {f"{MESHES}/{name}": obj_text(mesh, mark) for name, mesh in meshes.items()}
    files[target.name] = write(robot, comment=mark)
    return PreparedExport(Export(target, robot, reading.diagnostics), files)


def write_export(prepared: PreparedExport, *, force: bool = False) -> Export:
    """Write the files of an export; see :func:`export`.

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
        reason = error.strerror if isinstance(error, OSError) else None
        message = write_failure(target, reason or str(error))
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    return prepared.export


def _mark(target: Path) -> str:
    """Return the comment that identifies our files; XML forbids double hyphens."""
    return writable(f"{_MARK}: {target.name}".replace("--", "- -").rstrip("-"))


def _with_mesh_files(reading: StageReading) -> tuple[Robot, dict[str, PolygonMesh]]:
    """Assign mesh files to shapes; equal surfaces share a file.

    Returns:
        The robot, and meshes by file name.
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
    """Return the names of the link and the mesh prim, which is often "visual"."""
    return "_".join(uri.strip("/").split("/")[-2:])


def _digest(mesh: PolygonMesh) -> str:
    content = hashlib.sha256()
    for array in (mesh.points, mesh.face_counts, mesh.face_indices):
        content.update(array.tobytes())
        content.update(b";")
    attributes = mesh.attributes
    if attributes.face_groups is not None:
        content.update(attributes.face_groups.tobytes())
        content.update(repr(attributes.groups).encode())
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
    """Refuse to replace files that were not written by an export of this URDF."""
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
    """Write all files below a folder or none; the last file is moved last."""
    above = folder.absolute()
    while not above.is_dir():
        above = above.parent
    with scratch_folder(above) as scratch:
        for index, content in enumerate(files.values()):
            (scratch / str(index)).write_bytes(content)
        new: list[Path] = []
        try:
            for index, name in enumerate(files):
                path = folder / name
                new += _make_folder(path.parent)
                new += [] if path.exists() else [path]
                (scratch / str(index)).replace(path)
        except (OSError, ValueError):
            for path in reversed(new):
                path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
            raise


def _make_folder(folder: Path) -> list[Path]:
    """Create a folder and its parents; return those that were created."""
    new: list[Path] = []
    while not folder.exists():
        new.append(folder)
        folder = folder.parent
    for one in reversed(new):
        one.mkdir()
    return new[::-1]
