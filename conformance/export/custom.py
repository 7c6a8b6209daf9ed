"""Names and custom data of a URDF, as written by ``usd.writer.extensions``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from msgspec import structs
from pxr import Sdf, Usd

from urdf_usd.converter.robot.model import Custom, CustomAttribute, CustomElement, XmlElement
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


_STRING = Sdf.ValueTypeNames.String
_Part = TypeVar("_Part", CustomAttribute, CustomElement)
# URDF elements, which precede the custom part of a name.
_TAGS = frozenset(_tags(ROBOT))


def legible_name(prim: Usd.Prim) -> str:
    """Return a prim's display name if it is not blank, otherwise its name.

    A conversion stores a URDF name that is no valid prim name as display name.
    """
    name = writable(prim.GetDisplayName())
    return name if name.strip() else str(prim.GetName())


def read_custom(prim: Usd.Prim, *, of_joint: bool = False) -> Custom:
    """Read the custom data of a prim, or that of a joint without a prim from its child link."""
    attributes = []
    for attribute in prim.GetAuthoredPropertiesInNamespace(NAMESPACE):
        name = attribute.GetName().partition(":")[2]
        is_text = isinstance(attribute, Usd.Attribute) and attribute.GetTypeName() == _STRING
        if is_text and name not in RESERVED:
            within, original = _split(attribute.GetDisplayName() or name)
            attributes.append(CustomAttribute(original, _text(attribute), within))
    elements = [
        CustomElement(_read_scope(child), tuple(filter(None, within.split("/"))))
        for child in prim.GetAllChildren()
        if (within := child.GetAttribute(WITHIN).Get()) is not None
    ]

    def chosen(parts: list[_Part]) -> tuple[_Part, ...]:
        own = (part for part in parts if (part.within[:1] == (JOINT,)) == of_joint)
        return tuple(structs.replace(part, within=part.within[of_joint:]) for part in own)

    return Custom(chosen(attributes), chosen(elements))


def read_robot_custom(default: Usd.Prim) -> Custom:
    scope = default.GetChild(EXTENSIONS)
    attributes = []
    for attribute in read_custom(default).attributes:
        if attribute.within[:1] == (MATERIAL.tag,):
            # The name of the material precedes that of the attribute.
            material, _, name = attribute.name.partition(":")
            within, name = _split(name)
            attribute = CustomAttribute(name, attribute.value, (MATERIAL.tag, material, *within))
        attributes.append(attribute)
    return Custom(tuple(attributes), read_custom(scope).elements if scope else ())


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
