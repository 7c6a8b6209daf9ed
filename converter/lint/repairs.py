"""Repairs that do not change the robot.

A repair is safe if the parser reads the same robot from the original and the repaired
file, or if only unused elements are removed. Reversed limits, for example, are not
exchanged: in Bullet they mean "unlimited".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from urdf_usd.converter.diagnostics import Location
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.lint.appearance import file_nodes, unused_materials
from urdf_usd.converter.lint.frames import unnormalised_quaternions
from urdf_usd.converter.lint.joints import unnormalised_axes
from urdf_usd.converter.lint.spans import (
    Edit,
    RemoveElement,
    SetAttribute,
    SetXmlVersion,
)
from urdf_usd.converter.lint.subject import UrdfDocument, type_of
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.kinds import Number, Vector
from urdf_usd.converter.urdf.poses import normalise
from urdf_usd.converter.urdf.reader import walk

# Problems of values that are unambiguous.
_HARMLESS = frozenset({"number-punctuation", "vector-completed"})
# Larger components are probably in [0, 255].
_LARGEST_COMPONENT = 2.0


class Repair(Struct, frozen=True):
    """A repair of a file.

    Attributes:
        rule: Identifier of the rule.
        message: Description of the edit.
        location: Its location.
        edit: The edit.
    """

    rule: str
    message: str
    location: Location
    edit: Edit


Repairs: TypeAlias = Iterator[Repair]


def repairs(document: UrdfDocument, rules: frozenset[str]) -> tuple[Repair, ...]:
    """List the safe repairs of a file.

    Args:
        document: The file.
        rules: Identifiers of the rules to repair.
    """
    return tuple(
        repair
        for rule, suggest in REPAIRS.items()
        if rule in rules
        for repair in suggest(rule, document)
    )


def _plain_numbers(rule: str, document: UrdfDocument) -> Repairs:
    """Replace malformed but unambiguous numbers and vectors."""
    for element, element_type in walk(document.root, g.ROBOT):
        for attribute in element_type.attributes if element_type else ():
            text = element.get(attribute.name)
            if text is None or not isinstance(attribute.kind, Number | Vector):
                continue
            value = attribute.kind.read(text)
            flaws = {flaw.rule for flaw in value.flaws}
            if rule in flaws and flaws <= _HARMLESS and value.content is not None:
                clean = _written(value.content)
                yield _set(rule, element.location, attribute.name, clean, text)


def _unit_axes(rule: str, document: UrdfDocument) -> Repairs:
    for axis, _ in unnormalised_axes(document):
        axis_xyz = axis[g.AXIS_XYZ]
        unit = normalise(axis_xyz) or ()
        yield _set(rule, axis.location, g.AXIS_XYZ.name, _written(unit))


def _unit_quaternions(rule: str, document: UrdfDocument) -> Repairs:
    for _, origin, _ in unnormalised_quaternions(document):
        quat_xyzw = origin[g.QUAT_XYZW]
        unit = normalise(quat_xyzw) if quat_xyzw else None
        yield _set(rule, origin.location, g.QUAT_XYZW.name, _written(unit or ()))


def _clamped_colors(rule: str, document: UrdfDocument) -> Repairs:
    """Clamp components just outside [0, 1]."""
    for color in document.robot.descendants(g.COLOR):
        rgba = color[g.RGBA]
        if rgba is None or max(rgba) > _LARGEST_COMPONENT:
            continue
        clamped = tuple(min(max(component, 0.0), 1.0) for component in rgba)
        if clamped != rgba:
            yield _set(rule, color.location, g.RGBA.name, _written(clamped))


def _forward_slashes(rule: str, document: UrdfDocument) -> Repairs:
    for node in file_nodes(document):
        uri = node[g.FILENAME]
        if "\\" in uri:
            slashed = uri.replace("\\", "/")
            yield _set(rule, node.location, g.FILENAME.name, slashed, uri)


def _joint_types(rule: str, document: UrdfDocument) -> Repairs:
    """Replace the spelling of joint types."""
    for joint in document.joints:
        written, plain = joint[g.TYPE], type_of(joint)
        if written != plain:
            yield _set(rule, joint.location, g.TYPE.name, plain, written)


def _robot_name(rule: str, document: UrdfDocument) -> Repairs:
    """Add the name that the parser assigns to a robot without one."""
    if document.robot[g.OPTIONAL_NAME] is None:
        stem = Path(document.file).stem
        yield _set(rule, document.root.location, g.OPTIONAL_NAME.name, stem)


def _no_unused_materials(rule: str, document: UrdfDocument) -> Repairs:
    for material in unused_materials(document):
        name, place = material[g.OPTIONAL_NAME], material.location
        message = f"removed material {name!r}"
        yield Repair(rule, message, place, RemoveElement((place.line, place.column)))


def _xml_version(rule: str, document: UrdfDocument) -> Repairs:
    start = Location(document.file, 1, 1)
    yield Repair(rule, "XML version set to '1.0'", start, SetXmlVersion("1.0"))


def _set(rule: str, location: Location, name: str, value: str, former: str | None = None) -> Repair:
    was = f", was {truncate(repr(former))}" if former is not None else ""
    edit = SetAttribute((location.line, location.column), name, value)
    return Repair(rule, f"{name} set to {value!r}{was}", location, edit)


def _written(content: object) -> str:
    numbers = content if isinstance(content, tuple) else (content,)
    return " ".join(repr(number).removesuffix(".0") for number in numbers)


# In this order: of two edits of one attribute, the later one is used.
REPAIRS: Mapping[str, Callable[[str, UrdfDocument], Repairs]] = {
    "xml-version": _xml_version,
    "robot-unnamed": _robot_name,
    "number-punctuation": _plain_numbers,
    "vector-completed": _plain_numbers,
    "joint-type-spelling": _joint_types,
    "joint-axis-unnormalised": _unit_axes,
    "quaternion-unnormalised": _unit_quaternions,
    "color-range": _clamped_colors,
    "material-unused": _no_unused_materials,
    "path-backslash": _forward_slashes,
}
