"""What prims of a USD are called, and a layer in which they are called otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Sdf

from conformance.naming import NamedJoint, NamedPrim, NamedPrims
from conformance.witnesses.usdphysics_joints import connections
from conformance.witnesses.usdphysics_links import find_links
from conformance.witnesses.usdphysics_stage import (
    Placement,
    captured_diagnostics,
    read_physics,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def named_prims(usd: str) -> NamedPrims:
    """List the prims that may stand for links and joints.

    Raises:
        AbstentionError: The stage cannot be read.
    """
    with captured_diagnostics():
        physics = read_physics(usd)
        links = find_links(physics)
        joints, _ = connections(physics, links, Placement(physics))
        return NamedPrims(
            links=tuple(
                NamedPrim(link.path, link.name, link.is_body)
                for link in links.by_name.values()
            ),
            joints=tuple(
                NamedJoint(joint.path, joint.name, joint.bodies, joint.mobility.type)
                for joint in joints
                if joint.path in physics.joints
            ),
        )


def labelled(usd: str, names: Mapping[str, str]) -> str:
    """Return the text of a layer over a USD in which prims have other display names.

    Args:
        usd: Root layer that it stands on.
        names: By path of the prim.
    """
    below = Sdf.Layer.FindOrOpen(usd)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    # What a root layer says of its stage counts in the root layer alone.
    for key in below.pseudoRoot.ListInfoKeys():
        if not key.startswith("subLayer"):
            layer.pseudoRoot.SetInfo(key, below.pseudoRoot.GetInfo(key))
    layer.subLayerPaths.append(below.identifier)
    for path, name in names.items():
        Sdf.CreatePrimInLayer(layer, path).SetInfo("displayName", name)
    text: str = layer.ExportToString()
    return text
