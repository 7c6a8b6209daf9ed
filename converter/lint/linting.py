"""Lint of a URDF file: diagnostics of the parser, and rules about probable mistakes.

Rules about the elements are here; the robot need not be valid for them.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from urdf_usd.converter.diagnostics import Diagnostic, Location, SourceError, by_location
from urdf_usd.converter.diagnostics.messages import times, truncate
from urdf_usd.converter.lint.robot_rules import NEGLIGIBLE, Issues, robot_issues
from urdf_usd.converter.lint.ros import RosReading, read_in_ros
from urdf_usd.converter.robot.model import WORLD_LINK
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.grammar import Node, read
from urdf_usd.converter.urdf.parse import Markup, Parsed, read_markup, robot_of
from urdf_usd.converter.urdf.xml import Element

# Characters of the messages of urdfdom.
_LONGEST_ERRORS = 400


class LintReport(Struct, frozen=True):
    """Diagnostics of one file, in document order."""

    findings: tuple[Diagnostic, ...]  # of the parser and of the rules
    is_urdf: bool  # whether the root element is a robot, possibly an invalid one
    ros: RosReading | None = None  # what urdfdom says, if it is installed


def lint(
    path: str | os.PathLike[str],
    *,
    packages: Mapping[str, str] = MappingProxyType({}),
    arguments: Mapping[str, str] = MappingProxyType({}),
    environment: Collection[str] = (),
) -> LintReport:
    """Check a URDF file, or the expansion of a xacro file.

    Args:
        path: The file, named in findings as given.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro's arguments, by name.
        environment: Names of environment variables that xacro may read, besides those
            of ROS.
    """
    file = os.fspath(path)
    findings: list[Diagnostic] = []
    try:
        # Read once, because the expansion of xacro is slow.
        markup = read_markup(file, packages, arguments, environment, findings)
    except SourceError as error:
        findings += error.diagnostics
        return LintReport(_in_order(findings), is_urdf=False)
    try:
        parsed = robot_of(markup, file, packages=packages)
        findings += (*parsed.diagnostics, *robot_issues(parsed.robot))
    except SourceError as error:
        findings += error.diagnostics
    document = document_of(markup, file)
    if document:
        findings += _document_issues(document)
    ros = _reading_in_ros(markup, file)
    return LintReport(_in_order([*findings, *_ros_findings(ros, file)]), document is not None, ros)


def lint_parsed(parsed: Parsed, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Check a file that was already parsed.

    Args:
        parsed: The parsed file.
        path: The file, named in findings as given.
    """
    document = document_of(parsed.markup, os.fspath(path))
    of_document = _document_issues(document) if document else ()
    of_ros = _ros_findings(_reading_in_ros(parsed.markup, os.fspath(path)), os.fspath(path))
    found = (*parsed.diagnostics, *robot_issues(parsed.robot))
    return _in_order([*found, *of_document, *of_ros])


def _reading_in_ros(markup: Markup, file: str) -> RosReading | None:
    return read_in_ros(file, markup.expansion.text if markup.expansion else None)


def _ros_findings(ros: RosReading | None, file: str) -> Iterator[Diagnostic]:
    if ros is None or (ros.loads and not ros.errors):
        return
    message = truncate("; ".join(ros.errors), _LONGEST_ERRORS) or "without a message"
    rule = "ros-incomplete" if ros.loads else "ros-refused"
    yield Diagnostic(rule, f"urdfdom: {message}", Location(file, 1, 1))


def _in_order(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(findings, key=by_location))


# ---- Elements

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


def _document_issues(document: UrdfDocument) -> Issues:
    """Yield what is probably wrong with the elements."""
    for link in document.links:
        yield from _link_issues(link)
    for joint in document.joints:
        yield from _joint_issues(joint)
    yield from _origin_issues(document)
    yield from _path_issues(document)
    for material in unused_materials(document):
        message = f"material {material[g.OPTIONAL_NAME]!r} is used by no visual"
        yield Diagnostic("material-unused", message, material.location)
    for color in document.robot.descendants(g.COLOR):
        rgba = color[g.RGBA]
        if rgba and rgba[3] == 0.0:
            numbers = " ".join(f"{component:g}" for component in rgba)
            yield Diagnostic(
                "color-invisible", f"rgba {numbers} is fully transparent", color.location
            )
    yield from _name_issues(document)
    yield from _reference_issues(document)


