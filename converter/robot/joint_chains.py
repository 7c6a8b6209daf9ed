"""Joints of several axes, as chains of one-axis joints that URDF can represent.

``export`` writes a D6 joint as a chain of joints that are connected by links without
mass. The first joint of the chain contains a custom element, for example::

    <usd_joint name="waist" axes="rotX rotY"/>

``axes`` are those of the chain, from parent to child. ``backwards="true"`` states that
the child is on side 0 of the joint in USD.
"""

from __future__ import annotations

import math

from msgspec import structs

from urdf_usd.converter.diagnostics import Diagnostic
from urdf_usd.converter.robot import model as m
from urdf_usd.converter.robot.spatial import compose, invert_pose, rotate_vector

MARK = "usd_joint"
_TOKENS = tuple(f"{motion}{axis}" for motion in ("trans", "rot") for axis in "XYZ")
# Largest difference of a unit vector, and of a position [m].
_SAME = 1e-9
# States explicitly that a link has no mass: PyBullet assumes 1 kg without it.
MASSLESS = m.Inertial(0.0, m.IDENTITY, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def chain_mark(name: str, tokens: tuple[str, ...], *, backwards: bool) -> m.CustomElement:
    attributes = [("name", name), ("axes", " ".join(tokens))]
    if backwards:
        attributes.append(("backwards", "true"))
    return m.CustomElement(m.XmlElement(MARK, tuple(attributes)))


def merge_chains(robot: m.Robot, notes: list[Diagnostic]) -> m.Robot:
    """Replace marked chains by joints of several axes.

    A chain whose joints or links were changed so that one joint cannot represent them
    is kept, with a diagnostic.
    """
    merged: dict[str, m.Joint] = {}
    dropped: set[str] = set()
    dropped_links: set[str] = set()
    for first in filter(is_marked, robot.joints):
        chain = _chain(first, robot)
        joint = _merged(chain) if chain else None
        names = {one.name for one in robot.joints if one not in chain}
        if joint is None or joint.name in names:
            message = f"the chain that starts at joint {first.name!r} is no longer one joint of USD"
            message += "; its joints are converted separately"
            notes.append(Diagnostic("joint-chain-changed", message, first.location))
            continue
        named = ", ".join(repr(one.name) for one in chain)
        message = f"joints {named} become one joint {joint.name!r} of several axes"
        notes.append(Diagnostic("joint-chain-merged", message, first.location))
        merged[chain[-1].name] = joint
        dropped |= {one.name for one in chain[:-1]}
        dropped_links |= {one.child for one in chain[:-1]}
    links = tuple(link for link in robot.links if link.name not in dropped_links)
    kept = (joint for joint in robot.joints if joint.name not in dropped)
    joints = tuple(merged.get(joint.name, joint) for joint in kept)
    return structs.replace(robot, links=links, joints=joints) if merged else robot


def is_marked(joint: m.Joint) -> bool:
    return _mark(joint) is not None


def _mark(joint: m.Joint) -> dict[str, str] | None:
    for element in joint.custom.elements:
        if element.content.tag == MARK and not element.within:
            return dict(element.content.attributes)
    return None


def _chain(first: m.Joint, robot: m.Robot) -> tuple[m.Joint, ...]:
    """Return the joints of a chain; empty if they and their links are not one."""
    links = {link.name: link for link in robot.links}
    followed = {joint.mimic.joint for joint in robot.joints if joint.mimic}
    count = len((_mark(first) or {}).get("axes", "").split())
    chain = [first]
    while len(chain) < count:
        below = [joint for joint in robot.joints if joint.parent == chain[-1].child]
        link = links.get(chain[-1].child)
        if len(below) != 1 or link is None or link.mass or link.shapes or link.custom:
            return ()
        chain += below
    numbers = ("velocity", "acceleration", "deceleration", "jerk")
    others = (*numbers, "dynamics", "mimic", "safety", "calibration")
    is_plain = all(
        joint.name not in followed and all(getattr(joint, name) is None for name in others)
        for joint in chain
    )
    return tuple(chain) if len(chain) > 1 and is_plain else ()


def _merged(chain: tuple[m.Joint, ...]) -> m.Joint | None:
    """Return the joint of a chain; None if its axes are not those of the mark."""
    first, last = chain[0], chain[-1]
    mark = _mark(first) or {}
    tokens, backwards = mark.get("axes", "").split(), "backwards" in mark
    frame = invert_pose(last.origin)
    sign = -1.0 if backwards else 1.0
    axes: list[m.GenericAxis] = []
    for joint, token in zip(chain, tokens, strict=True):
        kind = joint.kind
        if token not in _TOKENS or not isinstance(kind, m.Revolute | m.Continuous | m.Prismatic):
            return None
        x, y, z = (sign * (token[-1] == name) for name in "XYZ")
        own = frame if joint is last else m.IDENTITY
        expected = rotate_vector(own.quat_wxyz, (x, y, z))
        is_slide = isinstance(kind, m.Prismatic)
        if is_slide != token.startswith("trans") or math.dist(kind.axis, expected) > _SAME:
            return None
        limits = m.UNLIMITED if isinstance(kind, m.Continuous) else kind.range
        axes.append(m.GenericAxis(token, limits, joint.effort))
    straight = all(joint.origin == m.IDENTITY for joint in chain[1:-1])
    if not mark.get("name") or len(set(tokens)) < len(chain) or not straight:
        return None
    custom = m.Custom()
    for joint in chain:
        elements = (one for one in joint.custom.elements if one.content.tag != MARK)
        custom += m.Custom(joint.custom.attributes, tuple(elements))
    return m.Joint(
        mark["name"],
        first.parent,
        last.child,
        m.Generic(tuple(axes[::-1] if backwards else axes), frame, backwards),
        compose(first.origin, last.origin),
        location=first.location,
        custom=custom,
    )
