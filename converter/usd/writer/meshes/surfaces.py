"""Reading of mesh files, and writing to the mesh library."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeAlias

from msgspec import structs
from pxr import Sdf

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.file_content import LARGEST_MESH, read_file
from urdf_usd.converter.hulls import fills_hull
from urdf_usd.converter.meshes.binary_stl import holds_binary_stl
from urdf_usd.converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    has_groups,
    mirrored,
    split_groups,
)
from urdf_usd.converter.meshes.read import decode_mesh, mesh_notes
from urdf_usd.converter.usd.writer.materials.textures import is_outside, own_folders
from urdf_usd.converter.usd.writer.meshes.library import (
    ColliderGroups,
    MeshKey,
    MeshLibrary,
    MeshUse,
    Mirror,
)
from urdf_usd.converter.usd.writer.meshes.prims import SurfaceParts, write_mesh
from urdf_usd.converter.usd.writer.names import sibling_names
from urdf_usd.converter.usd.writer.specs import define, show_spec_name

# Name and surface of each group of a mesh.
Groups: TypeAlias = Sequence[tuple[str, PolygonMesh]]

# Name of groups without name.
_UNNAMED = "group"
# Share of its convex hull that a convex group fills: decompositions write few digits.
_FILLED = 0.95
# Keywords of references to other files. Equal files without them are equal meshes; with
# them only in the same folder.
_REFERENCES = (b"mtllib", b"init_from", b'"uri"', b"TextureFile")


def write_surfaces(
    uses: Mapping[MeshKey, MeshUse], layer: Sdf.Layer, root: Sdf.Path
) -> MeshLibrary:
    """Write all meshes below a prim of a library; one is in memory at a time.

    Args:
        uses: Meshes and their uses.
        layer: The library.
        root: Parent of the mesh prims.
    """
    writer = _Writer(uses, layer, root)
    for file, mirrors in _by_file(uses).items():
        location = uses[file, mirrors[0]].location
        try:
            writer.write(file, mirrors, location)
        except (MeshError, OSError) as error:
            reason = (
                f"it cannot be opened: {error.strerror}"
                if isinstance(error, OSError)
                else str(error)
            )
            writer.library.unreadable[file] = reason
            message = f"mesh {Path(file).name!r} cannot be read: {reason}"
            writer.diagnostics.append(Diagnostic("mesh-unreadable", message, location))
    return structs.replace(writer.library, diagnostics=tuple(writer.diagnostics))


class _Writer:
    """Writes every surface once, also if several files have the same content.

    Attributes:
        library: The library so far.
        diagnostics: Diagnostics so far.
    """

    def __init__(self, uses: Mapping[MeshKey, MeshUse], layer: Sdf.Layer, root: Sdf.Path) -> None:
        self.library = MeshLibrary({}, {}, {}, {}, ())
        self.diagnostics: list[Diagnostic] = []
        self._uses = uses
        self._layer = layer
        self._root = root
        names = sibling_names(Path(path).stem for path, _ in uses)
        self._names = dict(zip(uses, names, strict=True))
        self._folders_of = cache(own_folders)
        self._alike = _of_equal_size({file for file, _ in uses})
        # By content.
        self._has_groups: dict[str, bool] = {}
        self._meshes: dict[tuple[str, Mirror], tuple[Sdf.Path, SurfaceParts]] = {}
        self._groups: dict[tuple[str, Mirror], ColliderGroups] = {}

    def write(self, file: str, mirrors: Sequence[Mirror], location: Location | None) -> None:
        """Write the meshes of a file.

        Args:
            file: The file.
            mirrors: Axes along which it is mirrored, of each of its meshes.
            location: Location of the link that uses it first.

        Raises:
            MeshError: The file cannot be read.
            OSError: The file cannot be opened.
        """
        data = read_file(Path(file), LARGEST_MESH)
        content = _content(data, file) if file in self._alike else file
        mesh: PolygonMesh | None = None

        def decoded() -> PolygonMesh:
            nonlocal mesh
            if mesh is None:
                mesh = decode_mesh(data, Path(file))
                self.diagnostics += mesh_notes(Path(file).name, mesh, location)
                self.diagnostics += self._from_outside(mesh, file, location)
            return mesh

        for mirror in mirrors:
            key, use = (file, mirror), self._uses[file, mirror]
            same = content, mirror
            if content not in self._has_groups:
                self._has_groups[content] = has_groups(decoded())
            in_groups = use.collider and self._has_groups[content]
            if in_groups:
                if same not in self._groups:
                    groups = split_groups(mirrored(decoded(), mirror))
                    if not any(other == content for other, _ in self._groups):
                        self.diagnostics += concave_groups(file, groups, location)
                    self._groups[same] = self._write_groups(key, groups)
                self.library.groups[key] = self._groups[same]
            if use.visual or not in_groups:
                if same not in self._meshes:
                    path = self._root.AppendChild(self._names[key])
                    whole = mirrored(decoded(), mirror)
                    self._meshes[same] = path, write_mesh(self._layer, path, whole)
                self.library.prims[key], self.library.parts[file] = self._meshes[same]

    def _from_outside(
        self, mesh: PolygonMesh, file: str, location: Location | None
    ) -> list[Diagnostic]:
        """Report files of a mesh that are outside its folders."""
        return [
            Diagnostic(
                "file-outside",
                f"{path} lies outside the folders of its mesh; it is used",
                location,
            )
            for path in mesh.sibling_files
            if is_outside(path, self._folders_of(Path(file).parent))
        ]

    def _write_groups(self, key: MeshKey, groups: Groups) -> ColliderGroups:
        """Write the groups of a mesh below an Xform, as positions and faces alone."""
        name = self._names[key]
        if self._uses[key].visual:
            taken = [
                *self._names.values(),
                *(g.prim.name for g in self._groups.values()),
            ]
            (name,) = sibling_names([f"{name}_groups"], taken)
        prim = self._root.AppendChild(name)
        define(self._layer, prim, "Xform")
        names = sibling_names(group or _UNNAMED for group, _ in groups)
        for child, (group, surface) in zip(names, groups, strict=True):
            write_mesh(self._layer, prim.AppendChild(child), surface)
            spec = self._layer.GetPrimAtPath(prim.AppendChild(child))
            show_spec_name(spec, group or _UNNAMED)
        return ColliderGroups(prim, names)


def concave_groups(file: str, groups: Groups, location: Location | None) -> tuple[Diagnostic, ...]:
    """Report the groups of a mesh that fill much less than their convex hulls."""
    concave = [name or _UNNAMED for name, group in groups if not _is_convex(group)]
    if not concave:
        return ()
    message = (
        f"mesh {Path(file).name!r}: {len(concave)} of {len(groups)} groups are not "
        f"convex, such as {concave[0]!r}; each collides as its convex hull"
    )
    return (Diagnostic("collider-concave", message, location),)


def _is_convex(mesh: PolygonMesh) -> bool:
    return fills_hull(mesh.points, mesh.face_counts, mesh.face_indices, _FILLED)


def _by_file(uses: Iterable[MeshKey]) -> dict[str, list[Mirror]]:
    files: dict[str, list[Mirror]] = {}
    for file, mirror in uses:
        files.setdefault(file, []).append(mirror)
    return files


def _of_equal_size(files: Iterable[str]) -> frozenset[str]:
    """Return the files with the same size as another; only these can be equal."""
    sizes: dict[int, list[str]] = {}
    for file in files:
        # Missing files are reported when they are read.
        with suppress(OSError, ValueError):
            sizes.setdefault(Path(file).stat().st_size, []).append(file)
    return frozenset(file for alike in sizes.values() if len(alike) > 1 for file in alike)


def _content(data: bytes, file: str) -> str:
    """Return a key of the content; equal keys mean equal meshes."""
    digest = hashlib.sha256(data).hexdigest()
    refers = not holds_binary_stl(data) and any(word in data for word in _REFERENCES)
    return f"{digest} {Path(file).parent}" if refers else digest
