"""Mass and shapes of one link, from its prims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pxr import Gf, Usd, UsdGeom, UsdPhysics, UsdShade

from converter.model import (
    Box,
    Capsule,
    Collision,
    Cylinder,
    Inertial,
    Material,
    MeshFile,
    Pose,
    Sphere,
    Visual,
)
from converter.spatial import (
    inertia_values,
    quat_wxyz_from_rotation,
    rotation_from_quat_wxyz,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from converter.model import Geometry, Vec3

# Turns of the Z axis onto the axis of a cylinder or capsule.
_ONTO_AXIS = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}


def read_inertial(prim: Usd.Prim) -> Inertial | None:
    """Read explicit mass properties; None where the stage leaves them to a consumer."""
    api = UsdPhysics.MassAPI(prim)
    mass = api.GetMassAttr().Get() if prim.HasAPI(UsdPhysics.MassAPI) else None
    if not mass:
        return None
    center = api.GetCenterOfMassAttr().Get()
    # An infinite centre and a zero quaternion are the schema's "not authored".
    position = _vec3(center) if np.isfinite(center).all() else (0.0, 0.0, 0.0)
    axes = api.GetPrincipalAxesAttr().Get()
    rotation = np.eye(3)
    if axes is not None and axes.GetLength() > 0:
        w, (x, y, z) = axes.GetReal(), axes.GetImaginary()
        rotation = rotation_from_quat_wxyz((w, x, y, z))
    tensor = rotation @ np.diag(api.GetDiagonalInertiaAttr().Get()) @ rotation.T
    return Inertial(float(mass), Pose(position), inertia_values(tensor))


def read_shapes(
    shapes: Sequence[tuple[Usd.Prim, Pose]],
) -> tuple[tuple[Visual, ...], tuple[Collision, ...]]:
    """Split a link's shapes into what is seen and what is touched.

    Args:
        shapes: Gprims with their pose in the link frame.
    """
    visuals, collisions = [], []
    for prim, pose in shapes:
        geometry = _geometry(prim)
        if geometry is None:
            continue
        name = prim.GetDisplayName() or prim.GetName()
        placed = _turned(prim, pose)
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            collisions.append(Collision(name, placed, geometry))
        if UsdGeom.Imageable(prim).ComputePurpose() != UsdGeom.Tokens.guide:
            visuals.append(Visual(name, placed, geometry, _material(prim)))
    return tuple(visuals), tuple(collisions)


def _geometry(prim: Usd.Prim) -> Geometry | None:
    x, y, z = _scale(prim)
    if prim.IsA(UsdGeom.Cube):
        size = UsdGeom.Cube(prim).GetSizeAttr().Get()
        return Box((size * x, size * y, size * z))
    if prim.IsA(UsdGeom.Sphere):
        return Sphere(UsdGeom.Sphere(prim).GetRadiusAttr().Get() * x)
    if prim.IsA(UsdGeom.Mesh):
        return MeshFile(str(prim.GetPath()), None, (x, y, z))
    for schema, kind in ((UsdGeom.Cylinder, Cylinder), (UsdGeom.Capsule, Capsule)):
        if prim.IsA(schema):
            along = {"X": x, "Y": y, "Z": z}[schema(prim).GetAxisAttr().Get()]
            across = {"X": y, "Y": z, "Z": x}[schema(prim).GetAxisAttr().Get()]
            radius = schema(prim).GetRadiusAttr().Get() * across
            return kind(radius, schema(prim).GetHeightAttr().Get() * along)
    return None


def _turned(prim: Usd.Prim, pose: Pose) -> Pose:
    """Pose of the URDF shape, whose axis is Z whatever the prim's is."""
    for schema in (UsdGeom.Cylinder, UsdGeom.Capsule):
        if prim.IsA(schema) and (axis := schema(prim).GetAxisAttr().Get()) != "Z":
            rotation = rotation_from_quat_wxyz(pose.quat_wxyz) @ _ONTO_AXIS[axis]
            return Pose(pose.position, quat_wxyz_from_rotation(rotation))
    return pose


def _scale(prim: Usd.Prim) -> Vec3:
    matrix = UsdGeom.Xformable(prim).GetLocalTransformation()
    x, y, z = (float(np.linalg.norm(row)) for row in np.array(matrix)[:3, :3])
    return x, y, z


def _material(prim: Usd.Prim) -> Material | None:
    material, _ = UsdShade.MaterialBindingAPI(prim).ComputeBoundMaterial()
    if not material:
        return None
    name = material.GetPrim().GetDisplayName() or material.GetPrim().GetName()
    source = material.ComputeSurfaceSource()[0]
    if not source:
        return Material(name)
    color = source.GetInput("diffuseColor").Get() or Gf.Vec3f(0.18)
    opacity = source.GetInput("opacity").Get()
    red, green, blue = (_srgb_from_linear(float(value)) for value in color)
    alpha = 1.0 if opacity is None else float(opacity)
    return Material(name, (red, green, blue, alpha))


def _srgb_from_linear(value: float) -> float:
    """Return the sRGB component of a linear value (IEC 61966-2-1)."""
    if value <= 0.0031308:  # noqa: PLR2004  the standard's threshold
        return value * 12.92
    return float(1.055 * value ** (1 / 2.4) - 0.055)


def _vec3(values: Gf.Vec3f) -> Vec3:
    x, y, z = (float(value) for value in values)
    return x, y, z
