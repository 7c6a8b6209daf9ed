"""Check of the composition, types and values of a stage before it is read.

OpenUSD composes a stage whose layers are missing, attributes of any type, and numbers
that are not finite.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from pxr import Gf, Pcp, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade

# Composition errors that mean that parts of the robot are missing.
_INCOMPLETE = {
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
# What OpenUSD adds to messages with addresses in memory, which differ in each process.
_ADDRESSES = re.compile(
    r",@anon:0x[0-9a-f]+:[^@]*@| \(instantiating stage on stage @[^@]*@ <0x[0-9a-f]+>\)"
)
# Beginnings of attributes with physics, and of those with numbers for it.
_PREFIXES = ("physics:", "drive:", "limit:", "newton:", "xformOp")
_NUMBERS = (*_PREFIXES[:-1], "physxJoint", "physxMimicJoint:", "mjc:", "urdf:")
_CHECKED = (*_PREFIXES, *_NUMBERS)
_DIMENSIONS = {"size", "radius", "height", "width", "length"}
# Beyond it, products of a few numbers are not finite.
_MOST = 1e38


class Authored(NamedTuple):
    """An authored property of a prim."""

    name: str
    property: Usd.Property
    value: object  # of an attribute at the default time; None of a relationship


def read_authored(stage: Usd.Stage) -> list[tuple[Usd.Prim, list[Authored]]]:
    """Return the prims of a stage with their properties."""
    # Read once, as most of a reading is spent in reading values.
    return [
        (
            prim,
            [
                Authored(
                    each.GetName(), each, each.Get() if isinstance(each, Usd.Attribute) else None
                )
                for each in prim.GetAuthoredProperties()
            ],
        )
        for prim in stage.Traverse(Usd.TraverseInstanceProxies())
    ]


def one_line(text: str) -> str:
    """Return a message of OpenUSD without line breaks and addresses."""
    return _ADDRESSES.sub("", " ".join(text.split()))


def missing_parts(stage: Usd.Stage) -> tuple[str, ...]:
    """Describe layers, references and payloads that do not resolve, and cycles of them."""
    return tuple(
        dict.fromkeys(
            one_line(str(error)).rstrip(".")
            for error in stage.GetCompositionErrors()
            if error.errorType in _INCOMPLETE
        )
    )


def unusable_values(
    stage: Usd.Stage,
    authored: Sequence[tuple[Usd.Prim, Sequence[Authored]]],
    *,
    any_precision: bool = False,
) -> Iterator[str]:
    """Describe unusable values of a stage: units, transforms, types, numbers, axes.

    Args:
        stage: The stage.
        authored: Its prims with their properties.
        any_precision: Whether types may differ from those of schemas in precision, and
            those without numbers for physics and shapes by more.
    """
    root = stage.GetRootLayer().identifier
    for what, unit in (
        ("metersPerUnit", UsdGeom.GetStageMetersPerUnit(stage)),
        ("kilogramsPerUnit", UsdPhysics.GetStageKilogramsPerUnit(stage)),
    ):
        if not 0 < unit < _MOST:
            yield f"{what} is {unit} in @{root}@"
    if str(UsdGeom.GetStageUpAxis(stage)) not in {"X", "Y", "Z"}:
        yield f"upAxis is {UsdGeom.GetStageUpAxis(stage)} in @{root}@"
    cache = UsdGeom.XformCache()
    robot = (stage.GetDefaultPrim() or stage.GetPseudoRoot()).GetPath()
    for prim, properties in authored:
        if not _is_placed(prim, cache) and _is_placed(prim.GetParent(), cache):
            layer = prim.GetPrimStack()[0].layer.identifier
            yield f"{prim.GetPath()} has no finite transform in @{layer}@"
        is_shape = prim.IsA(UsdGeom.Gprim)
        below = prim.GetPath().HasPrefix(robot)
        declared = _declared_types(prim)
        for name, attribute, value in properties:
            if not isinstance(attribute, Usd.Attribute):
                continue
            is_checked = is_shape or name.startswith(_CHECKED)
            faults: list[str] = []
            if is_checked or not any_precision:
                faults += _of_another_type(attribute, declared(name), any_precision=any_precision)
            if is_checked and not faults:
                faults += _faults(attribute, name, value, below_default=below)
            for spec in attribute.GetPropertyStack(Usd.TimeCode.Default())[:1] if faults else ():
                faults = [f"{fault} in @{spec.layer.identifier}@" for fault in faults]
            for fault in faults:
                yield f"{attribute.GetPath()} {fault}"


def _declared_types(prim: Usd.Prim) -> Callable[[str], Sdf.ValueTypeName | None]:
    """Return what finds the type that a registry declares for an attribute."""
    schema = prim.GetPrimDefinition()
    node = None
    if prim.IsA(UsdShade.Shader):
        node = UsdShade.NodeDefAPI(prim).GetShaderNodeForSourceType("glslfx")

    def declared(name: str) -> Sdf.ValueTypeName | None:
        if attribute := schema.GetAttributeDefinition(name):
            return attribute.GetTypeName()
        entry = node and node.GetShaderInput(name.removeprefix("inputs:"))
        return entry.GetTypeAsSdfType().GetSdfType() if entry else None

    return declared


def _of_another_type(
    attribute: Usd.Attribute, declared: Sdf.ValueTypeName | None, *, any_precision: bool
) -> Iterator[str]:
    """Describe the first authored type whose values typed consumers do not read.

    Measured on usd-core 26.11: ``ComputeMassProperties`` takes another inertia from
    ``double3 physics:diagonalInertia``, and a ``double`` force of a drive is none for
    OpenUSD's physics parser and for Newton. OpenUSD's own validator reports an
    ``AttributeTypeMismatch``. Roles make no difference here: ``float3[] points`` has
    the values of ``point3f[]``. Renderers read texts of shaders from tokens, as OpenUSD
    itself once wrote.
    """
    if declared is None:
        return
    for spec in attribute.GetPropertyStack():
        is_same = spec.typeName.type == declared.type
        is_same |= any_precision and _family(spec.typeName) == _family(declared)
        texts = Sdf.ValueTypeNames.Token, Sdf.ValueTypeNames.String
        if not is_same and (spec.typeName, declared) != texts:
            yield f"is a {spec.typeName} instead of a {declared}: not read by consumers"
            return


def _family(kind: Sdf.ValueTypeName) -> tuple[bool, str]:
    """Return a key that is equal for types that differ only in precision."""
    value = kind.scalarType.defaultValue
    if isinstance(value, int | float):
        return kind.isArray, "number"
    if isinstance(value, str):
        return kind.isArray, "text"
    return kind.isArray, type(value).__name__.rstrip("dfhi")


def _is_placed(prim: Usd.Prim, cache: UsdGeom.XformCache) -> bool:
    """Whether the transform of a prim is finite."""
    if not prim.IsA(UsdGeom.Xformable):
        return True
    try:
        local, _ = cache.GetLocalTransformation(prim)
        world = cache.GetLocalToWorldTransform(prim)
    except Tf.ErrorException:
        return False
    return bool((np.abs(local) < _MOST).all() and (np.abs(world) < _MOST).all())


def _faults(
    attribute: Usd.Attribute, name: str, value: object, *, below_default: bool
) -> Iterator[str]:
    specs = attribute.GetPropertyStack(Usd.TimeCode.Default())
    has_default = any(spec.HasDefaultValue() for spec in specs)
    if below_default and attribute.GetNumTimeSamples() and not has_default:
        yield "has time samples and no default value"
    elif value is None:
        if name in {*_DIMENSIONS, UsdGeom.Tokens.axis}:
            # OpenUSD does not use the fallback of a blocked attribute.
            yield "is blocked, and has no value"
    elif name.rpartition(":")[2] == "axis" and str(value) not in {"X", "Y", "Z"}:
        yield f"= {value!r} is no axis"
    elif (name in _DIMENSIONS or name.startswith(_NUMBERS)) and not _has_usable_numbers(
        attribute, value
    ):
        yield f"= {value!r} is not finite"


def _has_usable_numbers(attribute: Usd.Attribute, value: object) -> bool:
    """Return whether numbers are finite, or infinite where that is documented.

    A schema documents it by an infinite fallback: no limit, or not authored.
    """
    numbers = _numbers(value)
    if all(map(math.isfinite, numbers)):
        return True
    if any(map(math.isnan, numbers)):
        return False
    definition = attribute.GetPrim().GetPrimDefinition()
    fallback = definition.GetAttributeFallbackValue(attribute.GetName())
    if fallback is None:
        # Without a schema, an infinite number can only be meant as no limit; attributes
        # of UsdPhysics that the schema of the prim does not declare are not read.
        return isinstance(value, float) or attribute.GetName().startswith("physics:")
    if isinstance(value, float):
        return math.isinf(fallback)
    return numbers == _numbers(fallback)


def _numbers(value: object) -> list[float]:
    if isinstance(value, Gf.Quath | Gf.Quatf | Gf.Quatd):
        return [value.real, *value.imaginary]
    if isinstance(value, bool | str | Sdf.AssetPath):
        return []
    if isinstance(value, int | float):
        return [value]
    found = np.array(value)
    return found.ravel().tolist() if found.dtype.kind in "fiu" else []
