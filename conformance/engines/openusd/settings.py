"""Settings of a stage that change a simulation, and that no URDF implies.

Every attribute of the physics schemas belongs to one of three tables: ``COMPARED`` with
the URDF by a check of its value, ``HARMLESS`` beside what a converted URDF authors, or
the rules of this module, which name the value that a URDF implies. An authored value of
a registered physics schema that is in no table, and differs from its fallback, is a
setting as well. PhysX's schemas are read by name, as their plugin is not installed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.conformance.engines.openusd.joint_attributes import applied_schemas
from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED, Connection
from urdf_usd.conformance.engines.openusd.links import WORLD, LinkPrims
from urdf_usd.conformance.engines.openusd.stage import Physics, urdf_name
from urdf_usd.conformance.observation.robot import (
    JointType,
    SettingKind,
    UnimpliedSetting,
)

COMPARED = {
    "physics:approximation": "collision.approximation",
    "physics:axis": "kinematics.rotation",
    "physics:body0": "structure.parents",
    "physics:body1": "structure.parents",
    "physics:centerOfMass": "mass.link.center",
    "physics:collisionEnabled": "collision.shapes",
    "physics:diagonalInertia": "mass.link.inertia",
    "physics:dynamicFriction": "collision.materials",
    "physics:excludeFromArticulation": "structure.articulation",
    "physics:filteredGroups": "collision.filters",
    "physics:filteredPairs": "collision.filters",
    "physics:gravityDirection": "structure.scene",
    "physics:gravityMagnitude": "structure.scene",
    "physics:invertFilteredGroups": "collision.filters",
    "physics:jointEnabled": "structure.joints",
    "physics:kinematicEnabled": "structure.bodies",
    "physics:localPos0": "kinematics.position",
    "physics:localPos1": "kinematics.position",
    "physics:localRot0": "kinematics.rotation",
    "physics:localRot1": "kinematics.rotation",
    "physics:lowerLimit": "limits.lower",
    "physics:mass": "mass.link.mass",
    "physics:mergeGroup": "collision.filters",
    "physics:principalAxes": "mass.link.inertia",
    "physics:restitution": "collision.materials",
    "physics:rigidBodyEnabled": "structure.bodies",
    "physics:simulationOwner": "structure.scene",
    "physics:staticFriction": "collision.materials",
    "physics:upperLimit": "limits.upper",
    "drive:*:physics:maxForce": "limits.effort",
    "limit:*:physics:high": "structure.types",
    "limit:*:physics:low": "structure.types",
    "newton:contactAdhesion": "collision.materials",
    "newton:contactDamping": "collision.materials",
    "newton:contactFrictionGain": "collision.materials",
    "newton:contactStiffness": "collision.materials",
    "newton:damping": "dynamics.damping",
    "newton:friction": "dynamics.friction",
    "newton:gravityEnabled": "structure.scene",
    "newton:inertia": "mass.link.agreement",
    "newton:mimicCoef0": "structure.mimic",
    "newton:mimicCoef1": "structure.mimic",
    "newton:mimicEnabled": "structure.mimic",
    "newton:mimicJoint": "structure.mimic",
    "newton:rollingFriction": "collision.materials",
    "newton:selfCollisionEnabled": "collision.filters",
    "newton:targets": "dynamics.drives",
    "newton:torsionalFriction": "collision.materials",
    "newton:velocityLimit": "limits.velocity",
    "physxArticulation:enabledSelfCollisions": "collision.filters",
}
"""The check of each attribute that others compare, or that this module reads by
itself; ``*`` stands for the instance of a schema."""

_BY_MASS = "a density is ignored where a mass is authored, as every body needs"
_NO_GAINS = "without stiffness and damping a drive has no target"
_NO_JOINT = "no joint of a URDF has this type"
_SOLVER = "accuracy and speed of a solver, not the robot"

HARMLESS = {
    "physics:coneAngle0Limit": _NO_JOINT,
    "physics:coneAngle1Limit": _NO_JOINT,
    "physics:density": _BY_MASS,
    "physics:maxDistance": _NO_JOINT,
    "physics:minDistance": _NO_JOINT,
    "drive:*:physics:targetPosition": _NO_GAINS,
    "drive:*:physics:targetVelocity": _NO_GAINS,
    "drive:*:physics:type": _NO_GAINS,
    "newton:contactGap": _SOLVER,
    "newton:hydroelasticEnabled": _SOLVER,
    "newton:hydroelasticStiffness": _SOLVER,
    "newton:jointsAddMobility": "it matters if several joints connect the same bodies",
    "newton:massModel": _BY_MASS,
    "newton:maxHullVertices": _SOLVER,
    "newton:maxSolverIterations": _SOLVER,
    "newton:shellThickness": _BY_MASS,
    "newton:timeStepsPerSecond": _SOLVER,
}
"""Why each of these attributes makes no difference to a converted URDF."""
SOLVERS = ("newton:kamino:", "newton:vbd:", "newton:xpbd:", "newton:sdf")
"""Beginnings of attributes that set up one solver, and are harmless."""

_INSTANCES = re.compile(
    r"^(drive|limit|state|physxJointAxis|physxLimit|physxMimicJoint):[^:]+:"
)
NAMESPACES = ("physics:", "newton:", "drive:", "limit:", "state:", "physx")
"""Beginnings of the attributes of physics schemas."""
_REGISTERED = ("physics:", "newton:", "drive:", "limit:")
# Standard gravity of any place on the Earth [m/s^2], and numbers rounded from it.
_GRAVITY = (9.76, 9.84)
_DOWN = 1e-5
# Fallbacks of PhysX: of the angular damping [1/s] and the largest speed [deg/s].
_ANGULAR_DAMPING = 0.05
_ANGULAR_SPEED = 5729.0
# Approximations of UsdPhysics and PhysX that follow the surface or hulls of it;
# bounding ones fail the check of shapes.
_APPROXIMATIONS = frozenset(
    {
        UsdPhysics.Tokens.none,
        UsdPhysics.Tokens.convexHull,
        UsdPhysics.Tokens.convexDecomposition,
        UsdPhysics.Tokens.meshSimplification,
        UsdPhysics.Tokens.boundingCube,
        UsdPhysics.Tokens.boundingSphere,
        "sdf",
    }
)
# Numbers of a symmetric tensor.
_TENSOR = 6
# Purpose of the binding of a contact material.
_PHYSICS = "physics"
_FRICTION = ("physics:dynamicFriction", "physics:staticFriction")
_MATERIAL_ATTRIBUTES = (*_FRICTION, "physics:restitution")
# Attributes of masses, which concern bodies and their colliders alone.
_MASSES = (
    "physics:mass",
    "physics:density",
    "physics:centerOfMass",
    "physics:diagonalInertia",
    "physics:principalAxes",
    "newton:inertia",
)
# Shapes with it mark a place, and are neither drawn nor in contact.
_SITE = "NewtonSiteAPI"
# Subdivisions that keep all points of a surface.
_FLAT = frozenset({UsdGeom.Tokens.none, UsdGeom.Tokens.bilinear})
_SHOWN = frozenset({UsdGeom.Tokens.default_, UsdGeom.Tokens.render})


def _is_zero(value: object) -> bool:
    return not np.any(np.array(value))


def _is_unlimited(value: object) -> bool:
    return isinstance(value, int | float) and value >= UNBOUNDED


def _is_unauthored(value: object) -> bool:
    """Whether a number is the sentinel below zero for the solver's own value."""
    return isinstance(value, int | float) and value < 0


