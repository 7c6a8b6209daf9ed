"""The geometry layer: link frames and shapes, without physics."""

from __future__ import annotations

from functools import cache

from pxr import Gf, Sdf, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Collision,
    Cylinder,
    Geometry,
    MeshFile,
    Pose,
    Sphere,
    Vec3,
)
from urdf_usd.converter.robot.spatial import compose, invert_pose, rest_poses
from urdf_usd.converter.usd.writer.meshes import MeshLibrary, mesh_key
from urdf_usd.converter.usd.writer.prims import Prims
from urdf_usd.converter.usd.writer.specs import (
    KINDS,
    define,
    is_positive_float32,
    show_spec_name,
    write,
)

_SCHEMAS = {
    Box: "Cube",
    Cylinder: "Cylinder",
    Capsule: "Capsule",
    Sphere: "Sphere",
    MeshFile: "Mesh",
}
_UNSCALED = (1.0, 1.0, 1.0)


def author_geometry(
    layer: Sdf.Layer, prims: Prims, library: MeshLibrary, library_asset: str
) -> tuple[Diagnostic, ...]:
    """Write the robot's prim, link frames and shapes.

    Meshes refer to ``library_asset``, whose path is relative to the layer.

    Returns:
        Diagnostics about omitted shapes.
    """
    tree = prims.tree
    define(layer, prims.robot, "Xform")
    define(layer, prims.geometry, "Scope")
    rest = rest_poses(tree)
    # Children are ordered as they are defined.
    for name in sorted(tree.links, key=lambda link: prims.link[link].pathElementCount):
        xform = define(layer, prims.link[name], "Xform")
        show_spec_name(xform, name)
        parent, joint = prims.link_parent[name], tree.parent_joint.get(name)
        pose = joint.origin if joint else Pose()
        if joint and parent != joint.parent:
            pose = rest[name] if parent is None else compose(invert_pose(rest[parent]), rest[name])
        _place(xform, pose)
    diagnostics = []
    for link in (tree.link[name] for name in tree.links):
        paths = (*prims.visual[link.name], *prims.collision[link.name])
        for shape, path in zip(link.shapes, paths, strict=True):
            geometry = shape.geometry
            if isinstance(geometry, MeshFile) and not library.is_readable(geometry):
                continue  # Reported by the parser and the mesh library.
            sizes: tuple[float, ...]
            match geometry:
                case Sphere(radius):
                    sizes = (radius,)
                case Cylinder(radius, length):
                    sizes = radius, length
                case Capsule(radius, length):
                    # A capsule of length zero is a sphere.
                    sizes = radius, length or radius
                case _:
                    sizes = _scale(geometry)
            if not all(map(is_positive_float32, sizes)):
                text = " x ".join(f"{size:g}" for size in sizes)
                message = f"{path.name!r} of link {link.name!r} has size {text}"
                diagnostics.append(Diagnostic("geometry-invalid", message, link.location))
                continue
            groups = library.groups_of(shape)
            gprim = define(layer, path, "Xform" if groups else _SCHEMAS[type(geometry)])
            if isinstance(geometry, MeshFile):
                mesh = groups.prim if groups else library.prims[mesh_key(geometry)]
                gprim.referenceList.prependedItems = [Sdf.Reference(library_asset, mesh)]
            else:
                _author_primitive(gprim, geometry)
            _place(gprim, shape.origin, _scale(geometry))
            if shape.name:
                show_spec_name(gprim, shape.name)
            if isinstance(shape, Collision):
                write(gprim, "purpose", "guide")
    return tuple(diagnostics)


def _scale(geometry: Geometry) -> Vec3:
    """Return the scale op of a shape's prim, all factors positive."""
    if isinstance(geometry, MeshFile):
        x, y, z = map(abs, geometry.scale)
        return x, y, z
    return geometry.size if isinstance(geometry, Box) else _UNSCALED


def _author_primitive(gprim: Sdf.PrimSpec, shape: Box | Cylinder | Capsule | Sphere) -> None:
    if isinstance(shape, Box):
        write(gprim, "size", 1.0)
        upper = Gf.Vec3f(0.5)
    else:
        upper = Gf.Vec3f(shape.radius)
        if not isinstance(shape, Sphere):
            write(gprim, "axis", "Z")
            write(gprim, "height", shape.length)
            caps = shape.radius if isinstance(shape, Capsule) else 0.0
            upper[2] = shape.length / 2 + caps
        write(gprim, "radius", shape.radius)
    write(gprim, "extent", Vt.Vec3fArray([-upper, upper]))


def _place(xform: Sdf.PrimSpec, pose: Pose, scale: Vec3 = _UNSCALED) -> None:
    """Author translate, orient and, where it is not one, scale."""
    ops = {
        "xformOp:translate": (Gf.Vec3d(*pose.position), KINDS.Double3),
        "xformOp:orient": (Gf.Quatd(*pose.quat_wxyz), KINDS.Quatd),
    }
    if scale != _UNSCALED:
        ops["xformOp:scale"] = (Gf.Vec3f(*scale), KINDS.Float3)
    for name, (value, kind) in ops.items():
        write(xform, name, value, kind)
    write(xform, "xformOpOrder", Vt.TokenArray(list(ops)))


def rest_extent(geometry: Sdf.Layer, library: Sdf.Layer, prims: Prims) -> Gf.Range3d:
    """Return the extent of all visuals, or of all colliders of a robot without visuals.

    It is that of the extents of shapes in the layers of geometry and of meshes, with all
    joints at zero.

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
            if not (gprim := geometry.GetPrimAtPath(path)):
                continue
            meshes = gprim.referenceList.prependedItems
            own = mesh_extent(meshes[0].primPath) if meshes else _authored_extent(geometry, path)
            pose = compose(rest[name], shape.origin)
            # Of row vectors.
            matrix = Gf.Matrix4d().SetRotate(Gf.Quatd(*pose.quat_wxyz))
            matrix.SetTranslateOnly(Gf.Vec3d(*pose.position))
            scale = Gf.Matrix4d().SetScale(Gf.Vec3d(*_scale(shape.geometry)))
            whole = colliding if isinstance(shape, Collision) else visible
            whole.UnionWith(Gf.BBox3d(own, scale * matrix).ComputeAlignedRange())
    return colliding if visible.IsEmpty() else visible


def _authored_extent(layer: Sdf.Layer, path: Sdf.Path) -> Gf.Range3d:
    """Return the extent of a prim, in its own frame; empty if it has none."""
    attribute = layer.GetAttributeAtPath(path.AppendProperty("extent"))
    if not attribute:
        return Gf.Range3d()
    lower, upper = attribute.default
    return Gf.Range3d(Gf.Vec3d(lower), Gf.Vec3d(upper))
