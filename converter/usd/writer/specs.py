"""Authoring of prims and attributes in a layer, without a stage.

A stage recomposes after every edit, with all of OpenUSD's threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from pxr import Sdf

_APPLIED = "apiSchemas"
_KINDS = Sdf.ValueTypeNames

# Types of the attributes of UsdGeom and UsdPhysics that are written. OpenUSD's registry
# of schemas has them as well, but takes a tenth of the time of a small conversion to
# import and fill. An attribute has the same type in all schemas.
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


def define(layer: Sdf.Layer, path: Sdf.Path, type_name: str) -> Sdf.PrimSpec:
    """Define a prim; missing ancestors become overs."""
    spec = Sdf.CreatePrimInLayer(layer, path)
    spec.specifier = Sdf.SpecifierDef
    spec.typeName = type_name
    return spec


def show_spec_name(spec: Sdf.PrimSpec, name: str) -> None:
    """Store a name as ``displayName`` if the prim has another name."""
    if spec.name != name:
        spec.SetInfo("displayName", name)


def over(layer: Sdf.Layer, path: Sdf.Path) -> Sdf.PrimSpec:
    """Return an over of a prim."""
    return Sdf.CreatePrimInLayer(layer, path)


def apply(spec: Sdf.PrimSpec, schema: str) -> None:
    """Apply a schema to a prim, after those already applied in its layer."""
    set_applied(spec, [*applied(spec), schema])


def applied(spec: Sdf.PrimSpec) -> list[str]:
    """Return the schemas that a layer applies to a prim."""
    return spec.GetInfo(_APPLIED).prependedItems if spec.HasInfo(_APPLIED) else []


def set_applied(spec: Sdf.PrimSpec, schemas: Sequence[str]) -> None:
    """Replace the schemas that a layer applies to a prim."""
    if schemas:
        names = Sdf.TokenListOp.Create(prependedItems=list(schemas))
        spec.SetInfo(_APPLIED, names)
    else:
        spec.ClearInfo(_APPLIED)


def write(spec: Sdf.PrimSpec, name: str, value: object) -> None:
    """Author an attribute of UsdGeom or UsdPhysics."""
    uniform = name in UNIFORM_ATTRIBUTES
    variability = Sdf.VariabilityUniform if uniform else Sdf.VariabilityVarying
    write_new(spec, name, ATTRIBUTE_TYPES[name], value, variability)


def relate(spec: Sdf.PrimSpec, name: str, target: Sdf.Path) -> None:
    """Author a relationship to one prim."""
    relationship = Sdf.RelationshipSpec(spec, name, custom=False)
    relationship.targetPathList.explicitItems = [target]


def write_new(
    spec: Sdf.PrimSpec,
    name: str,
    kind: Sdf.ValueTypeName,
    value: object,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
    *,
    custom: bool = False,
    **metadata: object,
) -> None:
    """Author an attribute of any type."""
    attribute = Sdf.AttributeSpec(spec, name, kind, variability, custom)
    for key, field in metadata.items():
        attribute.SetInfo(key, field)
    attribute.default = value
