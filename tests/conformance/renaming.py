"""Renaming of the prims of a USD, so that none has its URDF name."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from pxr import Sdf, Usd

# Attributes with the URDF names of links and joints.
_NAMES = {"urdf:joint:name", "urdf:joint:parent", "urdf:joint:child"}


def rename_prims(
    root_layer: Path, target: Path, seed: int, *, loses: Callable[[str], bool]
) -> dict[str, str]:
    """Write a USD with random names of prims, in one layer.

    Args:
        root_layer: Root layer of the USD.
        target: File to write.
        seed: Of the names.
        loses: Whether a prim of some name loses it.

    Returns:
        New path of each prim that lost its name, by the old one.
    """
    stage = Usd.Stage.Open(str(root_layer))
    root = stage.GetDefaultPrim().GetPath()
    layer = stage.Flatten()
    flat = Usd.Stage.Open(layer)
    paths = [prim.GetPath() for prim in Usd.PrimRange(flat.GetPrimAtPath(root))][1:]
    numbers = random.Random(seed).sample(range(10 * len(paths)), len(paths))
    names = {
        path: f"n{number}" for path, number in zip(paths, numbers, strict=True) if loses(path.name)
    }

    def moved(path: Sdf.Path) -> Sdf.Path:
        found = Sdf.Path.absoluteRootPath
        for prefix in path.GetPrimPath().GetPrefixes():
            found = found.AppendChild(names.get(prefix, prefix.name))
        return found.AppendProperty(path.name) if path.IsPropertyPath() else found

    for path in paths:
        _retarget(layer.GetPrimAtPath(path), moved, forget=path in names)
    edit = Sdf.BatchNamespaceEdit()
    for path in sorted(names, key=lambda path: -path.pathElementCount):
        edit.Add(Sdf.NamespaceEdit.Rename(path, names[path]))
    assert layer.Apply(edit)
    layer.Export(str(target))
    return {str(path): str(moved(path)) for path in names}


def _retarget(prim: Sdf.PrimSpec, moved: Callable[[Sdf.Path], Sdf.Path], *, forget: bool) -> None:
    """Update the targets of a prim, and remove its URDF names."""
    if forget:
        prim.ClearInfo("displayName")
    for spec in list(prim.properties):
        if forget and spec.name in _NAMES:
            del prim.properties[spec.name]
            continue
        targets = (
            spec.targetPathList
            if isinstance(spec, Sdf.RelationshipSpec)
            else spec.connectionPathList
        )
        if targets.isExplicit:
            targets.explicitItems = [moved(path) for path in targets.explicitItems]