def _is_no_offset(value: object) -> bool:
    return value in {0.0, -math.inf}


def _is_true(value: object) -> bool:
    return value is True


def _is_false(value: object) -> bool:
    return value is False


def _is_default_damping(value: object) -> bool:
    return isinstance(value, int | float) and any(
        math.isclose(value, default, rel_tol=1e-6, abs_tol=1e-12)
        for default in (0.0, _ANGULAR_DAMPING)
    )


def _is_default_speed(value: object) -> bool:
    return isinstance(value, int | float) and value >= _ANGULAR_SPEED


@dataclass(frozen=True, slots=True)
class Rule:
    """The value that a URDF implies for one attribute.

    Attributes:
        kind: What the attribute concerns.
        schema: Schema without which the attribute has no effect; ``*`` stands for its
            instance. None if it has an effect on any prim, or on any joint.
        attribute: Name, with the same instance.
        is_implied: Whether a value is one that a URDF implies.
        implied: That value, for messages.
    """

    kind: SettingKind
    schema: str | None
    attribute: str
    is_implied: Callable[[object], bool]
    implied: str


_BODY_SCHEMA = "PhysicsRigidBodyAPI"
_PHYSX_BODY = "PhysxRigidBodyAPI"
_PHYSX_LIMIT = "PhysxLimitAPI:*"
_STATE = "PhysicsJointStateAPI:*"
_DRIVE = "PhysicsDriveAPI:*"
_K = SettingKind

