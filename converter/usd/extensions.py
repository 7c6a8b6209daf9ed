"""What a URDF says beyond its language, on the prims of what it belongs to.

Attributes become strings: ``urdf:foo`` on the owner's prim, ``urdf:limit:foo`` for what
stands in the ``<limit>`` of a joint. Elements become Scopes below the owner's prim,
nested as they are written, with their attributes under their own names and their text
in ``urdf:text``. The outermost Scope says in ``urdf:within`` which URDF elements lie
between it and its owner; none is an empty text, so the attribute marks what is custom.
Elements of the robot lie in a Scope of their own. A name that USD does not allow, or
that is taken, is changed, and kept as ``displayName``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pxr import Sdf, UsdGeom

from converter.usd.names import legal_name, show_name, sibling_names
from converter.usd.siblings import define_together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pxr import Usd

    from converter.model import Custom, CustomElement, Robot, XmlElement
    from converter.usd.prims import Prims

EXTENSIONS = "Extensions"
NAMESPACE = "urdf"
TEXT = f"{NAMESPACE}:text"
WITHIN = f"{NAMESPACE}:within"
# What a link's prim keeps of the joint that leads to it, where that has no prim.
JOINT = "joint"
# Names with a meaning to readers of USD: there they would state something else.
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
    """Say whether a robot has anything that this module would write."""
    links = any(link.custom for link in robot.links)
    joints = any(joint.custom for joint in robot.joints)
    shapes = any(shape.custom for link in robot.links for shape in link.shapes)
    return bool(robot.custom) or links or joints or shapes


def author_extensions(stage: Usd.Stage, robot: Robot, prims: Prims) -> None:
    """Write everything custom, on prims that other layers define.

    What belongs to a shape that is left out is left out with it.
    """
    default = stage.GetPrimAtPath(prims.robot)
    _author_attributes(default, robot.custom)
    if robot.custom.elements:
        scope = UsdGeom.Scope.Define(stage, prims.robot.AppendChild(EXTENSIONS))
        _author_elements(scope.GetPrim(), robot.custom.elements)
    for link in robot.links:
        _author(stage.GetPrimAtPath(prims.link[link.name]), link.custom)
        shapes = (*prims.visual[link.name], *prims.collision[link.name])
        for shape, path in zip(link.shapes, shapes, strict=True):
            prim = stage.GetPrimAtPath(path)
            if prim:
                _author(prim, shape.custom)
    for joint in robot.joints:
        if joint.name in prims.joint:
            _author(stage.GetPrimAtPath(prims.joint[joint.name]), joint.custom)
        else:
            prim = stage.GetPrimAtPath(prims.link[joint.child])
            _author(prim, joint.custom, (JOINT,))


def _author(prim: Usd.Prim, custom: Custom, around: tuple[str, ...] = ()) -> None:
    _author_attributes(prim, custom, around)
    _author_elements(prim, custom.elements, around)


def _author_attributes(
    prim: Usd.Prim, custom: Custom, around: tuple[str, ...] = ()
) -> None:
    for attribute in custom.attributes:
        name = ":".join((*around, *attribute.within, attribute.name))
        _author_text(prim, name, attribute.value, NAMESPACE)


def _author_elements(
    prim: Usd.Prim, elements: Iterable[CustomElement], around: tuple[str, ...] = ()
) -> None:
    custom = tuple(elements)
    if not custom:
        return
    stage, path = prim.GetStage(), prim.GetPath()
    taken = [child.GetName() for child in prim.GetAllChildren()]
    scopes = dict(_placed(path, [one.content for one in custom], taken))
    define_together(stage, ((place, "Scope") for place in scopes))
    for place, element in scopes.items():
        _describe(stage.GetPrimAtPath(place), element)
    outermost = (place for place in scopes if place.GetParentPath() == path)
    for place, one in zip(outermost, custom, strict=True):
        within = "/".join((*around, *one.within))
        _attribute(stage.GetPrimAtPath(place), WITHIN).Set(within)


def _placed(
    parent: Sdf.Path, elements: Sequence[XmlElement], taken: Iterable[str] = ()
) -> Iterator[tuple[Sdf.Path, XmlElement]]:
    """Yield sibling elements and all inside them with their paths, parents first."""
    names = sibling_names([element.tag for element in elements], taken)
    for name, element in zip(names, elements, strict=True):
        path = parent.AppendChild(name)
        yield path, element
        yield from _placed(path, element.children)


def _describe(prim: Usd.Prim, element: XmlElement) -> None:
    """Write what an element says, without those inside it."""
    show_name(prim, element.tag)
    for key, value in element.attributes:
        _author_text(prim, key, value)
    if element.text:
        _attribute(prim, TEXT).Set(element.text)


def _author_text(prim: Usd.Prim, name: str, value: str, namespace: str = "") -> None:
    """Author a text under the name nearest to its own that nothing else has."""
    parts = [part for part in name.split(":") if part]
    stem = ":".join(map(legal_name, parts)) or legal_name(name)
    prefix = f"{namespace}:" if namespace else ""
    candidates = _numbered(stem)
    free = next(
        candidate
        for candidate in candidates
        if (not namespace or candidate not in RESERVED)
        and not _is_taken(prim, f"{prefix}{candidate}")
    )
    attribute = _attribute(prim, f"{prefix}{free}")
    attribute.Set(value)
    if free != name:
        attribute.SetDisplayName(name)


def _numbered(stem: str) -> Iterator[str]:
    yield stem
    number = 1
    while True:
        yield f"{stem}_{number}"
        number += 1


def _is_taken(prim: Usd.Prim, name: str) -> bool:
    """Whether the prim has a property of a name, by schema or authored."""
    return name in {TEXT, WITHIN} or bool(prim.GetProperty(name))


def _attribute(prim: Usd.Prim, name: str) -> Usd.Attribute:
    return prim.CreateAttribute(
        name,
        Sdf.ValueTypeNames.String,
        custom=True,
        variability=Sdf.VariabilityUniform,
    )
