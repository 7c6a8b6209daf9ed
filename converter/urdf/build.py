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
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic, Location
from urdf_usd.converter.diagnostics.messages import times
from urdf_usd.converter.robot.model import (
    IDENTITY,
    UNLIMITED,
    WORLD_LINK,
    Box,
    Calibration,
    Capsule,
    Collision,
    Continuous,
    Custom,
    CustomAttribute,
    CustomElement,
    Cylinder,
    Dynamics,
    Fixed,
    Floating,
    Geometry,
    Inertial,
    Joint,
    JointKind,
    Link,
    Material,
    MeshFile,
    Mimic,
    Planar,
    Pose,
    Prismatic,
    Range,
    Revolute,
    Robot,
    SafetyController,
    Sphere,
    Spherical,
    Vec3,
    Visual,
    XmlElement,
)
from urdf_usd.converter.robot.spatial import quat_wxyz_from_rpy
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.grammar import Node, Version
from urdf_usd.converter.urdf.xml import Element

Notes = list[Diagnostic]
_Part = TypeVar("_Part", Link, Joint)

# ---- Links


def build_link(
    node: Node,
    version: Version,
    files: Mapping[str, str | None],
    materials: Mapping[int, Material],
    notes: Notes,
) -> Link:
    """Build a link, with paths of files by URI and materials by the id of their node."""
    name = node[g.NAME]
    inertial = node.first(g.INERTIAL)
    built = _build_inertial(inertial, name, notes) if inertial else None
    custom = _collect_custom(node, version)
    visuals: list[Visual] = []
    collisions: list[Collision] = []
    for shape in (*node.all(g.VISUAL), *node.all(g.COLLISION)):
        geometry = _build_geometry(shape, name, files, notes)
        origin = _build_origin(shape, notes)
        own = _collect_custom(shape, version)
        place, label = shape.location, shape[g.OPTIONAL_NAME]
        if geometry is None:
            custom += _nest_custom(own, shape.type.tag)
        elif shape.type is g.COLLISION:
            collisions.append(Collision(label, origin, geometry, place, own))
        else:
            material = shape.first(g.MATERIAL)
            look = materials[id(material)] if material else None
            visuals.append(Visual(label, origin, geometry, look, place, own))
    return Link(name, built, tuple(visuals), tuple(collisions), node.location, custom)


def _build_inertial(node: Node, link: str, notes: Notes) -> Inertial:
    origin = _build_origin(node, notes)
    mass, inertia = node.first(g.MASS), node.first(g.INERTIA)
    if mass is None:
        message = f"inertial of link {link!r} has no <mass>; read as massless"
        notes.append(Diagnostic("mass-missing", message, node.location))
    elif mass[g.MASS_VALUE] < 0.0:
        message = f"link {link!r} has mass {mass[g.MASS_VALUE]}"
        notes.append(Diagnostic("mass-negative", message, mass.location))
    tensor = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if inertia is None:
        message = f"inertial of link {link!r} has no <inertia>; read as zero"
        notes.append(Diagnostic("inertia-missing", message, node.location))
    else:
        xx, xy, xz, yy, yz, zz = (inertia[moment] for moment in g.INERTIA.attributes)
        tensor = (xx, xy, xz, yy, yz, zz)
    value = mass[g.MASS_VALUE] if mass else 0.0
    return Inertial(value, origin, tensor, node.location)