def _link_issues(link: Node) -> Issues:
    inertial = link.first(g.INERTIAL)
    mass = inertial.first(g.MASS) if inertial else None
    inertia = inertial.first(g.INERTIA) if inertial else None
    if (
        mass
        and inertia
        and mass[g.MASS_VALUE] >= NEGLIGIBLE
        and not any(inertia[moment] for moment in g.INERTIA.attributes)
    ):
        message = f"link {link[g.NAME]!r} has {mass[g.MASS_VALUE]:g} kg and zero inertia"
        yield Diagnostic("inertia-zero", message, inertia.location)


# ---- Joints

_FULL_TURN = 2.0 * math.pi
# 6.2832 and 6.3 are full turns that were rounded.
_TURN_SLACK = 0.02
_RANGED = frozenset({"revolute", "prismatic"})
_DRIVEN = _RANGED | {"continuous"}
_DIRECTED = _DRIVEN | {"planar"}
# Limits that are common in degrees and implausible in radians.
_DEGREES = range(30, 361, 5)
# Multiples of this usually mean "unlimited".
_ROUND = 100
_SOFT_SLACK = 1e-6
# Tolerance for rounded unit vectors, such as 0.58 0.58 0.58.
_AXIS_SLACK = 0.01


def type_of(joint: Node) -> str:
    """Return a joint's type in the spelling of URDF."""
    return joint[g.TYPE].strip().lower()


def _joint_issues(joint: Node) -> Issues:
    subject, kind = f"joint {joint[g.NAME]!r}", type_of(joint)
    axis, limit = joint.first(g.AXIS), joint.first(g.LIMIT)
    if kind in _DIRECTED and axis is None:
        message = f"{subject} is {kind} and has no <axis>"
        yield Diagnostic("joint-axis-implicit", message, joint.location)
    if axis and has_unnormalised_axis(joint):
        length = math.hypot(*axis[g.AXIS_XYZ])
        message = f"the axis of {subject} has length {length:.4g}"
        yield Diagnostic("joint-axis-unnormalised", message, axis.location)
    if limit:
        yield from _limit_issues(joint, limit)
    safety = joint.first(g.SAFETY_CONTROLLER)
    if safety and g.K_VELOCITY.name not in safety.written:
        # Required by urdfdom.
        message = f"the safety controller of {subject} has no k_velocity"
        yield Diagnostic("safety-incomplete", message, safety.location)
    mimic = joint.first(g.MIMIC)
    if mimic and mimic[g.MULTIPLIER] == 0.0:
        message = f"{subject} follows {mimic[g.LEADER]!r} times zero"
        yield Diagnostic("mimic-multiplier-zero", message, mimic.location)


def has_unnormalised_axis(joint: Node) -> bool:
    """Return whether the length of a joint's axis is neither 0 nor 1."""
    axis = joint.first(g.AXIS)
    if axis is None or type_of(joint) not in _DIRECTED:
        return False
    axis_xyz = axis[g.AXIS_XYZ]
    length = math.hypot(*axis_xyz)
    return length > 0.0 and abs(length - 1.0) > _AXIS_SLACK


