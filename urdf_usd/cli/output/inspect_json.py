"""A robot as JSON: the fields of the model, in SI units; absent values are null."""

from __future__ import annotations

import json
import math
from typing import Any, TypeAlias

import msgspec

from urdf_usd.converter.inspection import Inspection, kind_name
from urdf_usd.converter.robot.model import Joint, Link, MeshFile, Pose, Shape, Visual

Json: TypeAlias = dict[str, object]

SCHEMA_VERSION = "1.0"


# Where a file is, and totals of other values.
_NO_VALUES = frozenset({"schema_version", "totals", "uri", "found"})


def robot_values(inspection: Inspection) -> dict[str, str]:
    """Return each value as text, by the names of its part, such as ``link arm mass``.

    Numbers have six significant digits, fewer than float32.
    """
    document = _document(inspection)
    values = {"robot": str(document["robot"]), "root": str(document["root"])}
    for kind in ("link", "joint"):
        for part in document[f"{kind}s"]:
            values |= _flat(part, f"{kind} {part.pop('name')}")
    return values


def _flat(value: Any, name: str) -> dict[str, str]:  # noqa: ANN401  # any JSON
    match value:
        case dict():
            items = ((k, v) for k, v in value.items() if k not in _NO_VALUES)
        case [dict(), *_]:
            items = ((str(number), v) for number, v in enumerate(value, start=1))
        case list():
            return {name: f"({', '.join(f'{one:.6g}' for one in value)})"}
        case float():
            return {name: f"{value + 0.0:.6g}"}
        case None:
            return {}
        case _:
            return {name: str(value)}
    return {key: text for k, v in items for key, text in _flat(v, f"{name} {k}").items()}


def robot_json(inspection: Inspection) -> str:
    """Encode a robot; links and joints in tree order."""
    return json.dumps(_document(inspection), indent=1, allow_nan=False)


def _document(inspection: Inspection) -> Any:  # noqa: ANN401  # JSON
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
    return _plain(document)


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
