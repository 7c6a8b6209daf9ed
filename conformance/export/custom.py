"""Names and custom data of a URDF, as written by ``usd.writer.extensions``."""

from __future__ import annotations

from collections.abc import Iterator

from pxr import Sdf, Usd

from urdf_usd.converter.robot.model import (
    Custom,
    CustomAttribute,
    CustomElement,
    XmlElement,
)
from urdf_usd.converter.urdf.grammar import MATERIAL, ROBOT, ElementType
from urdf_usd.converter.urdf.xml import writable
from urdf_usd.converter.usd.writer.extensions import (
    EXTENSIONS,
    JOINT,
    NAMESPACE,
    RESERVED,
    TEXT,
    WITHIN,
)


def _tags(element_type: ElementType) -> Iterator[str]:
    for child in element_type.children:
        yield child.type.tag
        yield from _tags(child.type)


# URDF elements, which precede the custom part of a name.
_TAGS = frozenset(_tags(ROBOT))


def legible_name(prim: Usd.Prim) -> str:
    """Return a prim's display name if it is not blank, otherwise its name.

    A conversion stores a URDF name that is no valid prim name as display name.
    """
    name = writable(prim.GetDisplayName())
    return name if name.strip() else str(prim.GetName())


def read_custom(prim: Usd.Prim) -> Custom:
    """Read the custom data of a prim.

    Without the data of a joint that is stored with its child link; see
    :func:`read_joint_custom`.
    """
    both = _read(prim)
    return Custom(
        tuple(one for one in both.attributes if one.within[:1] != (JOINT,)),
        tuple(one for one in both.elements if one.within[:1] != (JOINT,)),
    )


def read_joint_custom(link_prim: Usd.Prim) -> Custom:
    """Read the custom data of a joint without a prim, from its child link."""
    both = _read(link_prim)
    return Custom(
        tuple(
            CustomAttribute(one.name, one.value, one.within[1:])
            for one in both.attributes
            if one.within[:1] == (JOINT,)
        ),
        tuple(
            CustomElement(one.content, one.within[1:])
            for one in both.elements
            if one.within[:1] == (JOINT,)
        ),
    )


def read_robot_custom(default: Usd.Prim) -> Custom:
    """Read the custom data of the robot."""
    scope = default.GetChild(EXTENSIONS)
    elements = read_custom(scope).elements if scope else ()
    attributes = tuple(map(_of_material, read_custom(default).attributes))
    return Custom(attributes, elements)


def _of_material(attribute: CustomAttribute) -> CustomAttribute:
    """Split the name of a material from the name of the attribute."""
    if attribute.within[:1] != (MATERIAL.tag,):
        return attribute
    material, _, name = attribute.name.partition(":")
    within, name = _split(name)
    return CustomAttribute(name, attribute.value, (MATERIAL.tag, material, *within))


def _read(prim: Usd.Prim) -> Custom:
    attributes = []
    for attribute in prim.GetAuthoredPropertiesInNamespace(NAMESPACE):
        name = attribute.GetName().partition(":")[2]
        if name in RESERVED or not isinstance(attribute, Usd.Attribute):
            continue
        if attribute.GetTypeName() == Sdf.ValueTypeNames.String:
            within, original = _split(attribute.GetDisplayName() or name)
            attributes.append(CustomAttribute(original, _text(attribute), within))
    elements = [
        CustomElement(_read_scope(child), tuple(filter(None, within.split("/"))))
        for child in prim.GetAllChildren()
        if (within := child.GetAttribute(WITHIN).Get()) is not None
    ]
    return Custom(tuple(attributes), tuple(elements))


def _split(name: str) -> tuple[tuple[str, ...], str]:
    """Split a name into URDF elements and the custom part."""
    parts = name.split(":")
    depth = 0
    while depth < len(parts) - 1 and parts[depth] in _TAGS:
        depth += 1
    return tuple(parts[:depth]), ":".join(parts[depth:])


def _read_scope(prim: Usd.Prim) -> XmlElement:
    return XmlElement(
        prim.GetDisplayName() or prim.GetName(),
        tuple(
            (attribute.GetDisplayName() or attribute.GetName(), _text(attribute))
            for attribute in prim.GetAuthoredAttributes()
            if attribute.GetName() not in {TEXT, WITHIN}
        ),
        _text(prim.GetAttribute(TEXT)),
        tuple(map(_read_scope, prim.GetAllChildren())),
    )


def _text(attribute: Usd.Attribute) -> str:
    value = attribute.Get() if attribute else None
    return "" if value is None else writable(str(value))