RULES = (
    Rule(_K.INITIAL_STATE, _BODY_SCHEMA, "physics:velocity", _is_zero, "0"),
    Rule(_K.INITIAL_STATE, _BODY_SCHEMA, "physics:startsAsleep", _is_false, "False"),
    Rule(_K.INITIAL_STATE, _BODY_SCHEMA, "physics:angularVelocity", _is_zero, "0"),
    Rule(_K.INITIAL_STATE, _STATE, "state:*:physics:position", _is_zero, "0"),
    Rule(_K.INITIAL_STATE, _STATE, "state:*:physics:velocity", _is_zero, "0"),
    Rule(_K.DRIVE, _DRIVE, "drive:*:physics:stiffness", _is_zero, "0"),
    Rule(_K.DRIVE, _DRIVE, "drive:*:physics:damping", _is_zero, "0"),
    Rule(_K.JOINT, None, "physics:breakForce", _is_unlimited, "inf"),
    Rule(_K.JOINT, None, "physics:breakTorque", _is_unlimited, "inf"),
    # Newton reads them whether or not NewtonJointAPI is applied.
    Rule(_K.JOINT, None, "newton:armature", _is_zero, "0"),
    Rule(_K.JOINT, None, "newton:limitStiffness", _is_unauthored, "-inf"),
    Rule(_K.JOINT, None, "newton:limitDamping", _is_unauthored, "-inf"),
    Rule(_K.JOINT, "PhysxJointAPI", "physxJoint:armature", _is_zero, "0"),
    Rule(_K.JOINT, "PhysxJointAPI", "physxJoint:jointFriction", _is_zero, "0"),
    Rule(_K.JOINT, "PhysxJointAxisAPI:*", "physxJointAxis:*:armature", _is_zero, "0"),
    Rule(_K.JOINT, _PHYSX_LIMIT, "physxLimit:*:stiffness", _is_zero, "0"),
    Rule(_K.JOINT, _PHYSX_LIMIT, "physxLimit:*:damping", _is_zero, "0"),
    Rule(_K.JOINT, _PHYSX_LIMIT, "physxLimit:*:restitution", _is_zero, "0"),
    Rule(
        _K.JOINT,
        "PhysxMimicJointAPI:*",
        "physxMimicJoint:*:naturalFrequency",
        lambda value: _is_zero(value) or _is_unauthored(value),
        "0",
    ),
    Rule(_K.BODY, _PHYSX_BODY, "physxRigidBody:disableGravity", _is_false, "False"),
    Rule(_K.BODY, _PHYSX_BODY, "physxRigidBody:lockedPosAxis", _is_zero, "0"),
    Rule(_K.BODY, _PHYSX_BODY, "physxRigidBody:lockedRotAxis", _is_zero, "0"),
    Rule(_K.BODY, _PHYSX_BODY, "physxRigidBody:linearDamping", _is_zero, "0"),
    Rule(
        _K.BODY,
        _PHYSX_BODY,
        "physxRigidBody:angularDamping",
        _is_default_damping,
        "0",
    ),
    Rule(
        _K.BODY,
        _PHYSX_BODY,
        "physxRigidBody:maxLinearVelocity",
        _is_unlimited,
        "inf",
    ),
    Rule(
        _K.BODY,
        _PHYSX_BODY,
        "physxRigidBody:maxAngularVelocity",
        _is_default_speed,
        "PhysX's own",
    ),
    Rule(
        _K.BODY,
        _PHYSX_BODY,
        "physxRigidBody:maxContactImpulse",
        _is_unlimited,
        "inf",
    ),
    Rule(
        _K.BODY,
        _PHYSX_BODY,
        "physxRigidBody:enableGyroscopicForces",
        _is_true,
        "True",
    ),
    Rule(_K.BODY, "PhysxForceAPI", "physxForce:force", _is_zero, "0"),
    Rule(_K.BODY, "PhysxForceAPI", "physxForce:torque", _is_zero, "0"),
    Rule(
        _K.BODY,
        "PhysxSurfaceVelocityAPI",
        "physxSurfaceVelocity:surfaceVelocity",
        _is_zero,
        "0",
    ),
    Rule(
        _K.BODY,
        "PhysxSurfaceVelocityAPI",
        "physxSurfaceVelocity:surfaceAngularVelocity",
        _is_zero,
        "0",
    ),
    Rule(_K.FILTER, _PHYSX_BODY, "physxRigidBody:solveContact", _is_true, "True"),
    Rule(_K.APPROXIMATION, None, "newton:contactMargin", _is_zero, "0"),
    Rule(
        _K.APPROXIMATION,
        "PhysxCollisionAPI",
        "physxCollision:restOffset",
        _is_no_offset,
        "0",
    ),
    Rule(
        _K.ARTICULATION,
        "PhysxArticulationAPI",
        "physxArticulation:articulationEnabled",
        _is_true,
        "True",
    ),
)
"""The attributes for which a URDF implies one value, whatever the robot."""

_RULES = {rule.attribute: rule for rule in RULES}

