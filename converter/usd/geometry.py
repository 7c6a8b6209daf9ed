"""Link frames and shapes: the geometry layer and its library of meshes.

No physics here: this layer suits kinematic and visual work on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, assert_never

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

from converter.diagnostics import Diagnostic
from converter.kinematics import rest_transforms
from converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    build_mesh,
    reversed_faces,
)
from converter.meshes.read import read_mesh
from converter.model import Box, Capsule, Cylinder, MeshFile, Pose, Sphere
from converter.spatial import inverse_transform, pose_from_transform
from converter.usd.names import sibling_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from converter.diagnostics import Location
    from converter.model import Geometry, Link, Robot, Vec3
    from converter.topology import Tree
    from converter.usd.prims import Prims

LIBRARY_ROOT = Sdf.Path("/Geometry")

# A mesh file, and per axis whether its scale mirrors: a mirrored mesh is a mesh of its
# own, because a negative scale on a prim turns it inside out for some consumers.
MeshKey: TypeAlias = tuple[str, tuple[bool, bool, bool]]


@dataclass(frozen=True, slots=True)
class MeshLibrary:
    """Meshes that the robot needs, each read once.

    Attributes:
        prims: Library prim by mesh.
        unreadable: Reason by file that could not be read.
        diagnostics: What was wrong with the files.
    """

    prims: dict[MeshKey, Sdf.Path]
    unreadable: dict[str, str]
    diagnostics: tuple[Diagnostic, ...]


def author_library(robot: Robot, stage: Usd.Stage) -> MeshLibrary:
    """Read every mesh that the robot uses and write it to a library stage.

    Args:
        robot: The robot; meshes without a file are left out.
        stage: Empty stage of the library layer.
    """
    stage.CreateClassPrim(LIBRARY_ROOT).SetTypeName("Scope")
    stage.SetDefaultPrim(stage.GetPrimAtPath(LIBRARY_ROOT))
    wanted = _mesh_uses(robot)
    meshes: dict[str, PolygonMesh] = {}
    unreadable: dict[str, str] = {}
    diagnostics = []
    for (path, _), location in wanted.items():
        if path in meshes or path in unreadable:
            continue
        name = Path(path).name
        try:
            meshes[path] = read_mesh(Path(path))
        except MeshError as error:
            unreadable[path] = str(error)
            message = f"mesh {name!r} cannot be read: {error}"
            diagnostics.append(Diagnostic("mesh-unreadable", message, location))
            continue
        diagnostics += _mesh_notes(name, meshes[path], location)
    keys = [key for key in wanted if key[0] in meshes]
    names = sibling_names(Path(path).stem for path, _ in keys)
    prims = {}
    for key, name in zip(keys, names, strict=True):
        prims[key] = LIBRARY_ROOT.AppendChild(name)
        _write_mesh(stage, prims[key], _mirrored(meshes[key[0]], key[1]))
    return MeshLibrary(prims, unreadable, tuple(diagnostics))


def _mesh_notes(
    name: str, mesh: PolygonMesh, location: Location | None
) -> list[Diagnostic]:
    notes = [
        Diagnostic("mesh-partial", f"mesh {name!r}: {sentence}", location)
        for sentence in mesh.skipped
    ]
    if mesh.ignored_up_axis:
        message = f"mesh {name!r} says {mesh.ignored_up_axis}; its axes are kept"
        notes.append(Diagnostic("mesh-up-axis", message, location))
    return notes


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
    rest = rest_transforms(tree)
    diagnostics: list[Diagnostic] = []
    # USD lists children in the order in which they are defined.
    for name in sorted(tree.links, key=lambda link: prims.link[link].pathElementCount):
        xform = UsdGeom.Xform.Define(stage, prims.link[name])
        show_name(xform.GetPrim(), name)
        parent = prims.link_parent[name]
        pose = tree.parent_joint[name].origin if name != tree.root else Pose()
        if name != tree.root and parent != tree.parent_joint[name].parent:
            pose = pose_from_transform(
                rest[name]
                if parent is None
                else inverse_transform(rest[parent]) @ rest[name]
            )
        _place(xform, pose)
    for name in tree.links:
        link = tree.link[name]
        diagnostics += _author_shapes(stage, link, prims, library, library_asset)
    return tuple(diagnostics)


def show_name(prim: Usd.Prim, name: str) -> None:
    """Keep a URDF name as ``displayName`` where the prim could not be called so."""
    if prim.GetName() != name:
        prim.SetDisplayName(name)


def _author_shapes(
    stage: Usd.Stage, link: Link, prims: Prims, library: MeshLibrary, library_asset: str
) -> list[Diagnostic]:
    diagnostics = []
    paths = (*prims.visual[link.name], *prims.collision[link.name])
    for shape, path in zip(link.shapes, paths, strict=True):
        problem = shape_problem(shape.geometry, library)
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
        if path in prims.collision[link.name]:
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
    if not all(np.float32(size) > 0 for size in sizes):
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


def mesh_key(geometry: MeshFile) -> MeshKey:
    """Return the library entry of a mesh that has a file."""
    if geometry.path is None:
        raise ValueError(f"mesh {geometry.uri!r} has no file")
    x, y, z = (factor < 0 for factor in geometry.scale)
    return geometry.path, (x, y, z)


def _mesh_uses(robot: Robot) -> Mapping[MeshKey, Location | None]:
    """Meshes in the order of first use, with the link that uses them first."""
    uses: dict[MeshKey, Location | None] = {}
    for link in robot.links:
        for shape in link.shapes:
            if isinstance(shape.geometry, MeshFile) and shape.geometry.path is not None:
                uses.setdefault(mesh_key(shape.geometry), link.location)
    return uses


def _mirrored(mesh: PolygonMesh, mirror: tuple[bool, bool, bool]) -> PolygonMesh:
    """Mirror a mesh along the given axes, keeping its faces right-handed."""
    if not any(mirror):
        return mesh
    points = mesh.points * np.where(mirror, -1.0, 1.0)
    if sum(mirror) % 2 == 0:
        return build_mesh(points, mesh.face_counts, mesh.face_indices)
    corners = reversed_faces(mesh.face_counts, mesh.face_indices)
    return build_mesh(points, mesh.face_counts, corners)


def _write_mesh(stage: Usd.Stage, path: Sdf.Path, mesh: PolygonMesh) -> None:
    prim = UsdGeom.Mesh.Define(stage, path)
    points = Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(mesh.points, np.float32))
    prim.CreatePointsAttr(points)
    prim.CreateFaceVertexCountsAttr(Vt.IntArray.FromNumpy(mesh.face_counts))
    prim.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(mesh.face_indices))
    prim.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    prim.CreateOrientationAttr(UsdGeom.Tokens.rightHanded)
    prim.CreateExtentAttr(UsdGeom.PointBased.ComputeExtent(points))
