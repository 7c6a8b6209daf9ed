"""The geometry layer: link frames and shapes, without physics."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Gf, Sdf, Vt

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.file_content import LARGEST_MESH, read_file
from urdf_usd.converter.meshes.mesh import (
    CornerValues,
    MeshError,
    PolygonMesh,
    mirrored,
    split_groups,
)
from urdf_usd.converter.meshes.mesh_materials import MeshMaterial, linear_from_srgb
from urdf_usd.converter.meshes.read import decode_mesh, mesh_notes
from urdf_usd.converter.meshes.stl import holds_binary_stl
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.solids import fills_hull
from urdf_usd.converter.robot.spatial import compose, invert_pose, rest_poses
from urdf_usd.converter.usd.writer import specs
from urdf_usd.converter.usd.writer.textures import outside_note

_SCHEMAS = {
    m.Box: "Cube",
    m.Cylinder: "Cylinder",
    m.Capsule: "Capsule",
    m.Sphere: "Sphere",
    m.MeshFile: "Mesh",
}
_UNSCALED = (1.0, 1.0, 1.0)


def author_geometry(
    layer: Sdf.Layer, prims: specs.Prims, library: MeshLibrary, library_asset: str
) -> tuple[Diagnostic, ...]:
    """Write the robot's prim, link frames and shapes; report omitted shapes."""
    tree = prims.tree
    specs.define(layer, prims.robot, "Xform")
    specs.define(layer, prims.geometry, "Scope")
    rest = rest_poses(tree)
    # Children are ordered as they are defined.
    for name in sorted(tree.links, key=lambda link: prims.link[link].pathElementCount):
        xform = specs.define(layer, prims.link[name], "Xform")
        specs.show_spec_name(xform, name)
        parent, joint = prims.link_parent[name], tree.parent_joint.get(name)
        pose = joint.origin if joint else m.Pose()
        if joint and parent != joint.parent:
            pose = rest[name] if parent is None else compose(invert_pose(rest[parent]), rest[name])
        _place(xform, pose)
    diagnostics = []
    for link in (tree.link[name] for name in tree.links):
        paths = (*prims.visual[link.name], *prims.collision[link.name])
        for shape, path in zip(link.shapes, paths, strict=True):
            geometry = shape.geometry
            if isinstance(geometry, m.MeshFile) and geometry.path in {None, *library.unreadable}:
                continue  # Reported by the parser and the mesh library.
            sizes: tuple[float, ...] = _scale(geometry)
            if isinstance(geometry, m.Sphere):
                sizes = (geometry.radius,)
            elif isinstance(geometry, (m.Cylinder, m.Capsule)):
                # A capsule of length zero is a sphere.
                is_ball = isinstance(geometry, m.Capsule) and geometry.length == 0
                sizes = geometry.radius, geometry.radius if is_ball else geometry.length
            if not all(map(specs.is_positive_float32, sizes)):
                text = " x ".join(f"{size:g}" for size in sizes)
                message = f"{path.name!r} of link {link.name!r} has size {text}"
                diagnostics.append(Diagnostic("geometry-invalid", message, link.location))
                continue
            groups = library.groups_of(shape)
            gprim = specs.define(layer, path, "Xform" if groups else _SCHEMAS[type(geometry)])
            if isinstance(geometry, m.MeshFile):
                mesh = groups[0].GetParentPath() if groups else library.prims[mesh_key(geometry)]
                gprim.referenceList.prependedItems = [Sdf.Reference(library_asset, mesh)]
            elif isinstance(geometry, m.Box):
                specs.write(gprim, "size", 1.0)
                upper = Gf.Vec3f(0.5)
            else:
                upper = Gf.Vec3f(geometry.radius)
                if not isinstance(geometry, m.Sphere):
                    specs.write(gprim, "axis", "Z")
                    specs.write(gprim, "height", geometry.length)
                    caps = geometry.radius if isinstance(geometry, m.Capsule) else 0.0
                    upper[2] = geometry.length / 2 + caps
                specs.write(gprim, "radius", geometry.radius)
            if not isinstance(geometry, m.MeshFile):
                specs.write(gprim, "extent", Vt.Vec3fArray([-upper, upper]))
            _place(gprim, shape.origin, _scale(geometry))
            if shape.name:
                specs.show_spec_name(gprim, shape.name)
            if isinstance(shape, m.Collision):
                specs.write(gprim, "purpose", "guide")
    return tuple(diagnostics)


def _scale(geometry: m.Geometry) -> m.Vec3:
    """Return the scale op of a shape's prim, all factors positive."""
    if isinstance(geometry, m.MeshFile):
        x, y, z = map(abs, geometry.scale)
        return x, y, z
    return geometry.size if isinstance(geometry, m.Box) else _UNSCALED


