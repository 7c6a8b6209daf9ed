"""Effective mass properties of bodies by ``ComputeMassProperties``.

Measured on usd-core 26.11:

- An authored diagonal inertia whose components are all below 1e-5 counts as unauthored; it is
  replaced by one from the colliders, or of a solid sphere of radius 0.1 m. Simulators use the
  authored value, which is stated here; the other is a departure.
- An authored mass is returned unchanged, and an authored centre of mass times the scale of its
  body.
- Without colliders and principal axes, the returned quaternion is uninitialised memory; so is a
  centre of mass that is blocked, and the moments are computed from such memory.
- Without mass and colliders it returns -1; the UsdPhysics document says 1.
- Colliders of bodies nested below a body are not counted with it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from urdf_usd.conformance.engines import statements, surfaces
from urdf_usd.conformance.engines.openusd.joints import AXES
from urdf_usd.conformance.engines.openusd.reading import Reading, urdf_name
from urdf_usd.conformance.observation.robot import Departure, MassProperties, Restatement

# Relative to the largest moment. float32 storage of moments and axes stays below 1e-6.
_DEPARTS = 1e-5
_UNIT_QUAT = 1e-3
_CENTER = "physics:centerOfMass"
_NEWTON_INERTIA = "newton:inertia"
_KINDS = UsdPhysics.ObjectType
_ROUND = (_KINDS.CylinderShape, _KINDS.CapsuleShape, _KINDS.ConeShape)
_SOLIDS = dict(zip(_ROUND, (surfaces.cylinder, surfaces.capsule, surfaces.cone), strict=True))


class BodyMass(Struct, frozen=True):
    """One body's mass properties, in SI units and in its own frame."""

    properties: MassProperties  # what a simulator uses
    departures: tuple[Departure, ...]  # inertias that OpenUSD's utility replaces
    restated: Restatement | None  # the inertia, if it is authored twice
    moments: statements.Array  # (3) principal moments [kg m^2]
    axes: statements.Array  # (3, 3) rotation of the principal axes in the body
    computed: tuple[str, ...]  # which of mass, centre of mass and inertia are not authored
    is_empty: bool  # whether neither a mass nor a collider is authored


def body_mass(reading: Reading, path: str) -> BodyMass:
    prim, units = reading.prim(path), reading.units
    name, api = urdf_name(prim), UsdPhysics.MassAPI(prim)
    mass, diagonal, center, quat = UsdPhysics.RigidBodyAPI(prim).ComputeMassProperties(
        partial(_mass_information, reading, path)
    )
    # By name: ``HasAPI`` is also true for schemas that include it, such as ``NewtonMassAPI``, which
    # consumers without Newton's plugin ignore.
    applied = prim.GetMetadata("apiSchemas")
    is_applied = applied is not None and "PhysicsMassAPI" in applied.GetAppliedItems()
    authored_mass = api.GetMassAttr()
    has_mass = is_applied and authored_mass.HasAuthoredValue() and authored_mass.Get() > 0.0
    is_empty = mass < 0.0
    if is_empty:
        mass = 1.0
    # An attribute without a value, not even its fallback.
    if is_applied and prim.GetAttribute(_CENTER).Get() is None:
        center = Gf.Vec3f(math.nan)
    if is_applied and api.GetDiagonalInertiaAttr().Get() is None:
        diagonal = Gf.Vec3f(math.nan)
    moments, axes, departures = diagonal, quat, []
    inertia = statements.along_link(moments, turn := _rotation(axes)) * units.inertia
    # All zero is the sentinel of the moments, and of the axes: then they are the body's.
    own = api.GetDiagonalInertiaAttr()
    has_moments = bool(is_applied and own.HasAuthoredValue() and any(own.Get()))
    if has_moments:
        computed, moments, axes = inertia, own.Get(), api.GetPrincipalAxesAttr().Get()
        inertia = statements.along_link(moments, turn := _rotation(axes)) * units.inertia
        # Not so for NaN.
        if not np.abs(inertia - computed).max() <= _DEPARTS * np.abs(inertia).max():
            cause = "OpenUSD treats moments below 1e-5 as unauthored"
            tensors = statements.vec6(inertia), statements.vec6(computed)
            departures.append(Departure(name, *tensors, cause))
    restated = None
    is_finite = bool(np.isfinite(inertia).all())
    if is_finite and len(values := prim.GetAttribute(_NEWTON_INERTIA).Get() or ()) == 6:
        # Newton reads it instead of the mass schema.
        xx, yy, zz, xy, xz, yz = (float(value) * units.inertia for value in values)
        second = xx, xy, xz, yy, yz, zz
        restated = Restatement(name, _NEWTON_INERTIA, statements.vec6(inertia), second)
    own_center = prim.GetAttribute(_CENTER).Get() if is_applied else None
    has_center = own_center is not None and bool(np.isfinite(own_center).all())
    authored = {"mass": has_mass, "centre of mass": has_center, "inertia": has_moments}
    position = statements.vec3([float(value) * units.length for value in center])
    return BodyMass(
        properties=MassProperties(
            float(mass) * units.mass, position, statements.vec6(inertia) if is_finite else None
        ),
        departures=tuple(departures),
        restated=restated,
        moments=np.array(moments, np.float64) * units.inertia,
        axes=turn,
        computed=tuple(what for what, is_authored in authored.items() if not is_authored),
        is_empty=is_empty,
    )


