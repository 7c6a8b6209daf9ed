"""Additions for the profile Robot-Body of SimReady Foundation, and for REP 158, on finished layers.

https://nvidia.github.io/simready-foundation
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pxr import Gf, Sdf, Vt

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.meshes.mesh import area_vectors
from urdf_usd.converter.options import METADATA
from urdf_usd.converter.robot.model import Continuous, Robot
from urdf_usd.converter.robot.spatial import principal_inertia
from urdf_usd.converter.usd.writer import specs

_NESTED = "SimReady_Metadata"
_NORMALS = "primvars:normals"
# Also required outside of the nested dictionary, by SR.001.
_OUTER = ("asset_name", "asset_type", "source_file", "usd_date_generated")
# The code is that of robots in Wikidata.
_ROBOT = {"asset_type": "robot", "category": "robot", "qcode": "Q11012"}


def complete_metadata(
    robot: Robot, given: Mapping[str, str]
) -> tuple[dict[str, str], tuple[Diagnostic, ...]]:
    """Complete metadata by the robot and the date of SOURCE_DATE_EPOCH; report what is missing."""
    found = {"asset_name": robot.name, **_ROBOT}
    if robot.location is not None:
        found["source_file"] = os.path.basename(robot.location.file)  # noqa: PTH119  may be the path of another system
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    if seconds.isdecimal():
        date = datetime.fromtimestamp(int(seconds), UTC).date()
        found["usd_date_generated"] = date.isoformat()
    metadata = found | {name: text for name, text in given.items() if text.strip()}
    missing = [f"--metadata {name}=..." for name in METADATA if name not in metadata]
    if not missing:
        return metadata, ()
    message = f"SimReady requires metadata that is not known; add {' '.join(missing)}"
    return metadata, (Diagnostic("metadata-missing", message, robot.location),)


def complete(
    physics: Sdf.Layer, library: Sdf.Layer, prims: specs.Prims, robot: Robot
) -> list[Diagnostic]:
    """Author what the profile requires of physics and meshes."""
    for prim in specs.prim_specs(physics):
        # What Newton assumes by itself (NEWTON.COL.001, NEWTON.BA.001).
        if "PhysicsMeshCollisionAPI" in specs.applied(prim):
            specs.apply(prim, "NewtonMeshCollisionAPI")
        if "PhysicsArticulationRootAPI" in specs.applied(prim):
            specs.apply(prim, "NewtonArticulationRootAPI")
            specs.write(prim, "newton:selfCollisionEnabled", True)
    for path in prims.colliders:
        if physics.GetPrimAtPath(path):
            # Colliders coincide with visuals (VG.008).
            specs.write(specs.over(physics, path), "visibility", "invisible")
    replaced = _complete_normals(library)
    problems = []
    if not library.GetPrimAtPath(f"/{library.defaultPrim}").nameChildren:  # VG.MESH.001
        problems.append(("mesh-required", "SimReady requires a mesh; all shapes are primitive"))
    if not prims.bodies.bodies:  # RB.001
        message = "SimReady requires a rigid body; no link has mass and can move"
        problems.append(("body-required", message))
    for name in replaced:
        message = f"normals of mesh {name!r} point against its faces, which SimReady excludes"
        problems.append(("normals-opposite", f"{message}; those of the faces are written"))
    return [Diagnostic(rule, message, robot.location) for rule, message in problems]


def _complete_normals(library: Sdf.Layer) -> list[str]:
    """Give meshes the normals of their faces if they have none, or opposite ones.

    They are the normals with which OpenUSD shades meshes without normals (VG.027).
    Normals are opposite if their sum of products with the areas of faces is negative
    (VG.029). Returns the names of meshes whose normals were replaced.
    """
    replaced = []
    for mesh in specs.prim_specs(library):
        if mesh.typeName != "Mesh":
            continue

        def values(name: str, mesh: Sdf.PrimSpec = mesh) -> NDArray[Any]:
            return np.array(mesh.attributes[name].default)

        counts, corners = values("faceVertexCounts"), values("faceVertexIndices")
        areas = area_vectors(values("points"), counts, corners)
        indices = f"{_NORMALS}:indices"
        if _NORMALS in mesh.properties:
            own = values(_NORMALS).astype(np.float64)
            per_corner = own[values(indices) if indices in mesh.properties else corners]
            if np.vdot(per_corner, np.repeat(areas, counts, axis=0)) >= 0:
                continue
            replaced.append(mesh.name)
            for name in (_NORMALS, indices):
                if name in mesh.properties:
                    mesh.RemoveProperty(mesh.properties[name])
        lengths = np.linalg.norm(areas, axis=1, keepdims=True)
        # Up for faces of no area.
        unit = np.where(lengths > 0, areas / np.where(lengths > 0, lengths, 1), (0.0, 0.0, 1.0))
        normals = Vt.Vec3fArray.FromNumpy(np.ascontiguousarray(unit, np.float32))
        specs.write(mesh, _NORMALS, normals, specs.KINDS.Normal3fArray, interpolation="uniform")
    return replaced


def author_metadata(
    layer: Sdf.Layer,
    metadata: Mapping[str, str],
    bodies: int,
    mass: float,
    sets: Iterable[str],
) -> None:
    """Write metadata to the interface layer (SR.001, SR.004, RV.003, RV.006)."""
    path = f"/{layer.defaultPrim}"
    hint = layer.GetPrimAtPath(path).attributes.get("extentsHint")
    lower, upper = hint.default if hint else (Gf.Vec3f(0.0), Gf.Vec3f(0.0))
    nested: dict[str, object] = {
        **metadata,
        "rigid_body_count": bodies,
        "asset_extents": upper - lower,
        "mass": mass,
    }
    enabling = {
        name: {"prim": path, "variantSetName": name, "activateOption": "Enabled"} for name in sets
    }
    if enabling:
        nested["Variants"] = {"Physics": enabling}
    outer = {name: metadata[name] for name in _OUTER if name in metadata}
    layer.customLayerData = {**layer.customLayerData, **outer, _NESTED: nested}


# Conventions of REP 158, OpenUSD assets for ROS. Joints and links have their ROS names, colliders
# have a contact material, and the world is the absence of a body. Couplings are also in
# ExtendedPhysicsMimicAPI.

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
    shapes = set(prims.colliders)
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
