"""Candidates for links among the prims, and their names.

A rigid body is a link. An Xform without a body may be one as well: a massless link
becomes an Xform below the body that it is fixed to, and a link ``world`` becomes an
Xform above the bodies. The schema does not distinguish these from an Xform that only
holds geometry, so every Xform below the default prim and not below a Gprim is a *frame
candidate*. Surplus candidates have no effect, as links are looked up by the names of
the URDF. Of prims with the same name a body comes first, then an Xform with
``urdf:joint:name``, then the first in the order of the stage.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs
from pxr import Sdf, Usd, UsdGeom

from urdf_usd.conformance.engines.openusd.stage import Physics, text_attribute, urdf_name
from urdf_usd.conformance.observation.robot import JointType

WORLD = ""
"""Represents the world in place of a body's path, as in the parser's descriptors."""

_WELDS = {"fixed": JointType.FIXED, "floating": JointType.FLOATING}


class Weld(Struct, frozen=True):
    """A URDF joint without a joint prim, from custom attributes on its child."""

    joint: str  # URDF name
    type: JointType  # Fixed or floating
    parent: str | None  # URDF name of the parent link, if stated


class LinkPrim(Struct, frozen=True):
    path: str  # path of the prim
    name: str  # URDF name
    body: str  # path of the body that carries it: its own for a body, WORLD if none
    above: str | None  # name of the nearest candidate above it, or None
    weld: Weld | None  # The joint in its custom attributes, if any

    @property
    def is_body(self) -> bool:
        return self.path == self.body


class LinkPrims(Struct, frozen=True):
    """The candidates, one per URDF name, in the order of the stage."""

    by_name: Mapping[str, LinkPrim]  # candidates by URDF name
    by_path: Mapping[str, LinkPrim]  # The same by prim path
    shadowed: tuple[str, ...]  # paths of bodies whose name is taken by another body


def find_links(physics: Physics) -> LinkPrims:
    found = candidates(physics)
    by_name: dict[str, LinkPrim] = {}
    for link in sorted(found, key=_rank):
        by_name.setdefault(link.name, link)
    kept = tuple(link for link in found if by_name[link.name] is link)
    return LinkPrims(
        by_name={link.name: link for link in kept},
        by_path={link.path: link for link in kept},
        shadowed=tuple(link.path for link in found if link.is_body and link not in kept),
    )


def with_world(links: LinkPrims) -> LinkPrims:
    """Add the stage itself as link ``world``, unless a candidate has that name.

    The world needs no prim in UsdPhysics: a joint with one body connects it to the
    world, which a URDF can only represent as a link.
    """
    if "world" in links.by_name:
        return links
    link = LinkPrim(path="/", name="world", body=WORLD, above=None, weld=None)
    return structs.replace(
        links,
        by_name={**links.by_name, link.name: link},
        by_path={**links.by_path, link.path: link},
    )


def link_candidates(physics: Physics) -> tuple[LinkPrim, ...]:
    """Return all candidates, in order of precedence for the same name."""
    return tuple(sorted(candidates(physics), key=_rank))


def _rank(link: LinkPrim) -> tuple[bool, bool]:
    return not link.is_body, link.weld is None


def candidates(physics: Physics) -> list[LinkPrim]:
    """Return all candidates in the order of the stage."""
    found: dict[str, LinkPrim] = {}
    # Shapes hold no frames, but a body below one is simulated.
    above = {prefix for path in physics.bodies for prefix in Sdf.Path(path).GetPrefixes()[:-1]}
    prims = iter(Usd.PrimRange(physics.default, Usd.TraverseInstanceProxies()))
    for prim in prims:
        path = str(prim.GetPath())
        is_body = path in physics.bodies
        # The default prim is the robot, not one of its links, unless it is a body.
        if is_body or (prim.GetTypeName() == "Xform" and prim != physics.default):
            parent = prim.GetParent()
            while parent and str(parent.GetPath()) not in found:
                parent = parent.GetParent()
            nearest = found[str(parent.GetPath())] if parent else None
            carrier = nearest.body if nearest else WORLD
            joint = text_attribute(prim, "urdf:joint:name")
            kind = _WELDS.get(text_attribute(prim, "urdf:joint:type") or "fixed")
            weld = None
            if joint is not None and kind is not None:
                weld = Weld(joint, kind, text_attribute(prim, "urdf:joint:parent"))
            found[path] = LinkPrim(
                path=path,
                name=urdf_name(prim),
                body=path if is_body else carrier,
                above=nearest.name if nearest else None,
                weld=weld,
            )
        if prim.IsA(UsdGeom.Gprim) and prim.GetPath() not in above:
            prims.PruneChildren()
    return list(found.values())
