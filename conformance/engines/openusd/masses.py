"""Effective mass properties of bodies by ``ComputeMassProperties``.

Measured on usd-core 26.11:

- An authored diagonal inertia whose components are all below 1e-5 counts as unauthored;
  it is replaced by one from the colliders, or of a solid sphere of radius 0.1 m.
  Simulators use the authored value, which is stated here; the other is a departure.
- An authored mass is returned unchanged, and an authored centre of mass times the scale
  of its body.
- Without colliders and principal axes, the returned quaternion is uninitialised memory;
  so is a centre of mass that is blocked, and the moments are computed from such memory.
- Without mass and colliders it returns -1; the UsdPhysics document says 1.
- Colliders of bodies nested below a body are not counted with it.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines.openusd.stage import Physics, Units, WorldTransforms, urdf_name
from urdf_usd.conformance.engines.openusd.transforms import Array, inverses, rigid_part, rotations
from urdf_usd.conformance.engines.solids import (
    EMPTY,
    Solid,
    box,
    capsule,
    cone,
    convex_hull,
    cylinder,
    enclosed_solid,
    sphere,
)
from urdf_usd.conformance.engines.statements import vec6
from urdf_usd.conformance.engines.surfaces import fans
from urdf_usd.conformance.observation.robot import Departure, MassProperties, Restatement

_AXES = {UsdPhysics.Axis.X: 0, UsdPhysics.Axis.Y: 1, UsdPhysics.Axis.Z: 2}
# Relative to the largest moment. float32 storage of moments and axes stays below 1e-6.
_DEPARTS = 1e-5
_UNIT_QUAT = 1e-3
_MASS_SCHEMA = "PhysicsMassAPI"
_CENTER, _MOMENTS = "physics:centerOfMass", "physics:diagonalInertia"
_NEWTON_INERTIA = "newton:inertia"
_TENSOR_VALUES = 6


class BodyMass(Struct, frozen=True):
    """One body's mass properties, in SI units and in its own frame."""

    properties: MassProperties  # what a simulator uses
    departures: tuple[Departure, ...]  # inertias that OpenUSD's utility replaces
    restated: Restatement | None  # The inertia, if it is authored twice
    invented: bool  # whether no mass is authored
    notes: tuple[str, ...]  # on colliders, and on invented values
    moments: Array  # (3) principal moments [kg m^2]
    axes: Array  # (3, 3) rotation of the principal axes in the body
    computed: tuple[str, ...]  # which of mass, centre of mass and inertia are not authored
    is_empty: bool  # whether neither a mass nor a collider is authored


def body_mass(physics: Physics, world: WorldTransforms, path: str) -> BodyMass:
    prim, units = physics.stage.GetPrimAtPath(path), physics.units
    name, api = urdf_name(prim), UsdPhysics.MassAPI(prim)
    hollow: list[str] = []

    def information(collider: Usd.Prim) -> UsdPhysics.RigidBodyAPI.MassInformation:
        return _mass_information(physics, world, path, collider, hollow)

    mass, diagonal, center, quat = UsdPhysics.RigidBodyAPI(prim).ComputeMassProperties(information)
    # By name: ``HasAPI`` is also true for schemas that include it, such as ``NewtonMassAPI``, which
    # consumers without Newton's plugin ignore.
    applied = prim.GetMetadata("apiSchemas")
    is_applied = applied is not None and _MASS_SCHEMA in applied.GetAppliedItems()
    notes = [f"collider {found} has no volume" for found in hollow]
    authored_mass = api.GetMassAttr()
    invented = not (is_applied and authored_mass.HasAuthoredValue() and authored_mass.Get() > 0.0)
    if invented:
        source = "its colliders' volume" if mass > 0.0 else "nothing"
        notes.append(f"the mass of {name} is invented from {source}")
    is_empty = mass < 0.0
    if is_empty:
        mass = 1.0
    # An attribute without a value, not even its fallback.
    blocked = [
        one for one in (_CENTER, _MOMENTS) if is_applied and prim.GetAttribute(one).Get() is None
    ]
    notes += [f"{one} of {name} is blocked, and has no value" for one in blocked]
    if _CENTER in blocked:
        center = Gf.Vec3f(math.nan)
    if _MOMENTS in blocked:
        diagonal = Gf.Vec3f(math.nan)
    inertia = computed = _tensor(diagonal, quat) * units.inertia
    moments, axes, departures = diagonal, quat, []
    # All zero is the sentinel of the moments, and of the axes: then they are the body's.
    own = api.GetDiagonalInertiaAttr()
    has_moments = is_applied and own.HasAuthoredValue() and any(own.Get())
    if has_moments:
        moments, axes = own.Get(), api.GetPrincipalAxesAttr().Get()
        inertia = _tensor(moments, axes) * units.inertia
        # Not so for NaN.
        if not np.abs(inertia - computed).max() <= _DEPARTS * np.abs(inertia).max():
            cause = "OpenUSD treats moments below 1e-5 as unauthored"
            departures.append(Departure(name, vec6(inertia), vec6(computed), cause))
    finite = bool(np.isfinite(inertia).all())
    if not finite:
        notes.append(f"the inertia of {name} is not finite")
    x, y, z = (float(value) * units.length for value in center)
    own_center = prim.GetAttribute(_CENTER).Get() if is_applied else None
    authors_center = own_center is not None and bool(np.isfinite(own_center).all())
    authored = {
        "mass": not invented,
        "centre of mass": authors_center,
        "inertia": bool(has_moments),
    }
    return BodyMass(
        properties=MassProperties(
            float(mass) * units.mass, (x, y, z), vec6(inertia) if finite else None
        ),
        departures=tuple(departures),
        restated=_restated(name, inertia, prim, units) if finite else None,
        invented=invented,
        notes=tuple(notes),
        moments=np.array(moments, np.float64) * units.inertia,
        axes=_rotation(axes),
        computed=tuple(what for what, is_authored in authored.items() if not is_authored),
        is_empty=is_empty,
    )


