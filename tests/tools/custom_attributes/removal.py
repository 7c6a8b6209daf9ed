"""Removal of everything under ``urdf:`` from an asset, layer by layer."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from pxr import Sdf, Usd

from urdf_usd.converter import ConversionError, ConvertOptions, convert

_NAMESPACE = "urdf"
_PREFIX = f"{_NAMESPACE}:"
# Marks the Scope of a custom element of the URDF; its attributes have their own names.
_WITHIN = f"{_PREFIX}within"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two assets of one robot.

    Attributes:
        base: Kind of base in both.
        whole: Root layer as converted.
        stripped: Root layer of the copy without ``urdf:`` opinions.
    """

    base: str
    whole: Path
    stripped: Path


def convert_pair(urdf: str, folder: str, options: ConvertOptions) -> Pair | str:
    """Convert a robot, and remove all ``urdf:`` opinions from a copy of the asset.

    Args:
        urdf: URDF or xacro file.
        folder: Receives the folders ``whole`` and ``stripped``.
        options: Of the conversion.

    Returns:
        The assets; or why the robot cannot be converted.
    """
    whole, stripped = Path(folder, "whole"), Path(folder, "stripped")
    try:
        conversion = convert(urdf, whole, options)
    except ConversionError as error:
        lines = str(error).splitlines()
        return next((line for line in lines if ": error: " in line), lines[0])
    shutil.copytree(whole, stripped)
    for file in sorted(stripped.rglob("*.usd*")):
        strip_layer(file)
    root_layer = stripped / conversion.root_layer.relative_to(whole.resolve())
    if left := custom_opinions(root_layer):
        raise RuntimeError(f"left in {root_layer}: {', '.join(left)}")
    return Pair(conversion.base.value, conversion.root_layer, root_layer)


def strip_layer(file: Path) -> None:
    """Remove the ``urdf:`` opinions of a layer file in place.

    Removed are properties whose name begins with ``urdf:``, Scopes of custom elements,
    entries of ``customData`` whose key begins with ``urdf``, and ``customLayerData``,
    which names the converter.
    """
    layer = Sdf.Layer.OpenAsAnonymous(str(file))
    found: list[Sdf.Path] = []
    layer.Traverse(Sdf.Path.absoluteRootPath, found.append)
    changed = layer.HasCustomLayerData()
    layer.ClearCustomLayerData()
    for path in found:
        spec = layer.GetObjectAtPath(path)
        # A spec below a removed one is gone.
        if isinstance(spec, Sdf.PropertySpec) and spec.name.startswith(_PREFIX):
            del spec.owner.properties[spec.name]
        elif isinstance(spec, Sdf.PrimSpec) and _WITHIN in spec.properties:
            del spec.nameParent.nameChildren[spec.name]
        elif isinstance(spec, Sdf.PrimSpec | Sdf.PropertySpec):
            own = [key for key in spec.customData if key.startswith(_NAMESPACE)]
            for key in own:
                del spec.customData[key]
            if not own:
                continue
        else:
            continue
        changed = True
    if changed:
        layer.Export(str(file))


def custom_opinions(root_layer: Path) -> tuple[str, ...]:
    """Return the paths of composed ``urdf:`` properties and custom data of an asset."""
    stage = Usd.Stage.Open(str(root_layer))
    found = []
    for prim in stage.TraverseAll():
        for each in (prim, *prim.GetProperties()):
            own = [key for key in each.GetCustomData() if key.startswith(_NAMESPACE)]
            if own or each.GetName().startswith(_PREFIX):
                found.append(str(each.GetPath()))
    return tuple(found)