IMPLIED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "physics:approximation": (
        lambda value: value in _APPROXIMATIONS,
        "a URDF implies the surface of a mesh, or convex hulls of it",
    ),
    "newton:inertia": (
        lambda value: len(value) != _TENSOR,
        "without six numbers Newton reads the inertia of UsdPhysics",
    ),
}
"""Further values of compared attributes that are equivalent, and why."""

COUPLED = {
    "newton:mimicCoef0": "newton:mimicJoint",
    "newton:mimicCoef1": "newton:mimicJoint",
    "newton:mimicEnabled": "newton:mimicJoint",
    "newton:mimicJoint": "newton:mimicJoint",
}
"""Properties that have an effect if a relationship targets a joint."""

SUPERSEDED = {"physxJoint:maxJointVelocity": "PhysxJointAxisAPI"}
"""Attributes that PhysX does not read where another schema is applied."""

UNAPPLIED = {
    "NewtonJointAPI": "Newton reads its attributes whether or not it is applied",
    "NewtonMassAPI": "without newton:inertia Newton reads the inertia of UsdPhysics",
    "PhysicsMeshCollisionAPI": "a URDF implies the surface of a mesh",
}
"""Why prims are the same to consumers without these schemas."""


def unimplied_settings(
    physics: Physics, links: LinkPrims, joints: Sequence[Connection]
) -> tuple[UnimpliedSetting, ...]:
    """Return the settings of a stage that no URDF implies.

    Args:
        physics: The open stage and its descriptors.
        links: The candidates for links.
        joints: The joints that connect something.
    """
    parts = Parts(physics, links)
    found: list[UnimpliedSetting] = []
    every: list[Usd.Prim] = []
    for prim in physics.stage.Traverse(Usd.TraverseInstanceProxies()):
        every.append(prim)
        found += _of_attributes(prim, parts)
    found += _of_scenes(every, parts)
    found += _outside(every, parts)
    found += _of_filters(every, parts, joints)
    found += _of_materials(every, parts)
    found += _of_masses(every, parts)
    found += _of_couplings(every, parts)
    found += _of_free_joints(parts)
    found += (
        UnimpliedSetting(
            SettingKind.JOINT,
            f"joint {joint.name}",
            f"no joint of a URDF moves like it: {joint.mobility.note}",
            "a joint of a URDF",
            "another joint",
        )
        for joint in joints
        if joint.mobility.type is None
    )
    found += _of_shapes(every, parts)
    found += _of_actuators(every, parts)
    return tuple(dict.fromkeys(found))


def articulation_starts(physics: Physics, links: LinkPrims) -> tuple[str, ...]:
    """Name the links whose body has an articulation root of its own."""
    return tuple(
        links.by_path[path].name
        for path in physics.bodies
        if path in links.by_path
        and physics.stage.GetPrimAtPath(path).HasAPI(UsdPhysics.ArticulationRootAPI)
    )


def schema_attribute(name: str) -> str:
    """Return the name of an attribute with ``*`` for the instance of its schema."""
    return _INSTANCES.sub(r"\1:*:", name)


def harmless_reason(attribute: str, value: object = None) -> str | None:
    """Return why a value of an attribute makes no difference, or None.

    Args:
        attribute: Its name; see :func:`schema_attribute`.
        value: Its value; without one, the reason for any value.
    """
    if attribute.startswith(SOLVERS):
        return _SOLVER
    if attribute in HARMLESS:
        return HARMLESS[attribute]
    if value is None:
        return None
    rule = _RULES.get(attribute)
    if rule and rule.is_implied(value):
        return f"it is a value for {rule.implied}, which a URDF implies"
    if attribute in IMPLIED and IMPLIED[attribute][0](value):
        return IMPLIED[attribute][1]
    return None


