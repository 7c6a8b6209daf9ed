"""Authoring of prims and attributes in a layer, without a stage, and rounding to float32.

A stage recomposes after every edit, with all of OpenUSD's threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
from pxr import Sdf, Usd

from urdf_usd.converter.diagnostics import AuthoringError, Diagnostic
from urdf_usd.converter.robot.model import Vec3

KINDS = Sdf.ValueTypeNames
UNIFORM = Sdf.VariabilityUniform
SCOPE_PROPERTIES = frozenset({"proxyPrim", "purpose", "visibility"})
_APPLIED = "apiSchemas"
# Schemas whose attributes get their types; of equal names the types are equal.
_SCHEMAS = (
    *("Cube", "Cylinder", "Capsule", "Sphere", "Mesh", "GeomSubset", "PhysicsScene"),
    *("PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsSphericalJoint"),
    *("PhysicsRigidBodyAPI", "PhysicsMassAPI", "PhysicsMaterialAPI"),
    *("PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"),
)
# Types of attributes of schemas that are not registered, and of several instances.
_KIND_OF = {bool: KINDS.Bool, float: KINDS.Float, str: KINDS.String}

_LARGEST = float(np.finfo(np.float32).max)
_SMALLEST_NORMAL = float(np.finfo(np.float32).tiny)
# Rounding of moments in double.
_DOUBLE_SLACK = 1e-12
# Limits from this value on represent no limit. OpenUSD's parser ignores revolute limits
# from about 5e37 degrees on.
NO_LIMIT = float(np.float32(1e37))


def over(layer: Sdf.Layer, path: Sdf.Path) -> Sdf.PrimSpec:
    """Return the spec of a prim, by default an over."""
    return Sdf.CreatePrimInLayer(layer, path)


def define(layer: Sdf.Layer, path: Sdf.Path, type_name: str) -> Sdf.PrimSpec:
    """Define a prim; missing ancestors become overs."""
    spec = over(layer, path)
    spec.specifier = Sdf.SpecifierDef
    spec.typeName = type_name
    return spec


def prim_specs(
    layer: Sdf.Layer, below: Sdf.Path = Sdf.Path.absoluteRootPath
) -> Iterator[Sdf.PrimSpec]:
    """Yield the prims of a layer, parents first."""
    paths: list[Sdf.Path] = []
    layer.Traverse(below, paths.append)
    for path in paths:
        if path.IsPrimPath():
            yield layer.GetPrimAtPath(path)


def show_spec_name(spec: Sdf.PrimSpec, name: str) -> None:
    """Store a name as ``displayName`` if the prim has another name."""
    if spec.name != name:
        spec.SetInfo("displayName", name)


def applied(spec: Sdf.PrimSpec) -> list[str]:
    """Return the schemas that a layer applies to a prim."""
    return spec.GetInfo(_APPLIED).prependedItems if spec.HasInfo(_APPLIED) else []


def set_applied(spec: Sdf.PrimSpec, schemas: Sequence[str]) -> None:
    """Replace the schemas that a layer applies to a prim."""
    if schemas:
        spec.SetInfo(_APPLIED, Sdf.TokenListOp.Create(prependedItems=list(schemas)))
    else:
        spec.ClearInfo(_APPLIED)


def apply(spec: Sdf.PrimSpec, schema: str) -> None:
    """Apply a schema to a prim, after those of its layer, unless it is one of them."""
    schemas = applied(spec)
    if schema not in schemas:
        set_applied(spec, [*schemas, schema])


def move_opinions(source: Sdf.Layer, target: Sdf.Layer, namespace: str, schemas: str) -> None:
    """Move properties and applied schemas by the beginnings of their names; "" moves no schema."""
    with Sdf.ChangeBlock():
        for prim in list(prim_specs(source)):
            names = [name for name in list(prim.properties.keys()) if name.startswith(namespace)]
            moved = [name for name in applied(prim) if schemas and name.startswith(schemas)]
            if not names and not moved:
                continue
            place = over(target, prim.path)
            for name in names:
                path = prim.path.AppendProperty(name)
                Sdf.CopySpec(source, path, target, path)
                prim.RemoveProperty(prim.properties[name])
            if moved:
                set_applied(place, list(dict.fromkeys((*applied(place), *moved))))
                set_applied(prim, [name for name in applied(prim) if name not in moved])


def relate(spec: Sdf.PrimSpec, name: str, *targets: Sdf.Path) -> None:
    """Author a relationship, which replaces that of weaker layers."""
    relationship = Sdf.RelationshipSpec(spec, name, custom=False)
    relationship.targetPathList.explicitItems = list(targets)


def write(
    spec: Sdf.PrimSpec,
    name: str,
    value: object,
    kind: Sdf.ValueTypeName | None = None,
    variability: Sdf.Variability = Sdf.VariabilityVarying,
    *,
    custom: bool = False,
    **metadata: object,
) -> None:
    """Author an attribute, or replace its value.

    Its type is that of the schema of UsdGeom or UsdPhysics with this name, unless
    ``kind`` is given; otherwise that of the value.
    """
    attribute = spec.attributes.get(name)
    if attribute is None:
        if kind is None:
            kind, variability = _types().get(name) or (_KIND_OF[type(value)], variability)
        attribute = Sdf.AttributeSpec(spec, name, kind, variability, custom)
    for key, field in metadata.items():
        attribute.SetInfo(key, field)
    attribute.default = value


@cache
def _types() -> dict[str, tuple[Sdf.ValueTypeName, Sdf.Variability]]:
    registry = Usd.SchemaRegistry()
    types = {}
    for schema in _SCHEMAS:
        definition = registry.FindConcretePrimDefinition(
            schema
        ) or registry.FindAppliedAPIPrimDefinition(schema)
        for name in definition.GetPropertyNames():
            if spec := definition.GetSchemaAttributeSpec(name):
                types[name] = spec.typeName, spec.variability
    return types


def to_float32(value: float, what: str) -> float:
    """Round a finite number to float32.

    Raises:
        AuthoringError: The magnitude is too large; the message begins with ``what``.
    """
    if abs(value) > _LARGEST:
        message = f"{what} is {value:g}, which float32 cannot store"
        raise AuthoringError((Diagnostic("value-range", message),))
    return float(np.float32(value))


def limit_to_float32(value: float) -> float:
    """Round a position limit to float32; a very large limit becomes infinite."""
    if abs(value) >= NO_LIMIT:
        return float("inf") if value > 0 else float("-inf")
    return float(np.float32(value))


def moments_to_float32(moments: Vec3, what: str) -> Vec3:
    """Round principal moments [kg m^2] to float32 so that A + B >= C still holds.

    Engines refuse or zero an inertia that violates it. A flat body has A + B = C, which
    rounding violates half of the time; its largest moment is lowered to the float32
    below the sum of the others, but not below either of them.

    Raises:
        AuthoringError: A magnitude is beyond float32.
    """
    stored = [to_float32(moment, what) for moment in moments]
    largest = max(range(3), key=lambda index: moments[index])
    others = sum(moments) - moments[largest]
    stored_others = sum(stored) - stored[largest]
    if others >= moments[largest] * (1 - _DOUBLE_SLACK) and stored_others <= stored[largest]:
        below = float(np.nextafter(np.float32(stored_others), np.float32(0)))
        second = max(stored[:largest] + stored[largest + 1 :])
        stored[largest] = max(second, min(stored[largest], below))
    a, b, c = stored
    return a, b, c


def fits_float32(value: float) -> bool:
    """Return whether a number is zero, or neither zero nor infinite in float32."""
    return value == 0 or _SMALLEST_NORMAL <= abs(value) <= _LARGEST


def is_positive_float32(value: float) -> bool:
    """Return whether a number is positive and finite in float32."""
    return 0 < value <= _LARGEST and float(np.float32(value)) > 0