def _limit_issues(joint: Node, limit: Node) -> Issues:
    subject, kind, place = f"joint {joint[g.NAME]!r}", type_of(joint), limit.location
    absent = [a.name for a in (g.EFFORT, g.VELOCITY) if a.name not in limit.written]
    if absent:
        # Required by urdfdom up to URDF 1.1.
        message = f"the limit of {subject} has no {' and no '.join(absent)}"
        yield Diagnostic("joint-limit-unrated", message, place)
    for attribute, types in ((g.EFFORT, _RANGED), (g.VELOCITY, _DRIVEN)):
        if kind in types and limit[attribute] == 0.0 and not joint.first(g.MIMIC):
            yield Diagnostic(
                f"joint-{attribute.name}-zero", f"{subject} has {attribute.name} 0", place
            )
    if kind not in _RANGED or not {g.LOWER.name, g.UPPER.name} <= limit.written:
        return
    lower, upper = limit[g.LOWER], limit[g.UPPER]
    if lower == upper:
        yield Diagnostic("joint-range-empty", f"{subject} has lower and upper {lower:g}", place)
    if 0.0 < lower < upper or lower < upper < 0.0:
        message = f"{subject} has a range from {lower:g} to {upper:g}"
        yield Diagnostic("joint-zero-outside", message, place)
    if kind == "revolute":
        bounds = [abs(bound) for bound in (lower, upper) if bound]
        largest = max(filter(math.isfinite, bounds), default=0.0)
        # Such as 90 or -170.
        if bounds and all(bound in _DEGREES and bound % _ROUND for bound in bounds):
            message = f"{subject} may turn from {lower:g} to {upper:g} rad"
            yield Diagnostic("joint-limit-degrees", message, place)
        elif largest > _FULL_TURN + _TURN_SLACK:
            message = f"{subject} may turn {largest / _FULL_TURN:.3g} times around"
            yield Diagnostic("joint-limit-turns", message, place)
    safety = joint.first(g.SAFETY_CONTROLLER)
    if safety and lower < upper:
        for attribute in (g.SOFT_LOWER_LIMIT, g.SOFT_UPPER_LIMIT):
            soft = safety[attribute]
            if soft is not None and not lower - _SOFT_SLACK <= soft <= upper + _SOFT_SLACK:
                message = (
                    f"{subject} has {attribute.name} {soft:g} "
                    f"and a range from {lower:g} to {upper:g}"
                )
                yield Diagnostic("safety-outside", message, safety.location)


# ---- Origins

_QUATERNION_SLACK = 1e-3
# Larger distances between connected frames are implausible [m].
_FAR = 25.0
_RIGHT_ANGLE = math.pi / 2.0
# Errors of rounded right angles, such as 1.57 and 3.14 [rad].
_RIGHT, _ROUNDED = 1e-5, 2e-3


def _origin_issues(document: UrdfDocument) -> Issues:
    rounded: dict[float, list[Location]] = {}
    for owner, origin in origins(document):
        xyz, rpy, place = origin[g.XYZ], origin[g.RPY], origin.location
        distance = math.hypot(*xyz)
        if distance > _FAR:
            # Probably in millimetres.
            yield Diagnostic("origin-far", f"the origin of {owner} is {distance:.4g} m away", place)
        largest = max(rpy, key=abs)
        if abs(largest) > _FULL_TURN + _TURN_SLACK:
            # Probably in degrees.
            yield Diagnostic(
                "rotation-turns", f"the origin of {owner} is turned by {largest:g} rad", place
            )
        if has_unnormalised_quaternion(origin):
            length = math.hypot(*(origin[g.QUAT_XYZW] or ()))
            message = f"the quaternion of {owner} has length {length:.4g}"
            yield Diagnostic("quaternion-unnormalised", message, place)
        for angle in rpy:
            if round(angle / _RIGHT_ANGLE) and _RIGHT < _off_right_angle(angle) < _ROUNDED:
                rounded.setdefault(abs(angle), []).append(place)
    for angle, places in rounded.items():
        message = (
            f"rpy has {angle:g}, which is {math.degrees(_off_right_angle(angle)):.2g} deg off "
            f"a right angle ({times(len(places))})"
        )
        yield Diagnostic("rotation-rounded", message, places[0])


def _off_right_angle(angle: float) -> float:
    return abs(angle - round(angle / _RIGHT_ANGLE) * _RIGHT_ANGLE)


def has_unnormalised_quaternion(origin: Node) -> bool:
    """Return whether the length of a quaternion is neither 0 nor 1."""
    length = math.hypot(*(origin[g.QUAT_XYZW] or ()))
    return length > 0.0 and abs(length - 1.0) > _QUATERNION_SLACK


