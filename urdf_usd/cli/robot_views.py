"""A robot as a tree of lines, as JSON, and as a graph."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeAlias, assert_never

import msgspec
from rich.console import Console
from rich.text import Text

from urdf_usd.converter.inspection import Inspection, MeshExtent, Totals, kind_name
from urdf_usd.converter.robot.model import (
    IDENTITY,
    Box,
    Capsule,
    Continuous,
    Cylinder,
    Geometry,
    Joint,
    Link,
    Material,
    MeshFile,
    Planar,
    Pose,
    Prismatic,
    Range,
    Revolute,
    Shape,
    Sphere,
    Vec3,
    Visual,
)
from urdf_usd.converter.robot.spatial import rotation_from_quat_wxyz, rpy_from_rotation
from urdf_usd.reports.text import one_line

Json: TypeAlias = dict[str, object]

SCHEMA_VERSION = "1.0"
# Where a file is, and totals of other values.
_NO_VALUES = frozenset({"schema_version", "totals", "uri", "found"})
_LONGEST_LABEL = 120
# Characters that end a quoted label, start an entity or count as markup.
_MERMAID = re.compile(r"[\"#&<>`\\|;]")

_INFINITY = float("inf")
_LONGEST = 300
# Links below this depth are not indented further; their depth is written instead.
_DEEPEST = 40
# Lines are not wrapped to less than this.
_NARROWEST = 24


def tree_lines(inspection: Inspection, console: Console, width: int) -> Iterator[Text]:
    """Yield the tree, then the totals.

    Args:
        inspection: The robot.
        console: Wraps the lines.
        width: Number of columns.
    """
    yield Text.assemble("robot ", (_shown(inspection.robot.name), "bold"))
    tree = inspection.tree
    # Prefix of the first line of a link and of its further lines, and its depth.
    guides = {tree.root: ("", "", 0)}
    for name in tree.links:
        first, rest, depth = guides[name]
        joints = tree.child_joints[name]
        lead, further = first, rest + ("│ " if joints else "  ")
        for line in _link_lines(inspection, tree.link[name], depth):
            for wrapped in line.wrap(console, max(_NARROWEST, width - len(lead))):
                yield Text.assemble((lead, "dim"), wrapped)
                lead = further
        for joint in joints:
            corner, bar = ("└─", "  ") if joint is joints[-1] else ("├─", "│ ")
            deeper = (rest + corner, rest + bar) if depth < _DEEPEST else (first, rest)
            guides[joint.child] = (*deeper, depth + 1)
    yield Text()
    yield from _total_lines(inspection.totals)


def _link_lines(inspection: Inspection, link: Link, depth: int) -> Iterator[Text]:
    mass = f"  {number(link.mass)} kg" if link.inertial else ""
    deep = f"  (depth {depth})" if depth > _DEEPEST else ""
    yield Text.assemble((_shown(link.name), "bold"), mass, (deep, "dim"))
    joint = inspection.tree.parent_joint.get(link.name)
    if joint:
        summary = ", ".join((joint_summary(joint), *joint_details(joint)))
        yield Text.assemble((_shown(joint.name), "cyan"), f": {_shown(summary)}")
    for shape in link.shapes:
        role = "visual" if isinstance(shape, Visual) else "collision"
        parts = (shape_summary(shape.geometry, inspection.meshes.by_path), *placement(shape.origin))
        line = Text.assemble((role, "green"), f" {_shown(', '.join(parts))}")
        if isinstance(shape, Visual) and shape.material:
            line.append_text(_material(shape.material))
        yield line


def _material(material: Material) -> Text:
    text = Text(", ")
    if material.rgba:
        red, green, blue = (round(255 * part) for part in material.rgba[:3])
        hexadecimal = f"#{red:02x}{green:02x}{blue:02x}"
        text.append("■", hexadecimal).append(f" {hexadecimal}")
        if material.rgba[3] < 1.0:
            text.append(f" opacity {number(material.rgba[3])}")
        text.append(" ")
    if material.texture_uri:
        text.append(f"texture {_shown(material.texture_uri)} ")
    return text.append(_shown(material.name or "")) if material.name else text


def _total_lines(totals: Totals) -> Iterator[Text]:
    types = ", ".join(f"{count} {kind}" for kind, count in totals.joints.items())
    freedom = str(totals.degrees_of_freedom)
    if totals.independent != totals.degrees_of_freedom:
        freedom += f", {totals.independent} of them independent"
    meshes = f"{totals.meshes} files, {totals.triangles} triangles" if totals.meshes else "none"
    bounds = "no shapes"
    if totals.bounds:
        lower, upper = (
            ", ".join(map(number, end)) for end in (totals.bounds.lower, totals.bounds.upper)
        )
        edges = " x ".join(map(number, totals.bounds.size))
        bounds = f"{edges} m, from ({lower}) to ({upper})"
    rows = {
        "links": str(totals.links),
        "joints": f"{sum(totals.joints.values())}{f' ({types})' if types else ''}",
        "degrees of freedom": freedom,
        "mass": f"{number(totals.mass)} kg",
        "shapes": f"{totals.visuals} visual, {totals.collisions} collision",
        "meshes": meshes,
        "bounds (zero pose)": bounds,
    }
    width = max(map(len, rows))
    for title, value in rows.items():
        yield Text.assemble((f"{title:{width}}", "bold"), f"  {value}")


def _shown(text: str) -> str:
    return one_line(text, _LONGEST)


def joint_summary(joint: Joint) -> str:
    """Describe the type, axis and position limits of a joint."""
    kind = joint.kind
    name = kind_name(kind)
    match kind:
        case Revolute(axis, allowed):
            return f"{name} about {direction(axis)}, {_range(allowed, 'rad')}"
        case Prismatic(axis, allowed):
            return f"{name} along {direction(axis)}, {_range(allowed, 'm')}"
        case Continuous(axis):
            return f"{name} about {direction(axis)}"
        case Planar(axis):
            return f"{name} normal to {direction(axis)}"
        case _:
            return name


def joint_details(joint: Joint) -> tuple[str, ...]:
    """Describe effort, velocity, dynamics, mimic coupling and origin of a joint."""
    turns = isinstance(joint.kind, Revolute | Continuous)
    force, speed = ("N m", "rad/s") if turns else ("N", "m/s")
    details = []
    if joint.effort is not None:
        details.append(f"{number(joint.effort)} {force}")
    if joint.velocity is not None:
        details.append(f"{number(joint.velocity)} {speed}")
    if joint.dynamics:
        values = {"damping": joint.dynamics.damping, "friction": joint.dynamics.friction}
        details += [f"{name} {number(value)}" for name, value in values.items() if value]
    if mimic := joint.mimic:
        factor = f" x {number(mimic.multiplier)}" if mimic.multiplier != 1.0 else ""
        offset = f" + {number(mimic.offset)}" if mimic.offset else ""
        details.append(f"follows {mimic.joint}{factor}{offset}")
    return (*details, *placement(joint.origin))


def placement(pose: Pose) -> tuple[str, ...]:
    """Describe position and rotation of a frame, unless they are zero."""
    parts = []
    if pose.position != IDENTITY.position:
        parts.append(f"at {vector(pose.position)}")
    if pose.quat_wxyz != IDENTITY.quat_wxyz:
        roll, pitch, yaw = rpy_from_rotation(rotation_from_quat_wxyz(pose.quat_wxyz))
        # Removes the rounding of an angle of zero that was stored as a quaternion.
        rpy = (round(roll, 12), round(pitch, 12), round(yaw, 12))
        parts.append(f"rpy {vector(rpy)}")
    return tuple(parts)


def shape_summary(geometry: Geometry, meshes: Mapping[str, MeshExtent]) -> str:
    """Describe type and size of a shape."""
    match geometry:
        case Box(size):
            return f"box {' x '.join(map(number, size))} m"
        case Sphere(radius):
            return f"sphere r {number(radius)} m"
        case Cylinder(radius, length):
            return f"cylinder r {number(radius)} m, l {number(length)} m"
        case Capsule(radius, length):
            return f"capsule r {number(radius)} m, l {number(length)} m"
        case MeshFile(uri, path, scale):
            scaled = number(scale[0]) if len(set(scale)) == 1 else vector(scale)
            scaled = "" if scale == (1.0, 1.0, 1.0) else f" x {scaled}"
            name = PurePosixPath(uri.replace("\\", "/")).name
            content = "not found" if path is None else "not readable"
            if path is not None and path in meshes:
                content = f"{meshes[path].triangles} triangles"
            return f"mesh {name}{scaled} ({content})"
        case _:
            assert_never(geometry)


def direction(axis: Vec3) -> str:
    """Name an axis: a letter with a sign, or its components."""
    for index, letter in enumerate("XYZ"):
        if abs(axis[index]) == 1.0:
            return letter if axis[index] > 0.0 else f"-{letter}"
    return vector(axis)


def vector(values: Vec3) -> str:
    """Write three numbers."""
    return f"({', '.join(map(number, values))})"


def number(value: float) -> str:
    """Write a number with at most five digits."""
    return f"{value + 0.0:.5g}"


def _range(allowed: Range, unit: str) -> str:
    if (allowed.lower, allowed.upper) == (-_INFINITY, _INFINITY):
        return "unlimited"
    return f"{number(allowed.lower)} to {number(allowed.upper)} {unit}"


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
    links = []
    for link in map(tree.link.__getitem__, tree.links):
        inertial = link.inertial
        links.append(
            {
                "name": link.name,
                "mass": inertial.mass if inertial else None,
                "inertial_origin": inertial.origin if inertial else None,
                "inertia": inertial.inertia if inertial else None,
                "visuals": [_shape_json(shape, inspection) for shape in link.visuals],
                "collisions": [_shape_json(shape, inspection) for shape in link.collisions],
            }
        )
    joints = []
    for joint in (tree.parent_joint[name] for name in tree.links if name != tree.root):
        allowed, dynamics = getattr(joint.kind, "range", None), joint.dynamics
        joints.append(
            {
                "name": joint.name,
                "type": kind_name(joint.kind),
                "parent": joint.parent,
                "child": joint.child,
                "origin": joint.origin,
                "axis": getattr(joint.kind, "axis", None),
                "lower": allowed.lower if allowed else None,
                "upper": allowed.upper if allowed else None,
                "effort": joint.effort,
                "velocity": joint.velocity,
                "damping": dynamics.damping if dynamics else None,
                "friction": dynamics.friction if dynamics else None,
                "mimic": joint.mimic,
            }
        )
    document = {
        "schema_version": SCHEMA_VERSION,
        "robot": inspection.robot.name,
        "root": tree.root,
        "totals": inspection.totals,
        "links": links,
        "joints": joints,
    }
    return _plain(msgspec.to_builtins(document))


def _shape_json(shape: Shape, inspection: Inspection) -> Json:
    geometry = shape.geometry
    is_mesh = isinstance(geometry, MeshFile)
    described: Json = {
        "name": shape.name,
        "origin": shape.origin,
        "type": "mesh" if is_mesh else kind_name(geometry),
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


def robot_graph(inspection: Inspection, language: str) -> str:
    """Return links as boxes and joints as edges, in ``dot`` or as a ``mermaid`` flowchart."""
    tree, dot = inspection.tree, language == "dot"
    keys = {name: f"link{index}" for index, name in enumerate(tree.links)}

    def label(*lines: str) -> str:
        texts = (one_line(line, _LONGEST_LABEL) for line in lines)
        if dot:
            return "\\n".join(map(_dot_text, texts))
        return "<br/>".join(_MERMAID.sub(lambda one: f"#{ord(one[0])};", text) for text in texts)

    nodes, edges = [], []
    for name, key in keys.items():
        inertial = tree.link[name].inertial
        text = label(name, *([f"{number(inertial.mass)} kg"] if inertial else ()))
        nodes.append(f'  {key} [label="{text}"];' if dot else f'  {key}["{text}"]')
        for joint in tree.child_joints[name]:
            text, child = label(joint.name, joint_summary(joint)), keys[joint.child]
            edges.append(
                f'  {key} -> {child} [label="{text}"];' if dot else f'  {key} -->|"{text}"| {child}'
            )
    if not dot:
        return "\n".join(["flowchart TD", *nodes, *edges])
    head = (
        f'digraph "{_dot_text(one_line(inspection.robot.name, _LONGEST_LABEL))}" {{',
        '  node [shape=box, fontname="sans-serif"];',
        '  edge [fontname="sans-serif", fontsize=10];',
    )
    return "\n".join([*head, *nodes, *edges, "}"])


def _dot_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
