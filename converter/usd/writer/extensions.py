"""Custom attributes and elements of a URDF, on the prims of their owners.

Attributes become strings: ``urdf:foo`` on the owner's prim, ``urdf:limit:foo`` for one
in the ``<limit>`` of a joint. Elements become nested Scopes below the owner's prim,
with their attributes under their own names and their text in ``urdf:text``.
``urdf:within`` of the outermost Scope lists the URDF elements between it and its owner;
it is empty for none, and marks custom elements. Elements of the robot are in a separate
Scope. A name that is invalid in USD or already used is changed, and kept as
``displayName``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, count

from msgspec import structs
from pxr import Sdf

from urdf_usd.converter.robot.model import Custom, CustomElement, Robot, XmlElement
from urdf_usd.converter.usd.writer.prims import Prims, legal_name, sibling_names
from urdf_usd.converter.usd.writer.specs import (
    KINDS,
    SCOPE_PROPERTIES,
    UNIFORM,
    define,
    over,
    show_spec_name,
    write,
)

EXTENSIONS = "Extensions"
NAMESPACE = "urdf"
TEXT = f"{NAMESPACE}:text"
WITHIN = f"{NAMESPACE}:within"
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
    """Return whether a robot has custom data."""
    shapes = chain.from_iterable(link.shapes for link in robot.links)
    return any(owner.custom for owner in (robot, *robot.links, *robot.joints, *shapes))


def author_extensions(
    layer: Sdf.Layer,
    weaker: Sequence[Sdf.Layer],
    library: Sdf.Layer,
    robot: Robot,
    prims: Prims,
) -> None:
    """Write all custom data as overs of existing prims; that of omitted shapes is omitted.

    Args:
        layer: The empty target layer.
        weaker: Layers of the asset without custom data.
        library: The layer that their shapes refer to.
        robot: The robot.
        prims: Paths of all prims.
    """

    def author(path: Sdf.Path, custom: Custom, around: tuple[str, ...] = ()) -> None:
        others = [spec for one in weaker if (spec := one.GetPrimAtPath(path))]
        if not others or not (custom.attributes or custom.elements):
            return
        for spec in tuple(others):
            items = spec.referenceList.prependedItems
            others += [library.GetPrimAtPath(reference.primPath) for reference in items]
        spec = over(layer, path)
        # No schema declares properties in this namespace.
        taken = {TEXT, WITHIN}.union(*(one.properties.keys() for one in (spec, *others)))
        for attribute in custom.attributes:
            name = ":".join((*around, *attribute.within, attribute.name))
            _author_text(spec, taken, name, attribute.value, NAMESPACE)
        names = set[str]().union(*(one.nameChildren.keys() for one in (spec, *others)))
        _author_elements(spec, names, custom.elements, around)

    author(prims.robot, structs.replace(robot.custom, elements=()))
    if robot.custom.elements:
        scope = define(layer, prims.robot.AppendChild(EXTENSIONS), "Scope")
        _author_elements(scope, set(), robot.custom.elements, ())
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


def _author_elements(
    above: Sdf.PrimSpec,
    taken: set[str],
    elements: Sequence[CustomElement],
    around: tuple[str, ...],
) -> None:
    layer, path = above.layer, above.path
    placed = _placed(path, [element.content for element in elements], taken)
    # Prims first, so that children are ordered as elements.
    scopes = [(define(layer, place, "Scope"), element) for place, element in placed]
    for scope, element in scopes:
        show_spec_name(scope, element.tag)
        names = {TEXT, WITHIN, *SCOPE_PROPERTIES}
        for key, value in element.attributes:
            _author_text(scope, names, key, value)
        if element.text:
            write(scope, TEXT, element.text, KINDS.String, UNIFORM, custom=True)
    outermost = (scope for scope, _ in scopes if scope.path.GetParentPath() == path)
    for scope, custom in zip(outermost, elements, strict=True):
        within = "/".join((*around, *custom.within))
        write(scope, WITHIN, within, KINDS.String, UNIFORM, custom=True)


def _placed(
    parent: Sdf.Path, elements: Sequence[XmlElement], taken: set[str]
) -> Iterator[tuple[Sdf.Path, XmlElement]]:
    """Yield sibling elements and all inside them with their paths, parents first."""
    names = sibling_names([element.tag for element in elements], taken)
    for name, element in zip(names, elements, strict=True):
        path = parent.AppendChild(name)
        yield path, element
        yield from _placed(path, element.children, set())


def _author_text(
    spec: Sdf.PrimSpec, taken: set[str], name: str, value: str, namespace: str = ""
) -> None:
    """Author a string attribute under a valid name, and add it to those that are taken."""
    parts = [part for part in name.split(":") if part]
    stem = ":".join(map(legal_name, parts)) or legal_name(name)
    prefix = f"{namespace}:" if namespace else ""
    free = next(
        candidate
        for candidate in chain([stem], (f"{stem}_{number}" for number in count(1)))
        if (not namespace or candidate not in RESERVED) and f"{prefix}{candidate}" not in taken
    )
    taken.add(f"{prefix}{free}")
    shown = {} if free == name else {"displayName": name}
    write(spec, f"{prefix}{free}", value, KINDS.String, UNIFORM, custom=True, **shown)
