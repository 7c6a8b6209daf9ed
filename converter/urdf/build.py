"""Building of links, joints, materials and custom data from nodes.

A material is defined by an element with colour or texture, in the robot or in a visual,
and can be referred to by name anywhere, also before. A visual uses its own definition;
a reference uses the definition in the robot, otherwise the first in a visual.

Custom data are attributes and elements that are not part of URDF, kept as written. Owners
are the robot, its links and joints, visuals and collisions. Data in other elements, such
as ``<limit>`` or ``<mesh>``, belongs to the enclosing owner.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, get_args

from msgspec import structs

from urdf_usd.converter.diagnostics import Notes, times
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import quat_wxyz_from_rpy
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.grammar import Node, Version
from urdf_usd.converter.urdf.xml import Element

Files = Mapping[str, str | None]  # paths of files by URI
Links = tuple[m.Link, ...]
Joints = tuple[m.Joint, ...]
_Part = TypeVar("_Part", m.Link, m.Joint)

PRIMITIVES = {g.BOX: m.Box, g.SPHERE: m.Sphere, g.CYLINDER: m.Cylinder, g.CAPSULE: m.Capsule}


def build_link(
    node: Node, version: Version, files: Files, materials: Mapping[int, m.Material], notes: Notes
) -> m.Link:
    """Build a link, with materials by the id of their node."""
    name = node[g.NAME]
    inertial = node.first(g.INERTIAL)
    built = _build_inertial(inertial, name, notes) if inertial else None
    custom = _collect_custom(node, version)
    visuals: list[m.Visual] = []
    collisions: list[m.Collision] = []
    for shape in (*node.all(g.VISUAL), *node.all(g.COLLISION)):
        geometry = _build_geometry(shape, name, files, notes)
        origin = _build_origin(shape, notes)
        own = _collect_custom(shape, version)
        place, label = shape.location, shape[g.OPTIONAL_NAME]
        if geometry is None:
            # Its data becomes that of the link.
            custom += _collect_custom(shape, version, (shape.type.tag,))
        elif shape.type is g.COLLISION:
            collisions.append(m.Collision(label, origin, geometry, place, own))
        else:
            material = shape.first(g.MATERIAL)
            look = materials[id(material)] if material else None
            visuals.append(m.Visual(label, origin, geometry, look, place, own))
    return m.Link(name, built, tuple(visuals), tuple(collisions), node.location, custom)


def _build_inertial(node: Node, link: str, notes: Notes) -> m.Inertial:
    origin = _build_origin(node, notes)
    mass, inertia = node.first(g.MASS), node.first(g.INERTIA)
    value = mass[g.MASS_VALUE] if mass else 0.0
    if mass is None:
        message = f"inertial of link {link!r} has no <mass>; read as massless"
        notes.add("mass-missing", node, message)
    elif value < 0.0:
        notes.add("mass-negative", mass, f"link {link!r} has mass {value}")
    if inertia is None:
        message = f"inertial of link {link!r} has no <inertia>; read as zero"
        notes.add("inertia-missing", node, message)
    xx, xy, xz, yy, yz, zz = inertia.values if inertia else (0.0,) * 6
    return m.Inertial(value, origin, (xx, xy, xz, yy, yz, zz), node.location)


def _build_geometry(node: Node, link: str, files: Files, notes: Notes) -> m.Geometry | None:
    """Build the geometry of a visual or collision; None if it is invalid."""
    subject = f"a {node.type.tag} of link {link!r}"
    geometry = node.first(g.GEOMETRY)
    if geometry is None or not geometry.children:
        if not (geometry and geometry.left_out):
            message = f"{subject} has no URDF geometry; omitted"
            notes.add("geometry-unknown", geometry or node, message)
        return None
    shape, *others = geometry.children
    if others:
        message = f"{subject} has {len(others) + 1} shapes; the first is used"
        notes.add("element-repeated", others[0], message)
    built: m.Geometry
    if shape.type is g.MESH:
        uri, lengths = shape.values
        built, valid = m.MeshFile(uri, files[uri], lengths), all(lengths)
    else:
        built = PRIMITIVES[shape.type](*shape.values)
        lengths = shape[g.SIZE] if shape.type is g.BOX else shape.values
        if shape.type is g.CAPSULE:
            # A capsule of length zero is a sphere: valid, unlike a flat cylinder.
            lengths = shape[g.RADIUS], shape[g.LENGTH] or shape[g.RADIUS]
        valid = min(lengths) > 0.0
    if not valid:
        sizes = " ".join(f"{length:g}" for length in lengths)
        message = f"the {shape.type.tag} of {subject} has size {sizes}; left out"
        notes.add("geometry-invalid", shape, message)
        return None
    return built


def build_materials(robot: Node, files: Files, notes: Notes) -> Mapping[int, m.Material]:
    """Build all materials of a robot, by the id of the node of ``<material>``."""
    # Definitions in the robot first: they take precedence for references.
    local = [node for link in robot.all(g.LINK) for node in link.descendants(g.MATERIAL)]
    written = [(_build_material(n, files, notes), n) for n in (*robot.all(g.MATERIAL), *local)]
    defined: dict[str | None, m.Material] = {}
    differing: set[str | None] = set()
    for material, node in written:
        if material.name is None or not _defines(material):
            continue
        first = defined.setdefault(material.name, material)
        if first != material and material.name not in differing:
            differing.add(material.name)
            message = f"material {material.name!r} differs from its first definition"
            notes.add("material-redefined", node, message)
    undefined: dict[str, list[Node]] = {}
    built = {}
    for material, node in written:
        own = _defines(material)
        built[id(node)] = material if own else defined.get(material.name, material)
        if not own and material.name is not None and material.name not in defined:
            undefined.setdefault(material.name, []).append(node)
    for name, nodes in undefined.items():
        message = f"no <material name={name!r}> has rgba or a texture (used {times(len(nodes))})"
        notes.add("material-undefined", nodes[0], message)
    return built


def _defines(material: m.Material) -> bool:
    return material.rgba is not None or material.texture_uri is not None


def _build_material(node: Node, files: Files, notes: Notes) -> m.Material:
    color, texture = node.first(g.COLOR), node.first(g.TEXTURE)
    rgba = color[g.RGBA] if color else None
    if color and rgba and not all(0.0 <= component <= 1.0 for component in rgba):
        notes.add("color-range", color, f"rgba {rgba} is outside [0, 1]; clamped")
        red, green, blue, alpha = (min(max(component, 0.0), 1.0) for component in rgba)
        rgba = (red, green, blue, alpha)
    uri = texture[g.IMAGE] if texture else None
    if texture and uri is None:
        notes.add("texture-unnamed", texture, "<texture> has no filename; omitted")
    return m.Material(node[g.OPTIONAL_NAME], rgba, uri, files[uri] if uri else None)


# Rotations that differ by less are equal up to rounding to four digits [rad].
_SAME_ANGLE = 1e-3


def _build_origin(parent: Node, notes: Notes) -> m.Pose:
    """Build the pose of the ``<origin>`` of a node; identity without one."""
    node = parent.first(g.ORIGIN)
    if node is None:
        return m.IDENTITY
    position, quat_xyzw = node[g.XYZ], node[g.QUAT_XYZW]
    if quat_xyzw is None:
        return m.Pose(position, quat_wxyz_from_rpy(node[g.RPY]))
    unit = normalise(quat_xyzw)
    if g.RPY.name in node.written:
        # Most parsers only read rpy, and urdfdom refuses files with both.
        turned = w, x, y, z = quat_wxyz_from_rpy(node[g.RPY])
        cosine = sum(a * b for a, b in zip((x, y, z, w), unit, strict=True)) if unit else 0.0
        alike = abs(cosine) > math.cos(_SAME_ANGLE / 2)
        rule, how = ("repeated", "agree") if alike else ("conflict", "disagree")
        notes.add(f"rotation-{rule}", node, f"origin has both rpy and quat_xyzw, which {how}")
        return m.Pose(position, turned)
    if unit is None:
        notes.add("number-invalid", node, "quat_xyzw of <origin> is zero; read as no rotation")
        return m.Pose(position)
    x, y, z, w = unit
    return m.Pose(position, (w, x, y, z))


def normalise(vector: tuple[float, ...]) -> tuple[float, ...] | None:
    """Divide a vector by its length; None if it is zero."""
    # Scaled by a power of two first: exact for coordinate axes, without over- or underflow.
    _, exponent = math.frexp(max(map(abs, vector)))
    scaled = [math.ldexp(component, -exponent) for component in vector]
    length = math.hypot(*scaled)
    if length == 0.0:
        return None
    # Adding zero turns -0.0 into 0.0.
    return tuple(component / length + 0.0 for component in scaled)


_LIMITED, _DIRECTED = m.Revolute | m.Prismatic, m.Continuous | m.Planar
_KINDS = (*get_args(_LIMITED | _DIRECTED), m.Fixed, m.Floating, m.Spherical)
_TYPES: Mapping[str, Any] = {kind.__name__.lower(): kind for kind in _KINDS}
# Fields of a joint whose own fields are the attributes of an element, in the order of the grammar.
JOINT_PARTS: Mapping[str, tuple[g.ElementType, Any]] = {
    "dynamics": (g.DYNAMICS, m.Dynamics),
    "mimic": (g.MIMIC, m.Mimic),
    "safety": (g.SAFETY_CONTROLLER, m.SafetyController),
    "calibration": (g.CALIBRATION, m.Calibration),
}
_BOUNDS_REQUIRED = (1, 2)


def build_joint(node: Node, version: Version, notes: Notes) -> m.Joint:
    """Build a joint; a fixed joint in case of an error, to keep the tree."""
    parent, child = node.first(g.PARENT), node.first(g.CHILD)
    origin = _build_origin(node, notes)
    kind = _build_kind(node, version, notes)
    limit = node.first_or_default(g.LIMIT)
    if not isinstance(kind, m.Fixed):
        # No schema of a simulator gets negative magnitudes.
        checked = [(limit, a, "joint-rating-negative") for a in (g.EFFORT, g.VELOCITY)]
        if dynamics := node.first(g.DYNAMICS):
            checked += [(dynamics, a, "dynamics-negative") for a in (g.DAMPING, g.FRICTION)]
        for part, attribute, rule in checked:
            value = part[attribute]
            if value is not None and value < 0.0:
                what = f"is negative ({value:g}) and written as a urdf: attribute only"
                notes.add(rule, part, f"{attribute.name} of joint {node[g.NAME]!r} {what}")
    # Axis and limits of a joint whose type does not use them.
    idle: tuple[m.CustomAttribute, ...] = ()
    if (axis := node.first(g.AXIS)) and not isinstance(kind, _LIMITED | _DIRECTED):
        idle += _written(axis, g.AXIS_XYZ)
    if node.first(g.LIMIT) and not isinstance(kind, _LIMITED):
        idle += _written(limit, g.LOWER, g.UPPER)
    fields: dict[str, Any] = {rate.name: limit[rate] for rate in g.RATES}
    for field, (element_type, build) in JOINT_PARTS.items():
        if found := node.first(element_type):
            fields[field] = build(*found.values)
    return m.Joint(
        name=node[g.NAME],
        parent=parent[g.LINK_NAME] if parent else "",
        child=child[g.LINK_NAME] if child else "",
        kind=kind,
        origin=origin,
        **fields,
        dont_collapse=node[g.DONT_COLLAPSE],
        location=node.location,
        custom=_collect_custom(node, version) + m.Custom(idle),
    )


def _build_kind(node: Node, version: Version, notes: Notes) -> m.JointKind:
    name, written = node[g.NAME], node[g.TYPE]
    tag = written.strip().lower()
    if not written:
        return m.Fixed()
    if tag not in _TYPES:
        message = f"joint {name!r} has type {written!r}; known are {', '.join(_TYPES)}"
        notes.add("joint-type", node, message)
        return m.Fixed()
    if tag != written:
        message = f"joint {name!r} has type {written!r}; read as {tag!r}"
        notes.add("joint-type-spelling", node, message)
    kind, limit = _TYPES[tag], node.first(g.LIMIT)
    is_limited = issubclass(kind, _LIMITED)
    bounds = {g.LOWER.name, g.UPPER.name} & limit.written if limit else set()
    # Limits of fixed joints are common boilerplate.
    if bounds and not is_limited and tag != "fixed":
        notes.add("joint-limit-ignored", node, f"joint {name!r} is {tag}; its limits are ignored")
    parts: list[object] = []
    if is_limited or issubclass(kind, _DIRECTED):
        axis = node.first_or_default(g.AXIS)
        axis_xyz = axis[g.AXIS_XYZ]
        unit = normalise(axis_xyz)
        if unit is None:
            notes.add("joint-axis-zero", axis, f"joint {name!r} moves, but its axis is zero")
        parts.append(unit or g.AXIS_XYZ.default)
    if is_limited:
        parts.append(_build_range(node, version, notes))
    if kind is m.Spherical:
        message = f"joint {name!r} is spherical, an extension of URDF"
        notes.add("joint-type-extension", node, message)
    built: m.JointKind = kind(*parts)
    return built


def _build_range(node: Node, version: Version, notes: Notes) -> m.Range:
    name, limit = node[g.NAME], node.first(g.LIMIT)
    if limit is None:
        notes.add("joint-limit-missing", node, f"joint {name!r} has no <limit>; read as unlimited")
        return m.UNLIMITED
    lower, upper = limit[g.LOWER], limit[g.UPPER]
    absent = [a.name for a in (g.LOWER, g.UPPER) if a.name not in limit.written]
    if absent:
        meaning = "read as 0"
        if version >= _BOUNDS_REQUIRED:
            # No default any more; refused by urdfdom.
            meaning = "unlimited on that side"
            lower = -math.inf if g.LOWER.name in absent else lower
            upper = math.inf if g.UPPER.name in absent else upper
        message = f"limit of joint {name!r} has no {' and no '.join(absent)}; {meaning}"
        notes.add("joint-limit-incomplete", limit, message)
    if lower > upper:
        message = f"joint {name!r} has lower {lower} above upper {upper}"
        notes.add("joint-limit-reversed", limit, message)
    return m.Range(lower, upper)


def drop_broken_mimics(joints: Joints, notes: Notes) -> Joints:
    """Drop invalid couplings; chains of couplings are kept."""
    named = {joint.name: joint for joint in joints}
    leaders: dict[str, str] = {}
    kept = []
    for joint in joints:
        mimic, fault = joint.mimic, None
        # A coupling without leader is an error already.
        if mimic and mimic.joint:
            ends = [joint, *([named[mimic.joint]] if mimic.joint in named else [])]
            still = [end for end in ends if not isinstance(end.kind, _LIMITED | m.Continuous)]
            followed = mimic.joint
            while followed != joint.name and followed in leaders:
                followed = leaders[followed]
            if mimic.joint not in named:
                fault = "mimic-target-missing", "which does not exist"
            elif still:
                kind = type(still[0].kind).__name__.lower()
                fault = "mimic-fixed", f"but {still[0].name!r} is {kind}"
            elif followed == joint.name:
                fault = "mimic-loop", f"which follows {joint.name!r}"
            else:
                leaders[joint.name] = mimic.joint
            if fault:
                what = f"joint {joint.name!r} mimics {mimic.joint!r}, {fault[1]}; coupling dropped"
                notes.add(fault[0], joint, what)
        kept.append(structs.replace(joint, mimic=None) if fault else joint)
    return tuple(kept)


def define_world(joints: Joints, links: Links, notes: Notes) -> Links:
    """Add the link ``world`` if it is the parent of joints but not defined.

    Robots for Drake, where ``world`` is predefined, do not define it. If the child of
    such a joint has another parent too, :func:`drop_dangling` drops the joint instead.
    """
    names = {link.name for link in links}
    children = Counter(joint.child for joint in joints)
    tied = [j for j in joints if j.parent == m.WORLD_LINK and j.child in names]
    defined = m.WORLD_LINK in names or m.WORLD_LINK in children
    if defined or not tied or any(children[joint.child] > 1 for joint in tied):
        return links
    what = f"has parent link {m.WORLD_LINK!r}, which is not defined; an empty link is added"
    notes.add("world-undefined", tied[0], f"joint {tied[0].name!r} {what}")
    return (m.Link(m.WORLD_LINK, location=tied[0].location), *links)


def drop_dangling(joints: Joints, links: Links, notes: Notes) -> Joints:
    """Drop joints that refer to a link that is not defined; their children become roots."""
    defined = {link.name for link in links}
    kept = []
    for joint in joints:
        ends = {"parent": joint.parent, "child": joint.child}
        undefined = [f"{r} link {n!r}" for r, n in ends.items() if n and n not in defined]
        if undefined:
            what = f"refers to undefined {' and '.join(undefined)}; the joint is omitted"
            notes.add("joint-dangling", joint, f"joint {joint.name!r} {what}")
        else:
            kept.append(joint)
    return tuple(kept)


_OWNERS = (g.LINK, g.JOINT, g.VISUAL, g.COLLISION)
# Gazebo's elements are children of the robot and refer to a link or joint by name.
GAZEBO = "gazebo"
REFERENCE = "reference"


def _collect_custom(node: Node, version: Version, within: tuple[str, ...] = ()) -> m.Custom:
    """Return the custom data of an owner; attributes of newer versions are custom data."""
    attributes: list[m.CustomAttribute] = []
    elements: list[m.CustomElement] = []
    for inner, place in _owned(node, within):
        if inner.element:
            known = [a.name for a in inner.type.attributes if a.since <= version]
            attributes += [
                m.CustomAttribute(name, value, place)
                for name, value in inner.element.attributes
                if name not in known
            ]
            elements += [
                m.CustomElement(_copy(element), place)
                for element in inner.element.children
                if inner.type.child(element.tag) is None
            ]
    return m.Custom(tuple(attributes), tuple(elements))


def _owned(node: Node, within: tuple[str, ...]) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Yield a node and those below that are no owners, with the tags that enclose their data."""
    yield node, within
    for child in node.children if node.type is not g.ROBOT else ():
        if child.type not in _OWNERS:
            yield from _owned(child, (*within, child.type.tag))


