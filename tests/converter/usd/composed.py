"""What a stage says once all of its layers are composed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TypeAlias

from pxr import Sdf, Usd

Said: TypeAlias = "dict[str, object]"


def composed(stage: Usd.Stage) -> dict[str, Said]:
    """Return all that consumers can ask of the prims below the default prim, by path.

    What names the file itself, or where its parts lie, is left out.
    """
    root = stage.GetDefaultPrim()
    return {str(prim.GetPath()): _said(prim) for prim in Usd.PrimRange(root)}


def physics_of(said: Mapping[str, Said]) -> dict[str, list[str]]:
    """Return what belongs to physics: types, schemas and properties, by path."""
    found = {
        path: [
            word
            for word in (str(prim["type"]), *_words(prim))
            if "Physics" in word or word.startswith(("physics:", "newton:", "Newton"))
        ]
        for path, prim in said.items()
    }
    return {path: words for path, words in found.items() if words}


def _words(prim: Said) -> list[str]:
    schemas = prim["schemas"]
    assert isinstance(schemas, list)
    return [*schemas, *(key for key in prim if ":" in key)]


def _said(prim: Usd.Prim) -> Said:
    said: Said = {
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
        said[attribute.GetName()] = (
            str(attribute.GetTypeName()),
            attribute.IsCustom(),
            attribute.GetColorSpace(),
            attribute.GetMetadata("interpolation"),
            tuple(map(str, attribute.GetConnections())),
            str(value),
        )
    for relationship in prim.GetAuthoredRelationships():
        said[relationship.GetName()] = tuple(map(str, relationship.GetTargets()))
    return said