def _rotation(quat: Gf.Quatf | None) -> statements.Array:
    """Return the rotation of principal axes."""
    # A quaternion that is no rotation leaves them along the body's axes: it is a sentinel, or
    # nothing was ever written to it. One that is blocked is None.
    if quat is None:
        return np.eye(3)
    wxyz = np.array((quat.GetReal(), *quat.GetImaginary()), np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        is_rotation = abs(np.linalg.norm(wxyz) - 1.0) < _UNIT_QUAT
    return statements.matrices(wxyz) if is_rotation else np.eye(3)


def _mass_information(
    reading: Reading, body: str, prim: Usd.Prim
) -> UsdPhysics.RigidBodyAPI.MassInformation:
    """Return the ``MassInformation`` of a collider of a body, in stage units."""
    path = str(prim.GetPath())
    descriptor: Any = reading.shapes.get(path)
    matrix = statements.inverses(statements.rigid_part(reading.matrix(body))) @ reading.matrix(path)
    solid = surfaces.EMPTY
    # Sizes of a descriptor contain the world scale.
    match descriptor and descriptor.type:
        case _KINDS.CubeShape:
            solid = surfaces.box(np.abs(np.array(descriptor.halfExtents, np.float64)))
        case _KINDS.SphereShape:
            solid = surfaces.sphere(abs(descriptor.radius))
        case _KINDS.CylinderShape | _KINDS.CapsuleShape | _KINDS.ConeShape as kind:
            sizes = abs(descriptor.radius), abs(descriptor.halfHeight)
            solid = _SOLIDS[kind](*sizes, AXES[descriptor.axis])
        case _KINDS.MeshShape:
            mesh = UsdGeom.Mesh(prim)
            points = np.array(mesh.GetPointsAttr().Get() or (), np.float64)
            # Its convex hull by approximation, and if it encloses no volume. With its points in the
            # body's frame, a mesh keeps any scale and shear.
            if len(points) and descriptor.approximation == UsdPhysics.Tokens.convexHull:
                solid = surfaces.convex_hull(points @ matrix[:3, :3].T + matrix[:3, 3])
            elif len(points):
                corners = np.array(mesh.GetFaceVertexIndicesAttr().Get(), np.int64)
                counts = np.array(mesh.GetFaceVertexCountsAttr().Get(), np.int64)
                solid = surfaces.enclosed_solid(points, surfaces.fans(counts, corners), matrix)
            matrix = np.eye(4)
    pose = statements.rigid_part(matrix)
    information = UsdPhysics.RigidBodyAPI.MassInformation()
    information.volume = solid.volume
    information.inertia = Gf.Matrix3f(*solid.inertia.ravel().tolist())
    information.centerOfMass = Gf.Vec3f(*np.asarray(solid.center).tolist())
    information.localPos = Gf.Vec3f(*pose[:3, 3].tolist())
    # Gf matrices act on row vectors.
    rotation = Gf.Matrix3d(*pose[:3, :3].T.ravel().tolist())
    information.localRot = Gf.Quatf(rotation.ExtractRotation().GetQuat())
    return information
