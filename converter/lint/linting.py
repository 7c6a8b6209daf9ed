"""Lint of a URDF file: diagnostics of the parser, and rules about probable mistakes.

Rules about the elements come first, for which the robot need not be valid; then those about a
valid robot: mass, inertia, travel and meshes. Bounds of mass and inertia are not exceeded by real
parts of any material.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from urdf_usd.converter import ros
from urdf_usd.converter.diagnostics import (
    Diagnostic,
    Location,
    Notes,
    SourceError,
    by_location,
    times,
    truncate,
)
from urdf_usd.converter.inspection import (
    LinkExtent,
    MeshExtent,
    MeshExtents,
    measure_link,
    measure_meshes,
)
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.bodies import is_negligible, size_at_rest
from urdf_usd.converter.robot.spatial import principal_inertia, rest_poses
from urdf_usd.converter.robot.topology import Tree, build_tree, rigid_groups
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.grammar import Node, read
from urdf_usd.converter.urdf.parse import Markup, Parsed, read_markup, robot_of
from urdf_usd.converter.urdf.xml import Element

# Characters of the messages of urdfdom.
_LONGEST_ERRORS = 400
# Attributes of all versions are parsed.
_ANY_VERSION = (99, 0)

# Limits of the rules [SI units]; docs/lint.md has their reasons.
_FULL_TURN, _TURN_SLACK = 2.0 * math.pi, 0.02
_RANGED = frozenset({"revolute", "prismatic"})
_DRIVEN = _RANGED | {"continuous"}
_DIRECTED = _DRIVEN | {"planar"}
_DEGREES = range(30, 361, 5)
# Multiples of this usually mean "unlimited".
_ROUND = 100
_SOFT_SLACK, _AXIS_SLACK, _QUATERNION_SLACK = 1e-6, 0.01, 1e-3
_FAR = 25.0
_RIGHT_ANGLE = math.pi / 2.0
_RIGHT, _ROUNDED = 1e-5, 2e-3
# /home/me/a.stl, file:///home/me/a.stl, C:\\a.stl, file:///C:/a.stl, \\\\server\\a.stl
_ABSOLUTE = re.compile(
    r"(?:file:(?:///|/(?!/)|//localhost/|/*[a-z]:[\\/])|/|[a-z]:[\\/]|\\\\).*",
    re.ASCII | re.IGNORECASE | re.DOTALL,
)
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Elements that refer to joints by <joint name="">.
_DRIVES = frozenset({"transmission", "ros2_control"})
_NEGLIGIBLE = 1e-6  # SDFormat ignores links with less
_LIGHTEST, _DENSEST = 0.1, 100_000.0
_GYRATION_UNDER_REACH, _GYRATION_OVER_REACH = 0.01, 3.0
_OUTSIDE, _TINY_LENGTH = 1.0, 0.01
_ZERO_MOMENT, _TRIANGLE_SLACK = 1e-9, 1e-4
_TRAVEL = 100.0
_RANGE_SLACK = 0.01
_THOUSAND = 1000.0
_TOO_LARGE, _LARGEST_PART = 30.0, 3.0
_TOO_SMALL = 1e-3
_HEAVY = 20_000
# MuJoCo: "number of faces should be between 1 and 200000 in STL file".
_MOST_STL_FACES = 200_000


class LintReport(Struct, frozen=True):
    """Diagnostics of one file, in document order."""

    findings: tuple[Diagnostic, ...]  # of the parser and of the rules
    is_urdf: bool  # whether the root element is a robot, possibly an invalid one
    ros: ros.RosReading | None = None  # what urdfdom says, if it is installed


def lint(
    path: str | os.PathLike[str],
    *,
    packages: Mapping[str, str] = MappingProxyType({}),
    arguments: Mapping[str, str] = MappingProxyType({}),
    environment: Collection[str] = (),
) -> LintReport:
    """Check a URDF file, or the expansion of a xacro file."""
    file = os.fspath(path)
    findings: list[Diagnostic] = []
    try:
        # Read once, because the expansion of xacro is slow.
        markup = read_markup(file, packages, arguments, environment, findings)
    except SourceError as error:
        diagnostics = sorted([*findings, *error.diagnostics], key=by_location)
        return LintReport(tuple(diagnostics), is_urdf=False)
    try:
        parsed = robot_of(markup, file, packages=packages)
        findings += (*parsed.diagnostics, *_robot_issues(parsed.robot))
    except SourceError as error:
        findings += error.diagnostics
    return _with_text(findings, markup, file)


def lint_parsed(parsed: Parsed, path: str | os.PathLike[str]) -> tuple[Diagnostic, ...]:
    """Check a file that was already parsed; it is named in findings as given."""
    of_robot = [*parsed.diagnostics, *_robot_issues(parsed.robot)]
    return _with_text(of_robot, parsed.markup, os.fspath(path)).findings


def _with_text(findings: list[Diagnostic], markup: Markup, file: str) -> LintReport:
    """Add what is wrong with the elements, and what ROS says."""
    document = document_of(markup, file)
    if document:
        findings += _document_issues(document)
    said = ros.read_in_ros(file, markup.expansion.text if markup.expansion else None)
    if said and (said.errors or not said.loads):
        message = truncate("; ".join(said.errors), _LONGEST_ERRORS) or "without a message"
        rule = "ros-incomplete" if said.loads else "ros-refused"
        findings.append(Diagnostic(rule, f"urdfdom: {message}", Location(file, 1, 1)))
    return LintReport(tuple(sorted(findings, key=by_location)), document is not None, said)


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
    robot = read(root, g.ROBOT, _ANY_VERSION, Notes())
    return UrdfDocument(file, root, robot, markup.expansion is not None)


def type_of(joint: Node) -> str:
    """Return a joint's type in the spelling of URDF."""
    return joint[g.TYPE].strip().lower()


