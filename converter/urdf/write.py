"""Writing of a :class:`~urdf_usd.converter.robot.model.Robot` as URDF.

Parsing the text returns the same robot. For most parsers, unlimited rotation is a
``continuous`` joint, and a limit on one side only has the largest float32 on the other,
because ROS and Drake refuse ``inf``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias
from xml.etree import ElementTree as ET
from xml.parsers import expat

from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot import spatial
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.build import GAZEBO, JOINT_PARTS, PRIMITIVES, REFERENCE
from urdf_usd.converter.urdf.grammar import ElementType, Version
from urdf_usd.converter.urdf.xml import FORBIDDEN

_Value: TypeAlias = "str | float | tuple[float, ...] | None"
_ELEMENTS = {primitive: element_type for element_type, primitive in PRIMITIVES.items()}
# The largest float32: finite for parsers of URDF, no limit for consumers of USD.
_FARTHEST = 3.4028234663852886e38
_CAPSULES_SINCE = (1, 1)
_KNOWN_VERSION = re.compile(r"(1)\.([0-2])", re.ASCII)


def write(robot: m.Robot, *, comment: str | None = None) -> bytes:
    """Write a robot as a URDF document in UTF-8.

    Raises:
        ValueError: A name contains characters that XML does not allow.
    """
    version = _needed_version(robot)
    text_of_version = "{}.{}".format(*version) if version > g.FIRST_VERSION else None
    root = ET.Element(g.ROBOT.tag)
    _set(root, g.ROBOT, robot.name, text_of_version)
    for link in robot.links:
        _write_link(root, link, version)
    for joint in robot.joints:
        _write_joint(root, joint, version)
    parts = [link.custom for link in robot.links] + [joint.custom for joint in robot.joints]
    gazebo = [one for part in parts for one in part.elements if _is_addressed(one)]
    custom = m.Custom(robot.custom.attributes, (*robot.custom.elements, *gazebo))
    _write_custom(root, g.ROBOT, custom, version)
    ET.indent(root)
    heading = "<?xml version='1.0' encoding='utf-8'?>\n"
    if comment is not None:
        heading += f"<!-- {comment} -->\n"
    text = heading + ET.tostring(root, encoding="unicode") + "\n"
    if found := FORBIDDEN.search(text):
        raise ValueError(f"XML has no way to write {found[0]!r}")
    return text.encode()


def _needed_version(robot: m.Robot) -> Version:
    """Return the version of the original file, or a later one if required."""
    needed = [g.FIRST_VERSION]
    for attribute in robot.custom.attributes:
        known = _KNOWN_VERSION.fullmatch(attribute.value)
        if attribute.name == g.VERSION.name and known:
            needed.append((int(known[1]), int(known[2])))
    shapes = (shape for link in robot.links for shape in link.shapes)
    if any(isinstance(shape.geometry, m.Capsule) for shape in shapes):
        needed.append(_CAPSULES_SINCE)
    for joint in robot.joints:
        limits = zip(g.LIMIT.attributes, _limits(joint), strict=True)
        needed += [attribute.since for attribute, value in limits if value is not None]
    return max(needed)


def _set(element: ET.Element, kind: ElementType, *values: _Value) -> None:
    """Set the attributes of an element, in the order of the grammar; None sets none."""
    for attribute, value in zip(kind.attributes, values, strict=False):
        if isinstance(value, str):
            element.set(attribute.name, value)
        elif value is not None:
            numbers = value if isinstance(value, tuple) else (value,)
            finite = (math.copysign(_FARTHEST, n) if math.isinf(n) else float(n) for n in numbers)
            element.set(attribute.name, _numbers(finite))


def _add(parent: ET.Element, kind: ElementType, *values: _Value) -> ET.Element:
    element = ET.SubElement(parent, kind.tag)
    _set(element, kind, *values)
    return element


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(value).removesuffix(".0") for value in values)


def _add_origin(parent: ET.Element, pose: m.Pose) -> None:
    if pose != m.IDENTITY:
        _add(parent, g.ORIGIN, pose.position, rpy_from_quat_wxyz(pose.quat_wxyz))


def _write_link(robot: ET.Element, link: m.Link, version: Version) -> None:
    element = _add(robot, g.LINK, link.name)
    if link.inertial is not None:
        inertial = _add(element, g.INERTIAL)
        _add_origin(inertial, link.inertial.origin)
        _add(inertial, g.MASS, link.inertial.mass)
        _add(inertial, g.INERTIA, *link.inertial.inertia)
    for part in link.shapes:
        kind = g.VISUAL if isinstance(part, m.Visual) else g.COLLISION
        shape = _add(element, kind, part.name)
        _add_origin(shape, part.origin)
        geometry = _add(shape, g.GEOMETRY)
        if isinstance(part.geometry, m.MeshFile):
            scale = part.geometry.scale
            _add(geometry, g.MESH, part.geometry.uri, None if scale == g.SCALE.default else scale)
        else:
            _add(geometry, _ELEMENTS[type(part.geometry)], *structs.astuple(part.geometry))
        if isinstance(part, m.Visual) and (material := part.material):
            # In the visual, because names need not be unique. ROS requires the
            # attribute, even if there is no name.
            look = _add(shape, g.MATERIAL, material.name or "")
            if material.rgba is not None:
                _add(look, g.COLOR, material.rgba)
            if material.texture_uri is not None:
                _add(look, g.TEXTURE, material.texture_uri)
        _write_custom(shape, kind, part.custom, version)
    _write_custom(element, g.LINK, link.custom, version)


def _limits(joint: m.Joint) -> tuple[float | None, ...]:
    """Return the values of ``<limit>``, in the order of the grammar."""
    kind = joint.kind
    bounds: tuple[float | None, float | None] = (None, None)
    if isinstance(kind, m.Revolute | m.Prismatic) and _type_name(kind) != "continuous":
        bounds = (kind.range.lower, kind.range.upper)
    return (*bounds, *(getattr(joint, rate.name) for rate in g.RATES))


def _write_joint(robot: ET.Element, joint: m.Joint, version: Version) -> None:
    kind = joint.kind
    kept = "true" if joint.dont_collapse else None
    element = _add(robot, g.JOINT, joint.name, _type_name(kind), kept)
    _add_origin(element, joint.origin)
    _add(element, g.PARENT, joint.parent)
    _add(element, g.CHILD, joint.child)
    # Axis and limits without effect are custom data.
    idle: list[tuple[str, str]] = []
    if isinstance(kind, m.Revolute | m.Continuous | m.Prismatic | m.Planar):
        _add(element, g.AXIS, kind.axis)
    else:
        idle.append((g.AXIS.tag, g.AXIS_XYZ.name))
    if not isinstance(kind, m.Revolute | m.Prismatic):
        idle += [(g.LIMIT.tag, bound.name) for bound in (g.LOWER, g.UPPER)]
    if any(value is not None for value in _limits(joint)):
        _add(element, g.LIMIT, *_limits(joint))
    for field, (part_type, _) in JOINT_PARTS.items():
        if part := getattr(joint, field):
            _add(element, part_type, *structs.astuple(part))
    _write_custom(element, g.JOINT, joint.custom, version, idle)


def _type_name(kind: m.JointKind) -> str:
    if isinstance(kind, m.Revolute) and kind.range == m.UNLIMITED:
        kind = m.Continuous(kind.axis)
    return type(kind).__name__.lower()


_ROUNDING = 2.0**-52
# Most significant digits that a double needs.
_MOST_DIGITS = 17


def rpy_from_quat_wxyz(quat_wxyz: m.Vec4) -> m.Vec3:
    """Return roll, pitch and yaw [rad] of a unit quaternion.

    Rounded to the fewest digits that reproduce the quaternion within double rounding:
    1.5708 stays 1.5708.
    """
    exact = spatial.rpy_from_rotation(spatial.rotation_from_quat_wxyz(quat_wxyz))
    allowed = max(_ROUNDING, _distance(exact, quat_wxyz))
    for digits in range(1, _MOST_DIGITS):
        roll, pitch, yaw = (float(f"{angle:.{digits}g}") + 0.0 for angle in exact)
        if _distance((roll, pitch, yaw), quat_wxyz) <= allowed:
            return roll, pitch, yaw
    return exact


def _distance(rpy: m.Vec3, quat_wxyz: m.Vec4) -> float:
    """Return the distance of two rotations as unit quaternions."""
    found = spatial.quat_wxyz_from_rpy(rpy)
    opposite = tuple(-component for component in found)
    return min(math.dist(found, quat_wxyz), math.dist(opposite, quat_wxyz))


_NAME = re.compile(r"[^\s<>&/='\"?!]+")
# Elements that may be added without changing the robot.
_NEUTRAL = frozenset({g.ORIGIN, g.AXIS, g.LIMIT, g.DYNAMICS, g.SAFETY_CONTROLLER, g.CALIBRATION})


def _is_addressed(element: m.CustomElement) -> bool:
    """Return whether an element of Gazebo refers to its owner: a child of the robot."""
    content = element.content
    return content.tag == GAZEBO and not element.within and REFERENCE in dict(content.attributes)


def _write_custom(
    element: ET.Element,
    element_type: ElementType,
    custom: m.Custom,
    version: Version,
    idle: Iterable[tuple[str, str]] = (),
) -> None:
    """Add custom data to the element of its owner, which ignores the attributes ``idle``.

    Data is omitted if its enclosing element is not written, or its name is invalid in XML.
    """
    for attribute in custom.attributes:
        found, name = _place(element, element_type, attribute.within), attribute.name
        if found is None or not _is_name(name):
            continue
        place, place_type = found
        known = {one.name: one.since for one in place_type.attributes}
        is_read = name in known and known[name] <= version and (place_type.tag, name) not in idle
        is_version = place_type is g.ROBOT and name == g.VERSION.name
        if (is_version or not is_read) and name not in place.attrib:
            place.set(name, attribute.value)
    for one in custom.elements:
        elsewhere = element_type in (g.LINK, g.JOINT) and _is_addressed(one)
        found = None if elsewhere else _place(element, element_type, one.within)
        if found is None:
            continue
        place, place_type = found
        tag = one.content.tag
        # Materials of the robot that nothing uses are custom data.
        unused = place_type is g.ROBOT and tag == g.MATERIAL.tag
        if _is_name(tag) and (unused or place_type.child(tag) is None):
            _append(place, one.content)


def _place(
    element: ET.Element, element_type: ElementType, within: tuple[str, ...]
) -> tuple[ET.Element, ElementType] | None:
    """Return the element that encloses custom data; created if neutral."""
    if element_type is g.ROBOT and within[:1] == (g.MATERIAL.tag,) and len(within) > 1:
        # The robot's material with a name.
        same = [one for one in element.iterfind(g.MATERIAL.tag) if one.get("name") == within[1]]
        material = same[0] if same else _add(element, g.MATERIAL, within[1])
        return _place(material, g.MATERIAL, within[2:])
    for tag in within:
        child = element_type.child(tag)
        if child is None or child.repeats:
            return None
        inner = element.find(tag)
        if inner is None:
            if child.type not in _NEUTRAL:
                return None
            inner = ET.SubElement(element, tag)
        element, element_type = inner, child.type
    return element, element_type


def _is_name(text: str) -> bool:
    """Return whether a name is valid in XML, according to expat."""
    if not _NAME.fullmatch(text):
        return False
    try:
        expat.ParserCreate().Parse(f"<{text}/>", True)
    except (expat.ExpatError, UnicodeError):
        return False
    return True


def _append(parent: ET.Element, content: m.XmlElement) -> None:
    names = {name: text for name, text in content.attributes if _is_name(name)}
    element = ET.SubElement(parent, content.tag, names)
    element.text = content.text or None
    for child in content.children:
        if _is_name(child.tag):
            _append(element, child)


# MuJoCo, and joints that close loops.
# MuJoCo reads <compiler> in <mujoco> of a URDF, but no <equality> (measured with version 4.0.0).

LOOP = "usd_loop"
_MUJOCO = "mujoco"
# MuJoCo refuses moving bodies without mass; these bounds are far below those of robots
# [kg, kg m^2]. It merges links that do not move, which constraints could not name then.
_COMPILER = {"boundmass": "1e-9", "boundinertia": "1e-12"}
_LOOP_COMPILER = {"fusestatic": "false"}
# Distance of the second anchor of a hinge, along its axis [m].
_LEVER = 0.1


def extend_for_mujoco(
    robot: m.Robot, loops: Sequence[m.LoopJoint], notes: list[Diagnostic]
) -> m.Robot:
    """Add settings with which MuJoCo reads the URDF, unless it has them, and loop joints."""
    names = {joint.name for joint in loops}
    elements = [
        one
        for one in robot.custom.elements
        if one.content.tag != LOOP or dict(one.content.attributes).get("name") not in names
    ]
    found = next((one for one in elements if one.content.tag == _MUJOCO), None)
    former = found.content if found else m.XmlElement(_MUJOCO)
    compiler = next((c for c in former.children if c.tag == "compiler"), None)
    settings = _COMPILER | (_LOOP_COMPILER if loops else {})
    settings |= dict(compiler.attributes) if compiler else {}
    children = [m.XmlElement("compiler", tuple(settings.items()))]
    children += [one for one in former.children if one is not compiler]
    for joint in loops:
        if not equality(joint):
            message = f"MuJoCo has no constraint like joint {joint.name!r}, a {joint.schema}"
            notes.append(Diagnostic("loop-without-constraint", message))
    extension = m.CustomElement(m.XmlElement(_MUJOCO, former.attributes, "", tuple(children)))
    others = [one for one in elements if one is not found]
    described = [m.CustomElement(_loop_element(joint)) for joint in loops]
    custom = m.Custom(robot.custom.attributes, (extension, *others, *described))
    return structs.replace(robot, custom=custom)


def mjcf_text(urdf: str, robot: m.Robot, loops: Iterable[m.LoopJoint], mark: str) -> bytes:
    """Return an MJCF model that attaches the URDF, a file beside it, and closes its loops."""
    root = ET.Element(_MUJOCO, {"model": robot.name})
    model = m.XmlElement("model", (("name", "robot"), ("file", urdf)))
    attach = m.XmlElement("attach", (("model", "robot"), ("prefix", "")))
    constraints = tuple(one for joint in loops for one in equality(joint))
    _append(root, m.XmlElement("asset", children=(model,)))
    _append(root, m.XmlElement("worldbody", children=(attach,)))
    _append(root, m.XmlElement("equality", children=constraints))
    ET.indent(root)
    return f"<!-- {mark} -->\n{ET.tostring(root, encoding='unicode')}\n".encode()


def equality(joint: m.LoopJoint) -> tuple[m.XmlElement, ...]:
    """Return MuJoCo's constraints for a joint; none if it has no equivalent.

    ``connect`` holds a point of two bodies together: one for a spherical joint, two
    along the axis for a hinge. Limits of the joint are not constrained.
    """
    bodies = tuple(zip(("body1", "body2"), joint.links, strict=True))
    first, second = joint.frames
    if joint.schema == "PhysicsFixedJoint":
        relative = spatial.compose(first, spatial.invert_pose(second))
        pose = _text((*relative.position, *relative.quat_wxyz))
        named = (("name", joint.name), *bodies, ("anchor", "0 0 0"), ("relpose", pose))
        return (m.XmlElement("weld", named),)
    anchors: list[m.Vec3] = []
    if joint.schema == "PhysicsSphericalJoint":
        anchors = [(0.0, 0.0, 0.0)]
    elif joint.schema == "PhysicsRevoluteJoint" and joint.axis is not None:
        x, y, z = joint.axis
        anchors = [(0.0, 0.0, 0.0), (_LEVER * x, _LEVER * y, _LEVER * z)]
    names = (joint.name, f"{joint.name}_2")
    points = [("anchor", _text(spatial.transform_point(first, anchor))) for anchor in anchors]
    return tuple(
        m.XmlElement("connect", (("name", name), *bodies, point))
        for name, point in zip(names, points, strict=False)
    )


def _loop_element(joint: m.LoopJoint) -> m.XmlElement:
    """Describe a joint: its prim type, links, and frame in both links."""
    axis = () if joint.axis is None else (("axis", _text(joint.axis)),)
    attributes = (("name", joint.name), ("type", joint.schema), *axis)
    bodies = []
    for side, (link, frame) in enumerate(zip(joint.links, joint.frames, strict=True)):
        xyz, quat_wxyz = _text(frame.position), _text(frame.quat_wxyz)
        pose = (("link", link), ("xyz", xyz), ("quat_wxyz", quat_wxyz))
        bodies.append(m.XmlElement(f"body{side}", pose))
    return m.XmlElement(LOOP, attributes, children=tuple(bodies))


def _text(values: Iterable[float]) -> str:
    # Adding zero turns -0.0 into 0.0.
    return _numbers(value + 0.0 for value in values)