def _restated(name: str, inertia: Array, prim: Usd.Prim, units: Units) -> Restatement | None:
    """Return the inertia that Newton reads instead of the mass schema, if authored."""
    values = prim.GetAttribute(_NEWTON_INERTIA).Get()
    if values is None or len(values) != _TENSOR_VALUES:
        return None
    xx, yy, zz, xy, xz, yz = (float(value) * units.inertia for value in values)
    full = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Restatement(name, _NEWTON_INERTIA, vec6(inertia), vec6(full))


def _tensor(moments: Gf.Vec3f, quat: Gf.Quatf) -> Array:
    """Return moments turned by a quaternion that maps principal to body axes."""
    turned = _rotation(quat)
    tensor: Array = turned @ np.diag(np.array(moments, np.float64)) @ turned.T
    return tensor


def _rotation(quat: Gf.Quatf | None) -> Array:
    """Return the rotation of principal axes.

    A quaternion that is no rotation leaves them along the body's axes: it is a
    sentinel, or nothing was ever written to it. One that is blocked is None.
    """
    if quat is None:
        return np.eye(3)
    wxyz = np.array((quat.GetReal(), *quat.GetImaginary()), np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        is_rotation = abs(np.linalg.norm(wxyz) - 1.0) < _UNIT_QUAT
    return rotations(wxyz) if is_rotation else np.eye(3)


def _mass_information(
    physics: Physics, world: WorldTransforms, body: str, prim: Usd.Prim, hollow: list[str]
) -> UsdPhysics.RigidBodyAPI.MassInformation:
    """Return the ``MassInformation`` of a collider of a body, in stage units."""
    path = str(prim.GetPath())
    descriptor = physics.shapes.get(path)
    # Computed here, as it is not called for most bodies.
    matrix = inverses(rigid_part(world.matrix(body))) @ world.matrix(path)
    if descriptor is None:
        solid = EMPTY
    elif descriptor.type == UsdPhysics.ObjectType.MeshShape:
        # With its points in the body's frame, a mesh keeps any scale and shear.
        solid = _mesh(UsdGeom.Mesh(prim), descriptor.approximation, matrix)
        matrix = np.eye(4)
    else:
        solid = _primitive(descriptor)
    if solid.volume == 0.0:
        hollow.append(path)
    pose = rigid_part(matrix)
    information = UsdPhysics.RigidBodyAPI.MassInformation()
    information.volume = solid.volume
    information.inertia = Gf.Matrix3f(*(float(value) for value in solid.inertia.flat))
    information.centerOfMass = Gf.Vec3f(*(float(value) for value in solid.center))
    information.localPos = Gf.Vec3f(*(float(value) for value in pose[:3, 3]))
    # Gf matrices act on row vectors.
    rotation = Gf.Matrix3d(*(float(value) for value in pose[:3, :3].T.flat))
    information.localRot = Gf.Quatf(rotation.ExtractRotation().GetQuat())
    return information


def _primitive(descriptor: UsdPhysics.ShapeDesc) -> Solid:
    """Return the solid of a descriptor, whose sizes contain the world scale."""
    kinds = UsdPhysics.ObjectType
    if descriptor.type == kinds.CubeShape:
        return box(np.abs(np.array(descriptor.halfExtents, np.float64)))
    if descriptor.type == kinds.SphereShape:
        return sphere(abs(descriptor.radius))
    build = {kinds.CylinderShape: cylinder, kinds.CapsuleShape: capsule, kinds.ConeShape: cone}
    radius, half_height = abs(descriptor.radius), abs(descriptor.halfHeight)
    return build[descriptor.type](radius, half_height, _AXES[descriptor.axis])


def _mesh(mesh: UsdGeom.Mesh, approximation: str, matrix: Array) -> Solid:
    """Return the solid that a mesh encloses, or its convex hull.

    The hull is that of a mesh that encloses no volume, or by approximation.
    """
    values = mesh.GetPointsAttr().Get()
    if not values:
        return EMPTY
    points = np.array(values, np.float64)
    if approximation == UsdPhysics.Tokens.convexHull:
        return convex_hull(points @ matrix[:3, :3].T + matrix[:3, 3])
    corners = np.array(mesh.GetFaceVertexIndicesAttr().Get(), np.int64)
    counts = np.array(mesh.GetFaceVertexCountsAttr().Get(), np.int64)
    return enclosed_solid(points, fans(counts, corners), matrix)
