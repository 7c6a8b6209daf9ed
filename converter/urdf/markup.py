"""Reading of URDF and xacro files as XML elements."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.findings import Findings
from urdf_usd.converter.diagnostics.messages import truncate
from urdf_usd.converter.urdf.grammar import LINK, ROBOT
from urdf_usd.converter.urdf.kinds import Name
from urdf_usd.converter.urdf.reader import walk
from urdf_usd.converter.urdf.xacro.expansion import (
    Expansion,
    expand,
    is_xacro,
    relocated,
)
from urdf_usd.converter.urdf.xml.elements import Element, describe
from urdf_usd.converter.urdf.xml.source import load, parse_markup


def read_markup(
    file: str,
    packages: Mapping[str, str],
    arguments: Mapping[str, str],
    environment: Collection[str] = (),
) -> Findings[Element]:
    """Read the root element of a file; xacro is expanded first.

    Locations of expanded elements are those in the xacro files.

    Args:
        file: Its path; what ends in ``.xacro`` is xacro.
        packages: Folders of ROS packages, by name.
        arguments: Values of xacro's arguments, by name.
        environment: Names of environment variables that xacro may read, besides those
            of ROS.

    Raises:
        SourceError: It cannot be read, expanded or parsed as XML.
    """
    data = load(file)
    if not is_xacro(file):
        return (yield from parse_markup(data, file))
    expansion = expand(file, packages, arguments, environment=environment)
    return (yield from expanded_markup(expansion, file))


def expanded_markup(expansion: Expansion, file: str) -> Findings[Element]:
    """Read the root element of the expansion of a xacro file.

    Args:
        expansion: The expanded text, with the locations of its elements.
        file: Its path.

    Raises:
        SourceError: The expansion cannot be parsed as XML.
    """
    yield from expansion.diagnostics
    # Locations in the expanded text are named as such.
    root = yield from parse_markup(expansion.text.encode(), f"expansion of {file}")
    return relocated(root, iter(expansion.origins))


_PREFIX = "xacro:"
_NAMESPACE_END = "/xacro"
# Unused definitions have no effect on the robot.
_DEFINITIONS = {"property", "arg", "macro"}
_SUBSTITUTIONS = ("${", "$(")
_MARK = "$"


def find_unexpanded(root: Element) -> Diagnostic | None:
    """Find the first element that xacro would change.

    Substitutions in numbers are ignored: as in other parsers, the default is used, with
    a warning.
    """
    has_links = any(child.tag == LINK.tag for child in root.children)
    for element, element_type in walk(root, ROBOT):
        if element_type is None:
            name = element.tag.rpartition(":")[2]
            if _is_xacro(element) and not (has_links and name in _DEFINITIONS):
                return _diagnose(f"{describe(element)} is a xacro element", element)
            continue
        if not any(_MARK in text for _, text in element.attributes):
            continue
        for attribute in element_type.attributes:
            text = element.get(attribute.name) or ""
            if isinstance(attribute.kind, Name) and any(
                mark in text for mark in _SUBSTITUTIONS
            ):
                what = f"{attribute.name} of <{element.tag}> is {truncate(repr(text))}"
                return _diagnose(what, element)
    return None


def _is_xacro(element: Element) -> bool:
    namespace = (element.namespace or "").rstrip("/")
    return element.tag.startswith(_PREFIX) or namespace.endswith(_NAMESPACE_END)


def _diagnose(what: str, element: Element) -> Diagnostic:
    return Diagnostic("xacro-unexpanded", what, element.location)