def origins(document: UrdfDocument) -> Iterator[tuple[str, Node]]:
    """Yield all origins with a description of their owners."""
    for link in document.links:
        for part in (g.INERTIAL, g.VISUAL, g.COLLISION):
            for node in link.all(part):
                if origin := node.first(g.ORIGIN):
                    yield f"the {part.tag} of link {link[g.NAME]!r}", origin
    for joint in document.joints:
        if origin := joint.first(g.ORIGIN):
            yield f"joint {joint[g.NAME]!r}", origin


# ---- Files, materials and names

# /home/me/a.stl, file:///home/me/a.stl, C:\\a.stl, file:///C:/a.stl, \\\\server\\a.stl
_ABSOLUTE = re.compile(
    r"(?:file:(?:///|/(?!/)|//localhost/|/*[a-z]:[\\/])|/|[a-z]:[\\/]|\\\\).*",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Elements that refer to joints by <joint name="">.
_DRIVES = frozenset({"transmission", "ros2_control"})


def file_nodes(document: UrdfDocument) -> Iterator[Node]:
    """Yield the elements with file references."""
    for element_type in (g.MESH, g.TEXTURE):
        for node in document.robot.descendants(element_type):
            if node[g.FILENAME]:
                yield node


def _path_issues(document: UrdfDocument) -> Issues:
    files: dict[str, list[Location]] = {}
    for node in file_nodes(document):
        files.setdefault(node[g.FILENAME], []).append(node.location)
    for uri, places in files.items():
        subject = f"path {truncate(repr(uri))}"
        often = f" (used {times(len(places))})" if places[1:] else ""
        path = uri.strip()
        # In xacro, $(find NAME) expands to an absolute path; existing files are ignored.
        exists = document.expanded and Path(f"/{path.removeprefix('file:').lstrip('/')}").exists()
        if _ABSOLUTE.fullmatch(path) and not exists:
            yield Diagnostic("path-absolute", f"{subject} is absolute{often}", places[0])
        if "\\" in uri:
            yield Diagnostic("path-backslash", f"{subject} has backslashes{often}", places[0])


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


def _name_issues(document: UrdfDocument) -> Issues:
    links = {link[g.NAME] for link in document.links}
    for node in (*document.links, *document.joints):
        name = node[g.NAME]
        if name and not _IDENTIFIER.fullmatch(name):
            message = f"the name of {node.type.tag} {name!r} is not an identifier"
            yield Diagnostic("name-not-portable", message, node.location)
        if name in links and name and node.type is g.JOINT:
            message = f"a link and a joint are called {name!r}"
            yield Diagnostic("name-of-link-and-joint", message, node.location)
    first: dict[str, Node] = {}
    children = {child[g.LINK_NAME] for joint in document.joints if (child := joint.first(g.CHILD))}
    for link in document.links:
        for shape in link.all(g.COLLISION):
            label = shape[g.OPTIONAL_NAME]
            if label and first.setdefault(label, shape) is not shape:
                line = first[label].location.line
                message = f"collision shape {label!r} is also at line {line}"
                yield Diagnostic("name-repeated-shape", message, shape.location)
        if link[g.NAME] == WORLD_LINK and (link.children or WORLD_LINK in children):
            what = "is behind a joint" if WORLD_LINK in children else "has mass or shape"
            yield Diagnostic("name-world", f"link {WORLD_LINK!r} {what}", link.location)


def _reference_issues(document: UrdfDocument) -> Issues:
    """Yield references of extension elements to undefined links and joints."""
    joints = {joint[g.NAME] for joint in document.joints}
    names = joints | {link[g.NAME] for link in document.links}
    for element in document.root.children:
        if element.tag == "gazebo":
            name = element.get("reference")
            if name and name not in names:
                message = f"<gazebo> refers to {name!r}, which does not exist"
                yield Diagnostic("reference-undefined", message, element.location)
        elif element.tag in _DRIVES:
            for joint in element.children:
                name = joint.get("name")
                if joint.tag == "joint" and name and name not in joints:
                    message = f"<{element.tag}> drives joint {name!r}, which does not exist"
                    yield Diagnostic("reference-undefined", message, joint.location)
