"""Check of the types and values of a stage before it is read.

OpenUSD composes attributes of any type, and may return a string for a mass. The reader
relies on these checks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics

from urdf_usd.converter.diagnostics import Diagnostic

_READ = ("physics:", "drive:", "limit:", "newton:")
_AXES = frozenset({"axis", "physics:axis"})
_PLACES = frozenset({"physics:localPos0", "physics:localPos1"})


def unusable_values(stage: Usd.Stage) -> Iterator[Diagnostic]:
    """Find invalid units, transforms, types and axes."""
    for name, unit in (
        ("metersPerUnit", UsdGeom.GetStageMetersPerUnit(stage)),
        ("kilogramsPerUnit", UsdPhysics.GetStageKilogramsPerUnit(stage)),
    ):
        if not (np.isfinite(unit) and unit > 0):
            yield Diagnostic("stage-value", f"{name} of the stage is {unit}")
    up = UsdGeom.GetStageUpAxis(stage)
    if up not in {UsdGeom.Tokens.y, UsdGeom.Tokens.z}:
        yield Diagnostic("stage-value", f"upAxis of the stage is {str(up)!r}")
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        if not _has_finite_place(prim):
            message = f"{prim.GetPath()} has a transform that cannot be computed"
            yield Diagnostic("stage-value", message)
        yield from _mistyped(prim)


def _has_finite_place(prim: Usd.Prim) -> bool:
    if not prim.IsA(UsdGeom.Xformable):
        return True
    try:
        local = UsdGeom.Xformable(prim).GetLocalTransformation()
    except Tf.ErrorException:
        return False
    return bool(np.isfinite(np.array(local)).all())


def _mistyped(prim: Usd.Prim) -> Iterator[Diagnostic]:
    schema = prim.GetPrimDefinition()
    is_shape = prim.IsA(UsdGeom.Gprim)
    for attribute in prim.GetAuthoredAttributes():
        name = attribute.GetName()
        if not (is_shape or name.startswith(_READ)):
            continue
        declared = schema.GetSchemaAttributeSpec(name)
        if declared is None:
            continue
        wanted = _family(declared.typeName)
        for spec in attribute.GetPropertyStack(Usd.TimeCode.Default()):
            if isinstance(spec, Sdf.AttributeSpec) and _family(spec.typeName) != wanted:
                message = (
                    f"{attribute.GetPath()} is of type {spec.typeName}, which should "
                    f"be {declared.typeName}"
                )
                yield Diagnostic("stage-value", message)
                break
        else:
            if not _is_usable(name, attribute.Get()):
                message = f"{attribute.GetPath()} cannot be {attribute.Get()}"
                yield Diagnostic("stage-value", message)


def _is_usable(name: str, value: object) -> bool:
    """Return whether a value is a valid axis or part of a joint frame."""
    if value is None:
        return True
    if name in _AXES:
        return value in {"X", "Y", "Z"}
    if isinstance(value, Gf.Quatf):
        return bool(np.isfinite([value.GetReal(), *value.GetImaginary()]).all())
    if name in _PLACES:
        return bool(np.isfinite(np.array(value)).all())
    return True


def _family(kind: Sdf.ValueTypeName) -> tuple[bool, str]:
    """Return a key that is equal for types that differ only in precision."""
    value = kind.scalarType.defaultValue
    if isinstance(value, int | float):
        return kind.isArray, "number"
    if isinstance(value, str):
        return kind.isArray, "text"
    return kind.isArray, type(value).__name__.rstrip("dfhi")
