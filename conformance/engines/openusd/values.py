"""Values that OpenUSD hands out and no consumer could use.

A typed reader of a string attribute named ``physics:mass`` gets nothing, and Python
gets the string. What a simulator would do then depends on the simulator.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from pxr import Gf, Tf, Usd, UsdGeom, UsdPhysics, Vt

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIXES = ("physics:", "drive:", "limit:", "newton:")
_ALIKE: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, int, float), "number"),
    ((str,), "text"),
    ((Gf.Quath, Gf.Quatf, Gf.Quatd), "quaternion"),
    ((Vt.StringArray, Vt.TokenArray), "texts"),
)


def unusable_values(stage: Any) -> Iterator[str]:  # noqa: ANN401  pxr is untyped
    """Say what of a stage cannot be used: units, transforms, types, axes."""
    for what, unit in (
        ("metersPerUnit", UsdGeom.GetStageMetersPerUnit(stage)),
        ("kilogramsPerUnit", UsdPhysics.GetStageKilogramsPerUnit(stage)),
    ):
        if not 0 < unit < math.inf:
            yield f"{what} is {unit}"
    if str(UsdGeom.GetStageUpAxis(stage)) not in {"X", "Y", "Z"}:
        yield f"upAxis is {UsdGeom.GetStageUpAxis(stage)}"
    for prim in stage.Traverse(Usd.TraverseInstanceProxies()):
        if prim.IsA(UsdGeom.Xformable) and not _is_placed(prim):
            yield f"{prim.GetPath()} has no finite transform"
        for attribute in prim.GetAuthoredAttributes():
            if prim.IsA(UsdGeom.Gprim) or attribute.GetName().startswith(_PREFIXES):
                yield from _faults(attribute)


def _is_placed(prim: Any) -> bool:  # noqa: ANN401  pxr is untyped
    try:
        matrix = UsdGeom.Xformable(prim).GetLocalTransformation()
    except Tf.ErrorException:
        return False
    return bool(np.isfinite(matrix).all())


def _faults(attribute: Any) -> Iterator[str]:  # noqa: ANN401  pxr is untyped
    # Of an attribute that a schema declares, this is the declared type.
    declared = attribute.GetTypeName()
    value = attribute.Get()
    if value is None:
        return
    if _shape(value) != _shape(declared.defaultValue):
        yield f"{attribute.GetPath()} = {value!r} is no {declared}"
    elif attribute.GetBaseName() == "axis" and str(value) not in {"X", "Y", "Z"}:
        yield f"{attribute.GetPath()} = {value!r} is no axis"
    elif "physics:local" in attribute.GetName() and not _is_finite(value):
        yield f"{attribute.GetPath()} = {value!r} is no place of a joint"


def _is_finite(value: Any) -> bool:  # noqa: ANN401  pxr is untyped
    parts = (value.real, *value.imaginary) if hasattr(value, "imaginary") else value
    return all(map(math.isfinite, parts))


def _shape(value: Any) -> tuple[object, ...]:  # noqa: ANN401  pxr is untyped
    """Return what distinguishes a value from others: numbers by count, text, or else.

    Arrays of any length are alike.
    """
    for kinds, word in _ALIKE:
        if isinstance(value, kinds):
            return (word,)
    if hasattr(value, "dimension"):
        return ("vector", value.dimension)
    if type(value).__name__.endswith("Array"):
        return ("array", np.array(value).shape[1:])
    return (type(value).__name__,)
