"""Rules of lint about the elements of a URDF file, which need not be a valid robot."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.converter.diagnostics import Location
from urdf_usd.converter.diagnostics.messages import times, truncate
from urdf_usd.converter.lint.robot_rules import NEGLIGIBLE
from urdf_usd.converter.robot.model import WORLD_LINK
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.grammar import Node, read
from urdf_usd.converter.urdf.parse import Markup
from urdf_usd.converter.urdf.xml import Element

# Attributes of all versions are parsed.
_ANY_VERSION = (99, 0)


class UrdfDocument(Struct, frozen=True):
    """The elements of a URDF file, which need not be a valid robot."""

    file: str
    # All elements, as written.
    root: Element
    # The elements of the language, with typed values.
    robot: Node
    # Whether they are the result of a xacro expansion.
    expanded: bool = False

    @property
    def links(self) -> tuple[Node, ...]:
        """All links, in document order."""
        return self.robot.all(g.LINK)

    @property
    def joints(self) -> tuple[Node, ...]:
        """All joints, in document order."""
        return self.robot.all(g.JOINT)


def document_of(markup: Markup, file: str) -> UrdfDocument | None:
    """Parse the elements of a robot; None if they are not a robot."""
    root = markup.root
    if root.tag != g.ROBOT.tag:
        return None
    robot = read(root, g.ROBOT, _ANY_VERSION, [])
    return UrdfDocument(file, root, robot, markup.expansion is not None)


def type_of(joint: Node) -> str:
    """Return a joint's type in the spelling of URDF."""
    return joint[g.TYPE].strip().lower()


# A rule yields a message and a location for each mistake.
Breaches: TypeAlias = Iterator[tuple[str, Location | None]]

# ---- Limits of joints

_FULL_TURN = 2.0 * math.pi
# 6.2832 and 6.3 are full turns that were rounded.
_TURN_SLACK = 0.02
_ROTATING = frozenset({"revolute"})
_RANGED = _ROTATING | {"prismatic"}
_DRIVEN = _RANGED | {"continuous"}
# Limits that are common in degrees and implausible in radians.
_DEGREES = range(30, 361, 5)
# Multiples of this usually mean "unlimited".
_ROUND = 100
_SOFT_SLACK = 1e-6


def _zero_inertia(document: UrdfDocument) -> Breaches:
    for link in document.links:
        inertial = link.first(g.INERTIAL)
        mass = inertial.first(g.MASS) if inertial else None
        inertia = inertial.first(g.INERTIA) if inertial else None
        if not (mass and inertia and mass[g.MASS_VALUE] >= NEGLIGIBLE):
            continue
        if not any(inertia[attribute] for attribute in g.INERTIA.attributes):
            kilograms = f"{mass[g.MASS_VALUE]:g} kg"
            yield f"link {link[g.NAME]!r} has {kilograms} and zero inertia", inertia.location


def _without_rating(document: UrdfDocument) -> Breaches:
    """Limits without effort or velocity, which urdfdom requires up to URDF 1.1."""
    for joint, limit in _limits(document):
        absent = [a.name for a in (g.EFFORT, g.VELOCITY) if a.name not in limit.written]
        if absent:
            message = f"the limit of {_describe(joint)} has no {' and no '.join(absent)}"
            yield message, limit.location


def _zero_rating(
    document: UrdfDocument, attribute: g.AttributeType[float | None], types: frozenset[str]
) -> Breaches:
    for joint, limit in _limits(document, types):
        if limit[attribute] == 0.0 and not joint.first(g.MIMIC):
            yield f"{_describe(joint)} has {attribute.name} 0", limit.location


def _empty_range(document: UrdfDocument) -> Breaches:
    for joint, limit in _bounded(document, _RANGED):
        if limit[g.LOWER] == limit[g.UPPER]:
            message = f"{_describe(joint)} has lower and upper {limit[g.LOWER]:g}"
            yield message, limit.location


def _zero_outside(document: UrdfDocument) -> Breaches:
    for joint, limit in _bounded(document, _RANGED):
        lower, upper = limit[g.LOWER], limit[g.UPPER]
        if 0.0 < lower < upper or lower < upper < 0.0:
            message = f"{_describe(joint)} has a range from {lower:g} to {upper:g}"
            yield message, limit.location


def _limits_in_degrees(document: UrdfDocument) -> Breaches:
    """Limits such as 90 or -170."""
    for joint, limit in _bounded(document, _ROTATING):
        if _in_degrees(limit):
            lower, upper = limit[g.LOWER], limit[g.UPPER]
            message = f"{_describe(joint)} may turn from {lower:g} to {upper:g} rad"
            yield message, limit.location


