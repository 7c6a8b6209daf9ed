"""A robot as a tree of lines, and its parts in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, assert_never

from rich.text import Text

from urdf_usd.converter.inspection import Inspection, Totals, kind_name
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
    Sphere,
    Vec3,
    Visual,
)
from urdf_usd.converter.robot.spatial import rotation_from_quat_wxyz, rpy_from_rotation
from urdf_usd.reports.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from urdf_usd.converter.extents import Bounds, MeshExtent


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
    # Prefix of the first line of a link, and of its further lines.
    guides = {tree.root: ("", "")}
    depths = {tree.root: 0}
    for name in tree.links:
        first, rest = guides[name]
        joints = tree.child_joints[name]
        own = "│ " if joints else "  "
        lines = list(_link_lines(inspection, tree.link[name], depths[name]))
        for number_, line in enumerate(lines):
            lead = first if number_ == 0 else rest + own
            available = max(_NARROWEST, width - len(lead))
            for part, wrapped in enumerate(line.wrap(console, available)):
                yield Text.assemble((rest + own if part else lead, "dim"), wrapped)
        for joint in joints:
            is_last = joint is joints[-1]
            depths[joint.child] = depths[name] + 1
            guides[joint.child] = (
                (rest + ("└─" if is_last else "├─"), rest + ("  " if is_last else "│ "))
                if depths[joint.child] <= _DEEPEST
                else guides[name]
            )
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
        what = shape_summary(shape.geometry, inspection.meshes.by_path)
        place = "".join(f", {one}" for one in placement(shape.origin))
        line = Text.assemble((role, "green"), f" {_shown(what + place)}")
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
    kinds = ", ".join(f"{count} {kind}" for kind, count in totals.joints.items())
    freedom = str(totals.degrees_of_freedom)
    if totals.independent != totals.degrees_of_freedom:
        freedom += f", {totals.independent} of them independent"
    meshes = f"{totals.meshes} files, {totals.triangles} triangles"
    rows = (
        ("links", str(totals.links)),
        ("joints", f"{sum(totals.joints.values())}{f' ({kinds})' if kinds else ''}"),
        ("degrees of freedom", freedom),
        ("mass", f"{number(totals.mass)} kg"),
        ("shapes", f"{totals.visuals} visual, {totals.collisions} collision"),
        ("meshes", meshes if totals.meshes else "none"),
        ("bounds (zero pose)", _bounds(totals.bounds)),
    )
    width = max(len(title) for title, _ in rows)
    for title, value in rows:
        yield Text.assemble((f"{title:{width}}", "bold"), f"  {value}")


def _bounds(bounds: Bounds | None) -> str:
    if bounds is None:
        return "no shapes"
    edges = " x ".join(map(number, bounds.size))
    corners = (", ".join(map(number, end)) for end in (bounds.lower, bounds.upper))
    return f"{edges} m, from ({') to ('.join(corners)})"


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
        for name in ("damping", "friction"):
            value = getattr(joint.dynamics, name)
            if value:
                details.append(f"{name} {number(value)}")
    if joint.mimic:
        mimic = joint.mimic
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
            scaled = "" if scale == (1.0, 1.0, 1.0) else f" x {_scale(scale)}"
            name = PurePosixPath(uri.replace("\\", "/")).name
            return f"mesh {name}{scaled} ({_content(path, meshes)})"
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


def _scale(scale: Vec3) -> str:
    return number(scale[0]) if len(set(scale)) == 1 else vector(scale)


def _content(path: str | None, meshes: Mapping[str, MeshExtent]) -> str:
    if path is None:
        return "not found"
    if path not in meshes:
        return "not readable"
    return f"{meshes[path].triangles} triangles"