def is_accounted(attribute: str) -> bool:
    """Whether a table says what an attribute means; see :func:`schema_attribute`."""
    return (
        attribute in COMPARED
        or attribute in HARMLESS
        or attribute in _RULES
        or attribute.startswith(SOLVERS)
    )


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A stage, and the URDF names of its parts."""

    physics: Physics
    links: LinkPrims

    def subject(self, prim: Usd.Prim) -> str:
        """Return the joint or the link that a prim is part of, else the robot."""
        path = str(prim.GetPath())
        if path in self.physics.joints:
            return f"joint {urdf_name(prim)}"
        above = []
        while prim and not prim.IsPseudoRoot():
            if link := self.links.by_path.get(str(prim.GetPath())):
                above.append(link)
            prim = prim.GetParent()
        # An Xform below a body may be no link.
        nearest = next(
            (link for link in above if link.is_body), above[0] if above else None
        )
        return f"link {nearest.name}" if nearest else "robot"

    def setting(
        self, kind: SettingKind, prim: Usd.Prim, name: str, implied: str, value: object
    ) -> UnimpliedSetting:
        """Return a setting from the value of a property."""
        actual = f"{value:.6g}" if isinstance(value, float) else str(value)
        return UnimpliedSetting(
            kind,
            self.subject(prim),
            f"{name} is {actual}, not {implied}",
            implied,
            actual,
        )

    def body_of(self, collider: str) -> str:
        """Return the body of a collider, or WORLD."""
        shape = self.physics.shapes.get(collider)
        return str(shape.rigidBody) if shape and shape.collisionEnabled else WORLD


def _of_attributes(prim: Usd.Prim, parts: Parts) -> Iterator[UnimpliedSetting]:
    names = [
        name for name in prim.GetAuthoredPropertyNames() if name.startswith(NAMESPACES)
    ]
    if not names:
        return
    for name in names:
        general = schema_attribute(name)
        rule = _RULES.get(general)
        attribute = prim.GetAttribute(name)
        value = attribute.Get() if attribute else None
        if value is None:
            continue
        if rule is not None:
            if not rule.is_implied(value) and _has_effect(rule, name, prim):
                yield parts.setting(rule.kind, prim, name, rule.implied, value)
        elif name.startswith(_REGISTERED) and not is_accounted(general):
            fallback = prim.GetPrimDefinition().GetAttributeFallbackValue(name)
            if fallback is not None and value != fallback:
                yield parts.setting(_kind_of(prim), prim, name, str(fallback), value)


def _has_effect(rule: Rule, name: str, prim: Usd.Prim) -> bool:
    if rule.kind is SettingKind.DRIVE and not _drives(name.split(":")[1], prim):
        return False
    if rule.schema is None:
        return rule.kind is not SettingKind.JOINT or bool(prim.IsA(UsdPhysics.Joint))
    instance = name.split(":")[1] if "*" in rule.schema else ""
    # Applied by name, or included in another schema.
    schemas = {*applied_schemas(prim), *prim.GetAppliedSchemas()}
    return rule.schema.replace("*", instance) in schemas


def _drives(instance: str, prim: Usd.Prim) -> bool:
    """Whether a drive of an instance acts on a joint of its type."""
    if prim.IsA(UsdPhysics.RevoluteJoint):
        return bool(instance == UsdPhysics.Tokens.angular)
    if prim.IsA(UsdPhysics.PrismaticJoint):
        return bool(instance == UsdPhysics.Tokens.linear)
    return bool(prim.GetTypeName() == "PhysicsJoint")


def _kind_of(prim: Usd.Prim) -> SettingKind:
    if prim.IsA(UsdPhysics.Joint):
        return SettingKind.JOINT
    if prim.HasAPI(UsdPhysics.RigidBodyAPI):
        return SettingKind.BODY
    if prim.HasAPI(UsdPhysics.CollisionAPI):
        return SettingKind.APPROXIMATION
    return SettingKind.SCENE


def _of_scenes(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnimpliedSetting]:
    kind = SettingKind.SCENE
    physics = parts.physics
    scenes = [prim for prim in every if prim.IsA(UsdPhysics.Scene)]
    down = np.zeros(3)
    down["XYZ".index(UsdGeom.GetStageUpAxis(physics.stage))] = -1.0
    for prim in scenes:
        scene = UsdPhysics.Scene(prim)
        direction = np.array(scene.GetGravityDirectionAttr().Get(), np.float64)
        size = float(np.linalg.norm(direction))
        # Zero stands for the up axis of the stage, reversed.
        if size and not np.linalg.norm(direction / size - down) <= _DOWN:
            name = "physics:gravityDirection"
            yield parts.setting(kind, prim, name, "down", tuple(direction.tolist()))
        magnitude = float(scene.GetGravityMagnitudeAttr().Get())
        # Negative infinity stands for that of the Earth; OpenUSD's parser reverses
        # gravity for other negative numbers.
        least, most = _GRAVITY
        if (
            magnitude > -UNBOUNDED
            and not least <= magnitude * physics.units.length <= most
        ):
            implied = f"{9.81 / physics.units.length:.6g}"
            yield parts.setting(
                kind, prim, "physics:gravityMagnitude", implied, magnitude
            )
        if prim.GetAttribute("newton:gravityEnabled").Get() is False:
            yield parts.setting(kind, prim, "newton:gravityEnabled", "True", False)
    owners = dict(_owners(every, parts))
    known = {str(scene.GetPath()) for scene in scenes}
    first = next(iter(known), "") if len(known) == 1 else ""
    resolved = {prim: owner or first for prim, owner in owners.items()}
    counts = Counter(resolved.values())
    for prim, owner in resolved.items():
        usual = counts.most_common(1)[0][0]
        if owner != usual or (owners[prim] and owner not in known):
            yield parts.setting(
                kind, prim, "physics:simulationOwner", usual or "none", owner or "none"
            )


def _owners(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[tuple[Usd.Prim, str]]:
    """Yield bodies and colliders with the scene that they state.

    A collider of a body that states none has the scene of the body.
    """
    for prim in every:
        path = str(prim.GetPath())
        if path in parts.physics.bodies:
            api = UsdPhysics.RigidBodyAPI(prim)
        elif path in parts.physics.shapes:
            api = UsdPhysics.CollisionAPI(prim)
        else:
            continue
        targets = api.GetSimulationOwnerRel().GetTargets()
        if targets or path in parts.physics.bodies or not parts.body_of(path):
            yield prim, str(targets[0]) if targets else ""


def _outside(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield what is outside of the robot, such as a ground plane."""
    default = parts.physics.default.GetPath()
    for prim in every:
        if prim.HasAPI(UsdPhysics.RigidBodyAPI):
            what = "body"
        elif collides(prim):
            what = "collider"
        elif prim.IsA(UsdGeom.Gprim):
            what = "visual"
        else:
            continue
        within = prim.GetPath().HasPrefix(default)
        if within and (what == "body" or parts.subject(prim) != "robot"):
            continue
        if what == "visual" and not is_shown(prim):
            continue
        place = "belongs to no link" if within else "is outside of the default prim"
        yield UnimpliedSetting(
            SettingKind.SCENE,
            "robot",
            f"{what} {prim.GetPath()} {place}",
            f"no {what}",
            f"a {what}",
        )


