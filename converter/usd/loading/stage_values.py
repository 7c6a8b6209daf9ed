"""Check of the composition, types and values of a stage before it is read.

OpenUSD composes a stage whose layers are missing, attributes of any type, and numbers
that are not finite. The reader relies on these checks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache

import numpy as np
from pxr import Gf, Pcp, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade

from urdf_usd.converter.diagnostics import Diagnostic

# Characters of a value in a message.
_LONGEST = 80
# Beginnings of names of attributes with numbers; those of the second line need not have
# a schema that is registered.
_NUMBERS = (
    *("physics:", "drive:", "limit:"),
    *("mjc:", "newton:", "physxJoint", "physxMimicJoint:", "urdf:"),
)
_OF_SHAPES = frozenset(
    {
        "height",
        "length",
        "primvars:displayColor",
        "primvars:displayOpacity",
        "radius",
        "size",
        "width",
    }
)
_AXES = frozenset({"axis", "physics:axis"})
# OpenUSD stores what the reader reads in float32.
_LARGEST = float(np.finfo(np.float32).max)
# Composition errors that mean that parts of the stage are missing.
_INCOMPLETE = frozenset(
    {
        Pcp.ErrorType_ArcCapacityExceeded,
        Pcp.ErrorType_ArcCycle,
        Pcp.ErrorType_ArcNamespaceDepthCapacityExceeded,
        Pcp.ErrorType_IndexCapacityExceeded,
        Pcp.ErrorType_InvalidAssetPath,
        Pcp.ErrorType_InvalidPrimPath,
        Pcp.ErrorType_InvalidSublayerPath,
        Pcp.ErrorType_SublayerCycle,
        Pcp.ErrorType_UnresolvedPrimPath,
        Pcp.ErrorType_VariableExpressionError,
    }
)
# Session layers, whose names contain an address.
_SESSION = re.compile(r",@anon:[^@]*@")


def missing_parts(stage: Usd.Stage) -> Iterator[Diagnostic]:
    """Find layers, references and payloads that do not resolve, and cycles of them."""
    found = (
        _SESSION.sub("", " ".join(str(error).split()))
        for error in stage.GetCompositionErrors()
        if error.errorType in _INCOMPLETE
    )
    for message in dict.fromkeys(found):
        yield Diagnostic("stage-incomplete", message.rstrip("."))


def unusable_values(stage: Usd.Stage) -> Iterator[Diagnostic]:
    """Find invalid units, transforms, types, numbers and axes."""
    root = stage.GetRootLayer().identifier
    for name, unit in (
        ("metersPerUnit", UsdGeom.GetStageMetersPerUnit(stage)),
        ("kilogramsPerUnit", UsdPhysics.GetStageKilogramsPerUnit(stage)),
    ):
        if not 0 < unit <= _LARGEST:
            yield Diagnostic("stage-value", f"{name} of the stage is {unit} in {root}")
    up = UsdGeom.GetStageUpAxis(stage)
    if up not in {UsdGeom.Tokens.y, UsdGeom.Tokens.z}:
        yield Diagnostic("stage-value", f"upAxis of the stage is {str(up)!r} in {root}")
    cache = UsdGeom.XformCache()
    robot = stage.GetDefaultPrim() or stage.GetPseudoRoot()
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        if not _has_finite_place(prim, cache) and (
            _has_finite_place(prim.GetParent(), cache) or _unusable_steps(prim)
        ):
            layer = prim.GetPrimStack()[0].layer.identifier
            message = f"{prim.GetPath()} in {layer} has a transform that cannot be used"
            if steps := _unusable_steps(prim):
                named = " and ".join(f"{_named(a)} cannot be {_text(a.Get())}" for a in steps)
                message = named
            yield Diagnostic("stage-value", message)
        in_robot = prim.GetPath().HasPrefix(robot.GetPath())
        yield from _unusable_attributes(prim, in_robot=in_robot)


def _has_finite_place(prim: Usd.Prim, cache: UsdGeom.XformCache) -> bool:
    if not prim.IsA(UsdGeom.Xformable):
        return True
    try:
        local, _ = cache.GetLocalTransformation(prim)
        world = cache.GetLocalToWorldTransform(prim)
    except Tf.ErrorException:
        return False
    return bool((np.abs([local, world]) <= _LARGEST).all())


def _unusable_steps(prim: Usd.Prim) -> list[Usd.Attribute]:
    """Return the attributes of a transform that are not finite."""
    return [
        attribute
        for attribute in prim.GetAuthoredAttributes()
        if attribute.GetName().startswith("xformOp:")
        and (parts := _parts(attribute.Get())) is not None
        and not np.isfinite(parts).all()
    ]


def _unusable_attributes(prim: Usd.Prim, *, in_robot: bool) -> Iterator[Diagnostic]:
    schema = prim.GetPrimDefinition()
    is_shape = prim.IsA(UsdGeom.Gprim)
    is_shader = prim.IsA(UsdShade.Shader)
    for attribute in prim.GetAuthoredAttributes():
        name = attribute.GetName()
        is_number = (
            name.startswith(_NUMBERS)
            or (is_shape and name in _OF_SHAPES)
            or (is_shader and name.startswith("inputs:"))
        )
        if not (is_shape or is_number or name.startswith("xformOp")):
            continue
        declared = schema.GetSchemaAttributeSpec(name)
        if declared is not None and (kind := _other_type(attribute, declared.typeName)):
            message = f"{_named(attribute)} is of type {kind}, which should be {declared.typeName}"
            yield Diagnostic("stage-value", message)
            continue
        if in_robot and _has_samples_only(attribute):
            message = f"{_named(attribute)} has time samples and no default value"
            yield Diagnostic("stage-value", message)
        # Arrays of meshes are not read.
        if (name in _AXES and attribute.Get() not in {None, "X", "Y", "Z"}) or (
            is_number and not _is_number(name, attribute.Get(), schema)
        ):
            message = f"{_named(attribute)} cannot be {_text(attribute.Get())}"
            yield Diagnostic("stage-value", message)


def _named(attribute: Usd.Attribute) -> str:
    """Return the path of an attribute, and its strongest layer."""
    stack = attribute.GetPropertyStack(Usd.TimeCode.Default())
    layer = f" in {stack[0].layer.identifier}" if stack else ""
    return f"{attribute.GetPath()}{layer}"


def _text(value: object) -> str:
    shown = " ".join(str(value).split()) or repr(value)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."


def _other_type(attribute: Usd.Attribute, expected: Sdf.ValueTypeName) -> Sdf.ValueTypeName | None:
    """Return the type of an attribute in a layer, unless it is as declared."""
    for spec in attribute.GetPropertyStack(Usd.TimeCode.Default()):
        if isinstance(spec, Sdf.AttributeSpec) and _family(spec.typeName) != _family(expected):
            return spec.typeName
    return None


def _has_samples_only(attribute: Usd.Attribute) -> bool:
    # A blocked value has no samples.
    if attribute.GetNumTimeSamples() == 0:
        return False
    source = attribute.GetResolveInfo(Usd.TimeCode.Default()).GetSource()
    return source in {Usd.ResolveInfoSourceNone, Usd.ResolveInfoSourceFallback}


def _is_number(name: str, value: object, schema: Usd.PrimDefinition) -> bool:
    """Return whether a value is finite, or a documented infinite one.

    Infinity has a meaning where the schema's fallback is infinite: a limit that does
    not exist, or a centre of mass that is not authored. Without a schema, a single
    infinite number is accepted as a limit.
    """
    # Blocked values are None.
    finite = value is None or (isinstance(value, float) and math.isfinite(value))
    parts = None if finite else _parts(value)
    if parts is None or np.isfinite(parts).all():
        return True
    if name.endswith(("displayColor", "displayOpacity")) or np.isnan(parts).any():
        return False
    fallback = schema.GetAttributeFallbackValue(name)
    if fallback is None:
        # Attributes that the schema of the prim does not declare are not read.
        return not name.startswith("inputs:") and (parts.size == 1 or name.startswith("physics:"))
    documented = _parts(fallback)
    if documented is None:
        return False
    if parts.size == 1:
        return bool(np.isinf(documented).all())
    return np.array_equal(parts, documented)


def _parts(value: object) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    """Return the numbers that a value consists of; None if it has another type."""
    if isinstance(value, Gf.Quath | Gf.Quatf | Gf.Quatd):
        value = (value.GetReal(), *value.GetImaginary())
    try:
        array = np.asarray(value)
        # Texts such as "nan" are no numbers.
        return array.astype(np.float64).ravel() if array.dtype.kind in "biuf" else None
    except (TypeError, ValueError):
        return None


@cache
def _family(kind: Sdf.ValueTypeName) -> tuple[bool, str]:
    """Return a key that is equal for types that differ only in precision."""
    value = kind.scalarType.defaultValue
    if isinstance(value, int | float):
        return kind.isArray, "number"
    if isinstance(value, str):
        return kind.isArray, "text"
    return kind.isArray, type(value).__name__.rstrip("dfhi")
