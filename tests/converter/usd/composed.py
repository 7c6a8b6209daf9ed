"""Composed prims of a stage as values that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
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


def physics_of(values: Mapping[str, PrimValues]) -> dict[str, list[str]]:
    found = {
        path: [
            word
            for word in (str(prim["type"]), *_words(prim))
            if "Physics" in word or word.startswith(("physics:", "newton:", "Newton"))
        ]
        for path, prim in values.items()
    }
    return {path: words for path, words in found.items() if words}


def _words(prim: PrimValues) -> list[str]:
    schemas = prim["schemas"]
    assert isinstance(schemas, list)
    return [*schemas, *(key for key in prim if ":" in key)]


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
