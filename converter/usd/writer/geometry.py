"""The geometry layer: link frames and shapes, without physics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import assert_never

from pxr import Gf, Sdf, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Collision,
    Cylinder,
    Geometry,
    Link,
    MeshFile,
    Pose,
    Sphere,
    Vec3,
)
from urdf_usd.converter.robot.spatial import compose, invert_pose, rest_poses
from urdf_usd.converter.usd.writer.float32 import is_positive_float32
from urdf_usd.converter.usd.writer.meshes import MeshLibrary, mesh_key
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import define, show_spec_name, write, write_new

_SCHEMAS: Mapping[type[Geometry], str] = {
    Box: "Cube",
    Cylinder: "Cylinder",
    Capsule: "Capsule",
    Sphere: "Sphere",
    MeshFile: "Mesh",
}


def author_geometry(
    layer: Sdf.Layer, prims: Prims, library: MeshLibrary, library_asset: str
) -> tuple[Diagnostic, ...]:
    """Write the robot's prim, link frames and shapes.

    Args:
        layer: The geometry layer; faster if no stage composes it yet.
        prims: The robot.
        library: The meshes.
        library_asset: Layer of the meshes, relative to the geometry layer.

    Returns:
        Diagnostics about omitted shapes.
    """
    tree = prims.tree
    define(layer, prims.robot, "Xform")
    define(layer, prims.geometry, "Scope")
    rest = rest_poses(tree)
    diagnostics: list[Diagnostic] = []
    # Children are ordered as they are defined.
    names = sorted(tree.links, key=lambda link: prims.link[link].pathElementCount)
    for name in names:
        xform = define(layer, prims.link[name], "Xform")
        show_spec_name(xform, name)
        parent = prims.link_parent[name]
        pose = tree.parent_joint[name].origin if name != tree.root else Pose()
        if name != tree.root and parent != tree.parent_joint[name].parent:
            pose = rest[name] if parent is None else compose(invert_pose(rest[parent]), rest[name])
        _place(xform, pose)
    for name in tree.links:
        link = tree.link[name]
        diagnostics += _author_shapes(layer, link, prims, library, library_asset)
    return tuple(diagnostics)


def _author_shapes(
    layer: Sdf.Layer, link: Link, prims: Prims, library: MeshLibrary, library_asset: str
) -> list[Diagnostic]:
    diagnostics = []
    paths = (*prims.visual[link.name], *prims.collision[link.name])
    touched = frozenset(prims.collision[link.name])
    for shape, path in zip(link.shapes, paths, strict=True):
        problem = shape_problem(shape.geometry, library)
        if problem is not None:
            rule, text = problem
            # Other problems were reported by the parser and the mesh library.
            if rule == "geometry-invalid":
                message = f"{path.name!r} of link {link.name!r} {text}"
                diagnostics.append(Diagnostic(rule, message, link.location))
            continue
        groups = library.groups_of(shape)
        schema = "Xform" if groups else _SCHEMAS[type(shape.geometry)]
        gprim = define(layer, path, schema)
        if groups:
            _refer(gprim, library_asset, groups.prim)
        else:
            _author_shape(gprim, shape.geometry, library, library_asset)
        _place(gprim, shape.origin, shape_scale(shape.geometry))
        if shape.name:
            show_spec_name(gprim, shape.name)
        if path in touched:
            write(gprim, "purpose", "guide")
    return diagnostics


def rest_extent(geometry: Sdf.Layer, library: Sdf.Layer, prims: Prims) -> Gf.Range3d:
    """Return the extent of all visuals, or of all colliders of a robot without visuals.

    Computed from the extents of shapes, with all joints at zero.

    Args:
        geometry: The authored geometry layer.
        library: The layer of the meshes.
        prims: The robot.

    Returns:
        The extent [m] in the frame of the robot's prim; empty without shapes.
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
            gprim = geometry.GetPrimAtPath(path)
            if gprim:
                meshes = gprim.referenceList.prependedItems
                extent = (
                    mesh_extent(meshes[0].primPath) if meshes else _authored_extent(geometry, path)
                )
                frame = compose(rest[name], shape.origin)
                matrix = _matrix(frame, shape_scale(shape.geometry))
                box = Gf.BBox3d(extent, matrix)
                whole = colliding if isinstance(shape, Collision) else visible
                whole.UnionWith(box.ComputeAlignedRange())
    return colliding if visible.IsEmpty() else visible


