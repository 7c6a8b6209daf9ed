"""A robot as JSON: the fields of the model, in SI units; absent values are null."""

from __future__ import annotations

import json
import math
from typing import TypeAlias

import msgspec

from urdf_usd.converter.inspection import Inspection, kind_name
from urdf_usd.converter.robot.model import Joint, Link, MeshFile, Pose, Shape, Visual

Json: TypeAlias = dict[str, object]

SCHEMA_VERSION = "1.0"


def robot_json(inspection: Inspection) -> str:
    """Encode a robot; links and joints in tree order."""
    tree = inspection.tree
    joints = [tree.parent_joint[name] for name in tree.links if name != tree.root]
    document: Json = {
        "schema_version": SCHEMA_VERSION,
        "robot": inspection.robot.name,
        "root": tree.root,
        "totals": msgspec.to_builtins(inspection.totals),
        "links": [_link(tree.link[name], inspection) for name in tree.links],
        "joints": [_joint(joint) for joint in joints],
    }
    return json.dumps(_plain(document), indent=1, allow_nan=False)


def _link(link: Link, inspection: Inspection) -> Json:
    inertial = link.inertial
    return {
        "name": link.name,
        "mass": inertial.mass if inertial else None,
        "inertial_origin": _pose(inertial.origin) if inertial else None,
        "inertia": inertial.inertia if inertial else None,
        "visuals": [_shape(shape, inspection) for shape in link.visuals],
        "collisions": [_shape(shape, inspection) for shape in link.collisions],
    }


def _shape(shape: Shape, inspection: Inspection) -> Json:
    geometry = shape.geometry
    described: Json = {
        "name": shape.name,
        "origin": _pose(shape.origin),
        "type": "mesh" if isinstance(geometry, MeshFile) else kind_name(geometry),
    }
    if isinstance(geometry, MeshFile):
        extent = inspection.meshes.by_path.get(geometry.path or "")
        described |= {
            "uri": geometry.uri,
            "found": geometry.path is not None,
            "scale": geometry.scale,
            "triangles": extent.triangles if extent else None,
        }
    else:
        described |= msgspec.to_builtins(geometry)
    if isinstance(shape, Visual):
        material = shape.material
        described["material"] = material and {
            "name": material.name,
            "rgba": material.rgba,
            "texture": material.texture_uri,
        }
    return described


def _joint(joint: Joint) -> Json:
    allowed = getattr(joint.kind, "range", None)
    return {
        "name": joint.name,
        "type": kind_name(joint.kind),
        "parent": joint.parent,
        "child": joint.child,
        "origin": _pose(joint.origin),
        "axis": getattr(joint.kind, "axis", None),
        "lower": allowed.lower if allowed else None,
        "upper": allowed.upper if allowed else None,
        "effort": joint.effort,
        "velocity": joint.velocity,
        "damping": joint.dynamics.damping if joint.dynamics else None,
        "friction": joint.dynamics.friction if joint.dynamics else None,
        "mimic": msgspec.to_builtins(joint.mimic) if joint.mimic else None,
    }


def _pose(pose: Pose) -> Json:
    return {"position": pose.position, "quat_wxyz": pose.quat_wxyz}


def _plain(value: object) -> object:
    """Replace infinity, which JSON lacks, by null, as for absent values."""
    match value:
        case dict():
            return {key: _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
