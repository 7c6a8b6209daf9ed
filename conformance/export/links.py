"""Inertials of links, and names and custom data of a URDF as ``usd.writer.extensions`` writes them.

Authored masses are used. Missing ones are computed by OpenUSD from colliders and densities, and
reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, structs
from pxr import Sdf, Usd, Vt

from urdf_usd.conformance.engines.openusd.masses import body_mass
from urdf_usd.conformance.engines.openusd.reading import Reading, number_attribute
from urdf_usd.conformance.engines.statements import Array, rigid_part, vec3
from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot import spatial
from urdf_usd.converter.urdf.grammar import MATERIAL, ROBOT, ElementType
from urdf_usd.converter.urdf.xml import writable
from urdf_usd.converter.usd.writer import extensions
from urdf_usd.converter.usd.writer.specs import LINK_AXES, LINK_MOMENTS


def _tags(element_type: ElementType) -> Iterator[str]:
    for child in element_type.children:
        yield child.type.tag
        yield from _tags(child.type)


_AUTHORED = tuple(
    f"physics:{name}" for name in ("mass", "centerOfMass", "diagonalInertia", "principalAxes")
)
# A body is flat if two moments exceed the third by less (relative).
_FLAT = 1e-6
# Relative tolerance between a float32 sum and its parts in double.
_ADDS_UP = 1e-5
# Largest mass that a conversion adds, as a fraction of the robot's mass.
HARMLESS = 1e-6
# A conversion replaces inertia below 1e-15 m L^2 by 5e-7 m L^2.
_NONE_BESIDE_DEFAULTED = 3e-9
# Of a matrix without scale.
_ROUNDING = 1e-9
_STRING = Sdf.ValueTypeNames.String
_Part = TypeVar("_Part", m.CustomAttribute, m.CustomElement)
# URDF elements, which precede the custom part of a name.
_TAGS = frozenset(_tags(ROBOT))


class StageLink(Struct, frozen=True):
    path: str
    name: str  # URDF name
    body: str  # that carries it: its own path for a body, WORLD for none
    above: str | None  # path of the nearest ancestor that is a link

    @property
    def is_body(self) -> bool:
        return self.path == self.body


def rigid(matrix: Array) -> Array:
    """Return the rigid transform in a (4, 4) matrix; one without scale is kept exactly."""
    linear = matrix[:3, :3]
    is_rotation = np.abs(linear.T @ linear - np.eye(3)).max() <= _ROUNDING
    return matrix if is_rotation and np.linalg.det(linear) > 0 else rigid_part(matrix)


def read_inertials(
    links: Sequence[StageLink], reading: Reading, notes: list[Diagnostic]
) -> dict[str, m.Inertial | None]:
    """Read the inertial of every link, in the frame of its prim."""
    # A conversion merges links into bodies and stores the inertial of each link in ``urdf:``
    # attributes. These are used if they add up to the inertial of the body.
    own = {link.path: _own_inertial(reading.prim(link.path)) for link in links}
    inertials = {
        link.path: _body_inertial(reading, link.path, notes) if link.is_body else own[link.path][1]
        for link in links
    }
    bodies = [link.path for link in links if link.is_body]
    robot_mass = sum(inertial.mass for path in bodies if (inertial := inertials[path]))
    for body in bodies:
        stated = inertials[body]
        is_kept, kept = own[body]
        carried = [x.path for x in links if x.body == body != x.path and inertials[x.path]]
        if stated is None or not (is_kept or carried):
            continue
        first = kept if is_kept else stated
        parts = [(inertials[path], rigid(reading.within(path, body))) for path in carried]
        if adds_up(stated, [(first, np.eye(4)), *parts], robot_mass):
            inertials[body] = first
            continue
        message = f"links in body {body} do not add up to it; that of the body is used"
        notes.append(Diagnostic("inertial-outdated", message))
        inertials |= dict.fromkeys(carried, None)
    return inertials


def _body_inertial(reading: Reading, path: str, notes: list[Diagnostic]) -> m.Inertial | None:
    """Read the mass properties of a rigid body; None if it has none at all."""
    prim, stage = reading.prim(path), reading.stage
    definition = prim.GetPrimDefinition()
    # OpenUSD's utility ignores values in double precision, and returns memory that nothing was
    # written to for blocked ones, which get their fallbacks. Instances cannot be edited.
    with Usd.EditContext(stage, stage.GetSessionLayer()):
        for name in () if prim.IsInstanceProxy() else _AUTHORED:
            attribute, declared = prim.GetAttribute(name), definition.GetAttributeDefinition(name)
            if not attribute or not declared:
                continue
            value, kind = attribute.Get(), declared.GetTypeName()
            if value is None:
                attribute.Set(definition.GetAttributeFallbackValue(name))
            elif any(spec.typeName.type != kind.type for spec in attribute.GetPropertyStack()):
                attribute.Set(type(kind.defaultValue)(value))
    mass = body_mass(reading, path)
    if mass.is_empty:
        notes.append(Diagnostic("mass-unstated", f"body {path} states no mass and has no collider"))
        return None
    computed, axes = mass.computed, mass.axes
    tensor = axes @ np.diag(mass.moments) @ axes.T
    small, middle, large = np.sort(mass.moments)
    if "inertia" in computed and mass.restated:
        # Of Newton's schema, in place of one that OpenUSD computes.
        computed = tuple(name for name in computed if name != "inertia")
        tensor, axes = spatial.inertia_tensor(mass.restated.second), np.eye(3)
    elif small + middle <= large * (1 + _FLAT):
        # Rounding of a rotated tensor of a flat body makes it invalid for consumers.
        tensor = np.diag(mass.moments)
    else:
        axes = np.eye(3)
    center = np.array(mass.properties.center)
    if computed:
        message = f"body {path} states no {' and no '.join(computed)}"
        notes.append(Diagnostic("mass-computed", f"{message}; computed as OpenUSD does"))
        if not (np.isfinite(center).all() and np.isfinite(tensor).all()):
            center, tensor, axes = np.zeros(3), np.zeros((3, 3)), np.eye(3)
    pose = m.Pose(vec3(center + 0.0), spatial.quat_wxyz_from_rotation(axes))
    return m.Inertial(mass.properties.mass, pose, spatial.inertia_values(tensor))


def _own_inertial(prim: Usd.Prim) -> tuple[bool, m.Inertial | None]:
    def numbers(name: str, count: int) -> Any:  # noqa: ANN401  a tuple of that many numbers
        value = prim.GetAttribute(f"urdf:{name}").Get()
        is_array = isinstance(value, Vt.DoubleArray | Vt.FloatArray | Vt.IntArray)
        return tuple(map(float, value)) if is_array and len(value) == count else None

    mass = number_attribute(prim, "urdf:inertial:mass")
    if mass is None:
        return False, None
    position = numbers("inertial:origin:position", 3)
    quat_wxyz = numbers("inertial:origin:quat_wxyz", 4)
    inertia = numbers("inertial:inertia", 6)
    moments, axes = numbers(LINK_MOMENTS, 3), numbers(LINK_AXES, 4)
    if inertia is None and moments and axes:
        # By its principal axes, in an asset for ROS.
        ixx, iyy, izz = moments
        inertia = spatial.rotate_inertia((ixx, 0.0, 0.0, iyy, 0.0, izz), axes)
    if position is None or quat_wxyz is None or inertia is None:
        return True, None
    return True, m.Inertial(mass, m.Pose(position, quat_wxyz), inertia)


def adds_up(
    body: m.Inertial, parts: Sequence[tuple[m.Inertial | None, Array]], robot_mass: float
) -> bool:
    """Return whether the inertials of links add up to that of their body."""
    # Mass and inertia that a conversion adds to bodies without any are tolerated.
    massive = [(part, to_body) for part, to_body in parts if part and part.mass > 0]
    mass = sum(inertial.mass for inertial, _ in massive)
    if mass == 0:
        return body.mass <= HARMLESS * max(robot_mass, 1.0)
    centers = ((x.mass, to_body @ (*x.origin.position, 1.0)) for x, to_body in massive)
    moment = sum(part * center[:3] for part, center in centers)
    tensor = sum(_about_origin(inertial, to_body) for inertial, to_body in massive)
    stated = _about_origin(body, np.eye(4))
    center = np.array(body.origin.position)
    # Radius of gyration about the origin.
    size = float(np.sqrt(np.abs(stated).max() / body.mass))
    largest = max(abs(value) for each, _ in massive for value in each.inertia)
    pointlike = largest <= _NONE_BESIDE_DEFAULTED * max(map(abs, body.inertia))
    return bool(
        abs(mass - body.mass) <= _ADDS_UP * body.mass
        and np.abs(moment - body.mass * center).max() <= _ADDS_UP * body.mass * size
        and (pointlike or np.abs(tensor - stated).max() <= _ADDS_UP * np.abs(stated).max())
    )


def _about_origin(inertial: m.Inertial, to_body: Array) -> Array:
    """Return the inertia tensor about the body's origin, along the body's axes."""
    pose = to_body @ spatial.transform_from_pose(inertial.origin)
    rotation = pose[:3, :3]
    tensor = rotation @ spatial.inertia_tensor(inertial.inertia) @ rotation.T
    about = spatial.inertia_values(tensor), inertial.mass, vec3(pose[:3, 3])
    return spatial.inertia_tensor(spatial.shift_inertia(*about))


def legible_name(prim: Usd.Prim) -> str:
    """Return a prim's display name if it is not blank, otherwise its name."""
    # A conversion stores a URDF name that is no valid prim name as display name.
    name = writable(prim.GetDisplayName())
    return name if name.strip() else str(prim.GetName())


