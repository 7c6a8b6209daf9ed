"""Conventions of REP 158, OpenUSD assets for ROS.

Joints and links have their ROS names, colliders have a contact material, and the world
is the absence of a body. Couplings are also in ``ExtendedPhysicsMimicAPI``.
"""

from __future__ import annotations

import re
from math import inf

from pxr import Sdf, UsdGeom, UsdPhysics

from urdf_usd.converter.robot.model import Continuous
from urdf_usd.converter.usd.writer.prims import Prims, sibling_names
from urdf_usd.converter.usd.writer.specs import (
    applied,
    apply,
    define,
    over,
    prim_specs,
    relate,
    write,
    write_new,
)

_TOKENS = UsdPhysics.Tokens
_CONTACT = "contact"
# Those of PhysX and Bullet for shapes without a material; URDF has none.
_FRICTION, _RESTITUTION = 0.5, 0.0
_MATERIAL = "PhysicsMaterialAPI"
# Names of frames that ROS accepts.
_FRAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def author_ros(layer: Sdf.Layer, prims: Prims) -> None:
    """Author the conventions of REP 158 on existing joints, links and colliders.

    Args:
        layer: The physics layer, with Newton's schemas.
        prims: The robot.
    """
    names = {path: name for name, path in prims.joint.items()}
    if prims.anchor is not None:
        names[prims.anchor] = prims.anchor.name
    for path, name in names.items():
        joint = over(layer, path)
        _write_text(joint, "ros:joint:name", name, custom=True)
        _release_world(joint, prims.robot)
        _write_mimic(joint)
    for part in prims.tree.parent_joint.values():
        if part.name in prims.joint and isinstance(part.kind, Continuous):
            # Otherwise limits are missing (1.3); infinite ones are none.
            joint = over(layer, prims.joint[part.name])
            write(joint, _TOKENS.physicsLowerLimit, -inf)
            write(joint, _TOKENS.physicsUpperLimit, inf)
    for name in prims.tree.links:
        if prims.bodies.body_of[name] != name:
            _write_frame(over(layer, prims.link[name]), name)
    _author_contacts(layer, prims)


def _write_text(spec: Sdf.PrimSpec, name: str, value: str, *, custom: bool = False) -> None:
    write_new(spec, name, Sdf.ValueTypeNames.String, value, custom=custom)


def _release_world(joint: Sdf.PrimSpec, robot: Sdf.Path) -> None:
    """Remove the target that represents the world (1.3, Robot Anchors)."""
    body = joint.relationships.get(_TOKENS.physicsBody0)
    if body and robot in body.targetPathList.explicitItems:
        joint.RemoveProperty(body)


def _write_mimic(joint: Sdf.PrimSpec) -> None:
    """Write Newton's coupling of a joint in the neutral schema (4.2.2)."""
    leader = joint.relationships.get("newton:mimicJoint")
    if not leader:
        return
    apply(joint, "ExtendedPhysicsMimicAPI")
    (target,) = leader.targetPathList.explicitItems
    relate(joint, "ext_physics:mimic:joint", target)
    for name, source in (
        ("multiplier", "newton:mimicCoef1"),
        ("offset", "newton:mimicCoef0"),
    ):
        value = joint.attributes[source].default
        kind = Sdf.ValueTypeNames.Float
        write_new(joint, f"ext_physics:mimic:{name}", kind, value)


def _write_frame(link: Sdf.PrimSpec, name: str) -> None:
    """State that a link without body is a fixed frame (1.3, Dummy Frames)."""
    apply(link, "RosFrameAPI")
    if _FRAME.fullmatch(name):
        _write_text(link, "ros:frame:id", name)
    write_new(link, "ros:frame:static", Sdf.ValueTypeNames.Bool, True)


def _author_contacts(layer: Sdf.Layer, prims: Prims) -> None:
    """Bind a contact material to all colliders (1.3.4), and state their purpose."""
    colliders = [
        spec.path
        for spec in prim_specs(layer, prims.robot)
        if "PhysicsCollisionAPI" in applied(spec)
    ]
    if not colliders:
        return
    taken = layer.GetPrimAtPath(prims.physics).nameChildren.keys()
    (name,) = sibling_names([_CONTACT], taken)
    material = define(layer, prims.physics.AppendChild(name), "Material")
    apply(material, _MATERIAL)
    write(material, _TOKENS.physicsStaticFriction, _FRICTION)
    write(material, _TOKENS.physicsDynamicFriction, _FRICTION)
    write(material, _TOKENS.physicsRestitution, _RESTITUTION)
    shapes = {path for paths in prims.collision.values() for path in paths}
    for path in colliders:
        collider = over(layer, path)
        if path.GetParentPath() in shapes:
            # Groups of a mesh inherit it, but 1.3.1 requires it of colliders.
            write(collider, UsdGeom.Tokens.purpose, UsdGeom.Tokens.guide)
        apply(collider, "MaterialBindingAPI")
        relate(collider, "material:binding:physics", material.path)
        if _TOKENS.physicsApproximation not in collider.attributes:
            # A primitive is no approximation (1.3.1). Meshes keep convexHull, which the
            # same section requires of the default variant.
            write(collider, _TOKENS.physicsApproximation, _TOKENS.none)
