"""Names of the prims of a USD, a layer that overrides them, and what is kept under ``urdf:``.

Numbers and texts of a URDF are attributes on the prim of their owner; elements are Scopes with
``urdf:within`` below it. Those of a joint without a prim are on its child link, below ``joint``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pxr import Sdf, Usd, UsdPhysics

from urdf_usd.conformance.engines.openusd.joints import articulated_bodies, connections, span_tree
from urdf_usd.conformance.engines.openusd.links import LinkPrims, find_links, link_candidates
from urdf_usd.conformance.engines.openusd.stage import (
    Physics,
    WorldTransforms,
    captured_diagnostics,
    read_physics,
    urdf_name,
)
from urdf_usd.conformance.observation.robot import (
    NamedJoint,
    NamedPrim,
    NamedPrims,
    Word,
    XmlContent,
)

_PREFIX = "urdf:"
_WITHIN = "urdf:within"
_TEXT = "urdf:text"


def named_prims(usd: str) -> NamedPrims:
    """List the candidates for links and joints.

    Raises:
        AbstentionError: The stage cannot be read.
    """
    with captured_diagnostics():
        physics = read_physics(usd, partial=True)
        world = WorldTransforms(physics)
        joints, _ = connections(physics, find_links(physics), world)
        tree = span_tree(joints, tuple(physics.bodies), articulated_bodies(physics))
        every = Usd.PrimRange(physics.default, Usd.TraverseInstanceProxies())
        order = {
            str(prim.GetPath()): index
            for index, prim in enumerate(every)
            if str(prim.GetPath()) in physics.joints
        }
        return NamedPrims(
            links=tuple(
                NamedPrim(link.path, link.name, is_body=link.is_body)
                for link in link_candidates(physics)
            ),
            joints=tuple(
                NamedJoint(
                    joint.path,
                    joint.name,
                    (joint.bodies[joint.parent], joint.bodies[joint.child]),
                    joint.mobility.type,
                )
                for joint in sorted(
                    (joint for joint in (*tree.joints, *tree.loops) if joint.path in order),
                    key=lambda joint: order[joint.path],
                )
            ),
        )


def labelled(usd: str, names: Mapping[str, str]) -> str:
    """Return the text of a layer over a USD that overrides display names."""
    below = Sdf.Layer.FindOrOpen(usd)
    layer = Sdf.Layer.CreateAnonymous(".usda")
    # Stage metadata is read from the root layer alone.
    for key in below.pseudoRoot.ListInfoKeys():
        if not key.startswith("subLayer"):
            layer.pseudoRoot.SetInfo(key, below.pseudoRoot.GetInfo(key))
    layer.subLayerPaths.append(below.identifier)
    for path, name in names.items():
        Sdf.CreatePrimInLayer(layer, path).SetInfo("displayName", name)
    text: str = layer.ExportToString()
    return text


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