def unnormalised(
    document: UrdfDocument,
) -> Iterator[tuple[str, str, Node, g.AttributeType[Any]]]:
    """Yield the vectors whose length is neither 0 nor 1, with rule and description."""
    vectors: list[tuple[str, str, Node, g.AttributeType[Any], float]] = [
        ("quaternion-unnormalised", f"quaternion of {owner}", node, g.QUAT_XYZW, _QUATERNION_SLACK)
        for owner, node in origins(document)
    ]
    for joint in document.joints:
        if (axis := joint.first(g.AXIS)) and type_of(joint) in _DIRECTED:
            subject = f"axis of joint {joint[g.NAME]!r}"
            vectors.append(("joint-axis-unnormalised", subject, axis, g.AXIS_XYZ, _AXIS_SLACK))
    for rule, subject, node, attribute, slack in vectors:
        length = math.hypot(*(node[attribute] or ()))
        if length > 0.0 and abs(length - 1.0) > slack:
            yield rule, f"the {subject} has length {length:.4g}", node, attribute


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


def _document_issues(document: UrdfDocument) -> Notes:
    """Return what is probably wrong with the elements."""
    found = Notes()
    for link in document.links:
        inertial = link.first(g.INERTIAL)
        mass = inertial.first(g.MASS) if inertial else None
        inertia = inertial.first(g.INERTIA) if inertial else None
        if mass and inertia and not any(inertia.values) and mass[g.MASS_VALUE] >= _NEGLIGIBLE:
            what = f"link {link[g.NAME]!r} has {mass[g.MASS_VALUE]:g} kg and zero inertia"
            found.add("inertia-zero", inertia, what)
    for joint in document.joints:
        _add_joint_issues(found, joint)
    for rule, message, node, _ in unnormalised(document):
        found.add(rule, node, message)
    _add_origin_issues(found, document)
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
    local = (look for link in document.links for look in link.descendants(g.MATERIAL))
    used = {look[g.OPTIONAL_NAME] for look in local}
    for material in document.robot.all(g.MATERIAL):
        if material[g.OPTIONAL_NAME] not in used:
            what = f"material {material[g.OPTIONAL_NAME]!r} is used by no visual"
            found.add("material-unused", material, what)
    for color in document.robot.descendants(g.COLOR):
        rgba = color[g.RGBA]
        if rgba and rgba[3] == 0.0:
            numbers = " ".join(f"{component:g}" for component in rgba)
            found.add("color-invisible", color, f"rgba {numbers} is fully transparent")
    _add_name_issues(found, document)
    # References of extension elements to undefined links and joints.
    joints = {joint[g.NAME] for joint in document.joints}
    names = joints | {link[g.NAME] for link in document.links}
    for element in document.root.children:
        if element.tag == "gazebo":
            name = element.get("reference")
            if name and name not in names:
                what = f"<gazebo> refers to {name!r}, which does not exist"
                found.add("reference-undefined", element, what)
        elif element.tag in _DRIVES:
            for driven in element.children:
                name = driven.get("name")
                if driven.tag == "joint" and name and name not in joints:
                    what = f"<{element.tag}> drives joint {name!r}, which does not exist"
                    found.add("reference-undefined", driven, what)
    return found


