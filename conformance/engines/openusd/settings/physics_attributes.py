"""What a URDF implies for every attribute of the physics schemas.

Each attribute belongs to one of three tables: ``COMPARED`` with the URDF by a check of
its value, ``HARMLESS`` in an asset of a URDF, or ``RULES``, which name the value that a
URDF implies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from pxr import UsdPhysics

from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED
from urdf_usd.conformance.observation.robot import SettingKind

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
    "mjc:actuatorfrclimited": "limits.effort",
    "mjc:actuatorfrcrange:max": "limits.effort",
    "mjc:actuatorfrcrange:min": "limits.effort",
    "mjc:biasPrm": "dynamics.drives",
    "mjc:biasType": "dynamics.drives",
    "mjc:coef0": "structure.mimic",
    "mjc:coef1": "structure.mimic",
    "mjc:damping": "dynamics.damping",
    "mjc:dynType": "dynamics.drives",
    "mjc:forceLimited": "dynamics.drives",
    "mjc:forceRange:max": "dynamics.drives",
    "mjc:forceRange:min": "dynamics.drives",
    "mjc:frictionloss": "dynamics.friction",
    "mjc:gainPrm": "dynamics.drives",
    "mjc:gainType": "dynamics.drives",
    "mjc:gear": "dynamics.drives",
    "mjc:target": "structure.mimic",
    "physxArticulation:enabledSelfCollisions": "collision.filters",
    "physxJoint:maxJointVelocity": "limits.velocity",
    "physxJointAxis:*:dynamicFrictionEffort": "dynamics.friction",
    "physxJointAxis:*:maxJointVelocity": "limits.velocity",
    "physxJointAxis:*:staticFrictionEffort": "dynamics.friction",
    "physxJointAxis:*:viscousFrictionCoefficient": "dynamics.damping",
    "physxMimicJoint:*:gearing": "structure.mimic",
    "physxMimicJoint:*:offset": "structure.mimic",
    "physxMimicJoint:*:referenceJoint": "structure.mimic",
    "physxMimicJoint:*:referenceJointAxis": "structure.mimic",
}
"""The check that compares each attribute; ``*`` stands for the instance of a schema."""

_BY_MASS = "a density is ignored where a mass is authored, as every body needs"
_NO_GAINS = "without stiffness and damping a drive has no target"
_NO_JOINT = "no joint of a URDF has this type"
_SOLVER = "accuracy and speed of a solver, not the robot"
_NO_VECTOR = "without a force or velocity it has no effect"
_OUTPUT = "written by the simulator"
_COLLIDER = "how the approximation of a surface is computed"
_EDITOR = "cameras of an editor"
_SOFTNESS = "how soft constraints are, and which contact decides"
_CONTROL = "of the control of an actuator, which no URDF has"

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
    "newton:maxSolverIterations": _SOLVER,
    "newton:shellThickness": _BY_MASS,
    "newton:timeStepsPerSecond": _SOLVER,
    "mjc:actuatorgravcomp": "without compensation of gravity it has no effect",
    "mjc:ctrlLimited": _CONTROL,
    "mjc:ctrlRange:max": _CONTROL,
    "mjc:ctrlRange:min": _CONTROL,
    "mjc:gap": _SOLVER,
    "mjc:group": "groups of a viewer",
    "mjc:inertia": _BY_MASS,
    "mjc:inheritRange": _CONTROL,
    "mjc:priority": _SOFTNESS,
    "mjc:shellinertia": _BY_MASS,
    "mjc:springref": "without stiffness it has no effect",
    "physxArticulation:solverPositionIterationCount": _SOLVER,
    "physxArticulation:solverVelocityIterationCount": _SOLVER,
    "physxArticulation:stabilizationThreshold": _SOLVER,
    "physxCollision:contactOffset": _SOLVER,
    "physxCollision:minTorsionalPatchRadius": "without a patch it has no effect",
    "physxForce:forceEnabled": _NO_VECTOR,
    "physxForce:mode": _NO_VECTOR,
    "physxForce:worldFrameEnabled": _NO_VECTOR,
    "physxJoint:enableProjection": _SOLVER,
    "physxLimit:*:bounceThreshold": "without restitution a limit has no bounce",
    "physxMaterial:compliantContactAccelerationSpring": "without stiffness it has none",
    "physxMaterial:dampingCombineMode": "without damping it has no effect",
    "physxMimicJoint:*:dampingRatio": "without a frequency it has no effect",
    "physxRigidBody:cfmScale": _SOLVER,
    "physxRigidBody:contactSlopCoefficient": _SOLVER,
    "physxRigidBody:enableCCD": _SOLVER,
    "physxRigidBody:enableSpeculativeCCD": _SOLVER,
    "physxRigidBody:maxDepenetrationVelocity": _SOLVER,
    "physxRigidBody:retainAccelerations": _NO_VECTOR,
    "physxRigidBody:sleepThreshold": _SOLVER,
    "physxRigidBody:solverPositionIterationCount": _SOLVER,
    "physxRigidBody:solverVelocityIterationCount": _SOLVER,
    "physxRigidBody:stabilizationThreshold": _SOLVER,
    "physxSurfaceVelocity:surfaceVelocityEnabled": _NO_VECTOR,
    "physxSurfaceVelocity:surfaceVelocityLocalSpace": _NO_VECTOR,
    "physxTrigger:triggeredCollisions": _OUTPUT,
}
"""Why each of these attributes makes no difference to a converted URDF."""

HARMLESS_PREFIXES = {
    "mjc:option:ccd_": _SOLVER,
    "mjc:option:iterations": _SOLVER,
    "mjc:option:ls_": _SOLVER,
    "mjc:option:sdf_": _SOLVER,
    "mjc:option:solver": _SOLVER,
    "mjc:option:timestep": _SOLVER,
    "mjc:option:tolerance": _SOLVER,
    "mjc:sol": _SOFTNESS,
    "newton:kamino:": _SOLVER,
    "newton:sdf": _SOLVER,
    "newton:vbd:": _SOLVER,
    "newton:xpbd:": _SOLVER,
    "physxCamera:": _EDITOR,
    "physxContactReport:": _OUTPUT,
    "physxCookedData:": "computed from the surface",
    "physxDroneCamera:": _EDITOR,
    "physxFollow": _EDITOR,
    "physxPhysicsDistanceJoint:": _NO_JOINT,
    "physxSDFMeshCollision:": _COLLIDER,
    "physxScene:": _SOLVER,
    "physxSphereFillCollision:": _COLLIDER,
    "physxTriangleMeshCollision:": _COLLIDER,
    "physxTriangleMeshSimplificationCollision:": _COLLIDER,
}
"""The same by the beginnings of names."""

UNREGISTERED_SCHEMAS = frozenset(
    {
        "ExtendedPhysicsMimicAPI",
        "MjcCollisionAPI",
        "MjcEqualityJointAPI",
        "MjcJointAPI",
        "MjcMeshCollisionAPI",
        "MjcSceneAPI",
        "PhysicsJointStateAPI",
        "PhysxArticulationAPI",
        "PhysxCameraAPI",
        "PhysxCameraDroneAPI",
        "PhysxCameraFollowAPI",
        "PhysxCameraFollowLookAPI",
        "PhysxCameraFollowVelocityAPI",
        "PhysxCollisionAPI",
        "PhysxContactReportAPI",
        "PhysxConvexDecompositionCollisionAPI",
        "PhysxConvexHullCollisionAPI",
        "PhysxCookedDataAPI",
        "PhysxDrivePerformanceEnvelopeAPI",
        "PhysxForceAPI",
        "PhysxJointAPI",
        "PhysxJointAxisAPI",
        "PhysxLimitAPI",
        "PhysxMaterialAPI",
        "PhysxMimicJointAPI",
        "PhysxPhysicsDistanceJointAPI",
        "PhysxRigidBodyAPI",
        "PhysxSDFMeshCollisionAPI",
        "PhysxSceneAPI",
        "PhysxSphereFillCollisionAPI",
        "PhysxSurfaceVelocityAPI",
        "PhysxTriangleMeshCollisionAPI",
        "PhysxTriangleMeshSimplificationCollisionAPI",
        "PhysxTriggerAPI",
        "PhysxTriggerStateAPI",
    }
)
"""Schemas of PhysX, MuJoCo and REP 158 that change nothing if their attributes have the
values that a URDF implies, or that another check finds. Others of PhysX are of
deformables, particles, tendons, vehicles and characters, none of which is part of a
URDF."""

LABELS = ("Isaac", "Semantics", "Ros")
"""Beginnings of schemas, registered or not, that name and label parts of a robot."""

_INSTANCES = re.compile(
    r"^(newton(?=:[^:]+:position$)|drive|limit|state|physxDrivePerformanceEnvelope|physxJointAxis|physxLimit"
    r"|physxMimicJoint):[^:]+:"
)
NAMESPACES = ("physics:", "newton:", "drive:", "limit:", "state:", "physx", "mjc:")
"""Beginnings of the attributes of physics schemas."""

# Fallbacks of PhysX: of the angular damping [1/s] and the largest speed [deg/s].
_ANGULAR_DAMPING = 0.05
_ANGULAR_SPEED = 5729.0
# And of the number of vertices of a hull.
_HULL_VERTICES = 64
# Of the energy below which an articulation falls asleep [m^2/s^2]; of the thickness of
# hulls [m]; of the deviation of convex pieces [%].
_SLEEP = 5e-5
_THICKNESS = 1e-3
_PIECE_ERROR = 10.0
_PIECES = 32
_VOXELS = 500_000
# Fallbacks of MuJoCo for position limits.
_SOLREF = (0.02, 1.0)
_SOLIMP = (0.9, 0.95, 0.001, 0.5, 2.0)
_ROUNDED = 1.0 + 1e-6

# Approximations of UsdPhysics and PhysX that follow the surface or hulls of it;
# bounding ones fail the check of shapes.
APPROXIMATIONS = frozenset(
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

# Dimension of contacts of MuJoCo with sliding friction.
_SLIDING = 3
# Numbers of a symmetric tensor.
_TENSOR = 6


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


def _is_sliding(value: object) -> bool:
    """Whether contacts of MuJoCo have sliding friction alone."""
    return value == _SLIDING


def _is_default_damping(value: object) -> bool:
    return isinstance(value, int | float) and any(
        math.isclose(value, default, rel_tol=1e-6, abs_tol=1e-12)
        for default in (0.0, _ANGULAR_DAMPING)
    )


def _at_most(limit: float) -> Callable[[object], bool]:
    """Accept numbers up to the fallback of a schema, in single precision."""
    return lambda value: isinstance(value, int | float) and value <= limit * _ROUNDED


def _at_least(limit: int) -> Callable[[object], bool]:
    return lambda value: isinstance(value, int) and value >= limit


def _has_hull_vertices(value: object) -> bool:
    """Whether a hull has as many vertices as by default; -1 is unlimited."""
    return isinstance(value, int) and (value == -1 or value >= _HULL_VERTICES)


def _is_close_to(*numbers: float) -> Callable[[Any], bool]:
    def is_close(value: Any) -> bool:  # noqa: ANN401  a value of any attribute
        return len(value) == len(numbers) and np.allclose(value, numbers, rtol=1e-6)

    return is_close


def _is_default_speed(value: object) -> bool:
    return isinstance(value, int | float) and value >= _ANGULAR_SPEED


class Rule(Struct, frozen=True):
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
_PHYSX_ENVELOPE = "PhysxDrivePerformanceEnvelopeAPI:*"
_STATE = "PhysicsJointStateAPI:*"
_DRIVE = "PhysicsDriveAPI:*"
_HULL = "ConvexHullCollision"
_PARTS = "ConvexDecompositionCollision"
_K = SettingKind

RULES = (
    Rule(_K.INITIAL_STATE, _BODY_SCHEMA, "physics:velocity", _is_zero, "0"),
    Rule(_K.INITIAL_STATE, _BODY_SCHEMA, "physics:startsAsleep", _is_false, "False"),
    Rule(_K.INITIAL_STATE, _BODY_SCHEMA, "physics:angularVelocity", _is_zero, "0"),
    Rule(_K.INITIAL_STATE, _STATE, "state:*:physics:position", _is_zero, "0"),
    Rule(_K.INITIAL_STATE, _STATE, "state:*:physics:velocity", _is_zero, "0"),
    # Newton reads it without a schema.
    Rule(_K.INITIAL_STATE, None, "newton:*:position", _is_zero, "0"),
    Rule(_K.DRIVE, _DRIVE, "drive:*:physics:stiffness", _is_zero, "0"),
    Rule(_K.DRIVE, _DRIVE, "drive:*:physics:damping", _is_zero, "0"),
    Rule(_K.JOINT, None, "physics:breakForce", _is_unlimited, "inf"),
    Rule(_K.JOINT, None, "physics:breakTorque", _is_unlimited, "inf"),
    # Newton reads them whether or not NewtonJointAPI is applied.
    Rule(_K.JOINT, None, "newton:armature", _is_zero, "0"),
    Rule(_K.JOINT, None, "newton:limitStiffness", _is_unauthored, "-inf"),
    Rule(_K.JOINT, None, "newton:limitDamping", _is_unauthored, "-inf"),
    *(
        Rule(_K.JOINT, None, f"mjc:{name}", _is_zero, "0")
        for name in (
            *("armature", "coef2", "coef3", "coef4"),
            *("ref", "springdamper", "stiffness"),
        )
    ),
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
    Rule(_K.BODY, _BODY_SCHEMA, "mjc:gravcomp", _is_zero, "0"),
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
    Rule(_K.APPROXIMATION, "MjcCollisionAPI", "mjc:margin", _is_zero, "0"),
    Rule(_K.MATERIAL, "MjcCollisionAPI", "mjc:condim", _is_sliding, "3"),
    Rule(
        _K.APPROXIMATION,
        "PhysxCollisionAPI",
        "physxCollision:restOffset",
        _is_no_offset,
        "0",
    ),
    Rule(
        _K.APPROXIMATION,
        None,
        "newton:maxHullVertices",
        _has_hull_vertices,
        "-1, or 64 and more",
    ),
    Rule(
        _K.APPROXIMATION,
        "MjcMeshCollisionAPI",
        "mjc:maxhullvert",
        _has_hull_vertices,
        "-1, or 64 and more",
    ),
    *(
        Rule(
            _K.APPROXIMATION,
            f"Physx{schema}API",
            f"physx{schema}:{name}",
            is_implied,
            f"{fallback}, PhysX's own",
        )
        for schema, name, is_implied, fallback in (
            (_HULL, "hullVertexLimit", _has_hull_vertices, _HULL_VERTICES),
            (_HULL, "minThickness", _at_most(_THICKNESS), _THICKNESS),
            (_PARTS, "errorPercentage", _at_most(_PIECE_ERROR), _PIECE_ERROR),
            (_PARTS, "hullVertexLimit", _has_hull_vertices, _HULL_VERTICES),
            (_PARTS, "maxConvexHulls", _at_least(_PIECES), _PIECES),
            (_PARTS, "minThickness", _at_most(_THICKNESS), _THICKNESS),
            (_PARTS, "shrinkWrap", _is_false, False),
            (_PARTS, "voxelResolution", _at_least(_VOXELS), _VOXELS),
        )
    ),
    Rule(_K.JOINT, None, "mjc:margin", _is_zero, "0"),
    Rule(_K.JOINT, None, "mjc:solreflimit", _is_close_to(*_SOLREF), str(_SOLREF)),
    Rule(_K.JOINT, None, "mjc:solimplimit", _is_close_to(*_SOLIMP), str(_SOLIMP)),
    Rule(
        _K.SCENE,
        "PhysxSceneAPI",
        "physxScene:updateType",
        lambda value: value != "Disabled",
        "Synchronous",
    ),
    Rule(
        _K.FILTER,
        "PhysxSceneAPI",
        "physxScene:invertCollisionGroupFilter",
        _is_false,
        "False",
    ),
    Rule(
        _K.MATERIAL,
        "PhysxCollisionAPI",
        "physxCollision:torsionalPatchRadius",
        _is_zero,
        "0",
    ),
    *(
        Rule(_K.MATERIAL, "PhysxMaterialAPI", f"physxMaterial:{name}", _is_zero, "0")
        for name in ("compliantContactDamping", "compliantContactStiffness")
    ),
    *(
        Rule(
            _K.MATERIAL,
            "PhysxMaterialAPI",
            f"physxMaterial:{name}CombineMode",
            lambda value: value == "average",
            "average",
        )
        for name in ("friction", "restitution")
    ),
    Rule(
        _K.DRIVE,
        _PHYSX_ENVELOPE,
        "physxDrivePerformanceEnvelope:*:maxActuatorVelocity",
        _is_unlimited,
        "inf",
    ),
    *(
        Rule(
            _K.DRIVE,
            _PHYSX_ENVELOPE,
            f"physxDrivePerformanceEnvelope:*:{name}",
            _is_zero,
            "0",
        )
        for name in ("speedEffortGradient", "velocityDependentResistance")
    ),
    Rule(
        _K.ARTICULATION,
        "PhysxArticulationAPI",
        "physxArticulation:articulationEnabled",
        _is_true,
        "True",
    ),
    # At rest in the air it has no energy, and would stay there.
    Rule(
        _K.ARTICULATION,
        "PhysxArticulationAPI",
        "physxArticulation:sleepThreshold",
        _at_most(_SLEEP),
        f"{_SLEEP}, PhysX's own",
    ),
)
"""The attributes for which a URDF implies one value, whatever the robot."""

RULES_OF: Mapping[str, tuple[Rule, ...]] = {
    rule.attribute: tuple(one for one in RULES if one.attribute == rule.attribute) for rule in RULES
}
"""The rules of each attribute: MuJoCo has one name for margins of joints and shapes."""

IMPLIED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "physics:approximation": (
        lambda value: value in APPROXIMATIONS,
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


def schema_attribute(name: str) -> str:
    """Return the name of an attribute with ``*`` for the instance of its schema."""
    return _INSTANCES.sub(r"\1:*:", name)


def harmless_reason(attribute: str, value: object = None) -> str | None:
    """Return why a value of an attribute makes no difference, or None.

    Args:
        attribute: Its name; see :func:`schema_attribute`.
        value: Its value; without one, the reason for any value.
    """
    if attribute in HARMLESS:
        return HARMLESS[attribute]
    for beginning, reason in HARMLESS_PREFIXES.items():
        if attribute.startswith(beginning):
            return reason
    if value is None:
        return None
    rules = RULES_OF.get(attribute, ())
    if rules and all(rule.is_implied(value) for rule in rules):
        return f"it is a value for {rules[0].implied}, which a URDF implies"
    if attribute in IMPLIED and IMPLIED[attribute][0](value):
        return IMPLIED[attribute][1]
    return None


def is_accounted(attribute: str) -> bool:
    """Whether a table says what an attribute means; see :func:`schema_attribute`."""
    return (
        attribute in COMPARED
        or attribute in HARMLESS
        or attribute in RULES_OF
        or attribute.startswith(tuple(HARMLESS_PREFIXES))
    )
