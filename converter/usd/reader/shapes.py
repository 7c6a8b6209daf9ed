"""Shapes of gprims."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from pxr import Usd, UsdGeom

from urdf_usd.converter.diagnostics import Diagnostic, StageError
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.meshes.corner_values import CornerValues, corner_values
from urdf_usd.converter.meshes.polygon_mesh import (
    MeshError,
    PolygonMesh,
    SurfaceAttributes,
    build_mesh,
    check_indices,
    reversed_faces,
)
from urdf_usd.converter.robot.model import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    MeshFile,
    Pose,
    Sphere,
)
from urdf_usd.converter.robot.spatial import pose_from_transform
from urdf_usd.converter.usd.reader.materials import Texture

Matrix: TypeAlias = "NDArray[np.float64]"

# Columns of a scaled rotation are orthogonal within float32 rounding.
_SKEW = 1e-6
# Rounding of a column's length.
_ROUNDING = 1e-12
# Rotations of the Z axis, along which URDF shapes are, onto the axis of the gprim.
_ONTO_AXIS = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}
_ROUND = (
    (UsdGeom.Cylinder, Cylinder),
    (UsdGeom.Capsule, Capsule),
)


class PlacedShape(Struct, frozen=True, eq=False):
    """A shape in a link.

    Attributes:
        pose: In the link frame.
        geometry: Its geometry; the URI of a mesh is the path of its prim.
        mesh: The surface of a mesh.
    """

    pose: Pose
    geometry: Geometry
    mesh: PolygonMesh | None = None


def read_shape(
    prim: Usd.Prim, to_link: Matrix, texture: Texture | None = None
) -> Findings[PlacedShape | None]:
    """Read a gprim; None if URDF has no such geometry.

    Args:
        prim: The gprim.
        to_link: (4, 4) transform from its coordinates to the link frame [m]; it may
            scale, mirror and skew.
        texture: Texture whose coordinates a mesh needs.

    Raises:
        StageError: A point of a mesh is not finite, or a size is blocked.
    """
    linear = to_link[:3, :3]
    lengths = np.linalg.norm(linear, axis=0)
    path = prim.GetPath()
    if not (np.isfinite(lengths).all() and lengths.all()):
        yield Diagnostic("geometry-invalid", f"{path} has a zero scale; omitted")
        return None
    scale = _stored(lengths)
    turn = linear / lengths
    skewed = bool(np.abs(turn.T @ turn - np.eye(3)).max() > _SKEW)
    mirrored = np.linalg.det(linear) < 0
    if prim.IsA(UsdGeom.Mesh):
        # Parsers of URDF differ in negative scales; the points are mirrored instead.
        baked = to_link if skewed or mirrored else None
        return (yield from _read_mesh(prim, _pose(turn, to_link), scale, baked, texture))
    if skewed:
        left, _, right = np.linalg.svd(linear)
        turn = left @ right
    # Primitives are symmetric under mirroring along each axis.
    turn = turn * np.where(mirrored, [1.0, 1.0, -1.0], 1.0)
    return (yield from _read_primitive(prim, _pose(turn, to_link), scale, skewed=skewed))


def _stored(lengths: Matrix) -> Matrix:
    """Return float32 scale factors where they differ only by rounding."""
    single = lengths.astype(np.float32).astype(np.float64)
    return np.where(np.abs(single - lengths) <= _ROUNDING * lengths, single, lengths)


def _pose(turn: Matrix, to_link: Matrix) -> Matrix:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = turn, to_link[:3, 3]
    return pose


def _read_primitive(
    prim: Usd.Prim, pose: Matrix, scale: Matrix, *, skewed: bool
) -> Findings[PlacedShape | None]:
    path = prim.GetPath()
    for name in ("size", "radius", "height", "axis"):
        if (attribute := prim.GetAttribute(name)) and attribute.Get() is None:
            message = f"{path}.{name} is blocked, and has no value"
            raise StageError((Diagnostic("stage-value", message),))
    uneven = skewed
    geometry: Geometry
    if prim.IsA(UsdGeom.Cube):
        size = float(UsdGeom.Cube(prim).GetSizeAttr().Get())
        x, y, z = (size * float(factor) for factor in scale)
        geometry = Box((x, y, z))
    elif prim.IsA(UsdGeom.Sphere):
        radius = float(UsdGeom.Sphere(prim).GetRadiusAttr().Get())
        geometry = Sphere(radius * float(scale.max()))
        uneven |= _uneven(scale)
    else:
        found = next((pair for pair in _ROUND if prim.IsA(pair[0])), None)
        if found is None:
            message = f"{path} is a {prim.GetTypeName()}; left out"
            yield Diagnostic("shape-not-urdf", message)
            return None
        schema, kind = found[0](prim), found[1]
        token = str(schema.GetAxisAttr().Get())
        along = float(scale["XYZ".index(token)])
        across = np.delete(scale, "XYZ".index(token))
        uneven |= _uneven(across)
        radius = float(schema.GetRadiusAttr().Get()) * float(across.max())
        geometry = kind(radius, float(schema.GetHeightAttr().Get()) * along)
        pose = pose.copy()
        pose[:3, :3] = pose[:3, :3] @ _ONTO_AXIS[token]
    if uneven:
        message = f"{path} is not uniformly scaled; the largest extent is used"
        yield Diagnostic("shape-approximated", message)
    return PlacedShape(pose_from_transform(pose), geometry)


def _uneven(factors: Matrix) -> bool:
    return bool(factors.max() - factors.min() > _SKEW * factors.max())


def _read_mesh(
    prim: Usd.Prim,
    pose: Matrix,
    scale: Matrix,
    baked: Matrix | None,
    texture: Texture | None,
) -> Findings[PlacedShape | None]:
    try:
        mesh = _surface(prim, baked, texture)
    except MeshError as error:
        message = f"mesh {prim.GetPath()} cannot be used: {error}"
        yield Diagnostic("mesh-unreadable", message)
        return None
    if baked is not None:
        # Not representable as rotation and scale; the points are transformed.
        return PlacedShape(Pose(), MeshFile(str(prim.GetPath()), None), mesh)
    x, y, z = (float(factor) for factor in scale)
    geometry = MeshFile(str(prim.GetPath()), None, (x, y, z))
    return PlacedShape(pose_from_transform(pose), geometry, mesh)


def _surface(prim: Usd.Prim, baked: Matrix | None, texture: Texture | None) -> PolygonMesh:
    mesh = UsdGeom.Mesh(prim)
    values = [
        attribute.Get()
        for attribute in (
            mesh.GetPointsAttr(),
            mesh.GetFaceVertexCountsAttr(),
            mesh.GetFaceVertexIndicesAttr(),
        )
    ]
    if not all(values):
        raise MeshError("it has no faces")
    points = np.array(values[0], dtype=np.float64)
    if not np.isfinite(points).all():
        message = f"{prim.GetPath()}.points has a number that is not finite"
        raise StageError((Diagnostic("stage-value", message),))
    counts, indices = (np.array(value, dtype=np.int64) for value in values[1:])
    inside_out = mesh.GetOrientationAttr().Get() == UsdGeom.Tokens.leftHanded
    if baked is not None:
        points = points @ baked[:3, :3].T + baked[:3, 3]
        inside_out ^= bool(np.linalg.det(baked[:3, :3]) < 0)
    coordinates = None
    if texture is not None:
        check_indices(len(points), counts, indices)
        coordinates = _texture_coordinates(prim, texture, indices)
    attributes = SurfaceAttributes(texture_coordinates=coordinates)
    surface = build_mesh(points, counts, indices, attributes=attributes)
    if surface.skipped:
        raise MeshError("; ".join(surface.skipped))
    if not inside_out:
        return surface
    corners = np.arange(len(surface.face_indices))
    order = reversed_faces(surface.face_counts, corners)
    coordinates = surface.attributes.texture_coordinates
    if coordinates is not None:
        reordered = corner_values(coordinates.values, coordinates.indices[order])
        attributes = SurfaceAttributes(texture_coordinates=reordered)
    return build_mesh(
        surface.points,
        surface.face_counts,
        surface.face_indices[order],
        attributes=attributes,
    )


def _texture_coordinates(
    prim: Usd.Prim, texture: Texture, indices: NDArray[np.int64]
) -> CornerValues | None:
    """Return the coordinates of all corners; None without usable ones.

    ``UsdTransform2d`` scales, rotates and then translates them.
    """
    primvar = UsdGeom.PrimvarsAPI(prim).FindPrimvarWithInheritance(texture.primvar)
    given = primvar.Get() if primvar else None
    values = np.array([] if given is None else given, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] != 2:
        return None
    chosen = primvar.GetIndices() if primvar.IsIndexed() else None
    of_element = np.arange(len(values)) if chosen is None else np.array(chosen, int)
    match primvar.GetInterpolation():
        case UsdGeom.Tokens.faceVarying:
            of_corner = of_element
        case UsdGeom.Tokens.vertex | UsdGeom.Tokens.varying:
            if indices.max() >= len(of_element):
                return None
            of_corner = of_element[indices]
        case _:
            return None
    if len(of_corner) != len(indices):
        return None
    if texture.rotation or texture.scale != (1.0, 1.0) or any(texture.translation):
        angle = np.radians(texture.rotation)
        cosine, sine = np.cos(angle), np.sin(angle)
        u, v = (values * texture.scale).T
        values = np.stack([cosine * u - sine * v, sine * u + cosine * v], axis=1)
        values += texture.translation
    return corner_values(values, of_corner)