def is_shown(prim: Usd.Prim) -> bool:
    """Whether renderers show a prim."""
    image = UsdGeom.Imageable(prim)
    return (
        image.ComputePurpose() in _SHOWN
        and image.ComputeVisibility() != UsdGeom.Tokens.invisible
    )


def collides(prim: Usd.Prim) -> bool:
    """Whether a prim is an enabled collider."""
    return (
        prim.HasAPI(UsdPhysics.CollisionAPI)
        and UsdPhysics.CollisionAPI(prim).GetCollisionEnabledAttr().Get() is not False
    )


def _of_filters(
    every: Sequence[Usd.Prim], parts: Parts, joints: Sequence[Connection]
) -> Iterator[UnimpliedSetting]:
    kind = SettingKind.FILTER
    collide = {parts.body_of(path): path for path in parts.physics.shapes}
    collide.pop(WORLD, None)
    for joint in joints:
        descriptor = parts.physics.joints.get(joint.path)
        if (
            descriptor
            and descriptor.collisionEnabled
            and collide.keys() >= set(joint.bodies)
        ):
            prim = parts.physics.stage.GetPrimAtPath(joint.path)
            yield UnimpliedSetting(
                kind,
                f"joint {joint.name}",
                "physics:collisionEnabled lets the links that it connects collide with "
                f"each other ({parts.subject(prim)})",
                "False",
                "True",
            )
    joined = {frozenset(joint.bodies) for joint in joints}
    rigid = _rigid_parts(joints)

    def matters(pair: frozenset[str]) -> bool:
        """Whether two bodies could collide, and a contact would move them."""
        parts_of_pair = {rigid.get(body, body) for body in pair}
        return len(parts_of_pair) > 1 and pair not in joined and pair <= collide.keys()

    for prim in every:
        yield from _of_triggers(prim, parts)
    for prim in map(parts.physics.stage.GetPrimAtPath, parts.physics.articulations):
        for schema, name in (
            ("PhysxArticulationAPI", "physxArticulation:enabledSelfCollisions"),
            ("NewtonArticulationRootAPI", "newton:selfCollisionEnabled"),
        ):
            if (
                prim.GetAttribute(name).Get() is False
                and schema in applied_schemas(prim)
                and any(map(matters, map(frozenset, combinations(collide, 2))))
            ):
                yield parts.setting(kind, prim, name, "True", value=False)
    for pair, source in {
        **dict(_filtered_pairs(every, parts)),
        **dict(_filtered_groups(every, parts)),
    }.items():
        if matters(pair):
            here, there = map(parts.physics.stage.GetPrimAtPath, sorted(pair))
            yield UnimpliedSetting(
                kind,
                parts.subject(here),
                f"does not collide with {parts.subject(there)}: {source}",
                "contacts",
                "no contacts",
            )


