"""Link frames and shapes: the geometry layer.

No physics here: this layer suits kinematic and visual work on its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from pxr import Gf, Usd, UsdGeom

from converter.diagnostics import Diagnostic
from converter.model import Box, Capsule, Cylinder, MeshFile, Pose, Sphere
from converter.rigid import compose, inverse, rest_poses
from converter.usd.mesh_library import mesh_key
from converter.usd.names import show_name
from converter.usd.siblings import define_together
from converter.usd.storage import keeps_positive

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pxr import Sdf

    from converter.model import Geometry, Link, Vec3
    from converter.topology import Tree
    from converter.usd.mesh_library import MeshLibrary
    from converter.usd.prims import Prims

_SCHEMAS: Mapping[type[Geometry], str] = {
    Box: "Cube",
    Cylinder: "Cylinder",
    Capsule: "Capsule",
    Sphere: "Sphere",
    MeshFile: "Mesh",
}


def author_geometry(
    stage: Usd.Stage, tree: Tree, prims: Prims, library: MeshLibrary, library_asset: str
) -> tuple[Diagnostic, ...]:
    """Write link frames and shapes to the stage's edit target.

    Args:
        stage: Stage of the whole asset.
        tree: The robot.
        prims: Paths of all prims.
        library: The meshes.
        library_asset: Layer of the meshes, relative to the edit target.

    Returns:
        What was left out.
    """
    UsdGeom.Scope.Define(stage, prims.geometry)
    rest = rest_poses(tree)
    diagnostics: list[Diagnostic] = []
    # USD lists children in the order in which they are defined.
    names = sorted(tree.links, key=lambda link: prims.link[link].pathElementCount)
    define_together(stage, ((prims.link[name], "Xform") for name in names))
    for name in names:
        xform = UsdGeom.Xform.Define(stage, prims.link[name])
        show_name(xform.GetPrim(), name)
        parent = prims.link_parent[name]
        pose = tree.parent_joint[name].origin if name != tree.root else Pose()
        if name != tree.root and parent != tree.parent_joint[name].parent:
            pose = (
                rest[name]
                if parent is None
                else compose(inverse(rest[parent]), rest[name])
            )
        _place(xform, pose)
    for name in tree.links:
        link = tree.link[name]
        diagnostics += _author_shapes(stage, link, prims, library, library_asset)
    return tuple(diagnostics)


def _author_shapes(
    stage: Usd.Stage, link: Link, prims: Prims, library: MeshLibrary, library_asset: str
) -> list[Diagnostic]:
    diagnostics = []
    paths = (*prims.visual[link.name], *prims.collision[link.name])
    touched = frozenset(prims.collision[link.name])
    found = [shape_problem(shape.geometry, library) for shape in link.shapes]
    define_together(
        stage,
        (
            (path, _SCHEMAS[type(shape.geometry)])
            for shape, path, problem in zip(link.shapes, paths, found, strict=True)
            if problem is None
        ),
    )
    for shape, path, problem in zip(link.shapes, paths, found, strict=True):
        if problem is not None:
            rule, text = problem
            # The reader of the URDF and the library have said so where it was found.
            if rule == "geometry-invalid":
                message = f"{path.name!r} of link {link.name!r} {text}"
                diagnostics.append(Diagnostic(rule, message, link.location))
            continue
        gprim = _author_shape(stage, path, shape.geometry, library, library_asset)
        _place(gprim, shape.origin, shape_scale(shape.geometry))
        if shape.name:
            show_name(gprim.GetPrim(), shape.name)
        if path in touched:
            gprim.CreatePurposeAttr(UsdGeom.Tokens.guide)
    return diagnostics


def shape_problem(geometry: Geometry, library: MeshLibrary) -> tuple[str, str] | None:
    """Say why a shape cannot be written: rule id and text, or None."""
    match geometry:
        case Box():
            sizes: Sequence[float] = geometry.size
        case Cylinder() | Capsule():
            sizes = (geometry.radius, geometry.length)
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
    if not all(map(keeps_positive, sizes)):
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
    stage: Usd.Stage,
    path: Sdf.Path,
    geometry: Geometry,
    library: MeshLibrary,
    library_asset: str,
) -> UsdGeom.Gprim:
    gprim: UsdGeom.Gprim
    match geometry:
        case Box():
            gprim = UsdGeom.Cube.Define(stage, path)
            gprim.CreateSizeAttr(1.0)
        case Cylinder():
            gprim = UsdGeom.Cylinder.Define(stage, path)
            _author_axial(gprim, geometry)
        case Capsule():
            gprim = UsdGeom.Capsule.Define(stage, path)
            _author_axial(gprim, geometry)
        case Sphere():
            gprim = UsdGeom.Sphere.Define(stage, path)
            gprim.CreateRadiusAttr(geometry.radius)
        case MeshFile():
            gprim = UsdGeom.Mesh.Define(stage, path)
            target = library.prims[mesh_key(geometry)]
            gprim.GetPrim().GetReferences().AddReference(library_asset, target)
            return gprim
        case _:
            assert_never(geometry)
    extent = UsdGeom.Boundable.ComputeExtentFromPlugins(gprim, Usd.TimeCode.Default())
    gprim.CreateExtentAttr(extent)
    return gprim


def _author_axial(
    gprim: UsdGeom.Cylinder | UsdGeom.Capsule, geometry: Cylinder | Capsule
) -> None:
    gprim.CreateAxisAttr(UsdGeom.Tokens.z)
    gprim.CreateRadiusAttr(geometry.radius)
    gprim.CreateHeightAttr(geometry.length)


def _place(xform: UsdGeom.Xformable, pose: Pose, scale: Vec3 = (1.0, 1.0, 1.0)) -> None:
    """Author translate, orient and, where it is not one, scale."""
    double = UsdGeom.XformOp.PrecisionDouble
    xform.AddTranslateOp(double).Set(Gf.Vec3d(*pose.position))
    w, x, y, z = pose.quat_wxyz
    xform.AddOrientOp(double).Set(Gf.Quatd(w, x, y, z))
    if scale != (1.0, 1.0, 1.0):
        xform.AddScaleOp().Set(Gf.Vec3f(*scale))