def _build_geometry(
    node: Node, link: str, files: Mapping[str, str | None], notes: Notes
) -> Geometry | None:
    """Build the geometry of a visual or collision; None if it is invalid."""
    subject = f"a {node.type.tag} of link {link!r}"
    geometry = node.first(g.GEOMETRY)
    if geometry is None or not geometry.children:
        if not (geometry and geometry.left_out):
            message = f"{subject} has no URDF geometry; omitted"
            notes.append(Diagnostic("geometry-unknown", message, (geometry or node).location))
        return None
    shape, *others = geometry.children
    if others:
        message = f"{subject} has {len(others) + 1} shapes; the first is used"
        notes.append(Diagnostic("element-repeated", message, others[0].location))
    built: Geometry
    lengths: tuple[float, ...]
    if shape.type is g.MESH:
        uri, scale = shape[g.FILENAME], shape[g.SCALE]
        built, lengths = MeshFile(uri, files[uri], scale), scale
        valid = all(lengths)
    else:
        built, lengths = _build_primitive(shape)
        valid = min(lengths) > 0.0
    if not valid:
        sizes = " ".join(f"{length:g}" for length in lengths)
        message = f"the {shape.type.tag} of {subject} has size {sizes}; left out"
        notes.append(Diagnostic("geometry-invalid", message, shape.location))
        return None
    return built


def _build_primitive(node: Node) -> tuple[Geometry, tuple[float, ...]]:
    """Return a geometry, and the sizes that must be positive."""
    if node.type is g.BOX:
        return Box(node[g.SIZE]), node[g.SIZE]
    if node.type is g.SPHERE:
        return Sphere(node[g.RADIUS]), (node[g.RADIUS],)
    radius, length = node[g.RADIUS], node[g.LENGTH]
    if node.type is g.CYLINDER:
        return Cylinder(radius, length), (radius, length)
    # A capsule of length zero is a sphere: valid, unlike a flat cylinder.
    return Capsule(radius, length), (radius, length or radius)


# ---- Materials


def build_materials(
    robot: Node, files: Mapping[str, str | None], notes: Notes
) -> Mapping[int, Material]:
    """Build all materials of a robot, by the id of the node of ``<material>``."""
    # Definitions in the robot first: they take precedence for references.
    local = [node for link in robot.all(g.LINK) for node in link.descendants(g.MATERIAL)]
    written = [(_build_material(n, files, notes), n) for n in (*robot.all(g.MATERIAL), *local)]
    defined: dict[str | None, Material] = {}
    differing: set[str | None] = set()
    for material, node in written:
        if material.name is None or not _defines(material):
            continue
        first = defined.setdefault(material.name, material)
        if first != material and material.name not in differing:
            differing.add(material.name)
            message = f"material {material.name!r} differs from its first definition"
            notes.append(Diagnostic("material-redefined", message, node.location))
    undefined: dict[str, list[Location]] = {}
    for material, node in written:
        if material.name is not None and not _defines(material) and material.name not in defined:
            undefined.setdefault(material.name, []).append(node.location)
    for name, places in undefined.items():
        message = f"no <material name={name!r}> has rgba or a texture (used {times(len(places))})"
        notes.append(Diagnostic("material-undefined", message, places[0]))
    return {
        id(node): material if _defines(material) else defined.get(material.name, material)
        for material, node in written
    }


def _defines(material: Material) -> bool:
    return material.rgba is not None or material.texture_uri is not None


def _build_material(node: Node, files: Mapping[str, str | None], notes: Notes) -> Material:
    color = node.first(g.COLOR)
    rgba = color[g.RGBA] if color else None
    if color and rgba and not all(0.0 <= component <= 1.0 for component in rgba):
        message = f"rgba {rgba} is outside [0, 1]; clamped"
        notes.append(Diagnostic("color-range", message, color.location))
        red, green, blue, alpha = (min(max(component, 0.0), 1.0) for component in rgba)
        rgba = (red, green, blue, alpha)
    texture = node.first(g.TEXTURE)
    uri = texture[g.IMAGE] if texture else None
    if texture and uri is None:
        message = "<texture> has no filename; omitted"
        notes.append(Diagnostic("texture-unnamed", message, texture.location))
    path = files[uri] if uri else None
    return Material(node[g.OPTIONAL_NAME], rgba=rgba, texture_uri=uri, texture_path=path)


# ---- Poses

# Rotations that differ by less are equal up to rounding to four digits [rad].
_SAME_ANGLE = 1e-3