def _place(xform: Sdf.PrimSpec, pose: m.Pose, scale: m.Vec3 = _UNSCALED) -> None:
    """Author translate, orient and, where it is not one, scale."""
    ops = {
        "xformOp:translate": (Gf.Vec3d(*pose.position), specs.KINDS.Double3),
        "xformOp:orient": (Gf.Quatd(*pose.quat_wxyz), specs.KINDS.Quatd),
    }
    if scale != _UNSCALED:
        ops["xformOp:scale"] = (Gf.Vec3f(*scale), specs.KINDS.Float3)
    for name, (value, kind) in ops.items():
        specs.write(xform, name, value, kind)
    specs.write(xform, "xformOpOrder", Vt.TokenArray(list(ops)))


def rest_extent(geometry: Sdf.Layer, library: Sdf.Layer, prims: specs.Prims) -> Gf.Range3d:
    """Return the extent [m] of all visuals, or of all colliders of a robot without visuals.

    It is that of the extents of shapes in the layers of geometry and of meshes, with all
    joints at zero, in the frame of the robot's prim; empty without shapes.
    """

    @cache
    def mesh_extent(path: Sdf.Path) -> Gf.Range3d:
        extent = _authored_extent(library, path)
        for child in library.GetPrimAtPath(path).nameChildren:
            extent.UnionWith(_authored_extent(library, child.path))
        return extent

    rest = rest_poses(prims.tree)
    visible, colliding = Gf.Range3d(), Gf.Range3d()
    for name, link in prims.tree.link.items():
        paths = (*prims.visual[name], *prims.collision[name])
        for shape, path in zip(link.shapes, paths, strict=True):
            if not (gprim := geometry.GetPrimAtPath(path)):
                continue
            meshes = gprim.referenceList.prependedItems
            own = mesh_extent(meshes[0].primPath) if meshes else _authored_extent(geometry, path)
            pose = compose(rest[name], shape.origin)
            # Of row vectors.
            matrix = Gf.Matrix4d().SetRotate(Gf.Quatd(*pose.quat_wxyz))
            matrix.SetTranslateOnly(Gf.Vec3d(*pose.position))
            scale = Gf.Matrix4d().SetScale(Gf.Vec3d(*_scale(shape.geometry)))
            whole = colliding if isinstance(shape, m.Collision) else visible
            whole.UnionWith(Gf.BBox3d(own, scale * matrix).ComputeAlignedRange())
    return colliding if visible.IsEmpty() else visible


def _authored_extent(layer: Sdf.Layer, path: Sdf.Path) -> Gf.Range3d:
    """Return the extent of a prim, in its own frame; empty if it has none."""
    attribute = layer.GetAttributeAtPath(path.AppendProperty("extent"))
    if not attribute:
        return Gf.Range3d()
    lower, upper = attribute.default
    return Gf.Range3d(Gf.Vec3d(lower), Gf.Vec3d(upper))


# The mesh library, whose prims links reference

LIBRARY_ROOT = Sdf.Path("/Geometry")
# A mesh file, and per axis whether its scale is negative: mirrored meshes are separate,
# because a negative scale on a prim turns it inside out for some consumers.
MeshKey: TypeAlias = tuple[str, tuple[bool, bool, bool]]

_UNNAMED_MATERIAL, _UNNAMED_GROUP = "material", "group"
# Share of its convex hull that a convex group fills: decompositions write few digits.
_FILLED = 0.95
# Keywords of references to other files.
_REFERENCES = (b"mtllib", b"init_from", b'"uri"', b"TextureFile")


class SurfaceParts(Struct, frozen=True):
    """Parts of a mesh with different materials."""

    # Name of the subset prim of each part; None if the part is the whole mesh.
    materials: tuple[tuple[str | None, MeshMaterial], ...]
    covered: bool  # Whether every face has a material of the file.
    coordinate_sets: tuple[int, ...]  # Numbers of its sets of texture coordinates.


class MeshLibrary(Struct, frozen=True):
    """The meshes of a robot."""

    prims: dict[MeshKey, Sdf.Path]  # Of meshes that are used as a whole.
    # Of colliders with several groups, each of which collides as its own convex hull.
    groups: dict[MeshKey, tuple[Sdf.Path, ...]]
    parts: dict[str, SurfaceParts]  # By file.
    unreadable: set[str]
    diagnostics: list[Diagnostic]

    def groups_of(self, shape: m.Shape) -> tuple[Sdf.Path, ...]:
        """Return the groups of a collider; none if it is one shape."""
        mesh = shape.geometry
        if not isinstance(mesh, m.MeshFile) or not _collides_in_groups(shape):
            return ()
        return self.groups.get(mesh_key(mesh), ())