def _several_turns(document: UrdfDocument) -> Breaches:
    for joint, limit in _bounded(document, _ROTATING):
        bounds = [b for b in (limit[g.LOWER], limit[g.UPPER]) if math.isfinite(b)]
        largest = max(map(abs, bounds), default=0.0)
        if largest > _FULL_TURN + _TURN_SLACK and not _in_degrees(limit):
            turns = largest / _FULL_TURN
            yield f"{_describe(joint)} may turn {turns:.3g} times around", limit.location


def _incomplete_safety(document: UrdfDocument) -> Breaches:
    """Safety controllers without k_velocity, which urdfdom requires."""
    for joint in document.joints:
        safety = joint.first(g.SAFETY_CONTROLLER)
        if safety and g.K_VELOCITY.name not in safety.written:
            message = f"the safety controller of {_describe(joint)} has no k_velocity"
            yield message, safety.location


def _soft_limit_outside(document: UrdfDocument) -> Breaches:
    for joint, limit in _bounded(document, _RANGED):
        safety = joint.first(g.SAFETY_CONTROLLER)
        lower, upper = limit[g.LOWER], limit[g.UPPER]
        if safety is None or lower >= upper:
            continue
        for attribute in (g.SOFT_LOWER_LIMIT, g.SOFT_UPPER_LIMIT):
            soft = safety[attribute]
            if soft is not None and not lower - _SOFT_SLACK <= soft <= upper + _SOFT_SLACK:
                message = (
                    f"{_describe(joint)} has {attribute.name} {soft:g} "
                    f"and a range from {lower:g} to {upper:g}"
                )
                yield message, safety.location


def _limits(
    document: UrdfDocument, types: frozenset[str] | None = None
) -> Iterator[tuple[Node, Node]]:
    for joint in document.joints:
        limit = joint.first(g.LIMIT)
        if limit and (types is None or type_of(joint) in types):
            yield joint, limit


def _bounded(document: UrdfDocument, types: frozenset[str]) -> Iterator[tuple[Node, Node]]:
    """Yield joints of some types that have both limits."""
    for joint, limit in _limits(document, types):
        if {g.LOWER.name, g.UPPER.name} <= limit.written:
            yield joint, limit


def _in_degrees(limit: Node) -> bool:
    bounds = [abs(bound) for bound in (limit[g.LOWER], limit[g.UPPER]) if bound]
    return bool(bounds) and all(bound in _DEGREES and bound % _ROUND for bound in bounds)


def _describe(joint: Node) -> str:
    return f"joint {joint[g.NAME]!r}"


# ---- Axes, couplings and origins

_DIRECTED = frozenset({"revolute", "continuous", "prismatic", "planar"})
# Tolerance for rounded unit vectors, such as 0.58 0.58 0.58.
_AXIS_SLACK = 0.01
_QUATERNION_SLACK = 1e-3
# Larger distances between connected frames are implausible [m].
_FAR = 25.0
_RIGHT_ANGLE = math.pi / 2.0
# Errors of rounded right angles, such as 1.57 and 3.14 [rad].
_RIGHT, _ROUNDED = 1e-5, 2e-3


def _axis_not_normalised(document: UrdfDocument) -> Breaches:
    for axis, joint in unnormalised_axes(document):
        axis_xyz = axis[g.AXIS_XYZ]
        length = math.hypot(*axis_xyz)
        yield f"the axis of {_describe(joint)} has length {length:.4g}", axis.location


def unnormalised_axes(document: UrdfDocument) -> Iterator[tuple[Node, Node]]:
    """Yield axes whose length is neither 0 nor 1, with their joints."""
    for joint in document.joints:
        axis = joint.first(g.AXIS)
        if axis and type_of(joint) in _DIRECTED:
            axis_xyz = axis[g.AXIS_XYZ]
            length = math.hypot(*axis_xyz)
            if length > 0.0 and abs(length - 1.0) > _AXIS_SLACK:
                yield axis, joint


def _axis_implicit(document: UrdfDocument) -> Breaches:
    for joint in document.joints:
        if type_of(joint) in _DIRECTED and joint.first(g.AXIS) is None:
            yield f"{_describe(joint)} is {type_of(joint)} and has no <axis>", joint.location


def _zero_multiplier(document: UrdfDocument) -> Breaches:
    for joint in document.joints:
        mimic = joint.first(g.MIMIC)
        if mimic and mimic[g.MULTIPLIER] == 0.0:
            yield f"{_describe(joint)} follows {mimic[g.LEADER]!r} times zero", mimic.location