def _build_origin(parent: Node, notes: Notes) -> Pose:
    """Build the pose of the ``<origin>`` of a node; identity without one."""
    node = parent.first(g.ORIGIN)
    if node is None:
        return IDENTITY
    quat_xyzw = node[g.QUAT_XYZW]
    if quat_xyzw is None:
        return Pose(node[g.XYZ], quat_wxyz_from_rpy(node[g.RPY]))
    unit = normalise(quat_xyzw)
    if g.RPY.name in node.written:
        # Most parsers only read rpy, and urdfdom refuses files with both.
        turned = w, x, y, z = quat_wxyz_from_rpy(node[g.RPY])
        cosine = sum(a * b for a, b in zip((x, y, z, w), unit, strict=True)) if unit else 0.0
        alike = abs(cosine) > math.cos(_SAME_ANGLE / 2)
        rule, how = ("repeated", "agree") if alike else ("conflict", "disagree")
        message = f"origin has both rpy and quat_xyzw, which {how}"
        notes.append(Diagnostic(f"rotation-{rule}", message, node.location))
        return Pose(node[g.XYZ], turned)
    if unit is None:
        message = "quat_xyzw of <origin> is zero; read as no rotation"
        notes.append(Diagnostic("number-invalid", message, node.location))
        return Pose(node[g.XYZ])
    x, y, z, w = unit
    return Pose(node[g.XYZ], (w, x, y, z))


def normalise(vector: tuple[float, ...]) -> tuple[float, ...] | None:
    """Divide a vector by its length; None if it is zero.

    Exact for coordinate axes, without overflow or underflow: the vector is first scaled
    by a power of two.
    """
    _, exponent = math.frexp(max(map(abs, vector)))
    scaled = [math.ldexp(component, -exponent) for component in vector]
    length = math.hypot(*scaled)
    if length == 0.0:
        return None
    # Adding zero turns -0.0 into 0.0.
    return tuple(component / length + 0.0 for component in scaled)


# ---- Joints

_LIMITED: Mapping[str, Callable[[Vec3, Range], JointKind]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
}
_DIRECTED: Mapping[str, Callable[[Vec3], JointKind]] = {
    "continuous": Continuous,
    "planar": Planar,
}
_UNDIRECTED: Mapping[str, Callable[[], JointKind]] = {
    "fixed": Fixed,
    "floating": Floating,
    "spherical": Spherical,
}
_TYPES = (*_LIMITED, *_DIRECTED, *_UNDIRECTED)
_BOUNDS_REQUIRED = (1, 2)


def build_joint(node: Node, version: Version, notes: Notes) -> Joint:
    """Build a joint; a fixed joint in case of an error, to keep the tree."""
    parent, child = node.first(g.PARENT), node.first(g.CHILD)
    origin = _build_origin(node, notes)
    kind = _build_kind(node, version, notes)
    limit = node.first_or_default(g.LIMIT)
    dynamics = node.first(g.DYNAMICS)
    mimic = node.first(g.MIMIC)
    safety = node.first(g.SAFETY_CONTROLLER)
    calibration = node.first(g.CALIBRATION)
    if not isinstance(kind, Fixed):
        _note_negative(node, limit, (g.EFFORT, g.VELOCITY), "joint-rating-negative", notes)
        if dynamics:
            _note_negative(node, dynamics, (g.DAMPING, g.FRICTION), "dynamics-negative", notes)
    return Joint(
        name=node[g.NAME],
        parent=parent[g.LINK_NAME] if parent else "",
        child=child[g.LINK_NAME] if child else "",
        kind=kind,
        origin=origin,
        effort=limit[g.EFFORT],
        velocity=limit[g.VELOCITY],
        acceleration=limit[g.ACCELERATION],
        deceleration=limit[g.DECELERATION],
        jerk=limit[g.JERK],
        dynamics=Dynamics(dynamics[g.DAMPING], dynamics[g.FRICTION]) if dynamics else None,
        mimic=Mimic(mimic[g.LEADER], mimic[g.MULTIPLIER], mimic[g.OFFSET]) if mimic else None,
        safety=SafetyController(*(safety[a] for a in g.SAFETY_CONTROLLER.attributes))
        if safety
        else None,
        calibration=Calibration(calibration[g.RISING], calibration[g.FALLING])
        if calibration
        else None,
        dont_collapse=node[g.DONT_COLLAPSE],
        location=node.location,
        custom=_collect_custom(node, version) + _unused(node, kind),
    )


