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

from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs
from pxr import Sdf

from urdf_usd.converter.robot.model import Custom, CustomElement, Robot, XmlElement
from urdf_usd.converter.usd.writer.prims import Prims, legal_name, sibling_names
from urdf_usd.converter.usd.writer.specs import (
    SCOPE_PROPERTIES,
    define,
    show_spec_name,
    write_new,
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
    links = any(link.custom for link in robot.links)
    joints = any(joint.custom for joint in robot.joints)
    shapes = any(shape.custom for link in robot.links for shape in link.shapes)
    return bool(robot.custom) or links or joints or shapes


def author_extensions(
    layer: Sdf.Layer,
    weaker: Sequence[Sdf.Layer],
    library: Sdf.Layer,
    robot: Robot,
    prims: Prims,
) -> None:
    """Write all custom data as overs of existing prims.

    Data of omitted shapes is omitted.

    Args:
        layer: The empty target layer.
        weaker: Layers of the asset without custom data.
        library: The layer that their shapes refer to.
        robot: The robot.
        prims: Paths of all prims.
    """

    def author(path: Sdf.Path, custom: Custom, around: tuple[str, ...] = ()) -> None:
        if not custom.attributes and not custom.elements:
            return
        specs = [spec for one in weaker if (spec := one.GetPrimAtPath(path))]
        targets = [
            library.GetPrimAtPath(reference.primPath)
            for spec in specs
            for reference in spec.referenceList.prependedItems
        ]
        if specs:
            _author(layer, path, (*specs, *targets), custom, around)

    author(prims.robot, structs.replace(robot.custom, elements=()))
    if robot.custom.elements:
        scope = define(layer, prims.robot.AppendChild(EXTENSIONS), "Scope")
        _author_elements(scope, (), robot.custom.elements)
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


def _author(
    layer: Sdf.Layer,
    path: Sdf.Path,
    others: Sequence[Sdf.PrimSpec],
    custom: Custom,
    around: tuple[str, ...],
) -> None:
    """Author the custom data of a prim that has other specs in other layers."""
    spec = Sdf.CreatePrimInLayer(layer, path)
    specs = (spec, *others)
    if custom.attributes:
        # No schema declares properties in this namespace.
        taken = {TEXT, WITHIN}.union(*(one.properties.keys() for one in specs))
        for attribute in custom.attributes:
            name = ":".join((*around, *attribute.within, attribute.name))
            _author_text(spec, taken, name, attribute.value, NAMESPACE)
    if custom.elements:
        children = set[str]().union(*(one.nameChildren.keys() for one in specs))
        _author_elements(spec, children, custom.elements, around)


def _author_elements(
    above: Sdf.PrimSpec,
    taken: Iterable[str],
    elements: Iterable[CustomElement],
    around: tuple[str, ...] = (),
) -> None:
    custom = tuple(elements)
    if not custom:
        return
    layer, path = above.layer, above.path
    placed = _placed(path, [one.content for one in custom], taken)
    scopes = [(define(layer, place, "Scope"), element) for place, element in placed]
    for scope, element in scopes:
        _describe(scope, element)
    outermost = (scope for scope, _ in scopes if scope.path.GetParentPath() == path)
    for scope, one in zip(outermost, custom, strict=True):
        _write_text(scope, WITHIN, "/".join((*around, *one.within)))


def _placed(
    parent: Sdf.Path, elements: Sequence[XmlElement], taken: Iterable[str] = ()
) -> Iterator[tuple[Sdf.Path, XmlElement]]:
    """Yield sibling elements and all inside them with their paths, parents first."""
    if not elements:
        return
    names = sibling_names([element.tag for element in elements], taken)
    for name, element in zip(names, elements, strict=True):
        path = parent.AppendChild(name)
        yield path, element
        yield from _placed(path, element.children)


def _describe(scope: Sdf.PrimSpec, element: XmlElement) -> None:
    """Write the attributes and the text of an element, without its children."""
    show_spec_name(scope, element.tag)
    taken = {TEXT, WITHIN, *SCOPE_PROPERTIES}
    for key, value in element.attributes:
        _author_text(scope, taken, key, value)
    if element.text:
        _write_text(scope, TEXT, element.text)


def _author_text(
    spec: Sdf.PrimSpec, taken: set[str], name: str, value: str, namespace: str = ""
) -> None:
    """Author a string attribute under a valid and unused name.

    Args:
        spec: The prim.
        taken: Names of its properties, by schema or authored; the name is added.
        name: Name in the URDF.
        value: The text.
        namespace: Prefix of the attribute name.
    """
    parts = [part for part in name.split(":") if part]
    stem = ":".join(map(legal_name, parts)) or legal_name(name)
    prefix = f"{namespace}:" if namespace else ""
    free = next(
        candidate
        for candidate in _numbered(stem)
        if (not namespace or candidate not in RESERVED) and f"{prefix}{candidate}" not in taken
    )
    taken.add(f"{prefix}{free}")
    shown = {} if free == name else {"displayName": name}
    _write_text(spec, f"{prefix}{free}", value, **shown)


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 1
    while True:
        yield f"{stem}_{number}"
        number += 1


def _write_text(spec: Sdf.PrimSpec, name: str, value: str, **metadata: str) -> None:
    kind, uniform = Sdf.ValueTypeNames.String, Sdf.VariabilityUniform
    write_new(spec, name, kind, value, uniform, custom=True, **metadata)
