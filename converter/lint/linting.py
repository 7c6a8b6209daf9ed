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
# Attributes of all versions are parsed.
_ANY_VERSION = (99, 0)

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
_QUATERNION_SLACK = 1e-3
# Larger distances between connected frames are implausible [m].
_FAR = 25.0
_RIGHT_ANGLE = math.pi / 2.0
# Errors of rounded right angles, such as 1.57 and 3.14 [rad].
_RIGHT, _ROUNDED = 1e-5, 2e-3
# /home/me/a.stl, file:///home/me/a.stl, C:\\a.stl, file:///C:/a.stl, \\\\server\\a.stl
_ABSOLUTE = re.compile(
    r"(?:file:(?:///|/(?!/)|//localhost/|/*[a-z]:[\\/])|/|[a-z]:[\\/]|\\\\).*",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Elements that refer to joints by <joint name="">.
_DRIVES = frozenset({"transmission", "ros2_control"})


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
        return LintReport(_in_order([*findings, *error.diagnostics]), is_urdf=False)
    try:
        parsed = robot_of(markup, file, packages=packages)
        findings += (*parsed.diagnostics, *robot_issues(parsed.robot))
    except SourceError as error:
        findings += error.diagnostics
    return _with_text(findings, markup, file)


def lint_parsed(parsed: Parsed, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Check a file that was already parsed; it is named in findings as given."""
    of_robot = [*parsed.diagnostics, *robot_issues(parsed.robot)]
    return _with_text(of_robot, parsed.markup, os.fspath(path)).findings


def _with_text(findings: list[Diagnostic], markup: Markup, file: str) -> LintReport:
    """Add what is wrong with the elements, and what ROS says."""
    document = document_of(markup, file)
    if document:
        findings += _document_issues(document)
    ros = read_in_ros(file, markup.expansion.text if markup.expansion else None)
    if ros and (ros.errors or not ros.loads):
        message = truncate("; ".join(ros.errors), _LONGEST_ERRORS) or "without a message"
        rule = "ros-incomplete" if ros.loads else "ros-refused"
        findings.append(Diagnostic(rule, f"urdfdom: {message}", Location(file, 1, 1)))
    return LintReport(_in_order(findings), document is not None, ros)


def _in_order(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(findings, key=by_location))


class UrdfDocument(Struct, frozen=True):
    """The elements of a URDF file, which need not be a valid robot."""

    file: str
    root: Element  # all elements, as written
    robot: Node  # the elements of the language, with typed values
    expanded: bool = False  # whether they are the result of a xacro expansion

    @property
    def links(self) -> tuple[Node, ...]:
        return self.robot.all(g.LINK)

    @property
    def joints(self) -> tuple[Node, ...]:
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


def has_unnormalised_axis(joint: Node) -> bool:
    """Return whether the length of a joint's axis is neither 0 nor 1."""
    axis = joint.first(g.AXIS)
    if axis is None or type_of(joint) not in _DIRECTED:
        return False
    length = math.hypot(*axis[g.AXIS_XYZ])
    return length > 0.0 and abs(length - 1.0) > _AXIS_SLACK


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


def file_nodes(document: UrdfDocument) -> Iterator[Node]:
    """Yield the elements with file references."""
    for element_type in (g.MESH, g.TEXTURE):
        for node in document.robot.descendants(element_type):
            if node[g.FILENAME]:
                yield node


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


def _document_issues(document: UrdfDocument) -> Issues:
    """Return what is probably wrong with the elements."""
    found = Issues()
    for link in document.links:
        inertial = link.first(g.INERTIAL)
        mass = inertial.first(g.MASS) if inertial else None
        inertia = inertial.first(g.INERTIA) if inertial else None
        is_zero = inertia and not any(inertia[moment] for moment in g.INERTIA.attributes)
        if mass and inertia and is_zero and mass[g.MASS_VALUE] >= NEGLIGIBLE:
            what = f"link {link[g.NAME]!r} has {mass[g.MASS_VALUE]:g} kg and zero inertia"
            found.add("inertia-zero", inertia, what)
    for joint in document.joints:
        _add_joint_issues(found, joint)
    _add_origin_issues(found, document)
    _add_path_issues(found, document)
    for material in unused_materials(document):
        what = f"material {material[g.OPTIONAL_NAME]!r} is used by no visual"
        found.add("material-unused", material, what)
    for color in document.robot.descendants(g.COLOR):
        rgba = color[g.RGBA]
        if rgba and rgba[3] == 0.0:
            numbers = " ".join(f"{component:g}" for component in rgba)
            found.add("color-invisible", color, f"rgba {numbers} is fully transparent")
    _add_name_issues(found, document)
    _add_reference_issues(found, document)
    return found


def _add_joint_issues(found: Issues, joint: Node) -> None:
    subject, kind = f"joint {joint[g.NAME]!r}", type_of(joint)
    axis, limit = joint.first(g.AXIS), joint.first(g.LIMIT)
    if kind in _DIRECTED and axis is None:
        found.add("joint-axis-implicit", joint, f"{subject} is {kind} and has no <axis>")
    if axis and has_unnormalised_axis(joint):
        length = math.hypot(*axis[g.AXIS_XYZ])
        what = f"the axis of {subject} has length {length:.4g}"
        found.add("joint-axis-unnormalised", axis, what)
    if limit:
        _add_limit_issues(found, joint, limit)
    safety = joint.first(g.SAFETY_CONTROLLER)
    if safety and g.K_VELOCITY.name not in safety.written:
        # Required by urdfdom.
        what = f"the safety controller of {subject} has no k_velocity"
        found.add("safety-incomplete", safety, what)
    mimic = joint.first(g.MIMIC)
    if mimic and mimic[g.MULTIPLIER] == 0.0:
        what = f"{subject} follows {mimic[g.LEADER]!r} times zero"
        found.add("mimic-multiplier-zero", mimic, what)


def _add_limit_issues(found: Issues, joint: Node, limit: Node) -> None:
    subject, kind = f"joint {joint[g.NAME]!r}", type_of(joint)
    absent = [a.name for a in (g.EFFORT, g.VELOCITY) if a.name not in limit.written]
    if absent:
        # Required by urdfdom up to URDF 1.1.
        what = f"the limit of {subject} has no {' and no '.join(absent)}"
        found.add("joint-limit-unrated", limit, what)
    for attribute, types in ((g.EFFORT, _RANGED), (g.VELOCITY, _DRIVEN)):
        if kind in types and limit[attribute] == 0.0 and not joint.first(g.MIMIC):
            name = attribute.name
            found.add(f"joint-{name}-zero", limit, f"{subject} has {name} 0")
    if kind not in _RANGED or not {g.LOWER.name, g.UPPER.name} <= limit.written:
        return
    lower, upper = limit[g.LOWER], limit[g.UPPER]
    if lower == upper:
        found.add("joint-range-empty", limit, f"{subject} has lower and upper {lower:g}")
    if 0.0 < lower < upper or lower < upper < 0.0:
        what = f"{subject} has a range from {lower:g} to {upper:g}"
        found.add("joint-zero-outside", limit, what)
    if kind == "revolute":
        bounds = [abs(bound) for bound in (lower, upper) if bound]
        largest = max(filter(math.isfinite, bounds), default=0.0)
        # Such as 90 or -170.
        if bounds and all(bound in _DEGREES and bound % _ROUND for bound in bounds):
            what = f"{subject} may turn from {lower:g} to {upper:g} rad"
            found.add("joint-limit-degrees", limit, what)
        elif largest > _FULL_TURN + _TURN_SLACK:
            what = f"{subject} may turn {largest / _FULL_TURN:.3g} times around"
            found.add("joint-limit-turns", limit, what)
    safety = joint.first(g.SAFETY_CONTROLLER)
    for attribute in (g.SOFT_LOWER_LIMIT, g.SOFT_UPPER_LIMIT):
        soft = safety[attribute] if safety and lower < upper else None
        if not safety or soft is None or lower - _SOFT_SLACK <= soft <= upper + _SOFT_SLACK:
            continue
        allowed = f"a range from {lower:g} to {upper:g}"
        found.add(
            "safety-outside", safety, f"{subject} has {attribute.name} {soft:g} and {allowed}"
        )


def _add_origin_issues(found: Issues, document: UrdfDocument) -> None:
    rounded: dict[float, list[Node]] = {}
    for owner, origin in origins(document):
        xyz, rpy = origin[g.XYZ], origin[g.RPY]
        distance = math.hypot(*xyz)
        if distance > _FAR:
            # Probably in millimetres.
            what = f"the origin of {owner} is {distance:.4g} m away"
            found.add("origin-far", origin, what)
        largest = max(rpy, key=abs)
        if abs(largest) > _FULL_TURN + _TURN_SLACK:
            # Probably in degrees.
            what = f"the origin of {owner} is turned by {largest:g} rad"
            found.add("rotation-turns", origin, what)
        if has_unnormalised_quaternion(origin):
            length = math.hypot(*(origin[g.QUAT_XYZW] or ()))
            what = f"the quaternion of {owner} has length {length:.4g}"
            found.add("quaternion-unnormalised", origin, what)
        for angle in rpy:
            if round(angle / _RIGHT_ANGLE) and _RIGHT < _off_right_angle(angle) < _ROUNDED:
                rounded.setdefault(abs(angle), []).append(origin)
    for angle, places in rounded.items():
        off = f"{math.degrees(_off_right_angle(angle)):.2g} deg off a right angle"
        what = f"rpy has {angle:g}, which is {off} ({times(len(places))})"
        found.add("rotation-rounded", places[0], what)


def _off_right_angle(angle: float) -> float:
    return abs(angle - round(angle / _RIGHT_ANGLE) * _RIGHT_ANGLE)


def _add_path_issues(found: Issues, document: UrdfDocument) -> None:
    files: dict[str, list[Node]] = {}
    for node in file_nodes(document):
        files.setdefault(node[g.FILENAME], []).append(node)
    for uri, nodes in files.items():
        subject = f"path {truncate(repr(uri))}"
        often = f" (used {times(len(nodes))})" if nodes[1:] else ""
        path = uri.strip()
        # In xacro, $(find NAME) expands to an absolute path; existing files are ignored.
        exists = document.expanded and Path(f"/{path.removeprefix('file:').lstrip('/')}").exists()
        if _ABSOLUTE.fullmatch(path) and not exists:
            found.add("path-absolute", nodes[0], f"{subject} is absolute{often}")
        if "\\" in uri:
            found.add("path-backslash", nodes[0], f"{subject} has backslashes{often}")


def _add_name_issues(found: Issues, document: UrdfDocument) -> None:
    links = {link[g.NAME] for link in document.links}
    for node in (*document.links, *document.joints):
        name = node[g.NAME]
        if name and not _IDENTIFIER.fullmatch(name):
            what = f"the name of {node.type.tag} {name!r} is not an identifier"
            found.add("name-not-portable", node, what)
        if name in links and name and node.type is g.JOINT:
            found.add("name-of-link-and-joint", node, f"a link and a joint are called {name!r}")
    first: dict[str, Node] = {}
    children = {child[g.LINK_NAME] for joint in document.joints if (child := joint.first(g.CHILD))}
    for link in document.links:
        for shape in link.all(g.COLLISION):
            label = shape[g.OPTIONAL_NAME]
            if label and first.setdefault(label, shape) is not shape:
                line = first[label].location.line
                what = f"collision shape {label!r} is also at line {line}"
                found.add("name-repeated-shape", shape, what)
        if link[g.NAME] == WORLD_LINK and (link.children or WORLD_LINK in children):
            what = "is behind a joint" if WORLD_LINK in children else "has mass or shape"
            found.add("name-world", link, f"link {WORLD_LINK!r} {what}")


def _add_reference_issues(found: Issues, document: UrdfDocument) -> None:
    """Add references of extension elements to undefined links and joints."""
    joints = {joint[g.NAME] for joint in document.joints}
    names = joints | {link[g.NAME] for link in document.links}
    for element in document.root.children:
        if element.tag == "gazebo":
            name = element.get("reference")
            if name and name not in names:
                what = f"<gazebo> refers to {name!r}, which does not exist"
                found.add("reference-undefined", element, what)
        elif element.tag in _DRIVES:
            for joint in element.children:
                name = joint.get("name")
                if joint.tag == "joint" and name and name not in joints:
                    what = f"<{element.tag}> drives joint {name!r}, which does not exist"
                    found.add("reference-undefined", joint, what)
