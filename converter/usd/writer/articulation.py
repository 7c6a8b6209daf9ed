"""Articulation roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.converter.robot.bodies import BodyAssignment
from urdf_usd.converter.robot.model import Fixed, Floating
from urdf_usd.converter.robot.topology import Tree

if TYPE_CHECKING:
    from urdf_usd.converter.usd.writer.prims import Prims

# Component of the bodies that are connected to the world; no link has an empty name.
_WORLD = ""


def author_articulation(
    stage: Usd.Stage, tree: Tree, body_assignment: BodyAssignment, prims: Prims
) -> None:
    """Mark the root of every articulation.

    A floating base is marked on its root body. A fixed one is marked on the default
    prim, an ancestor of the joint to the world, or on that joint if there are free
    bodies; on the body itself, OpenUSD's parser reports a floating articulation. A body
    without joints is no articulation. Each subtree below a floating joint is a separate
    articulation.
    """
    for path in _roots(tree, body_assignment, prims):
        UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath(path))


def _roots(tree: Tree, body_assignment: BodyAssignment, prims: Prims) -> list[Sdf.Path]:
    component: dict[str, str] = {}
    held: list[Sdf.Path] = []
    articulated: dict[str, None] = {}
    for name in tree.links:
        if body_assignment.body_of[name] != name:
            continue
        joint = tree.parent_joint.get(name)
        path = prims.anchor if joint is None else prims.joint[joint.name]
        if path is None or (joint is not None and isinstance(joint.kind, Floating)):
            component[name] = name
            continue
        parent = None if joint is None else body_assignment.body_of[joint.parent]
        component[name] = _WORLD if parent is None else component[parent]
        if parent is None:
            held.append(path)
        moves = joint is not None and not isinstance(joint.kind, Fixed)
        if parent is not None or moves:
            articulated[component[name]] = None
    floating = [prims.link[name] for name in articulated if name != _WORLD]
    if _WORLD not in articulated:
        return floating
    # The default prim would include free bodies.
    alone = set(component.values()) == {_WORLD}
    return [prims.robot] if alone else [*held, *floating]
