"""Building of joints and mimic couplings from nodes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot.model import (
    UNLIMITED,
    WORLD_LINK,
    Calibration,
    Continuous,
    Custom,
    CustomAttribute,
    Dynamics,
    Fixed,
    Floating,
    Joint,
    JointKind,
    Link,
    Mimic,
    Planar,
    Prismatic,
    Range,
    Revolute,
    SafetyController,
    Spherical,
    Vec3,
)
from urdf_usd.converter.urdf import grammar as g
from urdf_usd.converter.urdf.extensions import collect_custom, written
from urdf_usd.converter.urdf.grammar import AttributeType
from urdf_usd.converter.urdf.links import build_origin, unit_axis
from urdf_usd.converter.urdf.reader import Node

_LIMITED: Mapping[str, Callable[[Vec3, Range], JointKind]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
}
_DIRECTED: Mapping[str, Callable[[Vec3], JointKind]] = {
    "continuous": Continuous,
    "planar": Planar,
}
_UNDIRECTED: Mapping[str, Callable[[], JointKind]] = {
    "fixed": Fixed,
    "floating": Floating,
    "spherical": Spherical,
}
_BOUNDS_REQUIRED = (1, 2)
_RATING = (g.EFFORT, g.VELOCITY)
_DYNAMICS = (g.DAMPING, g.FRICTION)
_TYPES = (*_LIMITED, *_DIRECTED, *_UNDIRECTED)


def build_joint(node: Node, version: tuple[int, int], notes: list[Diagnostic]) -> Joint:
    """Build a joint; a fixed joint in case of an error, to keep the tree.

    Args:
        node: Its node.
        version: URDF version of the file.
        notes: Receives diagnostics.
    """
    name = node[g.NAME]
    parent, child = node.first(g.PARENT), node.first(g.CHILD)
    origin = build_origin(node, notes)
    kind = _build_kind(node, version, notes)
    limit = node.first_or_default(g.LIMIT)
    dynamics = node.first_or_default(g.DYNAMICS)
    if not isinstance(kind, Fixed):
        notes.extend(_negative(name, limit, _RATING, "joint-rating-negative"))
        notes.extend(_negative(name, dynamics, _DYNAMICS, "dynamics-negative"))
    return Joint(
        name=name,
        parent=parent[g.LINK_NAME] if parent else "",
        child=child[g.LINK_NAME] if child else "",
        kind=kind,
        origin=origin,
        effort=limit[g.EFFORT],
        velocity=limit[g.VELOCITY],
        acceleration=limit[g.ACCELERATION],
        deceleration=limit[g.DECELERATION],
        jerk=limit[g.JERK],
        dynamics=_build_dynamics(node.first(g.DYNAMICS)),
        mimic=_build_mimic(node.first(g.MIMIC)),
        safety=_build_safety(node.first(g.SAFETY_CONTROLLER)),
        calibration=_build_calibration(node.first(g.CALIBRATION)),
        dont_collapse=node[g.DONT_COLLAPSE],
        location=node.location,
        custom=collect_custom(node, version) + _unused(node, kind),
    )


def _negative(
    name: str, node: Node, attributes: Sequence[AttributeType[float | None]], rule: str
) -> Iterator[Diagnostic]:
    """Report negative magnitudes, which no schema of a simulator gets."""
    for attribute in attributes:
        value = node[attribute]
        if value is not None and value < 0.0:
            message = (
                f"{attribute.name} of joint {name!r} is negative ({value:g})"
                " and written as a urdf: attribute only"
            )
            yield Diagnostic(rule, message, node.location)


def _unused(node: Node, kind: JointKind) -> Custom:
    """Return axis and limits of a joint whose type does not use them."""
    axis, limit = node.first(g.AXIS), node.first(g.LIMIT)
    found: tuple[CustomAttribute, ...] = ()
    if axis and not isinstance(kind, Revolute | Continuous | Prismatic | Planar):
        found += written(axis, g.AXIS_XYZ)
    if limit and not isinstance(kind, Revolute | Prismatic):
        found += written(limit, g.LOWER, g.UPPER)
    return Custom(found)


def drop_broken_mimics(joints: tuple[Joint, ...], notes: list[Diagnostic]) -> tuple[Joint, ...]:
    """Drop invalid couplings; chains of couplings are kept."""
    named = {joint.name: joint for joint in joints}
    leaders: dict[str, str] = {}
    kept = []
    for joint in joints:
        found = _mimic_fault(joint, named, leaders)
        if found:
            notes.append(found)
            kept.append(structs.replace(joint, mimic=None))
        else:
            # Joints without name are not tracked: they would form a loop.
            if joint.mimic and joint.mimic.joint:
                leaders[joint.name] = joint.mimic.joint
            kept.append(joint)
    return tuple(kept)


def _mimic_fault(
    joint: Joint, named: dict[str, Joint], leaders: dict[str, str]
) -> Diagnostic | None:
    if joint.mimic is None or not joint.mimic.joint:
        return None
    leader = joint.mimic.joint
    subject = f"joint {joint.name!r} mimics {leader!r}"
    if leader not in named:
        message = f"{subject}, which does not exist; coupling dropped"
        return Diagnostic("mimic-target-missing", message, joint.location)
    for end in (joint, named[leader]):
        if not isinstance(end.kind, Revolute | Prismatic | Continuous):
            kind = type(end.kind).__name__.lower()
            message = f"{subject}, but {end.name!r} is {kind}; coupling dropped"
            return Diagnostic("mimic-fixed", message, joint.location)
    if joint.name in _chain(leader, leaders):
        message = f"{subject}, which follows {joint.name!r}; coupling dropped"
        return Diagnostic("mimic-loop", message, joint.location)
    return None


def _chain(name: str, leaders: dict[str, str]) -> Iterator[str]:
    """Yield a joint, the joint that it mimics, and so on."""
    yield name
    while name in leaders:
        name = leaders[name]
        yield name


def _build_kind(node: Node, version: tuple[int, int], notes: list[Diagnostic]) -> JointKind:
    name = node[g.NAME]
    kind = _spelt_type(node, notes)
    if not kind:
        return Fixed()
    if kind not in _TYPES:
        known = ", ".join(_TYPES)
        message = f"joint {name!r} has type {kind!r}; known are {known}"
        notes.append(Diagnostic("joint-type", message, node.location))
        return Fixed()
    limit = node.first(g.LIMIT)
    bounds = {g.LOWER.name, g.UPPER.name} & limit.written if limit else set()
    if kind in _LIMITED:
        axis = _build_axis(node, notes)
        allowed = _build_range(node, version, notes)
        return _LIMITED[kind](axis, allowed)
    # Limits of fixed joints are common boilerplate.
    if bounds and kind != "fixed":
        message = f"joint {name!r} is {kind}; its limits are ignored"
        notes.append(Diagnostic("joint-limit-ignored", message, node.location))
    if kind in _DIRECTED:
        axis = _build_axis(node, notes)
        return _DIRECTED[kind](axis)
    if kind == "spherical":
        message = f"joint {name!r} is spherical, an extension of URDF"
        notes.append(Diagnostic("joint-type-extension", message, node.location))
    return _UNDIRECTED[kind]()


def _spelt_type(node: Node, notes: list[Diagnostic]) -> str:
    """Return the joint type in the spelling of URDF."""
    kind = node[g.TYPE]
    plain = kind.strip().lower()
    if plain == kind or plain not in _TYPES:
        return kind
    message = f"joint {node[g.NAME]!r} has type {kind!r}; read as {plain!r}"
    notes.append(Diagnostic("joint-type-spelling", message, node.location))
    return plain


def _build_axis(node: Node, notes: list[Diagnostic]) -> Vec3:
    axis_node = node.first_or_default(g.AXIS)
    axis = unit_axis(axis_node[g.AXIS_XYZ])
    if axis is None:
        message = f"joint {node[g.NAME]!r} moves, but its axis is zero"
        notes.append(Diagnostic("joint-axis-zero", message, axis_node.location))
        return g.AXIS_XYZ.default
    return axis


def _build_range(node: Node, version: tuple[int, int], notes: list[Diagnostic]) -> Range:
    name = node[g.NAME]
    limit = node.first(g.LIMIT)
    if limit is None:
        message = f"joint {name!r} has no <limit>; read as unlimited"
        notes.append(Diagnostic("joint-limit-missing", message, node.location))
        return UNLIMITED
    lower, upper = limit[g.LOWER], limit[g.UPPER]
    absent = [a.name for a in (g.LOWER, g.UPPER) if a.name not in limit.written]
    if absent:
        meaning = "read as 0"
        if version >= _BOUNDS_REQUIRED:
            # No default any more; refused by urdfdom.
            meaning = "unlimited on that side"
            lower = -math.inf if g.LOWER.name in absent else lower
            upper = math.inf if g.UPPER.name in absent else upper
        message = f"limit of joint {name!r} has no {' and no '.join(absent)}; {meaning}"
        notes.append(Diagnostic("joint-limit-incomplete", message, limit.location))
    if lower > upper:
        message = f"joint {name!r} has lower {lower} above upper {upper}"
        notes.append(Diagnostic("joint-limit-reversed", message, limit.location))
    return Range(lower, upper)


def _build_mimic(node: Node | None) -> Mimic | None:
    if node is None:
        return None
    return Mimic(node[g.LEADER], node[g.MULTIPLIER], node[g.OFFSET])


def _build_dynamics(node: Node | None) -> Dynamics | None:
    return Dynamics(node[g.DAMPING], node[g.FRICTION]) if node else None


def _build_safety(node: Node | None) -> SafetyController | None:
    if node is None:
        return None
    return SafetyController(
        node[g.K_VELOCITY],
        node[g.K_POSITION],
        node[g.SOFT_LOWER_LIMIT],
        node[g.SOFT_UPPER_LIMIT],
    )


def _build_calibration(node: Node | None) -> Calibration | None:
    return Calibration(node[g.RISING], node[g.FALLING]) if node else None


def define_world(
    joints: tuple[Joint, ...], links: tuple[Link, ...], notes: list[Diagnostic]
) -> tuple[Link, ...]:
    """Add the link ``world`` if it is the parent of joints but not defined.

    Robots for Drake, where ``world`` is predefined, do not define it. If the child of
    such a joint has another parent too, :func:`drop_dangling` drops the joint instead.
    """
    names = {link.name for link in links}
    children = Counter(joint.child for joint in joints)
    tied = [j for j in joints if j.parent == WORLD_LINK and j.child in names]
    defined = WORLD_LINK in names or WORLD_LINK in children
    if defined or not tied or any(children[joint.child] > 1 for joint in tied):
        return links
    first = tied[0]
    message = (
        f"joint {first.name!r} has parent link {WORLD_LINK!r}, which is not defined; "
        "an empty link is added"
    )
    notes.append(Diagnostic("world-undefined", message, first.location))
    return (Link(WORLD_LINK, location=first.location), *links)


def drop_dangling(
    joints: tuple[Joint, ...], links: tuple[Link, ...], notes: list[Diagnostic]
) -> tuple[Joint, ...]:
    """Drop joints that refer to a link that is not defined.

    The child of such a joint becomes a root.
    """
    defined = {link.name for link in links}
    kept = []
    for joint in joints:
        undefined = [
            f"{role} link {name!r}"
            for role, name in (("parent", joint.parent), ("child", joint.child))
            if name and name not in defined
        ]
        if undefined:
            message = (
                f"joint {joint.name!r} refers to undefined {' and '.join(undefined)}; "
                "the joint is omitted"
            )
            notes.append(Diagnostic("joint-dangling", message, joint.location))
        else:
            kept.append(joint)
    return tuple(kept)
