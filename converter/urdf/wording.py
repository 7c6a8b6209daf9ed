"""Elements in the words of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from urdf_usd.converter.diagnostics.phrases import shorten

if TYPE_CHECKING:
    from urdf_usd.converter.urdf.xml.elements import Element


def describe(element: Element) -> str:
    """Name an element for a message: its tag, and its name if it has one."""
    name = element.get("name")
    if not name:
        return f"<{element.tag}>"
    return f"<{element.tag} name={shorten(repr(name))}>"


def name_part(part: Element) -> str:
    """Name a part of a robot for a message that says it is left out.

    It is told by its name, or by its mass if that is what it states.
    """
    name = part.get("name")
    if name is not None:
        return f"{part.tag} {shorten(repr(name))}"
    stated = [one.get("value") for one in (part, *part.children) if one.tag == "mass"]
    mass = f" of {shorten(stated[0])} kg" if stated and stated[0] else ""
    return f"<{part.tag}>{mass}"
