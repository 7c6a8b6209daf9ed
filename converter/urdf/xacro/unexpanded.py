"""Recognising xacro that has not been expanded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.diagnostics.phrases import shorten
from urdf_usd.converter.urdf.grammar import LINK, ROBOT
from urdf_usd.converter.urdf.kinds import Name
from urdf_usd.converter.urdf.reader import walk
from urdf_usd.converter.urdf.wording import describe

if TYPE_CHECKING:
    from urdf_usd.converter.urdf.xml.elements import Element

_PREFIX = "xacro:"
_NAMESPACE_END = "/xacro"
# Definitions have no effect of their own, so a robot around unused ones is complete.
_DEFINITIONS = {"property", "arg", "macro"}
_SUBSTITUTIONS = ("${", "$(")
_MARK = "$"


def find_unexpanded(root: Element) -> Diagnostic | None:
    """Look for the first place where xacro would change the robot.

    A substitution in a number is not one: other readers take the default there, and so
    does this one, with a warning.
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
                what = f"{attribute.name} of <{element.tag}> is {shorten(repr(text))}"
                return _diagnose(what, element)
    return None


def _is_xacro(element: Element) -> bool:
    namespace = (element.namespace or "").rstrip("/")
    return element.tag.startswith(_PREFIX) or namespace.endswith(_NAMESPACE_END)


def _diagnose(what: str, element: Element) -> Diagnostic:
    return Diagnostic("xacro-unexpanded", what, element.location)
