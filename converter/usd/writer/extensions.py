"""Custom attributes and elements of a URDF, on the prims of their owners.

Attributes become strings: ``urdf:foo``, or ``urdf:limit:foo`` for one in the ``<limit>`` of a
joint. Elements become nested Scopes below the owner's prim, with their text in ``urdf:text``.
``urdf:within`` of the outermost Scope lists the URDF elements between it and its owner; it
marks custom elements. A name that had to change is kept as ``displayName``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, count

from msgspec import structs
from pxr import Sdf

from urdf_usd.converter.robot.model import Custom, CustomElement, Robot, XmlElement
from urdf_usd.converter.usd.writer import specs
from urdf_usd.converter.usd.writer.specs import Prims

EXTENSIONS, NAMESPACE = "Extensions", "urdf"
TEXT, WITHIN = "urdf:text", "urdf:within"
# Prefix for data of a joint without prim, on the prim of its child link.
JOINT = "joint"
# Names with a meaning for the USD reader.
RESERVED = frozenset(
    {
        *("link", "mimic:joint"),
        *("joint:name", "joint:type", "joint:parent", "joint:dont_collapse"),
        *("inertial:mass", "inertial:inertia"),
        *("inertial:origin:position", "inertial:origin:quat_wxyz"),
        *("limit:acceleration", "limit:deceleration", "limit:jerk"),
    }
)


def has_extensions(robot: Robot) -> bool:
    shapes = chain.from_iterable(link.shapes for link in robot.links)
    return any(owner.custom for owner in (robot, *robot.links, *robot.joints, *shapes))


def author_extensions(
    layer: Sdf.Layer, weaker: Sequence[Sdf.Layer], library: Sdf.Layer, robot: Robot, prims: Prims
) -> None:
    """Write all custom data as overs of existing prims; that of omitted shapes is omitted."""

    def author(path: Sdf.Path, custom: Custom, around: tuple[str, ...] = ()) -> None:
        others = [spec for one in weaker if (spec := one.GetPrimAtPath(path))]
        if not others or not custom:
            return
        references = [one for spec in others for one in spec.referenceList.prependedItems]
        others += [library.GetPrimAtPath(reference.primPath) for reference in references]
        spec = specs.over(layer, path)
        # No schema declares properties in this namespace.
        taken = {TEXT, WITHIN}.union(*(one.properties.keys() for one in (spec, *others)))
        for attribute in custom.attributes:
            name = ":".join((*around, *attribute.within, attribute.name))
            _author_text(spec, taken, name, attribute.value, NAMESPACE)
        names = set[str]().union(*(one.nameChildren.keys() for one in (spec, *others)))
        _author_custom(spec, names, custom.elements, around)

    author(prims.robot, structs.replace(robot.custom, elements=()))
    if robot.custom.elements:
        scope = specs.define(layer, prims.robot.AppendChild(EXTENSIONS), "Scope")
        _author_custom(scope, (), robot.custom.elements)
    for link in robot.links:
        author(prims.link[link.name], link.custom)
        shapes = (*prims.visual[link.name], *prims.collision[link.name])
        for shape, path in zip(link.shapes, shapes, strict=True):
            author(path, shape.custom)
    for joint in robot.joints:
        if joint.name in prims.joint:
            author(prims.joint[joint.name], joint.custom)
        else:
            author(prims.link[joint.child], joint.custom, (JOINT,))


def _author_custom(
    spec: Sdf.PrimSpec,
    taken: Collection[str],
    elements: Sequence[CustomElement],
    around: tuple[str, ...] = (),
) -> None:
    scopes = _author_elements(spec, taken, [element.content for element in elements])
    for scope, element in zip(scopes, elements, strict=True):
        within = "/".join((*around, *element.within))
        specs.write(scope, WITHIN, within, specs.KINDS.String, specs.UNIFORM, custom=True)


def _author_elements(
    spec: Sdf.PrimSpec, taken: Iterable[str], elements: Sequence[XmlElement]
) -> list[Sdf.PrimSpec]:
    """Write elements and all inside them; return the prims of the outermost."""
    names = specs.sibling_names([element.tag for element in elements], taken)
    # All prims first, so that they are ordered as elements.
    scopes = [specs.define(spec.layer, spec.path.AppendChild(name), "Scope") for name in names]
    for scope, element in zip(scopes, elements, strict=True):
        specs.show_spec_name(scope, element.tag)
        known = {TEXT, WITHIN, *specs.SCOPE_PROPERTIES}
        for key, value in element.attributes:
            _author_text(scope, known, key, value)
        if element.text:
            specs.write(scope, TEXT, element.text, specs.KINDS.String, specs.UNIFORM, custom=True)
        _author_elements(scope, (), element.children)
    return scopes


def _author_text(
    spec: Sdf.PrimSpec, taken: set[str], name: str, value: str, namespace: str = ""
) -> None:
    """Author a string attribute under a valid name, and add it to those that are taken."""
    stem = ":".join(specs.legal_name(part) for part in name.split(":") if part) or specs.legal_name(
        name
    )
    prefix = f"{namespace}:" if namespace else ""
    reserved = RESERVED if namespace else ()
    free = next(
        candidate
        for candidate in chain([stem], (f"{stem}_{number}" for number in count(1)))
        if candidate not in reserved and f"{prefix}{candidate}" not in taken
    )
    taken.add(f"{prefix}{free}")
    shown = {} if free == name else {"displayName": name}
    specs.write(
        spec, f"{prefix}{free}", value, specs.KINDS.String, specs.UNIFORM, custom=True, **shown
    )
