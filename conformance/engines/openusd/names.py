"""Names of the prims of a USD, and a layer that overrides them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from pxr import Sdf, Usd, UsdGeom

from urdf_usd.conformance.engines.openusd.joints import connections
from urdf_usd.conformance.engines.openusd.links import (
    WORLD,
    LinkPrim,
    find_links,
    link_candidates,
)
from urdf_usd.conformance.engines.openusd.masses import body_mass
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    WorldTransforms,
    captured_diagnostics,
    read_physics,
)
from urdf_usd.conformance.engines.openusd.transforms import Array, inverses
from urdf_usd.conformance.engines.openusd.tree import (
    articulated_bodies,
    place_bodies,
    span_tree,
)
from urdf_usd.conformance.observation.named_prims import (
    NamedJoint,
    NamedPrim,
    NamedPrims,
)
from urdf_usd.conformance.observation.robot import Configurations

_AT_REST = Configurations(joints=(), positions=(), labels=("zero",))


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
        bodies = place_bodies(tree, world, _AT_REST)
        every = Usd.PrimRange(physics.default, Usd.TraverseInstanceProxies())
        order = {
            str(prim.GetPath()): index
            for index, prim in enumerate(every)
            if str(prim.GetPath()) in physics.joints
        }
        return NamedPrims(
            links=tuple(
                _named_prim(link, physics, world, bodies[link.body][0])
                for link in link_candidates(physics)
            ),
            joints=tuple(
                NamedJoint(
                    joint.path,
                    joint.name,
                    (joint.bodies[joint.parent], joint.bodies[joint.child]),
                    joint.mobility.type,
                    joint.anchor_in_child,
                    joint.axis_in_child,
                    closes_loop=joint in tree.loops,
                )
                for joint in sorted(
                    (joint for joint in (*tree.joints, *tree.loops) if joint.path in order),
                    key=lambda joint: order[joint.path],
                )
            ),
        )


def _named_prim(link: LinkPrim, physics: Physics, world: WorldTransforms, body: Array) -> NamedPrim:
    """Return a candidate, given the (4, 4) pose of the body that carries it."""
    pose = body
    if not link.is_body:
        carrier = np.eye(4) if link.body == WORLD else world.rigid(link.body)
        pose = body @ inverses(carrier) @ world.rigid(link.path)
    mass = body_mass(physics, world, link.path) if link.is_body else None
    return NamedPrim(
        path=link.path,
        name=link.name,
        is_body=link.is_body,
        pose=tuple(tuple(map(float, row)) for row in pose),
        mass=mass.properties.mass if mass else None,
        has_shapes=_has_shapes(physics.stage.GetPrimAtPath(link.path)),
    )


def _has_shapes(prim: Usd.Prim) -> bool:
    """Whether a prim has shapes that belong to no candidate below it."""
    below = iter(Usd.PrimRange(prim, Usd.TraverseInstanceProxies()))
    for each in below:
        if each.IsA(UsdGeom.Gprim):
            return True
        if each != prim and each.GetTypeName() == "Xform":
            below.PruneChildren()
    return False


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