def _add_joint_issues(found: Notes, joint: Node) -> None:
    subject, kind = f"joint {joint[g.NAME]!r}", type_of(joint)
    limit = joint.first(g.LIMIT)
    if kind in _DIRECTED and joint.first(g.AXIS) is None:
        found.add("joint-axis-implicit", joint, f"{subject} is {kind} and has no <axis>")
    if limit:
        _add_limit_issues(found, joint, limit)
    mimic = joint.first(g.MIMIC)
    if mimic and mimic[g.MULTIPLIER] == 0.0:
        what = f"{subject} follows {mimic[g.LEADER]!r} times zero"
        found.add("mimic-multiplier-zero", mimic, what)


def _add_limit_issues(found: Notes, joint: Node, limit: Node) -> None:
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


def _add_origin_issues(found: Notes, document: UrdfDocument) -> None:
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
        for angle in rpy:
            if round(angle / _RIGHT_ANGLE) and _RIGHT < _off_right_angle(angle) < _ROUNDED:
                rounded.setdefault(abs(angle), []).append(origin)
    for angle, places in rounded.items():
        off = f"{math.degrees(_off_right_angle(angle)):.2g} deg off a right angle"
        what = f"rpy has {angle:g}, which is {off} ({times(len(places))})"
        found.add("rotation-rounded", places[0], what)


def _off_right_angle(angle: float) -> float:
    return abs(angle - round(angle / _RIGHT_ANGLE) * _RIGHT_ANGLE)


def _add_name_issues(found: Notes, document: UrdfDocument) -> None:
    links = {link[g.NAME] for link in document.links}
    for node in (*document.links, *document.joints):
        name = node[g.NAME]
        if name and not _IDENTIFIER.fullmatch(name):
            what = f"the name of {node.type.tag} {name!r} is not an identifier"
            found.add("name-not-portable", node, what)
        if name in links and name and node.type is g.JOINT:
            found.add("name-of-link-and-joint", node, f"a link and a joint are called {name!r}")
    children = {child[g.LINK_NAME] for joint in document.joints if (child := joint.first(g.CHILD))}
    for link in document.links:
        if link[g.NAME] == m.WORLD_LINK and (link.children or m.WORLD_LINK in children):
            what = "is behind a joint" if m.WORLD_LINK in children else "has mass or shape"
            found.add("name-world", link, f"link {m.WORLD_LINK!r} {what}")


# A valid robot


def _robot_issues(robot: m.Robot) -> Notes:
    """Return what is probably wrong with a valid robot, and the diagnostics of its meshes.

    Raises:
        SourceError: It is not one tree.
    """
    tree, meshes = build_tree(robot), measure_meshes(robot)
    # Largest distance of a link or centre of mass from the root, and length of the longest
    # chain of joint origins from the root [m].
    size, reach = size_at_rest(tree, rest_poses(tree)), {tree.root: 0.0}
    for name in tree.links:
        if joint := tree.parent_joint.get(name):
            reach[name] = reach[joint.parent] + math.hypot(*joint.origin.position)
    span = max(reach.values())
    found = Notes(meshes.diagnostics)
    _add_massless_issues(found, robot, tree)
    for link in robot.links:
        if link.inertial and link.mass > 0.0:
            weighs = link.mass >= _NEGLIGIBLE
            extent = measure_link(link, meshes.by_path) if weighs else None
            _add_inertial_issues(found, link, link.inertial, extent, size)
    for joint in robot.joints:
        _add_motion_issues(found, joint, robot, span)
    for colliding in (False, True):
        for shape, mesh, measured, often in _uses(robot, meshes, colliding=colliding):
            if not colliding:
                _add_mesh_issues(found, shape, mesh, measured, often, span)
            elif measured.triangles > _HEAVY:
                what = f"{_name(mesh)} has {measured.triangles} triangles for collision{often}"
                found.add("collision-mesh-heavy", shape, what)
    return found


