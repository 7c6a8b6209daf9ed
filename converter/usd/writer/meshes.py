"""The mesh library, whose prims links reference."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
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
from urdf_usd.converter.usd.writer.specs import define, show_spec_name, write, write_new
from urdf_usd.converter.usd.writer.textures import is_outside, own_folders

LIBRARY_ROOT = Sdf.Path("/Geometry")

Mirror: TypeAlias = tuple[bool, bool, bool]
# A mesh file, and per axis whether its scale is negative: mirrored meshes are separate,
# because a negative scale on a prim turns it inside out for some consumers.
MeshKey: TypeAlias = tuple[str, Mirror]
# Name and surface of each group of a mesh.
Groups: TypeAlias = Sequence[tuple[str, PolygonMesh]]

_UNNAMED_MATERIAL, _UNNAMED_GROUP = "material", "group"
# Share of its convex hull that a convex group fills: decompositions write few digits.
_FILLED = 0.95
# Keywords of references to other files. Equal files without them are equal meshes; with
# them only in the same folder.
_REFERENCES = (b"mtllib", b"init_from", b'"uri"', b"TextureFile")
# Types of arrays by number of components.
_ARRAYS = {2: Vt.Vec2fArray, 3: Vt.Vec3fArray}


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
    unreadable: dict[str, str]  # Reason, by file.
    diagnostics: tuple[Diagnostic, ...]

    def groups_of(self, shape: Shape) -> ColliderGroups | None:
        """Return the groups of a collider; None if it is one shape."""
        geometry = shape.geometry
        if not (isinstance(shape, Collision) and shape.approximation is None):
            return None
        if not isinstance(geometry, MeshFile) or geometry.path is None:
            return None
        return self.groups.get(mesh_key(geometry))


def mesh_key(geometry: MeshFile) -> MeshKey:
    """Return the key of a mesh with a file."""
    if geometry.path is None:
        raise ValueError(f"mesh {geometry.uri!r} has no file")
    x, y, z = (factor < 0 for factor in geometry.scale)
    return geometry.path, (x, y, z)


def author_mesh_library(robot: Robot, layer: Sdf.Layer) -> MeshLibrary:
    """Read every mesh that the robot uses and write it to a library.

    One mesh is in memory at a time.

    Args:
        robot: The robot; meshes without a file are left out.
        layer: Empty layer of the library.
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
    for file in dict.fromkeys(file for file, _ in uses):
        location = next(use.location for (name, _), use in uses.items() if name == file)
        try:
            writer.write(file, location)
        except (MeshError, OSError) as error:
            reason = str(error)
            if isinstance(error, OSError):
                reason = f"it cannot be opened: {error.strerror}"
            writer.library.unreadable[file] = reason
            message = f"mesh {Path(file).name!r} cannot be read: {reason}"
            writer.diagnostics.append(Diagnostic("mesh-unreadable", message, location))
    return structs.replace(writer.library, diagnostics=tuple(writer.diagnostics))


class _Writer:
    """Writes every surface once, also if several files have the same content."""

    def __init__(self, uses: Mapping[MeshKey, _Use], layer: Sdf.Layer) -> None:
        self.library = MeshLibrary({}, {}, {}, {}, ())
        self.diagnostics: list[Diagnostic] = []
        self._uses = uses
        self._layer = layer
        names = sibling_names(Path(path).stem for path, _ in uses)
        self._names = dict(zip(uses, names, strict=True))
        self._folders_of = cache(own_folders)
        self._alike = _of_equal_size({file for file, _ in uses})
        # By content.
        self._has_groups: dict[str, bool] = {}
        self._meshes: dict[MeshKey, tuple[Sdf.Path, SurfaceParts]] = {}
        self._groups: dict[MeshKey, ColliderGroups] = {}

    def write(self, file: str, location: Location | None) -> None:
        data = read_file(Path(file), LARGEST_MESH)
        content = _content(data, file) if file in self._alike else file

        @cache
        def decoded() -> PolygonMesh:
            mesh = decode_mesh(data, Path(file))
            self.diagnostics += mesh_notes(Path(file).name, mesh, location)
            for path in mesh.sibling_files:
                if is_outside(path, self._folders_of(Path(file).parent)):
                    message = f"{path} lies outside the folders of its mesh; it is used"
                    self.diagnostics.append(Diagnostic("file-outside", message, location))
            return mesh

        for key in [key for key in self._uses if key[0] == file]:
            use, mirror = self._uses[key], key[1]
            same = content, mirror
            if content not in self._has_groups:
                self._has_groups[content] = has_groups(decoded())
            in_groups = use.groups and self._has_groups[content]
            if in_groups:
                if same not in self._groups:
                    groups = split_groups(mirrored(decoded(), mirror))
                    if not any(other == content for other, _ in self._groups):
                        self.diagnostics += _concave_groups(file, groups, location)
                    self._groups[same] = self._write_groups(key, groups)
                self.library.groups[key] = self._groups[same]
            if use.whole or not in_groups:
                if same not in self._meshes:
                    path = LIBRARY_ROOT.AppendChild(self._names[key])
                    whole = mirrored(decoded(), mirror)
                    self._meshes[same] = path, write_mesh(self._layer, path, whole)
                self.library.prims[key], self.library.parts[file] = self._meshes[same]

    def _write_groups(self, key: MeshKey, groups: Groups) -> ColliderGroups:
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


