"""Export of a USD asset to a URDF file and mesh files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, structs
from pxr import Ar

from urdf_usd.conformance.export.reading import StageReading, read_usd
from urdf_usd.conformance.export.shapes import Texture
from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.file_content import has_mark, is_same_file
from urdf_usd.converter.meshes.obj import obj_text
from urdf_usd.converter.options import VariantChoice
from urdf_usd.converter.robot.joint_chains import is_marked
from urdf_usd.converter.robot.model import Collision, Material, MeshFile, Robot, Visual, robot_line
from urdf_usd.converter.scratch import scratch_folder
from urdf_usd.converter.urdf.write import extend_for_mujoco, mjcf_text, write
from urdf_usd.converter.urdf.xml import writable
from urdf_usd.converter.usd.writer.specs import legal_name, sibling_names
from urdf_usd.converter.usd.writer.textures import IMAGE_TYPES, LARGEST_IMAGE

MESHES = "meshes"
# Identifies files that may be replaced.
_MARK = "Written by urdf-usd export"
_Shape = TypeVar("_Shape", Visual, Collision)


class Export(Struct, frozen=True):
    urdf: Path  # the file
    robot: Robot  # as written
    diagnostics: tuple[Diagnostic, ...]  # content of the USD that is not representable

    def __repr__(self) -> str:
        line = robot_line(self.robot, self.diagnostics)
        return f"<Export {str(self.urdf)!r}: {line}>"


def export(
    usd: str | os.PathLike[str],
    urdf: str | os.PathLike[str],
    *,
    force: bool = False,
    root: str | None = None,
    loops: bool = False,
    variants: Iterable[VariantChoice] = (),
    strict: bool = False,
) -> Export:
    """Write the robot in a USD file as URDF.

    Meshes and textures are written to ``meshes/`` in the URDF's folder and referred to
    by relative paths. All files are written to a temporary folder first and then moved.

    A joint of several axes becomes a chain of joints, which a conversion puts together
    again.

    Args:
        usd: Root layer of a USD, from any converter.
        urdf: File to write; its folder is created if necessary.
        force: Whether files that were not written by an export of this URDF may be
            replaced.
        root: Path of a prim of the robot, if the stage has several: an articulation
            root, a body, or a prim above the bodies of one robot.
        loops: Whether to write joints that close loops, as custom elements of the URDF
            and as constraints in an MJCF file of its name that attaches it.
        variants: Variants to select in the USD.
        strict: Whether to refuse a USD that refers to files outside its folder.

    Raises:
        ConversionError: The robot cannot be read or written; nothing was changed.
    """
    prepared = prepare_export(usd, urdf, root=root, loops=loops, variants=variants, strict=strict)
    return write_export(prepared, force=force)


class PreparedExport(Struct, frozen=True, eq=False):
    export: Export
    # Content of each file, by path relative to the URDF's folder; the URDF is last.
    files: Mapping[str, bytes]


def prepare_export(
    usd: str | os.PathLike[str],
    urdf: str | os.PathLike[str],
    *,
    root: str | None = None,
    loops: bool = False,
    variants: Iterable[VariantChoice] = (),
    strict: bool = False,
) -> PreparedExport:
    """Read the robot in a USD file, without writing; for arguments and errors see :func:`export`.

    The URDF must not replace the USD (AuthoringError).
    """
    target = Path(urdf)
    try:
        replaces = is_same_file(target, Path(usd))
    except (OSError, ValueError) as error:
        message = f"{target} cannot be written: {error}"
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    if replaces:
        message = f"{target} is the USD that is exported, and is not overwritten"
        raise AuthoringError((Diagnostic("target-exists", message),))
    reading = read_usd(usd, root=root, variants=variants, strict=strict)
    mark, notes = _mark(target), list(reading.diagnostics)
    images = _read_images(reading.textures, notes)
    robot, files = _with_mesh_files(reading, images, mark)
    files |= {f"{MESHES}/{name}": content for name, content in images.values()}
    cut = reading.loops if loops else ()
    if cut or any(is_marked(joint) for joint in robot.joints):
        robot = extend_for_mujoco(robot, cut, notes)
    if cut:
        name = target.with_suffix(".mjcf").name
        files[name] = mjcf_text(target.name, robot, cut, mark)
        notes = [note for note in notes if note.rule != "joint-loop-opened"]
    files[target.name] = write(robot, comment=mark)
    return PreparedExport(Export(target, robot, tuple(notes)), files)


def write_export(prepared: PreparedExport, *, force: bool = False) -> Export:
    """Write the files of an export, or none of them (AuthoringError); see :func:`export`."""
    target, files = prepared.export.urdf, prepared.files
    try:
        # Other files are not replaced. Images contain no mark, but the same content.
        mark = _mark(target).encode().lower()
        foreign = [
            path
            for path, content in ((target.parent / name, files[name]) for name in files)
            if not force
            and path.exists()
            and not has_mark(path, mark)
            and not (path.is_file() and path.read_bytes() == content)
        ]
        if foreign:
            others = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
            message = f"{foreign[0]}{others} was not written by an export of {target.name}"
            message = f"{message}; --force replaces it"
            raise AuthoringError((Diagnostic("target-exists", message),))
        folder = target.parent.absolute()
        above = next(one for one in (folder, *folder.parents) if one.is_dir())
        with scratch_folder(above) as scratch:
            for index, content in enumerate(files.values()):
                (scratch / str(index)).write_bytes(content)
            _place([target.parent / name for name in files], scratch)
    except (OSError, ValueError) as error:
        # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else None
        message = f"{target} cannot be written: {reason or error}"
        raise AuthoringError((Diagnostic("target-unwritable", message),)) from error
    return prepared.export


def _place(paths: Sequence[Path], scratch: Path) -> None:
    """Move numbered files to all paths or none; the last file is moved last."""
    new: list[Path] = []
    try:
        for index, path in enumerate(paths):
            for missing in [one for one in (path, *path.parents) if not one.exists()][::-1]:
                new.append(missing)
                if missing != path:
                    missing.mkdir()
            (scratch / str(index)).replace(path)
    except (OSError, ValueError):
        for path in reversed(new):
            path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        raise


def _mark(target: Path) -> str:
    """Return the comment that identifies our files; XML forbids double hyphens."""
    return writable(f"{_MARK}: {target.name}".replace("--", "- -").rstrip("-"))


def _read_images(
    textures: Mapping[str, Texture], notes: list[Diagnostic]
) -> dict[str, tuple[str, bytes]]:
    """Return names and contents of images by location; those that are no PNG or JPG are dropped."""
    found: dict[str, tuple[str, bytes]] = {}
    for location in dict.fromkeys(texture.location for texture in textures.values()):
        # A texture may be inside a package.
        asset = Ar.GetResolver().OpenAsset(Ar.ResolvedPath(location)) if location else None
        content = bytes(asset.GetBuffer()) if asset and asset.GetSize() <= LARGEST_IMAGE else b""
        suffix = next((end for head, end in IMAGE_TYPES.items() if content.startswith(head)), None)
        if suffix is None:
            references = {t.reference for t in textures.values() if t.location == location}
            message = f"texture {min(references)!r} cannot be read as PNG or JPG"
            notes.append(Diagnostic("texture-dropped", message))
        else:
            # The last part of a path in a package is followed by a bracket.
            stem = Path(location.rpartition("[")[2].rstrip("]")).stem
            digest = hashlib.sha256(content).hexdigest()[:8]
            found[location] = (f"{legal_name(stem)}_{digest}{suffix}", content)
    return found


def _with_mesh_files(
    reading: StageReading, images: Mapping[str, tuple[str, bytes]], mark: str
) -> tuple[Robot, dict[str, bytes]]:
    """Assign mesh files and textures to shapes; equal surfaces share a file."""
    texts = {uri: obj_text(mesh, mark) for uri, mesh in reading.meshes.items()}
    first: dict[bytes, str] = {}
    for uri, text in texts.items():
        first.setdefault(text, uri)
    # The names of the link and the mesh prim, which is often "visual".
    stems = sibling_names("_".join(uri.strip("/").split("/")[-2:]) for uri in first.values())
    files = {text: f"{MESHES}/{stem}.obj" for text, stem in zip(first, stems, strict=True)}

    def linked(shape: _Shape) -> _Shape:
        geometry = shape.geometry
        if not isinstance(geometry, MeshFile):
            return shape
        texture = reading.textures.get(geometry.uri)
        if isinstance(shape, Visual) and texture and texture.location in images:
            image = f"{MESHES}/{images[texture.location][0]}"
            plain = shape.material or Material(texture.material)
            shape = structs.replace(shape, material=structs.replace(plain, texture_uri=image))
        file = files[texts[geometry.uri]]
        return structs.replace(shape, geometry=structs.replace(geometry, uri=file))

    links = tuple(
        structs.replace(
            link,
            visuals=tuple(map(linked, link.visuals)),
            collisions=tuple(map(linked, link.collisions)),
        )
        for link in reading.robot.links
    )
    contents = {file: text for text, file in files.items()}
    return structs.replace(reading.robot, links=links), contents
