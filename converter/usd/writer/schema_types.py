"""Types of the attributes of UsdGeom and UsdPhysics that the converter writes.

OpenUSD's registry of schemas has them as well, but takes a tenth of the time of a small
conversion to import and fill. An attribute has the same type in all schemas.
"""

from __future__ import annotations

from pxr import Sdf

_KINDS = Sdf.ValueTypeNames

ATTRIBUTE_TYPES = {
    # Shapes.
    "axis": _KINDS.Token,
    "doubleSided": _KINDS.Bool,
    "extent": _KINDS.Float3Array,
    "height": _KINDS.Double,
    "purpose": _KINDS.Token,
    "radius": _KINDS.Double,
    "size": _KINDS.Double,
    "xformOpOrder": _KINDS.TokenArray,
    # Meshes and their subsets.
    "elementType": _KINDS.Token,
    "faceVertexCounts": _KINDS.IntArray,
    "faceVertexIndices": _KINDS.IntArray,
    "familyName": _KINDS.Token,
    "indices": _KINDS.IntArray,
    "orientation": _KINDS.Token,
    "points": _KINDS.Point3fArray,
    "subdivisionScheme": _KINDS.Token,
    # Bodies, colliders and contact materials.
    "physics:approximation": _KINDS.Token,
    "physics:centerOfMass": _KINDS.Point3f,
    "physics:diagonalInertia": _KINDS.Float3,
    "physics:dynamicFriction": _KINDS.Float,
    "physics:mass": _KINDS.Float,
    "physics:principalAxes": _KINDS.Quatf,
    "physics:restitution": _KINDS.Float,
    "physics:staticFriction": _KINDS.Float,
    # Joints.
    "physics:axis": _KINDS.Token,
    "physics:coneAngle0Limit": _KINDS.Float,
    "physics:coneAngle1Limit": _KINDS.Float,
    "physics:excludeFromArticulation": _KINDS.Bool,
    "physics:jointEnabled": _KINDS.Bool,
    "physics:localPos0": _KINDS.Point3f,
    "physics:localPos1": _KINDS.Point3f,
    "physics:localRot0": _KINDS.Quatf,
    "physics:localRot1": _KINDS.Quatf,
    "physics:lowerLimit": _KINDS.Float,
    "physics:upperLimit": _KINDS.Float,
    # Scenes.
    "physics:gravityDirection": _KINDS.Vector3f,
    "physics:gravityMagnitude": _KINDS.Float,
}

UNIFORM_ATTRIBUTES = frozenset(
    {
        *("axis", "doubleSided", "purpose", "xformOpOrder"),
        *("elementType", "familyName", "orientation", "subdivisionScheme"),
        *("physics:approximation", "physics:axis", "physics:excludeFromArticulation"),
    }
)

SCOPE_PROPERTIES = frozenset({"proxyPrim", "purpose", "visibility"})