def _add_massless_issues(found: Notes, robot: m.Robot, tree: Tree) -> None:
    links = tree.link
    reported: set[str] = set()
    # The group of the root does not move relative to the base.
    for group in rigid_groups(tree)[1:]:
        if not any(links[name].mass for name in group):
            reported.update(group)
            others = f" and links fixed to it ({len(group)} links)" if group[1:] else ""
            what = f"link {group[0]!r}{others} moves and has no mass"
            found.add("mass-none-moving", links[group[0]], what)
    for link in robot.links:
        if link.collisions and link.inertial is None and link.name not in reported:
            what = f"link {link.name!r} has a collision shape and no <inertial>"
            found.add("mass-none-collider", link, what)


def _add_inertial_issues(
    found: Notes, link: m.Link, inertial: m.Inertial, extent: LinkExtent | None, size: float
) -> None:
    subject, mass = f"link {link.name!r}", inertial.mass
    if mass < _NEGLIGIBLE:
        found.add("mass-negligible", inertial, f"{subject} has a mass of {mass:g} kg")
    moments = a, b, c = sorted(principal_inertia(inertial.inertia)[0])
    listed = f"principal moments {', '.join(f'{moment:.4g}' for moment in moments)}"
    # The largest radius of gyration [m].
    radius = math.sqrt(c / mass) if a > _ZERO_MOMENT * c else None
    # A conversion treats it as zero.
    is_rounding = is_negligible(max(map(abs, moments)), mass, size)
    if is_rounding:
        if any(inertial.inertia):
            what = f"{subject} has {mass:g} kg and {listed}, which are rounded zeros"
            found.add("inertia-zero", inertial, what)
    elif radius is None:
        found.add("inertia-not-positive", inertial, f"{subject} has {listed}")
    elif a + b < c * (1.0 - _TRIANGLE_SLACK):
        what = f"{subject} has {listed}: {a:.4g} + {b:.4g} < {c:.4g}"
        found.add("inertia-triangle", inertial, what)
    if extent is None:
        return
    if radius:
        is_large = radius > _GYRATION_OVER_REACH * extent.reach
        # That of a point mass.
        is_small = radius < _GYRATION_UNDER_REACH * extent.reach and not is_rounding
        if is_large or is_small:
            how = "large" if is_large else "small"
            what = (
                f"inertia of {subject} too {how} for {mass:g} kg: radius of gyration "
                f"{_metres(radius)}, geometry extends {_metres(extent.reach)}"
            )
            found.add(f"inertia-too-{how}", inertial, what)
    volume = extent.hull_volume
    is_dense = volume > 0.0 and mass / volume > _DENSEST
    if is_dense or mass < _LIGHTEST * volume:
        what = f"{subject} has {mass:g} kg in {volume:.3g} m^3: {mass / volume:.3g} kg/m^3"
        found.add(f"density-{'high' if is_dense else 'low'}", inertial, what)
    distance = extent.bounds.distance(inertial.origin.position)
    if distance > max(_OUTSIDE * extent.bounds.diagonal, _TINY_LENGTH):
        what = (
            f"the centre of mass of {subject} lies {_metres(distance)} "
            f"outside its shapes, which are {_metres(extent.bounds.diagonal)} large"
        )
        found.add("com-outside", inertial, what)