def _of_triggers(prim: Usd.Prim, parts: Parts) -> Iterator[UnimpliedSetting]:
    if collides(prim) and "PhysxTriggerAPI" in applied_schemas(prim):
        yield UnimpliedSetting(
            SettingKind.FILTER,
            parts.subject(prim),
            f"collider {prim.GetName()} is a trigger of PhysX, without contacts",
            "contacts",
            "no contacts",
        )


def _rigid_parts(joints: Sequence[Connection]) -> dict[str, str]:
    """Return a representative body for every body that fixed joints connect."""
    members: dict[str, list[str]] = {}
    part: dict[str, str] = {}
    for joint in joints:
        if joint.mobility.type is not JointType.FIXED or WORLD in joint.bodies:
            continue
        one, other = (part.setdefault(body, body) for body in joint.bodies)
        if one != other:
            moved = members.pop(other, [other])
            members.setdefault(one, [one]).extend(moved)
            part.update(dict.fromkeys(moved, one))
    return part


def _filtered_pairs(
    every: Sequence[Usd.Prim], parts: Parts
) -> Iterator[tuple[frozenset[str], str]]:
    for prim in every:
        if not prim.HasAPI(UsdPhysics.FilteredPairsAPI):
            continue
        pairs = UsdPhysics.FilteredPairsAPI(prim).GetFilteredPairsRel().GetTargets()
        for target in pairs:
            for pair in product(
                _filtered_bodies(str(prim.GetPath()), parts),
                _filtered_bodies(str(target), parts),
            ):
                yield frozenset(pair), f"physics:filteredPairs of {prim.GetName()}"


def _filtered_bodies(path: str, parts: Parts) -> tuple[str, ...]:
    """Return the bodies that a filter of a body, collider or articulation concerns."""
    if path in parts.physics.shapes:
        return (parts.body_of(path),)
    if path in parts.physics.articulations:
        return tuple(parts.physics.bodies)
    return (path,) if path in parts.physics.bodies else ()


def _filtered_groups(
    every: Sequence[Usd.Prim], parts: Parts
) -> Iterator[tuple[frozenset[str], str]]:
    groups = [prim for prim in every if prim.IsA(UsdPhysics.CollisionGroup)]
    if not groups:
        return
    table = UsdPhysics.CollisionGroup.ComputeCollisionGroupTable(parts.physics.stage)
    members: dict[str, list[str]] = {}
    for prim in groups:
        collection = UsdPhysics.CollisionGroup(prim).GetCollidersCollectionAPI()
        query = collection.ComputeMembershipQuery()
        members[str(prim.GetPath())] = [
            parts.body_of(path)
            for path in parts.physics.shapes
            if query.IsPathIncluded(Sdf.Path(path))
        ]
    for one, other in product(members, members):
        if table.IsCollisionEnabled(Sdf.Path(one), Sdf.Path(other)):
            continue
        for pair in product(members[one], members[other]):
            yield frozenset(pair), f"collision group {Sdf.Path(one).name}"


def _of_materials(
    every: Sequence[Usd.Prim], parts: Parts
) -> Iterator[UnimpliedSetting]:
    materials = {
        str(prim.GetPath()): settings
        for prim in every
        if prim.IsA(UsdShade.Material) and (settings := tuple(_of_material(prim)))
    }
    if not materials:
        return
    for prim in every:
        if not collides(prim):
            continue
        binding = UsdShade.MaterialBindingAPI(prim)
        bound, _ = binding.ComputeBoundMaterial(_PHYSICS)
        for name, value in materials.get(str(bound.GetPath()), ()) if bound else ():
            yield UnimpliedSetting(
                SettingKind.MATERIAL,
                parts.subject(prim),
                f"{name} of its collider is {value:.6g}; the URDF states none",
                "none",
                f"{value:.6g}",
            )


def _of_material(prim: Usd.Prim) -> Iterator[tuple[str, float]]:
    schemas = applied_schemas(prim)
    if prim.HasAPI(UsdPhysics.MaterialAPI):
        for name in _MATERIAL_ATTRIBUTES:
            attribute = prim.GetAttribute(name)
            # A bound material without friction has that of its schema, zero; without a
            # material simulators take their own.
            if attribute.HasAuthoredValue() or name in _FRICTION:
                yield name, float(attribute.Get())
    if "NewtonMaterialAPI" in schemas:
        definition = prim.GetPrimDefinition()
        for name, check in COMPARED.items():
            attribute = prim.GetAttribute(name)
            if (
                check == "collision.materials"
                and name.startswith("newton:")
                and attribute.HasAuthoredValue()
                and attribute.Get() != definition.GetAttributeFallbackValue(name)
            ):
                yield name, float(attribute.Get())


