"""Values of a stage that consumers cannot compute with.

OpenUSD composes a stage with attributes of any type, and numbers that are not finite: transforms,
types and values are checked before a stage is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdShade

# Beginnings of attributes with numbers for physics, and of all that are checked.
_NUMBERS = (
    *("physics:", "drive:", "limit:", "newton:", "physxJoint", "physxMimicJoint:", "mjc:", "urdf:"),
)
_CHECKED = (*_NUMBERS, "xformOp")
_DIMENSIONS = {"size", "radius", "height", "width", "length"}
# Beyond it, products of a few numbers are not finite.
_MOST = 1e38


class Authored(NamedTuple):
    name: str
    property: Usd.Property
    value: object  # of an attribute at the default time; None of a relationship


def read_authored(stage: Usd.Stage) -> list[tuple[Usd.Prim, list[Authored]]]:
    # Read once, as most of a reading is spent in reading values.
    return [
        (
            prim,
            [
                Authored(x.GetName(), x, x.Get() if isinstance(x, Usd.Attribute) else None)
                for x in prim.GetAuthoredProperties()
            ],
        )
        for prim in stage.Traverse(Usd.TraverseInstanceProxies())
    ]


def unusable_values(
    stage: Usd.Stage,
    authored: Sequence[tuple[Usd.Prim, Sequence[Authored]]],
    *,
    any_precision: bool = False,
) -> Iterator[str]:
    """Describe unusable values of a stage: units, transforms, types, numbers, axes."""
    root = stage.GetRootLayer().identifier
    units = {
        "metersPerUnit": UsdGeom.GetStageMetersPerUnit(stage),
        "kilogramsPerUnit": UsdPhysics.GetStageKilogramsPerUnit(stage),
    }
    yield from (f"{x} is {unit} in @{root}@" for x, unit in units.items() if not 0 < unit < _MOST)
    if str(UsdGeom.GetStageUpAxis(stage)) not in {"X", "Y", "Z"}:
        yield f"upAxis is {UsdGeom.GetStageUpAxis(stage)} in @{root}@"
    cache = UsdGeom.XformCache()
    robot = (stage.GetDefaultPrim() or stage.GetPseudoRoot()).GetPath()
    for prim, properties in authored:
        if not _is_placed(prim, cache) and _is_placed(prim.GetParent(), cache):
            layer = prim.GetPrimStack()[0].layer.identifier
            yield f"{prim.GetPath()} has no finite transform in @{layer}@"
        is_shape, below = prim.IsA(UsdGeom.Gprim), prim.GetPath().HasPrefix(robot)
        for name, attribute, value in properties:
            is_checked = is_shape or name.startswith(_CHECKED)
            if not isinstance(attribute, Usd.Attribute) or (any_precision and not is_checked):
                continue
            fault = _other_type(prim, name, attribute, any_precision=any_precision)
            if fault is None and is_checked:
                fault = _fault(attribute, value, below_default=below)
            if fault is not None:
                specs = attribute.GetPropertyStack(Usd.TimeCode.Default())[:1]
                layers = "".join(f" in @{spec.layer.identifier}@" for spec in specs)
                yield f"{attribute.GetPath()} {fault}{layers}"


def _is_placed(prim: Usd.Prim, cache: UsdGeom.XformCache) -> bool:
    if not prim.IsA(UsdGeom.Xformable):
        return True
    try:
        local, _ = cache.GetLocalTransformation(prim)
        world = cache.GetLocalToWorldTransform(prim)
    except Tf.ErrorException:
        return False
    return bool((np.abs(local) < _MOST).all() and (np.abs(world) < _MOST).all())


def _other_type(
    prim: Usd.Prim, name: str, attribute: Usd.Attribute, *, any_precision: bool
) -> str | None:
    """Describe the first authored type whose values typed consumers do not read."""
    # Measured on usd-core 26.11: ``ComputeMassProperties`` takes another inertia from ``double3
    # physics:diagonalInertia``, and a ``double`` force of a drive is none for OpenUSD's physics
    # parser and for Newton. Roles make no difference, nor do tokens for texts of shaders.
    declared = None
    if definition := prim.GetPrimDefinition().GetAttributeDefinition(name):
        declared = definition.GetTypeName()
    elif prim.IsA(UsdShade.Shader):
        node = UsdShade.NodeDefAPI(prim).GetShaderNodeForSourceType("glslfx")
        entry = node and node.GetShaderInput(name.removeprefix("inputs:"))
        declared = entry.GetTypeAsSdfType().GetSdfType() if entry else None
    if declared is None:
        return None

    def family(kind: Sdf.ValueTypeName) -> tuple[bool, str]:
        """Return a key that is equal for types that differ only in precision."""
        value = kind.scalarType.defaultValue
        text = "text" if isinstance(value, str) else type(value).__name__.rstrip("dfhi")
        return kind.isArray, "number" if isinstance(value, int | float) else text

    texts = Sdf.ValueTypeNames.Token, Sdf.ValueTypeNames.String
    for spec in attribute.GetPropertyStack():
        is_same = spec.typeName.type == declared.type or (spec.typeName, declared) == texts
        if not is_same and not (any_precision and family(spec.typeName) == family(declared)):
            return f"is a {spec.typeName} instead of a {declared}: not read by consumers"
    return None


def _fault(attribute: Usd.Attribute, value: object, *, below_default: bool) -> str | None:
    """Describe why the value of an attribute cannot be used."""
    name = attribute.GetName()
    if below_default and attribute.GetNumTimeSamples() and not has_default(attribute):
        return "has time samples and no default value"
    if value is None:
        # OpenUSD does not use the fallback of a blocked attribute.
        is_needed = name in {*_DIMENSIONS, UsdGeom.Tokens.axis}
        return "is blocked, and has no value" if is_needed else None
    if name.rpartition(":")[2] == "axis" and str(value) not in {"X", "Y", "Z"}:
        return f"= {value!r} is no axis"
    has_numbers = name in _DIMENSIONS or name.startswith(_NUMBERS)
    if not has_numbers or np.isfinite(numbers := numbers_of(value)).all():
        return None
    # A schema documents by an infinite fallback that infinity stands for no limit, or for not
    # authored. Without a schema it can only be meant as no limit; attributes of UsdPhysics that the
    # schema of the prim does not declare are not read.
    fallback = attribute.GetPrim().GetPrimDefinition().GetAttributeFallbackValue(name)
    if fallback is None:
        is_usable = isinstance(value, float) or name.startswith("physics:")
    elif isinstance(value, float):
        is_usable = math.isinf(fallback)
    else:
        is_usable = np.array_equal(numbers, numbers_of(fallback))
    return None if is_usable and not np.isnan(numbers).any() else f"= {value!r} is not finite"


def has_default(attribute: Usd.Attribute) -> bool:
    """Whether an attribute has a value apart from those over time."""
    specs = attribute.GetPropertyStack(Usd.TimeCode.Default())
    return any(spec.HasDefaultValue() for spec in specs)


def numbers_of(value: object) -> NDArray[np.number]:
    if isinstance(value, Gf.Quath | Gf.Quatf | Gf.Quatd):
        return np.array([value.real, *value.imaginary])
    is_none = value is None or isinstance(value, bool | str | Sdf.AssetPath)
    found = np.array(() if is_none else value)
    return found.ravel() if found.dtype.kind in "fiu" else np.zeros(0)