def coordinates_name(number: int) -> str:
    return f"st{number or ''}"


def mesh_key(geometry: m.MeshFile) -> MeshKey:
    x, y, z = (factor < 0 for factor in geometry.scale)
    return geometry.path or "", (x, y, z)


def _collides_in_groups(shape: m.Shape) -> bool:
    return isinstance(shape, m.Collision) and shape.approximation is None


def author_mesh_library(robot: m.Robot, layer: Sdf.Layer) -> MeshLibrary:
    """Read every mesh file of a robot and write it to an empty layer.

    One mesh is in memory at a time. Every surface is written once, also if several files
    have the same content.
    """
    specs.define(layer, LIBRARY_ROOT, "Scope").specifier = Sdf.SpecifierClass
    layer.defaultPrim = LIBRARY_ROOT.name
    # The first link that uses a mesh; whether it collides in groups, and is used as a whole.
    locations: dict[MeshKey, Location | None] = {}
    uses: dict[MeshKey, set[bool]] = {}
    files: dict[str, list[MeshKey]] = {}
    for link, shape in ((owner, shape) for owner in robot.links for shape in owner.shapes):
        if isinstance(shape.geometry, m.MeshFile) and shape.geometry.path is not None:
            key = mesh_key(shape.geometry)
            if key not in locations:
                locations[key] = link.location
                files.setdefault(key[0], []).append(key)
            uses.setdefault(key, set()).add(_collides_in_groups(shape))
    names = dict(zip(uses, specs.sibling_names(Path(path).stem for path, _ in uses), strict=True))
    # Only files of equal size can be equal.
    known = (Path(file) for file in files if Path(file).is_file())
    sizes = Counter(file.stat().st_size for file in known)
    library = MeshLibrary({}, {}, {}, set(), [])
    notes = library.diagnostics
    # By content, and by content and mirrored axes.
    grouped: dict[str, bool] = {}
    written: dict[MeshKey, tuple[Sdf.Path, SurfaceParts]] = {}
    written_groups: dict[MeshKey, tuple[Sdf.Path, ...]] = {}

    def write_file(file: Path, keys: Sequence[MeshKey]) -> None:
        data, location = read_file(file, LARGEST_MESH), locations[keys[0]]
        content = str(file)
        if sizes[len(data)] > 1:
            # Equal files are equal meshes, with references only in the same folder.
            refers = not holds_binary_stl(data) and any(word in data for word in _REFERENCES)
            content = f"{hashlib.sha256(data).hexdigest()} {file.parent if refers else ''}"

        @cache
        def decoded() -> PolygonMesh:
            mesh = decode_mesh(data, file)
            notes.extend(mesh_notes(file.name, mesh, location))
            for path in mesh.sibling_files:
                notes.extend(outside_note(path, file.parent, location))
            return mesh

        for key in keys:
            same = content, key[1]
            if content not in grouped:
                grouped[content] = decoded().has_groups
            in_groups, is_whole = True in uses[key] and grouped[content], False in uses[key]
            if in_groups:
                if same not in written_groups:
                    name = names[key]
                    if is_whole:
                        taken = [own.GetParentPath().name for own, *_ in written_groups.values()]
                        (name,) = specs.sibling_names([f"{name}_groups"], [*names.values(), *taken])
                    is_new = not any(other == content for other, _ in written_groups)
                    parts = split_groups(mirrored(decoded(), key[1]))
                    groups = [(group or _UNNAMED_GROUP, part) for group, part in parts]
                    # As positions and faces alone.
                    above = specs.define(layer, LIBRARY_ROOT.AppendChild(name), "Xform").path
                    children = specs.sibling_names(group for group, _ in groups)
                    written_groups[same] = tuple(map(above.AppendChild, children))
                    for path, (group, part) in zip(written_groups[same], groups, strict=True):
                        write_mesh(layer, path, part)
                        specs.show_spec_name(layer.GetPrimAtPath(path), group)
                    if is_new:
                        notes.extend(_concave_groups(file.name, groups, location))
                library.groups[key] = written_groups[same]
            if is_whole or not in_groups:
                if same not in written:
                    path = LIBRARY_ROOT.AppendChild(names[key])
                    written[same] = path, write_mesh(layer, path, mirrored(decoded(), key[1]))
                library.prims[key], library.parts[key[0]] = written[same]

    for file, keys in files.items():
        try:
            write_file(Path(file), keys)
        except (MeshError, OSError) as error:
            reason = str(error)
            if isinstance(error, OSError):
                reason = f"it cannot be opened: {error.strerror}"
            library.unreadable.add(file)
            message = f"mesh {Path(file).name!r} cannot be read: {reason}"
            notes.append(Diagnostic("mesh-unreadable", message, locations[keys[0]]))
    return library