def _matrix(pose: Pose, scale: Vec3) -> Gf.Matrix4d:
    """Return the matrix of row vectors that scales, rotates and translates."""
    matrix = Gf.Matrix4d().SetRotate(Gf.Quatd(*pose.quat_wxyz))
    matrix.SetTranslateOnly(Gf.Vec3d(*pose.position))
    return Gf.Matrix4d().SetScale(Gf.Vec3d(*scale)) * matrix


def _authored_extent(layer: Sdf.Layer, path: Sdf.Path) -> Gf.Range3d:
    """Return the extent of a prim, in its own frame; empty if it has none."""
    attribute = layer.GetAttributeAtPath(path.AppendProperty("extent"))
    if not attribute:
        return Gf.Range3d()
    lower, upper = attribute.default
    return Gf.Range3d(Gf.Vec3d(lower), Gf.Vec3d(upper))


def shape_problem(geometry: Geometry, library: MeshLibrary) -> tuple[str, str] | None:
    """Return the rule and the reason if a shape cannot be written, or None."""
    match geometry:
        case Box():
            sizes: Sequence[float] = geometry.size
        case Cylinder():
            sizes = (geometry.radius, geometry.length)
        case Capsule():
            # A capsule of length zero is a sphere.
            sizes = (geometry.radius, geometry.length or geometry.radius)
        case Sphere():
            sizes = (geometry.radius,)
        case MeshFile():
            if geometry.path is None:
                return "mesh-missing", "has no mesh file"
            if geometry.path in library.unreadable:
                return "mesh-unreadable", library.unreadable[geometry.path]
            sizes = tuple(abs(factor) for factor in geometry.scale)
        case _:
            assert_never(geometry)
    if not all(map(is_positive_float32, sizes)):
        text = " x ".join(f"{size:g}" for size in sizes)
        return "geometry-invalid", f"has size {text}"
    return None


def shape_scale(geometry: Geometry) -> Vec3:
    """Return the scale op of a shape's prim, all factors positive."""
    match geometry:
        case Box():
            return geometry.size
        case MeshFile():
            x, y, z = (abs(factor) for factor in geometry.scale)
            return x, y, z
        case _:
            return 1.0, 1.0, 1.0


def _author_shape(
    gprim: Sdf.PrimSpec, geometry: Geometry, library: MeshLibrary, library_asset: str
) -> None:
    match geometry:
        case Box():
            write(gprim, "size", 1.0)
            reach = (0.5, 0.5, 0.5)
        case Cylinder():
            _author_axial(gprim, geometry)
            reach = (geometry.radius, geometry.radius, geometry.length / 2)
        case Capsule():
            _author_axial(gprim, geometry)
            top = geometry.length / 2 + geometry.radius
            reach = (geometry.radius, geometry.radius, top)
        case Sphere():
            write(gprim, "radius", geometry.radius)
            reach = (geometry.radius, geometry.radius, geometry.radius)
        case MeshFile():
            _refer(gprim, library_asset, library.prims[mesh_key(geometry)])
            return
        case _:
            assert_never(geometry)
    upper = Gf.Vec3f(*reach)
    write(gprim, "extent", Vt.Vec3fArray([-upper, upper]))


def _refer(prim: Sdf.PrimSpec, asset: str, target: Sdf.Path) -> None:
    prim.referenceList.prependedItems = [Sdf.Reference(asset, target)]


def _author_axial(gprim: Sdf.PrimSpec, geometry: Cylinder | Capsule) -> None:
    write(gprim, "axis", "Z")
    write(gprim, "radius", geometry.radius)
    write(gprim, "height", geometry.length)


def _place(xform: Sdf.PrimSpec, pose: Pose, scale: Vec3 = (1.0, 1.0, 1.0)) -> None:
    """Author translate, orient and, where it is not one, scale."""
    w, x, y, z = pose.quat_wxyz
    kinds = Sdf.ValueTypeNames
    ops = {
        "xformOp:translate": (kinds.Double3, Gf.Vec3d(*pose.position)),
        "xformOp:orient": (kinds.Quatd, Gf.Quatd(w, x, y, z)),
    }
    if scale != (1.0, 1.0, 1.0):
        ops["xformOp:scale"] = (kinds.Float3, Gf.Vec3f(*scale))
    for name, (kind, value) in ops.items():
        write_new(xform, name, kind, value)
    write(xform, "xformOpOrder", Vt.TokenArray(list(ops)))