def _add_motion_issues(found: Notes, joint: m.Joint, robot: m.Robot, span: float) -> None:
    kind, mimic = joint.kind, joint.mimic
    if isinstance(kind, m.Prismatic):
        # Travel that is probably in millimetres.
        bounds = (kind.range.lower, kind.range.upper)
        largest = max(map(abs, filter(math.isfinite, bounds)), default=0.0)
        if largest > _TRAVEL * span > 0.0:
            what = (
                f"joint {joint.name!r} travels up to {largest:g} m; "
                f"the robot's joints span {span:.3g} m"
            )
            found.add("joint-travel-long", joint, what)
    own = _range(kind)
    if mimic is None or own is None or own.lower >= own.upper or not mimic.multiplier:
        return
    leader = _range(next(j.kind for j in robot.joints if j.name == mimic.joint))
    if leader is None or leader.lower > leader.upper:
        return
    ends = [mimic.multiplier * end + mimic.offset for end in (leader.lower, leader.upper)]
    slack = _RANGE_SLACK * (own.upper - own.lower)
    if min(ends) < own.lower - slack or max(ends) > own.upper + slack:
        what = (
            f"joint {joint.name!r} may move from {own.lower:.4g} to "
            f"{own.upper:.4g}, and follows {mimic.joint!r} from {min(ends):.4g} "
            f"to {max(ends):.4g}"
        )
        found.add("mimic-range", joint, what)


def _range(kind: m.JointKind) -> m.Range | None:
    if isinstance(kind, m.Revolute | m.Prismatic):
        return kind.range
    return m.UNLIMITED if isinstance(kind, m.Continuous) else None


def _add_mesh_issues(
    found: Notes, shape: m.Shape, mesh: m.MeshFile, extent: MeshExtent, often: str, span: float
) -> None:
    name, scale = _name(mesh), mesh.scale
    # Diagonals of the bounding box [m].
    edges = [max(column) - min(column) for column in zip(*extent.hull, strict=True)]
    size = math.hypot(*(edge * factor for edge, factor in zip(edges, scale, strict=True)))
    unscaled = math.hypot(*edges)
    # Its size would be plausible if scaled by 0.001.
    if size > _TOO_LARGE * span > 0.0 and size < _THOUSAND * _LARGEST_PART * span:
        what = f"{name} is {_metres(size)} large on a robot of {_metres(span)}{often}"
        found.add("mesh-millimetres", shape, what)
    # In metres, and scaled by 0.001.
    is_invisible = size < min(_TOO_SMALL, _TOO_SMALL * (span or 1.0))
    if is_invisible and unscaled > size * _THOUSAND / 2.0:
        what = f"{name} is {_metres(size)} large, and {_metres(unscaled)} unscaled{often}"
        found.add("mesh-shrunk", shape, what)
    if min(scale) < 0.0:
        factors = " ".join(f"{factor:g}" for factor in scale)
        found.add("mesh-mirrored", shape, f"{name} is scaled by {factors}{often}")
    if mesh.uri.lower().endswith(".stl") and extent.triangles > _MOST_STL_FACES:
        found.add("mesh-too-many-faces", shape, f"{name} has {extent.triangles} faces{often}")


def _name(mesh: m.MeshFile) -> str:
    return f"mesh {Path(mesh.uri).name!r}"


def _uses(
    robot: m.Robot, meshes: MeshExtents, *, colliding: bool
) -> Iterator[tuple[m.Shape, m.MeshFile, MeshExtent, str]]:
    """Yield the readable mesh files, once per scale, each with its first shape."""
    uses: dict[tuple[str, m.Vec3], list[tuple[m.Shape, m.MeshFile]]] = {}
    for link in robot.links:
        for shape in link.collisions if colliding else link.shapes:
            mesh = shape.geometry
            if isinstance(mesh, m.MeshFile) and mesh.path in meshes.by_path:
                uses.setdefault((mesh.path or "", mesh.scale), []).append((shape, mesh))
    for (path, _), found in uses.items():
        often = f" (used {times(len(found))})" if len(found) > 1 else ""
        yield (*found[0], meshes.by_path[path], often)


def _metres(length: float) -> str:
    return f"{length:.3g} m"