def _concave_groups(
    name: str, groups: Sequence[tuple[str, PolygonMesh]], location: Location | None
) -> Iterator[Diagnostic]:
    """Report the groups of a mesh that fill much less than their convex hulls."""
    concave = [
        group
        for group, mesh in groups
        if not fills_hull(mesh.points, mesh.face_counts, mesh.face_indices, _FILLED)
    ]
    if concave:
        message = f"mesh {name!r}: {len(concave)} of {len(groups)} groups are not convex, such as"
        message += f" {concave[0]!r}; each collides as its convex hull"
        yield Diagnostic("collider-concave", message, location)


def write_mesh(layer: Sdf.Layer, path: Sdf.Path, mesh: PolygonMesh) -> SurfaceParts:
    """Define a mesh prim and its subsets, and return the parts with materials."""
    prim = specs.define(layer, path, "Mesh")
    points = np.ascontiguousarray(mesh.points, np.float32)
    # Per coordinate, which is five times as fast as numpy's reduction of rows; negative
    # zeros become positive.
    lower = Gf.Vec3f(*(float(coordinates.min()) + 0.0 for coordinates in points.T))
    upper = Gf.Vec3f(*(float(coordinates.max()) + 0.0 for coordinates in points.T))
    specs.write(prim, "points", Vt.Vec3fArray.FromNumpy(points))
    specs.write(prim, "faceVertexCounts", Vt.IntArray.FromNumpy(mesh.face_counts))
    specs.write(prim, "faceVertexIndices", Vt.IntArray.FromNumpy(mesh.face_indices))
    specs.write(prim, "subdivisionScheme", "none")
    specs.write(prim, "orientation", "rightHanded")
    specs.write(prim, "extent", Vt.Vec3fArray([lower, upper]))
    if any(material.double_sided for material in mesh.materials):
        specs.write(prim, "doubleSided", True)
    if (normals := mesh.normals) is not None:
        # A primvar, because the normals attribute cannot be indexed.
        _write_primvar(prim, "normals", specs.KINDS.Normal3fArray, normals.values, normals, mesh)
    known = enumerate(mesh.coordinate_sets)
    sets = [(number, some) for number, some in known if some is not None]
    for number, some in sets:
        name = coordinates_name(number)
        _write_primvar(prim, name, specs.KINDS.TexCoord2fArray, some.values, some, mesh)
    if (colors := mesh.colors) is not None:
        linear = linear_from_srgb(colors.values)
        _write_primvar(prim, "displayColor", specs.KINDS.Color3fArray, linear, colors, mesh)
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
    specs.write(prim, f"primvars:{name}", single, kind, interpolation=interpolation)
    if not per_point:
        numbers = Vt.IntArray.FromNumpy(corners.indices)
        specs.write(prim, f"primvars:{name}:indices", numbers, specs.KINDS.IntArray)


def _write_subsets(
    prim: Sdf.PrimSpec, mesh: PolygonMesh
) -> tuple[tuple[tuple[str | None, MeshMaterial], ...], bool]:
    """Write a subset for each material that has a colour; none for one of all faces."""
    numbers, known = mesh.face_materials, mesh.materials
    faces: dict[int, NDArray[np.int64]] = {}
    if numbers is not None:
        used = np.flatnonzero(np.bincount(numbers[numbers >= 0])).tolist()
        faces = {i: np.flatnonzero(numbers == i) for i in used if known[i].has_color}
    covered = sum(map(len, faces.values())) == len(mesh.face_counts)
    materials = tuple(known[number] for number in faces)
    if covered and len(materials) == 1:
        return ((None, materials[0]),), True
    names = specs.sibling_names(material.name or _UNNAMED_MATERIAL for material in materials)
    for name, material, some in zip(names, materials, faces.values(), strict=True):
        subset = specs.define(prim.layer, prim.path.AppendChild(name), "GeomSubset")
        specs.write(subset, "elementType", "face")
        specs.write(subset, "indices", Vt.IntArray.FromNumpy(some.astype(np.int32)))
        specs.write(subset, "familyName", "materialBind")
        specs.show_spec_name(subset, material.name or _UNNAMED_MATERIAL)
    if names:
        kind = "partition" if covered else "nonOverlapping"
        family = "subsetFamily:materialBind:familyType"
        specs.write(prim, family, kind, specs.KINDS.Token, specs.UNIFORM)
    return tuple(zip(names, materials, strict=True)), covered
