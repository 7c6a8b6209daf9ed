"""Composed prims of a stage as values that can be compared."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TypeAlias

from pxr import Sdf, Usd

PrimValues: TypeAlias = "dict[str, object]"


def composed(stage: Usd.Stage) -> dict[str, PrimValues]:
    """Return type, schemas, metadata and values of all prims of the robot, by path.

    Paths of files are left out.
    """
    root = stage.GetDefaultPrim()
    return {str(prim.GetPath()): _values(prim) for prim in Usd.PrimRange(root)}


def _values(prim: Usd.Prim) -> PrimValues:
    values: PrimValues = {
        "type": prim.GetTypeName(),
        "schemas": sorted(prim.GetAppliedSchemas()),
        "displayName": prim.GetDisplayName(),
        "kind": prim.GetKind() if prim.IsModel() else "",
        "instanceable": prim.IsInstanceable(),
    }
    for attribute in prim.GetAuthoredAttributes():
        value = attribute.Get()
        if isinstance(value, Sdf.AssetPath):
            value = PurePosixPath(value.path).name, bool(value.resolvedPath)
        values[attribute.GetName()] = (
            str(attribute.GetTypeName()),
            attribute.IsCustom(),
            attribute.GetColorSpace(),
            attribute.GetMetadata("interpolation"),
            tuple(map(str, attribute.GetConnections())),
            str(value),
        )
    for relationship in prim.GetAuthoredRelationships():
        values[relationship.GetName()] = tuple(map(str, relationship.GetTargets()))
    return values
