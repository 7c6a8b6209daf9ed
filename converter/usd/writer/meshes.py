"""The mesh library, whose prims links reference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray
from pxr import Gf, Sdf, Vt

from urdf_usd.converter.colors import linear_from_srgb
from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.file_content import LARGEST_MESH, read_file
from urdf_usd.converter.meshes.mesh import (
    CornerValues,
    MeshError,
    PolygonMesh,
    has_groups,
    mirrored,
    split_groups,
)
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial
from urdf_usd.converter.meshes.read import decode_mesh, mesh_notes
from urdf_usd.converter.meshes.stl import holds_binary_stl
from urdf_usd.converter.robot.model import Collision, MeshFile, Robot, Shape
from urdf_usd.converter.robot.solids import fills_hull
from urdf_usd.converter.usd.writer.prims import sibling_names
from urdf_usd.converter.usd.writer.shading import coordinates_name
from urdf_usd.converter.usd.writer.specs import KINDS, UNIFORM, define, show_spec_name, write
from urdf_usd.converter.usd.writer.textures import outside_note

LIBRARY_ROOT = Sdf.Path("/Geometry")
# A mesh file, and per axis whether its scale is negative: mirrored meshes are separate,
# because a negative scale on a prim turns it inside out for some consumers.
MeshKey: TypeAlias = tuple[str, tuple[bool, bool, bool]]

_UNNAMED_MATERIAL, _UNNAMED_GROUP = "material", "group"
# Share of its convex hull that a convex group fills: decompositions write few digits.
_FILLED = 0.95
# Keywords of references to other files. Equal files without them are equal meshes; with
# them only in the same folder.
_REFERENCES = (b"mtllib", b"init_from", b'"uri"', b"TextureFile")


class _Use(Struct):
    """What a mesh is used for: as a whole, and as groups that collide each."""

    location: Location | None  # Of the link that uses it first.
    whole: bool = False
    groups: bool = False


class SurfaceParts(Struct, frozen=True):
    """Parts of a mesh with different materials."""

    # Name of the subset prim of each part; None if the part is the whole mesh.
    materials: tuple[tuple[str | None, MeshMaterial], ...]
    covered: bool  # Whether every face has a material of the file.
    coordinate_sets: tuple[int, ...]  # Numbers of its sets of texture coordinates.


class ColliderGroups(Struct, frozen=True):
    """An Xform with a mesh per group of a file; each collides as its own convex hull."""

    prim: Sdf.Path
    names: tuple[str, ...]


class MeshLibrary(Struct, frozen=True):
    """The meshes of a robot."""

    prims: dict[MeshKey, Sdf.Path]  # Of meshes that are used as a whole.
    groups: dict[MeshKey, ColliderGroups]  # Of colliders with several groups.
    parts: dict[str, SurfaceParts]  # By file.
    unreadable: frozenset[str]
    diagnostics: tuple[Diagnostic, ...]

    def is_readable(self, geometry: MeshFile) -> bool:
        """Return whether a mesh has a file that could be read."""
        return geometry.path is not None and geometry.path not in self.unreadable

    def groups_of(self, shape: Shape) -> ColliderGroups | None:
        """Return the groups of a collider; None if it is one shape."""
        mesh = shape.geometry
        if not isinstance(mesh, MeshFile) or mesh.path is None:
            return None
        collides_as_hulls = isinstance(shape, Collision) and shape.approximation is None
        return self.groups.get(mesh_key(mesh)) if collides_as_hulls else None


def mesh_key(geometry: MeshFile) -> MeshKey:
    """Return the key of a mesh with a file."""
    if geometry.path is None:
        raise ValueError(f"mesh {geometry.uri!r} has no file")
    x, y, z = (factor < 0 for factor in geometry.scale)
    return geometry.path, (x, y, z)


def author_mesh_library(robot: Robot, layer: Sdf.Layer) -> MeshLibrary:
    """Read every mesh file of a robot and write it to an empty layer.

    One mesh is in memory at a time. Every surface is written once, also if several files
    have the same content.
    """
    define(layer, LIBRARY_ROOT, "Scope").specifier = Sdf.SpecifierClass
    layer.defaultPrim = LIBRARY_ROOT.name
    uses: dict[MeshKey, _Use] = {}
    for link in robot.links:
        for shape in link.shapes:
            if isinstance(shape.geometry, MeshFile) and shape.geometry.path is not None:
                use = uses.setdefault(mesh_key(shape.geometry), _Use(link.location))
                if isinstance(shape, Collision) and shape.approximation is None:
                    use.groups = True
                else:
                    use.whole = True
    writer = _Writer(uses, layer)
    unreadable = set()
    files: dict[str, list[MeshKey]] = {}
    for key in uses:
        files.setdefault(key[0], []).append(key)
    for file, keys in files.items():
        try:
            writer.write(Path(file), keys)
        except (MeshError, OSError) as error:
            reason = str(error)
            if isinstance(error, OSError):
                reason = f"it cannot be opened: {error.strerror}"
            unreadable.add(file)
            message = f"mesh {Path(file).name!r} cannot be read: {reason}"
            writer.notes.append(Diagnostic("mesh-unreadable", message, uses[keys[0]].location))
    return structs.replace(
        writer.library, unreadable=frozenset(unreadable), diagnostics=tuple(writer.notes)
    )


class _Writer:
    def __init__(self, uses: dict[MeshKey, _Use], layer: Sdf.Layer) -> None:
        self.library = MeshLibrary({}, {}, {}, frozenset(), ())
        self.notes: list[Diagnostic] = []
        self._uses, self._layer = uses, layer
        names = sibling_names(Path(path).stem for path, _ in uses)
        self._names = dict(zip(uses, names, strict=True))
        self._alike = _of_equal_size({file for file, _ in uses})
        # By content.
        self._has_groups: dict[str, bool] = {}
        self._meshes: dict[MeshKey, tuple[Sdf.Path, SurfaceParts]] = {}
        self._groups: dict[MeshKey, ColliderGroups] = {}

    def write(self, file: Path, keys: Sequence[MeshKey]) -> None:
        """Write a file as it is used, by the keys of its mirror images."""
        data = read_file(file, LARGEST_MESH)
        content = _content(data, file) if str(file) in self._alike else str(file)
        location = self._uses[keys[0]].location

        @cache
        def decoded() -> PolygonMesh:
            mesh = decode_mesh(data, file)
            self.notes += mesh_notes(file.name, mesh, location)
            for path in mesh.sibling_files:
                self.notes += outside_note(path, file.parent, location)
            return mesh

        for key in keys:
            use, same = self._uses[key], (content, key[1])
            if content not in self._has_groups:
                self._has_groups[content] = has_groups(decoded())
            in_groups = use.groups and self._has_groups[content]
            if in_groups:
                if same not in self._groups:
                    is_new = not any(other == content for other, _ in self._groups)
                    groups = split_groups(mirrored(decoded(), key[1]))
                    self._groups[same] = self._write_groups(key, groups)
                    if is_new:
                        self.notes += _concave_groups(file.name, groups, location)
                self.library.groups[key] = self._groups[same]
            if use.whole or not in_groups:
                if same not in self._meshes:
                    path = LIBRARY_ROOT.AppendChild(self._names[key])
                    parts = write_mesh(self._layer, path, mirrored(decoded(), key[1]))
                    self._meshes[same] = path, parts
                self.library.prims[key], self.library.parts[key[0]] = self._meshes[same]

    def _write_groups(
        self, key: MeshKey, groups: Sequence[tuple[str, PolygonMesh]]
    ) -> ColliderGroups:
        """Write the groups of a mesh below an Xform, as positions and faces alone."""
        name = self._names[key]
        if self._uses[key].whole:
            taken = [*self._names.values(), *(g.prim.name for g in self._groups.values())]
            (name,) = sibling_names([f"{name}_groups"], taken)
        prim = LIBRARY_ROOT.AppendChild(name)
        define(self._layer, prim, "Xform")
        names = sibling_names(group or _UNNAMED_GROUP for group, _ in groups)
        for child, (group, surface) in zip(names, groups, strict=True):
            write_mesh(self._layer, prim.AppendChild(child), surface)
            spec = self._layer.GetPrimAtPath(prim.AppendChild(child))
            show_spec_name(spec, group or _UNNAMED_GROUP)
        return ColliderGroups(prim, names)


def _concave_groups(
    name: str, groups: Sequence[tuple[str, PolygonMesh]], location: Location | None
) -> tuple[Diagnostic, ...]:
    """Report the groups of a mesh that fill much less than their convex hulls."""
    concave = [
        group or _UNNAMED_GROUP
        for group, mesh in groups
        if not fills_hull(mesh.points, mesh.face_counts, mesh.face_indices, _FILLED)
    ]
    if not concave:
        return ()
    message = (
        f"mesh {name!r}: {len(concave)} of {len(groups)} groups are not "
        f"convex, such as {concave[0]!r}; each collides as its convex hull"
    )
    return (Diagnostic("collider-concave", message, location),)


def _of_equal_size(files: Iterable[str]) -> frozenset[str]:
    """Return the files with the same size as another; only these can be equal."""
    sizes: dict[int, list[str]] = {}
    for file in files:
        # Missing files are reported when they are read.
        with suppress(OSError, ValueError):
            sizes.setdefault(Path(file).stat().st_size, []).append(file)
    return frozenset(file for alike in sizes.values() if len(alike) > 1 for file in alike)


def _content(data: bytes, file: Path) -> str:
    """Return a key of the content; equal keys mean equal meshes."""
    digest = hashlib.sha256(data).hexdigest()
    refers = not holds_binary_stl(data) and any(word in data for word in _REFERENCES)
    return f"{digest} {file.parent}" if refers else digest


def write_mesh(layer: Sdf.Layer, path: Sdf.Path, mesh: PolygonMesh) -> SurfaceParts:
    """Define a mesh prim and its subsets, and return the parts with materials.

    Subdivision is off, and faces are right-handed.
    """
    prim = define(layer, path, "Mesh")
    attributes = mesh.attributes
    points = np.ascontiguousarray(mesh.points, np.float32)
    # Per coordinate, which is five times as fast as numpy's reduction of rows; negative
    # zeros become positive.
    lower = Gf.Vec3f(*(float(coordinates.min()) + 0.0 for coordinates in points.T))
    upper = Gf.Vec3f(*(float(coordinates.max()) + 0.0 for coordinates in points.T))
    write(prim, "points", Vt.Vec3fArray.FromNumpy(points))
    write(prim, "faceVertexCounts", Vt.IntArray.FromNumpy(mesh.face_counts))
    write(prim, "faceVertexIndices", Vt.IntArray.FromNumpy(mesh.face_indices))
    write(prim, "subdivisionScheme", "none")
    write(prim, "orientation", "rightHanded")
    write(prim, "extent", Vt.Vec3fArray([lower, upper]))
    if any(material.double_sided for material in attributes.materials):
        write(prim, "doubleSided", True)
    if (normals := attributes.normals) is not None:
        # A primvar, because the normals attribute cannot be indexed.
        _write_primvar(prim, "normals", KINDS.Normal3fArray, normals.values, normals, mesh)
    known = enumerate(attributes.coordinate_sets)
    sets = [(number, some) for number, some in known if some is not None]
    for number, some in sets:
        name = coordinates_name(number)
        _write_primvar(prim, name, KINDS.TexCoord2fArray, some.values, some, mesh)
    if (colors := attributes.colors) is not None:
        linear = linear_from_srgb(colors.values)
        _write_primvar(prim, "displayColor", KINDS.Color3fArray, linear, colors, mesh)
    materials, covered = _write_subsets(prim, mesh)
    return SurfaceParts(materials, covered, tuple(number for number, _ in sets))


def _write_primvar(
    prim: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    values: NDArray[np.float64],
    corners: CornerValues,
    mesh: PolygonMesh,
) -> None:
    array = Vt.Vec2fArray if values.shape[1] == 2 else Vt.Vec3fArray
    per_point = len(values) == len(mesh.points) and np.array_equal(
        corners.indices, mesh.face_indices
    )
    single = array.FromNumpy(np.ascontiguousarray(values, np.float32))
    interpolation = "vertex" if per_point else "faceVarying"
    write(prim, f"primvars:{name}", single, kind, interpolation=interpolation)
    if not per_point:
        numbers = Vt.IntArray.FromNumpy(corners.indices)
        write(prim, f"primvars:{name}:indices", numbers, KINDS.IntArray)


def _write_subsets(
    prim: Sdf.PrimSpec, mesh: PolygonMesh
) -> tuple[tuple[tuple[str | None, MeshMaterial], ...], bool]:
    """Write a subset for each material that has a colour; none for one of all faces.

    Returns:
        Materials by name of their subset, None for the whole mesh; and whether every face
        has one.
    """
    numbers, known = mesh.attributes.face_materials, mesh.attributes.materials
    faces: dict[int, NDArray[np.int64]] = {}
    if numbers is not None:
        used = np.flatnonzero(np.bincount(numbers[numbers >= 0])).tolist()
        faces = {i: np.flatnonzero(numbers == i) for i in used if known[i].has_color}
    covered = sum(map(len, faces.values())) == len(mesh.face_counts)
    materials = tuple(known[number] for number in faces)
    if covered and len(materials) == 1:
        return ((None, materials[0]),), True
    names = sibling_names(material.name or _UNNAMED_MATERIAL for material in materials)
    for name, material, some in zip(names, materials, faces.values(), strict=True):
        subset = define(prim.layer, prim.path.AppendChild(name), "GeomSubset")
        write(subset, "elementType", "face")
        write(subset, "indices", Vt.IntArray.FromNumpy(some.astype(np.int32)))
        write(subset, "familyName", "materialBind")
        show_spec_name(subset, material.name or _UNNAMED_MATERIAL)
    if names:
        kind = "partition" if covered else "nonOverlapping"
        family = "subsetFamily:materialBind:familyType"
        write(prim, family, kind, KINDS.Token, UNIFORM)
    return tuple(zip(names, materials, strict=True)), covered