def _concave_groups(file: str, groups: Groups, location: Location | None) -> tuple[Diagnostic, ...]:
    """Report the groups of a mesh that fill much less than their convex hulls."""
    concave = [
        name or _UNNAMED_GROUP
        for name, group in groups
        if not fills_hull(group.points, group.face_counts, group.face_indices, _FILLED)
    ]
    if not concave:
        return ()
    message = (
        f"mesh {Path(file).name!r}: {len(concave)} of {len(groups)} groups are not "
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


def _content(data: bytes, file: str) -> str:
    """Return a key of the content; equal keys mean equal meshes."""
    digest = hashlib.sha256(data).hexdigest()
    refers = not holds_binary_stl(data) and any(word in data for word in _REFERENCES)
    return f"{digest} {Path(file).parent}" if refers else digest


def write_mesh(layer: Sdf.Layer, path: Sdf.Path, mesh: PolygonMesh) -> SurfaceParts:
    """Define a mesh prim and its subsets, and return the parts with materials.

    Subdivision is off, and faces are right-handed.
    """
    prim = define(layer, path, "Mesh")
    points = np.ascontiguousarray(mesh.points, np.float32)
    write(prim, "points", Vt.Vec3fArray.FromNumpy(points))
    counts, indices = map(Vt.IntArray.FromNumpy, (mesh.face_counts, mesh.face_indices))
    write(prim, "faceVertexCounts", counts)
    write(prim, "faceVertexIndices", indices)
    write(prim, "subdivisionScheme", "none")
    write(prim, "orientation", "rightHanded")
    write(prim, "extent", _extent(points))
    kinds = Sdf.ValueTypeNames
    attributes = mesh.attributes
    if any(material.double_sided for material in attributes.materials):
        write(prim, "doubleSided", True)
    for name, kind, held in (
        # A primvar, because the normals attribute cannot be indexed.
        ("normals", kinds.Normal3fArray, attributes.normals),
        *(
            (coordinates_name(number), kinds.TexCoord2fArray, coordinates)
            for number, coordinates in enumerate(attributes.coordinate_sets)
        ),
    ):
        if held is not None:
            _write_primvar(prim, name, kind, held.values, held, mesh)
    if attributes.colors is not None:
        linear = linear_from_srgb(attributes.colors.values)
        kind = kinds.Color3fArray
        _write_primvar(prim, "displayColor", kind, linear, attributes.colors, mesh)
    return _write_subsets(prim, mesh)


def _extent(points: NDArray[np.float32]) -> Vt.Vec3fArray:
    # Per coordinate, which is five times as fast as numpy's reduction of rows; negative
    # zeros become positive.
    lower = (float(coordinates.min()) + 0.0 for coordinates in points.T)
    upper = (float(coordinates.max()) + 0.0 for coordinates in points.T)
    return Vt.Vec3fArray([Gf.Vec3f(*lower), Gf.Vec3f(*upper)])


def _write_primvar(
    prim: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    values: NDArray[np.float64],
    held: CornerValues,
    mesh: PolygonMesh,
) -> None:
    array = _ARRAYS[values.shape[1]]
    per_point = len(values) == len(mesh.points) and np.array_equal(held.indices, mesh.face_indices)
    single = array.FromNumpy(np.ascontiguousarray(values, np.float32))
    name = f"primvars:{name}"
    interpolation = "vertex" if per_point else "faceVarying"
    write_new(prim, name, kind, single, interpolation=interpolation)
    if not per_point:
        numbers = Vt.IntArray.FromNumpy(held.indices)
        write_new(prim, f"{name}:indices", Sdf.ValueTypeNames.IntArray, numbers)


def _write_subsets(prim: Sdf.PrimSpec, mesh: PolygonMesh) -> SurfaceParts:
    """Write a subset for each material that has a colour; none for one of all faces."""
    attributes = mesh.attributes
    numbers = attributes.face_materials
    faces = (
        {}
        if numbers is None
        else {
            number: np.flatnonzero(numbers == number)
            for number in np.flatnonzero(np.bincount(numbers[numbers >= 0])).tolist()
            if attributes.materials[number].has_color
        }
    )
    covered = sum(map(len, faces.values())) == len(mesh.face_counts)
    materials = tuple(attributes.materials[number] for number in faces)
    names: tuple[str | None, ...] = sibling_names(m.name or _UNNAMED_MATERIAL for m in materials)
    if covered and len(materials) == 1:
        names = (None,)
    family = "materialBind"
    for name, material, some in zip(names, materials, faces.values(), strict=True):
        if name is None:
            continue
        subset = define(prim.layer, prim.path.AppendChild(name), "GeomSubset")
        write(subset, "elementType", "face")
        write(subset, "indices", Vt.IntArray.FromNumpy(some.astype(np.int32)))
        write(subset, "familyName", family)
        show_spec_name(subset, material.name or _UNNAMED_MATERIAL)
    if any(names):
        kind = "partition" if covered else "nonOverlapping"
        name = f"subsetFamily:{family}:familyType"
        write_new(prim, name, Sdf.ValueTypeNames.Token, kind, Sdf.VariabilityUniform)
    sets = enumerate(attributes.coordinate_sets)
    return SurfaceParts(
        tuple(zip(names, materials, strict=True)),
        covered,
        tuple(number for number, coordinates in sets if coordinates is not None),
    )