def _far_origin(document: UrdfDocument) -> Breaches:
    """Origins at implausible distances, probably in millimetres."""
    for owner, origin in _origins(document):
        distance = math.hypot(*origin[g.XYZ])
        if distance > _FAR:
            yield f"the origin of {owner} is {distance:.4g} m away", origin.location


def _more_than_a_turn(document: UrdfDocument) -> Breaches:
    """Angles of more than a full turn, probably in degrees."""
    for owner, origin in _origins(document):
        rpy = origin[g.RPY]
        largest = max(rpy, key=abs)
        if abs(largest) > _FULL_TURN + _TURN_SLACK:
            yield f"the origin of {owner} is turned by {largest:g} rad", origin.location


def _rounded_right_angle(document: UrdfDocument) -> Breaches:
    """Rounded right angles, each value once."""
    places: dict[float, list[Location]] = {}
    for _, origin in _origins(document):
        for angle in origin[g.RPY]:
            turns = round(angle / _RIGHT_ANGLE)
            if turns and _RIGHT < abs(angle - turns * _RIGHT_ANGLE) < _ROUNDED:
                places.setdefault(abs(angle), []).append(origin.location)
    for angle, locations in places.items():
        error = abs(angle - round(angle / _RIGHT_ANGLE) * _RIGHT_ANGLE)
        message = (
            f"rpy has {angle:g}, which is {math.degrees(error):.2g} deg off "
            f"a right angle ({times(len(locations))})"
        )
        yield message, locations[0]


def _quaternion_not_normalised(document: UrdfDocument) -> Breaches:
    for owner, origin, length in unnormalised_quaternions(document):
        yield f"the quaternion of {owner} has length {length:.4g}", origin.location


def unnormalised_quaternions(document: UrdfDocument) -> Iterator[tuple[str, Node, float]]:
    """Yield owner, node and length of quaternions whose length is neither 0 nor 1."""
    for owner, origin in _origins(document):
        length = math.hypot(*(origin[g.QUAT_XYZW] or ()))
        if length > 0.0 and abs(length - 1.0) > _QUATERNION_SLACK:
            yield owner, origin, length


def _origins(document: UrdfDocument) -> Iterator[tuple[str, Node]]:
    """Yield all origins with a description of their owners."""
    for link in document.links:
        for part in (g.INERTIAL, g.VISUAL, g.COLLISION):
            for node in link.all(part):
                if origin := node.first(g.ORIGIN):
                    yield f"the {part.tag} of link {link[g.NAME]!r}", origin
    for joint in document.joints:
        if origin := joint.first(g.ORIGIN):
            yield _describe(joint), origin


# ---- Mesh files, paths and materials

# /home/me/a.stl, file:///home/me/a.stl, C:\\a.stl, file:///C:/a.stl, \\\\server\\a.stl
_ABSOLUTE = re.compile(
    r"(?:file:(?:///|/(?!/)|//localhost/|/*[a-z]:[\\/])|/|[a-z]:[\\/]|\\\\).*",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)


def _absolute_path(document: UrdfDocument) -> Breaches:
    """Absolute paths, each once.

    In xacro, ``$(find NAME)`` expands to an absolute path; existing files are ignored.
    """
    for uri, nodes in _files(document).items():
        path = uri.strip()
        exists = document.expanded and Path(f"/{path.removeprefix('file:').lstrip('/')}").exists()
        if _ABSOLUTE.fullmatch(path) and not exists:
            yield _about_path(uri, nodes, "is absolute")


def _backslash(document: UrdfDocument) -> Breaches:
    for uri, nodes in _files(document).items():
        if "\\" in uri:
            yield _about_path(uri, nodes, "has backslashes")


def _files(document: UrdfDocument) -> dict[str, list[Node]]:
    files: dict[str, list[Node]] = {}
    for node in file_nodes(document):
        files.setdefault(node[g.FILENAME], []).append(node)
    return files


def file_nodes(document: UrdfDocument) -> Iterator[Node]:
    """Yield the elements with file references."""
    for element_type in (g.MESH, g.TEXTURE):
        for node in document.robot.descendants(element_type):
            if node[g.FILENAME]:
                yield node


def _about_path(uri: str, nodes: list[Node], what: str) -> tuple[str, Location]:
    often = f" (used {times(len(nodes))})" if nodes[1:] else ""
    return f"path {truncate(repr(uri))} {what}{often}", nodes[0].location


def _unused_material(document: UrdfDocument) -> Breaches:
    for material in unused_materials(document):
        name = material[g.OPTIONAL_NAME]
        yield f"material {name!r} is used by no visual", material.location


