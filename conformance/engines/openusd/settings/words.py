"""Numbers and texts of a URDF that a USD keeps under ``urdf:``.

Attributes are on the prim of their owner, elements are Scopes with ``urdf:within``
below it. Those of a joint without a prim are on its child link, below ``joint``.
"""

from __future__ import annotations

from collections.abc import Iterator

from pxr import Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.links import LinkPrims
from urdf_usd.conformance.engines.openusd.stage import Physics, urdf_name
from urdf_usd.conformance.observation.robot import Word, XmlContent

_PREFIX = "urdf:"
_WITHIN = "urdf:within"
_TEXT = "urdf:text"


def state_words(physics: Physics, links: LinkPrims) -> tuple[Word, ...]:
    """State what a USD keeps under ``urdf:``."""
    words: list[Word] = []
    for prim, properties in physics.authored:
        values = {
            name: (attribute, value)
            for name, attribute, value in properties
            if name.startswith(_PREFIX) and isinstance(value, float | str)
        }
        if _WITHIN in values:
            within = str(values[_WITHIN][1])
            name = "/".join(filter(None, (within, f"<{urdf_name(prim)}>")))
            owners = tuple(_owners(prim.GetParent(), physics, links))
            words.append(Word(owners, name, str(_content(prim))))
        elif values.keys() - {_TEXT}:
            owners = tuple(_owners(prim, physics, links))
            words += (
                Word(owners, attribute.GetDisplayName() or name[len(_PREFIX) :], value)
                for name, (attribute, value) in values.items()
            )
    return tuple(words)


def _owners(prim: Usd.Prim, physics: Physics, links: LinkPrims) -> Iterator[str]:
    if prim.IsA(UsdPhysics.Joint):
        yield f"joint {urdf_name(prim)}"
        return
    if str(prim.GetPath()) not in links.by_path:
        # A Scope of the robot's elements is none of its shapes.
        is_robot = physics.default in (prim, prim.GetParent())
        yield "robot" if is_robot else ""
    while prim and not prim.IsPseudoRoot():
        if link := links.by_path.get(str(prim.GetPath())):
            yield f"link {link.name}"
        prim = prim.GetParent()


def _content(prim: Usd.Prim) -> XmlContent:
    texts = {
        attribute.GetName(): (attribute.GetDisplayName(), str(attribute.Get()))
        for attribute in prim.GetAuthoredAttributes()
    }
    _, text = texts.pop(_TEXT, ("", ""))
    texts.pop(_WITHIN, None)
    attributes = tuple((shown or name, value) for name, (shown, value) in texts.items())
    children = tuple(map(_content, prim.GetAllChildren()))
    return XmlContent(urdf_name(prim), attributes, text, children)