def read_custom(prim: Usd.Prim, *, of_joint: bool = False) -> m.Custom:
    attributes = []
    for attribute in prim.GetAuthoredPropertiesInNamespace(extensions.NAMESPACE):
        name = attribute.GetName().partition(":")[2]
        is_text = isinstance(attribute, Usd.Attribute) and attribute.GetTypeName() == _STRING
        if is_text and name not in extensions.RESERVED:
            within, original = _split(attribute.GetDisplayName() or name)
            attributes.append(m.CustomAttribute(original, _text(attribute), within))
    elements = [
        m.CustomElement(_read_scope(child), tuple(filter(None, within.split("/"))))
        for child in prim.GetAllChildren()
        if (within := child.GetAttribute(extensions.WITHIN).Get()) is not None
    ]

    def chosen(parts: list[_Part]) -> tuple[_Part, ...]:
        own = (part for part in parts if (part.within[:1] == (extensions.JOINT,)) == of_joint)
        return tuple(structs.replace(part, within=part.within[of_joint:]) for part in own)

    return m.Custom(chosen(attributes), chosen(elements))


def read_robot_custom(default: Usd.Prim) -> m.Custom:
    scope = default.GetChild(extensions.EXTENSIONS)
    attributes = []
    for attribute in read_custom(default).attributes:
        if attribute.within[:1] == (MATERIAL.tag,):
            # The name of the material precedes that of the attribute.
            material, _, name = attribute.name.partition(":")
            within, name = _split(name)
            attribute = m.CustomAttribute(name, attribute.value, (MATERIAL.tag, material, *within))
        attributes.append(attribute)
    return m.Custom(tuple(attributes), read_custom(scope).elements if scope else ())


def _split(name: str) -> tuple[tuple[str, ...], str]:
    """Split a name into URDF elements and the custom part."""
    parts = name.split(":")
    depth = 0
    while depth < len(parts) - 1 and parts[depth] in _TAGS:
        depth += 1
    return tuple(parts[:depth]), ":".join(parts[depth:])


def _read_scope(prim: Usd.Prim) -> m.XmlElement:
    own = {extensions.TEXT, extensions.WITHIN}
    others = (x for x in prim.GetAuthoredAttributes() if x.GetName() not in own)
    attributes = tuple((x.GetDisplayName() or x.GetName(), _text(x)) for x in others)
    tag, text = prim.GetDisplayName() or prim.GetName(), _text(prim.GetAttribute(extensions.TEXT))
    return m.XmlElement(tag, attributes, text, tuple(map(_read_scope, prim.GetAllChildren())))


def _text(attribute: Usd.Attribute) -> str:
    value = attribute.Get() if attribute else None
    return "" if value is None else writable(str(value))