def unused_materials(document: UrdfDocument) -> Iterator[Node]:
    """Yield the materials of the robot that no visual uses."""
    used = {
        material[g.OPTIONAL_NAME]
        for link in document.links
        for material in link.descendants(g.MATERIAL)
    }
    for material in document.robot.all(g.MATERIAL):
        if material[g.OPTIONAL_NAME] not in used:
            yield material


def _invisible_color(document: UrdfDocument) -> Breaches:
    for color in document.robot.descendants(g.COLOR):
        rgba = color[g.RGBA]
        if rgba and rgba[3] == 0.0:
            numbers = " ".join(f"{component:g}" for component in rgba)
            yield f"rgba {numbers} is fully transparent", color.location


# ---- Names

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Elements that refer to joints by <joint name="">.
_DRIVES = frozenset({"transmission", "ros2_control"})


def _not_portable(document: UrdfDocument) -> Breaches:
    for node in document.robot.children:
        name = node[g.NAME] if node.type in (g.LINK, g.JOINT) else ""
        if name and not _IDENTIFIER.fullmatch(name):
            yield f"the name of {node.type.tag} {name!r} is not an identifier", node.location


def _link_and_joint(document: UrdfDocument) -> Breaches:
    links = {link[g.NAME] for link in document.links}
    for joint in document.joints:
        name = joint[g.NAME]
        if name and name in links:
            yield f"a link and a joint are called {name!r}", joint.location


def _repeated_shape(document: UrdfDocument) -> Breaches:
    """Collision shapes with the name of an earlier one, of any link."""
    first: dict[str, Node] = {}
    for link in document.links:
        for shape in link.all(g.COLLISION):
            name = shape[g.OPTIONAL_NAME]
            if name and first.setdefault(name, shape) is not shape:
                line = first[name].location.line
                yield f"collision shape {name!r} is also at line {line}", shape.location


def _part_named_world(document: UrdfDocument) -> Breaches:
    children = {child[g.LINK_NAME] for joint in document.joints if (child := joint.first(g.CHILD))}
    for link in document.links:
        if link[g.NAME] == WORLD_LINK and (link.children or WORLD_LINK in children):
            what = "is behind a joint" if WORLD_LINK in children else "has mass or shape"
            yield f"link {WORLD_LINK!r} {what}", link.location


def _undefined_reference(document: UrdfDocument) -> Breaches:
    """References of extension elements to undefined links and joints."""
    joints = {joint[g.NAME] for joint in document.joints}
    names = joints | {link[g.NAME] for link in document.links}
    for element in document.root.children:
        if element.tag == "gazebo":
            reference = element.get("reference")
            if reference and reference not in names:
                message = f"<gazebo> refers to {reference!r}, which does not exist"
                yield message, element.location
        elif element.tag in _DRIVES:
            for joint in element.children:
                name = joint.get("name")
                if joint.tag == "joint" and name and name not in joints:
                    message = f"<{element.tag}> drives joint {name!r}, which does not exist"
                    yield message, joint.location


# Checks of the elements, also if the robot is invalid.
DOCUMENT_CHECKS: Mapping[str, Callable[[UrdfDocument], Breaches]] = {
    "inertia-zero": _zero_inertia,
    "joint-axis-unnormalised": _axis_not_normalised,
    "joint-axis-implicit": _axis_implicit,
    "joint-limit-unrated": _without_rating,
    "joint-effort-zero": partial(_zero_rating, attribute=g.EFFORT, types=_RANGED),
    "joint-velocity-zero": partial(_zero_rating, attribute=g.VELOCITY, types=_DRIVEN),
    "joint-range-empty": _empty_range,
    "joint-zero-outside": _zero_outside,
    "joint-limit-degrees": _limits_in_degrees,
    "joint-limit-turns": _several_turns,
    "safety-incomplete": _incomplete_safety,
    "safety-outside": _soft_limit_outside,
    "mimic-multiplier-zero": _zero_multiplier,
    "origin-far": _far_origin,
    "rotation-turns": _more_than_a_turn,
    "rotation-rounded": _rounded_right_angle,
    "quaternion-unnormalised": _quaternion_not_normalised,
    "path-absolute": _absolute_path,
    "path-backslash": _backslash,
    "material-unused": _unused_material,
    "color-invisible": _invisible_color,
    "name-not-portable": _not_portable,
    "name-of-link-and-joint": _link_and_joint,
    "name-repeated-shape": _repeated_shape,
    "name-world": _part_named_world,
    "reference-undefined": _undefined_reference,
}
