"""What a URDF implies for every attribute of the schemas.

An attribute is compared with the URDF by a check, or makes no difference to an asset of
a URDF, or has the value that its schema falls back to. ``attributes.toml`` has the first
two, and the fallbacks of schemas that are not registered.
"""

from __future__ import annotations

import operator
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pxr import UsdPhysics

from urdf_usd.conformance.engines.openusd.joints import UNBOUNDED
from urdf_usd.conformance.observation.robot import SettingKind

_TABLES = tomllib.loads(Path(__file__).with_name("attributes.toml").read_text(encoding="utf-8"))
COMPARED: Mapping[str, str] = {
    name: check for check, names in _TABLES["compared"].items() for name in names
}
"""The check that compares each attribute; ``*`` stands for the instance of a schema."""
HARMLESS: Mapping[str, str] = {
    name: reason for reason, names in _TABLES["harmless"].items() for name in names
}
"""Why each of these attributes makes no difference; ``…`` stands for any end of a name."""
FALLBACKS: Mapping[str, object] = {
    name: value for values in _TABLES["fallbacks"].values() for name, value in values.items()
}
"""What simulators assume without these attributes, which no URDF has."""
KIND_OF = {
    name: SettingKind(kind) for kind, values in _TABLES["fallbacks"].items() for name in values
}
"""What these attributes concern."""
UNREGISTERED_SCHEMAS = frozenset(_TABLES["schemas"]["known"])
"""Schemas that change nothing by themselves."""

NAMESPACES = ("physics:", "newton:", "drive:", "limit:", "state:", "physx", "mjc:")
"""Beginnings of the attributes of physics schemas."""
LABELS = ("Isaac", "Semantics", "Ros")
"""Beginnings of schemas, registered or not, that name and label parts of a robot."""

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

_INSTANCES = re.compile(
    r"^(newton(?=:[^:]+:position$)|drive|limit|state|physxDrivePerformanceEnvelope|physxJointAxis|physxLimit"
    r"|physxMimicJoint):[^:]+:"
)
_PREFIXES = {name[:-1]: reason for name, reason in HARMLESS.items() if name.endswith("…")}
# Numbers of vertices of a hull that are enough for its shape; -1 is unlimited.
_VERTICES = 64


def _has_hull_vertices(value: Any, _: Any) -> bool:  # noqa: ANN401  values of any attribute
    return bool(value == -1 or value >= _VERTICES)


# Values besides the fallback that do not change a robot.
_ACCEPTED: Mapping[str, Callable[[Any, Any], bool]] = {
    # Negative numbers stand for the solver's own.
    "newton:limitStiffness": lambda value, _: value < 0,
    "newton:limitDamping": lambda value, _: value < 0,
    "newton:maxHullVertices": _has_hull_vertices,
    "mjc:maxhullvert": _has_hull_vertices,
    "physxConvexHullCollision:hullVertexLimit": _has_hull_vertices,
    "physxConvexHullCollision:minThickness": operator.le,
    "physxConvexDecompositionCollision:hullVertexLimit": _has_hull_vertices,
    "physxConvexDecompositionCollision:minThickness": operator.le,
    "physxConvexDecompositionCollision:errorPercentage": operator.le,
    "physxConvexDecompositionCollision:maxConvexHulls": operator.ge,
    "physxConvexDecompositionCollision:voxelResolution": operator.ge,
    "physxArticulation:sleepThreshold": operator.le,
    "physxCollision:restOffset": lambda value, _: value == 0,
    "physxMimicJoint:*:naturalFrequency": operator.le,
    "physxRigidBody:angularDamping": lambda value, _: value == 0,
    "physxRigidBody:maxAngularVelocity": operator.ge,
    "physxScene:updateType": lambda value, _: value != "Disabled",
    # A URDF implies the surface of a mesh, or convex hulls of it.
    "physics:approximation": lambda value, _: value in APPROXIMATIONS,
    # Without six numbers Newton reads the inertia of UsdPhysics.
    "newton:inertia": lambda value, _: len(value) != 6,
}

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
    if attribute not in FALLBACKS:
        for beginning, reason in _PREFIXES.items():
            if attribute.startswith(beginning):
                return reason
    if value is not None and is_implied(attribute, value, FALLBACKS.get(attribute)):
        return "it is a value that a URDF implies"
    return None


def is_accounted(attribute: str) -> bool:
    """Whether a check reads an attribute, or it is harmless; see :func:`schema_attribute`."""
    return attribute in COMPARED or attribute in HARMLESS or attribute.startswith(tuple(_PREFIXES))


def is_implied(attribute: str, value: object, fallback: object) -> bool:
    """Whether a value is the fallback of its schema, or as good as that.

    Args:
        attribute: Its name; see :func:`schema_attribute`.
        value: The authored value.
        fallback: That of the schema; None if there is none.
    """
    accepts = _ACCEPTED.get(attribute)
    if accepts is not None and accepts(value, fallback):
        return True
    if fallback is None:
        return False
    actual, expected = np.array(value), np.array(fallback)
    if actual.dtype.kind not in "fiu" or expected.dtype.kind not in "fiu":
        return bool(value == fallback)
    if expected.ndim == 0 and expected >= UNBOUNDED:
        return bool(actual >= UNBOUNDED)
    # Values of single precision, and decimal ones.
    same_shape = actual.shape == expected.shape
    return same_shape and bool(np.allclose(actual, expected, rtol=1e-6, atol=1e-12))