def collect_robot_custom(node: Node, version: Version) -> m.Custom:
    """Return the custom data of the robot, including unused materials."""
    local = (look for link in node.all(g.LINK) for look in link.descendants(g.MATERIAL))
    used = {look[g.OPTIONAL_NAME] for look in local}
    parts = [m.Custom(_written(node, g.VERSION)), _collect_custom(node, version)]
    for material in node.all(g.MATERIAL):
        name = material[g.OPTIONAL_NAME]
        if name in used:
            parts.append(_collect_custom(material, version, (g.MATERIAL.tag, str(name))))
        elif material.element:
            parts.append(m.Custom(elements=(m.CustomElement(_copy(material.element)),)))
    # Not one by one: a file may hold very many materials.
    return m.Custom(
        tuple(attribute for part in parts for attribute in part.attributes),
        tuple(element for part in parts for element in part.elements),
    )


def _written(node: Node, *attributes: g.AttributeType[Any]) -> tuple[m.CustomAttribute, ...]:
    """Return attributes of the language as the file writes them."""
    within = () if node.type in (*_OWNERS, g.ROBOT) else (node.type.tag,)
    texts = dict(node.element.attributes) if node.element else {}
    names = (attribute.name for attribute in attributes if attribute.name in texts)
    return tuple(m.CustomAttribute(name, texts[name], within) for name in names)


def assign_gazebo_elements(robot: m.Robot) -> m.Robot:
    """Move the elements of Gazebo to the link or joint that they refer to; links first."""
    addressed: dict[str | None, list[m.CustomElement]] = {}
    for element in robot.custom.elements:
        if element.content.tag == GAZEBO:
            name = dict(element.content.attributes).get(REFERENCE)
            addressed.setdefault(name, []).append(element)

    def completed(part: _Part) -> _Part:
        own = tuple(addressed.pop(part.name, ()))
        return structs.replace(part, custom=part.custom + m.Custom((), own)) if own else part

    links, joints = tuple(map(completed, robot.links)), tuple(map(completed, robot.joints))
    left = {id(element) for elements in addressed.values() for element in elements}
    kept = (e for e in robot.custom.elements if e.content.tag != GAZEBO or id(e) in left)
    custom = m.Custom(robot.custom.attributes, tuple(kept))
    return structs.replace(robot, links=links, joints=joints, custom=custom)


def _copy(element: Element) -> m.XmlElement:
    children = tuple(map(_copy, element.children))
    return m.XmlElement(element.tag, element.attributes, element.text, children)