def _note_negative(
    joint: Node,
    node: Node,
    attributes: tuple[g.AttributeType[float | None], ...],
    rule: str,
    notes: Notes,
) -> None:
    """Report negative magnitudes, which no schema of a simulator gets."""
    for attribute in attributes:
        value = node[attribute]
        if value is not None and value < 0.0:
            message = (
                f"{attribute.name} of joint {joint[g.NAME]!r} is negative ({value:g})"
                " and written as a urdf: attribute only"
            )
            notes.append(Diagnostic(rule, message, node.location))


def _unused(node: Node, kind: JointKind) -> Custom:
    """Return axis and limits of a joint whose type does not use them."""
    axis, limit = node.first(g.AXIS), node.first(g.LIMIT)
    found: tuple[CustomAttribute, ...] = ()
    if axis and not isinstance(kind, Revolute | Continuous | Prismatic | Planar):
        found += _written(axis, g.AXIS_XYZ)
    if limit and not isinstance(kind, Revolute | Prismatic):
        found += _written(limit, g.LOWER, g.UPPER)
    return Custom(found)


def _build_kind(node: Node, version: Version, notes: Notes) -> JointKind:
    name, written = node[g.NAME], node[g.TYPE]
    kind = written.strip().lower()
    if not written:
        return Fixed()
    if kind not in _TYPES:
        message = f"joint {name!r} has type {written!r}; known are {', '.join(_TYPES)}"
        notes.append(Diagnostic("joint-type", message, node.location))
        return Fixed()
    if kind != written:
        message = f"joint {name!r} has type {written!r}; read as {kind!r}"
        notes.append(Diagnostic("joint-type-spelling", message, node.location))
    if kind in _LIMITED:
        axis = _build_axis(node, notes)
        return _LIMITED[kind](axis, _build_range(node, version, notes))
    limit = node.first(g.LIMIT)
    bounds = {g.LOWER.name, g.UPPER.name} & limit.written if limit else set()
    # Limits of fixed joints are common boilerplate.
    if bounds and kind != "fixed":
        message = f"joint {name!r} is {kind}; its limits are ignored"
        notes.append(Diagnostic("joint-limit-ignored", message, node.location))
    if kind in _DIRECTED:
        return _DIRECTED[kind](_build_axis(node, notes))
    if kind == "spherical":
        message = f"joint {name!r} is spherical, an extension of URDF"
        notes.append(Diagnostic("joint-type-extension", message, node.location))
    return _UNDIRECTED[kind]()


def _build_axis(node: Node, notes: Notes) -> Vec3:
    axis = node.first_or_default(g.AXIS)
    axis_xyz = axis[g.AXIS_XYZ]
    unit = normalise(axis_xyz)
    if unit is None:
        message = f"joint {node[g.NAME]!r} moves, but its axis is zero"
        notes.append(Diagnostic("joint-axis-zero", message, axis.location))
        return g.AXIS_XYZ.default
    x, y, z = unit
    return x, y, z


def _build_range(node: Node, version: Version, notes: Notes) -> Range:
    name = node[g.NAME]
    limit = node.first(g.LIMIT)
    if limit is None:
        message = f"joint {name!r} has no <limit>; read as unlimited"
        notes.append(Diagnostic("joint-limit-missing", message, node.location))
        return UNLIMITED
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
        notes.append(Diagnostic("joint-limit-incomplete", message, limit.location))
    if lower > upper:
        message = f"joint {name!r} has lower {lower} above upper {upper}"
        notes.append(Diagnostic("joint-limit-reversed", message, limit.location))
    return Range(lower, upper)


