"""Names of the prims of a USD, and a layer that overrides them."""

from __future__ import annotations

from collections.abc import Mapping

from pxr import Sdf, Usd

from urdf_usd.conformance.engines.openusd.joints import connections
from urdf_usd.conformance.engines.openusd.links import find_links, link_candidates
from urdf_usd.conformance.engines.openusd.stage import (
    WorldTransforms,
    captured_diagnostics,
    read_physics,
)
from urdf_usd.conformance.engines.openusd.tree import articulated_bodies, span_tree
from urdf_usd.conformance.observation.named_prims import (
    NamedJoint,
    NamedPrim,
    NamedPrims,
)


def named_prims(usd: str) -> NamedPrims:
    """List the candidates for links and joints.

    Raises:
        AbstentionError: The stage cannot be read.
    """
    with captured_diagnostics():
        physics = read_physics(usd, partial=True)
        world = WorldTransforms(physics)
        joints, _ = connections(physics, find_links(physics), world)
        tree = span_tree(joints, tuple(physics.bodies), articulated_bodies(physics))
        every = Usd.PrimRange(physics.default, Usd.TraverseInstanceProxies())
        order = {
            str(prim.GetPath()): index
            for index, prim in enumerate(every)
            if str(prim.GetPath()) in physics.joints
        }
        return NamedPrims(
            links=tuple(
                NamedPrim(link.path, link.name, is_body=link.is_body)
                for link in link_candidates(physics)
            ),
            joints=tuple(
                NamedJoint(
                    joint.path,
                    joint.name,
                    (joint.bodies[joint.parent], joint.bodies[joint.child]),
                    joint.mobility.type,
                )
                for joint in sorted(
                    (joint for joint in (*tree.joints, *tree.loops) if joint.path in order),
                    key=lambda joint: order[joint.path],
                )
            ),
        )


def labelled(usd: str, names: Mapping[str, str]) -> str:
    """Return the text of a layer over a USD that overrides display names.

    Args:
        usd: Root layer of the USD.
        names: Display names by prim path.
    """
    below = Sdf.Layer.FindOrOpen(usd)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    # Stage metadata is read from the root layer alone.
    for key in below.pseudoRoot.ListInfoKeys():
        if not key.startswith("subLayer"):
            layer.pseudoRoot.SetInfo(key, below.pseudoRoot.GetInfo(key))
    layer.subLayerPaths.append(below.identifier)
    for path, name in names.items():
        Sdf.CreatePrimInLayer(layer, path).SetInfo("displayName", name)
    text: str = layer.ExportToString()
    return text
