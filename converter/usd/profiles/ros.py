"""Conventions of REP 158, OpenUSD assets for ROS.

Joints and links have their ROS names, colliders have a contact material, and the world
is the absence of a body. Couplings are also in ``ExtendedPhysicsMimicAPI``.
"""

from __future__ import annotations

import re
from math import inf

from pxr import Sdf

from urdf_usd.converter.robot.bodies import principal_inertia
from urdf_usd.converter.robot.model import Continuous
from urdf_usd.converter.usd.writer import specs

# Those of PhysX and Bullet for shapes without a material; URDF has none.
_FRICTION, _RESTITUTION = 0.5, 0.0
# Names of frames that ROS accepts.
_FRAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def author_ros(layer: Sdf.Layer, prims: specs.Prims) -> None:
    """Author the conventions of REP 158 on existing joints, links and colliders."""
    tree = prims.tree
    names = {path: name for name, path in prims.joint.items()}
    if prims.anchor is not None:
        names[prims.anchor] = prims.anchor.name
    for path, name in names.items():
        joint = specs.over(layer, path)
        specs.write(joint, "ros:joint:name", name, custom=True)
        body = joint.relationships.get("physics:body0")
        if body and prims.robot in body.targetPathList.explicitItems:
            # No target represents the world (1.3, Robot Anchors).
            joint.RemoveProperty(body)
        if leader := joint.relationships.get("newton:mimicJoint"):
            # The neutral schema of couplings (4.2.2).
            specs.apply(joint, "ExtendedPhysicsMimicAPI")
            specs.relate(joint, "ext_physics:mimic:joint", *leader.targetPathList.explicitItems)
            for key, source in (("multiplier", "mimicCoef1"), ("offset", "mimicCoef0")):
                value = joint.attributes[f"newton:{source}"].default
                specs.write(joint, f"ext_physics:mimic:{key}", value)
    for part in tree.parent_joint.values():
        if part.name in prims.joint and isinstance(part.kind, Continuous):
            # Otherwise limits are missing (1.3); infinite ones are none.
            specs.write(specs.over(layer, prims.joint[part.name]), "physics:lowerLimit", -inf)
            specs.write(specs.over(layer, prims.joint[part.name]), "physics:upperLimit", inf)
    for name in tree.links:
        if prims.bodies.body_of[name] != name:
            # A link without body is a fixed frame (1.3, Dummy Frames).
            link = specs.over(layer, prims.link[name])
            specs.apply(link, "RosFrameAPI")
            if _FRAME.fullmatch(name):
                specs.write(link, "ros:frame:id", name)
            specs.write(link, "ros:frame:static", True)
    for prim in list(specs.prim_specs(layer)):
        if (tensor := prim.attributes.get("urdf:inertial:inertia")) is not None:
            # Inertia as six values is forbidden (1.3, Inertia Representation). The axes are
            # relative to the frame of the inertial.
            moments, quat_wxyz = principal_inertia(tuple(tensor.default))
            prim.RemoveProperty(tensor)
            specs.write_urdf(prim, specs.LINK_MOMENTS, moments)
            specs.write_urdf(prim, specs.LINK_AXES, quat_wxyz)
    _author_contacts(layer, prims)


def _author_contacts(layer: Sdf.Layer, prims: specs.Prims) -> None:
    """Bind a contact material to all colliders (1.3.4), and state their purpose."""
    below = specs.prim_specs(layer, prims.robot)
    colliders = [spec.path for spec in below if "PhysicsCollisionAPI" in specs.applied(spec)]
    if not colliders:
        return
    taken = layer.GetPrimAtPath(prims.physics).nameChildren.keys()
    (name,) = specs.sibling_names(["contact"], taken)
    material = specs.define(layer, prims.physics.AppendChild(name), "Material")
    specs.apply(material, "PhysicsMaterialAPI")
    specs.write(material, "physics:staticFriction", _FRICTION)
    specs.write(material, "physics:dynamicFriction", _FRICTION)
    specs.write(material, "physics:restitution", _RESTITUTION)
    shapes = {path for paths in prims.collision.values() for path in paths}
    for path in colliders:
        collider = specs.over(layer, path)
        if path.GetParentPath() in shapes:
            # Groups of a mesh inherit it, but 1.3.1 requires it of colliders.
            specs.write(collider, "purpose", "guide")
        specs.apply(collider, "MaterialBindingAPI")
        specs.relate(collider, "material:binding:physics", material.path)
        if "physics:approximation" not in collider.attributes:
            # A primitive is no approximation (1.3.1). Meshes keep convexHull, which the
            # same section requires of the default variant.
            specs.write(collider, "physics:approximation", "none")