def drop_broken_mimics(joints: tuple[Joint, ...], notes: Notes) -> tuple[Joint, ...]:
    """Drop invalid couplings; chains of couplings are kept."""
    named = {joint.name: joint for joint in joints}
    leaders: dict[str, str] = {}
    kept = []
    for joint in joints:
        # A coupling without leader is an error already.
        leader = joint.mimic.joint if joint.mimic else ""
        found = _mimic_fault(joint, leader, named, leaders) if leader else None
        if found:
            rule, what = found
            message = f"joint {joint.name!r} mimics {leader!r}, {what}; coupling dropped"
            notes.append(Diagnostic(rule, message, joint.location))
            joint = structs.replace(joint, mimic=None)
        elif leader:
            leaders[joint.name] = leader
        kept.append(joint)
    return tuple(kept)


def _mimic_fault(
    joint: Joint, leader: str, named: Mapping[str, Joint], leaders: Mapping[str, str]
) -> tuple[str, str] | None:
    if leader not in named:
        return "mimic-target-missing", "which does not exist"
    for end in (joint, named[leader]):
        if not isinstance(end.kind, Revolute | Prismatic | Continuous):
            return "mimic-fixed", f"but {end.name!r} is {type(end.kind).__name__.lower()}"
    followed = leader
    while followed != joint.name and followed in leaders:
        followed = leaders[followed]
    if followed == joint.name:
        return "mimic-loop", f"which follows {joint.name!r}"
    return None


def define_world(
    joints: tuple[Joint, ...], links: tuple[Link, ...], notes: Notes
) -> tuple[Link, ...]:
    """Add the link ``world`` if it is the parent of joints but not defined.

    Robots for Drake, where ``world`` is predefined, do not define it. If the child of
    such a joint has another parent too, :func:`drop_dangling` drops the joint instead.
    """
    names = {link.name for link in links}
    children = Counter(joint.child for joint in joints)
    tied = [j for j in joints if j.parent == WORLD_LINK and j.child in names]
    defined = WORLD_LINK in names or WORLD_LINK in children
    if defined or not tied or any(children[joint.child] > 1 for joint in tied):
        return links
    first = tied[0]
    message = (
        f"joint {first.name!r} has parent link {WORLD_LINK!r}, which is not defined; "
        "an empty link is added"
    )
    notes.append(Diagnostic("world-undefined", message, first.location))
    return (Link(WORLD_LINK, location=first.location), *links)


def drop_dangling(
    joints: tuple[Joint, ...], links: tuple[Link, ...], notes: Notes
) -> tuple[Joint, ...]:
    """Drop joints that refer to a link that is not defined.

    The child of such a joint becomes a root.
    """
    defined = {link.name for link in links}
    kept = []
    for joint in joints:
        undefined = [
            f"{role} link {name!r}"
            for role, name in (("parent", joint.parent), ("child", joint.child))
            if name and name not in defined
        ]
        if undefined:
            message = (
                f"joint {joint.name!r} refers to undefined {' and '.join(undefined)}; "
                "the joint is omitted"
            )
            notes.append(Diagnostic("joint-dangling", message, joint.location))
        else:
            kept.append(joint)
    return tuple(kept)


# ---- Custom data

_OWNERS = (g.LINK, g.JOINT, g.VISUAL, g.COLLISION)
# Gazebo's elements are children of the robot and refer to a link or joint by name.
GAZEBO = "gazebo"
REFERENCE = "reference"