def _of_free_joints(parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield enabled joints between bodies that hold nothing.

    Newton reads neither the mass nor the pose of the body behind such a joint.
    """
    for path, joint in parts.physics.joints.items():
        if (
            isinstance(joint, UsdPhysics.D6JointDesc)
            and joint.jointEnabled
            and {str(joint.body0), str(joint.body1)} <= parts.physics.bodies.keys()
            and not any(limit.second.enabled for limit in joint.jointLimits)
        ):
            yield UnimpliedSetting(
                SettingKind.JOINT,
                f"joint {urdf_name(parts.physics.stage.GetPrimAtPath(path))}",
                "it is enabled, and holds no coordinate",
                "disabled",
                "enabled",
            )


def _of_couplings(
    every: Sequence[Usd.Prim], parts: Parts
) -> Iterator[UnimpliedSetting]:
    """Yield joints without a single coordinate that Newton would couple."""
    joints: Mapping[str, object] = parts.physics.joints
    for prim in every:
        if (
            "NewtonMimicAPI" not in applied_schemas(prim)
            or prim.IsA(UsdPhysics.RevoluteJoint)
            or prim.IsA(UsdPhysics.PrismaticJoint)
            or prim.GetAttribute("newton:mimicEnabled").Get() is False
        ):
            continue
        targets = prim.GetRelationship("newton:mimicJoint").GetTargets()
        if targets and str(targets[0]) in joints:
            yield UnimpliedSetting(
                SettingKind.JOINT,
                parts.subject(prim),
                f"it mimics {targets[0].name}, and has not exactly one coordinate",
                "no coupling",
                "a coupling",
            )


def _of_masses(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnimpliedSetting]:
    """Yield masses of prims that have none, such as frames of massless links."""
    for prim in every:
        if (
            not prim.HasAPI(UsdPhysics.MassAPI)
            or prim.HasAPI(UsdPhysics.RigidBodyAPI)
            or prim.HasAPI(UsdPhysics.CollisionAPI)
        ):
            continue
        definition = prim.GetPrimDefinition()
        for name in _MASSES:
            attribute = prim.GetAttribute(name)
            if not (attribute and attribute.HasAuthoredValue()):
                continue
            value, fallback = (
                attribute.Get(),
                definition.GetAttributeFallbackValue(name),
            )
            if value != fallback and value is not None:
                yield UnimpliedSetting(
                    SettingKind.BODY,
                    parts.subject(prim),
                    f"{name} of {prim.GetName()}, which is no body, is {value}",
                    "none",
                    str(value),
                )


def _of_shapes(every: Sequence[Usd.Prim], parts: Parts) -> Iterator[UnimpliedSetting]:
    for prim in every:
        if not prim.IsA(UsdGeom.Gprim):
            continue
        if _SITE in applied_schemas(prim):
            yield UnimpliedSetting(
                SettingKind.APPROXIMATION,
                parts.subject(prim),
                f"{prim.GetName()} is a site of Newton, not a shape",
                "a shape",
                "a site",
            )
        # The parser takes a collider with a schema of materials for a material.
        if collides(prim) and prim.HasAPI(UsdPhysics.MaterialAPI):
            yield UnimpliedSetting(
                SettingKind.APPROXIMATION,
                parts.subject(prim),
                f"collider {prim.GetName()} has PhysicsMaterialAPI, and UsdPhysics "
                "parses it as a material",
                "a collider",
                "a material",
            )
        if not prim.IsA(UsdGeom.Mesh):
            continue
        if prim.HasAPI(UsdPhysics.MeshCollisionAPI) and collides(prim):
            token = UsdPhysics.MeshCollisionAPI(prim).GetApproximationAttr().Get()
            if token not in _APPROXIMATIONS:
                yield parts.setting(
                    SettingKind.APPROXIMATION,
                    prim,
                    "physics:approximation",
                    "an approximation of UsdPhysics",
                    token,
                )
        scheme = UsdGeom.Mesh(prim).GetSubdivisionSchemeAttr().Get()
        if scheme not in _FLAT and is_shown(prim):
            yield parts.setting(
                SettingKind.SUBDIVISION, prim, "subdivisionScheme", "none", scheme
            )


def _of_actuators(
    every: Sequence[Usd.Prim], parts: Parts
) -> Iterator[UnimpliedSetting]:
    joints: Mapping[str, object] = parts.physics.joints
    for prim in every:
        if prim.GetTypeName() != "NewtonActuator":
            continue
        for target in prim.GetRelationship("newton:targets").GetTargets():
            if str(target) in joints:
                yield UnimpliedSetting(
                    SettingKind.DRIVE,
                    parts.subject(parts.physics.stage.GetPrimAtPath(target)),
                    f"actuator {prim.GetPath()} acts on it",
                    "no actuator",
                    "an actuator",
                )
