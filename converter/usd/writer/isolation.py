"""Separation of a finished layer by the origin of its opinions (REP 158, 1.2 and 1.4).

The stage composes to the same prims, but the physics layer has core schemas only, and
meshes and materials are payloads of their prims instead of references.
"""

from __future__ import annotations

from collections.abc import Iterator

from pxr import Sdf

from urdf_usd.converter.robot.mass_properties import principal_inertia
from urdf_usd.converter.usd.urdf_attributes import (
    LINK_AXES,
    LINK_MOMENTS,
    write_numbers,
)
from urdf_usd.converter.usd.writer.specs import applied, set_applied

_TENSOR = "urdf:inertial:inertia"


def move_opinions(
    source: Sdf.Layer, target: Sdf.Layer, namespaces: tuple[str, ...], schemas: str = ""
) -> None:
    """Move properties and applied schemas to another layer.

    Args:
        source: Layer that loses them.
        target: Layer that gets them; its own values of these properties are replaced.
        namespaces: Beginnings of the properties' names.
        schemas: Beginning of the schemas' names; none if empty.
    """
    with Sdf.ChangeBlock():
        for prim in list(_prims(source)):
            every = list(prim.properties.keys())
            names = [name for name in every if name.startswith(namespaces)]
            listed = applied(prim)
            moved = [name for name in listed if schemas and name.startswith(schemas)]
            if not names and not moved:
                continue
            place = Sdf.CreatePrimInLayer(target, prim.path)
            for name in names:
                path = prim.path.AppendProperty(name)
                Sdf.CopySpec(source, path, target, path)
                prim.RemoveProperty(prim.properties[name])
            if moved:
                set_applied(place, list(dict.fromkeys((*applied(place), *moved))))
                set_applied(prim, [name for name in listed if name not in moved])


def decompose_link_tensors(layer: Sdf.Layer) -> None:
    """Write the inertia of links that are merged into bodies by its principal axes.

    REP 158 forbids inertia as six values (1.3, Inertia Representation). The axes are
    relative to the frame of the inertial.
    """
    with Sdf.ChangeBlock():
        for prim in list(_prims(layer)):
            tensor = prim.attributes.get(_TENSOR)
            if tensor is None:
                continue
            ixx, ixy, ixz, iyy, iyz, izz = tensor.default
            moments, quat_wxyz = principal_inertia((ixx, ixy, ixz, iyy, iyz, izz))
            prim.RemoveProperty(tensor)
            write_numbers(prim, LINK_MOMENTS, moments)
            write_numbers(prim, LINK_AXES, quat_wxyz)


def load_on_demand(layer: Sdf.Layer) -> None:
    """Replace references of prims to libraries by payloads."""
    with Sdf.ChangeBlock():
        for prim in _prims(layer):
            for reference in list(prim.referenceList.prependedItems):
                payload = Sdf.Payload(reference.assetPath, reference.primPath)
                prim.payloadList.prependedItems.append(payload)
            prim.referenceList.ClearEdits()


def _prims(layer: Sdf.Layer) -> Iterator[Sdf.PrimSpec]:
    paths: list[Sdf.Path] = []
    layer.Traverse(Sdf.Path.absoluteRootPath, paths.append)
    for path in paths:
        if path.IsPrimPath():
            yield layer.GetPrimAtPath(path)