def _collect_custom(node: Node, version: Version, within: tuple[str, ...] = ()) -> Custom:
    """Return the custom data of an owner; attributes of newer versions are custom data."""
    nodes = [(node, within), *_inner(node, within)]
    attributes = [
        CustomAttribute(name, value, place)
        for inner, place in nodes
        for name, value in (inner.element.attributes if inner.element else ())
        if name not in _read_names(inner.type, version)
    ]
    elements = [
        CustomElement(_copy(element), place)
        for inner, place in nodes
        for element in (inner.element.children if inner.element else ())
        if inner.type.child(element.tag) is None
    ]
    return Custom(tuple(attributes), tuple(elements))


@cache
def _read_names(element_type: g.ElementType, version: Version) -> frozenset[str]:
    return frozenset(a.name for a in element_type.attributes if a.since <= version)


def _inner(node: Node, within: tuple[str, ...]) -> Iterator[tuple[Node, tuple[str, ...]]]:
    """Yield the nodes below that are no owners, with the tags that enclose their data."""
    for child in node.children if node.type is not g.ROBOT else ():
        if child.type not in _OWNERS:
            place = (*within, child.type.tag)
            yield child, place
            yield from _inner(child, place)


def collect_robot_custom(node: Node, version: Version) -> Custom:
    """Return the custom data of the robot, including unused materials."""
    local = (look for link in node.all(g.LINK) for look in link.descendants(g.MATERIAL))
    used = {look[g.OPTIONAL_NAME] for look in local}
    parts = [Custom(_written(node, g.VERSION)), _collect_custom(node, version)]
    for material in node.all(g.MATERIAL):
        name = material[g.OPTIONAL_NAME]
        if name in used:
            parts.append(_collect_custom(material, version, (g.MATERIAL.tag, str(name))))
        elif material.element:
            parts.append(Custom(elements=(CustomElement(_copy(material.element)),)))
    # Not one by one: a file may hold very many materials.
    return Custom(
        tuple(attribute for part in parts for attribute in part.attributes),
        tuple(element for part in parts for element in part.elements),
    )


def _written(node: Node, *attributes: g.AttributeType[Any]) -> tuple[CustomAttribute, ...]:
    """Return attributes of the language as the file writes them."""
    within = () if node.type in (*_OWNERS, g.ROBOT) else (node.type.tag,)
    texts = dict(node.element.attributes) if node.element else {}
    return tuple(
        CustomAttribute(attribute.name, texts[attribute.name], within)
        for attribute in attributes
        if attribute.name in texts
    )


def _nest_custom(custom: Custom, tag: str) -> Custom:
    """Return custom data as that of the enclosing owner."""
    return Custom(
        tuple(structs.replace(one, within=(tag, *one.within)) for one in custom.attributes),
        tuple(structs.replace(one, within=(tag, *one.within)) for one in custom.elements),
    )


def assign_gazebo_elements(robot: Robot) -> Robot:
    """Move the elements of Gazebo to the link or joint that they refer to; links first."""
    links = {link.name for link in robot.links}
    joints = {joint.name for joint in robot.joints} - links
    addressed: dict[str, list[CustomElement]] = {}
    kept = []
    for element in robot.custom.elements:
        name = dict(element.content.attributes).get(REFERENCE)
        if element.content.tag == GAZEBO and name in links | joints:
            addressed.setdefault(str(name), []).append(element)
        else:
            kept.append(element)

    def with_elements(part: _Part) -> _Part:
        elements = Custom(elements=tuple(addressed[part.name]))
        return structs.replace(part, custom=part.custom + elements)

    return structs.replace(
        robot,
        links=tuple(
            with_elements(link) if link.name in addressed else link for link in robot.links
        ),
        joints=tuple(
            with_elements(joint) if joint.name in joints & addressed.keys() else joint
            for joint in robot.joints
        ),
        custom=Custom(robot.custom.attributes, tuple(kept)),
    )


def _copy(element: Element) -> XmlElement:
    children = tuple(map(_copy, element.children))
    return XmlElement(element.tag, element.attributes, element.text, children)
