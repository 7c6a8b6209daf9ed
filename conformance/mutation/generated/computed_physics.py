"""What OpenUSD computes from the physics of a stage, apart from how it is authored.

Two stages with equal results are the same to a consumer of UsdPhysics, so that a change
between them is harmless. The results are taken from the descriptors of OpenUSD's parser
and from authored masses; nothing is shared with the engine that checks the USD.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

# Results: numbers, text, and tuples and mappings of them.
_Result: TypeAlias = object
_Descriptors: TypeAlias = Mapping[str, Any]

# Relative tolerance of float32 values that are computed in another order.
_TOLERANCE = 1e-5
_GRAVITY = 9.81
# Forces from here on are unlimited: the parser limits infinite ones to float32.
_UNBOUNDED = 1e30
# Fraction of the mass of a robot that changes no motion.
_NEGLIGIBLE = 1e-6
# Descriptors that are evaluated together, not one by one.
_TOGETHER = frozenset(
    {
        UsdPhysics.ObjectType.Scene,
        UsdPhysics.ObjectType.CollisionGroup,
        UsdPhysics.ObjectType.RigidBodyMaterial,
    }
)
# Fields of descriptors that say how something is authored, or what contacts state.
_IGNORED = frozenset(
    {
        "collisionEnabled",
        "collisionGroups",
        "filteredCollisions",
        "isValid",
        "materials",
        "primPath",
        "rel0",
        "rel1",
        "simulationOwners",
    }
)

USERS = frozenset(
    {
        "PhysicsArticulationRootAPI",
        "PhysicsCollisionAPI",
        "PhysicsJoint",
        "PhysicsMassAPI",
        "PhysicsMaterialAPI",
        "PhysicsRigidBodyAPI",
        "PhysicsScene",
    }
)
"""Schemas that make a prim one that physics is computed from."""


class ComputedPhysics(Struct, frozen=True, eq=False):
    """Results for one stage.

    Attributes:
        results: By what they concern.
        users: Paths of the prims that they are computed from, by the schema that makes
            a prim one of them.
    """

    results: Mapping[str, _Result]
    users: Mapping[str, frozenset[str]]

    def equals(self, other: ComputedPhysics) -> bool:
        """Whether all results are equal, within the rounding of float32."""
        return _is_equal(self.results, other.results)


def compute_physics(stage: Usd.Stage) -> ComputedPhysics:
    """Compute what the physics of a stage means.

    Results are the descriptors of bodies, enabled joints, shapes and articulations,
    masses, gravity, contact materials, and which pairs of bodies can be in contact.
    """
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
    by_type = {
        kind: {
            str(path): descriptor
            for path, descriptor in zip(*lists, strict=True)
            if descriptor.isValid
        }
        for kind, lists in found.items()
    }
    every = {
        path: descriptor
        for kind, descriptors in by_type.items()
        if kind not in _TOGETHER
        for path, descriptor in descriptors.items()
        if not isinstance(descriptor, UsdPhysics.JointDesc) or _connects(descriptor)
    }
    scenes = by_type.get(UsdPhysics.ObjectType.Scene, {})
    materials = by_type.get(UsdPhysics.ObjectType.RigidBodyMaterial, {})
    results: dict[str, _Result] = {
        f"{path} {descriptor.type}": _fields(descriptor)
        for path, descriptor in every.items()
        if not _is_free(descriptor)
    }
    total = sum(
        _authored_mass(stage.GetPrimAtPath(path))
        for path in _paths(every, UsdPhysics.RigidBodyDesc)
    )
    for path, descriptor in every.items():
        if isinstance(descriptor, UsdPhysics.RigidBodyDesc):
            results[f"{path} mass"] = _mass(stage.GetPrimAtPath(path), total)
        if hasattr(descriptor, "simulationOwners"):
            owners = tuple(map(str, descriptor.simulationOwners)) or tuple(scenes)
            alone = len(scenes) <= 1 and owners in {(), tuple(scenes)}
            results[f"{path} scene"] = () if alone else owners
        if isinstance(descriptor, UsdPhysics.ShapeDesc):
            results[f"{path} materials"] = tuple(
                (used.dynamicFriction, used.staticFriction, used.restitution)
                for used in (materials.get(str(one)) for one in descriptor.materials)
                if used
            )
    results["gravity"] = tuple(sorted(set(_gravities(stage, scenes))))
    contacts = _Contacts(stage, every)
    results["contacts"] = tuple(sorted(contacts.pairs()))
    return ComputedPhysics(results, _users(every, scenes))


def _users(every: _Descriptors, scenes: Iterable[str]) -> Mapping[str, frozenset[str]]:
    return {
        "PhysicsArticulationRootAPI": _paths(every, UsdPhysics.ArticulationDesc),
        "PhysicsCollisionAPI": _paths(every, UsdPhysics.ShapeDesc),
        "PhysicsJoint": _paths(every, UsdPhysics.JointDesc),
        # The mass of a collider does not matter, as every body states its own.
        "PhysicsMassAPI": _paths(every, UsdPhysics.RigidBodyDesc),
        "PhysicsMaterialAPI": frozenset(
            str(one)
            for descriptor in every.values()
            if isinstance(descriptor, UsdPhysics.ShapeDesc)
            for one in descriptor.materials
        ),
        "PhysicsRigidBodyAPI": _paths(every, UsdPhysics.RigidBodyDesc),
        "PhysicsScene": frozenset(scenes),
    }


def _paths(every: _Descriptors, kind: type) -> frozenset[str]:
    return frozenset(path for path, one in every.items() if isinstance(one, kind))


def placed_prims(stage: Usd.Stage) -> Mapping[str, _Result]:
    """Return the prims of a stage other than scopes, with types and placements.

    Types of frames do not matter, as they hold nothing but a transform.
    """
    cache = UsdGeom.XformCache()
    found: dict[str, _Result] = {}
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        name = str(prim.GetTypeName())
        if all(one.IsA(UsdGeom.Scope) for one in Usd.PrimRange(prim)):
            continue
        # Parts of a collider's surface have materials, and colliders are not drawn.
        if name == "GeomSubset" and prim.GetParent().HasAPI(UsdPhysics.CollisionAPI):
            continue
        image = UsdGeom.Imageable(prim)
        found[str(prim.GetPath())] = (
            "" if name in {"Scope", "Xform"} else name,
            _value(cache.GetLocalToWorldTransform(prim)),
            str(image.ComputeVisibility()) if image else "",
            str(image.ComputePurpose()) if image else "",
        )
    return found


def same_prims(one: Usd.Stage, other: Usd.Stage) -> bool:
    """Whether two stages have the same prims in the same places."""
    return _is_equal(placed_prims(one), placed_prims(other))


def _connects(joint: UsdPhysics.JointDesc) -> bool:
    return bool(joint.jointEnabled and joint.body0 != joint.body1)


def _is_free(descriptor: UsdPhysics.ObjectDesc) -> bool:
    """Whether a descriptor is a joint that restricts no motion.

    It may keep the bodies that it connects out of contact.
    """
    return bool(
        isinstance(descriptor, UsdPhysics.D6JointDesc)
        and descriptor.excludeFromArticulation
        and not _value(descriptor.jointLimits)
        and not _value(descriptor.jointDrives)
    )


def _fields(descriptor: UsdPhysics.ObjectDesc) -> _Result:
    return {
        name: _value(getattr(descriptor, name))
        for name in dir(descriptor)
        if not name.startswith("_") and name not in _IGNORED
    } | {
        "collides": getattr(descriptor, "collisionEnabled", None)
        if isinstance(descriptor, UsdPhysics.ShapeDesc)
        else None
    }


def _value(value: Any) -> _Result:  # noqa: ANN401  a field of any descriptor
    result: _Result = value if isinstance(value, float | int | None) else str(value)
    if isinstance(value, UsdPhysics.JointLimit):
        result = _limit(value)
    elif isinstance(value, UsdPhysics.JointDrive):
        result = _drive(value)
    elif isinstance(value, Gf.Quatf | Gf.Quatd):
        # A quaternion and its negative are the same rotation.
        result = _value(Gf.Matrix3d(Gf.Rotation(Gf.Quatd(value).GetNormalized())))
    elif isinstance(value, Gf.Matrix3d | Gf.Matrix4d):
        result = tuple(np.array(value).ravel().tolist())
    elif hasattr(value, "dimension"):
        result = tuple(map(float, value))
    elif hasattr(value, "__len__") and not isinstance(value, str):
        # Pairs are limits or drives of degrees of freedom.
        pairs = [
            (str(one.first), _value(one.second)) if hasattr(one, "first") else one for one in value
        ]
        result = tuple(
            sorted(
                (one if isinstance(one, tuple) else _value(one) for one in pairs),
                key=str,
            )
        )
        result = tuple(one for one in result if not _is_void_pair(one))
    return result


def _limit(limit: UsdPhysics.JointLimit) -> _Result:
    if not limit.enabled:
        return None
    return "locked" if limit.lower > limit.upper else (limit.lower, limit.upper)


def _is_void_pair(value: _Result) -> bool:
    return isinstance(value, tuple) and len(value) > 1 and value[1] is None


def _drive(drive: UsdPhysics.JointDrive) -> _Result:
    if not drive.enabled:
        return None
    if not (drive.stiffness or drive.damping):
        return (drive.forceLimit,) if drive.forceLimit < _UNBOUNDED else None
    names = ("stiffness", "damping", "forceLimit", "targetPosition", "targetVelocity")
    return (*(getattr(drive, name) for name in names), drive.acceleration)


def _authored_mass(prim: Usd.Prim) -> float:
    """Return the authored mass of a body [units of the stage], or zero."""
    mass = float(UsdPhysics.MassAPI(prim).GetMassAttr().Get() or 0)
    return mass if math.isfinite(mass) else 0.0


def _mass(prim: Usd.Prim, total: float) -> _Result:
    """Return authored mass, centre and tensor of a body [units of the stage].

    Args:
        prim: The body.
        total: Mass of all bodies.
    """
    api = UsdPhysics.MassAPI(prim)
    mass = _authored_mass(prim)
    center = np.array(api.GetCenterOfMassAttr().Get() or (math.nan,) * 3, np.float64)
    moments = np.array(api.GetDiagonalInertiaAttr().Get() or (0,) * 3, np.float64)
    turn = Gf.Quatd(api.GetPrincipalAxesAttr().Get() or Gf.Quatf(0))
    # A body for a massless link of a robot of about a metre.
    small = mass > 0 and np.isfinite(moments).all() and moments.sum() >= 0
    if small and max(mass, float(moments.sum())) <= _NEGLIGIBLE * total:
        return "negligible"
    # What is missing is computed from colliders.
    whole = mass > 0 and np.isfinite(center).all() and moments.any()
    if not whole or not np.isfinite(moments).all():
        return ("computed", mass, tuple(center.tolist()), tuple(moments.tolist()))
    upright = turn.GetNormalized() if turn.GetLength() else Gf.Quatd(1)
    axes = np.array(Gf.Matrix3d(Gf.Rotation(upright)))
    tensor = tuple((axes.T @ np.diag(moments) @ axes).ravel().tolist())
    return (mass, tuple(center.tolist()), tensor)


def _gravities(stage: Usd.Stage, scenes: _Descriptors) -> Iterator[tuple[float, ...]]:
    for scene in scenes.values():
        direction = np.array(scene.gravityDirection, np.float64)
        length = np.linalg.norm(direction) or 1.0
        yield tuple((scene.gravityMagnitude * direction / length).tolist())
    if not scenes:
        down = np.zeros(3)
        down["XYZ".index(UsdGeom.GetStageUpAxis(stage))] = -_GRAVITY
        yield tuple((down / UsdGeom.GetStageMetersPerUnit(stage)).tolist())


class _Contacts:
    """Pairs of bodies that can be in contact, and move each other by it."""

    def __init__(self, stage: Usd.Stage, every: _Descriptors) -> None:
        self._stage = stage
        self._shapes = {
            path: str(one.rigidBody) or path
            for path, one in every.items()
            if isinstance(one, UsdPhysics.ShapeDesc) and one.collisionEnabled
        }
        self._every = every
        self._joints = [one for one in every.values() if isinstance(one, UsdPhysics.JointDesc)]

    def pairs(self) -> set[tuple[str, str]]:
        """Return the pairs, each sorted."""
        bodies = sorted(set(self._shapes.values()))
        part = self._rigid_parts()
        apart = {
            (str(one.body0), str(one.body1)) for one in self._joints if not one.collisionEnabled
        }
        apart |= set(self._filtered())
        apart |= {(other, one) for one, other in apart}
        return {
            pair
            for pair in combinations(bodies, 2)
            if pair not in apart and part.get(pair[0], pair[0]) != part.get(pair[1], pair[1])
        }

    def _rigid_parts(self) -> dict[str, str]:
        """Return a common name for bodies that fixed joints connect."""
        part: dict[str, str] = {}
        for joint in self._joints:
            if isinstance(joint, UsdPhysics.FixedJointDesc):
                one, other = (
                    part.setdefault(str(body), str(body)) for body in (joint.body0, joint.body1)
                )
                part.update({name: one for name, of in part.items() if of == other})
        return part

    def _bodies_of(self, path: str) -> tuple[str, ...]:
        if path in self._shapes:
            return (self._shapes[path],)
        if isinstance(self._every.get(path), UsdPhysics.ArticulationDesc):
            return tuple(set(self._shapes.values()))
        return (path,)

    def _filtered(self) -> Iterator[tuple[str, str]]:
        for path, one in self._every.items():
            for target in getattr(one, "filteredCollisions", ()):
                yield from self._product(path, str(target))
        table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(self._stage)
        groups = table.GetGroups()
        members = {
            group: [
                path
                for path in self._shapes
                if UsdPhysics.CollisionGroup.Get(self._stage, group)
                .GetCollidersCollectionAPI()
                .ComputeMembershipQuery()
                .IsPathIncluded(Sdf.Path(path))
            ]
            for group in groups
        }
        for one in groups:
            for other in groups:
                if not table.IsCollisionEnabled(one, other):
                    for path in members[one]:
                        for target in members[other]:
                            yield from self._product(path, target)

    def _product(self, path: str, target: str) -> Iterable[tuple[str, str]]:
        for one in self._bodies_of(path):
            for other in self._bodies_of(target):
                yield one, other


def _is_equal(one: _Result, other: _Result) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            _is_equal(value, other[name]) for name, value in one.items()
        )
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_is_equal, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=1e-7) or (
            math.isnan(one) and math.isnan(other)
        )
    return one == other
